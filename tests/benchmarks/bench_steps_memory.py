"""Does a trainer's memory grow with its steps?

    python tests/benchmarks/bench_steps_memory.py [DATASET]

Each pipeline runs so many steps in a process of its own, which tells its resident memory (Linux) ten times on the way;
the first tenth warms up. The default dataset is `sample_data/shapes`: a handful of images, so that steps are thousands
of epochs.
"""

import argparse
from pathlib import Path

from timing import REPOSITORY, Contender, print_table, python, run, shardkit, work_folder

PIPELINES = {
    "decoded, in memory": "decoded",
    "decoded, from files": "decoded-files",
    "encoded, in memory": "encoded",
    "encoded, from files": "encoded-files",
    "encoded, block order": "encoded-block",
}
TARGET = "0 MiB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", nargs="?", type=Path, help="default: sample_data/shapes, converted")
    parser.add_argument("--steps", type=int, default=100_000)
    given = parser.parse_args()
    with work_folder(None) as work:
        dataset = given.dataset or work / "shapes"
        if not given.dataset:
            source = REPOSITORY / "sample_data/shapes"
            run(Contender("converting", shardkit("convert", source, dataset, "--shards", 2, "--quiet")))
        rows = [["", "steps/s", "after a tenth MiB", "at the end MiB", "most MiB", "growth MiB", "target"]]
        for title, pipeline in PIPELINES.items():
            command = python("many_steps.py", dataset, pipeline, given.steps)
            figures = run(Contender(title, command)).figures
            resident = [value for name, value in figures.items() if name != "seconds"]
            first, last = resident[0], resident[-1]
            growth = f"{last - first:+.0f}"
            cells = [f"{given.steps / figures['seconds']:,.0f}", *(f"{v:.0f}" for v in (first, last, max(resident)))]
            rows.append([title, *cells, growth, TARGET])
        print_table(f"resident memory over {given.steps:,} steps", rows)


if __name__ == "__main__":
    main()
