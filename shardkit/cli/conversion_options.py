"""The options that `convert` and `plan` share: what is converted, and how."""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import click

from shardkit.errors import CallError
from shardkit.naming import LAYOUTS

Command = TypeVar("Command", bound=Callable[..., Any])

# Beam's options stand behind SOURCE and OUTPUT and are passed on as they are.
PASS_THROUGH = {"ignore_unknown_options": True}


def conversion_options(command: Command) -> Command:
    """Add the options from which `options_from` makes a ConvertOptions, and Beam's own."""
    for option in reversed(
        [
            click.option(
                "--layout",
                type=click.Choice(list(LAYOUTS)),
                help="How SOURCE is laid out.  [default: found out]",
            ),
            click.option(
                "--label-pattern",
                metavar="REGEX",
                help="Label in a file's name: the first group, or the one named label.",
            ),
            click.option(
                "--root", metavar="FOLDER", help="Where relative paths of a table, COCO file or data.yaml begin."
            ),
            click.option("--image-column", metavar="NAME", help="Of a table.  [default: image, path, file_name …]"),
            click.option(
                "--label-column",
                "label_columns",
                multiple=True,
                metavar="NAME",
                help="Of a table; several for several labels.  [default: label, class …]",
            ),
            click.option("--label-separator", metavar="TEXT", help="Between several labels in one column."),
            click.option(
                "--label-type",
                type=click.Choice(["auto", "class", "number"]),
                default="auto",
                show_default=True,
                help="Whether labels are classes, or numbers to regress on.",
            ),
            click.option("--split-column", metavar="NAME", help="Of a table.  [default: split, if there is one]"),
            click.option(
                "--group-by",
                metavar="COLUMN|REGEX",
                help="What stays in one split: a table's column, or the first group of a regex over keys.",
            ),
            click.option(
                "--dedupe",
                type=click.Choice(["group", "drop", "ignore"]),
                default="group",
                show_default=True,
                help="Exact duplicates: kept in one split, left out but the first, or taken as they come.",
            ),
            click.option("--splits", metavar="SHARES", help="Shares such as train=0.8,validation=0.1,test=0.1."),
            click.option(
                "--split-by",
                type=click.Choice(["hash", "stratified"]),
                default="hash",
                show_default=True,
                help="hash: an image keeps its split as data grows. stratified: exact within every class.",
            ),
            click.option(
                "--shards", metavar="N", help="Shards of every split, or train=64,validation=8.  [default: by size]"
            ),
            click.option("--shard-size", default="128MiB", show_default=True, metavar="SIZE", help="Size aimed at."),
            click.option(
                "--input-pipelines",
                type=int,
                default=1,
                show_default=True,
                metavar="N",
                help="Input pipelines that will read; numbers of shards become a multiple of it.",
            ),
            click.option("--seed", type=int, default=0, show_default=True, help="Another seed deals anew."),
            click.option(
                "--classes",
                type=click.Path(dir_okay=False, exists=True, path_type=Path),
                metavar="FILE",
                help="Label names, one a line, in label order.  [default: sorted]",
            ),
            click.option(
                "--resize", type=int, metavar="N", help="Reduce the shorter side to N pixels; never enlarges."
            ),
            click.option(
                "--quality",
                type=int,
                default=95,
                show_default=True,
                help="Of JPEGs that have to be encoded anew: 1 to 100; above 95 files grow for hardly any gain.",
            ),
            click.option(
                "--check",
                type=click.Choice(["decode", "header"]),
                default="decode",
                show_default=True,
                help="decode: read and decode every image before planning. header: open none before writing.",
            ),
            click.option("--name", default="dataset", show_default=True, help="The dataset's name."),
            click.option(
                "--max-rejected",
                default="5%",
                show_default=True,
                metavar="LIMIT",
                help="Bad images put up with: a count or a share.",
            ),
            click.option(
                "--workers", type=int, metavar="N", help="Threads of the in-process runner.  [default: all cores]"
            ),
            click.option("--quiet", "-q", is_flag=True, help="Print errors only."),
            click.argument("beam_options", nargs=-1, type=click.UNPROCESSED),
        ]
    ):
        command = option(command)
    return command


def source_options_from(given: dict[str, Any]) -> Any:
    """The SourceOptions of a call."""
    from shardkit.sources import SourceOptions

    names = [field.name for field in fields(SourceOptions)]
    return SourceOptions(**{name: given[name] for name in names})


def options_from(given: dict[str, Any]) -> Any:
    """The ConvertOptions of a call.

    Raises:
        CallError: a value cannot be read.
    """
    from shardkit.naming import check_split_name
    from shardkit.planning.options import ConvertOptions
    from shardkit.planning.sizing import parse_shards, parse_size
    from shardkit.planning.splitting import parse_ratios

    splits = None if given["splits"] is None else _renamed(parse_ratios(given["splits"]), check_split_name, "--splits")
    shards = None if given["shards"] is None else parse_shards(given["shards"])
    if isinstance(shards, dict):
        shards = _renamed(shards, check_split_name, "--shards")
    return ConvertOptions(
        name=given["name"],
        splits=splits,
        split_by=given["split_by"],
        shards=shards,
        shard_bytes=parse_size(given["shard_size"]),
        pipelines=given["input_pipelines"],
        seed=given["seed"],
        classes=None if given["classes"] is None else _classes(given["classes"]),
        resize=given["resize"],
        quality=given["quality"],
        check=given["check"],
        group_by=given["group_by"],
        dedupe=given["dedupe"],
    )


def runner_from(given: dict[str, Any], *paths: str) -> Any:
    """How the call's pipelines run.

    Raises:
        CallError: an option that neither shardkit nor Beam knows, or one of Beam's before SOURCE.
    """
    for path in paths:
        if not path:  # a variable that the shell did not know: not the working directory
            msg = "SOURCE and OUTPUT may not be empty; for this folder write ."
            raise CallError(msg)
        if path.startswith("-"):
            msg = f"no such option: {path}; Beam's own options stand behind SOURCE and OUTPUT"
            raise CallError(msg)
    from shardkit.pipelines.options import RunnerConfig, default_workers, refuse_unknown

    own_options = [name for option in click.get_current_context().command.params for name in option.opts]
    refuse_unknown(given["beam_options"], own_options)
    return RunnerConfig(given["beam_options"], default_workers() if given["workers"] is None else given["workers"])


def _renamed(values: dict[str, Any], rename: Callable[[str], str], option: str) -> dict[str, Any]:
    renamed = {rename(name): value for name, value in values.items()}
    if len(renamed) < len(values):
        msg = f"{option} names one split twice: {', '.join(values)} become {', '.join(renamed)}"
        raise CallError(msg)
    return renamed


def _classes(path: Path) -> tuple[str, ...]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        msg = f"--classes {path}: the file is not UTF-8 (byte {error.start}); save it as UTF-8"
        raise CallError(msg) from None
    return tuple(line.strip() for line in lines if line.strip())
