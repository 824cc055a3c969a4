"""TFRecords as other programs write them, converted as users do, and compared with tf.data's reading of each."""

import functools
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

from shardkit import read_manifest

from ..cli.calling import call, convert
from ..dataset.foreign.records import coco, example, imagenet, jpeg, melanoma, tfrecorder
from .reading_back import examples

SIDES = ("ymin", "xmin", "ymax", "xmax")


def write(path, records, compression=""):
    """Write with TensorFlow's own writer."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tf.io.TFRecordWriter(str(path), tf.io.TFRecordOptions(compression_type=compression)) as writer:
        for record in records:
            writer.write(tf.train.Example.FromString(example(record)).SerializeToString())


def read(path, spec, compression=""):
    """The plain reading: TFRecordDataset and parse_single_example."""
    dataset = tf.data.TFRecordDataset(str(path), compression_type=compression)
    return list(dataset.map(functools.partial(tf.io.parse_single_example, features=spec)).as_numpy_iterator())


def one(type_):
    return tf.io.FixedLenFeature([], type_)


@pytest.mark.parametrize(
    ("name", "compression", "make", "spec"),
    [
        (
            "train-00000-of-00001",
            "",
            lambda i: imagenet(i, 1 + i % 3, f"n0{i % 3}"),
            {"image/encoded": one(tf.string), "image/class/synset": one(tf.string), "image/class/label": one(tf.int64)},
        ),
        pytest.param(
            "train00-9.tfrec",
            "GZIP",
            lambda i: melanoma(i, i % 2),
            {"image": one(tf.string), "target": one(tf.int64), "patient_id": one(tf.int64)},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "train.tfrecord",
            "ZLIB",
            lambda i: tfrecorder(i, f"class {i % 2}"),
            {"image": one(tf.string), "label": one(tf.string)},
            marks=pytest.mark.slow,
        ),
    ],
    ids=["tensorflow/models", "Kaggle", "TFRecorder"],
)
def test_every_example_is_what_tf_data_reads(tmp_path, name, compression, make, spec):
    write(tmp_path / "source" / name, [make(i) for i in range(9)], compression)
    said = convert(tmp_path / "source", tmp_path / "out")
    assert "read as TFRecord" in said
    found = sorted(examples(tmp_path / "out").items())
    classes = read_manifest(str(tmp_path / "out")).classes
    wanted = read(tmp_path / "source" / name, spec, compression)
    assert len(found) == len(wanted) == 9
    for (_, made), record in zip(found, wanted, strict=True):
        image = record.get("image/encoded", record.get("image"))
        if "label" in record:  # TFRecorder: pixels in base64, decoded as its users do
            pixels = tf.reshape(tf.io.decode_raw(tf.io.decode_base64(image), tf.uint8), [2, 4, 3])
            np.testing.assert_array_equal(tf.io.decode_png(made["image"]), pixels)
        else:
            assert made["image"] == image
        label = record.get("image/class/synset", record.get("label", record.get("target")))
        assert classes[made["label"]] == (label.decode() if isinstance(label, bytes) else str(label))
        for column in ("image/class/label", "patient_id"):
            assert column not in record or made[column] == record[column]


def test_boxes_are_those_that_tf_data_reads(tmp_path):
    objects = [((18, "dog"),), ((1, "person"), (18, "dog")), ()]
    records = [{**coco(i, one), "image/object/bbox/xmax": [0.3 + i / 50] * len(one)} for i, one in enumerate(objects)]
    write(tmp_path / "source/coco_val.record-00000-of-00001", records)
    convert(tmp_path / "source", tmp_path / "out")
    places = {side: f"image/object/bbox/{side}" for side in SIDES}
    spec = {
        "image/encoded": one(tf.string),
        "image/object/class/text": tf.io.RaggedFeature(tf.string),
        **{place: tf.io.RaggedFeature(tf.float32) for place in places.values()},
    }
    found = sorted(examples(tmp_path / "out").items())
    classes = read_manifest(str(tmp_path / "out")).classes
    assert classes == ["person", "dog"]  # in the order of COCO's numbers
    for (_, made), record in zip(found, read(tmp_path / "source/coco_val.record-00000-of-00001", spec), strict=True):
        assert (made["image"], made["split"]) == (record["image/encoded"], "validation")
        boxes = np.stack([record[place] for place in places.values()], axis=-1)
        np.testing.assert_array_equal(made["objects/bbox"], boxes)
        names = [classes[label].encode() for label in made["objects/label"]]
        assert names == list(record["image/object/class/text"])


FEATURES = tfds.features.FeaturesDict(
    {
        "image": tfds.features.Image(encoding_format="jpeg"),
        "label": tfds.features.ClassLabel(names=["zebra", "ant", "cat"]),
        "weight_kg": np.float32,
        "objects": tfds.features.Sequence(
            {"bbox": tfds.features.BBoxFeature(), "label": tfds.features.ClassLabel(names=["head", "tail"])}
        ),
    }
)


class MadeForShardkit(tfds.core.GeneratorBasedBuilder):
    """A dataset that TFDS itself writes."""

    VERSION = tfds.core.Version("1.0.0")
    code_path = Path(__file__)  # TFDS looks for it with a package that is not installed everywhere

    def _info(self):
        return tfds.core.DatasetInfo(builder=self, features=FEATURES, supervised_keys=("image", "label"))

    def _split_generators(self, dl_manager):
        del dl_manager
        return {"train": self._generate_examples(range(7)), "test": self._generate_examples(range(7, 10))}

    def _generate_examples(self, numbers):
        for i in numbers:
            box = {"bbox": tfds.features.BBox(0.1, 0.2, 0.5, 0.25 + i / 50), "label": i % 2}
            image = np.asarray(tf.io.decode_jpeg(jpeg(i)))
            yield i, {"image": image, "label": i % 3, "weight_kg": i / 7, "objects": [box] * (i % 3)}


@pytest.fixture(scope="module")
def of_tfds(tmp_path_factory):
    builder = MadeForShardkit(data_dir=tmp_path_factory.mktemp("tfds"))
    builder.download_and_prepare()
    decoders = {"image": tfds.decode.SkipDecoding()}
    return builder.data_dir, {
        one["image"]: {**one, "split": split}
        for split in ("train", "test")
        for one in tfds.as_numpy(builder.as_dataset(split, decoders=decoders))
    }


def test_a_dataset_of_tfds_keeps_labels_names_and_columns(of_tfds, tmp_path):
    folder, wanted = of_tfds
    said = convert(folder, tmp_path / "out")
    assert "3 names from label.labels.txt: 0 is 'zebra', 2 is 'cat'" in said
    found = examples(tmp_path / "out")
    assert read_manifest(str(tmp_path / "out")).classes == ["zebra", "ant", "cat"]
    assert {made["image"] for made in found.values()} == wanted.keys()
    for made in found.values():
        record = wanted[made["image"]]
        assert (made["label"], made["split"]) == (record["label"], record["split"])
        assert made["weight_kg"] == record["weight_kg"]


@pytest.mark.slow
def test_the_boxes_of_a_dataset_of_tfds_are_read_if_the_user_asks(of_tfds, tmp_path):
    folder, wanted = of_tfds
    convert(folder, tmp_path / "out", "--label-feature", "objects/label")
    assert read_manifest(str(tmp_path / "out")).classes == ["head", "tail"]
    for made in examples(tmp_path / "out").values():
        objects = wanted[made["image"]]["objects"]
        np.testing.assert_array_equal(made["objects/bbox"], objects["bbox"])
        np.testing.assert_array_equal(made["objects/label"], objects["label"])


@pytest.mark.slow
def test_a_file_of_tfds_that_lost_records_is_refused(of_tfds, tmp_path):
    folder, _ = of_tfds
    for path in tf.io.gfile.listdir(str(folder)):
        tf.io.gfile.copy(f"{folder}/{path}", str(tmp_path / path))
    [path] = tmp_path.glob("*train*")
    records = [record.numpy() for record in tf.data.TFRecordDataset(str(path))]
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in records[:-1]:
            writer.write(record)
    result = call("plan", tmp_path)
    assert result.exit_code == 1
    assert "the file has 6 records, and dataset_info.json announces 7" in result.output
