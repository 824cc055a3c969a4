"""The user's call: SOURCE and the options given, which ready commands repeat."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any

from shardkit.errors import CallError
from shardkit.layouts import layout_of_title
from shardkit.naming import printable
from shardkit.options.definition import OPTIONS, written_options
from shardkit.options.words import words_of
from shardkit.planning.options import ConvertOptions
from shardkit.sources.commands import OUT, Command, with_options
from shardkit.sources.options import SourceOptions

_BY_FIELD = {**OPTIONS, **written_options()}
_NO_OPTIONS = ("inherited", "overruled", "kept_splits", "appended_to", "also")  # nobody gives them
_CLASSES_FILE = "FILE"  # for names that were not read from a file


@dataclass(frozen=True, slots=True)
class UserCall:
    """A call of `convert` or `plan`.

    Attributes:
        source: SOURCE as the user wrote it.
        options: The options that are not the defaults, each with its value: ``(("--split-by", "stratified"),)``.
        of_conversion: Those of them that do not depend on how the source is read.
        also: Further datasets that are converted together with `source`.
        is_explicit: Whether the user chose how the source is read, by `--layout` or `--classes`: then a reading that
            looks wrong is not refused.
        dataset: DATASET of `append`; None for `convert` and `plan`.
        output: OUTPUT of `convert`.
    """

    source: str = "SOURCE"
    options: tuple[tuple[str, ...], ...] = field(default=())
    is_explicit: bool = False
    dataset: str | None = None
    also: tuple[str, ...] = ()
    of_conversion: tuple[tuple[str, ...], ...] = ()
    output: str = OUT

    @classmethod
    def of(
        cls,
        source: str,
        source_options: SourceOptions,
        options: ConvertOptions,
        output: str = OUT,
        run_options: tuple[tuple[str, ...], ...] = (),
    ) -> "UserCall":
        """Return the call with these options.

        Args:
            source: SOURCE as the user wrote it.
            source_options: How the source is read.
            options: Options of the conversion.
            output: OUTPUT as the user wrote it.
            run_options: Further options that the user gave, such as `--overwrite`.
        """
        given = {**_given(options), **_given(source_options)}  # both have group_by
        is_explicit = source_options.layout is not None or options.classes is not None
        given.pop("also", None)
        pairs = tuple(pair for some in given.values() for pair in some)
        names = {*_given(options), "ignore"}
        of_conversion = tuple(pair for name, some in given.items() if name in names for pair in some)
        return cls(
            source,
            (*pairs, *run_options),
            is_explicit,
            also=source_options.also,
            of_conversion=(*of_conversion, *run_options),
            output=output,
        )

    def command(
        self,
        meaning: str,
        changed: Mapping[str, str | None] | None = None,
        *,
        source: str | None = None,
        more: Sequence[str] = (),
        is_written: bool = False,
    ) -> Command:
        """Return the same call with other options, as a ready command.

        Args:
            meaning: What the command takes the source for.
            changed: New values of options, or None to leave the option out.
            source: Another SOURCE.
            more: Further options, as words.
            is_written: Whether this call goes on: then the command has to replace what it writes.
        """
        changed = changed or {}
        kept = [pair for pair in self.options if pair[0] not in changed]
        added: list[tuple[str, ...]] = [(flag, value) for flag, value in changed.items() if value is not None]
        if self.dataset is not None and changed.get("--splits", "") is None:
            added.append(("--splits", "own"))  # without the option the dataset's shares count
        if is_written and self.output != OUT and ("--overwrite",) not in kept:
            added.append(("--overwrite",))
        words = (*(word for pair in (*kept, *added) for word in pair), *more)
        also = () if source else self.also
        return Command(source or self.source, words, meaning, self.dataset, also, self.output)

    @property
    def listing(self) -> str:
        """The command that lists all findings in full; '' for `append`, which `plan` cannot plan."""
        if self.dataset is not None:
            return ""
        words = [word for pair in self.options if pair != ("--overwrite",) for word in pair]
        return printable(shlex.join(["shardkit", "plan", self.source, *self.also, *words, "--json"]))

    @property
    def written(self) -> str:
        """The dataset that the call writes."""
        return self.output if self.dataset is None else self.dataset

    def confirmation(self, layout: str, meaning: str) -> Command:
        """Return the command that reads the source in the same way without asking.

        Args:
            layout: Name of the layout that the source was read as.
            meaning: What the command takes the source for.
        """
        option = layout_of_title(layout)
        return self.command(meaning, {"--classes": _CLASSES_FILE} if option is None else {"--layout": option})


@contextmanager
def completed_commands(call: UserCall) -> Iterator[None]:
    """Add the options of the conversion to the ready commands of a layout's error."""
    try:
        yield
    except CallError as error:
        completed = with_options(error, call.of_conversion)
        if completed is error:
            raise
        raise completed from None


def _given(options: SourceOptions | ConvertOptions) -> dict[str, list[tuple[str, ...]]]:
    """Return the option and value of every field that differs from its default, or overrules a dataset's rule with it.

    There are several for a repeated option.
    """
    given = {}
    inherited, overruled = getattr(options, "inherited", ()), getattr(options, "overruled", ())
    for one in fields(options):
        value = getattr(options, one.name)
        if value != _default(one) and one.name not in inherited and one.name not in _NO_OPTIONS:
            given[one.name] = _pairs(one.name, value)
        elif one.name in overruled:
            given[one.name] = [option_words(one.name, value)]
    return given


def _default(one: "Field[Any]") -> Any:
    return one.default_factory() if one.default_factory is not MISSING else one.default


def option_words(name: str, value: Any) -> tuple[str, ...]:
    """Return an option and its value as words of a command.

    Args:
        name: Name of its field in ConvertOptions or SourceOptions.
        value: The value there.
    """
    return words_of(_BY_FIELD[name].name, value)


def _pairs(name: str, value: Any) -> list[tuple[str, ...]]:
    """Return an option with its value; several for a repeated one."""
    one = _BY_FIELD[name]
    return [(one.flag, str(each)) for each in value] if one.is_repeatable else [words_of(one.name, value)]
