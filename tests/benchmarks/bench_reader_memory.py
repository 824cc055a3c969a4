"""How long the reader takes to its first batch, and how much memory, with an index of 1 million and of 20 million.

    python tests/benchmarks/bench_reader_memory.py

The datasets are made: indexes as large as real ones, over few real records. 20 million need about 1.5 GB of disk and a
minute or two to be made. Seconds count from the end of imports; memory is the peak until the first batch less what
lies in memory after imports, and the smallest dataset tells how much of it TensorFlow takes to run any such pipeline.
"""

import argparse
import sys
from pathlib import Path

from timing import Contender, Run, figure, median, print_table, python, run, turn_about, work_folder

SMALL = 10_000
TARGETS = {1_000_000: "1 s, 286 MiB", 20_000_000: "5 s, 1907 MiB"}  # 300 MB and 2 GB
MEASURED = ["made_seconds", "seconds", "cpu_seconds", "mib", "left_mib", "imported_mib"]


def prepared(work: Path, num_examples: int, rows_per_shard: int) -> Path:
    """A dataset of that many examples, made once."""
    dataset = work / f"synthetic-{num_examples}-by-{rows_per_shard}"
    if not (dataset / "manifest.json").exists():
        command = python("synthetic_dataset.py", dataset, num_examples, "--rows-per-shard", rows_per_shard)
        run(Contender(f"making {dataset.name}", command))
    return dataset


def table(contenders: list[Contender], runs: dict[str, list[Run]]) -> list[list[str]]:
    """Rows for ``print_table``."""
    rows = [
        [
            "",
            "function s",
            "first batch s",
            "CPU s",
            "peak MiB more",
            "left MiB more",
            "imports MiB",
            "wall s",
            "target",
        ]
    ]
    for contender in contenders:
        mine = runs.get(contender.name, [])
        figures = [median(mine, figure(name)) for name in MEASURED] if mine else []
        cells = [f"{value:.2f}" for value in figures[:3]] + [f"{value:.0f}" for value in figures[3:]]
        wall = [f"{median(mine, lambda one: one.seconds):.1f}"] if mine else []
        rows.append([contender.name, *((cells + wall) or ["failed", *[""] * 6]), contender.target])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[SMALL, *TARGETS])
    parser.add_argument("--rows-per-shard", type=int, nargs="+", default=[4096])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--work", type=Path, help="keep datasets there for the next call; default: a temporary folder")
    given = parser.parse_args()
    with work_folder(given.work) as work:
        contenders = []
        for rows_per_shard in given.rows_per_shard:
            for size in given.sizes:
                dataset = prepared(work, size, rows_per_shard)
                name = f"{size:,} in {-(-size // rows_per_shard):,} shards"
                contenders.append(Contender(name, python("first_batch.py", dataset), target=TARGETS.get(size, "")))
        runs = turn_about(contenders, given.rounds)
        print_table(f"index to first batch; medians of {given.rounds}", table(contenders, runs))
    sys.exit(len(runs) < len(contenders))


if __name__ == "__main__":
    main()
