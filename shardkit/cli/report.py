"""The command ``shardkit report``: one HTML page about a dataset, or about a source before its conversion."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shardkit.cli.options.conversion import (
    GroupedCommand,
    arguments_from,
    conversion_options,
    refuse_conversion_options,
)
from shardkit.cli.options.output import OutputFile

if TYPE_CHECKING:
    from shardkit.cli.terminal import Terminal
    from shardkit.report.collection import Collection
    from shardkit.report.facts.gathering import ReportOptions
    from shardkit.report.page.html import Page

_OWN = {"source", "output", "fixes", "training_size", "hosts", "source_folder", "quiet", "log_format", "beam_options"}


@click.command(cls=GroupedCommand)
@click.argument("source", metavar="DATASET|SOURCE")
@click.option(
    "--output",
    "-o",
    type=OutputFile(),
    default=Path("report.html"),
    show_default=True,
    help="File of the page.",
)
@click.option(
    "--fixes",
    type=OutputFile(),
    metavar="FILE",
    help="Write all copies with different labels as a CSV table, to correct and give to convert --labels.",
)
@click.option(
    "--training-size",
    default="224",
    show_default=True,
    metavar="SIZE",
    help="Size of the images in training, in pixels: 224, or HEIGHTxWIDTH.",
)
@click.option(
    "--hosts", type=click.IntRange(1), metavar="N", help="Hosts that will read.  [default: --input-pipelines]"
)
@click.option(
    "--source-folder", metavar="FOLDER", help="Folder that DATASET was made from, for pictures of rejected files."
)
@conversion_options("plan")
@click.pass_context
def report(
    ctx: click.Context,
    /,
    source: str,
    output: Path,
    fixes: Path | None,
    training_size: str,
    hosts: int | None,
    source_folder: str | None,
    quiet: bool,  # noqa: FBT001 - click's flag
    log_format: str,
    **given: Any,
) -> None:
    """Write one HTML page about a dataset, or about a source before its conversion: pictures, charts, warnings.

    The page needs no network and has less than 5 MB. The options of a conversion are for SOURCE only.
    """
    from shardkit.cli.terminal import Terminal
    from shardkit.extras import require_extra

    require_extra("report", "a report")
    from shardkit.dataset.manifest import find_dataset
    from shardkit.errors import CallError
    from shardkit.images.training_size import parse_training_size
    from shardkit.report.facts.gathering import ReportOptions
    from shardkit.report.page.html import make_page
    from shardkit.report.page.template import save_page

    terminal = Terminal(quiet=quiet, log_format=log_format)
    options = ReportOptions(*parse_training_size(training_size, "--training-size"), hosts)
    manifest = find_dataset(source) if source else None
    if manifest is None:
        if source_folder is not None:
            raise CallError(f"--source-folder is for a dataset, and {source} is none: its own files are read")
        if fixes is not None:
            msg = f"--fixes is for a dataset, and {source} is none: convert it, and correct the labels of the dataset"
            raise CallError(msg)
        page = _page_of_source(source, given, output, options, terminal)
    else:
        refuse_conversion_options(ctx, source, _OWN, "its report")
        from shardkit.records.rejected_pictures import open_source_folder
        from shardkit.report.dataset_collection import DatasetCollection
        from shardkit.report.fixes import refuse_without_classes

        collection = DatasetCollection(manifest, open_source_folder(source_folder))
        if fixes is not None:
            refuse_without_classes(collection)
        page = make_page(collection, options, terminal)
    save_page(page.html, output)
    _say(output, page, terminal)
    if fixes is not None:
        _write_fixes(collection, page, fixes, terminal)


def _page_of_source(
    source: str, given: dict[str, Any], output: Path, options: "ReportOptions", terminal: "Terminal"
) -> "Page":
    from shardkit.extras import require_extra

    require_extra("convert", "a report about a source")
    from shardkit.api.advice import answering
    from shardkit.api.converting import planning
    from shardkit.api.executors import make_executor
    from shardkit.conversion.arguments import read_arguments
    from shardkit.conversion.option_values import option_values, source_location
    from shardkit.conversion.writing.source_plan import planned_source
    from shardkit.options.call import Call
    from shardkit.report.page.html import make_page
    from shardkit.report.source_collection import SourceCollection

    arguments = arguments_from(given, source)
    url = source_location(source)
    values = read_arguments("plan", arguments)
    source_options, convert_options = option_values(values, url)
    executor = make_executor(arguments.get("beam_options", ()), values.get("workers"), terminal.say, SOURCE=url)
    call = Call("plan", (source,), None, values)
    with (
        answering(Call("report", (source,), None, values, ("-o", str(output))), planning(call)),
        planned_source(url, source_options, convert_options, executor, terminal, call) as (opened, plan),
    ):
        return make_page(SourceCollection(opened, plan, call), options, terminal)


def _say(output: Path, page: "Page", terminal: "Terminal") -> None:
    from shardkit.conversion.planning.sizing import format_size
    from shardkit.naming import counted

    size, advice = format_size(len(page.html.encode("utf-8", "backslashreplace"))), page.advice
    terminal.show(f"{output}: {size}, {counted(len(advice), 'warning')}{':' if advice else ''}")
    terminal.show(*(f"  {one.level}: {one.sentence}" for one in advice))


def _write_fixes(collection: "Collection", page: "Page", fixes: Path, terminal: "Terminal") -> None:
    from shardkit.naming import counted
    from shardkit.options.words import shell_command
    from shardkit.report.fixes import write_fixes
    from shardkit.report.page.copies_sections import not_searched

    num_images, num_sets = write_fixes(collection, page.facts, fixes)
    if page.facts.counted.near_conflicts is None:
        terminal.say(f"{fixes}: {not_searched(page.facts)}")
    text = f"{fixes}: {counted(num_images, 'image')} in {counted(num_sets, 'set')} of copies with different labels"
    if not num_images:
        terminal.show(text)
        return
    command = shell_command("convert", page.facts.place, "NEW", labels=str(fixes))
    terminal.show(f"{text}; correct the column label, then run", f"  {command}")
