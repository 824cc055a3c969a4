"""The command ``shardkit verify DATASET``: check every byte of a dataset, and print the problems."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from shardkit.cli.options.beam import BeamOptionsCommand
from shardkit.cli.options.conversion import refuse_unknown_options
from shardkit.cli.options.output import log_format_option

if TYPE_CHECKING:
    from shardkit.cli.terminal import Terminal
    from shardkit.dataset.manifest import Manifest
    from shardkit.storage import Folder
    from shardkit.verification.shards import DatasetProblem

PROBLEMS_SHOWN = 100
LEAKS_SHOWN = 50
OTHERS_SHOWN = 10


@click.command(cls=BeamOptionsCommand)
@click.argument("dataset")
@click.option("--deep", is_flag=True, help="Also decode every image.")
@click.option("--leaks", is_flag=True, help="Also check that no group and no image is in more than one split.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@click.option(
    "--workers", type=int, metavar="N", help="Threads in this process, without --runner.  [default: all cores]"
)
@click.option("--quiet", "-q", is_flag=True, help="Print problems only.")
@log_format_option
@click.argument("beam_options", nargs=-1, type=click.UNPROCESSED, metavar="[-- BEAM_OPTIONS]")
@click.pass_context
def verify(ctx: click.Context, /, dataset: str, deep: bool, leaks: bool, as_json: bool, **given: Any) -> None:  # noqa: FBT001 - click's flags
    """Check every byte of a dataset: framing, CRCs, counts, sha256, indexes, manifest; exit with 1 on any problem.

    To use a runner of Apache Beam, add --runner and its options after DATASET.
    """
    from shardkit.api.verifying import verify
    from shardkit.cli.printing.next_steps import old_exports_lines
    from shardkit.cli.terminal import Terminal, echo_json
    from shardkit.dataset.manifest import dataset_folder
    from shardkit.dataset.manifest.pinning import pinned
    from shardkit.verification.folder_contents import unfinished_appends

    terminal = Terminal(quiet=given["quiet"], log_format=given["log_format"], rejected_word="problems")
    if given["beam_options"]:
        refuse_unknown_options(given["beam_options"], dataset)
    how = {name: given[name] for name in ("workers", "beam_options")}
    found = verify(dataset, deep=deep, leaks=leaks, listener=terminal, **how)
    root, digest = dataset_folder(dataset), pinned(dataset)[1]
    manifest, problems, leaked, others = found.manifest, found.problems, found.leaks, found.other_files
    if as_json:
        echo_json(
            _as_json(root, manifest, (*leaked, *problems), others, deep=deep, leaks=leaks and manifest is not None)
        )
    else:
        _print_problems(root, manifest, leaked, problems, deep=deep, leaks=leaks)
        _say_others(root, others, terminal)
        if manifest is not None:
            _say_unfinished(root, unfinished_appends(root), terminal)
        if manifest is not None and digest is None:  # exports of a later state are not old
            for line in old_exports_lines(root, manifest, dataset):
                terminal.say(line)
    if leaked or problems:
        ctx.exit(1)
    if not as_json and manifest is not None:
        from shardkit.cli.printing.lines import Paragraph

        terminal.show(Paragraph(_no_problems(root, manifest, deep=deep, leaks=leaks), "green"))


def _as_json(
    root: "Folder",
    manifest: "Manifest | None",
    problems: "Sequence[DatasetProblem]",
    others: Sequence[str],
    *,
    deep: bool,
    leaks: bool,
) -> dict[str, Any]:
    """Return the JSON of `verify --json`; shardkit/dataset/README.md documents its fields."""
    shards = [] if manifest is None else [shard for _, shard in manifest.shards()]
    return {
        "dataset": root.url,
        "ok": not problems,
        "num_examples": sum(shard.num_examples for shard in shards),
        "num_shards": len(shards),
        "num_bytes": sum(shard.num_bytes for shard in shards),
        "images_decoded": deep and manifest is not None,
        "leaks_checked": leaks,
        "num_problems": len(problems),
        "problems": [{"file": one.file, "record": one.record, "found": one.found} for one in problems],
        "other_files": others,
    }


def _print_problems(
    root: "Folder",
    manifest: "Manifest | None",
    leaked: "Sequence[DatasetProblem]",
    problems: "Sequence[DatasetProblem]",
    *,
    deep: bool,
    leaks: bool,
) -> None:
    from shardkit.cli.terminal import escape_controls
    from shardkit.dataset.manifest.readopting import made_again
    from shardkit.naming import MANIFEST, counted, printable
    from shardkit.options.words import shell_command

    where = f"{root.url}/" if manifest is None else ""
    for some, limit, what in ((leaked, LEAKS_SHOWN, "leaks"), (problems, PROBLEMS_SHOWN, "problems")):
        for problem in some[:limit]:
            click.echo(escape_controls(f"{where}{problem}"))
        if len(some) > limit:
            click.echo(f"… and {len(some) - limit:,} more {what}; --json lists all")
    if manifest is None and leaks:
        click.echo(f"{where}{MANIFEST}: leaks were not checked, because that needs the manifest")
    if manifest is not None and (leaked or problems):
        # Converting again would remove what was appended, and changes nothing of what was adopted.
        if not problems:
            remedy = "a command in `…` makes a dataset without them"
        elif manifest.is_adopted:
            remedy = f"restore the files, or {made_again(root)}"
        elif not manifest.generations:
            remedy = made_again(root)
        else:
            remedy = "restore these files from a copy"
            if deep and manifest.options.get("check") == "header":
                command = shell_command("convert", root.url, "NEW", check="decode")
                remedy += f", or leave out the images that cannot be decoded: `{command}`"
        click.echo(f"{printable(root.url)}: {counted(len(leaked) + len(problems), 'problem')} found; {remedy}")


def _say_others(root: "Folder", others: Sequence[str], terminal: "Terminal") -> None:
    """Name files that do not belong to the dataset; they are no problem, but `convert --overwrite` refuses them."""
    from shardkit.naming import WORK_FOLDER, counted, first_of, printable

    users = [printable(name) for name in others if name != f"{WORK_FOLDER}/"]
    if len(users) < len(others):
        terminal.say(
            f"{root.url}/{WORK_FOLDER}/ is left of a run that did not end properly; "
            "the same conversion again removes it"
        )
    if users:
        terminal.say(
            f"{root.url} holds {counted(len(users), 'name')} that no conversion wrote, and that no reader reads: "
            f"{first_of(users, OTHERS_SHOWN)}"
        )


def _say_unfinished(root: "Folder", folders: Sequence[str], terminal: "Terminal") -> None:
    """Name the folders of appends that are not part of the dataset; they are no problem, because nobody reads them."""
    for folder in folders:
        terminal.say(
            f"{root.url}/{folder}/ is of an append that runs or was interrupted, and is not part of the dataset; to "
            "finish it, run the same `shardkit append` again, and to discard it, remove the folder"
        )


def _no_problems(root: "Folder", manifest: "Manifest", *, deep: bool, leaks: bool) -> str:
    """Return the line about a dataset without problems."""
    from shardkit.conversion.planning.sizing import format_size
    from shardkit.naming import counted, printable

    splits = manifest.splits.values()
    num_examples, num_shards = sum(split.num_examples for split in splits), sum(len(split.shards) for split in splits)
    checked = f"{counted(num_examples, 'example')} in {counted(num_shards, 'shard')}"
    depth = "every byte checked" + (", every image decoded" if deep else "")
    depth += ", no group and no image in two splits" if leaks else ""
    num_bytes = format_size(sum(split.num_bytes for split in splits))
    records = "" if manifest.records_root is None else f"; records in {printable(manifest.records_root)}"
    return f"{printable(root.url)}: no problems: {checked}, {num_bytes}; {depth}{records}"
