"""Refuse a source with the commands that read it: users copy a command instead of searching the options."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from shardkit.errors import CallError
from shardkit.naming import printable


@dataclass(frozen=True, slots=True)
class Command:
    """A command that reads the source in one way.

    Attributes:
        source: SOURCE of the command: a path or URL.
        options: The options it needs, such as ``("--layout", "class-folders")``.
        meaning: What the command takes the source for, such as ``each folder is a class``.
        also: Further datasets that are converted together with `source`.
    """

    source: str
    options: tuple[str, ...]
    meaning: str
    also: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The command, quoted for a shell."""
        return printable(shlex.join(["shardkit", "convert", self.source, *self.also, "OUT", *self.options]))


def refusal(problem: str, commands: Sequence[Command], *, remedy: str = "") -> CallError:
    """Return the error for a source that can be read in several ways, or in none without an option.

    Args:
        problem: One sentence without a full stop: the file or folder, and what was found.
        commands: A command for each possible reading, the most likely first.
        remedy: What to do instead of running a command, as an imperative without a full stop; '' for nothing.
    """
    width = max(len(command.line) for command in commands)
    lines = [f"  {command.line:{width}}  # {command.meaning}" for command in commands]
    what = "choose one of" if len(commands) > 1 else "run"
    before = f"{remedy}, or " if remedy else ""
    return CallError("\n".join([f"{problem}; {before}{what}:", *lines]))
