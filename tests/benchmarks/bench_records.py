"""Records a second without TensorFlow: `shardkit.open` beside Grain over array_record and beside WebDataset.

    python tests/benchmarks/bench_records.py --photos FOLDER --python ENVIRONMENT/bin/python

FOLDER has class folders of JPEGs. ENVIRONMENT has Grain, array_record, WebDataset and Pillow; default is this
interpreter's. Small images are left encoded: the figure is what reading costs. Photographs are decoded by Pillow in all
contenders. Each contender is a process of its own; only warm batches are timed.
"""

import argparse
import os
import sys
from pathlib import Path

import sources
from bench_reader import reading_table
from timing import CONTENDERS, Contender, print_table, run, shardkit, turn_about, work_folder

SHARDS = 10
GRAIN_THREADS = 16  # its default


def contenders_of(paths: dict[str, Path], python: str, *options: object) -> list[Contender]:
    """The readers of one dataset; the first is what ratios are taken to."""

    def contender(name: str, reader: str, *more: object) -> Contender:
        command = [python, CONTENDERS / "records_without_tensorflow.py", reader, paths[reader], *options, *more]
        target = "at most 1" if reader in {"grain", "webdataset"} else ""
        return Contender(name, [str(word) for word in command], target=target)

    threads = ("--threads", GRAIN_THREADS)
    return [
        contender("shardkit.open", "shardkit"),
        contender("Grain over array_record", "grain"),
        contender("WebDataset", "webdataset"),
        contender(f"Grain over shardkit.open, {GRAIN_THREADS} threads", "shardkit-in-grain", *threads),
        contender(f"Grain over array_record, {GRAIN_THREADS} threads", "grain", *threads),
    ]


def prepared(source: Path, work: Path, name: str, python: str) -> dict[str, Path]:
    """A source as a dataset, as array_record files and as tar files, by the reader that reads it."""
    dataset = work / f"dataset-{name}"
    if not (dataset / "manifest.json").exists():
        command = shardkit("convert", source, dataset, "--shards", SHARDS, "--quiet", "--check", "header")
        run(Contender("preparing shards", command))
    made = {"shardkit": dataset, "shardkit-in-grain": dataset}
    for reader, script in (("grain", "array_record_from_shards.py"), ("webdataset", "webdataset_from_shards.py")):
        made[reader] = work / f"{reader}-{name}"
        if not made[reader].exists():
            run(Contender(f"preparing {reader}", [python, str(CONTENDERS / script), str(dataset), str(made[reader])]))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=Path, required=True, help="class folders of JPEGs")
    parser.add_argument("--num-photos", type=int, default=1000)
    parser.add_argument("--num-small", type=int, default=50_000)
    parser.add_argument("--batches", type=int, default=1000, help="timed batches of 64 small images; photographs: 1/50")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--python", default=sys.executable, help="interpreter of the contenders")
    parser.add_argument("--work", type=Path, help="keep datasets there for the next call; default: a temporary folder")
    given = parser.parse_args()
    failed = False

    def compare(title: str, contenders: list[Contender]) -> None:
        nonlocal failed
        runs = turn_about(contenders, given.rounds)
        load = f"load average {os.getloadavg()[0]:.1f}"
        print_table(f"{title}; medians of {given.rounds}, {load}", reading_table(contenders, runs))
        failed |= len(runs) < len(contenders)

    with work_folder(given.work) as work:
        small = sources.small_jpegs(work / f"small-{given.num_small}", given.num_small)
        paths = prepared(small, work, f"small-{given.num_small}", given.python)
        compare(
            f"{given.num_small:,} small images, left encoded",
            contenders_of(paths, given.python, "--warm-up", 50, "--batches", given.batches),
        )
        photos = sources.replicated(given.photos, work / f"photos-{given.num_photos}", given.num_photos)
        paths = prepared(photos, work, f"photos-{given.num_photos}", given.python)
        compare(
            f"{given.num_photos:,} photographs, decoded by Pillow",
            contenders_of(paths, given.python, "--decode", "--warm-up", 3, "--batches", max(1, given.batches // 50)),
        )
    sys.exit(failed)


if __name__ == "__main__":
    main()
