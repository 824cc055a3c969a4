"""Training images a second from the reader, compared with a hand-tuned tf.data pipeline over the same shards.

    python tests/benchmarks/bench_reader.py --photos FOLDER

FOLDER has class folders of JPEGs; it is replicated to 5,000 files and converted twice, as it is and reduced to a
shorter side of 256 pixels. Every pipeline runs in a process of its own: those that idle in one process keep reading
ahead, and falsify each other. Only warm batches are timed; start-up is not in these figures.
"""

import argparse
import importlib.util
import sys
from pathlib import Path

import sources
from timing import Contender, Run, figure, median, print_table, python, ratio, run, shardkit, turn_about, work_folder

SHARDS = 10
BASELINE = "tf.data, tuned by hand"


def training_contenders(dataset: Path, records: Path, batches: int) -> list[Contender]:
    """Pipelines of random crops, uint8[64, 224, 224, 3]."""
    length = ("--batches", batches)
    found = [
        Contender(BASELINE, python("tfdata_reader.py", dataset, *length)),
        Contender("the same, with shardkit's crops", python("tfdata_reader.py", dataset, "--same-crops", *length)),
        Contender("shardkit", python("shardkit_reader.py", dataset, *length), target="1.00"),
    ]
    if importlib.util.find_spec("tensorflow_datasets"):
        found.append(Contender("TFDS", python("tfds_reader.py", dataset, *length)))
    if records.exists():
        decoder = "OpenCV" if importlib.util.find_spec("cv2") else "Pillow"
        found.append(Contender(f"grain with {decoder}", python("grain_reader.py", records, *length)))
    return found


def raw_contenders(dataset: Path, batches: int) -> list[Contender]:
    """Pipelines that leave images encoded."""
    length = ("--batches", batches)
    shuffled = python("shardkit_reader.py", dataset, "--raw", *length)
    return [
        Contender(
            "TFRecordDataset, in file order, parsed", python("tfdata_reader.py", dataset, "--raw-parsed", *length)
        ),
        Contender("the same, not parsed", python("tfdata_reader.py", dataset, "--raw", *length)),
        Contender("shardkit, shuffled and parsed", shuffled, target="0.80"),
        Contender("shardkit, features=('image', 'label')", [*shuffled, "--features", "image,label"], target="1.00"),
    ]


def reading_table(contenders: list[Contender], runs: dict[str, list[Run]]) -> list[list[str]]:
    """Rows for ``print_table``; ratios are to the first contender, above 1 where this one is faster or cheaper."""
    speed = figure("per_second")

    def cheapness(run: Run) -> float:
        return 1 / run.figures["cpu_us"]

    rows = [["", "images/s", "least-most", "CPU us an image", "peak MiB", "speed ratio", "CPU ratio", "target"]]
    for contender in contenders:
        mine, base = runs.get(contender.name), runs.get(contenders[0].name)
        if not mine:
            rows.append([contender.name, "failed", *[""] * 6])
            continue
        speeds = [speed(one) for one in mine]
        rows.append(
            [
                contender.name,
                f"{median(mine, speed):,.0f}",
                f"{min(speeds):,.0f}-{max(speeds):,.0f}",
                f"{median(mine, figure('cpu_us')):.0f}",
                f"{median(mine, lambda run: run.peak_mib):.0f}",
                *([f"{ratio(mine, base, value):.2f}" for value in (speed, cheapness)] if base else ["", ""]),
                contender.target,
            ]
        )
    return rows


def prepared(photos: Path, work: Path, name: str, *options: object) -> tuple[Path, Path]:
    """The photographs as a dataset, and, where array_record and grain are installed, as array_record files."""
    dataset, records = work / f"dataset-{name}", work / f"records-{name}"
    if not (dataset / "manifest.json").exists():
        command = shardkit("convert", photos, dataset, "--shards", SHARDS, "--quiet", "--check", "header", *options)
        run(Contender("preparing shards", command))
    if not records.exists() and importlib.util.find_spec("array_record") and importlib.util.find_spec("grain"):
        run(Contender("preparing array_record files", python("array_record_from_shards.py", dataset, records)))
    return dataset, records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=Path, required=True, help="class folders of JPEGs")
    parser.add_argument("--num-photos", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=100, help="timed batches of 64 photographs; reduced ones: 4 x")
    parser.add_argument("--work", type=Path, help="keep datasets there for the next call; default: a temporary folder")
    parser.add_argument("--only", choices=["full", "256", "raw"], help="one of the tables")
    given = parser.parse_args()
    failed = False

    def compare(title: str, contenders: list[Contender]) -> None:
        nonlocal failed
        runs = turn_about(contenders, given.rounds)
        print_table(f"{title}; medians of {given.rounds}", reading_table(contenders, runs))
        failed |= len(runs) < len(contenders)

    with work_folder(given.work) as work:
        count = given.num_photos
        photos = sources.replicated(given.photos, work / f"photos-{count}", count)
        dataset, records = prepared(photos, work, f"full-{count}")
        if given.only in {None, "full"}:
            compare(f"training on {count:,} photographs", training_contenders(dataset, records, given.batches))
        if given.only in {None, "raw"}:
            compare(f"{count:,} photographs, left encoded", raw_contenders(dataset, 8 * given.batches))
        if given.only in {None, "256"}:
            reduced = prepared(photos, work, f"256-{count}", "--resize", "256")
            compare(f"training on {count:,} reduced to 256", training_contenders(*reduced, 4 * given.batches))
    sys.exit(failed)


if __name__ == "__main__":
    main()
