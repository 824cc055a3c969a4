"""Commands with the options of a conversion.

Their help prints the options under several headings, and only the common ones unless all are asked for. SOURCE may be
several paths (`shardkit convert A B NEW`), and a dataset, for which some options have no effect.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import takewhile
from typing import Any

import click

from shardkit.cli.options.beam import BeamOptionsCommand
from shardkit.errors import CallError
from shardkit.options.definition import HEADINGS, OPTIONS, Option

NAME_COLUMNS = 28  # minimum width of the first column: click aligns each section separately
ALL_OPTIONS = "--help-all"
_OF_RUN = "Run"
_SHOWS_ALL = "shardkit.shows_all"  # key in click's `meta`


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
            heading = _OF_RUN if defined is None else defined.heading
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


ALSO = "also"  # the parameter with the further paths


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
