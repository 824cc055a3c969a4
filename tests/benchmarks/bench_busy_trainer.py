"""Training images a second while another thread of the trainer runs Python without a break, compared with tf.data.

    python tests/benchmarks/bench_busy_trainer.py --photos FOLDER

Each release of the interpreter's lock then costs up to 5 ms to get it back. FOLDER has class folders of JPEGs; its
photographs are read as crops of 224 x 224 and left encoded, and tiles of 32 x 32 of them as pixels from the files.
"""

import argparse
import sys
from pathlib import Path

import bench_small_images
import sources
from bench_reader import BASELINE, prepared, reading_table
from timing import Contender, print_table, python, turn_about, work_folder

TILES = 50_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=Path, required=True, help="class folders of JPEGs")
    parser.add_argument("--num-photos", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=50, help="timed batches of photographs; others: 4 x")
    parser.add_argument("--work", type=Path, help="keep datasets there for the next call; default: a temporary folder")
    given = parser.parse_args()
    failed = False
    busy, many = ("--busy", "--batches", given.batches), ("--busy", "--batches", 4 * given.batches)
    with work_folder(given.work) as work:
        photos = sources.replicated(given.photos, work / f"photos-{given.num_photos}", given.num_photos)
        full, _ = prepared(photos, work, f"full-{given.num_photos}")
        small, _ = bench_small_images.prepared(given.photos, work, "jpg", 32, TILES, None)
        tables = {
            "photographs, crops of 224": [
                Contender(BASELINE, python("tfdata_reader.py", full, *busy)),
                Contender("shardkit", python("shardkit_reader.py", full, *busy), target="0.80"),
            ],
            "photographs, left encoded": [
                Contender("TFRecordDataset, parsed", python("tfdata_reader.py", full, "--raw-parsed", *many)),
                Contender("shardkit", python("shardkit_reader.py", full, "--raw", *many), target="0.45"),
            ],
            "32 x 32 from files": [
                Contender(BASELINE, python("small_images.py", small, "tfdata", *many)),
                Contender("shardkit", python("small_images.py", small, "shardkit-files", *many), target="0.30"),
            ],
        }
        for title, contenders in tables.items():
            runs = turn_about(contenders, given.rounds)
            print_table(f"{title}, busy thread; medians of {given.rounds}", reading_table(contenders, runs))
            failed |= len(runs) < len(contenders)
    sys.exit(failed)


if __name__ == "__main__":
    main()
