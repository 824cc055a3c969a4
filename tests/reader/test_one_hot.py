"""Labels as rows of 0 and 1."""

import numpy as np
import pytest

from shardkit import reader
from shardkit.errors import CallError
from shardkit.testing import convert_without_beam

from .conftest import COUNTS
from .images.test_annotations import SAMPLES

OPTIONS = {"global_batch_size": 16, "image_size": (8, 8)}


@pytest.mark.parametrize(
    "options",
    [
        {"training": False},
        {"sample_weight": "balanced"},
        *(pytest.param(one, marks=pytest.mark.slow) for one in ({}, {"image_size": (64, 64)}, {"order": "block"})),
    ],
    ids=str,
)
def test_rows_are_those_of_the_class_numbers(noise, options):
    one_hot, numbers = (
        reader.make_dataset(noise, "train", **OPTIONS | options, one_hot=flag).take(20) for flag in (True, False)
    )
    assert one_hot.element_spec[1].shape == (16, len(COUNTS))
    for rows, labels in zip(one_hot, numbers, strict=True):
        assert rows[1].dtype == np.float32
        np.testing.assert_array_equal(rows[1], np.eye(len(COUNTS))[labels[1]])
        for one, other in zip(rows[2:], labels[2:], strict=True):  # weights
            np.testing.assert_array_equal(one, other)


@pytest.mark.slow  # of numbers: images/test_mixup.py
def test_mixup_takes_rows_as_it_takes_numbers(noise):
    mixed = (
        reader.make_dataset(noise, "train", **OPTIONS, one_hot=flag, batch_map_fn=reader.mixup(3)).take(2)
        for flag in (True, False)
    )
    for (_, rows), (_, others) in zip(*mixed, strict=True):
        np.testing.assert_array_equal(rows, others)


@pytest.mark.parametrize("options", [{"image_size": None}, {"map_fn": lambda features, _: features["image"]}])
def test_elements_without_such_labels_are_refused_with_what_to_write(noise, options):
    with pytest.raises(CallError, match=r"give image_size= or images=, and leave out map_fn.*tf\.one_hot"):
        reader.make_dataset_fn(noise, "train", **OPTIONS | options, one_hot=True)


@pytest.mark.parametrize("source", ["coco", "masks", "multilabel.jsonl"])
def test_examples_without_one_class_each_are_refused(source, tmp_path):
    convert_without_beam(str(SAMPLES / source), str(tmp_path / "out"))
    with pytest.raises(CallError, match="one_hot=True needs a dataset whose examples have one class each"):
        reader.make_dataset_fn(tmp_path / "out", "train", **OPTIONS | {"global_batch_size": 2}, one_hot=True)
