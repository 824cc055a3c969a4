"""Training images a second from small images, compared with tf.data tuned by hand, Grain and WebDataset.

    python tests/benchmarks/bench_small_images.py --photos FOLDER [--python INTERPRETER]

FOLDER has class folders of photographs. 50,000 tiles of 32 x 32 are cut out of them, as JPEGs and as PNGs, and 20,000
tiles of 64 x 64 as JPEGs. INTERPRETER has Grain, WebDataset and OpenCV; without it they are left out. Every pipeline
runs in a process of its own, one after the other; only warm batches are timed.
"""

import argparse
import sys
from pathlib import Path

import sources
from bench_reader import reading_table
from timing import CONTENDERS, Contender, print_table, python, run, shardkit, turn_about, work_folder

SHARDS = 10
# Those in memory read up to half a million images a second, and are timed once all of them are there.
IN_MEMORY = ["--warm-up", 1000, "--batches", 4000]


def contenders(
    dataset: Path, folders: dict[str, Path], interpreter: str | None, length: list[object]
) -> list[Contender]:
    """Pipelines of decoded images; the first is what ratios are taken to."""

    def pipeline(name: str, *more: object) -> list[str]:
        return python("small_images.py", dataset, name, *more, *length)

    found = [
        Contender("tf.data, tuned by hand", pipeline("tfdata")),
        Contender(
            "shardkit, cache=None", pipeline("shardkit-files"), target="3.00" if "32-" in dataset.name else "1.50"
        ),
        Contender("shardkit", pipeline("shardkit")),
    ]
    if interpreter:
        others = [
            ("Grain, threads", "grain", ("--records", folders["records"])),
            ("Grain, 2 processes", "grain-workers", ("--records", folders["records"])),
            ("WebDataset, one process", "webdataset", ("--tars", folders["tars"])),
        ]
        found += [Contender(title, [interpreter, *pipeline(name, *more)[1:]]) for title, name, more in others]
    return found


def encoded_contenders(dataset: Path) -> list[Contender]:
    """Pipelines that leave images encoded."""
    names = {
        "tf.data, file order, in memory": "tfdata-encoded-memory",
        "tf.data, shuffle buffer": "tfdata-encoded",
        "shardkit": "shardkit-encoded",
        "shardkit, cache=None": "shardkit-encoded-files",
        "shardkit, cache=None, order='block'": "shardkit-encoded-block",
    }
    targets = {"shardkit": "0.65"}
    return [
        Contender(title, python("small_images.py", dataset, name, *IN_MEMORY), target=targets.get(title, ""))
        for title, name in names.items()
    ]


def memory_contenders(dataset: Path) -> list[Contender]:
    """Decoded images in memory."""
    names = {
        "tf.data, .cache().shuffle(50_000)": "tfdata-memory",
        "shardkit": "shardkit-unmirrored",
        "tf.data, mirrored in each epoch": "tfdata-memory-mirrored",
        "shardkit, mirrored in each epoch": "shardkit",
    }
    targets = {"shardkit": "1.30"}
    return [
        Contender(title, python("small_images.py", dataset, name, *IN_MEMORY), target=targets.get(title, ""))
        for title, name in names.items()
    ]


def prepared(photos: Path, work: Path, kind: str, side: int, count: int, interpreter: str | None) -> tuple[Path, dict]:
    """The dataset of tiles, and the same for other readers."""
    name = f"{side}-{kind}-{count}"
    tiles = sources.tiles(photos, work / f"tiles-{name}", count, side, kind)
    dataset = work / f"dataset-{name}"
    if not (dataset / "manifest.json").exists():
        run(Contender("preparing shards", shardkit("convert", tiles, dataset, "--shards", SHARDS, "--quiet")))
    folders = {"records": work / f"records-{name}", "tars": work / f"tars-{name}"}
    scripts = {"records": "array_record_from_shards.py", "tars": "webdataset_from_shards.py"}
    for what, folder in folders.items() if interpreter else ():
        if not folder.exists():
            run(
                Contender(
                    f"preparing {what}", [interpreter, str(CONTENDERS / scripts[what]), str(dataset), str(folder)]
                )
            )
    return dataset, folders


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=Path, required=True, help="class folders of photographs")
    parser.add_argument("--python", help="an interpreter that has Grain, WebDataset and OpenCV")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=400, help="timed batches of 256 images")
    parser.add_argument("--work", type=Path, help="keep datasets there for the next call; default: a temporary folder")
    parser.add_argument("--only", help="the tables whose titles have these words, such as 'jpg of 32'")
    given = parser.parse_args()
    failed = False
    length = ["--batches", given.batches]
    with work_folder(given.work) as work:
        for kind, side, count in (("jpg", 32, 50_000), ("png", 32, 50_000), ("jpg", 64, 20_000)):
            dataset, folders = prepared(given.photos, work, kind, side, count, given.python)
            tables = [(f"{count:,} {kind} of {side} x {side}", contenders(dataset, folders, given.python, length))]
            if (kind, side) == ("jpg", 32):
                tables.append((f"{count:,} {kind} of {side} x {side}, in memory", memory_contenders(dataset)))
                tables.append((f"{count:,} {kind} of {side} x {side}, encoded", encoded_contenders(dataset)))
            for title, compared in tables:
                if given.only and given.only not in title:
                    continue
                runs = turn_about(compared, given.rounds)
                print_table(f"{title}; medians of {given.rounds}", reading_table(compared, runs))
                failed |= len(runs) < len(compared)
    sys.exit(failed)


if __name__ == "__main__":
    main()
