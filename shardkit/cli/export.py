"""The command ``shardkit export DATASET --to TARGET``: write what other tools read."""

import shlex
from typing import Any

import click

# As exporting.TARGETS, which loads pyarrow; a test compares them.
TARGETS = ("croissant", "dali-index", "dataset-card")
COPIES = ("parquet", "webdataset")  # of all examples
SHOWN = 5


@click.command()
@click.argument("dataset")
@click.option(
    "--to", "target", type=click.Choice([*TARGETS, *COPIES]), required=True, help="The files to write, see above."
)
@click.option(
    "--output",
    "-o",
    metavar="FOLDER",
    help="Folder to write into; parquet and webdataset: a new one.  [default: DATASET]",
)
@click.option("--title", metavar="TEXT", help="croissant, dataset-card: name of the dataset for people.")
@click.option("--description", metavar="TEXT", help="croissant, dataset-card: what the dataset is.")
@click.option(
    "--license",
    metavar="ID|URL",
    help="croissant, dataset-card: an SPDX identifier such as cc-by-4.0, or the license's URL.",
)
@click.option("--url", metavar="URL", help="croissant: web page of the dataset.")
@click.option("--creator", metavar="NAME", help="croissant: organisation that made it.")
@click.option("--date-published", metavar="YYYY-MM-DD", help="croissant: day of its publication.")
@click.option("--cite-as", metavar="TEXT", help="croissant: how to cite it, such as a BibTeX entry.")
@click.option("--quiet", "-q", is_flag=True, help="Print errors only.")
def export(dataset: str, target: str, output: str | None, quiet: bool, **facts: str | None) -> None:  # noqa: FBT001 - click's flags
    """Write what other tools read: metadata files from the manifest and the indexes, or a copy of all examples.

    \b
    croissant     croissant.json: MLCommons' description of the files and examples
    dali-index    SHARD.idx for each shard, for fn.readers.tfrecord of NVIDIA DALI
    dataset-card  README.md with the header of the Hugging Face Hub
    parquet       data/SPLIT-*.parquet with images and columns, for Hugging Face datasets
    webdataset    SPLIT-*.tar of images, class numbers and JSON

    The same call for metadata again changes nothing. A file that was not written by an export, or was changed since, is
    never replaced.
    """  # noqa: D301 - click's mark is the character, not a backslash
    if target in COPIES:
        _copy(dataset, target, output, quiet=quiet, facts=facts)
        return
    from shardkit.cli.terminal import Terminal
    from shardkit.dataset.manifest import read_manifest
    from shardkit.dataset.manifest.pinning import pinned
    from shardkit.errors import CallError
    from shardkit.exporting import Facts, export_dataset
    from shardkit.exporting.croissant import missing_facts
    from shardkit.naming import counted, first_of, printable
    from shardkit.storage import open_folder

    manifest, given = read_manifest(dataset), Facts(**facts)
    folder, digest = pinned(dataset)
    if digest is not None and read_manifest(folder).digest != digest:
        raise CallError(
            f"{dataset}: an export describes a dataset with everything that was appended; to export it as it was, "
            f"first write that to a folder of its own: shardkit convert {shlex.quote(dataset)} NEW"
        )
    terminal = Terminal(quiet=quiet)
    with terminal.phase("exporting", None):
        done = export_dataset(manifest, target, manifest.root if output is None else open_folder(output), given)
    if quiet:
        return
    paths: tuple[Any, ...] = done.written or done.unchanged
    names = first_of([*map(printable, paths)], SHOWN)
    said = f"wrote {counted(len(paths), 'file')}" if done.written else "nothing to do, up to date"
    terminal.show(f"{printable(done.folder)}: {said}: {names}")
    if target == "croissant" and (missing := missing_facts(given)):
        terminal.say(f"Croissant also requires facts that the manifest does not hold: {', '.join(missing)}")


def _copy(dataset: str, target: str, output: str | None, *, quiet: bool, facts: dict[str, str | None]) -> None:
    """Write all examples in the form of another tool."""
    import contextlib

    from shardkit.cli.terminal import Terminal
    from shardkit.dataset.manifest import read_manifest
    from shardkit.errors import CallError
    from shardkit.naming import counted
    from shardkit.records.copies import copy_examples

    if given := next((name for name, value in facts.items() if value is not None), None):
        raise CallError(f"--{given.replace('_', '-')} has no effect on --to {target}; leave it out")
    if output is None:
        raise CallError(f"--to {target} writes all examples again; give a new folder with -o FOLDER")
    num_examples = sum(split.num_examples for split in read_manifest(dataset).splits.values())
    terminal = Terminal(quiet=quiet)
    # Closed by Ctrl-C as well: it removes what is not finished.
    running = contextlib.closing(copy_examples(dataset, target, output))
    with terminal.phase("exporting", num_examples) as show, running as counts:
        for count in counts:
            show(count)
    if not quiet:
        terminal.show(f"{output}: {counted(num_examples, 'example')}")
