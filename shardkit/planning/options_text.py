"""Write the options in a manifest as the options of a command."""

import shlex
from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any

from shardkit.planning.options import ConvertOptions
from shardkit.planning.sizing import size_as_option
from shardkit.planning.splits.splitting import shares_text

PLAN_VERSION_KEY = "plan_version"
_NO_OPTIONS = {PLAN_VERSION_KEY, "appended_to"}  # the manifest lists them with the options
_FLAGS = {"shard_bytes": "--shard-size", "pipelines": "--input-pipelines"}  # others are named like their options
_DEFAULTS = {one.name: one.default for one in fields(ConvertOptions)}
_FILES = {"drop", "labels"}  # the manifest has the hash of their content


def options_text(options: Mapping[str, Any]) -> str:
    """Return the options that are not the defaults, quoted for a shell; '' if all are.

    Args:
        options: The manifest's `options`.
    """
    default = ConvertOptions().as_json()
    return " ".join(
        _option(name, value)
        for name, value in options.items()
        if name not in _NO_OPTIONS and value != default.get(name)
    )


def option_differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return a phrase for each option that differs: ``--seed was 0 and is 1``; values as users write them.

    Args:
        before: The manifest's or the plan's `options` of an earlier conversion.
        after: The same of another one.
    """
    said = []
    for name in sorted({*before, *after}):
        values = [options.get(name, _DEFAULTS.get(name)) for options in (before, after)]
        if values[0] == values[1]:
            continue
        if name == "appended_to":
            said.append("the dataset has changed")
        elif name in _FILES and None not in values:
            said.append(f"the content of --{name} has changed")
        else:
            shown = [_shown(name, value) for value in values]
            said.append(f"{_flag(name)} was {shown[0]} and is {shown[1]}")
    return said


def _shown(name: str, value: Any) -> str:
    if value is None or value is False or value in ([], ()):
        return "not given"
    return "given" if value is True or name in _FILES else _as_text(name, value)


def _flag(name: str) -> str:
    return _FLAGS.get(name) or "--" + name.replace("_", "-")


def _option(name: str, value: Any) -> str:
    if name in _FILES:
        return f"--{name} FILE"
    flag = _flag(name)
    return flag if value is True else f"{flag} {shlex.quote(_as_text(name, value))}"


def _as_text(name: str, value: Any) -> str:
    if name == "splits":  # the manifest has fractions: 4/5
        return shares_text({split: Fraction(share) for split, share in value.items()})
    if name == "shard_bytes":
        return size_as_option(value)
    if isinstance(value, Mapping):
        return ",".join(f"{split}={number}" for split, number in value.items())
    return ",".join(value) if isinstance(value, list) else str(value)
