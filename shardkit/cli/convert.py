"""The command ``shardkit convert SOURCE OUTPUT``: convert a source to a dataset, and print its summary."""

import shlex
from typing import Any

import click

from shardkit.cli.options.config_file import config_option
from shardkit.cli.options.conversion import SeveralSourcesCommand, arguments_from, conversion_options, sources_of


@click.command(cls=SeveralSourcesCommand)
@click.argument("source")
@click.argument("output")
@config_option
@conversion_options("convert")
@click.option(
    "--no-wait",
    is_flag=True,
    help="Return when the engine has taken the job; `shardkit info OUTPUT` tells how it goes.",
)
def convert(
    source: str,
    output: str,
    quiet: bool,  # noqa: FBT001 - click's flags
    log_format: str,
    no_wait: bool,  # noqa: FBT001
    **given: Any,
) -> None:
    """Convert labelled images into balanced TFRecord shards with a manifest.

    SOURCE is a folder of class folders (SOURCE/<label>/**/image or SOURCE/<split>/<label>/**/image), a table, a list,
    detection or segmentation data (COCO, Pascal VOC, YOLO, masks and others), packed data (WebDataset, Hugging Face
    Parquet, .zip, .tar, .tar.gz, .7z), TFRecords that others wrote, or a dataset that shardkit wrote; `shardkit help
    layouts` describes all layouts. Several sources before OUTPUT become one dataset; train=PATH test=PATH gives their
    splits. OUTPUT is a new or empty folder. Both may be local, s3:// or gs://. To resume an interrupted conversion, run
    the same command again.

    To use a runner of Apache Beam, add --runner and its options after SOURCE and OUTPUT.
    """
    from shardkit.api.converting import convert, submit
    from shardkit.cli.terminal import Terminal

    terminal = Terminal(quiet=quiet, log_format=log_format)
    with terminal.starting("shardkit.conversion.writing.conversion"):
        sources = sources_of(source, given)
    if no_wait:
        submit(sources, output, **arguments_from(given, source, output), listener=terminal)
        terminal.say(f"`shardkit info {shlex.quote(output)}` tells how it goes")
        return
    outcome = convert(sources, output, **arguments_from(given, source, output), listener=terminal)
    from shardkit.cli.printing.summary import conversion_summary
    from shardkit.software import made_with

    if outcome.unchanged:
        versions = made_with(outcome.manifest.software)
        what = f"{output} already holds the finished conversion of this source; nothing to do"
        terminal.say(f"{what} ({versions})" if versions else what)
    terminal.show(conversion_summary(outcome, output))
