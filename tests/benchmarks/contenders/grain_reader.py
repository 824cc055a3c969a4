"""grain over array_record files: global shuffle, images decoded by OpenCV, or by Pillow where that is missing.

python grain_reader.py FOLDER [--warm-up N] [--batches N]

Threads of one process: both decoders free the interpreter's lock. A JPEG is decoded whole, then cropped: neither
decoder can leave out what lies outside the window.
"""

import argparse
import glob
import io
import math
from typing import Any

import grain
import numpy as np
from array_record_writer import LABEL
from measuring import BATCH_SIZE, measure

try:
    import cv2
except ImportError:
    cv2 = None

SIDE = 224
ATTEMPTS = 10


def random_window(height: int, width: int, rng: np.random.Generator) -> tuple[int, int, int, int]:
    """torchvision's RandomResizedCrop: top, left, height, width."""
    for _ in range(ATTEMPTS):
        area = height * width * rng.uniform(0.08, 1.0)
        aspect = math.exp(rng.uniform(math.log(3 / 4), math.log(4 / 3)))
        tall, wide = round(math.sqrt(area / aspect)), round(math.sqrt(area * aspect))
        if 0 < tall <= height and 0 < wide <= width:
            return int(rng.integers(height - tall + 1)), int(rng.integers(width - wide + 1)), tall, wide
    return 0, 0, height, width


class TrainingImage(grain.transforms.RandomMap):
    """Record to (uint8[224, 224, 3], label)."""

    def random_map(self, element: bytes, rng: np.random.Generator) -> tuple[Any, int]:
        (label,) = LABEL.unpack_from(element)
        crop = _crop_opencv if cv2 is not None else _crop_pillow
        image = crop(element[LABEL.size :], rng)
        return (image[:, ::-1] if rng.random() < 0.5 else image), label


def _crop_opencv(data: bytes, rng: np.random.Generator) -> Any:
    image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)
    top, left, tall, wide = random_window(image.shape[0], image.shape[1], rng)
    window = image[top : top + tall, left : left + wide]
    return cv2.resize(window, (SIDE, SIDE), interpolation=cv2.INTER_LINEAR)


def _crop_pillow(data: bytes, rng: np.random.Generator) -> Any:
    from PIL import Image

    image = Image.open(io.BytesIO(data)).convert("RGB")
    top, left, tall, wide = random_window(image.height, image.width, rng)
    box = (left, top, left + wide, top + tall)
    return np.asarray(image.resize((SIDE, SIDE), Image.Resampling.BILINEAR, box=box))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--warm-up", type=int, default=20)
    parser.add_argument("--batches", type=int, default=100)
    given = parser.parse_args()
    if cv2 is not None:
        cv2.setNumThreads(0)  # the threads are grain's
    source = grain.sources.ArrayRecordDataSource(sorted(glob.glob(f"{given.folder}/*.array_record")))
    dataset = (
        grain.MapDataset.source(source)
        .seed(0)
        .shuffle()
        .repeat()
        .random_map(TrainingImage())
        .to_iter_dataset(grain.ReadOptions())
        .batch(BATCH_SIZE, drop_remainder=True)
    )
    measure(iter(dataset), warm_up=given.warm_up, num_batches=given.batches)


if __name__ == "__main__":
    main()
