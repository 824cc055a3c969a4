"""Small images are decoded several at a time: the same pixels, labels and order as one by one."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf

from shardkit import reader
from shardkit.reader.pipeline_spec import MAX_SEPARATE
from shardkit.testing import convert_without_beam, picture, write_tree

from ..conftest import USERS_CHUNK
from .test_annotations import SAMPLES

pytestmark = pytest.mark.usefixtures("as_users_read")

IMAGES = {
    "uint8": {"dtype": "uint8"},
    "normalised": {"mean": (120, 110, 100), "std": (60, 61, 62)},
    "crops and flips": {"crop_scale": (0.2, 1.0), "flip": True, "dtype": "uint8"},
    "antialiased": {"resize_method": "antialias", "flip": True},
    "grey": {"grayscale": True, "flip": True},
    "bfloat16": {"dtype": "bfloat16"},
}


KINDS = {"JPEG": ("JPEG", "JPEG"), "PNG": ("PNG", "PNG"), "both": ("JPEG", "PNG")}
CASES = [
    ("both", (12, 20), "crops and flips"),
    pytest.param("JPEG", (16, 16), "antialiased", marks=pytest.mark.slow),
    pytest.param("PNG", (16, 16), "uint8", marks=pytest.mark.slow),
    *(pytest.param("JPEG", (16, 16), name, marks=pytest.mark.slow) for name in IMAGES if name != "antialiased"),
    *(pytest.param("both", (12, 20), name, marks=pytest.mark.slow) for name in ("grey", "normalised")),
]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """For each kind a dataset of 60 images of 16 x 16 pixels, the size that is asked for below."""
    root = tmp_path_factory.mktemp("small")
    for name, kinds in KINDS.items():
        files = {}
        for i in range(60):
            kind = kinds[i % 2]
            files[f"{'ab'[i % 2]}/{i:02d}.{kind.lower()}"] = picture(i, width=16, height=16, kind=kind)
        convert_without_beam(str(write_tree(root / "sources" / name, files)), str(root / name), shards=2)
    return {name: str(root / name) for name in KINDS}


def made(dataset, batch, **options):
    return reader.make_dataset_fn(dataset, "train", global_batch_size=batch, **options)


def chunk_size(fn):
    return replace(fn.spec, pixels=None).chunk_size  # of images that are decoded, not held


@pytest.mark.parametrize(("kind", "size", "name"), CASES)
def test_pixels_labels_and_order_are_those_of_single_images(kind, size, name, small):
    images = reader.Images(size, **IMAGES[name])
    many, one = made(small[kind], 30, images=images), made(small[kind], 1, images=images)
    assert (chunk_size(many), chunk_size(one)) == (15, 1)
    singles = iter(one())
    for pixels, labels in many().take(3):
        for image, label in zip(np.asarray(pixels), labels.numpy(), strict=True):
            alone, its_label = next(singles)
            np.testing.assert_array_equal(image, np.asarray(alone)[0])
            assert label == its_label.numpy()[0]


@pytest.mark.parametrize("last_batch", ["padded", "short"])
def test_evaluation_has_every_image_once(last_batch, small):
    images = reader.Images((16, 16), dtype="uint8")
    found = list(made(small["both"], 16, images=images, training=False, last_batch=last_batch)())
    assert sum(float(np.sum(batch[2])) for batch in found) == 60
    assert [len(batch[0]) for batch in found] == [16, 16, 16, 12 if last_batch == "short" else 16]


@pytest.mark.parametrize(
    ("batch", "size", "expected"), [(256, 16, USERS_CHUNK), (250, 16, 10), (7, 16, 7), (8, 512, 1)]
)
def test_chunks_divide_the_batch_and_are_smaller_for_larger_images(batch, size, expected, small):
    fn = made(small["JPEG"], batch, images=reader.Images((size, size)), training=False)
    assert chunk_size(fn) == expected


def mapped(features, seed):
    noise = tf.random.stateless_uniform([2], seed)
    return {"image": features["image"], "noise": noise, "key": features["key"], "height": features["height"]}


def mapped_encoded(features, seed):
    return tf.io.decode_image(features["image"], 3, expand_animations=False)[:2, :3], seed


def mapped_ragged(features, _seed):
    return {"bytes": tf.RaggedTensor.from_tensor(tf.strings.bytes_split(features["key"])[tf.newaxis]), "a": 1}


def mapped_sparse(features, _seed):
    return {"row": tf.sparse.from_dense(tf.one_hot(features["label"], 2)), "key": features["key"]}


def row_of(tensor, row):
    """The values of one example of a batch, also of a sparse or ragged one."""
    if isinstance(tensor, tf.SparseTensor):
        tensor = tf.sparse.to_dense(tensor)
    values = tensor[row]
    return (values.flat_values if isinstance(values, tf.RaggedTensor) else values).numpy()


def same_elements(many, one, count):
    singles = iter(one())
    for batch in many().take(2):
        for row in range(count):
            for found, wanted in zip(tf.nest.flatten(batch), tf.nest.flatten(next(singles)), strict=True):
                np.testing.assert_array_equal(row_of(found, row), row_of(wanted, 0))


@pytest.mark.parametrize(
    ("map_fn", "options"),
    [
        (mapped_ragged, {"training": False}),
        pytest.param(mapped_sparse, {"sampling": "class_balanced"}, marks=pytest.mark.slow),
        *(
            pytest.param(map_fn, options, marks=pytest.mark.slow)
            for map_fn in (mapped, mapped_ragged, mapped_sparse)
            for options in ({}, {"training": False}, {"sampling": "class_balanced"})
        ),
    ],
)
def test_map_fn_is_called_for_each_example(map_fn, options, small):
    options |= {"images": reader.Images((16, 16), augment="imagenet"), "map_fn": map_fn}
    many, one = made(small["both"], 12, **options), made(small["both"], 1, **options)
    assert chunk_size(many) == MAX_SEPARATE
    same_elements(many, one, 12)


def test_map_fn_may_decode_itself(small):
    many, one = (made(small["both"], batch, map_fn=mapped_encoded) for batch in (12, 1))
    assert chunk_size(many) == MAX_SEPARATE
    same_elements(many, one, 12)


@pytest.fixture(scope="module")
def annotated(tmp_path_factory):
    """Datasets with boxes and with masks, of small images."""
    root, found = tmp_path_factory.mktemp("annotated"), {}
    for name in ("coco", "masks"):
        found[name] = str(root / name)
        convert_without_beam(str(SAMPLES / name), found[name], resize=32)
    return found


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("coco", {"augment": "imagenet"}),
        pytest.param("masks", {"eval_fit": "pad"}, marks=pytest.mark.slow),
        *(
            pytest.param(name, options, marks=pytest.mark.slow)
            for name, options in [
                ("coco", {}),
                ("coco", {"eval_fit": "pad"}),
                ("masks", {}),
                ("masks", {"augment": "imagenet"}),
            ]
        ),
    ],
    ids=str,
)
def test_boxes_and_masks_follow_their_images(name, options, annotated):
    images = reader.Images((24, 16), max_boxes=5, **options)
    many, one = (made(annotated[name], batch, images=images) for batch in (4, 1))
    assert chunk_size(many) == MAX_SEPARATE
    same_elements(many, one, 4)


def test_a_damaged_record_costs_one_example_of_its_chunk(small, tmp_path):
    dataset = shutil.copytree(small["JPEG"], tmp_path / "copy")
    options = {"images": reader.Images((16, 16), augment="imagenet"), "on_corrupt": "skip", "cache": None}
    fn = made(str(dataset), 30, **options)
    whole = [np.asarray(images) for images, _ in fn().take(4)]
    keys = [fn.batch_keys(step) for step in range(4)]
    path, offset = next(iter(dataset.glob("*.tfrecord"))), 40
    data = bytearray(path.read_bytes())
    data[offset] ^= 0xFF
    path.write_bytes(data)
    damaged_fn = made(
        str(dataset), 30, images=reader.Images((16, 16), augment="imagenet"), on_corrupt="skip", cache=None
    )
    assert chunk_size(damaged_fn) == 15
    found = [np.asarray(images) for images, _ in damaged_fn().take(4)]
    (bad,) = damaged_fn.damaged_records
    for step in range(4):
        for row, key in enumerate(keys[step]):
            assert (found[step][row] == whole[step][row]).all() == (key != bad.key)
