"""``shardkit plan SOURCE``."""

from typing import Any

import click

from shardkit.cli.conversion_options import (
    PASS_THROUGH,
    conversion_options,
    options_from,
    runner_from,
    source_options_from,
)
from shardkit.cli.option_groups import GroupedCommand


@click.command(cls=GroupedCommand, context_settings=PASS_THROUGH)
@click.argument("source")
@conversion_options
def plan(source: str, **given: Any) -> None:
    """Show what `convert` would write with the same options, and why so many shards; writes nothing."""
    options = options_from(given)
    runner = runner_from(given, source)
    from shardkit.cli.summary import plan_summary
    from shardkit.cli.terminal import Terminal
    from shardkit.cli.work_folder import work_folder
    from shardkit.pipelines.convert import take_inventory
    from shardkit.planning.plan import make_plan
    from shardkit.sources import open_source
    from shardkit.writing.reject_limit import RejectLimit
    from shardkit.writing.run_token import claimed

    terminal = Terminal(quiet=given["quiet"])
    limit = RejectLimit.parse(given["max_rejected"])
    with work_folder(runner.temp_location) as work:
        opened = open_source(source, source_options_from(given), work=work)
        terminal.say(opened.describe())
        with claimed(work) as run:
            inventory, facts = take_inventory(opened, work, run.token, options, runner, terminal)
    planned = make_plan(
        inventory,
        options,
        layout=opened.layout,
        skipped=facts.skipped,
        classes=opened.classes or facts.class_names(),
    )
    for note in planned.notes:
        terminal.say(f"note: {note}")
    terminal.show(plan_summary(planned, limit))
