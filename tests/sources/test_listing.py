import pytest

from shardkit.sources import LISTING_SCHEMA, Listing
from shardkit.sources.listing import IMAGE_ENDINGS, ending, is_ignored


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
    "name", [".x", ".DS_Store", "._a.jpg", "Thumbs.db", "THUMBS.DB", "desktop.ini", "__MACOSX", "Icon\r"]
)
def test_what_systems_leave_behind_is_ignored(name):
    assert is_ignored(name)


@pytest.mark.parametrize("name", ["a.jpg", "_a.jpg", "thumbs", "Icon"])
def test_what_people_name_is_not_ignored(name):
    assert not is_ignored(name)


def test_endings_are_lower_case_with_their_dot():
    assert all(kind.startswith(".") and kind == kind.lower() for kind in IMAGE_ENDINGS)
    assert {".jpg", ".jpeg", ".png", ".webp", ".tiff", ".bmp", ".gif"} <= IMAGE_ENDINGS


def test_an_empty_listing_is_a_table_of_the_schema():
    assert Listing().table().schema == LISTING_SCHEMA
