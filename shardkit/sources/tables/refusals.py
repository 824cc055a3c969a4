"""Refuse a table with the commands that read it, with the options that the user gave already."""

from dataclasses import fields, replace
from typing import Any, NamedTuple

from shardkit.errors import CallError
from shardkit.sources.commands import Command, refusal
from shardkit.sources.options import SourceOptions


class Choice(NamedTuple):
    """One way to read a table: what the user's options lack, and what it means."""

    changes: dict[str, Any]
    meaning: str


def refuse(problem: str, source: str, options: SourceOptions, choices: list[Choice]) -> CallError:
    """Return the error for a table that can be read in several ways, or in none without an option.

    Args:
        problem: One sentence without a full stop: the table, and what was found.
        source: SOURCE of the commands.
        options: The user's options, which the commands repeat.
        choices: The possible readings, the most likely first.
    """
    commands = [Command(source, as_arguments(replace(options, **choice.changes)), choice.meaning) for choice in choices]
    return refusal(problem, commands)


def as_arguments(options: SourceOptions) -> tuple[str, ...]:
    """Return options as a command's arguments; `classes` is left out, because the name of its file is not known."""
    arguments: list[str] = []
    for field in fields(options):
        value = getattr(options, field.name)
        if field.name == "classes" or value == field.default:
            continue
        flag = "--" + field.name.replace("_", "-").replace("columns", "column")
        for one in value if isinstance(value, tuple) else (value,):
            arguments += [flag, str(one)]
    return tuple(arguments)
