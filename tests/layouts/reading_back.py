"""A dataset read back through the reader, example by example, to compare it with an independent reading."""

import functools
import io

import numpy as np
import tensorflow as tf
from PIL import Image, ImageOps

from shardkit import read_manifest, reader

ORIENTATION = 0x0112


@functools.cache
def examples(dataset):
    """Every example by key: its features as NumPy values, and its split; not to be changed."""
    found = {}
    for split in read_manifest(str(dataset)).splits:
        batches = reader.make_dataset(str(dataset), split, global_batch_size=5, training=False)
        for batch in batches:
            weights = batch.pop("weight").numpy()
            for i in range(len(weights)):
                if weights[i]:
                    one = {name: _value(value[i]) for name, value in batch.items()}
                    found[one["key"].decode()] = {**one, "split": split}
    return found


def _value(value):
    return value.to_tensor().numpy() if isinstance(value, tf.RaggedTensor) else value.numpy()


def assert_same_images(found, source):
    """Every image is stored as it lies in the source, byte for byte; only what EXIF turns has other bytes."""
    for key, one in found.items():
        raw = (source / key).read_bytes()
        if one["image"] != raw:
            turned = Image.open(io.BytesIO(raw))
            assert turned.getexif().get(ORIENTATION, 1) != 1, key
            upright = np.asarray(ImageOps.exif_transpose(turned).convert("RGB"), float)
            stored = np.asarray(Image.open(io.BytesIO(one["image"])).convert("RGB"), float)
            assert np.abs(upright - stored).mean() < 3, key  # of 255: another picture is 50 off
