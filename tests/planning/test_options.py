from fractions import Fraction

import pytest

from shardkit.errors import CallError
from shardkit.hashing import MAX_SEED
from shardkit.planning.options import ConvertOptions


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"pipelines": 0}, "input_pipelines must be from 1 to 65536; found 0"),
        ({"seed": -1}, "seed must be from 0 to"),
        ({"seed": MAX_SEED + 1}, "seed must be from 0 to"),
        ({"quality": 0}, "quality must be from 1 to 100; found 0"),
        ({"quality": 101}, "quality must be from 1 to 100; found 101"),
        ({"resize": 0}, "resize must be from 1 to 65536; found 0"),
        ({"name": ""}, "name must be letters, digits and '_'"),
        ({"name": "a-b"}, "name must be letters, digits and '_'"),
        ({"name": "../a"}, "name must be letters, digits and '_'"),
        ({"name": "2fast"}, "name must be letters, digits and '_'"),
        ({"shard_bytes": 5 << 20}, "a shard size of 5 MiB is not between 10 MiB and 1 GiB"),
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
        ConvertOptions(**wrong)
    assert str(raised.value).startswith(sentence)


@pytest.mark.parametrize(
    "right",
    [{"seed": MAX_SEED}, {"quality": 100}, {"quality": 1}, {"resize": 1}, {"name": "my_photos2"}, {"pipelines": 65536}],
)
def test_the_ends_of_every_range_are_allowed(right):
    assert ConvertOptions(**right)


CHANGED = {
    "splits": {"train": Fraction(1, 2), "test": Fraction(1, 2)},
    "split_by": "stratified",
    "shards": {"train": 2},
    "shard_bytes": 12 << 20,
    "pipelines": 2,
    "seed": 1,
    "resize": 256,
    "quality": 90,
    "check": "header",
    "group_by": "([0-9]+)",
    "dedupe": "drop",
}


@pytest.mark.parametrize("name", CHANGED)
def test_every_option_that_changes_bytes_is_in_the_json(name):
    import json

    changed = ConvertOptions(**{name: CHANGED[name]}).as_json()
    default = ConvertOptions().as_json()
    assert {key for key in default if default[key] != changed[key]} == {name}
    assert json.loads(json.dumps(changed)) == changed


# In the JSON only if they are used.
ADDED = {
    "max_side": 500,
    "size": (256, 320),
    "fit": "pad",
    "mask_padding": 255,
    "jpeg": "baseline",
    "subsampling": "4:2:0",
    "strip_metadata": True,
    "appended_to": "0" * 64,
    "kept_splits": "made",
    "where": "1 condition, hmac ef",
    "drop": "2 keys, hmac ab",
    "labels": "1 key, hmac cd",
    "max_file_bytes": 1 << 20,
}
NEEDED = {"fit": {"size": (1, 2)}, "mask_padding": {"size": (1, 2), "fit": "pad"}}


@pytest.mark.parametrize("name", ADDED)
def test_an_option_that_came_later_is_in_the_json_if_it_is_used(name):
    needed = NEEDED.get(name, {})
    used = ConvertOptions(**needed, **{name: ADDED[name]}).as_json()
    assert {key: value for key, value in used.items() if ConvertOptions(**needed).as_json().get(key) != value} == {
        name: "256x320" if name == "size" else ADDED[name]
    }
    assert name not in ConvertOptions().as_json()


def test_no_option_is_forgotten_in_the_json():
    # The name and the classes stand in the manifest by themselves; splits_of is there only if it is used. What was
    # inherited or overruled follows from the source.
    used = ConvertOptions(splits=CHANGED["splits"], splits_of=("train",)).as_json()
    assert {*used, *ADDED} == set(ConvertOptions.__slots__) - {"name", "classes", "inherited", "overruled"}
    assert set(ConvertOptions().as_json()) == set(used) - {"splits_of"} == set(CHANGED)
    assert used["splits_of"] == ["train"]
