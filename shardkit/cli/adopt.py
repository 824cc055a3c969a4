"""The command ``shardkit adopt FILES…``: give TFRecords that others wrote a manifest and indexes."""

from pathlib import Path
from typing import Any

import click

from shardkit.cli.options.beam import SEPARATOR, unknown_option
from shardkit.cli.options.conversion import click_option, read_classes, refuse_unknown_options
from shardkit.cli.options.output import log_format_option
from shardkit.errors import CallError
from shardkit.options.groups import OPTIONS

_RUNNER = "--runner"


class _AdoptCommand(click.Command):
    """A command with any number of files, after which options of Apache Beam may follow."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        starts = [at for at, arg in enumerate(args) if arg in {SEPARATOR, _RUNNER} or arg.startswith(f"{_RUNNER}=")]
        at = starts[0] if starts else len(args)
        ctx.obj = tuple(args[at + (args[at : at + 1] == [SEPARATOR]) :])
        try:
            return super().parse_args(ctx, args[:at])
        except click.NoSuchOption as error:
            raise unknown_option(error.option_name, self) from None


@click.command(cls=_AdoptCommand, options_metavar="[OPTIONS] [-- BEAM_OPTIONS]")
@click.argument("files", nargs=-1, required=True)
@click.option("--into", metavar="DATASET", help="Folder for the manifest and the indexes.  [default: that of FILES]")
@click.option(
    "--split-files",
    multiple=True,
    metavar="NAME[=PATTERN]",
    help="Split of the files whose paths fit the pattern, or of all; repeat it.  [default: from names of files]",
)
@click.option(
    "--classes",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File of class names, one a line.  [default: TFDS's, the records' own, or numbers]",
)
@click_option(OPTIONS["image_feature"])
@click_option(OPTIONS["label_feature"])
@click_option(OPTIONS["label_type"])
@click.option("--unlabelled", is_flag=True, help="The records have no labels.")
@click.option("--key-feature", metavar="NAME", help="Feature whose texts are the keys.")
@click.option("--name", help="Name of the dataset.  [default: that of its folder]")
@click.option("--overwrite", is_flag=True, help="Replace the manifest and the indexes of an earlier adoption.")
@click_option(OPTIONS["workers"])
@click.option("--quiet", "-q", is_flag=True, help="Print errors only.")
@log_format_option
@click.pass_context
def adopt(ctx: click.Context, /, files: tuple[str, ...], quiet: bool, log_format: str, **given: Any) -> None:  # noqa: FBT001 - click's flags
    """Give uncompressed TFRecords a manifest and indexes, so that verify, info and the whole reader work on them.

    FILES are TFRecord files of tf.train.Example, or their folders; local, s3:// or gs://. They are read once and never
    changed. The manifest and the folder "indexes" are written into the folder that they have in common, or into a
    local folder DATASET that points to them by relative paths. `shardkit help dataset` says what is
    detected.

    To use a runner of Apache Beam, add --runner and its options at the end.
    """
    from shardkit.api.adopting import adopt
    from shardkit.cli.printing.next_steps import next_steps
    from shardkit.cli.printing.splits_table import rows_of, splits_table
    from shardkit.cli.terminal import Terminal
    from shardkit.naming import MANIFEST, printable

    if ctx.obj:
        refuse_unknown_options(ctx.obj, *files)
    terminal = Terminal(quiet=quiet, log_format=log_format)
    classes = None if given["classes"] is None else read_classes(given["classes"])
    patterns = _split_patterns(given.pop("split_files"))
    options = {name: value for name, value in given.items() if value is not None}
    how = {"classes": classes, "split_files": patterns, "beam_options": ctx.obj, "listener": terminal}
    arguments = {**options, **how}
    manifest = adopt(files, **arguments)
    output = given["into"] or manifest.root.url
    head = f"{printable(manifest.root.url)}/{MANIFEST} describes the records; no TFRecord was changed"
    terminal.show("", splits_table(rows_of(manifest), "bytes"), "", head, *next_steps(manifest, output))


def _split_patterns(given: tuple[str, ...]) -> dict[str, str]:
    """Return the pattern of each split."""
    patterns: dict[str, str] = {}
    for one in given:
        name, _, pattern = one.partition("=")
        if name in patterns:
            raise CallError(f"--split-files {name} is given twice; use one pattern, such as {name}=part-[0-3]*")
        patterns[name] = pattern or "*"
    return patterns
