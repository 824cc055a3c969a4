"""The command ``shardkit show DATASET KEY``: print one example, and draw its picture."""

from pathlib import Path

import click

from shardkit.cli.options.output import OutputFile

_PICTURE_SIDE = 1600  # pixels


@click.command()
@click.argument("dataset")
@click.argument("key")
@click.option("--split", help="Split of the example.  [default: all are searched]")
@click.option(
    "--output",
    "-o",
    type=OutputFile(),
    help="Write its picture, with boxes and mask, to this file (.png, .jpg).",
)
def show(dataset: str, key: str, split: str | None, output: Path | None) -> None:
    """Show one example: its features, the place of its record, and its picture."""
    from shardkit.cli.terminal import Terminal
    from shardkit.records.drawing import save_picture
    from shardkit.records.html import described
    from shardkit.records.selection import find_example

    terminal = Terminal()
    with terminal.phase("reading", None):  # all indexes, to find the key
        example, found_in = find_example(dataset, key, split)
    location = example.location
    rows = [
        ("key", example.key),
        ("split", found_in),
        ("shard", f"{location.shard}, record {location.record}, bytes {location.offset:,} to {location.end:,}"),
        ("classes", ", ".join(dict.fromkeys(example.label_names)) or "none"),
        *((name, described(value)) for name, value in example.items() if name != "key"),
    ]
    from shardkit.cli.printing.lines import feature_rows

    terminal.show(feature_rows(rows))
    if output is not None:
        save_picture(example.drawn(_PICTURE_SIDE), output)
