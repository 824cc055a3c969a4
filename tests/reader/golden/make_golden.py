"""Write the golden batches: `python -m tests.reader.golden.make_golden`, and with `datasets` also their datasets.

The files were made by commit 5b63eac1, before the reader's records were fetched by NumPy. They are not made again:
what they hold is what a seed has to give for ever.
"""

import hashlib
import json
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf
from PIL import Image

from shardkit.testing import convert_without_beam, encoded, write_tree

from .configurations import CONFIGURATIONS, DATASETS, GOLDEN, batches_of, dataset_fn, flat, plans_of

COLOURS = np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255]], np.uint8)


def photograph(number, height, width):
    rows, columns = np.mgrid[0:height, 0:width].astype(float)
    waves = [
        np.sin(rows * (2 + number % 5) / 9 + number),
        np.cos(columns * (1 + number % 7) / 7),
        np.sin(rows + columns),
    ]
    return Image.fromarray((127 + 120 * np.stack(waves, -1)).astype(np.uint8))


def folders(counts, seed, first=0):
    generator, files, number = np.random.default_rng(seed), {}, first
    for name, count in counts.items():
        for at in range(count):
            height, width = (int(side) for side in generator.integers(12, 60, 2))
            image = photograph(number, height, width)
            if number % 9 == 4:
                image = image.convert("L")
            kind = "PNG" if number % 5 == 3 else "JPEG"
            options = {} if kind == "PNG" else {"quality": 80, "subsampling": 2 * (number % 2)}
            suffix = "png" if kind == "PNG" else "jpg"
            files[f"{name}/{at:02}.{suffix}"] = encoded(image, kind, **options)
            number += 1
    return files


def scenes(count):
    generator = np.random.default_rng(5)
    for _ in range(count):
        height, width = (int(side) for side in generator.integers(30, 70, 2))
        pixels, mask, boxes = np.zeros((height, width, 3), np.uint8), np.zeros((height, width), np.uint8), []
        for label in range(int(generator.integers(1, 4))):
            top, left = int(generator.integers(0, height // 2)), int(generator.integers(0, width // 2))
            bottom, right = int(generator.integers(top + 6, height)), int(generator.integers(left + 6, width))
            pixels[top:bottom, left:right], mask[top:bottom, left:right] = COLOURS[label], label + 1
            boxes.append((label, top, left, bottom, right))
        yield pixels, mask, boxes


def detection():
    files, images, annotations = {}, [], []
    for number, (pixels, _, boxes) in enumerate(scenes(30)):
        name = f"{number:03}.png"
        files[f"images/{name}"] = encoded(Image.fromarray(pixels))
        images.append({"id": number, "file_name": name, "height": pixels.shape[0], "width": pixels.shape[1]})
        for label, top, left, bottom, right in boxes:
            box = [left, top, right - left, bottom - top]
            one = {"id": len(annotations), "image_id": number, "category_id": label + 1, "bbox": box}
            annotations.append(one)
    categories = [{"id": at + 1, "name": name} for at, name in enumerate(("red", "green", "blue"))]
    content = {"images": images, "annotations": annotations, "categories": categories}
    return files | {"instances.json": json.dumps(content).encode()}


def segmentation():
    files = {}
    for number, (pixels, mask, _) in enumerate(scenes(30)):
        files[f"images/{number:03}.png"] = encoded(Image.fromarray(pixels))
        files[f"masks/{number:03}.png"] = encoded(Image.fromarray(mask))
    return files


def small():
    return {f"{'ab'[at % 2]}/{at:02}.png": encoded(photograph(at, 8, 8)) for at in range(40)}


def make_datasets():
    sources = {
        "folders": (folders({"ant": 24, "bee": 18, "cat": 11}, 0), 3),
        "more": (folders({"bee": 12, "dog": 10}, 1, 100), 2),
        "boxes": (detection(), 2),
        "masks": (segmentation(), 2),
        "small": (small(), 2),
    }
    shutil.rmtree(DATASETS, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, (files, shards) in sources.items():
            source = write_tree(Path(folder) / name, files)
            convert_without_beam(str(source), str(DATASETS / name), shards=shards)
    shutil.copytree(DATASETS / "folders", DATASETS / "damaged")
    for shard, at in (("train-00000-of-00003", 3000), ("train-00001-of-00003", 9000), ("train-00001-of-00003", 500)):
        path = DATASETS / "damaged" / f"{shard}.tfrecord"
        raw = bytearray(path.read_bytes())
        raw[at] ^= 0x55
        path.write_bytes(raw)


def make_batches(name):
    """Write what is planned for all workers, and each element: its numbers, and the digests of the rest."""
    configuration = CONFIGURATIONS[name]
    made, kept = dataset_fn(configuration), {}
    for worker, columns in enumerate(plans_of(made, configuration)):
        kept |= {f"plan {worker} {one}": column for one, column in columns.items()}
    for step, elements in enumerate(batches_of(made, configuration)):
        for at, element in enumerate(elements):
            for part, value in flat(element).items():
                kept |= {f"{step} {at} {part} digest": digest(value)}
                if value.dtype.kind in "iufb":
                    kept[f"{step} {at} {part}"] = value if value.ndim < 4 else as_pixels(made, value)
    np.savez_compressed(GOLDEN / f"{name}.npz", tensorflow=tf.__version__, **kept)


def as_pixels(made, images):
    return made.as_pixels(images)


def digest(value):
    """The digest of an array, of texts one by one."""
    raw = b"\0".join(value.ravel().tolist()) if value.dtype == object else value.tobytes()
    return hashlib.sha256(repr((value.shape, str(value.dtype))).encode() + raw).hexdigest()[:16]


if __name__ == "__main__":
    if "datasets" in sys.argv:
        make_datasets()
    for name in CONFIGURATIONS:
        make_batches(name)
