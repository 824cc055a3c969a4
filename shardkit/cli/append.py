"""The command ``shardkit append DATASET SOURCE``: append new images to a dataset, and print a summary."""

from typing import Any

import click

from shardkit.cli.options.conversion import SeveralSourcesCommand, arguments_from, conversion_options, sources_of


@click.command(cls=SeveralSourcesCommand)
@click.argument("dataset")
@click.argument("source")
@conversion_options("append")
def append(dataset: str, source: str, quiet: bool, log_format: str, **given: Any) -> None:  # noqa: FBT001 - click's flag
    """Append the images of SOURCE to DATASET, as a generation in a folder of its own.

    No file of DATASET changes except its manifest, which is replaced in one step: readers see the old dataset or the
    new one. Old examples keep their split and their label; new classes come after the old ones. The options of DATASET
    are those of the new images too: how they are stored, checked and split. Those that may not differ are refused, with
    the command that gives them to DATASET. SOURCE is everything that `convert` reads, and several of
    these. To resume an interrupted append, run the same command again.

    A trainer that reads "DATASET@sha256:<digest>" goes on with the dataset as it was; `shardkit info` prints the
    digests.

    To use a runner of Apache Beam, add --runner and its options after DATASET and SOURCE.
    """
    from shardkit.api.appending import append
    from shardkit.cli.terminal import Terminal

    terminal = Terminal(quiet=quiet, log_format=log_format)
    with terminal.starting("shardkit.conversion.writing.conversion"):
        sources = sources_of(source, given)
    outcome = append(dataset, sources, **arguments_from(given, dataset, source), listener=terminal)
    from shardkit.cli.printing.summary import append_summary, nothing_new_line

    if outcome.unchanged and outcome.left_out:
        terminal.say(nothing_new_line(outcome, dataset, source))
    elif outcome.unchanged:
        where = "its first conversion" if outcome.folder is None else outcome.folder
        terminal.say(f"{dataset} already has the images of {source}: {where}; nothing to do")
    terminal.show(append_summary(outcome, dataset))
