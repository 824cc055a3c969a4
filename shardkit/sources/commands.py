"""Refuse a source with the commands that read it: users copy a command instead of searching the options."""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from shardkit.errors import CallError
from shardkit.naming import printable

OUT = "OUT"  # stands for OUTPUT where the user has not named one
_CONVERTING = re.compile(r"(?<=^  )shardkit convert (?P<source>\S+|'[^\n]*') OUT\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Command:
    """A command that reads the source in one way.

    Attributes:
        source: SOURCE of the command: a path or URL.
        options: The options it needs, such as ``("--layout", "class-folders")``.
        meaning: What the command takes the source for, such as ``each folder is a class``.
        dataset: The dataset that the source is appended to; None for `convert`.
        also: Further datasets that are converted together with `source`.
        output: OUTPUT of `convert`; OUT if the user gave none.
    """

    source: str
    options: tuple[str, ...]
    meaning: str
    dataset: str | None = None
    also: tuple[str, ...] = ()
    output: str = OUT

    @property
    def line(self) -> str:
        """The command, quoted for a shell."""
        if self.dataset is None:
            words = ["convert", self.source, *self.also, self.output]
        else:
            words = ["append", self.dataset, self.source]
        return printable(shlex.join(["shardkit", *words, *self.options]))


def for_append(error: CallError, dataset: str) -> CallError:
    """Return an error whose ready commands append to a dataset: layouts name those that convert.

    Args:
        error: The error of a layout.
        dataset: DATASET as the user wrote it.
    """
    word = printable(shlex.quote(dataset))
    text = _CONVERTING.sub(lambda found: f"shardkit append {word} {found['source']}", str(error))
    return error if text == str(error) else CallError(text)


@contextmanager
def named_output(output: str) -> Iterator[None]:
    """Write the user's OUTPUT into the ready commands of errors, which are made where it is not known.

    Args:
        output: OUTPUT as the user wrote it.
    """
    try:
        yield
    except CallError as error:
        named = for_output(error, output)
        if named is error:
            raise
        raise named from None


def for_output(error: CallError, output: str) -> CallError:
    """Return an error whose ready commands write to an output.

    Args:
        error: The error of a layout or of the plan.
        output: OUTPUT as the user wrote it.
    """
    if isinstance(error, _RefusalError):
        return refusal(error.problem, [replace(one, output=output) for one in error.commands], remedy=error.remedy)
    word = printable(shlex.quote(output))
    text = _CONVERTING.sub(lambda found: f"shardkit convert {found['source']} {word}", str(error))
    return error if text == str(error) else CallError(text)


class _RefusalError(CallError):
    """The error of `refusal`, which can be written again for commands with more options."""

    problem = ""
    commands: Sequence[Command] = ()
    remedy = ""


def with_options(error: CallError, options: Iterable[tuple[str, ...]]) -> CallError:
    """Return an error whose ready commands have further options: layouts do not know those of the conversion.

    Args:
        error: The error of a layout.
        options: Each option with its value. Those that a command has are left as they are there.
    """
    if not isinstance(error, _RefusalError):
        return error
    pairs = list(options)
    commands = []
    for command in error.commands:
        added = [word for pair in pairs if pair[0] not in command.options for word in pair]
        commands.append(replace(command, options=(*command.options, *added)))
    return refusal(error.problem, commands, remedy=error.remedy)


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
    error = _RefusalError("\n".join([f"{problem}; {before}{what}:", *lines]))
    error.problem, error.commands, error.remedy = problem, commands, remedy
    return error
