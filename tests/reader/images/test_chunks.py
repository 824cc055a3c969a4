"""Small images are decoded several at a time: the same pixels, labels and order as one by one."""

import numpy as np
import pytest

from shardkit import reader
from shardkit.order import BatchLayout
from shardkit.reader.pipeline_spec import MAX_CHUNK, PipelineSpec
from shardkit.testing import convert_without_beam, picture, write_tree

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
    *(("JPEG", (16, 16), name) for name in IMAGES),
    *(("both", (12, 20), name) for name in ("crops and flips", "grey", "normalised")),
    ("PNG", (16, 16), "uint8"),
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


def chunk_size(fn, batch):
    return PipelineSpec(fn._table, BatchLayout(batch, 1, 0), fn._options, fn._order, 0).chunk_size


@pytest.mark.parametrize(("kind", "size", "name"), CASES)
def test_pixels_labels_and_order_are_those_of_single_images(kind, size, name, small):
    images = reader.Images(size, **IMAGES[name])
    many, one = made(small[kind], 30, images=images), made(small[kind], 1, images=images)
    assert (chunk_size(many, 30), chunk_size(one, 1)) == (15, 1)
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


@pytest.mark.parametrize(("batch", "size", "expected"), [(256, 16, MAX_CHUNK), (250, 16, 10), (7, 16, 7), (8, 512, 1)])
def test_chunks_divide_the_batch_and_are_smaller_for_larger_images(batch, size, expected, small):
    fn = made(small["JPEG"], batch, images=reader.Images((size, size)), training=False)
    assert chunk_size(fn, batch) == expected
