"""The command ``shardkit info DATASET``: print the contents of a dataset, or its rejected images."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from shardkit.dataset.manifest import Manifest


@click.command()
@click.argument("dataset")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON: the manifest without the lists of shards, the list of --rejected, or the --reading.",
)
@click.option("--rejected", is_flag=True, help="List the rejected images: key, reason and message.")
@click.option("--command", is_flag=True, help="Print the commands that made the dataset, to run them again.")
@click.option("--reading", is_flag=True, help="Print how the source was read, as YAML for `convert --config`.")
def info(dataset: str, as_json: bool, rejected: bool, command: bool, reading: bool) -> None:  # noqa: FBT001 - click's
    """Show the contents of a dataset: splits, classes, counts, bytes, balance, image sizes.

    Of a folder that `convert` has not finished, show the step, finished shards, rejects and the last sign of life, and
    exit with 1.
    """
    from shardkit.cli.terminal import Terminal, echo_json
    from shardkit.dataset.manifest import read_manifest
    from shardkit.errors import ManifestError

    terminal = Terminal()
    with terminal.phase("reading", None):
        try:
            manifest = read_manifest(dataset)
        except ManifestError:
            _show_unfinished(dataset, as_json=as_json)
            raise
    if reading:
        _show_reading(manifest, as_json=as_json)
        return
    if command:
        from shardkit.dataset.made_by import commands_of

        for line in commands_of(manifest):
            click.echo(line)
        return
    if rejected:
        from shardkit.cli.printing.dataset_summary import earlier_rejects_note, rejected_line_of, rejected_rows

        if note := earlier_rejects_note(manifest):
            click.echo(note, err=True)
        if as_json:
            echo_json(rejected_rows(manifest))
            return
        for row in rejected_rows(manifest):
            click.echo(rejected_line_of(row))
        return
    if as_json:
        everything = manifest.model_dump(mode="json")
        for split in everything["splits"].values():
            shards = split.pop("shards")
            split["num_shards"] = len(shards)
            split["num_with_gps"] = sum(shard.get("num_with_gps", 0) for shard in shards)
        echo_json(everything)
        return
    from shardkit.cli.printing.dataset_summary import info_summary

    with terminal.phase("reading", None):  # the indexes
        summary = info_summary(manifest, dataset)
    terminal.show(summary)


def _show_reading(manifest: "Manifest", *, as_json: bool) -> None:
    """Print how a dataset's source was read."""
    from shardkit.cli.terminal import echo_json
    from shardkit.errors import CallError
    from shardkit.sources.readings.text import as_config, from_data

    if manifest.source.reading is None:
        layout = manifest.source.layout
        msg = f"{manifest.root.url}: the dataset does not remember how its source was read, only the layout: {layout}"
        raise CallError(msg)
    if as_json:
        echo_json(manifest.source.reading)
    else:
        click.echo(as_config(from_data(manifest.source.reading, manifest.root.url)), nl=False)


def _show_unfinished(path: str, *, as_json: bool) -> None:
    """Show the state of an unfinished conversion, and exit; do nothing if there is none."""
    from shardkit.cli.terminal import echo_json
    from shardkit.conversion.writing.unfinished import find_unfinished
    from shardkit.storage import open_folder

    state = find_unfinished(open_folder(path))
    if state is None:
        return
    if as_json:
        echo_json({"unfinished": state.as_json()})
    else:
        click.echo("\n".join([f"{path}: a conversion that is not finished", *state.lines()]))
    click.get_current_context().exit(1)
