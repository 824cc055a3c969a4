"""The signature of `shardkit.convert`, `plan` and `append`: one for all, made of the options in `shardkit.options`."""

import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

from shardkit.errors import CallError
from shardkit.options import groups  # noqa: F401 - defines the options
from shardkit.options.definition import GROUPS, OPTIONS, Group, meaning, refuse_unknown
from shardkit.options.groups import Facts, Folders, Selection, Shards, Splits, Stored, Table, TFRecord
from shardkit.options.values import Check, Dedupe, Layout, Missing

if TYPE_CHECKING:
    from shardkit.parallel.progress import ProgressListener
    from shardkit.sources.readings.values import Reading

Function = TypeVar("Function", bound=Callable[..., Any])

_PRINTED_ONLY = {"plan": {"max_rejected"}}  # options that only change what the command prints
_OPTIONS_LINE = re.compile(r"^ +\*\*options: .*$", re.MULTILINE)
# Arguments that are no options: how the work runs and what it tells.
_OTHERS = {
    "beam_options": "Options of Apache Beam: ``['--runner=FlinkRunner', …]``; none for threads of this process.",
    "listener": "Receives messages and progress; None for no output.",
}


class CommonArguments(TypedDict, total=False):
    """What `convert`, `plan` and `append` have in common: how SOURCE is read, and what is made of it."""

    layout: Layout | None
    root: str | None
    ignore: Sequence[str]
    unlabelled: bool
    without_annotation: Missing | None
    drop_repeated_boxes: bool
    readmit: bool
    reading: "str | os.PathLike[str] | Mapping[str, Any] | Reading | None"
    facts: Facts | None
    table: Table | None
    folders: Folders | None
    tfrecord: TFRecord | None
    splits: Splits | Mapping[str, float] | Sequence[float] | str | None
    shards: Shards | int | Mapping[str, int] | str | None
    stored: Stored | None
    dedupe: Dedupe | None
    seed: int | None
    check: Check | None
    accept: Sequence[str]
    max_file_size: int | str | None
    workers: int | None
    beam_options: Sequence[str]
    listener: "ProgressListener | None"


class PlanArguments(CommonArguments, total=False):
    """The arguments of `plan`."""

    classes: Sequence[str] | None
    selection: Selection | None
    name: str | None


class ConvertArguments(PlanArguments, total=False):
    """The arguments of `convert`."""

    max_rejected: int | float | str | None
    overwrite: bool


class AppendArguments(CommonArguments, total=False):
    """The arguments of `append`."""

    max_rejected: int | float | str | None
    overwrite: bool
    skip_existing: bool


def read_arguments(command: Literal["convert", "plan", "append"], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the options that the user gave, by name; None is the same as not given.

    Raises:
        UnknownArgumentError: There is no such argument; the message says where it belongs, or suggests another one.
    """
    refuse_unknown(command, given, argument_names(command))
    read: dict[str, Any] = {}
    for name, value in given.items():
        if name in _OTHERS or value is None:
            continue
        if name not in GROUPS:
            read[name] = OPTIONS[name].form.read(name, value)
            continue
        for option, one in _as_group(name, value).given_values().items():
            if command not in OPTIONS[option].commands:
                msg = f"{command}() has no argument {option!r}: it belongs to {', '.join(OPTIONS[option].commands)}"
                raise CallError(msg)
            read[option] = one
    return {name: read[name] for name in OPTIONS if name in read}


def grouped(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a function for options by name, as a command line has them; the inverse of a group."""
    made: dict[str, Any] = {}
    of_groups: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        if name in OPTIONS and OPTIONS[name].group and not isinstance(value, Group):
            if value is not None:
                of_groups.setdefault(OPTIONS[name].group, {})[name] = value
        else:
            made[name] = value
    return {**made, **{name: GROUPS[name](**members) for name, members in of_groups.items()}}


def argument_names(command: str) -> list[str]:
    """Return the names of a function's arguments that are made of options, in the order of the definitions."""
    left_out = _PRINTED_ONLY.get(command, set())
    taken = [one for name, one in OPTIONS.items() if command in one.commands and name not in left_out]
    names = dict.fromkeys(one.group or one.name for one in taken)
    return [*names, *_OTHERS]


def with_options(command: str) -> Callable[[Function], Function]:
    """Return a decorator that shows the arguments of `command`, in place of a docstring's line about ``**options``."""

    def decorate(function: Function) -> Function:
        parameters = inspect.signature(function).parameters.values()
        named = [one for one in parameters if one.kind is not one.VAR_KEYWORD]
        names = [name for name in argument_names(command) if name not in {one.name for one in named}]
        options = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in names]
        lines = [f"        {name}: {_described(name)}" for name in names]
        described: Any = function
        described.__signature__ = inspect.Signature([*named, *options])
        described.__doc__ = _OPTIONS_LINE.sub(lambda found: "\n".join(lines), function.__doc__ or "")
        return function

    return decorate


def _described(name: str) -> str:
    if name in _OTHERS:
        return _OTHERS[name]
    if name not in GROUPS:
        return meaning(name)
    summary = (GROUPS[name].__doc__ or "").partition("\n")[0]
    return f"{summary} A `{GROUPS[name].__name__}`" + (", or its first value." if name in OPTIONS else ".")


def _as_group(name: str, value: Any) -> Group:
    """Return a group; the value of its main option may stand for it, as in ``splits="80/20"``."""
    made = GROUPS[name]
    if isinstance(value, made):
        return value  # type: ignore[return-value]
    if name in OPTIONS and not isinstance(value, Group):
        return made(value)  # type: ignore[no-any-return]
    raise CallError(f"{name} must be {made.__name__}(...); found {value!r}")
