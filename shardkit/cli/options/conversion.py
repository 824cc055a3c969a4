"""The options of `convert`, `plan`, `append` and `report SOURCE`, made from their definitions in `shardkit.options`.

The help of these commands prints the options under several headings, and only the common ones unless all are asked for.
SOURCE may be several paths (`shardkit convert A B NEW`), and a dataset, for which some options have no effect.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from shardkit.cli.options.beam import BeamOptionsCommand
from shardkit.cli.options.output import log_format_option
from shardkit.conversion.arguments import grouped
from shardkit.errors import CallError
from shardkit.options.definition import HEADINGS, OPTIONS, Option
from shardkit.options.forms import Choice, ClassNames, Number, Side
from shardkit.options.words import rewritten

if TYPE_CHECKING:
    from shardkit.options.forms import ClassesOfFile

NAME_COLUMNS = 28  # minimum width of the first column: click aligns each section separately
ALL_OPTIONS = "--help-all"
_OF_RUN = "Run"
_SHOWS_ALL = "shardkit.shows_all"  # key in click's `meta`
ALSO = "also"  # the parameter with the further paths
Command = TypeVar("Command", bound=Callable[..., Any])
CommandName = Literal["convert", "plan", "append"]
_MAX_CLASSES_BYTES = 16 << 20  # 16 MiB
_QUIET = click.option("--quiet", "-q", is_flag=True, help="Print errors only.")
_BEAM = click.argument("beam_options", nargs=-1, type=click.UNPROCESSED, metavar="[-- BEAM_OPTIONS]")


class GroupedCommand(BeamOptionsCommand):
    """A command whose help has a section for each heading of the options, and which shows all with `--help-all`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(
            click.Option(
                [ALL_OPTIONS],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_print_all,
                help="Show this message with all options.",
            )
        )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections; options that are none of a conversion, such as --help, are under the last one."""
        shows_all = ctx.meta.get(_SHOWS_ALL, False)
        sections: dict[str, list[tuple[str, str]]] = {heading: [] for heading in HEADINGS}
        num_left_out = 0
        for param in self.get_params(ctx):
            line = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if line is None:
                continue
            defined = OPTIONS.get(param.name or "")
            if defined is not None and not shows_all and not self._is_common(defined):
                num_left_out += 1
                continue
            heading = (defined and defined.heading) or _OF_RUN
            sections[heading].append((f"{line[0]:<{NAME_COLUMNS}}", line[1]))
        for heading, lines in sections.items():
            if lines:
                with formatter.section(heading):
                    formatter.write_dl(lines)
        if num_left_out:
            formatter.write_paragraph()
            formatter.write_text(f"{num_left_out} more options: shardkit {self.name} {ALL_OPTIONS}")

    def _is_common(self, defined: Option[Any, Any]) -> bool:
        """Return whether the short help shows an option; `append` refuses other values of a dataset's fixed rules."""
        return defined.is_common and not (self.name == "append" and defined.rule == "fixed")


def _print_all(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's signature
    del param
    if value and not ctx.resilient_parsing:
        ctx.meta[_SHOWS_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


class SeveralSourcesCommand(GroupedCommand):
    """A command whose SOURCE may be several paths, if all of them exist and are no images."""

    def take_paths(self, ctx: click.Context, extra: tuple[str, ...]) -> tuple[str, ...]:
        """Take further paths of SOURCE from the arguments; the last path is OUTPUT, if the command has one.

        Args:
            ctx: The call, whose parameters are changed.
            extra: The arguments: paths, and with a runner options of Beam.

        Returns:
            The other arguments; all of them if SOURCE cannot be several paths.
        """
        more = tuple(takewhile(lambda arg: not arg.startswith("-"), extra))
        last = ("output",) if "output" in ctx.params else ()
        paths = [ctx.params["source"], *(ctx.params[name] for name in last), *more]
        sources = paths[: len(paths) - len(last)]
        if not more or not _may_be_sources(sources):
            return extra
        ctx.params |= {"source": sources[0], ALSO: tuple(sources[1:]), **dict.fromkeys(last, paths[-1])}
        return extra[len(more) :]


def sources_of(source: str, given: dict[str, Any]) -> str | list[str]:
    """Return SOURCE for the functions of `shardkit`, and remove the further paths from the other parameters."""
    also = given.pop(ALSO, ())
    return [source, *also] if also else source


def _may_be_sources(paths: Sequence[str]) -> bool:
    """Return whether all paths exist and are not all images, whose folder would be the source."""
    from shardkit.sources.given_files import files_refusal
    from shardkit.sources.recognising.several_sources import named_source
    from shardkit.storage import open_folder

    if not all(paths) or files_refusal(paths):
        return False
    return all(open_folder(named_source(path).url).stat("") is not None for path in paths)


def refuse_conversion_options(ctx: click.Context, dataset: str, own: Collection[str], subject: str) -> None:
    """Refuse options that were given and that a dataset has no use for.

    Args:
        ctx: The call.
        dataset: The dataset as the user wrote it.
        own: Names of the parameters that have an effect.
        subject: What the others have no effect on: ``the plan that it was made with``.
    """
    for param in _given(ctx, own):
        raise CallError(
            f"{dataset} is a dataset, and {param.opts[0]} has no effect on {subject}; `shardkit convert {dataset} NEW` "
            "converts it with other options"
        )


def has_conversion_options(ctx: click.Context, own: Collection[str]) -> bool:
    """Return whether an option was given that is not among the call's own."""
    return any(True for _ in _given(ctx, own))


def _given(ctx: click.Context, own: Collection[str]) -> Iterator[click.Parameter]:
    for param in ctx.command.params:
        name = param.name or ""
        if name not in own and ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            yield param


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
