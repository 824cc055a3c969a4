"""Groups of options read what they are given, know what was given, and suggest names."""

import inspect
import pickle
from dataclasses import FrozenInstanceError
from fractions import Fraction
from typing import Literal

import pytest

from shardkit.errors import CallError, UnknownArgumentError
from shardkit.options.definition import OPTIONS
from shardkit.options.groups import Shards, Splits, Stored


def test_a_group_reads_its_values_and_knows_which_were_given():
    stored = Stored(size="256x320", fit="pad", quality=95, resize=None)
    assert (stored.size, stored.quality, stored.jpeg) == ((256, 320), 95, "keep")
    assert stored.given_values() == {"size": (256, 320), "fit": "pad", "quality": 95}
    assert pickle.loads(pickle.dumps(stored)).given_options == stored.given_options  # noqa: S301 - made here


@pytest.mark.parametrize("given", ["224x320", "224, 320", (224, 320), [224, 320]])
def test_a_height_and_a_width_for_one_side_are_answered_with_the_option_for_both(given):
    with pytest.raises(CallError, match=r"resize is one number.*; size='224x320' gives every image"):
        Stored(resize=given)


def test_a_group_shows_what_users_may_give():
    annotation = inspect.signature(Stored).parameters["resize"].annotation
    assert annotation == int | Literal["none"] | None
    assert "resize: reduce the shorter side to N pixels; never enlarge; sizes are kept by default." in Stored.__doc__
    with pytest.raises(FrozenInstanceError):
        Stored().resize = 3


def test_none_as_a_word_overrules_a_rule_and_none_is_not_given():
    assert Stored(resize="none").given_values() == {"resize": None}
    assert Splits("own").given_values() == {"splits": None}
    assert Splits(None).given_values() == {}


def test_splits_and_shards_are_read_in_every_notation():
    shares = {"train": Fraction(4, 5), "validation": Fraction(1, 5)}
    for given in ("80/20", [0.8, 0.2], {"train": 0.8, "val": 0.2}, shares):
        assert Splits(given).splits == shares
    assert Shards("train=3,val=2").shards == Shards({"train": 3, "validation": 2}).shards
    assert Shards(shard_size="128MiB").shard_size == 128 << 20


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Stored(sise=1), UnknownArgumentError, r"Stored\(\) has no argument 'sise'; did you mean 'size'\?"),
        (lambda: Stored(split_by=1), UnknownArgumentError, r"write splits=Splits\(split_by=...\)"),
        (lambda: Stored(resize=2.5), CallError, "resize must be a whole number, or 'none'; found 2.5"),
        (lambda: Stored(resize=True), CallError, "resize must be a whole number"),
        (lambda: Stored(fit="padd"), CallError, "fit must be one of 'crop', 'pad'; found 'padd'; did you mean 'pad'"),
        (lambda: Stored(size="20000x20000"), CallError, r"size=\(20000, 20000\) has more than 268,435,456 pixels"),
        (lambda: Shards(shard_size=5 << 20), CallError, "shard_size must be from 10MiB to 1GiB; found 5MiB"),
        (lambda: Stored(quality=101), CallError, "quality must be from 1 to 100; found 101"),
    ],
)
def test_wrong_values_and_names_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_the_short_help_has_sixteen_options():
    assert sum(option.is_common for option in OPTIONS.values()) == 16
