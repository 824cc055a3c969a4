"""Print the options of a command under several headings, and only the common ones unless all are asked for."""

from typing import Any

import click

from shardkit.cli.options.beam import BeamOptionsCommand
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
