"""How long it takes to list a source of very many files and to plan it, and how much memory.

    python tests/benchmarks/bench_listing.py

Class folders of 1 million files of a few bytes each, listed by `shardkit plan --check header`, compared with a loop of
`os.scandir` and `stat` over the same folders, which keeps nothing. And a COCO file of 1 million annotations of 142,857
images, planned the same way, compared with `json.load` of it. Every contender is a whole process. And one table of a
million rows as CSV and as JSON Lines, and one .tar of 300,000 samples: the rates of each step of listing them, as one
part and in the pieces that several workers list. And 10 million files that are made up, listed by readings that account
for each: by folders, and by a table that names two thirds of them. And 20,000 class folders of two files, which are
recognised.
"""

import argparse
import io
import json
import os
import random
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

from timing import Contender, figure, median, print_table, process_table, python, shardkit, turn_about, work_folder

NUM_FOLDERS = 1000
ANNOTATIONS_AN_IMAGE = 7


def many_files(target: Path, num_files: int, num_folders: int = NUM_FOLDERS) -> Path:
    """Class folders of so many files that are no images; listing does not open them."""
    done = target.with_suffix(".made")
    if not done.exists():
        for i in range(min(num_folders, num_files)):
            (target / f"class_{i:04d}").mkdir(parents=True, exist_ok=True)
        for i in range(num_files):
            (target / f"class_{i % num_folders:04d}" / f"{i:08d}.jpg").write_bytes(f"{i}".encode())
        done.touch()
    return target


def coco(target: Path, num_annotations: int) -> Path:
    """A COCO file and its images, which are empty files; polygons of eight points."""
    path = target / "instances.json"
    if path.exists():
        return path
    rng = random.Random(0)  # noqa: S311 - no secret
    (target / "images").mkdir(parents=True)
    num_images = num_annotations // ANNOTATIONS_AN_IMAGE
    for i in range(num_images):
        (target / "images" / f"{i:012d}.jpg").touch()
    images = [{"id": i, "file_name": f"{i:012d}.jpg", "width": 640, "height": 480} for i in range(num_images)]
    temporary = path.with_suffix(".tmp")
    with temporary.open("w") as file:
        file.write('{"images": ' + json.dumps(images) + ', "annotations": [')
        for i in range(num_images * ANNOTATIONS_AN_IMAGE):
            points = [round(rng.uniform(0, 480), 2) for _ in range(16)]
            annotation = {"id": i, "image_id": i // ANNOTATIONS_AN_IMAGE, "category_id": 1 + i % 80, "iscrowd": 0}
            annotation |= {"bbox": [1.5, 2.5, 100.25, 90.75], "area": 9097.6875, "segmentation": [points]}
            file.write(("," if i else "") + json.dumps(annotation))
        categories = [{"id": i, "name": f"thing {i}"} for i in range(1, 81)]
        file.write('], "categories": ' + json.dumps(categories) + "}")
    os.replace(temporary, path)
    return path


def csv_table(path: Path, num_rows: int) -> None:
    """Rows of which the last field is quoted, so that the driver cannot count lines instead of reading records."""
    with path.open("w") as file:
        file.write("image,label,split,age,note\n")
        for i in range(num_rows):
            split = "train" if i % 10 else "test"
            file.write(f'images/{i:08d}.jpg,class_{i % 100},{split},{i % 900 / 10},"a note, {i}"\n')


def json_lines(path: Path, num_rows: int) -> None:
    """Objects of four values."""
    with path.open("w") as file:
        for i in range(num_rows):
            record = {
                "image": f"images/{i:08d}.jpg",
                "label": f"class_{i % 100}",
                "split": "train",
                "age": i % 900 / 10,
            }
            file.write(json.dumps(record) + "\n")


def small_samples(path: Path, num_rows: int) -> None:
    """A WebDataset of images of 2 kB and their classes."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for i in range(num_rows * 3 // 10):
            for kind, content in (("jpg", b"x" * 2000), ("cls", str(i % 100).encode())):
                info = tarfile.TarInfo(f"{i:08d}.{kind}")
                info.size, info.mtime = len(content), 1_700_000_000
                tar.addfile(info, io.BytesIO(content))


DIVIDED = {"labels.csv": csv_table, "labels.jsonl": json_lines, "train.tar": small_samples}


def step_rows(work: Path, num_rows: int, rounds: int) -> Iterator[list[str]]:
    """Yield a row of thousands of rows a second for each kind of file."""
    for name, make in DIVIDED.items():
        path = work / f"rows-{num_rows}" / name
        if not path.exists():
            (path.parent / "images").mkdir(parents=True, exist_ok=True)
            make(path.with_suffix(".tmp"), num_rows)
            os.replace(path.with_suffix(".tmp"), path)
        runs = turn_about([Contender(name, python("list_pieces.py", path))], rounds).get(name, [])
        if not runs:
            yield [name, "failed", *[""] * (len(STEPS) + 1)]
            continue
        rates = [median(runs, lambda run, step=step: run.figures["rows"] / run.figures[step] / 1000) for step in STEPS]  # type: ignore[misc]
        shown = [f"{rate:,.0f}" if rate < 1e5 else "" for rate in rates]
        walls = f"{median(runs, figure('one_wall')):.1f} / {median(runs, figure('two_wall')):.1f}"
        yield [name, f"{median(runs, figure('num_pieces')):.0f}", *shown, walls]


STEPS = ("open", "list", "others", "divide", "pieces")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-files", type=int, default=1_000_000)
    parser.add_argument("--num-folders", type=int, default=20_000)
    parser.add_argument("--num-annotations", type=int, default=1_000_000)
    parser.add_argument("--num-rows", type=int, default=1_000_000)
    parser.add_argument("--num-accounted", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", type=Path, help="keep sources there for the next call; default: a temporary folder")
    given = parser.parse_args()
    options = ["--check", "header", "--quiet"]
    with work_folder(given.work) as work:
        files = many_files(work / f"files-{given.num_files}", given.num_files)
        folders = many_files(work / f"folders-{given.num_folders}", 2 * given.num_folders, given.num_folders)
        json_path = coco(work / f"coco-{given.num_annotations}", given.num_annotations)
        tables = {
            f"{given.num_files:,} files in {NUM_FOLDERS:,} folders": [
                Contender("os.scandir and stat", python("scan_floor.py", files)),
                Contender("shardkit plan", shardkit("plan", files, *options), against="os.scandir and stat"),
                Contender(
                    "shardkit plan --label path:0",
                    shardkit("plan", files, *options, "--label", "path:0"),
                    against="os.scandir and stat",
                ),
            ],
            f"{given.num_folders:,} class folders of two files, recognised": [
                Contender("CPU of recognising", python("recognise.py", folders), target="4 s of CPU"),
            ],
            f"accounts of {given.num_accounted:,} files": [
                Contender(f"by {kind}", python("account_files.py", given.num_accounted, kind, work), target="1 GiB")
                for kind in ("path", "table")
            ],
            f"COCO, {given.num_annotations:,} annotations, {json_path.stat().st_size / 1e6:,.0f} MB": [
                Contender("json.load", python("scan_floor.py", json_path)),
                Contender("shardkit plan", shardkit("plan", json_path, *options), against="json.load"),
            ],
        }
        failed = False
        for title, contenders in tables.items():
            runs = turn_about(contenders, given.rounds)
            print_table(f"{title}; medians of {given.rounds}", process_table(contenders, runs))
            failed |= len(runs) < len(contenders)
        rows = [["1,000 rows per second of CPU time", "pieces", *STEPS, "wall s, 1 / 2"]]
        rows += step_rows(work, given.num_rows, given.rounds)
        print_table(f"steps of listing a table of {given.num_rows:,} rows; medians of {given.rounds}", rows)
        failed |= any("failed" in row for row in rows)
    sys.exit(failed)


if __name__ == "__main__":
    main()
