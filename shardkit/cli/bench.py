"""The command ``shardkit bench DATASET``: measure how fast this host feeds a trainer, and what would help."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, get_args

import click

from shardkit.__main__ import INTERRUPTED
from shardkit.bench.settings import Dtype
from shardkit.cli.options.output import log_format_option
from shardkit.cli.progress.displays import JSON, is_live

if TYPE_CHECKING:
    from shardkit.cli.terminal import Terminal


@click.command()
@click.argument("dataset")
@click.option("--split", help="Split to read.  [default: train, or the first]")
@click.option(
    "--image-size",
    default="224",
    show_default=True,
    metavar="SIZE",
    help="Of the trainer: 224 or 240x320 (height x width).",
)
@click.option("--batch-size", type=click.IntRange(1), default=64, show_default=True, help="Images of a batch.")
@click.option(
    "--dtype",
    type=click.Choice(get_args(Dtype)),
    default="float32",
    show_default=True,
    help="Type of the trainer's images.",
)
@click.option(
    "--order", type=click.Choice(["full", "block"]), default="full", show_default=True, help="Order of training."
)
@click.option(
    "--target",
    type=click.FloatRange(0, min_open=True),
    metavar="RATE",
    help="Images/s that the accelerators take: print how many hosts feed them.",
)
@click.option(
    "--resize", type=click.IntRange(1), metavar="PIXELS", help="Shorter side to try.  [default: 8/7 of the image size]"
)
@click.option(
    "--sample",
    type=click.IntRange(1),
    default=512,
    show_default=True,
    help="Images, at most, that are converted again to try options.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(1),
    default=30,
    show_default=True,
    help="Time for measuring; starting and converting the sample come on top.",
)
@click.option(
    "--temporary",
    metavar="FOLDER",
    help="Local folder for the sample and copies, removed at the end.  [default: the system's]",
)
@click.option("--no-advice", is_flag=True, help="Measure the dataset as it is; try nothing.")
@click.option("--no-cold", is_flag=True, help="Leave the dataset in the page cache: other programs are reading it.")
@log_format_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def bench(
    dataset: str,
    split: str | None,
    image_size: str,
    batch_size: int,
    dtype: str,
    order: str,
    target: float | None,
    resize: int | None,
    sample: int,
    seconds: float,
    temporary: str | None,
    no_advice: bool,  # noqa: FBT001 - click's flags
    no_cold: bool,  # noqa: FBT001
    log_format: str,
    as_json: bool,  # noqa: FBT001
) -> None:
    """Measure how fast this host feeds a trainer, and what would make it faster.

    Reading, decoding and the whole input function run in a process each, one at a time. Then options of the conversion
    are tried on a sample that is converted again, and arguments of the reader on the dataset. Nothing is trained.
    """
    from shardkit.bench.running import run
    from shardkit.bench.settings import BenchSettings
    from shardkit.cli.terminal import Terminal, echo_json, print_parts
    from shardkit.images.training_size import parse_training_size

    settings = BenchSettings(
        dataset,
        split=split,
        image_size=parse_training_size(image_size, "--image-size"),
        batch_size=batch_size,
        dtype=dtype,  # type: ignore[arg-type] # one of the choices
        order=order,  # type: ignore[arg-type] # one of the choices
        seconds=seconds,
        sample=sample,
        resize=resize,
        target=target,
        with_advice=not no_advice,
        with_cold=not no_cold,
        temporary=temporary,
    )
    terminal = Terminal(log_format=log_format)
    try:
        with _progress(terminal, as_bar=is_live() and log_format != JSON) as show:
            result = run(settings, show)
    except KeyboardInterrupt:
        terminal.say("Interrupted. The dataset is as it was, temporary files are removed.", "warning")
        sys.exit(INTERRUPTED)
    if as_json:
        echo_json(result.as_json())
        return
    from shardkit.cli.printing.bench_result import bench_parts

    print_parts(*bench_parts(result))


@contextlib.contextmanager
def _progress(terminal: "Terminal", *, as_bar: bool) -> Iterator[Callable[[str, float], None]]:
    """Show what is being done: a bar on a terminal, else a message for each step."""
    if not as_bar:
        shown: list[str] = []

        def say(what: str, _share: float) -> None:
            if what and shown[-1:] != [what]:
                shown.append(what)
                terminal.say(what)

        yield say
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<34}"), BarColumn(20), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("reading the index", total=1.0)

        def show(what: str, share: float) -> None:
            progress.update(task, description=what, completed=share)

        yield show
