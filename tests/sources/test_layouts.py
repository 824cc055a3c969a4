import importlib
from dataclasses import fields
from typing import get_args, get_type_hints

import pytest

from shardkit.layouts import LAYOUTS, Layout, layout_of_title
from shardkit.sources.listing import Source
from shardkit.sources.options import Opening, SourceOptions
from shardkit.storage import Folder


def function(name):
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(f"shardkit.{module}"), attribute)


def test_the_rows_are_the_values_of_the_option():
    assert sorted(LAYOUTS) == sorted(get_args(Layout))


def hints(name):
    """Types of a function's arguments and result, without those that are given already."""
    found = function(name)
    given = getattr(found, "keywords", {})
    return {one: kind for one, kind in get_type_hints(getattr(found, "func", found)).items() if one not in given}


@pytest.mark.parametrize("row", LAYOUTS.values(), ids=str)
def test_every_layout_is_opened_and_recognised_by_functions_of_one_signature(row):
    opened = hints(row.open)
    assert (opened.pop("return").__mro__.count(Source), [*opened.values()]) == (1, [Opening])
    for name in filter(None, (row.recognise, row.recognise_last)):
        assert [*hints(name).values()] == [Folder, bool]


def test_layouts_accept_options_of_sources():
    assert {name for row in LAYOUTS.values() for name in row.options} <= {field.name for field in fields(SourceOptions)}


def test_an_ending_belongs_to_one_layout():
    endings = [one for row in LAYOUTS.values() for one in row.endings or ()]
    assert len(set(endings)) == len(endings)


@pytest.mark.parametrize(
    ("title", "layout"),
    [
        ("split and class folders", "class-folders"),
        ("table (CSV)", "table"),
        ("table (CSV) for each split", "table"),
        ("COCO without boxes", "coco"),
        ("numbered lists", "list"),
        ("shardkit dataset", "shardkit"),
        ("ImageNet", None),
        ("adopted TFRecords", None),
    ],
)
def test_the_name_in_a_manifest_tells_the_layout(title, layout):
    assert layout_of_title(title) == layout
