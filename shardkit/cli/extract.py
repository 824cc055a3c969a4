"""The command ``shardkit extract DATASET FOLDER``: write a dataset back to a folder of images and a table."""

import contextlib

import click

from shardkit.cli.options.output import log_format_option


@click.command()
@click.argument("dataset")
@click.argument("folder")
@click.option("--split", "splits", multiple=True, help="Split to extract; repeat it for several.  [default: all]")
@click.option("--where", help="Only examples for which a condition holds, such as \"label_name = 'cat'\".")
@log_format_option
def extract(dataset: str, folder: str, splits: tuple[str, ...], where: str | None, log_format: str) -> None:
    """Write a dataset back to a folder: images as stored, byte for byte, and a table of everything else.

    FOLDER is new: <split>/<class>/<image> if every image has one class, else <split>/images/<image>; with
    examples.jsonl, which has the key, the split and every feature of each image, and classes.txt. The command that
    converts FOLDER to the same dataset again is printed at the end.
    """
    from shardkit.cli.terminal import Terminal, escape_controls
    from shardkit.dataset.manifest import read_manifest
    from shardkit.naming import counted, printable
    from shardkit.records import extraction

    manifest = read_manifest(dataset)
    total = None if where else sum(manifest.split(name).num_examples for name in splits or manifest.splits)
    terminal, num_images = Terminal(log_format=log_format), 0
    # Closed by Ctrl-C as well: it removes what is not finished.
    running = contextlib.closing(extraction.extract(dataset, folder, splits, where))
    with terminal.phase("extracting", total) as show, running as paths:
        for _ in paths:
            num_images += 1
            show(num_images)
    lines = [f"{folder}: {counted(num_images, 'image')}"]
    if renamed := extraction.renamed_classes(manifest):
        verb = "has a folder with another name" if len(renamed) == 1 else "have folders with other names"
        example = f"such as {extraction.safe_name(renamed[0])} for {printable(renamed[0])!r}"
        lines.append(f"{counted(len(renamed), 'class')} {verb}, {example}; examples.jsonl has the names of the dataset")
    if num_images:  # a source without images is refused
        lines += ["", "To convert it again:", f"  {extraction.command_to_convert(folder)}"]
    click.echo(escape_controls("\n".join(lines)))
