"""TensorFlow Datasets loads every kind of dataset, with the right names and values."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow_datasets as tfds

from shardkit import read_manifest
from shardkit.testing import append_without_beam, convert_without_beam, write_class_folders

from .reading_back import examples

SAMPLES = Path(__file__).parents[2] / "sample_data"


@pytest.mark.parametrize("name", ["coco", "multilabel.jsonl", "regression.parquet", "attributes.tsv", "masks"])
def test_the_builder_finds_every_feature(name, converted):
    dataset = converted(name)
    wanted, classes = examples(dataset), read_manifest(str(dataset)).classes
    builder = tfds.builder_from_directory(dataset)
    found = 0
    for split in builder.info.splits:
        for one in tfds.as_numpy(builder.as_dataset(split)):
            found += 1
            beside = wanted[one["key"].decode()]
            flat = {f"objects/{field}": value for field, value in one.pop("objects", {}).items()}
            for feature, value in {**one, **flat}.items():
                if feature == "segmentation_mask":
                    assert value.shape == (one["height"], one["width"], 1)
                elif feature != "image":
                    np.testing.assert_array_equal(value, beside[feature], err_msg=feature)
    assert found == len(wanted)
    for feature in _class_labels(builder.info.features):
        assert feature.names == classes


@pytest.mark.parametrize(
    ("name", "label"), [("multilabel.jsonl", "labels"), ("regression.parquet", "label"), ("coco", None)]
)
def test_pairs_of_image_and_label_are_loaded_as_supervised(name, label, converted):
    builder = tfds.builder_from_directory(converted(name))
    if label is None:
        with pytest.raises(ValueError, match="does not support a supervised"):
            builder.as_dataset("train", as_supervised=True)
        return
    whole = tfds.as_numpy(builder.as_dataset("train").take(3))
    pairs = tfds.as_numpy(builder.as_dataset("train", as_supervised=True).take(3))
    for one, (image, value) in zip(whole, pairs, strict=True):
        np.testing.assert_array_equal(image, one["image"])
        np.testing.assert_array_equal(value, one[label])


def _class_labels(features):
    for feature in features.values():
        if isinstance(feature, tfds.features.ClassLabel):
            yield feature
        elif isinstance(feature, tfds.features.Sequence):
            inner = feature.feature
            yield from _class_labels(inner if isinstance(inner, tfds.features.FeaturesDict) else {"": inner})


def test_the_generations_of_a_dataset_are_read_as_one(tmp_path):
    old = write_class_folders(tmp_path / "old", {"ant": 6, "bee": 3})
    new = write_class_folders(tmp_path / "new", {"ant/new": 2, "cat/new": 4}, width=9)
    dataset = tmp_path / "out"
    convert_without_beam(str(old), str(dataset), shards=2)
    append_without_beam(str(dataset), str(new))
    builder = tfds.builder_from_directories([dataset / "append-0001", dataset])
    found = {one["key"].decode(): int(one["label"]) for one in tfds.as_numpy(builder.as_dataset("train"))}
    assert found == {key: int(one["label"]) for key, one in examples(dataset).items()}
    assert len(found) == 15
    assert builder.info.features["label"].names == ["ant", "bee", "cat"]
