"""The command ``shardkit diff A B``: compare two datasets example by example."""

import click

from shardkit.cli.options.log_format import log_format_option


@click.command()
@click.argument("a")
@click.argument("b")
@click.option("--keys", type=click.IntRange(min=0), default=5, show_default=True, help="Keys of each kind to list.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing: the exit code is the answer.")
@log_format_option
@click.pass_context
def diff(ctx: click.Context, /, a: str, b: str, keys: int, as_json: bool, quiet: bool, log_format: str) -> None:  # noqa: FBT001 - click's flags
    """Compare two datasets by the keys of their examples; exit with 0 if they are equal, with 1 if they differ.

    Shows examples that only one has, and those with another split, label, stored image or other annotations (boxes,
    masks, columns, group); and other classes, features and splits. Not compared: options, source files, shards.
    """
    from shardkit.cli.printing.diff import diff_parts
    from shardkit.cli.terminal import Terminal, echo_json
    from shardkit.comparison import diff_datasets
    from shardkit.dataset.manifest import read_manifest

    before, after = read_manifest(a), read_manifest(b)
    terminal = Terminal(quiet=quiet, log_format=log_format)
    num_examples = [sum(split.num_examples for split in one.splits.values()) for one in (before, after)]
    with terminal.phase("comparing", max(num_examples), unit="examples") as show:
        found = diff_datasets(before, after, num_keys=keys, show=show)
    if as_json and not quiet:
        echo_json(found.as_json())
    elif not quiet:
        terminal.show(*diff_parts(found))
    if not found.equal:
        ctx.exit(1)
