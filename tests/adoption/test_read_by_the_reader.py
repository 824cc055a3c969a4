"""Adopted records through the whole reader, example by example next to a plain tf.data reading.

TFDS writes its own records here. Those of tensorflow/models are as its scripts write them: research/slim/datasets/
build_imagenet_data.py (_convert_to_example) and research/object_detection/dataset_tools/create_coco_tf_record.py
(create_tf_example), through TensorFlow's own writer.
"""

import numpy as np
import pytest

import shardkit
from shardkit.errors import CallError, DataError

from ..dataset.foreign.records import coco, example, imagenet, jpeg, tfrecorder, write

tf = pytest.importorskip("tensorflow")
tfds = pytest.importorskip("tensorflow_datasets")

from shardkit import reader  # noqa: E402 - it needs TensorFlow

NUM = 11


def write_by_tensorflow(path, records):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in records:
            # Parsed and serialized again: in the order of names that TensorFlow chooses.
            writer.write(tf.train.Example.FromString(example(record)).SerializeToString())


class Pets(tfds.core.GeneratorBasedBuilder):
    """A dataset as TFDS writes it."""

    VERSION = tfds.core.Version("1.0.0")
    code_path = None  # this file is no package that TFDS finds
    NAMES = ("cat", "dog", "bird")

    def _info(self):
        label = tfds.features.ClassLabel(names=self.NAMES)
        objects = tfds.features.Sequence({"bbox": tfds.features.BBoxFeature(), "label": label, "is_crowd": np.bool_})
        features = {
            "image": tfds.features.Image(),
            "label": label,
            "file_name": tfds.features.Text(),
            "objects": objects,
        }
        return self.dataset_info_from_configs(
            features=tfds.features.FeaturesDict(features), supervised_keys=("image", "label")
        )

    def _split_generators(self, _):
        return {"train": self._examples(0, NUM), "test": self._examples(NUM, NUM + 3)}

    def _generate_examples(self):
        return None

    def _examples(self, start, stop):
        box = tfds.features.BBox(0.25, 0.125, 0.75, 0.5)
        for i in range(start, stop):
            objects = [{"bbox": box, "label": (i + k) % 3, "is_crowd": False} for k in range(i % 3)]
            pixels = np.random.default_rng(i).integers(0, 256, (8, 12, 3), np.uint8)
            yield i, {"image": pixels, "label": i % 3, "file_name": f"p{i}.png", "objects": objects}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder of records of each program."""
    root = tmp_path_factory.mktemp("others")
    builder = Pets(data_dir=root / "tfds")
    builder.download_and_prepare()
    for k in range(2):
        write_by_tensorflow(
            root / "imagenet" / f"train-0000{k}-of-00002", [imagenet(i, 1 + i % 3) for i in range(k, NUM, 2)]
        )
        few = [(18, "dog"), (1, "person"), (18, "dog")]
        records = [coco(i, few[: i % 4]) for i in range(k, NUM, 2)]
        write_by_tensorflow(root / "coco" / f"coco_train.record-0000{k}-of-00002", records)
    return {"tfds": root / "tfds" / "pets" / "1.0.0", "imagenet": root / "imagenet", "coco": root / "coco"}


# The features of image and label, and the names of the split's files.
PROGRAMS = {
    "tfds": ("image", "label", "pets-train*"),
    "imagenet": ("image/encoded", "image/class/label", "train-*"),
    "coco": ("image/encoded", "image/object/class/label", "*train*"),
}


def quick(*programs):
    """All programs; those that are not named are slow."""
    return [one if one in programs else pytest.param(one, marks=pytest.mark.slow) for one in PROGRAMS]


def plain(folder, pattern):
    """The records of a split in file order, read by tf.data and TensorFlow's protobuf classes alone."""
    files = sorted(map(str, folder.glob(pattern)))
    return [
        tf.train.Example.FromString(one).features.feature for one in tf.data.TFRecordDataset(files).as_numpy_iterator()
    ]


def rows(batches):
    """The examples of batches, without padding; ragged features as NumPy arrays."""
    return [
        {name: column[i].numpy() for name, column in batch.items()}
        for batch in batches
        for i in range(len(batch["weight"]))
        if batch["weight"][i]
    ]


@pytest.mark.parametrize("program", quick("tfds", "coco"))
def test_the_reader_gives_what_a_plain_reading_gives(program, folders):
    image, label, pattern = PROGRAMS[program]
    folder = folders[program]
    shardkit.adopt(folder, overwrite=True)
    wanted = plain(folder, pattern)
    assert len(wanted) == NUM
    every = {"global_batch_size": 4, "image_size": None, "training": False}
    dataset_fn = reader.make_dataset_fn(str(folder), "train", **every)
    found = rows(dataset_fn())
    assert len(found) == NUM
    for one, record, key in zip(found, wanted, dataset_fn.keys(), strict=True):
        assert one["image"] == record[image].bytes_list.value[0]
        pixels = tf.io.decode_image(one["image"])
        assert pixels.shape[:2] == (one["height"], one["width"])
        assert one["key"].decode() == key
        labels = one["objects/label"] if program == "coco" else [one["label"]]
        assert [*labels] == [*record[label].int64_list.value]
        if program == "coco":
            sides = [record[f"image/object/bbox/{side}"].float_list.value for side in ("ymin", "xmin", "ymax", "xmax")]
            np.testing.assert_array_equal(one["objects/bbox"], np.array(sides, np.float32).T.reshape(-1, 4))
            assert [*one["objects/is_crowd"]] == [*record["image/object/is_crowd"].int64_list.value]


@pytest.mark.parametrize("program", quick("imagenet"))
def test_training_sees_the_records_in_the_order_that_batch_keys_tells(program, folders):
    """Global batches are equal on 1 and 2 workers and after a resume, and their images are those of the records."""
    image, _, pattern = PROGRAMS[program]
    folder = folders[program]
    shardkit.adopt(folder, overwrite=True)
    keys = [one.key for one in shardkit.open(str(folder), "train")]
    by_key = dict(zip(keys, plain(folder, pattern), strict=True))
    raw = {"global_batch_size": 4, "seed": 3, "image_size": None}
    dataset_fn = reader.make_dataset_fn(str(folder), "train", **raw)
    steps = [dataset_fn.batch_keys(step) for step in range(5)]
    assert sorted([key for step in steps for key in step][:NUM]) == sorted(keys)  # each once in the first epoch
    for batch, wanted in zip(dataset_fn().take(5), steps, strict=True):
        assert [key.decode() for key in batch["key"].numpy()] == wanted
        assert [*batch["image"].numpy()] == [by_key[key][image].bytes_list.value[0] for key in wanted]
    halves = []
    for worker in range(2):
        part = reader.make_dataset(str(folder), "train", **raw, num_workers=2, worker_index=worker, start_step=2)
        halves.append([[key.decode() for key in batch["key"].numpy()] for batch in part.take(3)])
    assert [one + other for one, other in zip(*halves, strict=True)] == steps[2:5]


def test_decoded_images_are_those_of_a_plain_reading(folders):
    folder = folders["imagenet"]
    shardkit.adopt(folder, overwrite=True)
    whole = reader.Images((8, 12), dtype="uint8", eval_fit="stretch")
    dataset_fn = reader.make_dataset_fn(str(folder), "train", global_batch_size=NUM, images=whole, training=False)
    images, labels, weights = next(iter(dataset_fn()))
    assert weights.numpy().tolist() == [1.0] * NUM
    for pixels, label, record in zip(images, labels, plain(folder, "train-*"), strict=True):
        assert int(label) == record["image/class/label"].int64_list.value[0]
        decoded = tf.io.decode_jpeg(record["image/encoded"].bytes_list.value[0])
        np.testing.assert_array_equal(decoded, pixels)


def test_conditions_choose_among_adopted_records(folders):
    shardkit.adopt(folders["tfds"], overwrite=True)
    some = reader.make_dataset_fn(
        str(folders["tfds"]), "train", global_batch_size=2, image_size=None, training=False, where="label_name = 'dog'"
    )
    assert sorted(some.keys()) == sorted(f"p{i}.png" for i in range(NUM) if i % 3 == 1)
    assert {int(one["label"]) for one in rows(some())} == {1}


def test_numbered_keys_are_the_same_in_the_graph(tmp_path):
    for part in ("a", "b"):
        write(tmp_path / "old" / part / "train.tfrec", [{"image": jpeg(i), "label": i % 2} for i in range(3)])
    shardkit.adopt(tmp_path / "old", into=tmp_path / "new", split_files="train")
    dataset_fn = reader.make_dataset_fn(str(tmp_path / "new"), "train", global_batch_size=4, image_size=None, seed=1)
    for step, batch in enumerate(dataset_fn().take(3)):
        assert [key.decode() for key in batch["key"].numpy()] == dataset_fn.batch_keys(step)
    first_epoch = [*dataset_fn.batch_keys(0), *dataset_fn.batch_keys(1)][:6]
    assert sorted(first_epoch) == [f"{part}/train.tfrec/{i:08d}" for part in ("a", "b") for i in range(3)]


def test_records_of_different_names_are_not_mixed(folders, tmp_path):
    shardkit.adopt(folders["imagenet"], into=tmp_path / "a")
    write(tmp_path / "old" / "train.tfrecord", [{"image": jpeg(i), "label": i % 2} for i in range(4)])
    shardkit.adopt(tmp_path / "old", into=tmp_path / "b")
    mixed = [(str(tmp_path / "a"), 1), (str(tmp_path / "b"), 1)]
    with pytest.raises(CallError, match="has another name in the records than in"):
        reader.make_dataset_fn(mixed, "train", global_batch_size=4)


def test_records_of_tfrecorder_hold_pixels_and_need_a_conversion(tmp_path):
    write_by_tensorflow(tmp_path / "train.tfrecord", [tfrecorder(i) for i in range(3)])
    with pytest.raises(DataError, match=r"stored as pixels") as raised:
        shardkit.adopt(tmp_path)
    assert raised.value.refusal.changes[0].options == {"layout": "tfrecord"}
