"""The user's call as values: what is repeated in a command, and what a change does to it."""

from fractions import Fraction

import pytest

from shardkit.conversion.arguments import read_arguments
from shardkit.errors import CallError
from shardkit.options.call import Call, Change
from shardkit.options.groups import Folders, Shards, Splits, Stored, Table
from shardkit.options.words import written_as
from shardkit.refusals import RefusalError, change_lines


def call_with(**arguments):
    return Call("convert", ("s",), None, read_arguments("convert", arguments))


def test_a_call_without_options_is_the_plain_command():
    assert call_with().line == "shardkit convert s OUT"
    assert Call("convert", ("a b", "c"), "my out").line == "shardkit convert 'a b' c 'my out'"
    assert Call("plan", ("s",)).line == "shardkit plan s"
    assert Call("append", ("s",), "D", {}, ("--runner=x",)).line == "shardkit append D s --runner=x"


def test_every_option_that_was_given_is_repeated():
    line = call_with(
        table=Table(label_columns=("a", "b")),
        root="my images",
        splits=Splits({"train": 0.8, "test": 0.2}, splits_of=("train", "validation"), group_by="p(x)"),
        shards=Shards({"train": 4}, shard_size="20MiB", input_pipelines=2),
        classes=("cat",),
        stored=Stored(size=(256, 320), fit="pad", jpeg="baseline", subsampling="4:2:0", strip_metadata=True),
    ).line
    for part in (
        "--label-column a --label-column b",
        "--root 'my images'",
        "--splits train=0.8,test=0.2",
        "--splits-of train,validation",
        "--group-by 'p(x)'",
        "--shards train=4",
        "--shard-size 20MiB",
        "--input-pipelines 2",
        "--classes FILE",
        "--size 256x320 --fit pad --jpeg baseline --subsampling 4:2:0 --strip-metadata",
    ):
        assert f" {part}" in line


def test_an_option_is_replaced_added_or_left_out():
    call = call_with(splits={"train": Fraction(1)}, seed=3)
    assert call.changed(Change("", {"splits": None})).given == {"seed": 3}
    assert call.changed(Change("", {"seed": 4})).line == "shardkit convert s OUT --splits train=1 --seed 4"
    assert call.changed(Change("", {}, sources=("t",))).line == "shardkit convert t OUT --splits train=1 --seed 3"
    assert call.changed(Change("", {}, inside="a")).sources == ("s/a",)
    anew = Change("", {"resize": 256}, sources=("D",), command="convert", starts_anew=True)
    assert Call("append", ("s",), "D", {"seed": 1}).changed(anew).line == "shardkit convert D OUT --resize 256"


def test_another_layout_leaves_out_what_it_does_not_read():
    call = call_with(folders=Folders(label_pattern="x"), seed=1)
    assert call.changed(Change("", {"layout": "coco"})).given == {"seed": 1, "layout": "coco"}


def test_an_append_without_shares_keeps_the_sources_splits():
    call = Call("append", ("new",), "D", {"splits": {"train": Fraction(1)}})
    assert call.changed(Change("", {"splits": None})).line == "shardkit append D new --splits own"
    assert call.changed(Change("", {"layout": "coco"})).line == "shardkit append D new --splits train=1 --layout coco"


def test_python_reads_the_arguments_that_differ():
    call = call_with(stored=Stored(resize=8), seed=1)
    assert call.keywords(Change("", {"seed": None, "fit": "pad"})) == "stored=Stored(resize=8, fit='pad'), without seed"
    assert call.keywords(Change("", {}, inside="x")) == "'s/x'"


def test_a_change_of_a_group_is_written_with_all_options_of_the_group():
    call = call_with(splits="80/20", table=Table(split_column="part"), seed=2)
    shares = "splits={'train': 0.8, 'validation': 0.2}"
    assert call.keywords(Change("", {"split_by": "stratified"})) == f"splits=Splits({shares}, split_by='stratified')"
    call = call_with(splits=Splits("80/20", split_by="stratified"))
    assert call.keywords(Change("", {"split_by": None})) == shares
    assert call.keywords(Change("", {"splits": None})) == "splits=Splits(split_by='stratified')"
    assert call_with(splits="80/20").keywords(Change("", {"splits": None})) == "without splits"
    other = Change("as others", {"layout": "tfrecord"}, command="convert", starts_anew=True)
    adopting = Call("adopt", ("a.tfrecord",))
    assert change_lines([other], adopting) == ["shardkit.convert('a.tfrecord', 'OUT', layout='tfrecord')  # as others"]


@pytest.mark.parametrize(
    ("changes", "remedy", "text"),
    [
        ([], "", "s: unclear"),
        ([], "move it", "s: unclear; move it"),
        (
            [{"layout": "coco"}],
            "move it",
            "s: unclear; move it, or run:\n  shardkit convert s OUT --layout coco  # why",
        ),
        ([{"seed": 1}, {"seed": 2}], "", "s: unclear; choose one of:\n  shardkit convert s OUT --seed 1  # why\n  "),
    ],
)
def test_a_refusal_is_its_problem_and_the_calls_that_would_do(changes, remedy, text):
    error = RefusalError("s: unclear", [Change("why", options) for options in changes], remedy=remedy)
    error.call = call_with()
    with written_as("command"):
        assert str(error).startswith(text)
    assert isinstance(error, CallError)
    assert [change.options for change in error.refusal.changes] == changes
