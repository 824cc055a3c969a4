"""A sample is converted by the converter itself, with all features of the dataset."""

import numpy as np
import pytest

import shardkit
from shardkit.bench.dataset_part import choose_part, restricted
from shardkit.bench.sample import MAX_BYTES, MAX_PIXELS, MIN_IMAGES, convert_sample, sample_size, take_sample
from shardkit.dataset.manifest import read_manifest
from shardkit.errors import MachineError
from shardkit.testing import convert_without_beam

from ..cli.calling import SAMPLE_DATA


@pytest.fixture(scope="session")
def dataset(photographs, made_once):
    """The photographs as a dataset of 4 shards; not to be changed."""
    made = made_once("bench-dataset", lambda folder: convert_without_beam(str(photographs), str(folder), shards=4))
    return str(made)


def part_of(dataset, min_examples=1):
    manifest = read_manifest(dataset)
    return choose_part(manifest, next(iter(manifest.splits)), min_examples)


def test_the_copy_of_a_sample_holds_the_bytes_that_a_conversion_gives(photographs, dataset, tmp_path):
    sample = take_sample(part_of(dataset), tmp_path / "sample", 12)
    assert (sample.num_images, sample.num_jpeg) == (12, 12)
    mean_bytes = convert_sample(sample, tmp_path / "copy", {"resize": 100, "quality": 80}, threads=2)
    copy = shardkit.open(str(tmp_path / "copy"), "train")
    convert_without_beam(str(photographs), str(tmp_path / "all"), resize=100, quality=80)
    wanted = {example.key: example["image"] for example in shardkit.open(str(tmp_path / "all"), "train")}
    assert {example.key: example["image"] for example in copy} == {
        key: wanted[key] for key in copy.index["key"].to_pylist()
    }
    assert mean_bytes == read_manifest(str(tmp_path / "copy")).splits["train"].num_bytes / 12


@pytest.mark.parametrize("source", ["coco", "masks", "multilabel.jsonl"])
def test_all_features_stay_with_their_images(source, tmp_path):
    dataset = str(tmp_path / "dataset")
    features = convert_without_beam(str(SAMPLE_DATA / source), dataset).features
    sample = take_sample(part_of(dataset), tmp_path / "sample", 24)
    convert_sample(sample, tmp_path / "copy", {}, threads=2)
    manifest = read_manifest(str(tmp_path / "copy"))
    assert manifest.features == features
    assert sum(split.num_examples for split in manifest.splits.values()) == sample.num_images


def test_a_small_sample_of_which_images_are_lost_says_so(tmp_path):
    """Its shards have two images each; with one each, the number of shards would be refused."""
    dataset = str(tmp_path / "dataset")
    convert_without_beam(str(SAMPLE_DATA / "coco"), dataset)
    sample = take_sample(part_of(dataset), tmp_path / "sample", 24)
    table = tmp_path / "sample/examples.jsonl"
    table.write_text("".join(table.read_text().splitlines(keepends=True)[1:]))
    with pytest.raises(MachineError, match=f"images only {sample.num_images - 1} could be converted again"):
        convert_sample(sample, tmp_path / "copy", {}, threads=2)


@pytest.mark.parametrize(
    ("pixels", "num_bytes", "max_images", "expected"),
    [
        (1000, 1000, 512, 512),
        (1000, 1000, 5000, 1000),  # all there are
        (MAX_PIXELS // 100, 1000, 512, 100),
        (1000, MAX_BYTES // 50, 512, 50),
        (MAX_PIXELS, 1000, 512, MIN_IMAGES),
        (MAX_PIXELS, 1000, 4, 4),
    ],
)
def test_a_sample_is_bounded_by_images_pixels_and_bytes(pixels, num_bytes, max_images, expected):
    assert sample_size(np.full(1000, pixels), np.full(1000, num_bytes), max_images) == expected


def test_a_part_has_whole_shards_and_enough_examples(dataset, monkeypatch):
    part = part_of(dataset)
    assert (len(part.shards), part.part_examples, part.is_local) == (4, part.num_examples, True)
    monkeypatch.setattr("shardkit.bench.dataset_part.PART_BYTES", part.num_bytes // 2)
    assert len(part_of(dataset).shards) == 2
    assert len(part_of(dataset, min_examples=part.num_examples).shards) == 4
    monkeypatch.setattr("shardkit.bench.dataset_part.PART_BYTES", 1)
    assert len(part_of(dataset).shards) == 1


def test_a_restricted_manifest_reads_the_first_shards(dataset):
    manifest = read_manifest(dataset)
    fewer = restricted(manifest, "train", 3)
    assert fewer.splits["train"].shards == manifest.splits["train"].shards[:3]
    assert fewer.root == manifest.root
    assert len(manifest.splits["train"].shards) == 4
