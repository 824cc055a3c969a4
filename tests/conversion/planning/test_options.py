import json
from dataclasses import fields
from fractions import Fraction

import pytest

from shardkit.conversion.planning.rules import read_written
from shardkit.errors import CallError
from shardkit.hashing import MAX_SEED
from shardkit.options.definition import OPTIONS, written_options
from shardkit.options.groups import ConvertOptions, Shards, Splits, Stored


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"input_pipelines": 0}, "input_pipelines must be from 1 to 65536; found 0"),
        ({"seed": -1}, "seed must be from 0 to"),
        ({"seed": MAX_SEED + 1}, "seed must be from 0 to"),
        ({"quality": 0}, "quality must be from 1 to 100; found 0"),
        ({"quality": 101}, "quality must be from 1 to 100; found 101"),
        ({"resize": 0}, "resize must be from 1 to 65536; found 0"),
        ({"name": ""}, "name must be letters, digits and '_'"),
        ({"name": "a-b"}, "name must be letters, digits and '_'"),
        ({"name": "../a"}, "name must be letters, digits and '_'"),
        ({"name": "2fast"}, "name must be letters, digits and '_'"),
        ({"shard_size": 5 << 20}, "shard_size must be from 10MiB to 1GiB; found 5MiB"),
        ({"size": (256, 256), "resize": 5}, "size sets both sides, and resize=5 one of them"),
        ({"dedupe": "drop", "check": "header"}, "dedupe='drop' needs to know the contents"),
        (
            {"splits": {"train": 1}, "shards": {"test": 2}},
            "shards names the split 'test'; the conversion writes train",
        ),
        ({"splits_of": ("train",)}, "splits_of needs the shares to divide by, such as splits='train=0.9"),
    ],
)
def test_wrong_options_are_refused_by_name(wrong, sentence):
    with pytest.raises(CallError) as raised:
        ConvertOptions.of(wrong)
    assert str(raised.value).startswith(sentence)


@pytest.mark.parametrize(
    "right",
    [
        {"seed": MAX_SEED},
        {"quality": 100},
        {"quality": 1},
        {"resize": 1},
        {"name": "my_photos2"},
        {"input_pipelines": 65536},
    ],
)
def test_the_ends_of_every_range_are_allowed(right):
    assert ConvertOptions.of(right)


CHANGED = {
    "splits": {"train": Fraction(1, 2), "test": Fraction(1, 2)},
    "splits_of": ("train",),
    "split_by": "hash",
    "group_by": "([0-9]+)",
    "block": 50,
    "seed": 1,
    "dedupe": "drop",
    "check": "header",
    "max_file_size": 1 << 20,
    "shards": {"train": 2},
    "shard_size": 12 << 20,
    "input_pipelines": 2,
    "resize": 256,
    "max_side": 500,
    "size": (256, 320),
    "fit": "pad",
    "mask_padding": 255,
    "quality": 90,
    "jpeg": "baseline",
    "subsampling": "4:2:0",
    "strip_metadata": True,
    "bit_depth": "scale=0:4095",
    "background": "#ffffff",
    "where": "1 condition, hmac ef",
    "drop": "2 keys, hmac ab",
    "labels": "1 key, hmac cd",
}
NEEDED = {
    "fit": {"size": (1, 2)},
    "mask_padding": {"size": (1, 2), "fit": "pad"},
    "splits_of": {"splits": CHANGED["splits"]},
}


@pytest.mark.parametrize("name", CHANGED)
def test_every_option_that_changes_bytes_is_in_the_json_and_is_read_from_it_again(name):
    needed = NEEDED.get(name, {})
    default = ConvertOptions.of(needed).as_json()
    changed = ConvertOptions.of({**needed, name: CHANGED[name]}).as_json()
    assert {key for key in default if default[key] != changed[key]} == {OPTIONS[name].json_name}
    assert json.loads(json.dumps(changed)) == changed
    assert read_written(OPTIONS[name], changed) == CHANGED[name]


def test_no_option_is_forgotten_in_the_json():
    # The name and the classes stand in the manifest by themselves. What was inherited or overruled follows from the
    # source. What is accepted changes no byte. The other two are no options, and only there if they mean something.
    others = {"name", "classes", "inherited", "overruled", "accept", "appended_to", "kept_splits"}
    groups = {one.name for group in (Splits, Shards, Stored) for one in fields(group)}
    own = {one.name for one in fields(ConvertOptions)} - others
    assert set(CHANGED) == {one.name for one in written_options().values()} == groups | own - {"stored"}
    assert set(ConvertOptions().as_json()) == set(written_options())
    of_dataset = ConvertOptions(appended_to="0" * 64, kept_splits="made").as_json()
    assert (of_dataset["appended_to"], of_dataset["kept_splits"]) == ("0" * 64, "made")


def test_an_option_that_changes_bytes_is_written():
    changing = {one.name for one in OPTIONS.values() if one.changes_bytes and one.heading in {"Splits", "Shards"}}
    assert changing - {one.name for one in written_options().values()} == {"split_column"}  # of the source
