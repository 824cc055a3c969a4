"""How long `WriteDataset` takes for a PCollection of photographs, compared with Beam's other writers.

    python tests/benchmarks/bench_write_dataset.py --photos FOLDER

FOLDER has class folders of JPEGs. The PCollection has 20,000 elements, each with bytes of its own, made in the
pipeline. Every contender is a whole process, start-up and imports included, on the runner that Beam has in it.

`WriteToTFRecord` promises nothing: it writes what a bundle has into a file of its own. TFDS shuffles all records.
`WriteDataset` decodes every image, writes it twice (staged, then in its shard), and publishes a balanced dataset.
"""

import argparse
import importlib.util
from pathlib import Path

from timing import Contender, print_table, process_table, python, turn_about, work_folder


def contenders(photos: Path, out: Path, num: int) -> list[Contender]:
    """All ways to write; the one without promises comes first."""

    def one(name: str, writer: str, against: str | None = None) -> Contender:
        return Contender(name, python("beam_writers.py", photos, out, num, writer), out, against)

    bare = one("WriteToTFRecord", "tfrecord")
    found = [bare, one("WriteDataset", "shardkit", bare.name), one("WriteDataset, resize=256", "resize", bare.name)]
    if importlib.util.find_spec("tensorflow_datasets"):
        found.append(one("TFDS on Beam", "tfds", bare.name))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=Path, required=True, help="class folders of JPEGs")
    parser.add_argument("--num-photos", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", type=Path, help="write below it; default: a temporary folder")
    given = parser.parse_args()
    with work_folder(given.work) as work:
        all_of_them = contenders(given.photos.resolve(), work / "out", given.num_photos)
        runs = turn_about(all_of_them, given.rounds)
        title = f"{given.num_photos:,} photographs of a PCollection; medians of {given.rounds}"
        print_table(title, process_table(all_of_them, runs))


if __name__ == "__main__":
    main()
