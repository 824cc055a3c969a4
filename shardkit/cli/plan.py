"""The command ``shardkit plan SOURCE``: print what a conversion would write, and write nothing."""

from typing import TYPE_CHECKING, Any

import click

from shardkit.cli.options.config_file import config_option
from shardkit.cli.options.conversion import (
    SeveralSourcesCommand,
    arguments_from,
    conversion_options,
    has_conversion_options,
    sources_of,
)

if TYPE_CHECKING:
    from shardkit.cli.terminal import Terminal
    from shardkit.dataset.manifest import Manifest

_OWN = frozenset({"source", "explain", "write_config", "as_json", "quiet", "log_format", "beam_options"})


@click.command(cls=SeveralSourcesCommand)
@click.argument("source")
@click.option(
    "--explain",
    is_flag=True,
    help="Also print why the layout and the number of shards were chosen; in a question, images of each class.",
)
@click.option(
    "--write-config",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Also write how SOURCE is read, and the other options given, to a file for `convert --config FILE`.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@config_option
@conversion_options("plan")
@click.pass_context
def plan(
    ctx: click.Context,
    /,
    source: str,
    max_rejected: str | None,
    explain: bool,  # noqa: FBT001 - click's flags
    write_config: str | None,
    as_json: bool,  # noqa: FBT001
    quiet: bool,  # noqa: FBT001
    log_format: str,
    **given: Any,
) -> None:
    """Show what `convert` would write with the same options; write nothing.

    If SOURCE is a dataset that shardkit wrote, show how its conversion was planned; with options, plan another one.
    """
    from shardkit.api.converting import plan
    from shardkit.cli.terminal import Terminal, echo_json

    terminal = Terminal(quiet=quiet, log_format=log_format)
    with terminal.starting("shardkit.conversion.writing.source_plan"):
        from shardkit.dataset.manifest import find_dataset

        sources = sources_of(source, given)
        manifest = find_dataset(source) if isinstance(sources, str) and source else None
    # No conversion planned an adopted dataset, and with options another conversion is planned.
    if manifest is not None and not (manifest.is_adopted or has_conversion_options(ctx, _OWN)):
        _show_dataset(manifest, terminal, explain=explain, as_json=as_json)
        return
    from shardkit.extras import require_extra

    require_extra("convert", "planning")
    from shardkit.conversion.writing.reject_limit import DEFAULT_MAX_REJECTED, RejectLimit

    limit = RejectLimit.parse(max_rejected or DEFAULT_MAX_REJECTED)
    arguments = arguments_from(given, source)
    planned = plan(sources, **arguments, explain=explain, listener=terminal)
    if write_config is not None:
        from shardkit.cli.options.config_file import write_config as write
        from shardkit.conversion.arguments import read_arguments

        write(write_config, planned.source, read_arguments("plan", arguments))
    from shardkit.cli.printing.dataset_plan import plan_json
    from shardkit.cli.printing.summary import exceeds, plan_summary

    if as_json:
        echo_json(plan_json(planned, would_stop=exceeds(planned, limit)))
        return
    terminal.show(plan_summary(planned, limit, explain=explain))


def _show_dataset(manifest: "Manifest", terminal: "Terminal", *, explain: bool, as_json: bool) -> None:
    """Show how a dataset was planned."""
    from shardkit.cli.printing.dataset_plan import dataset_plan_json, dataset_plan_summary
    from shardkit.cli.terminal import echo_json

    if as_json:
        echo_json(dataset_plan_json(manifest))
    else:
        terminal.show(dataset_plan_summary(manifest, explain=explain))
