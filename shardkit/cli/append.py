"""The command ``shardkit append DATASET SOURCE``: append new images to a dataset, and print a summary."""

from typing import Any

import click

from shardkit.cli.options.conversion import arguments_from, options_named, rules_named
from shardkit.cli.options.groups import GroupedCommand
from shardkit.cli.options.log_format import log_format_option
from shardkit.option_values import RULE_ARGUMENTS


@click.command(cls=GroupedCommand)
@click.argument("dataset")
@click.argument("source")
@options_named(
    "layout",
    "root",
    "path_prefix",
    "image_column",
    "label_columns",
    "label_separator",
    "label_type",
    "image_feature",
    "label_feature",
    "keep_truncated",
    "label_pattern",
    "class_level",
    "unlabelled",
    "ignore",
    "readmit",
    "splits_of",
    "split_column",
    "max_rejected",
    "workers",
)
@rules_named(*RULE_ARGUMENTS)
@click.option(
    "--splits", metavar="SHARES", help="Shares of the new images, or own for SOURCE's own splits.  [default: DATASET's]"
)
@click.option("--group-by", metavar="COLUMN|REGEX", help="Keep groups in one split.  [default: DATASET's]")
@click.option("--shards", metavar="N", help="New shards of every split, or train=64,validation=8.  [default: by size]")
@click.option("--shard-size", metavar="SIZE", help="Target size of a shard.  [default: DATASET's]")
@click.option("--input-pipelines", type=int, metavar="N", help="Input pipelines that will read.  [default: DATASET's]")
@click.option(
    "--max-file-size", metavar="SIZE", help="Reject larger image files before they are read.  [default: DATASET's]"
)
@click.option("--skip-existing", is_flag=True, help="Leave out images that DATASET has, instead of refusing them.")
@click.option("--overwrite", is_flag=True, help="Discard an append of another source that was not finished.")
@click.option("--quiet", "-q", is_flag=True, help="Print errors only.")
@log_format_option
@click.argument("beam_options", nargs=-1, type=click.UNPROCESSED, metavar="[-- BEAM_OPTIONS]")
def append(dataset: str, source: str, quiet: bool, log_format: str, **given: Any) -> None:  # noqa: FBT001 - click's flag
    """Append the images of SOURCE to DATASET, as a generation in a folder of its own.

    No file of DATASET changes except its manifest, which is replaced in one step: readers see the old dataset or the
    new one. Old examples keep their split and their label; new classes come after the old ones. The options of DATASET
    are those of the new images too: how they are stored, checked and split. Those that may not differ are refused, with
    the command that gives them to DATASET. SOURCE is everything that `convert` reads. To resume an
    interrupted append, run the same command again.

    A trainer that reads "DATASET@sha256:<digest>" goes on with the dataset as it was; `shardkit info` prints the
    digests.

    To use a runner of Apache Beam, add --runner and its options after DATASET and SOURCE.
    """
    from shardkit.appending import append
    from shardkit.cli.terminal import Terminal

    terminal = Terminal(quiet=quiet, log_format=log_format)
    outcome = append(dataset, source, **arguments_from(given, dataset, source), listener=terminal)
    from shardkit.cli.printing.append_summary import append_summary, nothing_new_line

    if outcome.unchanged and outcome.left_out:
        terminal.say(nothing_new_line(outcome, dataset, source))
    elif outcome.unchanged:
        where = "its first conversion" if outcome.folder is None else outcome.folder
        terminal.say(f"{dataset} already has the images of {source}: {where}; nothing to do")
    terminal.show(append_summary(outcome, dataset))
