"""What a training image costs by its size, its chroma subsampling, and as a progressive JPEG.

    python tests/benchmarks/bench_decoding_cost.py --photos FOLDER

Each photograph is encoded in each way, and TensorFlow decodes it as the reader does: a crop of about half of the area,
resized to 224 x 224. CPU time, one image at a time, with the cost of a call; the best of some rounds, because other
programs take time away and never give any. The ratios are constants of `shardkit/report/facts/jpegs.py`.
"""

import argparse
import io
import os
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

SHORTER_SIDES = (128, 256, 375, 768, 1500)
QUALITY = 90
CROP_SIDE = 0.73  # of each side: the mean area of a random crop is about half of the image's


def encoded(photo, **options):
    out = io.BytesIO()
    photo.save(out, "JPEG", quality=QUALITY, **options)
    return out.getvalue()


def cpu_ms(images, rounds):
    """CPU time of an image in ms, to decode a crop and resize it."""
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec((), tf.string)])
    def decode(data):
        height, width = tf.unstack(tf.io.extract_jpeg_shape(data)[:2])
        size = [tf.cast(CROP_SIDE * tf.cast(side, tf.float32), tf.int32) for side in (height, width)]
        window = [(height - size[0]) // 2, (width - size[1]) // 2, *size]
        crop = tf.io.decode_and_crop_jpeg(data, window, channels=3)
        return tf.cast(tf.image.resize(crop, (224, 224)), tf.uint8)

    tensors = [tf.constant(data) for data in images]
    best = float("inf")
    for _ in range(rounds + 1):  # the first traces
        start = time.process_time()
        for tensor in tensors:
            decode(tensor)
        best = min(best, time.process_time() - start)
    return best / len(images) * 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=Path, required=True)
    parser.add_argument("--images", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    import numpy as np
    from PIL import Image

    files = sorted(path for path in options.photos.rglob("*") if path.is_file())[: options.images]
    photos = [Image.open(path).convert("RGB") for path in files]
    print("ms of CPU time an image, and the ratio to baseline 4:2:0")
    print("side  megapixels   4:2:0         4:4:4   progressive 4:2:0")
    for side in SHORTER_SIDES:
        sized = []
        for photo in photos:
            factor = side / min(photo.size)
            sized.append(photo.resize([max(1, round(one * factor)) for one in photo.size]))
        mean = np.mean([one.width * one.height for one in sized]) / 1e6
        found = [
            cpu_ms([encoded(one, **how) for one in sized], options.rounds)
            for how in ({"subsampling": 2}, {"subsampling": 0}, {"subsampling": 2, "progressive": True})
        ]
        cells = [f"{one:6.2f} {one / found[0]:6.2f}" for one in found[1:]]
        print(f"{side:4}  {mean:10.3f}  {found[0]:6.2f} {cells[0]} {cells[1]}", flush=True)


if __name__ == "__main__":
    main()
