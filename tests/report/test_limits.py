"""A page has less than 5 MB for any dataset: what is written into it is bounded part by part."""

import json

import numpy as np
from PIL import Image

from shardkit.dataset.manifest import Balance
from shardkit.report.collection import Picture, Split
from shardkit.report.page.class_table import MAX_TABLE_BYTES, class_table
from shardkit.report.page.parts import cut, percent, size_text
from shardkit.report.page.thumbnails import LARGEST_SIDE, MAX_PICTURE_BYTES, SMALLEST_SIDE, Thumbnails

BALANCE = Balance(count_spread=0, class_spread=0, bytes_spread=0)


def split(name, counts):
    counts = np.array(counts, np.int64)
    return Split(name, counts, counts[:1] * 0 + counts.sum(), None, 0, BALANCE)


def noise(seed, side=176):
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (side, side, 3), np.uint8))


def test_a_table_of_twenty_thousand_long_names_is_cut_to_its_size():
    classes = [f"{number:05d} {'long name ' * 30}" for number in range(20_000)]
    splits = [split(name, np.arange(20_000)) for name in ("train", "validation", "test")]
    table = class_table(classes, splits)
    assert len(table.json.encode()) <= MAX_TABLE_BYTES
    rows = json.loads(table.json)["rows"]
    assert len(rows) == table.num_classes <= table.num_all == 20_000
    assert rows[0][0] == 19_999  # the largest first
    assert rows[0][2:] == [19_999] * 3


def test_a_table_of_usual_names_is_whole():
    table = class_table([f"n{number:08d}" for number in range(20_000)], [split("train", np.arange(20_000))])
    assert table.num_classes == 20_000
    assert table.rows[0] == ["19999", "n00019999", "19,999", "0.01%"]


def test_names_cannot_end_the_script_that_holds_them():
    table = class_table(["</script><!--", "\u2028"], [split("train", [2, 1])])
    assert "<" not in table.json
    assert [row[1] for row in json.loads(table.json)["rows"]] == ["</script><!--", "\\u2028"]


def test_pictures_end_where_their_space_ends():
    thumbnails = Thumbnails(60_000)
    made = [thumbnails.of_example(Picture(f"{seed}.png", "train", "a", (8, 8), noise(seed))) for seed in range(6)]
    shown = [one for one in made if one.src]
    assert 0 < len(shown) < 6
    assert sum(len(one.src) for one in shown) <= 60_000
    assert thumbnails.num_left_out == 6 - len(shown)
    assert MAX_PICTURE_BYTES + MAX_TABLE_BYTES < 4_500_000


def test_pictures_are_as_large_as_their_space_allows():
    sides = [Thumbnails().side_for(number) for number in (1, 100, 288, 1000)]
    assert sides == sorted(sides, reverse=True)
    assert (sides[0], sides[-1]) == (LARGEST_SIDE, SMALLEST_SIDE)
    assert SMALLEST_SIDE < sides[2] < sides[1] < LARGEST_SIDE


def test_a_long_key_is_cut():
    made = Thumbnails().of_example(Picture("x/" * 3000, "train", "label " * 3000, (8, 8), noise(0, 8)))
    assert len(made.alt) + len(made.key) + len(made.caption) + len(made.details) < 1000


def test_texts_for_people():
    assert cut("a\nb") == "a\\nb"
    assert cut("abcdefghij", 6) == "abcd…ij"
    assert [percent(share) for share in (0, 1e-6, 0.0005, 0.5)] == ["0%", "<0.01%", "0.05%", "50.0%"]
    assert size_text(0.19) == "0.19 megapixels"
    assert size_text(64e-6) == "64 pixels"
