"""The options of `convert` and `plan`: the arguments of the functions in `shardkit.api`."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from shardkit import api
from shardkit.cli.options.log_format import log_format_option
from shardkit.errors import CallError
from shardkit.option_values import CHOICES

if TYPE_CHECKING:
    from shardkit.planning.options import ClassesOfFile

Command = TypeVar("Command", bound=Callable[..., Any])

_BY_NAME: dict[str, Callable[..., Any]] = {}
_DEFAULTS = {name: argument.default for name, argument in inspect.signature(api.convert).parameters.items()}


class _Side(click.types.IntParamType):
    """The length of one side in pixels."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from shardkit.images.stored.options import parse_side

        del ctx
        return parse_side("" if param is None else param.opts[0], value)


def _option(flag: str, help_text: str, **settings: Any) -> Callable[[Command], Command]:
    """Return a click option with the default and the choices of the argument of the same name."""
    name = settings.pop("name", flag.removeprefix("--").replace("-", "_"))
    if name in CHOICES:
        settings["type"] = click.Choice(CHOICES[name])
    default = _DEFAULTS[name]
    if default is not None and not settings.get("multiple"):
        settings |= {"default": default, "show_default": True}
    option = click.option(flag, name, help=help_text, **settings)
    _BY_NAME[name] = option
    return option


max_rejected_option = _option("--max-rejected", "Maximum number or share of rejected images.", metavar="LIMIT")

_OPTIONS = (
    _option("--layout", "Layout of SOURCE.  [default: detected]"),
    _option("--root", "Folder that relative paths in a table, list or label file start from.", metavar="FOLDER"),
    _option(
        "--path-prefix",
        "Replace the beginning of a table's paths, such as 'C:\\data=/home/me/data'; repeatable.",
        multiple=True,
        metavar="OLD=NEW",
    ),
    _option("--image-column", "Column of a table.  [default: image, path, file_name …]", metavar="NAME"),
    _option(
        "--label-column",
        "Column, field or kind of the labels; repeat it for multiple labels.  [default: label, class …]",
        name="label_columns",
        multiple=True,
        metavar="NAME",
    ),
    _option("--label-separator", "Separator of multiple labels in one column.", metavar="TEXT"),
    _option("--label-type", "Whether labels are classes, or numbers for regression."),
    _option("--image-feature", "Feature of TFRecords with the image.  [default: found]", metavar="NAME"),
    _option("--label-feature", "Feature of TFRecords with the labels.  [default: found]", metavar="NAME"),
    _option(
        "--keep-truncated",
        "Convert the first records of a TFRecord file that cannot be read to its end, instead of stopping.",
        is_flag=True,
    ),
    _option(
        "--label-pattern",
        "Label in the file name: its first group, or its groups label, split and group.",
        metavar="REGEX",
    ),
    _option(
        "--class-level",
        "Level of the class folders in SOURCE or its split folders: 2 for <patient>/<label>/image.",
        type=click.IntRange(min=1),
        metavar="N",
    ),
    _option("--unlabelled", "Convert images without labels, from any tree of folders.", is_flag=True),
    _option(
        "--ignore",
        "Leave out files and folders, as in .gitignore: test1/ or '*.webp'; repeat it for more.",
        multiple=True,
        metavar="GLOB",
    ),
    _option(
        "--where",
        "Keep only the examples of a dataset that meet a condition: \"label_name != 'blurred' and height >= 64\".",
        metavar="CONDITION",
    ),
    _option("--drop", "File of keys, one per line: leave these examples of a dataset out.", metavar="FILE"),
    _option("--labels", "CSV file with the columns key and label: correct the labels of a dataset.", metavar="FILE"),
    _option("--key-prefix", "With several datasets: put the name of its folder before each key.", is_flag=True),
    _option(
        "--classes",
        "File of label names, one per line, in label order.  "
        "[default: the source's order, or sorted (integers by value)]",
        type=click.Path(dir_okay=False, exists=True, path_type=Path),
        metavar="FILE",
    ),
    _option(
        "--splits",
        "Shares: train=0.8,test=0.2, or 80/10/10 for train, validation and test, or 80/20 for train and validation.",
        metavar="SHARES",
    ),
    _option("--splits-of", "Divide only this split of SOURCE by --splits; its other splits stay.", metavar="SPLIT"),
    _option(
        "--split-by",
        "hash: an image keeps its split as data grows. stratified: every class gets its share, within one image "
        "(a few with several labels).",
    ),
    _option("--split-column", "Column of a table.  [default: split, if it exists]", metavar="NAME"),
    _option(
        "--group-by",
        "Keep groups in one split: a table's column, or the first group of a regex on keys.",
        metavar="COLUMN|REGEX",
    ),
    _option("--dedupe", "Exact duplicates: group keeps them in one split, drop keeps the first, ignore keeps all."),
    _option("--seed", "Seed for splits and for the assignment to shards.", type=int),
    _option("--shards", "Shards of every split, or train=64,validation=8.  [default: by size]", metavar="N"),
    _option("--shard-size", "Target size of a shard.", metavar="SIZE"),
    _option(
        "--input-pipelines",
        "Input pipelines that will read; the number of shards is a multiple of it.",
        type=int,
        metavar="N",
    ),
    _option("--check", "decode: read and decode every image before planning. header: open no image before writing."),
    _option("--resize", "Reduce the shorter side to N pixels; never enlarge.", type=_Side(), metavar="N"),
    _option("--max-side", "Reduce the longer side to N pixels; never enlarge.", type=_Side(), metavar="N"),
    _option("--size", "Give every image this size in pixels, such as 256x320; see --fit.", metavar="HEIGHTxWIDTH"),
    _option("--fit", "With --size: crop cuts off what is beyond the edges; pad adds a black border."),
    _option(
        "--mask-padding",
        "Class number of the border that --fit pad adds to masks, such as 255 for 'no class'.",
        type=int,
        metavar="N",
    ),
    _option("--quality", "Quality of JPEGs whose pixels change, 1 to 100; above 95 only size grows.", type=int),
    _option("--jpeg", "baseline: re-encode progressive JPEGs with their own tables. keep: leave them."),
    _option("--subsampling", "Re-encode JPEGs that have more chroma samples than this, with their own tables."),
    _option("--strip-metadata", "Remove EXIF with GPS positions, comments and thumbnails.", is_flag=True),
    _option("--name", "Name of the dataset."),
    _option("--workers", "Threads in this process, without --runner.  [default: all cores]", type=int, metavar="N"),
    click.option("--quiet", "-q", is_flag=True, help="Print errors only."),
    log_format_option,
    click.argument("beam_options", nargs=-1, type=click.UNPROCESSED, metavar="[-- BEAM_OPTIONS]"),
)


def conversion_options(command: Command) -> Command:
    """Add the options that `convert` and `plan` share, and the argument for Beam's own options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def options_named(*names: str) -> Callable[[Command], Command]:
    """Return a decorator that adds some of the options of `convert`, in this order.

    Args:
        names: Names of the parameters, such as ``label_columns``.
    """

    def decorate(command: Command) -> Command:
        for name in reversed(names):
            command = _BY_NAME[name](command)
        return command

    return decorate


def arguments_from(given: dict[str, Any], *paths: str) -> dict[str, Any]:
    """Return the keyword arguments for the functions in `shardkit.api`.

    Args:
        given: The options as click read them.
        paths: SOURCE and OUTPUT.

    Raises:
        CallError: An option is unknown to shardkit and to Beam, precedes SOURCE, or its file cannot be read.
    """
    if given["beam_options"]:
        refuse_unknown_options(given["beam_options"], *paths)
    classes = given.get("classes")  # `append` has no such option
    return given if classes is None else {**given, "classes": read_classes(classes)}


def refuse_unknown_options(beam_options: tuple[str, ...], *paths: str) -> None:
    """Refuse options that neither the current command nor Beam has.

    Args:
        beam_options: The options that are passed on to Beam.
        paths: The command's paths.

    Raises:
        CallError: An option is unknown, or is in the place of a path.
    """
    for path in paths:
        if path.startswith("-"):
            msg = f"no such option: {path}; with --runner, write Beam's own options after the paths"
            raise CallError(msg)
    from shardkit.pipelines.options import refuse_unknown

    own_options = [name for option in click.get_current_context().command.params for name in option.opts]
    refuse_unknown(beam_options, own_options)


def read_classes(path: Path) -> "ClassesOfFile":
    """Return the lines of the file given by ``--classes``.

    Raises:
        CallError: It is not UTF-8, or a line is empty.
    """
    from shardkit.planning.options import ClassesOfFile

    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        msg = f"--classes {path}: the file is not UTF-8 (byte {error.start}); save it as UTF-8"
        raise CallError(msg) from None
    names = [line.strip() for line in lines]
    while names and not names[-1]:
        names.pop()
    if "" in names:  # a table's integers are positions in the list
        msg = f"--classes {path}: line {names.index('') + 1} is empty; every line is the name of a class"
        raise CallError(msg)
    return ClassesOfFile.of(names, str(path))
