"""Read the options in a manifest, which may come from a stranger, and write them as a user writes them."""

import functools
import shlex
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from shardkit.errors import ManifestError, ShardkitError
from shardkit.naming import MANIFEST
from shardkit.options.definition import OPTIONS, Option, written_options
from shardkit.options.forms import Hashed
from shardkit.options.values import AUTO_SCALE, HIGH_BITS
from shardkit.options.words import convert_again, named, words_of

PLAN_VERSION_KEY = "plan_version"
_SPLITTING = {"splits", "splits_of"}

P = ParamSpec("P")
R = TypeVar("R")


def reads_written_options(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with a ManifestError in place of the errors that options of wrong types or values cause."""

    @functools.wraps(function)
    def reading(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            if isinstance(error, ShardkitError):
                raise  # a sentence for the user
            msg = (
                f"{MANIFEST}: its options are not those of a conversion ({type(error).__name__}: {error}); it was "
                f"changed, restore it or {convert_again()}"
            )
            raise ManifestError(msg) from None

    return reading


def read_written(one: Option[Any, Any], options: Mapping[str, Any]) -> Any:
    """Return the value of an option in the options of a manifest."""
    name = one.json_name or one.name
    return one.form.from_json(options[name]) if name in options else one.default


@reads_written_options
def options_text(options: Mapping[str, Any]) -> str:
    """Return the options that are not the defaults as words of a command, quoted for a shell; '' if all are.

    Shares that no conversion divided by, because the examples kept the splits of their dataset, are left out.
    """
    left_out = _SPLITTING if "kept_splits" in options else set()
    shown: list[str] = []
    for one in written_options().values():
        value = read_written(one, options)
        if one.name not in left_out and value != one.default:
            shown += words_of(one.name, shown_value(one, value))
    return shlex.join(shown)


def option_text(name: str, value: Any) -> str:
    """Return an option with its value as the user writes it."""
    return named(name, shown_value(OPTIONS[name], value))


def shown_value(one: Option[Any, Any], value: Any) -> Any:
    """Return the value of an option as users write it: a placeholder for what the manifest has only a hash of."""
    return one.form.placeholder if isinstance(one.form, Hashed) else value


@reads_written_options
def option_differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return a phrase for each option that differs: ``seed was 0 and is 1``; values as users write them."""
    said = []
    if before.get("appended_to") != after.get("appended_to"):
        said.append("the dataset has changed")
    if before.get("kept_splits") != after.get("kept_splits"):
        is_new = after.get("kept_splits") is None
        said.append("the examples are divided into splits anew" if is_new else "the examples keep their splits")
    for _, one in sorted(written_options().items()):
        values = [read_written(one, options) for options in (before, after)]
        is_resolved = values[1] == AUTO_SCALE and values[0] != HIGH_BITS  # planning compares the range itself
        if values[0] == values[1] or is_resolved:
            continue
        if isinstance(one.form, Hashed) and None not in values:
            said.append(f"{named(one.name)} has another {one.form.placeholder.lower()}")
        else:
            shown = [_said(one, value) for value in values]
            said.append(f"{named(one.name)} was {shown[0]} and is {shown[1]}")
    return said


def _said(one: Option[Any, Any], value: Any) -> str:
    if value is None or value is False or value in ([], ()):
        return "not given"
    return "given" if value is True or isinstance(one.form, Hashed) else one.form.text(value)
