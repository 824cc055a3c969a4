import collections
import io
import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image, ImageOps

from shardkit.testing import picture, write_class_folders, write_tree

from ..cli.calling import SAMPLE_DATA, convert

tf = pytest.importorskip("tensorflow")
tfds = pytest.importorskip("tensorflow_datasets")

FEATURES = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "label": tf.io.FixedLenFeature([], tf.int64),
    "key": tf.io.FixedLenFeature([], tf.string),
    "height": tf.io.FixedLenFeature([], tf.int64),
    "width": tf.io.FixedLenFeature([], tf.int64),
}


@pytest.fixture(scope="module", params=["broken", "broken, resized", "shapes"])
def converted(request, tmp_path_factory):
    """A sample source and its dataset."""
    source = SAMPLE_DATA / request.param.partition(",")[0]
    output = tmp_path_factory.mktemp("converted") / "out"
    options = ["--splits", "train=0.5,validation=0.25,test=0.25", "--split-by", "stratified", "--max-rejected", "30%"]
    resize = ["--resize", "40"] if "resized" in request.param else []
    convert(source, output, *options, "--shards", "train=3,validation=2,test=1", "--name", "samples", *resize)
    return source, output


@pytest.fixture(scope="module")
def indexed(converted):
    """Every index row by key, with its split."""
    rows = {}
    for path in sorted(converted[1].glob("*.index.parquet")):
        for row in pq.read_table(path).to_pylist():
            rows[row["key"]] = {**row, "split": path.name.partition("-")[0]}
    return rows


def pixels(file):
    """What Pillow shows of a file: first frame, upright, in colour."""
    with Image.open(file) as image:
        return np.asarray(ImageOps.exif_transpose(image).convert("RGB")).astype(int)


def test_tf_data_reads_every_record_and_decodes_the_picture_that_pillow_shows_of_the_raw_file(converted, indexed):
    source, output = converted
    seen = set()
    for path in sorted(output.glob("*.tfrecord")):
        for serialised in tf.data.TFRecordDataset(str(path)):
            example = tf.io.parse_single_example(serialised, FEATURES)
            key = example["key"].numpy().decode()
            row = indexed[key]
            decoded = tf.io.decode_image(example["image"], channels=3, expand_animations=False).numpy()
            assert decoded.shape == (example["height"], example["width"], 3) == (row["height"], row["width"], 3), key
            assert example["label"] == row["label"]
            # TensorFlow decodes JPEGs by a faster, less exact transform.
            assert np.abs(decoded - pixels(io.BytesIO(example["image"].numpy()))).mean() <= (
                0 if row["format"] == "PNG" else 4
            ), key
            if "resized" not in row["changes"] and "bit_depth" not in row["changes"]:
                # Turned JPEGs are encoded anew, at quality 95; a wrong turn would be 50 apart.
                assert np.abs(decoded - pixels(source / key)).mean() <= (0 if row["format"] == "PNG" else 4), key
            seen.add(key)
    assert seen == set(indexed)


def test_tensorflow_datasets_loads_splits_counts_classes_and_pictures(converted, indexed):
    _, output = converted
    builder = tfds.builder_from_directory(str(output))
    assert builder.name == "samples"
    manifest = json.loads((output / "manifest.json").read_text())
    assert list(builder.info.splits) == list(manifest["splits"])
    assert builder.info.features["label"].names == manifest["classes"]
    by_split = collections.Counter(row["split"] for row in indexed.values())
    for name, split in builder.info.splits.items():
        assert split.num_examples == by_split[name]
        assert split.num_shards == len(manifest["splits"][name]["shards"])
        seen = 0
        for example in builder.as_dataset(split=name, shuffle_files=False):
            row = indexed[example["key"].numpy().decode()]
            assert row["split"] == name
            assert example["image"].shape == (row["height"], row["width"], 3)
            assert builder.info.features["label"].int2str(int(example["label"])) == row["label_name"]
            seen += 1
        assert seen == by_split[name]
    half = builder.as_dataset(split="train[:50%]")
    assert len(half) == round(by_split["train"] / 2)


def test_tensorflow_datasets_gives_png_pixels_as_pillow_does(tmp_path):
    source = write_class_folders(tmp_path / "source", {"train/a": 5, "train/b": 4, "test/a": 2}, width=9, height=5)
    convert(source, tmp_path / "out")
    builder = tfds.builder_from_directory(str(tmp_path / "out"))
    seen = 0
    for split, dataset in builder.as_dataset().items():
        for example in dataset:
            key = example["key"].numpy().decode()
            assert key.startswith(f"{split}/")
            with Image.open(source / key) as image:
                np.testing.assert_array_equal(example["image"], np.asarray(image))
            seen += 1
    assert seen == 11


@pytest.mark.parametrize(
    "classes",
    [
        ["a", "b c", "ü"],
        ["a\nb", "c"],  # TFDS reads one name a line
        [" ", "a", "b"],  # TFDS passes over blank lines: all labels behind one would be off by one
        ["#", '"', "\\n"],
    ],
    ids=repr,
)
def test_tensorflow_datasets_gives_every_label_the_place_it_has_here(classes, tmp_path):
    source = write_tree(tmp_path / "source", {f"{name}/{i}.png": picture(i) for i, name in enumerate(classes)})
    convert(source, tmp_path / "out", "--label", "path:0")
    names = tfds.builder_from_directory(str(tmp_path / "out")).info.features["label"].names
    assert len(names) == len(classes)
    for ours, theirs in zip(sorted(classes), names, strict=True):
        assert theirs == ours or ours != " ".join(ours.split()), "a name in plain words is kept as it is"
