"""``shardkit verify DATASET``."""

from typing import Any

import click

from shardkit.cli.conversion_options import PASS_THROUGH, refuse_unknown_options

PROBLEMS_SHOWN = 100


@click.command(context_settings=PASS_THROUGH)
@click.argument("dataset")
@click.option("--deep", is_flag=True, help="Also decode every image.")
@click.option("--leaks", is_flag=True, help="Also check that no group and no image is in more than one split.")
@click.option("--workers", type=int, metavar="N", help="Threads of the in-process runner.  [default: all cores]")
@click.option("--quiet", "-q", is_flag=True, help="Print problems only.")
@click.argument("beam_options", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def verify(ctx: click.Context, /, dataset: str, deep: bool, leaks: bool, **given: Any) -> None:  # noqa: FBT001 - click's flag
    """Check every byte of a dataset: framing, CRCs, counts, sha256, indexes, manifest; exit with 1 on any problem.

    Options of Apache Beam follow DATASET and are passed on.
    """
    from shardkit.pipelines.options import runner_config

    refuse_unknown_options(given["beam_options"], dataset)
    runner = runner_config(given["beam_options"], given["workers"])
    from shardkit.cli.terminal import Terminal, escape_controls
    from shardkit.dataset.manifest import dataset_folder, read_manifest
    from shardkit.naming import MANIFEST, counted, printable
    from shardkit.pipelines.verify import verify_dataset
    from shardkit.planning.sizing import format_size
    from shardkit.verification.leaks import leak_problems
    from shardkit.writing.output.work_folder import work_folder

    root = dataset_folder(dataset)
    terminal = Terminal(quiet=given["quiet"])
    with work_folder(runner.temp_location) as work:
        manifest, problems = verify_dataset(root, work, runner, terminal, deep=deep)
    if leaks and manifest is not None:
        problems = leak_problems(read_manifest(dataset), problems) + problems  # first: only PROBLEMS_SHOWN are printed
    where = f"{root.url}/" if manifest is None else ""
    for problem in problems[:PROBLEMS_SHOWN]:
        click.echo(escape_controls(f"{where}{problem}"))
    if len(problems) > PROBLEMS_SHOWN:
        click.echo(f"… and {len(problems) - PROBLEMS_SHOWN} more")
    if manifest is None:
        if leaks:
            click.echo(f"{where}{MANIFEST}: leaks were not checked, because that needs the manifest")
        ctx.exit(1)
    if problems:
        click.echo(f"{printable(root.url)}: {counted(len(problems), 'problem')} found; convert again with --overwrite")
        ctx.exit(1)
    splits = manifest.splits.values()
    num_bytes = format_size(sum(split.num_bytes for split in splits))
    num_examples, num_shards = sum(split.num_examples for split in splits), sum(len(split.shards) for split in splits)
    checked = f"{counted(num_examples, 'example')} in {counted(num_shards, 'shard')}"
    depth = "every byte checked" + (", every image decoded" if deep else "")
    depth += ", no group and no image in two splits" if leaks else ""
    terminal.show(f"{printable(root.url)}: sound: {checked}, {num_bytes}; {depth}")
