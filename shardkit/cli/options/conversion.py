"""The options of `convert`, `plan`, `append` and `report SOURCE`, made from their definitions in `shardkit.options`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from shardkit.cli.options.output import log_format_option
from shardkit.conversion.arguments import grouped
from shardkit.errors import CallError
from shardkit.options.definition import OPTIONS, Option
from shardkit.options.forms import Choice, ClassNames, Number, Side
from shardkit.options.words import rewritten

if TYPE_CHECKING:
    from shardkit.options.forms import ClassesOfFile

Command = TypeVar("Command", bound=Callable[..., Any])
CommandName = Literal["convert", "plan", "append"]

_MAX_CLASSES_BYTES = 16 << 20  # 16 MiB
_QUIET = click.option("--quiet", "-q", is_flag=True, help="Print errors only.")
_BEAM = click.argument("beam_options", nargs=-1, type=click.UNPROCESSED, metavar="[-- BEAM_OPTIONS]")


class _WholeNumber(click.types.IntParamType):
    """A whole number, or the word that overrules the rule of a dataset."""

    def __init__(self, form: Number) -> None:
        self._form = form

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value == self._form.none else super().convert(value, param, ctx)


class _Word(click.Choice[str]):
    """One of the words of a form, which also knows other names for them and suggests the closest."""

    def __init__(self, form: Choice) -> None:
        super().__init__(form.choices)
        self._form = form

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return self._form.read((param.name if param else None) or "", value)


def conversion_options(command: CommandName) -> Callable[[Command], Command]:
    """Return a decorator that adds all options of a command, and the argument for Beam's own options.

    Args:
        command: The command that has the options: another command may take those of `plan`.
    """
    names = [name for name, one in OPTIONS.items() if command in one.commands]
    made = [click_option(OPTIONS[name], of_dataset=command == "append") for name in names]

    def decorate(function: Command) -> Command:
        for add in reversed([*made, _QUIET, log_format_option, _BEAM]):
            function = add(function)
        return function

    return decorate


def click_option(defined: Option[Any, Any], *, of_dataset: bool = False) -> Callable[[Command], Command]:
    """Return the click option of a definition; with `of_dataset`, its default is the rule of a dataset (`append`)."""
    return click.option(
        f"{defined.flag}/{defined.off_flag}" if defined.off_flag else defined.flag,
        *defined.other_flags,
        defined.name,
        help=_help(defined, of_dataset=of_dataset and defined.rule is not None),
        **_kind(defined),
    )


def _kind(defined: Option[Any, Any]) -> dict[str, Any]:
    """Return what click needs to parse the values."""
    if defined.is_switch:
        return {"is_flag": True, "default": None}
    form, settings = defined.form, {"metavar": defined.metavar, "multiple": defined.is_repeatable}
    if isinstance(form, ClassNames):
        return {**settings, "type": click.Path(dir_okay=False, exists=True, path_type=Path)}
    if isinstance(form, Choice):
        return {**settings, "type": _Word(form)}
    if isinstance(form, Number) and not isinstance(form, Side):  # which says what two numbers are for
        return {**settings, "type": _WholeNumber(form)}
    return settings


def _help(defined: Option[Any, Any], *, of_dataset: bool) -> str:
    if of_dataset and defined.rule == "fixed":
        return "DATASET's; another value is refused."
    text = rewritten(defined.help, "command")
    default = "DATASET's" if of_dataset else defined.shown_default
    begins_with_value = text.partition(":")[0] in getattr(defined.form, "choices", ())
    sentence = text if begins_with_value else f"{text[0].upper()}{text[1:]}"
    return f"{sentence}." + (f"  [default: {default}]" if default else "")


def arguments_from(given: dict[str, Any], *paths: str) -> dict[str, Any]:
    """Return the keyword arguments for the functions of `shardkit`: options that were given, in their groups."""
    if given["beam_options"]:
        refuse_unknown_options(given["beam_options"], *paths)
    values = {name: value for name, value in given.items() if value not in (None, ())}
    if "classes" in values:
        values["classes"] = read_classes(values["classes"])
    return grouped(values)


def refuse_unknown_options(beam_options: tuple[str, ...], *paths: str) -> None:
    """Refuse options that neither the current command nor Beam has."""
    for path in paths:
        if path.startswith("-"):
            raise CallError(f"no such option: {path}; with --runner, write Beam's own options after the paths")
    from shardkit.beam.options import refuse_unknown

    own_options = [name for option in click.get_current_context().command.params for name in option.opts]
    refuse_unknown(beam_options, own_options)


def read_classes(path: Path) -> "ClassesOfFile":
    """Return the lines of the file given by ``--classes``."""
    from shardkit.options.forms import ClassesOfFile
    from shardkit.storage import read_text_file

    lines = read_text_file(f"--classes {path}", str(path), _MAX_CLASSES_BYTES).splitlines()
    names = [line.strip() for line in lines]
    while names and not names[-1]:
        names.pop()
    if "" in names:  # a table's integers are positions in the list
        raise CallError(f"--classes {path}: line {names.index('') + 1} is empty; every line is the name of a class")
    return ClassesOfFile.of(names, str(path))
