"""The option ``--log-format`` of every long command."""

import click

from shardkit.cli.progress.json_log import LOG_FORMATS

log_format_option = click.option(
    "--log-format",
    type=click.Choice(LOG_FORMATS),
    default=LOG_FORMATS[0],
    show_default=True,
    help="Format of messages and progress on standard error; json: one object per line.",
)
