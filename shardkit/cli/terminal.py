"""Show messages and progress: a live bar on a terminal, otherwise a plain line every 30 seconds."""

import contextlib
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from shardkit.naming import printable

if TYPE_CHECKING:
    from shardkit.writing.progress import Show

PLAIN_SECONDS = 30


def escape_controls(text: str) -> str:
    """Return a text without control characters: it may contain file names, which can hold any."""
    return "\n".join(map(printable, text.split("\n")))


def fitted(text: str) -> str:
    """Return a message for standard error: wrapped between words if that is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        return text
    from shardkit.cli.printing.lines import wrapped

    width = shutil.get_terminal_size().columns
    return "\n".join(part for line in text.split("\n") for part in wrapped(line, width))


class Terminal:
    """A ProgressListener: messages and progress go to standard error, results to standard output."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet

    def say(self, text: str) -> None:
        """Print a message."""
        if not self._quiet:
            click.echo(fitted(escape_controls(text)), err=True)

    def show(self, *parts: Any) -> None:
        """Print a result: rich tables and plain text."""
        if not self._quiet:
            print_parts(*parts)

    @contextlib.contextmanager
    def phase(self, name: str, total: int | None) -> Iterator["Show"]:
        """See ProgressListener."""
        if self._quiet:
            from shardkit.writing.progress import ignore_progress

            yield ignore_progress
        elif sys.stderr is not None and sys.stderr.isatty():
            with _bar(name, total) as show:
                yield show
        else:
            yield _Lines(name, total, self.say)


def print_parts(*parts: Any) -> None:
    """Print rich tables and single lines of text; if the output is not a terminal, lines are not wrapped."""
    if sys.stdout is None:  # closed by the caller, as daemons do
        return
    from rich.console import Console

    from shardkit.cli.printing.lines import Paragraph

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=not sys.stdout.isatty())
    if not sys.stdout.isatty():
        console.width = 160
    for part in parts:
        # Not cropped: commands may be wider than the terminal.
        console.print(Paragraph(part) if isinstance(part, str) else part, crop=False)


class _Lines:
    """Prints a plain line every PLAIN_SECONDS; none for a shorter phase."""

    def __init__(self, name: str, total: int | None, say: Callable[[str], None]) -> None:
        self._name, self._total, self._say = name, total, say
        self._is_listed = total is None  # the phase begins with listing its images
        self._start = self._said = time.monotonic()
        self._before = 0  # done by earlier runs, or before the rate was first measured
        self._is_measured = False

    def __call__(self, done: int, total: int | None = None, /) -> None:
        now = time.monotonic()
        self._total = self._total if total is None else total
        if not self._is_measured and done:
            # Not part of the rate: what earlier runs did, and the time that listing took.
            self._is_measured, self._before, self._start = True, done, now
        if now - self._said < PLAIN_SECONDS:
            return
        self._said = now
        self._say(f"{self._name}: {self._progress(done, now - self._start)}")

    def _progress(self, done: int, seconds: float) -> str:
        if not done and self._is_listed:
            return f"{self._total:,} images found so far" if self._total else "listing the images"
        rate = (done - self._before) / seconds if seconds else 0
        what = f"{done:,} images" if not self._total else f"{done:,} of {self._total:,} images"
        left = f", {duration((self._total - done) / rate)} left" if self._total and rate else ""
        return f"{what}, {rate:,.0f} images/s{left}"


def duration(seconds: float) -> str:
    """Return a duration as ``40 s``, ``12 min`` or ``3 h 20 min``."""
    whole = max(0, round(seconds))
    if whole < 120:
        return f"{whole} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


@contextlib.contextmanager
def _bar(name: str, total: int | None) -> Iterator["Show"]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
    )
    from rich.text import Text

    class Done(ProgressColumn):
        def render(self, task: Task) -> Text:
            if not task.total:
                return Text(f"{task.completed:,.0f} images")
            if not task.completed and total is None:
                return Text(f"{task.total:,.0f} images found")
            return Text(f"{task.completed:,.0f} of {task.total:,.0f} images")

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            if not task.speed:
                return Text("")
            left = "" if task.remaining is None else f", {duration(task.remaining / task.speed)} left"
            return Text(f"{task.speed:,.0f} images/s{left}")

    columns = (TextColumn("{task.description:<9}"), BarColumn(20), Done(), Rate())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(name, total=total)

        def show(done: int, total_now: int | None = None, /) -> None:
            progress.update(task, completed=done, total=total_now or total)

        yield show
