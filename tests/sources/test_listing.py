import pyarrow as pa
import pytest

from shardkit.conversion.inventory.checking import merge_listings
from shardkit.errors import DataError
from shardkit.naming import IMAGE_ENDINGS
from shardkit.sources import LISTING_SCHEMA, Listing
from shardkit.sources.columns import MAX_OBJECTS, UNMEASURED
from shardkit.sources.engine.records import detection_fields
from shardkit.sources.listing import ListingRow, batched
from shardkit.sources.walking import ending, is_ignored


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.jpg", ".jpg"),
        ("a.JPG", ".jpg"),
        ("a.tar.gz", ".gz"),
        ("README", "(none)"),
        ("a.", "."),
        ("a.\u00c4", ".\u00e4"),
        ("a b.png ", ".png "),  # a blank at the end is part of the name
    ],
)
def test_the_ending_of_a_name_is_lower_case_with_its_dot(name, expected):
    assert ending(name) == expected


@pytest.mark.parametrize(
    "name", [".x", ".DS_Store", "._a.jpg", "Thumbs.db", "THUMBS.DB", "desktop.ini", "__MACOSX", "Icon\r", "~$a.xlsx"]
)
def test_what_systems_leave_behind_is_ignored(name):
    assert is_ignored(name)


@pytest.mark.parametrize("name", ["a.jpg", "_a.jpg", "~$a.jpg", "thumbs", "Icon"])
def test_what_people_name_is_not_ignored(name):
    assert not is_ignored(name)


def test_endings_are_lower_case_with_their_dot():
    assert all(kind.startswith(".") and kind == kind.lower() for kind in IMAGE_ENDINGS)
    assert {".jpg", ".jpeg", ".png", ".webp", ".tiff", ".bmp", ".gif"} <= IMAGE_ENDINGS


def test_an_empty_listing_is_a_table_of_the_schema():
    assert Listing().table().schema == LISTING_SCHEMA


def row(i, message=None):
    return ListingRow(f"{i:03d}.png", None, "cat", 1, 0, None if message is None else "empty", message)


def test_listings_are_put_together_as_columns_up_to_their_rows_or_bytes():
    small = [Listing(rows=[row(i)], skipped={".txt": 1}) for i in range(5)]
    large = [Listing(rows=[row(i, "x" * (5 << 20))]) for i in range(5, 8)]
    found = list(merge_listings([*small, *large], batch_rows=4))
    assert [len(one.table()) for one in found] == [4, 3, 1]
    assert not any(one.rows for one in found)
    assert [one.skipped for one in found] == [{".txt": 4}, {".txt": 1}, {}]
    assert [key for one in found for key in one.table()["key"].to_pylist()] == [f"{i:03d}.png" for i in range(8)]


def test_batches_of_many_rows_grow_and_none_is_more_than_a_small_part_of_those_before():
    found = [len(one.table()) for one in merge_listings((Listing(rows=[row(i)] * 128) for i in range(4000)), 64)]
    assert sum(found) == 128 * 4000
    assert (found[0], found[-2], len(found)) == (128, 2048, 405)
    assert all(size <= 128 + sum(found[:at]) / 64 for at, size in enumerate(found))
    for num_bytes in (4 << 20, UNMEASURED):
        large = [row(i)._replace(source_bytes=num_bytes) for i in range(64)]
        found = [len(one.table()) for one in merge_listings((Listing(rows=large) for _ in range(4000)), 64)]
        assert max(found) == (64 if num_bytes > 0 else 256)


def test_parts_of_a_source_that_name_a_class_number_differently_are_not_put_together():
    small = [Listing(rows=[row(i)], classes={7: name}) for i, name in enumerate(["cat", "dog"])]
    with pytest.raises(DataError, match="category 7 is 'cat' in one file of the source and 'dog' in another"):
        list(merge_listings(small, batch_rows=4))


def test_a_batch_of_annotated_images_ends_with_many_objects():
    half = [None] * (MAX_OBJECTS // 2)
    rows = [
        ListingRow(str(i), None, None, 1, 1, extra=(objects, 0, 0))
        for i, objects in enumerate([half, half, [], [], half])
    ]
    schema = pa.schema([*LISTING_SCHEMA, *detection_fields(())])
    assert [len(one.rows) for one in batched(schema, rows, batch_rows=2)] == [2, 2, 1]
    assert [len(one.rows) for one in batched(schema, rows, batch_rows=9)] == [2, 3]
