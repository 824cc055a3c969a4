import numpy as np
import pytest
from PIL import Image

from shardkit.errors import CallError
from shardkit.reader import Images, batch_preview, make_dataset_fn, mixup, preview
from shardkit.records.contact_sheet import TILE

from .conftest import global_batches


def test_a_preview_shows_the_batch_of_a_step_and_leaves_the_function_alone(noise, tmp_path):
    options = {"global_batch_size": 6, "images": Images((TILE, TILE), dtype="uint8")}
    dataset_fn = make_dataset_fn(noise, "train", **options)
    images, labels = [*global_batches(dataset_fn, 3)][2]
    read, _ = dataset_fn.read_batch(2)
    np.testing.assert_array_equal(read, images)
    shown = preview(dataset_fn, 2, tmp_path / "batch.png")
    sheet = np.asarray(Image.open(tmp_path / "batch.png"))
    np.testing.assert_array_equal(sheet, np.asarray(shown.image))
    for image in images:  # a tile has the size of the images: not one pixel is changed
        rows, columns = np.nonzero((sheet == image[0, 0]).all(2))
        found = [sheet[y : y + TILE, x : x + TILE] for y, x in zip(rows, columns, strict=True)]
        assert any(one.shape == image.shape and (one == image).all() for one in found)
    assert "step 2: 6 of 6 images" in shown.heading
    assert "data:image/jpeg;base64" in shown._repr_html_()
    assert int(dataset_fn.start_step) == 0
    assert len(labels) == 6


def test_normalisation_is_undone(noise):
    plain = make_dataset_fn(noise, "train", global_batch_size=6, images=Images((8, 8), dtype="uint8"))
    normalised = Images((8, 8), mean=(120, 110, 100), std=(60, 55, 50))
    images, _ = make_dataset_fn(noise, "train", global_batch_size=6, images=normalised).read_batch(1)
    dataset_fn = make_dataset_fn(noise, "train", global_batch_size=6, images=normalised)
    np.testing.assert_allclose(dataset_fn.as_pixels(images).astype(int), plain.read_batch(1)[0].astype(int), atol=1)


def test_mixed_labels_and_padding_are_told(noise, tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(batch_preview, "contact_sheet", lambda tiles, _: told.append([*tiles]))
    mixed = make_dataset_fn(noise, "train", global_batch_size=6, image_size=(8, 8), batch_map_fn=mixup(3))
    preview(mixed, 0, None)
    assert any(len(tile.title) == 2 and "0." in tile.title[0][0] for tile in told[0])
    evaluation = make_dataset_fn(noise, "train", global_batch_size=1000, image_size=(8, 8), training=False)
    preview(evaluation, 0, None, num_images=1000)
    assert [tile.subtitle for tile in told[1]].count("weight 0: padding") == 1000 - evaluation.num_examples


def test_what_cannot_be_drawn_is_said_with_the_remedy(noise, tmp_path):
    encoded = make_dataset_fn(noise, "train", global_batch_size=6)
    with pytest.raises(CallError):
        preview(encoded, 0, None)
    evaluation = make_dataset_fn(noise, "train", global_batch_size=500, image_size=(8, 8), training=False)
    with pytest.raises(CallError, match=r"no step 9; steps count from 0 to"):
        preview(evaluation, 9, None)
    with pytest.raises(CallError, match=r"batch\.gif.*\.png"):
        preview(evaluation, 0, tmp_path / "batch.gif", num_images=1)
