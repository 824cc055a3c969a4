"""Write the options in a manifest as a user writes them."""

import shlex
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from shardkit.conversion.planning.options import ConvertOptions
from shardkit.conversion.planning.written_options import reads_written_options
from shardkit.options.definition import Option, written_options
from shardkit.options.forms import Hashed
from shardkit.options.values import AUTO_SCALE, HIGH_BITS
from shardkit.options.words import named, words_of

PLAN_VERSION_KEY = "plan_version"
_SPLITTING = {"splits", "splits_of"}
_DEFAULTS = {one.name: one.default for one in fields(ConvertOptions)}


@reads_written_options
def options_text(options: Mapping[str, Any]) -> str:
    """Return the options that are not the defaults as words of a command, quoted for a shell; '' if all are.

    Shares that no conversion divided by, because the examples kept the splits of their dataset, are left out.

    Args:
        options: The manifest's `options`.
    """
    left_out = _SPLITTING if "kept_splits" in options else set()
    shown: list[str] = []
    for name, one in written_options().items():
        value = one.form.from_json(options[name]) if name in options else _DEFAULTS[name]
        if name not in left_out and value != _DEFAULTS[name]:
            shown += words_of(one.name, shown_value(one, value))
    return shlex.join(shown)


def option_text(name: str, value: Any) -> str:
    """Return an option with its value as the user writes it.

    Args:
        name: Name of the option in a manifest and in ConvertOptions.
        value: Its value in ConvertOptions.
    """
    one = written_options()[name]
    return named(one.name, shown_value(one, value))


def shown_value(one: Option, value: Any) -> Any:
    """Return the value of an option as users write it: a placeholder for what the manifest has only a hash of."""
    return one.form.placeholder if isinstance(one.form, Hashed) else value


@reads_written_options
def option_differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return a phrase for each option that differs: ``seed was 0 and is 1``; values as users write them.

    Args:
        before: The manifest's or the plan's `options` of an earlier conversion.
        after: The same of another one.
    """
    said = []
    if before.get("appended_to") != after.get("appended_to"):
        said.append("the dataset has changed")
    if before.get("kept_splits") != after.get("kept_splits"):
        is_new = after.get("kept_splits") is None
        said.append("the examples are divided into splits anew" if is_new else "the examples keep their splits")
    for name, one in sorted(written_options().items()):
        values = [
            one.form.from_json(options[name]) if name in options else _DEFAULTS[name] for options in (before, after)
        ]
        is_resolved = values[1] == AUTO_SCALE and values[0] != HIGH_BITS  # planning compares the range itself
        if values[0] == values[1] or is_resolved:
            continue
        if isinstance(one.form, Hashed) and None not in values:
            said.append(f"{named(one.name)} has another {one.form.placeholder.lower()}")
        else:
            shown = [_said(one, value) for value in values]
            said.append(f"{named(one.name)} was {shown[0]} and is {shown[1]}")
    return said


def _said(one: Option, value: Any) -> str:
    if value is None or value is False or value in ([], ()):
        return "not given"
    return "given" if value is True or isinstance(one.form, Hashed) else one.form.text(value)
