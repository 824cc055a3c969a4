"""How long `shardkit diff` takes for datasets of a million examples, and how much memory.

    python tests/benchmarks/bench_diff.py

The second dataset has the same examples in another order; about a fifth of them are in another split, and one in a
thousand has another label or box. With classes the indexes decide everything; with boxes the records are read. Making
the datasets takes minutes.
"""

import argparse
import random
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from timing import Contender, print_table, process_table, python, turn_about, work_folder

from shardkit.dataset.features import BOXES, CLASS_LABEL, CLASS_LABELS

sys.path.insert(0, str(Path(__file__).parents[1] / "comparison"))
from making import Made, write_dataset

OBJECTS = {"objects/bbox": BOXES, "objects/label": CLASS_LABELS}
TARGET_MIB = 1024


def example(number: int, *, boxes: bool, changed: bool) -> Made:
    """One example, whose image is a few bytes."""
    is_other = changed and number % 1000 == 0
    key, image = f"folder_{number % 1000:04d}/some_longer_file_name_{number:08d}.jpg", b"image %d" % number
    if not boxes:
        return Made(key, (number + is_other) % 2, image)
    values = {"objects/bbox": [0.1, 0.1, 0.5, 0.75 if is_other else 0.5], "objects/label": [number % 2]}
    return Made(key, None, image, values=values)


def datasets(folder: Path, num_examples: int, *, boxes: bool) -> list[Path]:
    """The two datasets, made if they are not there."""
    made = []
    for name in ("a", "b"):
        numbers = list(range(num_examples))
        if name == "b":
            random.Random(0).shuffle(numbers)  # noqa: S311 - no secret
        target = folder / name
        if not (target / "manifest.json").exists():
            folder.mkdir(parents=True, exist_ok=True)
            examples = [example(number, boxes=boxes, changed=name == "b") for number in numbers]
            splits = {"train": examples[: num_examples * 9 // 10], "test": examples[num_examples * 9 // 10 :]}
            features, label = (OBJECTS, None) if boxes else ({}, CLASS_LABEL)
            write_dataset(target, splits, features=features, label=label, shard_size=20_000)
        made.append(target)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-examples", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", type=Path, help="keep datasets there for the next call; default: a temporary folder")
    given = parser.parse_args()
    with work_folder(given.work) as work:
        contenders = []
        for kind, boxes in (("classes", False), ("boxes", True)):
            # In a process of its own: the peak of a contender includes that of the process that started it.
            with ProcessPoolExecutor(1) as pool:
                folder = work / f"{kind}-{given.num_examples}"
                paths = pool.submit(datasets, folder, given.num_examples, boxes=boxes).result()
            contenders.append(Contender(f"shardkit diff, {kind}", python("diff_datasets.py", *paths)))
        runs = turn_about(contenders, given.rounds)
        print_table(f"{given.num_examples:,} examples; medians of {given.rounds}", process_table(contenders, runs))
        peaks = [run.peak_mib for found in runs.values() for run in found]
    sys.exit(len(runs) < len(contenders) or max(peaks) > TARGET_MIB)


if __name__ == "__main__":
    main()
