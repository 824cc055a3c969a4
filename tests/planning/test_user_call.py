from fractions import Fraction

import pytest
from shardkit.planning.user_call import UserCall, completed_commands
from shardkit.sources.commands import Command, refusal

from shardkit.errors import CallError
from shardkit.planning.options import ConvertOptions
from shardkit.sources.options import SourceOptions


def line_of(source_options, options, changed=None):
    return UserCall.of("s", source_options, options).command("", changed or {}).line


def test_a_call_without_options_is_the_plain_command():
    assert line_of(SourceOptions(), ConvertOptions()) == "shardkit convert s OUT"


def test_every_option_that_was_given_is_repeated():
    source_options = SourceOptions(label_columns=("a", "b"), root="my images", group_by="p(x)")
    options = ConvertOptions(
        splits={"train": Fraction(4, 5), "test": Fraction(1, 5)},
        splits_of=("train", "validation"),
        shards={"train": 4},
        shard_bytes=20 << 20,
        pipelines=2,
        classes=("cat",),
        group_by="p(x)",
    )
    line = line_of(source_options, options)
    for part in (
        "--label-column a --label-column b",
        "--root 'my images'",
        "--splits train=0.8,test=0.2",
        "--splits-of train,validation",
        "--shards train=4",
        "--shard-size 20MiB",
        "--input-pipelines 2",
        "--classes FILE",
    ):
        assert f" {part}" in line
    assert line.count("--group-by 'p(x)'") == 1


def test_the_options_of_the_stored_form_are_repeated_as_they_are_written():
    options = ConvertOptions(size=(256, 320), fit="pad", jpeg="baseline", subsampling="4:2:0", strip_metadata=True)
    words = "--size 256x320 --fit pad --jpeg baseline --subsampling 4:2:0 --strip-metadata"
    assert line_of(SourceOptions(), options) == f"shardkit convert s OUT {words}"


def test_an_option_is_replaced_or_left_out():
    options = ConvertOptions(splits={"train": Fraction(1)}, seed=3)
    assert line_of(SourceOptions(), options, {"--splits": None}) == "shardkit convert s OUT --seed 3"
    assert line_of(SourceOptions(), options, {"--seed": "4"}) == "shardkit convert s OUT --splits train=1 --seed 4"


def test_the_reading_is_chosen_by_the_layout_or_the_classes():
    assert not UserCall.of("s", SourceOptions(root="x"), ConvertOptions(seed=1)).is_explicit
    assert UserCall.of("s", SourceOptions(layout="table"), ConvertOptions()).is_explicit
    assert UserCall.of("s", SourceOptions(), ConvertOptions(classes=("cat",))).is_explicit


def test_the_confirming_command_names_the_layout_by_its_option():
    call = UserCall("s")
    assert call.confirmation("split and class folders", "").line == "shardkit convert s OUT --layout class-folders"
    assert call.confirmation("table (CSV)", "").line == "shardkit convert s OUT --layout table"
    assert call.confirmation("a layout of tomorrow", "").line == "shardkit convert s OUT --classes FILE"


def test_commands_of_a_layout_have_the_options_of_the_conversion_too():
    source_options = SourceOptions(label_pattern="x", ignore=("*.tmp", "raw"))
    call = UserCall.of("s", source_options, ConvertOptions(splits={"train": Fraction(1)}, check="header"))
    with pytest.raises(CallError) as raised, completed_commands(call):
        raise refusal(
            "s: unclear", [Command("s", ("--layout", "coco", "--check", "decode"), "boxes")], remedy="move it"
        )
    assert str(raised.value) == (
        "s: unclear; move it, or run:\n  shardkit convert s OUT --layout coco --check decode --splits train=1 "
        "--ignore '*.tmp' --ignore raw  # boxes"
    )


def test_other_errors_of_a_layout_are_left_alone():
    error = CallError("s: no images")
    with pytest.raises(CallError) as raised, completed_commands(UserCall()):
        raise error
    assert raised.value is error
