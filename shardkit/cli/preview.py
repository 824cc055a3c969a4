"""The command ``shardkit preview DATASET``: draw a contact sheet of examples."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shardkit.cli.options.output import OutputFile, log_format_option

if TYPE_CHECKING:
    from shardkit.records.contact_sheet import Tile


@click.command()
@click.argument("dataset")
@click.option("--split", help="Split to look at.  [default: the first]")
@click.option("--label", help="Only examples of this class.")
@click.option("--where", help='Only examples for which a condition holds, such as "height < 100".')
@click.option("-n", "num_examples", type=click.IntRange(1, 400), default=36, show_default=True, help="Pictures.")
@click.option(
    "--output",
    "-o",
    type=OutputFile(),
    default=Path("preview.png"),
    show_default=True,
    help="File of the contact sheet (.png, .jpg).",
)
@log_format_option
def preview(
    dataset: str,
    split: str | None,
    label: str | None,
    where: str | None,
    num_examples: int,
    output: Path,
    log_format: str,
) -> None:
    """Draw a contact sheet: pictures with their classes and keys, boxes and masks drawn in.

    The examples are a random choice, always the same ones.
    """
    from shardkit.cli.terminal import Terminal, escape_controls
    from shardkit.records.contact_sheet import contact_sheet, tile_of
    from shardkit.records.drawing import save_picture
    from shardkit.records.selection import open_chosen

    chosen, num_all = open_chosen(dataset, split, num_examples, label=label, where=where)
    conditions = "".join(f", {text}" for text in (label, where) if text)
    heading = f"{chosen.split}{conditions}: {len(chosen):,} of {num_all:,} examples"
    with Terminal(log_format=log_format).phase("drawing", len(chosen)) as show:

        def tiles() -> "Iterator[Tile]":
            for number, example in enumerate(chosen, 1):
                yield tile_of(example)
                show(number)

        save_picture(contact_sheet(tiles(), heading), output)
    click.echo(escape_controls(f"{output}: {heading}"))
