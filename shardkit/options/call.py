"""The user's call as values: which paths and options were given. What is printed for the user is made from it."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from shardkit.layouts import LAYOUTS
from shardkit.naming import printable
from shardkit.options.values import OWN_SPLITS
from shardkit.options.words import arguments, defined, group_of, is_command_line, words_of

Command = Literal["convert", "plan", "append", "adopt", "report"]
# Options that say how SOURCE is read, as a whole reading does.
_OF_A_READING = frozenset(
    {
        *("label", "split", "group", "boxes", "mask", "features", "images", "match", "root", "ignore", "layout"),
        *("class_level", "label_columns", "label_pattern", "label_separator", "label_type", "uncertain", "unlabelled"),
        *("image_column", "path_prefix", "split_column", "without_annotation"),
    }
)
OUT = "OUT"  # stands for OUTPUT where the user has not named one


@dataclass(frozen=True, slots=True)
class Change:
    """Another call that would do: the user's, with some options changed.

    Attributes:
        meaning: What the changed call does: ``each folder is a class``.
        options: New value of each option by name; None leaves the option out.
        sources: Other sources in place of the user's; () keeps them.
        inside: Path of a folder in the user's SOURCE that takes its place; '' for none.
        command: Another command in place of the user's; None keeps it.
        starts_anew: Whether the user's other options are left out.
        is_further: Whether it comes after those that what was found suggests.
        is_whole: Whether what it leaves out is hardly meant to be read, such as copies.
    """

    meaning: str
    options: Mapping[str, Any] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    inside: str = ""
    command: Command | None = None
    starts_anew: bool = False
    is_further: bool = False
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a command, or of the Python function of the same name.

    Attributes:
        command: Its name.
        sources: SOURCE, or several, as the user wrote them.
        target: OUTPUT of `convert` or DATASET of `append`; None if there is none or the user gave none.
        given: The values of the options that the user gave, as they were read, by name.
        beam_options: Options of Beam and of the command alone, as words.
    """

    command: Command
    sources: tuple[str, ...]
    target: str | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    beam_options: tuple[str, ...] = ()

    def changed(self, change: Change) -> "Call":
        """Return the same call with other options; see `Change`.

        Options of the user that another layout does not read are left out with it, and those that a reading says.
        """
        layout = change.options.get("layout")
        said = _OF_A_READING if "reading" in change.options else frozenset[str]()
        kept = {
            name: value
            for name, value in ({} if change.starts_anew else self.given).items()
            if name not in change.options and name not in said and (layout is None or reads(layout, name))
        }
        added = {name: value for name, value in change.options.items() if value is not None}
        command = change.command or self.command
        into_dataset = (self.command, command) == ("convert", "append")
        if into_dataset:  # the dataset passes its rules on
            kept = {name: value for name, value in kept.items() if _is_of_append(name)}
        if command == "append" and change.options.get("splits", "") is None:
            added["splits"] = OWN_SPLITS  # without the option the dataset's shares count
        return replace(
            self,
            command=command,
            sources=self._sources_of(change) or self.sources,
            target=self.target if into_dataset or command == self.command else None,
            given={**kept, **added},
        )

    def _sources_of(self, change: Change) -> tuple[str, ...]:
        """Return the sources of a change; () if they are the user's."""
        if change.inside:
            return (f"{self.sources[0].rstrip('/')}/{change.inside}",)
        first = tuple(one.rstrip("/") for one in self.sources[:1])
        return () if tuple(one.rstrip("/") for one in change.sources) == first else change.sources

    @property
    def written(self) -> str:
        """The dataset that the call writes; OUT if the user has not named it."""
        return self.target or OUT

    @property
    def line(self) -> str:
        """The call as a command for a shell."""
        return printable(shlex.join(self.words))

    @property
    def words(self) -> list[str]:
        """The words of the command, the program first."""
        options = [word for name, value in self.given.items() for word in words_of(name, value)]
        if self.command == "append":
            paths = [self.target or "DATASET", *self.sources]
        elif self.command == "convert":
            paths = [*self.sources, self.target or OUT]
        else:
            paths = list(self.sources)
        return ["shardkit", self.command, *paths, *options, *self.beam_options]

    def with_paths(self, sources: tuple[str, ...], target: str) -> str:
        """Return the call with other paths as the user writes it, in Python without its options."""
        if is_command_line():
            return replace(self, sources=sources, target=target).line
        given = repr(sources[0]) if len(sources) == 1 else repr([*sources])
        paths = [repr(target), given] if self.command == "append" else [given, repr(target)]
        return f"{self.command}({', '.join(paths)})"

    def keywords(self, change: Change) -> str:
        """Return what a change adds and leaves out, as a user of Python writes it: ``layout='table'``.

        A group is written with all of its options, because it takes the place of the one that the user gave.
        """
        after = self.changed(change).given
        groups = {group_of(name) for name in change.options} - {None}
        added = {name: value for name, value in after.items() if name in change.options or group_of(name) in groups}
        written = {group_of(name) for name in added} - {None}
        dropped = [name for name in {**self.given, **change.options} if name not in after]
        left_out = [name for name in dropped if group_of(name) not in written]
        is_other = change.command not in {None, self.command}
        sources = self.changed(change).sources if is_other else self._sources_of(change)
        parts = [repr(sources[0]) if len(sources) == 1 else repr([*sources])] if sources else []
        parts += [repr(OUT)] if is_other and change.command == "convert" else []
        if is_other and change.command == "append":
            parts.insert(0, repr(self.written))
        parts += [arguments(added)] if added else []
        parts += [f"without {name}" for name in left_out]
        return printable(", ".join(parts))


def _is_of_append(option: str) -> bool:
    found = defined(option)
    return found is not None and found.json_name is None and "append" in found.commands


def reads(layout: str, option: str) -> bool:
    """Return whether a layout reads an option, or leaves it to the conversion."""
    of_layouts = {name for one in LAYOUTS.values() for name in one.options}
    return option not in of_layouts or option in LAYOUTS[layout].options  # type: ignore[index]
