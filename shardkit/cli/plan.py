"""``shardkit plan SOURCE``."""

from typing import Any

import click

from shardkit.cli.conversion_options import arguments_from, conversion_options, max_rejected_option
from shardkit.cli.option_groups import GroupedCommand


@click.command(cls=GroupedCommand)
@click.argument("source")
@max_rejected_option
@conversion_options
def plan(source: str, max_rejected: str, quiet: bool, **given: Any) -> None:  # noqa: FBT001 - click's flag
    """Show what `convert` would write with the same options, and the reasons; write nothing."""
    from shardkit.api import plan
    from shardkit.cli.terminal import Terminal

    arguments = arguments_from(given, source)
    from shardkit.cli.summary import plan_summary
    from shardkit.writing.reject_limit import RejectLimit

    limit = RejectLimit.parse(max_rejected)
    terminal = Terminal(quiet=quiet)
    terminal.show(plan_summary(plan(source, **arguments, listener=terminal), limit))
