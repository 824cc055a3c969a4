"""WebDataset's ShardWriter over class folders: tar files, one process.

python webdataset_writer.py SOURCE OUTPUT
"""

import argparse
import os

import webdataset

SHARD_BYTES = 54 << 20  # 54 MiB: ten shards of five thousand photographs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("output")
    given = parser.parse_args()
    os.makedirs(given.output)
    with webdataset.ShardWriter(f"{given.output}/train-%05d.tar", maxsize=SHARD_BYTES, verbose=0) as writer:
        for label, name in enumerate(sorted(os.listdir(given.source))):
            for file_name in sorted(os.listdir(f"{given.source}/{name}")):
                with open(f"{given.source}/{name}/{file_name}", "rb") as file:
                    key = f"{name}_{file_name.partition('.')[0]}"
                    writer.write({"__key__": key, "jpg": file.read(), "cls": label})


if __name__ == "__main__":
    main()
