import importlib
import re

import pytest

from shardkit.options.definition import HEADINGS, OPTIONS
from shardkit.testing import write_class_folders

from .calling import call


def shown_options(*words):
    """{heading: [flag]} of a help text."""
    sections = dict(re.findall(r"^(\w+):\n((?:  .*\n)+)", call(*words).stdout, re.MULTILINE))
    return {name: re.findall(r"^  (?:-\w, )?(--[\w-]+)", lines, re.MULTILINE) for name, lines in sections.items()}


@pytest.mark.parametrize("name", ["append", "convert", "plan"])
def test_help_all_prints_every_option_once_under_its_heading(name):
    found = shown_options(name, "--help-all")
    assert list(found) == list(HEADINGS)
    command = getattr(importlib.import_module(f"shardkit.cli.{name}"), name)
    flags = [one.opts[0] for one in command.params if one.param_type_name == "option"]
    assert sorted(flag for some in found.values() for flag in some) == sorted([*flags, "--help"])
    for heading, some in found.items():
        defined = [one.flag for one in OPTIONS.values() if one.heading == heading and name in one.commands]
        assert [flag for flag in some if flag in defined] == defined


@pytest.mark.parametrize("name", ["append", "convert", "plan"])
def test_help_prints_what_most_people_need_and_says_how_to_see_the_rest(name):
    found = shown_options(name, "--help")
    common = {one.flag for one in OPTIONS.values() if name in one.commands and one.is_common}
    shown = {flag for some in found.values() for flag in some}
    if name == "append":  # which refuses other values of these
        common -= {one.flag for one in OPTIONS.values() if one.rule == "fixed"}
        assert "--resize" not in shown
    assert common <= shown
    assert not shown & {one.flag for one in OPTIONS.values() if not one.is_common}
    num_hidden = sum(name in one.commands and one.flag not in common for one in OPTIONS.values())
    assert f"{num_hidden} more options: shardkit {name} --help-all" in call(name, "--help").stdout


def test_most_people_need_about_fifteen_options():
    common = [one for one in OPTIONS.values() if one.is_common and "convert" in one.commands]
    assert 12 <= len(common) <= 16


def test_the_help_of_export_is_a_list_of_targets():
    shown = call("export", "--help").stdout
    assert "\n  dali-index    SHARD.idx for each shard" in shown
    assert "\\b" not in shown


@pytest.mark.parametrize("columns", ["80", "120"])
@pytest.mark.parametrize(
    "words", [("convert", "--help"), ("convert", "--help-all"), ("append", "--help-all"), ("plan", "--help")]
)
def test_help_fits_a_terminal(words, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    lines = call(*words).stdout.splitlines()
    assert [line for line in lines if len(line) > int(columns)] == []


def test_help_keeps_the_case_of_values_and_shows_a_default_of_zero():
    shown = " ".join(call("convert", "--help").stdout.split())
    assert " stratified: every class gets its share, within one image (a few with several labels). hash: " in shown
    assert "--seed N Seed for splits and for the assignment to shards. [default: 0]" in shown
    assert "`shardkit help layouts`" in shown


def test_other_tools_names_for_options_are_understood_and_misspelt_words_get_a_suggestion(tmp_path):
    write_class_folders(tmp_path / "in", {"ant": 2, "bee": 2})
    for given in (["--layout", "imagefolder"], ["--layout", "ImageFolder"], ["--unlabeled"]):
        assert call("plan", tmp_path / "in", *given).exit_code == 0, given
    misspelt = call("plan", tmp_path / "in", "--layout", "clas-folders")
    assert misspelt.exit_code == 2
    assert misspelt.stderr.endswith("found 'clas-folders'; did you mean 'class-folders'?\n")
