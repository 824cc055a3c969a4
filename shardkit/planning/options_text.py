"""Write the options in a manifest as the options of a command."""

import shlex
from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any

from shardkit.option_values import NO_RULE, OWN_SPLITS
from shardkit.planning.options import ConvertOptions
from shardkit.planning.sizing import size_as_option
from shardkit.planning.splits.splitting import shares_text
from shardkit.planning.written_options import reads_written_options

PLAN_VERSION_KEY = "plan_version"
_NO_OPTIONS = {PLAN_VERSION_KEY, "appended_to", "kept_splits"}  # the manifest lists them with the options
_SPLITTING = {"splits", "splits_of"}
# Fields whose option has another name.
FLAGS = {"shard_bytes": "--shard-size", "max_file_bytes": "--max-file-size", "pipelines": "--input-pipelines"}
_HASHED = {"drop": "FILE", "labels": "FILE", "where": "CONDITION"}  # the manifest has a hash of their content
_DEFAULTS = {one.name: one.default for one in fields(ConvertOptions)}


@reads_written_options
def options_text(options: Mapping[str, Any]) -> str:
    """Return the options that are not the defaults, quoted for a shell; '' if all are.

    Shares that no conversion divided by, because the examples kept the splits of their dataset, are left out.

    Args:
        options: The manifest's `options`.
    """
    default = ConvertOptions().as_json()
    left_out = _NO_OPTIONS | (_SPLITTING if "kept_splits" in options else set())
    return " ".join(
        option_text(name, value)
        for name, value in options.items()
        if name not in left_out and value != default.get(name)
    )


def option_text(name: str, value: Any) -> str:
    """Return an option with its value, quoted for a shell.

    Args:
        name: Name of the option in the manifest.
        value: Its value there.
    """
    if name in _HASHED:
        return f"--{name} {_HASHED[name]}"
    return shlex.join(option_words(name, value))


def option_words(name: str, value: Any) -> tuple[str, ...]:
    """Return an option and its value as words of a command; see option_text."""
    if name == "strip_metadata":
        return ("--strip-metadata" if value else "--keep-metadata",)
    return _flag(name), _as_text(name, value)


def option_value(name: str, value: Any) -> Any:
    """Return the value of an option in a manifest as a change of a call has it; see option_words."""
    return bool(value) if name == "strip_metadata" else _as_text(name, value)


@reads_written_options
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
        elif name == "kept_splits":
            said.append(
                "the examples are divided into splits anew" if values[1] is None else "the examples keep their splits"
            )
        elif name in _HASHED and None not in values:
            said.append(f"--{name} has another {_HASHED[name].lower()}")
        else:
            shown = [_shown(name, value) for value in values]
            said.append(f"{_flag(name)} was {shown[0]} and is {shown[1]}")
    return said


def _shown(name: str, value: Any) -> str:
    if value is None or value is False or value in ([], ()):
        return "not given"
    return "given" if value is True or name in _HASHED else _as_text(name, value)


def _flag(name: str) -> str:
    return FLAGS.get(name) or "--" + name.replace("_", "-")


def _as_text(name: str, value: Any) -> str:
    if value is None:
        return OWN_SPLITS if name == "splits" else NO_RULE
    if name == "splits":  # the manifest has fractions: 4/5
        return shares_text({split: Fraction(share) for split, share in value.items()})
    if name in {"shard_bytes", "max_file_bytes"}:
        return size_as_option(value)
    if isinstance(value, Mapping):
        return ",".join(f"{split}={number}" for split, number in value.items())
    return ",".join(value) if isinstance(value, list) else str(value)
