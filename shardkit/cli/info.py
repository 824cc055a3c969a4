"""The command ``shardkit info DATASET``: print the contents of a dataset, or its rejected images."""

import click


@click.command()
@click.argument("dataset")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON: the manifest without the lists of shards, or the list of --rejected.",
)
@click.option("--rejected", is_flag=True, help="List the rejected images: key, reason and message.")
@click.option("--command", is_flag=True, help="Print the commands that made the dataset, to run them again.")
def info(dataset: str, as_json: bool, rejected: bool, command: bool) -> None:  # noqa: FBT001 - click's flags
    """Show the contents of a dataset: splits, classes, counts, bytes, balance, image sizes."""
    from shardkit.cli.terminal import Terminal, echo_json
    from shardkit.dataset.manifest import read_manifest

    terminal = Terminal()
    with terminal.phase("reading", None):
        manifest = read_manifest(dataset)
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
