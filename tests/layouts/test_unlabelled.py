"""Images without labels: converted by the command, verified, and read by the trainer's function."""

import json

import numpy as np
import pytest
import tensorflow as tf

from shardkit import reader
from shardkit.errors import CallError
from shardkit.testing import picture, write_tree

from ..cli.calling import call


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    root = tmp_path_factory.mktemp("unlabelled")
    names = [*(f"train/{i}.png" for i in range(6)), *(f"test/deep/{i}.png" for i in range(3))]
    source = write_tree(root / "source", {name: picture(i) for i, name in enumerate(names)})
    done = call("convert", source, root / "out", "--unlabelled")
    assert done.exit_code == 0, done.output
    assert "no classes" in done.stdout
    assert "nothing to do" in call("convert", source, root / "out", "--unlabelled").stderr
    return root / "out"


def decoded(key):
    number = int(key.rsplit("/", 1)[1].removesuffix(".png")) + 6 * key.startswith("test")
    return tf.io.decode_png(picture(number), channels=3).numpy().astype(np.float32)


def make(dataset, split, **options):
    return reader.make_dataset_fn(str(dataset), split, image_size=(8, 8), **options)


def test_a_training_batch_is_the_images_alone(dataset):
    train = make(dataset, "train", global_batch_size=4, training=True)
    assert train.element_spec == tf.TensorSpec((4, 8, 8, 3), tf.float32)
    assert train.num_classes == 0
    assert next(iter(train())).numpy().max() > 0


def test_an_evaluation_batch_has_the_images_and_their_weights(dataset):
    # An evaluation without a crop, whose pixels are the file's.
    images = reader.Images((8, 8), eval_fit="stretch")
    test = reader.make_dataset_fn(str(dataset), "test", images=images, global_batch_size=2, training=False)
    batches = [(images.numpy(), weights.numpy().tolist()) for images, weights in test()]
    assert [weights for _, weights in batches] == [[1, 1], [1, 0]]
    rows = [row for images, weights in batches for row in images[: int(sum(weights))]]
    keys = [key for step in range(2) for key in test.batch_keys(step)]
    assert len(keys) == 3
    for row, key in zip(rows, keys, strict=True):
        np.testing.assert_array_equal(row, decoded(key))


def test_a_map_function_makes_the_targets_of_an_autoencoder(dataset):
    def to_itself(features, seed):
        return features["image"], features["image"]

    images, targets = next(iter(make(dataset, "train", global_batch_size=2, training=True, map_fn=to_itself)()))
    np.testing.assert_array_equal(images, targets)


@pytest.mark.parametrize("option", [{"sampling": "class_balanced"}, {"sample_weight": "balanced"}])
def test_whatever_needs_classes_is_refused_with_a_sentence(option, dataset):
    with pytest.raises(CallError, match="needs a dataset whose examples have one class each"):
        make(dataset, "train", global_batch_size=2, training=True, **option)


def test_commands_and_metadata_work_without_labels(dataset):
    assert call("verify", dataset, "--deep").exit_code == 0
    assert "from unlabelled images" in call("info", dataset).stdout
    manifest = json.loads((dataset / "manifest.json").read_text())
    assert manifest["classes"] == []
    assert sorted(manifest["features"]) == ["height", "image", "key", "width"]
    assert not (dataset / "label.labels.txt").exists()
    tfds = pytest.importorskip("tensorflow_datasets")
    builder = tfds.builder_from_directory(str(dataset))
    assert sorted(next(iter(builder.as_dataset(split="test")))) == ["height", "image", "key", "width"]


def test_classes_and_another_layout_are_refused(dataset, tmp_path):
    source = dataset.parent / "source"
    (tmp_path / "classes.txt").write_text("cat\n")
    given = call("convert", source, tmp_path / "out", "--unlabelled", "--classes", tmp_path / "classes.txt")
    assert (given.exit_code, "--classes has no effect on images without labels" in given.stderr) == (2, True)
    twice = call("convert", source, tmp_path / "out", "--unlabelled", "--layout", "coco")
    assert (twice.exit_code, "--unlabelled is a layout, and so is --layout coco" in twice.stderr) == (2, True)


def test_splits_are_made_of_a_flat_folder(tmp_path):
    source = write_tree(tmp_path / "source", {f"{i}.png": picture(i) for i in range(20)})
    planned = call("plan", source, "--unlabelled", "--splits", "train=0.5,validation=0.5", "--split-by", "stratified")
    assert planned.exit_code == 0, planned.output
    assert "train" in planned.stdout
    assert "validation" in planned.stdout
