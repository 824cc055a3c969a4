"""Kill conversions with SIGKILL at random changes to their output, continue them, and compare what they write.

    python -m tests.beam.killed WAY FOLDER [--kills 200] [--seed 0]

WAY is one of WAYS. Each run is a process of its own, forked from this one so that Beam is imported once. A conversion
that ends before its signal comes is compared with an undisturbed one, and the next one begins with an empty output.
Prints the number of kills, how far the conversions were then, and how many conversions ended, as JSON.
"""

import argparse
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import apache_beam as beam
import numpy as np

import shardkit
from shardkit.beam import Example, WriteDataset
from shardkit.options.groups import Stored
from shardkit.testing import digests_of, write_class_folders

from ..cli.calling import IN_PROCESS_RUNNER
from .crashing import finished_shards, nothing_left

NUM_BUNDLES = 4
OPTIONS = {"shards": 8, "stored": Stored(resize=120), "splits": {"train": 0.8, "validation": 0.2}}


def write_rows(source, output):
    """The images of class folders as rows that come in several bundles."""
    rows = [
        Example(path.relative_to(source).as_posix(), uri=str(path), label=path.parent.name)
        for path in sorted(source.glob("*/*"))
    ]
    with beam.Pipeline("FnApiRunner") as pipeline:
        bundles = [
            pipeline | f"Bundle{i}" >> beam.Create(rows[i::NUM_BUNDLES], reshuffle=False) for i in range(NUM_BUNDLES)
        ]
        _ = bundles | beam.Flatten() | WriteDataset(output, **OPTIONS)


def convert_by_threads(source, output):
    """The same images by threads of one process."""
    shardkit.convert(source, output, workers=2, **OPTIONS)


def convert_by_runner(source, output):
    """The same images on Beam's runner for one process."""
    shardkit.convert(source, output, beam_options=[IN_PROCESS_RUNNER], **OPTIONS)


WAYS = {"WriteDataset": write_rows, "threads": convert_by_threads, "runner": convert_by_runner}


def start(way, source, output):
    """The id of a new process that runs a conversion."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            WAYS[way](source, output)
            code = 0
        finally:
            sys.stderr.flush()
            os._exit(code)
    return process


def files(output):
    """All files below an output, temporary ones included."""
    return {os.path.join(folder, name) for folder, _, names in os.walk(output) for name in names}


def end_of(process, output, num_changes=None):
    """Wait for a process; return whether it was killed, and how many files it was seen to write.

    Args:
        process: its id.
        output: its output.
        num_changes: the number of new files after which it is killed; None for never.
    """
    known, num_seen = files(output), 0
    while os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        now = files(output)
        known, num_seen = now, num_seen + len(now - known)
        if num_changes is not None and num_seen >= num_changes:
            os.kill(process, signal.SIGKILL)
            break
        time.sleep(0.003)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if code not in {0, -signal.SIGKILL}:
        raise AssertionError(f"a conversion ended with {code}")
    return code != 0, num_seen


def state_of(output):
    """How far a conversion has come."""
    work = output / ".shardkit"
    if (output / "manifest.json").exists():
        return "published"
    if any(output.glob("*.index.parquet")):
        return "writing"
    return "planned" if (work / "plan.parquet").exists() else "staging" if work.exists() else "nothing"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("folder", type=Path, help="new; the images and the datasets are written below it")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    counts = {"ant": 40, "bee": 24, "cat": 16}
    source = write_class_folders(given.folder / "source", counts, width=240, height=180, kind="JPEG")
    wanted, output = given.folder / "wanted", given.folder / "out"
    num_files = end_of(start(given.way, source, wanted), wanted)[1]
    moments, states, num_kills, num_conversions = np.random.default_rng(given.seed), {}, 0, 0
    while num_kills < given.kills or output.exists():
        before = finished_shards(output)
        # Runs that continue a conversion have less to write.
        last = None if num_kills == given.kills else int(moments.integers(1, num_files // 2))
        was_killed = end_of(start(given.way, source, output), output, last)[0]
        if not before.items() <= finished_shards(output).items():
            raise AssertionError("a finished shard was written again")
        if was_killed:
            num_kills += 1
            state = state_of(output)
            states[state] = states.get(state, 0) + 1
        else:
            num_conversions += 1
            if digests_of(output) != digests_of(wanted) or not nothing_left(output):
                raise AssertionError(f"{output} is not {wanted}")
            shutil.rmtree(output)
    sys.stdout.write(f"{json.dumps({'kills': num_kills, 'while': states, 'conversions': num_conversions})}\n")


if __name__ == "__main__":
    main()
