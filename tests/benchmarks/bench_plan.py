"""How long planning takes, and how much memory, from 100,000 to 100 million files of 1,000 classes.

    python tests/benchmarks/bench_plan.py
    python tests/benchmarks/bench_plan.py --check header --rounds 1 --sizes 1000000 10000000 100000000

The inventory is made, photographs of log-normal sizes in classes of unequal size; only the plan is timed. Memory is
what the plan adds to the peak; the inventory itself lies in memory before it. `--dedupe group` also searches
near-identical images, which takes 20 s of CPU time a million.
"""

import argparse
import sys

from timing import Contender, figure, median, print_table, python, turn_about

COLUMNS = {
    "seconds": ("plan s", ".2f"),
    "cpu_seconds": ("CPU s", ".2f"),
    "mib": ("MiB more", ".0f"),
    "num_shards": ("shards", ".0f"),
    "count_spread": ("count spread", ".0f"),
    "class_spread": ("class spread", ".0f"),
    "bytes_percent": ("bytes spread %", ".2f"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--check", nargs="+", choices=["decode", "header"], default=["decode", "header"])
    parser.add_argument("--dedupe", nargs="+", choices=["group", "identical"], default=["identical"])
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    contenders = [
        Contender(
            f"{size:,} files, --check {check} --dedupe {dedupe}",
            python("plan_synthetic.py", size, "--classes", given.classes, "--check", check, "--dedupe", dedupe),
        )
        for size in given.sizes
        for check in given.check
        for dedupe in given.dedupe
    ]
    runs = turn_about(contenders, given.rounds)
    rows = [["", *(title for title, _ in COLUMNS.values()), "peak MiB"]]
    for name, mine in runs.items():
        figures = [format(median(mine, figure(column)), form) for column, (_, form) in COLUMNS.items()]
        rows.append([name, *figures, f"{median(mine, lambda run: run.peak_mib):.0f}"])
    print_table(f"planning; medians of {given.rounds}", rows)
    sys.exit(len(runs) < len(contenders))


if __name__ == "__main__":
    main()
