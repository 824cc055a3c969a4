"""The least that class folders to TFRecord shards through Beam's in-process runner can cost.

python beam_floor.py SOURCE OUTPUT header|decode|resize [--shards N] [--workers N]

It keeps none of shardkit's promises: no inventory, no balance, no split, no index, no manifest, no fsync, no
resuming, no rejects (it stops at the first bad image), nothing hashed but the shard. Its images are read once.
"""

import argparse
import hashlib
import io
import logging
import os
import struct

logging.disable(logging.WARNING)

import apache_beam as beam  # noqa: E402 - quietly
import google_crc32c  # noqa: E402
from apache_beam.options.pipeline_options import PipelineOptions  # noqa: E402
from apache_beam.runners.portability.fn_api_runner import FnApiRunner  # noqa: E402

SHORTER_SIDE = 256
QUALITY = 95


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def feature(name: bytes, kind: int, value: bytes) -> bytes:
    return field(1, field(1, name) + field(2, field(kind, value)))


def example(image: bytes, label: int, key: bytes, height: int, width: int) -> bytes:
    return field(
        1,
        feature(b"height", 3, field(1, varint(height)))
        + feature(b"image", 1, field(1, image))
        + feature(b"key", 1, field(1, key))
        + feature(b"label", 3, field(1, varint(label)))
        + feature(b"width", 3, field(1, varint(width))),
    )


def masked_crc(data: bytes) -> bytes:
    crc = google_crc32c.value(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def processed(data: bytes, mode: str) -> tuple[bytes, int, int]:
    from PIL import Image

    image = Image.open(io.BytesIO(data))
    width, height = image.size
    if mode == "decode":
        image.draft("RGB", (width // 8, height // 8))
        image.load()
    scale = SHORTER_SIDE / min(width, height)
    if mode == "resize" and scale < 1:
        width, height = max(1, round(width * scale)), max(1, round(height * scale))
        image.draft("RGB", (width, height))
        small = image.convert("RGB").resize((width, height), Image.Resampling.BICUBIC, reducing_gap=2.0)
        out = io.BytesIO()
        small.save(out, "JPEG", quality=QUALITY)
        data = out.getvalue()
    return data, height, width


def write(task: tuple[int, list[tuple[str, int]]], output: str, mode: str) -> str:
    shard_index, rows = task
    digest = hashlib.sha256()
    with open(f"{output}/train-{shard_index:05d}.tfrecord", "wb", buffering=1 << 20) as file:
        for path, label in rows:
            with open(path, "rb", buffering=0) as source:
                data = source.read()
            image, height, width = processed(data, mode)
            payload = example(image, label, path.encode(), height, width)
            length = struct.pack("<Q", len(payload))
            record = b"".join((length, masked_crc(length), payload, masked_crc(payload)))
            file.write(record)
            digest.update(record)
    return digest.hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("output")
    parser.add_argument("mode", choices=["header", "decode", "resize"])
    parser.add_argument("--shards", type=int, default=10)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    given = parser.parse_args()
    os.makedirs(given.output)
    rows = [
        (entry.path, label)
        for label, name in enumerate(sorted(os.listdir(given.source)))
        for entry in os.scandir(f"{given.source}/{name}")
    ]
    rows.sort(key=lambda row: hashlib.blake2b(row[0].encode(), digest_size=8).digest())
    options = PipelineOptions([f"--direct_num_workers={given.workers}", "--direct_running_mode=multi_threading"])
    with beam.Pipeline(runner=FnApiRunner(), options=options) as pipeline:
        _ = (
            pipeline
            | beam.Create([(i, rows[i :: given.shards]) for i in range(given.shards)])
            | beam.Reshuffle()
            | beam.Map(write, given.output, given.mode)
        )


if __name__ == "__main__":
    main()
