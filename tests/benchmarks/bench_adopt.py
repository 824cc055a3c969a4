"""How fast `shardkit adopt` reads TFRecords, compared with reading the files and doing nothing with them.

    python tests/benchmarks/bench_adopt.py --photos FOLDER

The photographs are replicated into TFRecord files as tensorflow/models' build_imagenet_data.py writes them. `adopt`
runs in one and in two threads, and on Beam's portable job service with one and with two workers; each writes its
manifest into a folder of its own. `cat` reads the same files. With `--cold`, all files are dropped from the page cache
before each run.
"""

import argparse
import itertools
import os
import shutil
import sys
from pathlib import Path

from timing import Contender, print_table, process_table, run, shardkit, work_folder

from shardkit.dataset import example, tfrecord

MIB = 1 << 20


def records(photos: Path, target: Path, num_bytes: int, num_files: int) -> list[Path]:
    """TFRecord files of so many bytes together, made once."""
    images = [path.read_bytes() for path in sorted(photos.glob("*/*")) if path.is_file()]
    if not images:
        msg = f"{photos} has no class folders with photographs in them"
        raise SystemExit(msg)
    target.mkdir(exist_ok=True)
    paths = [target / f"train-{number:05d}-of-{num_files:05d}" for number in range(num_files)]
    for number, path in enumerate(paths):
        if path.exists():
            continue
        temporary, written = path.with_name(f"tmp-{path.name}"), 0
        with temporary.open("wb") as file:
            for at in itertools.count():
                if written >= num_bytes // num_files:
                    break
                image = images[(at + number * len(images) // num_files) % len(images)]
                for part in tfrecord.frame(record(image, at % 1000 + 1, f"n{number:03d}_{at:08d}.JPEG")):
                    written += file.write(part)
        os.replace(temporary, path)
    return paths


def record(image: bytes, label: int, name: str) -> bytes:
    """An example with the features of build_imagenet_data.py."""
    synset = b"n%08d" % label
    return example.encode(
        {
            "image/channels": example.int64_feature((3,)),
            "image/class/label": example.int64_feature((label,)),
            "image/class/synset": example.bytes_feature([synset]),
            "image/class/text": example.bytes_feature([b"class %d" % label]),
            "image/colorspace": example.bytes_feature([b"RGB"]),
            "image/encoded": example.bytes_feature([image]),
            "image/filename": example.bytes_feature([name.encode()]),
            "image/format": example.bytes_feature([b"JPEG"]),
            "image/height": example.int64_feature((400,)),
            "image/object/bbox/label": example.int64_feature(()),
            "image/object/bbox/xmax": example.float_feature([]),
            "image/object/bbox/xmin": example.float_feature([]),
            "image/object/bbox/ymax": example.float_feature([]),
            "image/object/bbox/ymin": example.float_feature([]),
            "image/width": example.int64_feature((500,)),
        }
    )


def drop_from_cache(paths: list[Path]) -> None:
    """Let the kernel forget what it has cached of files."""
    for path in paths:
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=Path, required=True, help="class folders of JPEGs")
    parser.add_argument("--mib", type=int, default=2048, help="size of all files together")
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cold", action="store_true", help="drop the files from the page cache before each run")
    parser.add_argument("--no-beam", action="store_true", help="leave Beam's job service out")
    parser.add_argument("--work", type=Path, help="keep the files there for the next call; default: a temporary folder")
    given = parser.parse_args()
    with work_folder(given.work) as work:
        paths = records(given.photos, work / f"records-{given.mib}-{given.files}", given.mib * MIB, given.files)
        num_bytes = sum(path.stat().st_size for path in paths)
        into = work / "adopted"
        cat = Contender("cat > /dev/null", ["sh", "-c", 'cat "$@" > /dev/null', "cat", *map(str, paths)])
        adopting = ("adopt", paths[0].parent, "--into", into, "--quiet")
        contenders = [cat]
        for num in (1, 2):
            command = shardkit(*adopting, "--workers", num)
            contenders.append(Contender(f"adopt, {num} threads", command, into, against=cat.name))
        for num in () if given.no_beam else (1, 2):
            options = ("--runner=PortableRunner", "--job_endpoint=embed", "--environment_type=LOOPBACK")
            temporary = work / "temporary"
            temporary.mkdir(exist_ok=True)
            command = shardkit(*adopting, *options, f"--sdk_worker_parallelism={num}", f"--temp_location={temporary}")
            contenders.append(Contender(f"adopt on Beam, {num} workers", command, into, against=cat.name))
        runs = {one.name: [] for one in contenders}
        for _ in range(given.rounds):
            for one in contenders:
                if given.cold:
                    drop_from_cache(paths)
                runs[one.name].append(run(one))
        rows = process_table(contenders, runs)
        rows[0].append("MB a wall s")
        for row, one in zip(rows[1:], contenders, strict=True):
            row.append(
                f"{num_bytes / 1e6 / sorted(found.seconds for found in runs[one.name])[len(runs[one.name]) // 2]:.0f}"
            )
        kind = "not in the page cache" if given.cold else "in the page cache"
        print_table(f"{num_bytes / 1e9:.2f} GB in {len(paths)} files, {kind}; medians of {given.rounds}", rows)
        shutil.rmtree(work / "temporary", ignore_errors=True)
    sys.exit()


if __name__ == "__main__":
    main()
