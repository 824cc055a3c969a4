"""Write 1.5 GiB of images with one label and one group, and print the peak memory of this process in MiB.

large_group.py OUTPUT
"""

import resource
import sys

import apache_beam as beam

from shardkit.beam import Example, WriteDataset
from shardkit.testing import picture

NUM_BYTES = 3 << 29  # 1.5 GiB
SIDE = 900  # pixels: noise of that size takes 0.7 MB


def images(number, num, jpeg):
    """Every hundredth image from a number on: a JPEG with a comment of its own, so that all differ."""
    for i in range(number, num, 100):
        comment = b"\xff\xfe\x00\x0a%08d" % i
        yield Example(f"{i:08d}.jpg", jpeg[:2] + comment + jpeg[2:], label="all", group="one")


if __name__ == "__main__":
    jpeg = picture(0, width=SIDE, height=SIDE, kind="JPEG")
    num = -(-NUM_BYTES // len(jpeg))
    with beam.Pipeline("FnApiRunner") as pipeline:
        numbers = pipeline | beam.Create(range(100), reshuffle=False)
        _ = numbers | beam.FlatMap(images, num, jpeg) | WriteDataset(sys.argv[1])
    sys.stdout.write(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10}\n")
