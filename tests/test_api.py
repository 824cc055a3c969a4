"""`shardkit.convert` and `shardkit.plan`: the commands as functions."""

import inspect
import re
import shutil
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import shardkit
from shardkit.cli.append import append as append_command
from shardkit.cli.convert import convert as convert_command
from shardkit.cli.plan import plan as plan_command
from shardkit.conversion.arguments import (
    AppendArguments,
    ConvertArguments,
    PlanArguments,
    argument_names,
    read_arguments,
)
from shardkit.conversion.option_values import option_values
from shardkit.conversion.writing.reject_limit import DEFAULT_MAX_REJECTED
from shardkit.errors import CallError, DataError
from shardkit.options.definition import GROUPS, OPTIONS
from shardkit.options.groups import ConvertOptions
from shardkit.parallel.progress import Silent
from shardkit.sources import SourceOptions
from shardkit.testing import convert_without_beam, digests_of, write_class_folders

from .cli.calling import call
from .pages import runnable

PETS = {"splits": {"train": 0.8, "test": 0.2}, "shards": {"train": 3, "test": 2}, "seed": 5, "name": "pets"}
WORDS = ["--splits", "train=0.8,test=0.2", "--shards", "train=3,test=2", "--seed", "5", "--name", "pets"]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write_class_folders(tmp_path_factory.mktemp("source"), {"ant": 12, "bee": 8})


def arguments_of(function):
    return list(inspect.signature(function).parameters)


@pytest.mark.parametrize(
    ("function", "command"),
    [(shardkit.convert, convert_command), (shardkit.plan, plan_command), (shardkit.append, append_command)],
)
def test_a_function_has_the_arguments_of_its_command(function, command):
    options = {one.name for one in command.params} - {"quiet", "log_format", "as_json", "help_all"}
    options -= {"config", "write_config"}  # files of options, which a program has in itself
    options -= {"no_wait"}  # in Python that is `ConvertImages` in a pipeline of the caller's
    options -= {"max_rejected"} if command is plan_command else set()  # it only changes what the command prints
    arguments = [name for name in arguments_of(function) if name not in GROUPS]
    grouped = [one.name for name in arguments_of(function) if name in GROUPS for one in fields(GROUPS[name])]
    taken = {name for name in grouped if name in OPTIONS and command.name in OPTIONS[name].commands}
    assert {*arguments, *taken} == options | {"listener"}
    assert len(arguments_of(function)) <= 30
    assert all(f"        {name}: " in function.__doc__ for name in arguments_of(function))


@pytest.mark.parametrize(
    ("kind", "command"),
    [(ConvertArguments, "convert"), (PlanArguments, "plan"), (AppendArguments, "append")],
)
def test_the_types_are_those_of_the_arguments(kind, command):
    names = set(kind.__annotations__)
    assert names == set(argument_names(command))


def test_appending_in_python_is_the_command(source, tmp_path):
    new = write_class_folders(tmp_path / "new", {"ant/new": 3, "cat": 6}, width=9)
    splits = {"train": Fraction(4, 5), "test": Fraction(1, 5)}
    convert_without_beam(str(source), str(tmp_path / "a"), seed=5, splits=splits)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    own = {
        "splits": {"train": 0.5, "test": 0.5},
        "shards": shardkit.Shards({"train": 1, "test": 2}, shard_size="20MiB"),
    }
    words = ["--splits", "train=0.5,test=0.5", "--shards", "train=1,test=2", "--shard-size", "20MiB"]
    outcome = shardkit.append(tmp_path / "a", new, **own)
    said = call("append", tmp_path / "b", new, *words)
    assert said.exit_code == 0, said.output
    logs = ("run-log.jsonl", "append-0001/run-log.jsonl")
    assert digests_of(tmp_path / "a", but=logs) == digests_of(tmp_path / "b", but=logs)
    assert (outcome.folder, outcome.unchanged) == ("append-0001", False)
    first, second = outcome.manifest.generations
    assert second.options["seed"] == first.options["seed"] == 5
    assert second.options["shard_bytes"] == 20 << 20
    assert f"stays readable as {tmp_path / 'b'}@sha256:{second.previous}" in said.stdout
    assert "1 new class: 'cat' is label 2" in said.stdout
    again = call("append", tmp_path / "b", new)
    assert "already has the images of" in again.stderr
    with pytest.raises(CallError, match="leave out @sha256"):
        shardkit.append(f"{tmp_path / 'a'}@sha256:{second.previous}", new)
    with pytest.raises(CallError, match="splits='own' keeps all splits of SOURCE"):
        shardkit.append(tmp_path / "a", new, splits=shardkit.Splits("own", splits_of="train"))


def test_the_defaults_are_those_of_the_option_values():
    assert option_values({}) == (SourceOptions(), ConvertOptions())
    every = {name: one.default for name, one in OPTIONS.items() if one.default is not None}
    assert option_values(every) == option_values({})  # what the help prints
    assert OPTIONS["max_rejected"].default == DEFAULT_MAX_REJECTED


def test_the_function_writes_the_bytes_of_the_command(source, tmp_path):
    outcome = shardkit.convert(source, tmp_path / "a", **PETS)
    assert call("convert", source, tmp_path / "b", *WORDS).exit_code == 0
    assert digests_of(tmp_path / "a") == digests_of(tmp_path / "b")
    assert outcome.manifest.digest == shardkit.read_manifest(str(tmp_path / "b")).digest
    assert (outcome.unchanged, outcome.finished_before) == (False, 0)
    again = shardkit.convert(source, tmp_path / "a", **PETS)
    assert (again.unchanged, again.finished_before) == (True, 5)
    with pytest.raises(DataError, match="overwrite=True"):
        shardkit.convert(source, tmp_path / "a")


@pytest.mark.parametrize("size", ["256x320", (256, 320), [256, 320]])
def test_a_size_is_text_or_two_numbers(size):
    given = read_arguments("convert", {"stored": shardkit.Stored(size=size)})
    assert option_values(given)[1].stored.size == (256, 320)


def test_the_plan_is_a_value(source):
    planned = shardkit.plan(source, **PETS)
    assert (planned.num_examples, planned.num_shards, planned.options.name) == (20, 5, "pets")


def test_findings_travel_with_the_plan_and_the_outcome(source, tmp_path):
    planned = shardkit.plan(source, splits=shardkit.Splits([0.9, 0.1], split_by="hash"))
    codes = {finding.code for finding in planned.findings}
    assert "class_absent_from_split" in codes
    outcome = shardkit.convert(source, tmp_path / "out", splits=shardkit.Splits("90/10", split_by="hash"))
    # Each knows the call that found it: commands name the folder that the call writes.
    assert [replace(one, call=None) for one in outcome.findings] == [
        replace(one, call=None) for one in planned.findings
    ]
    assert {(one.call.command, one.call.target) for one in outcome.findings} == {("convert", str(tmp_path / "out"))}
    again = shardkit.convert(
        source, tmp_path / "out", splits=shardkit.Splits({"train": 0.9, "val": 0.1}, split_by="hash")
    )
    assert again.unchanged
    assert [one.code for one in again.findings] == [one.code for one in outcome.findings]


def test_a_listener_hears_what_the_terminal_shows(source, tmp_path):
    heard = []

    class Listener(Silent):
        def say(self, text, level="info"):
            heard.append(text)

        def phase(self, name, total):
            heard.append((name, total))
            return super().phase(name, total)

    shardkit.convert(source, tmp_path / "out", listener=Listener())
    recognising, sentence, *phases = heard
    assert recognising == ("recognising", None)
    assert isinstance(sentence, str)
    assert phases == [("checking", None), ("planning", None), ("writing", 20), ("publishing", None)]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"check": "decoed"}, "check must be one of 'decode', 'header'; found 'decoed'; did you mean 'decode'"),
        ({"layout": "folder"}, "layout must be one of"),
        ({"classes": "ant"}, "classes must be a list"),
        ({"splits": {"train": 0.8, "test": 0.1}}, "must add to exactly 1"),
        ({"splits": [0.8, 0.1, 0.05, 0.05]}, "is neither two numbers"),
        ({"splits": shardkit.Splits(splits_of=["train"])}, "splits_of needs the shares"),
        ({"splits": {"val": 0.5, "validation": 0.5}}, "names the split validation twice"),
        ({"shards": 0}, "shards"),
        ({"workers": 0}, "workers must be from 1 to 65536; found 0"),
        ({"max_rejected": "many"}, "max_rejected is a count"),
        ({"beam_options": ["--runer=x"]}, "--runner"),
        ({"beam_options": ["--parallelism=2"]}, "no runner is named; add --runner"),
        ({"beam_options": ["--runner=PrismRunner"], "workers": 2}, "workers=2 is for threads of this process"),
        ({"stored": {"resize": 256}}, r"stored must be Stored\(\.\.\.\); found"),
        ({"resize": 256}, r"convert\(\) has no argument 'resize'; write stored=Stored\(resize=\.\.\.\)"),
        ({"label_column": ["a"]}, r"no argument 'label_column'; write table=Table\(label_columns=\.\.\.\)"),
        ({"ouput": "x"}, "no argument 'ouput'; did you mean 'output'|it takes"),
        ({"skip_existing": True}, "no argument 'skip_existing'"),
    ],
)
def test_a_wrong_argument_is_refused_before_anything_is_written(wrong, sentence, source, tmp_path):
    with pytest.raises(CallError, match=sentence):
        shardkit.convert(source, tmp_path / "out", **wrong)
    assert not Path(tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("group", "wrong", "sentence"),
    [
        (shardkit.Table, {"label_columns": "label"}, r"label_columns must be a list .* write \['label'\]"),
        (shardkit.Table, {"label_column": ["label"]}, "did you mean 'label_columns'"),
        (shardkit.Stored, {"quality": "none"}, "quality must be a whole number; found 'none'"),
        (shardkit.Stored, {"resize": "big"}, "resize is one number, the length of a side in pixels; found 'big'"),
        (shardkit.Stored, {"strip_metadata": "no"}, "strip_metadata must be True or False; found 'no'"),
        (shardkit.Stored, {"label_columns": ["a"]}, r"write table=Table\(label_columns=\.\.\.\)"),
    ],
)
def test_a_group_checks_its_options_itself(group, wrong, sentence):
    with pytest.raises(CallError, match=sentence):
        group(**wrong)


@pytest.mark.parametrize(
    ("function", "wrong", "sentence"),
    [
        (shardkit.plan, "lable_columns", r"no argument 'lable_columns'; write table=Table\(label_columns=\.\.\.\)"),
        (shardkit.adopt, "lable_feature", "did you mean 'label_feature'"),
        (shardkit.adopt, "splits", "it takes the files of each split as split_files"),
        (shardkit.verify, "leak", "did you mean 'leaks'"),
    ],
)
def test_every_function_suggests_the_argument_that_was_meant(function, wrong, sentence, source):
    with pytest.raises(CallError, match=sentence):
        function(source, **{wrong: "x"})


@pytest.mark.parametrize(("limit", "passes"), [(0.05, True), ("5%", True), (1, True), (0.04, False), (0, False)])
def test_the_limit_of_rejected_images_is_a_share_or_a_number(limit, passes, tmp_path):
    photos = write_class_folders(tmp_path / "photos", {"ant": 10, "bee": 9})
    (photos / "ant" / "bad.png").write_bytes(b"no picture")
    if passes:
        outcome = shardkit.convert(photos, tmp_path / "out", max_rejected=limit)
        assert outcome.manifest.splits["train"].num_examples == 19
        return
    with pytest.raises(DataError):
        shardkit.convert(photos, tmp_path / "out", max_rejected=limit)


def test_verify_in_python_finds_what_the_command_finds(source, tmp_path):
    shardkit.convert(source, tmp_path / "out", shards=2)
    found = shardkit.verify(tmp_path / "out", deep=True, leaks=True)
    assert (found.ok, found.problems, found.leaks, found.other_files) == (True, (), (), ())
    assert found.manifest.splits["train"].num_examples == 20
    (tmp_path / "out" / "notes.txt").write_text("mine")
    shard = next((tmp_path / "out").glob("*.tfrecord"))
    shard.write_bytes(shard.read_bytes()[:-1])
    found = shardkit.verify(tmp_path / "out")
    assert (found.ok, found.other_files) == (False, ("notes.txt",))
    assert {one.file for one in found.problems} == {shard.name}


@pytest.mark.parametrize("call", [shardkit.convert, shardkit.append], ids=lambda call: call.__name__)
@pytest.mark.parametrize("wrap", [lambda images: images, list, lambda images: (images, np.arange(40))])
def test_arrays_are_refused_with_the_line_that_reads_them(wrap, call, tmp_path):
    images = np.zeros((40, 4, 4, 3), np.uint8)
    arguments = (wrap(images), tmp_path) if call is shardkit.convert else (tmp_path, wrap(images))
    with pytest.raises(CallError, match="for arrays in memory you do not need shardkit") as caught:
        call(*arguments)
    assert re.search(r"tf\.data\.Dataset.*", str(caught.value))[0] in runnable("python")["arrays"].code  # which is run


@pytest.mark.parametrize("name", ["source", "output"])
def test_an_empty_path_is_refused(name, source, tmp_path):
    with pytest.raises(CallError, match=f"{name.upper()} may not be empty"):
        shardkit.convert(**{"source": source, "output": tmp_path / "out", name: ""})
