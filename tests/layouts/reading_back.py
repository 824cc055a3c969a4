"""A dataset read back through the reader, example by example, for holding it against an independent reading."""

import tensorflow as tf

from shardkit import read_manifest, reader


def examples(dataset):
    """Every example by key: its features as NumPy values, and the split it stands in."""
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


def same_bytes(found, source):
    """Whether every image is stored as it lies in the source, where nothing had to change."""
    return all(one["image"] == (source / key).read_bytes() for key, one in found.items())
