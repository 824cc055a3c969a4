"""`shardkit.convert` and `shardkit.plan`: the commands as functions."""

import inspect
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import shardkit
from shardkit import api, appending
from shardkit.api.reading import option_values
from shardkit.cli.append import append as append_command
from shardkit.cli.convert import convert as convert_command
from shardkit.cli.plan import plan as plan_command
from shardkit.errors import CallError, DataError
from shardkit.option_values import DEFAULT_RULES, RULE_ARGUMENTS
from shardkit.parallel.progress import Silent
from shardkit.planning.options import ConvertOptions
from shardkit.sources import SourceOptions
from shardkit.testing import convert_without_beam, digests_of, write_class_folders
from shardkit.writing.reject_limit import DEFAULT_MAX_REJECTED

from .cli.calling import call

OPTIONS = {"splits": {"train": 0.8, "test": 0.2}, "shards": {"train": 3, "test": 2}, "seed": 5, "name": "pets"}
WORDS = ["--splits", "train=0.8,test=0.2", "--shards", "train=3,test=2", "--seed", "5", "--name", "pets"]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write_class_folders(tmp_path_factory.mktemp("source"), {"ant": 12, "bee": 8})


def arguments_of(function):
    return {name: argument.default for name, argument in inspect.signature(function).parameters.items()}


@pytest.mark.parametrize(("function", "command"), [(api.convert, convert_command), (api.plan, plan_command)])
def test_a_function_has_the_arguments_of_its_command(function, command):
    options = {option.name for option in command.params} - {"quiet", "log_format"}
    if function is api.plan:
        options -= {"max_rejected", "explain", "as_json"}  # they only change what the command prints
    assert arguments_of(function).keys() == options | {"listener"}


def test_append_has_the_arguments_of_its_command_and_the_defaults_of_convert():
    options = {option.name for option in append_command.params} - {"quiet", "log_format"}
    given, of_convert = arguments_of(appending.append), arguments_of(api.convert)
    assert given.keys() == options | {"listener"}
    shared = given.keys() & of_convert.keys()
    assert {name: given[name] for name in shared} == {name: of_convert[name] for name in shared}
    rules = {*RULE_ARGUMENTS, *DEFAULT_RULES}
    assert {name: given[name] for name in rules} == dict.fromkeys(rules)
    assert given.keys() - of_convert.keys() == {"dataset", "skip_existing"}


def test_appending_in_python_is_the_command(source, tmp_path):
    new = write_class_folders(tmp_path / "new", {"ant/new": 3, "cat": 6}, width=9)
    splits = {"train": Fraction(4, 5), "test": Fraction(1, 5)}
    convert_without_beam(str(source), str(tmp_path / "a"), seed=5, splits=splits)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    own = {"splits": {"train": 0.5, "test": 0.5}, "shards": {"train": 1, "test": 2}, "shard_size": "20MiB"}
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
    with pytest.raises(CallError, match="--splits own keeps all splits of SOURCE"):
        shardkit.append(tmp_path / "a", new, splits="own", splits_of="train")


def test_the_defaults_are_those_of_the_option_values():
    given = arguments_of(api.convert)
    assert option_values(given) == (SourceOptions(), ConvertOptions())
    assert option_values({**given, **DEFAULT_RULES}) == option_values(given)  # what the help prints
    assert given["max_rejected"] == DEFAULT_MAX_REJECTED
    assert {name: given[name] for name in arguments_of(api.plan)} == arguments_of(api.plan)


def test_the_function_writes_the_bytes_of_the_command(source, tmp_path):
    outcome = shardkit.convert(source, tmp_path / "a", **OPTIONS)
    assert call("convert", source, tmp_path / "b", *WORDS).exit_code == 0
    assert digests_of(tmp_path / "a") == digests_of(tmp_path / "b")
    assert outcome.manifest.digest == shardkit.read_manifest(str(tmp_path / "b")).digest
    assert (outcome.unchanged, outcome.finished_before) == (False, 0)
    again = shardkit.convert(source, tmp_path / "a", **OPTIONS)
    assert (again.unchanged, again.finished_before) == (True, 5)
    with pytest.raises(DataError, match="overwrite=True"):
        shardkit.convert(source, tmp_path / "a")


@pytest.mark.parametrize("size", ["256x320", (256, 320), [256, 320]])
def test_a_size_is_text_or_two_numbers(size):
    given = {**arguments_of(api.convert), "size": size}
    assert option_values(given)[1].size == (256, 320)


def test_the_plan_is_a_value(source):
    planned = shardkit.plan(source, **OPTIONS)
    assert (planned.num_examples, planned.num_shards, planned.options.name) == (20, 5, "pets")


def test_findings_travel_with_the_plan_and_the_outcome(source, tmp_path):
    planned = shardkit.plan(source, splits=[0.9, 0.1])
    codes = {finding.code for finding in planned.findings}
    assert "class_absent_from_split" in codes
    outcome = shardkit.convert(source, tmp_path / "out", splits="90/10")
    # Commands name the folder that the call writes; `plan` writes none.
    assert [replace(one, commands=()) for one in outcome.findings] == [
        replace(one, commands=()) for one in planned.findings
    ]
    assert {one.output for finding in outcome.findings for one in finding.commands} == {str(tmp_path / "out")}
    again = shardkit.convert(source, tmp_path / "out", splits={"train": 0.9, "val": 0.1})
    assert (again.unchanged, again.findings) == (True, outcome.findings)


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
        ({"label_columns": "label"}, r"label_columns must be a list .* write \['label'\]"),
        ({"classes": "ant"}, "classes must be a list"),
        ({"splits": {"train": 0.8, "test": 0.1}}, "must add to exactly 1"),
        ({"splits": [0.8, 0.1, 0.05, 0.05]}, "is neither two numbers"),
        ({"splits_of": ["train"]}, "--splits-of needs the shares"),
        ({"splits": {"val": 0.5, "validation": 0.5}}, "names the split validation twice"),
        ({"shards": 0}, "--shards"),
        ({"quality": "none"}, "quality must be a whole number; found 'none'"),
        ({"resize": "big"}, "resize must be a whole number, or 'none'; found 'big'"),
        ({"strip_metadata": "no"}, "strip_metadata must be True or False; found 'no'"),
        ({"shard_size": 5}, "is not between 10 MiB and 1 GiB"),
        ({"workers": 0}, "workers must be at least 1"),
        ({"max_rejected": "many"}, "max_rejected is a count"),
        ({"beam_options": ["--runer=x"]}, "--runner"),
        ({"beam_options": ["--parallelism=2"]}, "no runner is named; add --runner"),
        ({"beam_options": ["--runner=PrismRunner"], "workers": 2}, "workers=2 is for threads of this process"),
    ],
)
def test_a_wrong_argument_is_refused_before_anything_is_written(wrong, sentence, source, tmp_path):
    with pytest.raises(CallError, match=sentence):
        shardkit.convert(source, tmp_path / "out", **wrong)
    assert not Path(tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["source", "output"])
def test_an_empty_path_is_refused(name, source, tmp_path):
    with pytest.raises(CallError, match=f"{name.upper()} may not be empty"):
        shardkit.convert(**{"source": source, "output": tmp_path / "out", name: ""})
