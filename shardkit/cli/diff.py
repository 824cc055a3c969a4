"""The command ``shardkit diff A B``: compare two datasets example by example."""

from pathlib import Path

import click

from shardkit.cli.options.output import OutputFile, log_format_option


@click.command()
@click.argument("a")
@click.argument("b")
@click.option("--keys", type=click.IntRange(min=0), default=5, show_default=True, help="Keys of each kind to list.")
@click.option("--page", type=OutputFile(), metavar="FILE", help="Write an HTML page with pictures, side by side.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing: the exit code is the answer.")
@log_format_option
@click.pass_context
def diff(
    ctx: click.Context,
    /,
    a: str,
    b: str,
    keys: int,
    page: Path | None,
    as_json: bool,  # noqa: FBT001 - click's flag
    quiet: bool,  # noqa: FBT001 - click's flag
    log_format: str,
) -> None:
    """Compare two datasets by the keys of their examples; exit with 0 if they are equal, with 1 if they differ.

    Shows examples that only one has, and those with another split, label, stored image or other annotations (boxes,
    masks, columns, group); and other classes, features and splits. Not compared: options, source files, shards.
    """
    from shardkit.cli.printing.diff import diff_parts
    from shardkit.cli.terminal import Terminal, echo_json
    from shardkit.comparison import diff_datasets
    from shardkit.dataset.manifest import read_manifest

    num_keys = keys
    if page is not None:
        from shardkit.extras import require_extra

        require_extra("report", "a page")
        from shardkit.report.dataset_collection import DatasetCollection
        from shardkit.report.page.diff_page import EXAMPLES_SHOWN, make_diff_page
        from shardkit.report.page.template import save_page

        num_keys = max(keys, EXAMPLES_SHOWN)
    before, after = read_manifest(a), read_manifest(b)
    terminal = Terminal(quiet=quiet, log_format=log_format)
    num_examples = [sum(split.num_examples for split in one.splits.values()) for one in (before, after)]
    with terminal.phase("comparing", max(num_examples), unit="examples") as show:
        found = diff_datasets(before, after, num_keys=num_keys, show=show)
    if page is not None:
        with terminal.phase("drawing", None):
            html = make_diff_page(found.with_keys(EXAMPLES_SHOWN), DatasetCollection(before), DatasetCollection(after))
        save_page(html, page)
    found = found.with_keys(keys)
    if as_json and not quiet:
        echo_json(found.as_json())
    elif not quiet:
        terminal.show(*diff_parts(found))
    if not found.equal:
        ctx.exit(1)
