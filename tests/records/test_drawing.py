import numpy as np
import pytest
from PIL import Image

import shardkit
from shardkit.records.contact_sheet import TILE, Tile, contact_sheet, tile_of
from shardkit.records.drawing import class_colour
from shardkit.records.selection import open_chosen

from ..cli.calling import SAMPLE_DATA, convert


def test_a_box_is_drawn_at_its_corners_in_the_colour_of_its_class(sample):
    example = shardkit.open(sample("coco"), "train")["train2017/train_14.jpg"]
    [(ymin, xmin, ymax, xmax)], [label] = example.boxes.tolist(), example.labels
    plain = np.asarray(example.image().convert("RGB"), int)
    drawn = np.asarray(example.drawn(max(plain.shape)), int)
    assert drawn.shape == plain.shape
    height, width = plain.shape[:2]
    middle = int((ymin + ymax) / 2 * height), int((xmin + xmax) / 2 * width)
    for y, x in [(middle[0], int(xmin * width) + 1), (middle[0], int(xmax * width) - 2)]:
        assert tuple(drawn[y, x]) == class_colour(label)
    np.testing.assert_array_equal(drawn[middle], plain[middle])
    assert example.annotations().colours == {example.label_names[0]: class_colour(label)}


def test_a_mask_is_drawn_over_its_pixels_and_not_over_the_background(sample):
    example = shardkit.open(sample("masks"), "train")["train/images/006.jpg"]
    mask = example.mask()
    plain = np.asarray(example.image().convert("RGB"), int)
    drawn = np.asarray(example.drawn(max(plain.shape)), int)
    background = (mask == 0) | (mask == 255)
    np.testing.assert_array_equal(drawn[background], plain[background])
    colour = np.array(class_colour(2))
    inside = mask == 2
    assert inside.any()
    np.testing.assert_allclose(drawn[inside], plain[inside] * 0.45 + colour * 0.55, atol=1.5)


def test_small_pictures_are_enlarged_and_large_ones_reduced(sample):
    sizes = [example.drawn(TILE).size for example in shardkit.open(sample("masks"), "train")]
    assert all(TILE / 2 < max(size) <= TILE for size in sizes)
    example = shardkit.open(sample("shapes"), "train")[0]
    assert max(example.drawn(40).size) == 40


@pytest.mark.parametrize("num_tiles", [1, 2, 7, 36])
def test_a_sheet_holds_every_tile_once_and_its_captions_inside(num_tiles):
    tiles = [
        Tile(Image.new("RGB", (TILE, 20 + number), (0, 0, 200 + number)), [("c" * 200, (0, 0, 0))], "k" * 300)
        for number in range(num_tiles)
    ]
    sheet = np.asarray(contact_sheet(tiles, "h" * 500))
    for number, tile in enumerate(tiles):
        found = (sheet == (0, 0, 200 + number)).all(2)
        assert found.sum() == tile.picture.width * tile.picture.height
    assert (sheet[:, -4:] == sheet[0, 0]).all(), "a caption leaves the sheet"


def test_the_same_examples_are_chosen_after_another_conversion(sample, tmp_path):
    convert(SAMPLE_DATA / "shapes", tmp_path / "other", "--shards", "5", "--seed", "9")
    chosen = [[*open_chosen(dataset, None, 12)[0]] for dataset in (sample("shapes"), str(tmp_path / "other"))]
    assert [one.key for one in chosen[0]] == [one.key for one in chosen[1]]
    assert len({one.label_names[0] for one in chosen[0]}) > 1
    stars, num_all = open_chosen(sample("shapes"), "train", 100, label="star", where="width > 90")
    assert {example.label_names[0] for example in stars} == {"star"}
    assert len(stars) == num_all < 60


def test_one_class_of_several_is_chosen_by_any_of_its_labels(sample):
    chosen, _ = open_chosen(sample("multilabel.jsonl"), "train", 5, label="grey")
    assert all("grey" in example.label_names for example in chosen)
    boxes, _ = open_chosen(sample("coco"), "train", 50, label="circle")
    assert all("circle" in example.label_names for example in boxes)
    assert tile_of(boxes[0]).title
