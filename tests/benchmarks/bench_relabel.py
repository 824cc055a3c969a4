"""What it costs to correct 1 % of the labels of a million images, and to withdraw as many, without decoding one.

    python tests/benchmarks/bench_relabel.py

OLD is converted once from WebDataset shards of small JPEGs that are all different; this takes minutes, and `--work
FOLDER` keeps it. `cat` reads OLD's files only. Afterwards the results are checked: `shardkit diff` has to find the
corrected labels and nothing else, and no key, hash or byte of a withdrawn image may be in the new dataset.
"""

import argparse
import csv
import io
import random
import re
import shutil
import subprocess
import sys
import tarfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from sources import distinct_jpegs, with_comment
from timing import Contender, print_table, process_table, run, shardkit, work_folder

import shardkit as library

NUM_CLASSES = 1000
PER_TAR = 50_000
WITHDRAWN = 1000
SERIAL = re.compile(rb"serial (\d{10})")


def tars(target: Path, num_examples: int) -> Path:
    """WebDataset shards of so many JPEGs, each with its number in a comment."""
    done = target.with_suffix(".made")
    if done.exists():
        return target
    target.mkdir(parents=True)
    encoded = distinct_jpegs(min(num_examples, 1000))
    for start in range(0, num_examples, PER_TAR):
        with tarfile.open(target / f"part-{start // PER_TAR:06d}.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
            for number in range(start, min(start + PER_TAR, num_examples)):
                image = with_comment(encoded[number % len(encoded)], b"serial %010d" % number)
                for suffix, data in (("jpg", image), ("cls", b"%d" % (number % NUM_CLASSES))):
                    member = tarfile.TarInfo(f"{number:010d}.{suffix}")
                    member.size = len(data)
                    archive.addfile(member, io.BytesIO(data))
    done.touch()
    return target


def converted(work: Path, num_examples: int) -> Path:
    """OLD."""
    old = work / f"old-{num_examples}"
    if not (old / "manifest.json").exists():
        source = tars(work / f"tars-{num_examples}", num_examples)
        subprocess.run(shardkit("convert", source, old, "--splits", "90/5/5", "--quiet"), check=True)
        shutil.rmtree(source)
        source.with_suffix(".made").unlink()
    return old


def index(dataset: Path) -> pa.Table:
    """Keys, labels and hashes of all examples."""
    parts = sorted(dataset.glob("*.index.parquet"))
    columns = ["key", "label", "label_name", "content_sha256"]
    return pa.concat_tables([pq.read_table(part, columns=columns) for part in parts], promote_options="permissive")


def serials(dataset: Path) -> set[bytes]:
    """The numbers in the comments of all JPEGs, found by searching all bytes of all files."""
    return {found for path in dataset.rglob("*") if path.is_file() for found in SERIAL.findall(path.read_bytes())}


def write_changes(work: Path, old: Path, share: float) -> tuple[dict[str, str], set[str]]:
    """Write corrected.csv and withdrawn.txt; return the corrected labels and the withdrawn keys."""
    table = index(old)
    classes = library.read_manifest(old).classes
    rng = random.Random(0)  # noqa: S311 - no secret
    rows = rng.sample(range(len(table)), round(len(table) * share))
    keys, labels = table["key"].to_pylist(), table["label"].to_pylist()
    corrected = {keys[row]: classes[(labels[row] + 1 + rng.randrange(len(classes) - 1)) % len(classes)] for row in rows}
    withdrawn = set(rng.sample(keys, min(WITHDRAWN, len(keys) // 10)))
    with (work / "corrected.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("key", "label"), *corrected.items()])
    (work / "withdrawn.txt").write_text("\n".join(sorted(withdrawn)) + "\n")
    return corrected, withdrawn


def wrong_labels(old: Path, new: Path, corrected: dict[str, str]) -> list[str]:
    """Say what is wrong in a dataset that has corrected labels."""
    found = library.diff(str(old), str(new))
    counts = {kind: changes.num_examples for kind, changes in found.kinds.items() if changes.num_examples}
    wrong = [] if counts == {"label": len(corrected)} else [f"diff finds {counts}, not {len(corrected)} labels"]
    table = index(new)
    labels = dict(zip(table["key"].to_pylist(), table["label_name"].to_pylist(), strict=True))
    different = [key for key, label in corrected.items() if labels[key] != label]
    return wrong + ([f"{len(different)} labels are not the corrected ones"] if different else [])


def traces(old: Path, new: Path, withdrawn: set[str]) -> list[str]:
    """Say what is left of withdrawn images."""
    before, after = index(old), index(new)
    is_withdrawn = pa.array([key in withdrawn for key in before["key"].to_pylist()])
    gone = before.filter(is_withdrawn)
    hashes = {bytes(one) for one in gone["content_sha256"].to_pylist()}
    numbers = {re.search(rb"(\d{10})", key.encode()).group(1) for key in withdrawn}
    in_files = serials(new)
    left = {
        "keys": withdrawn & set(after["key"].to_pylist()),
        "hashes": hashes & {bytes(one) for one in after["content_sha256"].to_pylist()},
        "images": numbers & in_files,
        "keys in records": {
            key
            for path in new.glob("*.tfrecord")
            for key in re.findall(rb"\d{10}\.jpg", path.read_bytes())
            if key[:10] in numbers
        },
    }
    wrong = [f"{len(found)} {what} of withdrawn images are left" for what, found in left.items() if found]
    kept = len(before) - len(withdrawn)
    if not len(after) == len(in_files) == kept:
        wrong.append(f"there are {len(after)} rows and {len(in_files)} images, not {kept}")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-examples", type=int, default=1_000_000)
    parser.add_argument("--share", type=float, default=0.01, help="share of labels that are corrected")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", type=Path, help="keep OLD there for the next call; default: a temporary folder")
    given = parser.parse_args()
    with work_folder(given.work) as work:
        old = converted(work, given.num_examples)
        # In a process of its own: the peak of a contender includes that of the process that started it.
        with ProcessPoolExecutor(1) as pool:
            corrected, withdrawn = pool.submit(write_changes, work, old, given.share).result()
        relabelled, rest = work / "relabelled", work / "rest"
        commands = {
            "cat of OLD's shards": (
                ["sh", "-c", 'cat "$@" > /dev/null', "cat", *map(str, sorted(old.glob("*.tfrecord")))],
                None,
            ),
            f"--labels, {len(corrected):,} corrections": (
                shardkit("convert", old, relabelled, "--labels", work / "corrected.csv", "--quiet"),
                relabelled,
            ),
            f"--drop, {len(withdrawn):,} keys": (
                shardkit("convert", old, rest, "--drop", work / "withdrawn.txt", "--quiet"),
                rest,
            ),
            "shardkit diff": ([sys.executable, "-c", _DIFF, str(old), str(relabelled)], None),
        }
        contenders = [Contender(name, command) for name, (command, _) in commands.items()]
        runs = {one.name: [] for one in contenders}
        for _ in range(given.rounds):
            for one in contenders:
                output = commands[one.name][1]
                if output is not None:
                    shutil.rmtree(output, ignore_errors=True)
                runs[one.name].append(run(one))
        num_bytes = sum(path.stat().st_size for path in old.glob("*.tfrecord"))
        title = f"{given.num_examples:,} images, {num_bytes / 1e9:.2f} GB of shards; medians of {given.rounds}"
        print_table(title, process_table(contenders, runs))
        wrong = wrong_labels(old, relabelled, corrected) + traces(old, rest, withdrawn)
        print(
            "\n".join(wrong)
            or f"checked: {len(corrected):,} labels differ and nothing else; no trace of withdrawn images"
        )
        for output in (relabelled, rest):
            shutil.rmtree(output)
    sys.exit(bool(wrong))


_DIFF = "import shardkit, sys; shardkit.diff(*sys.argv[1:3])"

if __name__ == "__main__":
    main()
