"""array_record's C++ writer over class folders: a label and an image a record, in ten files; what grain reads.

python array_record_writer.py SOURCE OUTPUT
"""

import argparse
import os
import struct

from array_record.python import array_record_module

NUM_FILES = 10
LABEL = struct.Struct("<i")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("output")
    given = parser.parse_args()
    os.makedirs(given.output)
    # One record a group and no compression: what its documentation advises for random access to images.
    writers = [
        array_record_module.ArrayRecordWriter(
            f"{given.output}/train-{i:05d}-of-{NUM_FILES:05d}.array_record", "group_size:1,uncompressed"
        )
        for i in range(NUM_FILES)
    ]
    number = 0
    for label, name in enumerate(sorted(os.listdir(given.source))):
        for file_name in sorted(os.listdir(f"{given.source}/{name}")):
            with open(f"{given.source}/{name}/{file_name}", "rb") as file:
                writers[number % NUM_FILES].write(LABEL.pack(label) + file.read())
            number += 1
    for writer in writers:
        writer.close()


if __name__ == "__main__":
    main()
