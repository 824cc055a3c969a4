"""Time and memory of `shardkit view` on a dataset with a million examples: what its page asks for, without a browser.

    python tests/benchmarks/bench_view.py

The dataset is that of `bench_report`: one shard of 1,000 made images, which all shards share, and a million different
rows. A screen is a page of 100 rows and 40 thumbnails, asked for by 6 connections, as browsers do. Seconds are the
server's CPU time but for those of a screen, which are both.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.cookiejar import CookieJar
from pathlib import Path

import numpy as np
from bench_report import prepared_dataset
from timing import print_table, work_folder

SCREENS, THUMBNAILS, PER_PAGE, CONNECTIONS = 100, 40, 100, 6
TARGET_FIRST, TARGET_P95, TARGET_MIB = 3, 1, 500


class Page:
    """What a browser asks for."""

    def __init__(self, address):
        self.base = address.partition("/?")[0]
        self.browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        self.browser.open(address).read()
        self.threads = ThreadPoolExecutor(CONNECTIONS)

    def get(self, path, **query):
        with self.browser.open(f"{self.base}{path}?{urllib.parse.urlencode(query)}") as answer:
            return answer.read()

    def list(self, **query):
        while "num" not in (found := json.loads(self.get("/api/list", **query))):
            time.sleep(0.1)
        return found["num"]

    def screen(self, start, **query):
        rows = json.loads(self.get("/api/rows", start=start, count=PER_PAGE, **query))["rows"][:THUMBNAILS]
        return [*self.threads.map(lambda row: self.get(f"/picture/{row['number']}", side=256), rows)]


def mib(process, name):
    return int(re.search(rf"{name}:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())[1]) / 1024


def cpu_seconds(process):
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(process, function, *arguments, **options):
    """Seconds, the server's CPU seconds, and what a function returned."""
    start, cpu = time.perf_counter(), cpu_seconds(process)
    found = function(*arguments, **options)
    return time.perf_counter() - start, cpu_seconds(process) - cpu, found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=1_000_000)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--work", type=Path)
    options = parser.parse_args()
    with work_folder(options.work) as folder:
        dataset = prepared_dataset(folder, options.examples, options.classes)
        command = [
            sys.executable,
            "-m",
            "shardkit",
            "view",
            str(dataset),
            "--no-browser",
            "--out",
            str(folder),
        ]
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            page = Page(process.stdout.readline().strip())
            json.loads(page.get("/api/dataset"))
            page.list(name="all")
            page.screen(0, name="all")
            first, first_cpu, started_mib = time.perf_counter() - start, cpu_seconds(process), mib(process, "VmRSS")
            places = np.random.default_rng(0).integers(0, options.examples - PER_PAGE, SCREENS)
            screens = [measured(process, page.screen, int(place), name="all")[:2] for place in places]
            times, cpu = np.array(screens).T
            scrolled_mib = mib(process, "VmRSS")
            rows = [
                ["first screen, s, from the start of the command", f"{first:.2f}", f"below {TARGET_FIRST}"],
                ["the same, CPU s, the start of Python included", f"{first_cpu:.2f}", ""],
                ["screen at a random place, CPU s, mean", f"{cpu.mean():.3f}", ""],
                ["screen at a random place, s, median", f"{np.median(times):.3f}", ""],
                ["screen at a random place, s, p95", f"{np.percentile(times, 95):.3f}", f"below {TARGET_P95}"],
                ["memory after the first screen, MiB", f"{started_mib:.0f}", ""],
                [f"memory after {SCREENS} screens, MiB", f"{scrolled_mib:.0f}", f"below {TARGET_MIB}"],
            ]
            label = json.loads(page.get("/api/dataset"))["classes"][0][0]
            for name, query in (
                ("a class", {"name": "all", "label": label}),
                ("a condition on the key", {"name": "all", "where": "key like '%77%' and height > 300"}),
                ("conflicts", {"name": "conflicts"}),
                ("near-duplicates", {"name": "copies"}),
                ("unlike their class", {"name": "unlike"}),
            ):
                _, took, num = measured(process, page.list, **query)
                rows.append([f"{name}: {num:,} found, CPU s", f"{took:.1f}", ""])
            rows.append(["peak memory of all lists, MiB", f"{mib(process, 'VmHWM'):.0f}", ""])
            print_table(f"{options.examples:,} examples", [["", "found", "target"], *rows])
        finally:
            process.terminate()
            process.wait()
        sys.exit(first > TARGET_FIRST or np.percentile(times, 95) > TARGET_P95 or scrolled_mib > TARGET_MIB)


if __name__ == "__main__":
    main()
