import importlib
import re

import pytest

from shardkit.cli.options.groups import OPTION_GROUPS

from .calling import call


@pytest.mark.parametrize("name", ["append", "convert", "plan"])
def test_help_prints_every_option_once_under_its_heading(name):
    shown = call(name, "--help").stdout
    sections = dict(re.findall(r"^(\w+):\n((?:  .*\n)+)", shown, re.MULTILINE))
    assert list(sections) == list(OPTION_GROUPS)
    found = {group: re.findall(r"^  (?:-\w, )?(--[\w-]+)", lines, re.MULTILINE) for group, lines in sections.items()}
    command = getattr(importlib.import_module(f"shardkit.cli.{name}"), name)
    names = {option.opts[0] for option in command.params if option.param_type_name == "option"}
    assert found == {group: [one for one in known if one in names] for group, known in OPTION_GROUPS.items()} | {
        "Run": [one for one in OPTION_GROUPS["Run"] if one in names] + ["--help"]
    }
    assert sum(map(len, found.values())) == len(names) + 1, "an option without a heading, or a heading without it"


def test_every_name_under_a_heading_is_an_option_of_a_conversion():
    from shardkit.cli.append import append
    from shardkit.cli.convert import convert
    from shardkit.cli.plan import plan

    named = [name for names in OPTION_GROUPS.values() for name in names]
    params = [param for command in (append, convert, plan) for param in command.params]
    assert sorted(named) == sorted({param.opts[0] for param in params if param.param_type_name == "option"})


def test_the_help_of_export_is_a_list_of_targets():
    shown = call("export", "--help").stdout
    assert "\n  dali-index    SHARD.idx for each shard" in shown
    assert "\\b" not in shown
