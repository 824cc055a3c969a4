"""TFRecords of TensorFlow, by the commands of a user: adopt, plan, convert, verify, append, and a step of training.

OLD (tf.io) ──adopt──► OLD/manifest.json ──convert──► NEW ──► a step of gradient descent
 └────────────convert --layout tfrecord──► PLAIN: holds the same images, byte for byte
"""

import io
import json

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

import shardkit
from shardkit import reader

from ..cli.calling import call

CLASSES = ["cat", "dog", "owl"]
SPLITS = {"train": 12, "validation": 6}
NUM = sum(SPLITS.values())


def photograph(i, *, turned=False):
    """A JPEG with detail; of those that lie on their side, EXIF says how they are held."""
    detail = np.random.default_rng(i).integers(0, 256, (40, 56, 3), np.uint8)
    image = Image.fromarray(detail).resize((168, 120), Image.Resampling.BICUBIC)
    exif, file = Image.Exif(), io.BytesIO()
    if turned:
        exif[0x0112] = 6
    image.save(file, "JPEG", quality=90, exif=exif)
    return file.getvalue()


def feature(*values):
    """A tf.train.Feature of one kind of values."""
    if isinstance(values[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if isinstance(values[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def labelled(i):
    """An image with a class, as tensorflow/models writes it."""
    return {
        "image/encoded": feature(photograph(i)),
        "image/filename": feature(b"photo_%02d.jpg" % i),
        "image/class/label": feature(1 + i % 3),
        "image/class/text": feature(CLASSES[i % 3].encode()),
        "camera": feature(i % 2),
    }


def detected(i):
    """An image with boxes; some lie on their side, and some have none."""
    found = {
        "image/encoded": feature(photograph(i, turned=i % 4 == 1)),
        "image/filename": feature(b"photo_%02d.jpg" % i),
        "image/height": feature(120),
        "image/width": feature(168),
    }
    if i % 5 == 0:
        return found
    sides = {"ymin": 0.1, "xmin": 0.2, "ymax": 0.6, "xmax": 0.9}
    return (
        found
        | {f"image/object/bbox/{side}": feature(value, value) for side, value in sides.items()}
        | {
            "image/object/class/label": feature(1 + i % 3, 1),
            "image/object/class/text": feature(CLASSES[i % 3].encode(), b"cat"),
        }
    )


def written(folder, make):
    """TFRecords of two splits."""
    folder.mkdir()
    first = 0
    for split, num in SPLITS.items():
        with tf.io.TFRecordWriter(str(folder / f"{split}-00000-of-00001")) as file:
            for i in range(first, first + num):
                file.write(tf.train.Example(features=tf.train.Features(feature=make(i))).SerializeToString())
        first += num
    return folder


def run(*arguments):
    """`shardkit …`, which ends well."""
    result = call(*arguments)
    assert result.exit_code == 0, result.output
    return result


def examples(dataset):
    """(split, labels) and the example of each key."""
    manifest = shardkit.open(str(dataset), "train").manifest
    return {one.key: (split, one) for split in manifest.splits for one in shardkit.open(str(dataset), split)}


@pytest.fixture(scope="module", params=["class", "boxes"])
def converted(request, tmp_path_factory):
    """A folder with OLD, NEW and PLAIN, and the kind of the labels."""
    folder = tmp_path_factory.mktemp(request.param)
    old = written(folder / "OLD", labelled if request.param == "class" else detected)
    plain = folder / "PLAIN"  # before the records are adopted, they are a source of another layout
    run("convert", old, plain)
    run("adopt", old)
    run("convert", old, folder / "NEW")
    return folder, request.param


def test_the_conversion_keeps_keys_splits_labels_and_classes(converted):
    folder, kind = converted
    before, after = examples(folder / "OLD"), examples(folder / "NEW")
    assert {key: (split, one.label_names) for key, (split, one) in before.items()} == {
        key: (split, one.label_names) for key, (split, one) in after.items()
    }
    assert set(after) == {f"photo_{i:02d}.jpg" for i in range(NUM)}
    assert run("verify", folder / "NEW", "--deep").exit_code == 0
    old, new = (json.loads(run("info", folder / name, "--json").stdout) for name in ("OLD", "NEW"))
    assert old["classes"] == new["classes"] == ["0", *CLASSES]  # numbers of classes stay those in the records
    differ = kind == "boxes"  # of these, some are turned upright
    assert call("diff", folder / "OLD", folder / "NEW").exit_code == differ


def test_images_and_boxes_are_stored_as_the_conversion_of_the_tfrecords_stores_them(converted):
    folder, kind = converted
    of_records = {key.rpartition("-")[2]: found for key, found in examples(folder / "PLAIN").items()}
    for key, (split, one) in examples(folder / "NEW").items():
        other_split, other = of_records[key]
        assert (one["image"], one["height"], one["width"]) == (other["image"], other["height"], other["width"])
        assert (split, one.label_names) == (other_split, other.label_names)
        if kind == "boxes":
            assert one.boxes.tolist() == other.boxes.tolist()


def test_no_rule_is_inherited_and_plan_says_what_convert_does(converted, tmp_path):
    folder, _ = converted
    planned = run("plan", folder / "OLD")
    assert "rules of" not in planned.stderr
    assert json.loads(run("plan", folder / "OLD", "--json").stdout)["splits"].keys() == SPLITS.keys()
    run("convert", folder / "OLD", tmp_path / "small", "--resize", "64")
    small = f"{tmp_path}/small"
    assert "kept --resize 64" in run("convert", small, tmp_path / "again").stderr
    # Of several datasets, an adopted one follows the rules of the others.
    together = run("convert", small, folder / "OLD", tmp_path / "both", "--key-prefix")
    assert f"rules of {small}: kept --resize 64" in together.stderr
    assert len(examples(tmp_path / "both")) == 2 * NUM
    assert {min(one["height"], one["width"]) for _, one in examples(tmp_path / "both").values()} == {64}


def test_examples_are_chosen_dropped_corrected_and_appended(converted, tmp_path):
    folder, kind = converted
    (tmp_path / "drop.txt").write_text("photo_00.jpg\n")
    run("convert", folder / "OLD", tmp_path / "some", "--drop", tmp_path / "drop.txt", "--where", "width = 168")
    assert set(examples(tmp_path / "some")) == {f"photo_{i:02d}.jpg" for i in range(1, NUM)}
    if kind == "class":
        (tmp_path / "labels.csv").write_text("key,label\nphoto_01.jpg,owl\n")
        run("convert", folder / "OLD", tmp_path / "corrected", "--labels", tmp_path / "labels.csv")
        assert examples(tmp_path / "corrected")["photo_01.jpg"][1].label_names == ["owl"]
    run("append", tmp_path / "some", folder / "OLD", "--readmit", "--skip-existing")
    assert set(examples(tmp_path / "some")) == set(examples(folder / "OLD"))
    assert run("verify", tmp_path / "some", "--deep").exit_code == 0
    assert run("report", folder / "OLD", "--output", tmp_path / "report.html").exit_code == 0


@pytest.mark.parametrize("name", ["OLD", "NEW"])
def test_a_step_of_training_runs_on_it(converted, name):
    folder, kind = converted
    if kind == "boxes":
        pytest.skip("detectors need a model of their own; the reader's tests read boxes")
    dataset = reader.make_dataset(str(folder / name), "train", global_batch_size=4, image_size=(32, 32))
    images, labels = next(iter(dataset))
    weights = tf.Variable(tf.zeros([32 * 32 * 3, len(CLASSES) + 1]))

    def loss():
        logits = tf.reshape(tf.cast(images, tf.float32), [4, -1]) / 255 @ weights
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))

    before = loss()
    with tf.GradientTape() as tape:
        value = loss()
    weights.assign_sub(0.001 * tape.gradient(value, weights))
    assert loss() < before
