"""The user's call as values: which paths and options were given. What is printed for the user is made from it."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from shardkit.naming import printable
from shardkit.options.words import arguments, words_of

Command = Literal["convert", "plan", "append", "adopt"]
OUT = "OUT"  # stands for OUTPUT where the user has not named one


@dataclass(frozen=True, slots=True)
class Change:
    """Another call that would do: the user's, with some options changed.

    Attributes:
        meaning: What the changed call does: ``each folder is a class``.
        options: New value of each option by name; None leaves the option out.
        sources: Other sources in place of the user's; () keeps them.
        command: Another command in place of the user's; None keeps it.
        starts_anew: Whether the user's other options are left out.
    """

    meaning: str
    options: Mapping[str, Any] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    command: Command | None = None
    starts_anew: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a command, or of the Python function of the same name.

    Attributes:
        command: Its name.
        sources: SOURCE, or several, as the user wrote them.
        target: OUTPUT of `convert` or DATASET of `append`; None if there is none or the user gave none.
        given: The values of the options that the user gave, as they were read, by name.
        beam_options: Options of Beam, as words.
    """

    command: Command
    sources: tuple[str, ...]
    target: str | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    beam_options: tuple[str, ...] = ()

    def changed(self, change: Change) -> "Call":
        """Return the same call with other options; see `Change`."""
        kept = {name: value for name, value in self.given.items() if name not in change.options}
        if change.starts_anew:
            kept = {}
        added = {name: value for name, value in change.options.items() if value is not None}
        return replace(
            self,
            command=change.command or self.command,
            sources=change.sources or self.sources,
            target=None if change.command not in {None, self.command} else self.target,
            given={**kept, **added},
        )

    @property
    def line(self) -> str:
        """The call as a command for a shell."""
        options = [word for name, value in self.given.items() for word in words_of(name, value)]
        if self.command == "append":
            paths = [self.target or "DATASET", *self.sources]
        elif self.command == "convert":
            paths = [*self.sources, self.target or OUT]
        else:
            paths = list(self.sources)
        return printable(shlex.join(["shardkit", self.command, *paths, *options, *self.beam_options]))

    def keywords(self, change: Change) -> str:
        """Return what a change adds and leaves out, as a user of Python writes it: ``layout='table'``."""
        added = {name: value for name, value in change.options.items() if value is not None}
        left_out = [name for name, value in change.options.items() if value is None and name in self.given]
        parts = [repr(one) for one in change.sources] if change.sources else []
        parts += [arguments(added)] if added else []
        parts += [f"without {name}" for name in left_out]
        return printable(", ".join(parts))
