"""Show messages and progress: a live bar on a terminal, otherwise a plain line every 30 seconds."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import click

from shardkit.naming import printable

PLAIN_SECONDS = 30


def escape_controls(text: str) -> str:
    """Return a text without control characters: it may contain file names, which can hold any."""
    return "\n".join(map(printable, text.split("\n")))


class Terminal:
    """A ProgressListener: messages and progress go to standard error, results to standard output."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet

    def say(self, text: str) -> None:
        """Print a message."""
        if not self._quiet:
            click.echo(escape_controls(text), err=True)

    def show(self, *parts: Any) -> None:
        """Print a result: rich tables and plain text."""
        if not self._quiet:
            print_parts(*parts)

    @contextlib.contextmanager
    def phase(self, name: str, total: int | None) -> Iterator[Callable[[int], None]]:
        """See ProgressListener."""
        if self._quiet:
            yield lambda _: None
        elif sys.stderr is not None and sys.stderr.isatty():
            with _bar(name, total) as show:
                yield show
        else:
            yield _Lines(name, total, self.say)


def print_parts(*parts: Any) -> None:
    """Print rich tables and texts; if the output is not a terminal, in lines that do not wrap."""
    if sys.stdout is None:  # closed by the caller, as daemons do
        return
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=not sys.stdout.isatty())
    if not sys.stdout.isatty():
        console.width = 160
    for part in parts:
        console.print(part)


class _Lines:
    """Prints a plain line every PLAIN_SECONDS; none for a shorter phase."""

    def __init__(self, name: str, total: int | None, say: Callable[[str], None]) -> None:
        self._name, self._total, self._say = name, total, say
        self._start = self._said = time.monotonic()
        self._before: int | None = None  # done by earlier runs: not part of this run's rate

    def __call__(self, done: int) -> None:
        now = time.monotonic()
        self._before = done if self._before is None else self._before
        if now - self._said < PLAIN_SECONDS:
            return
        self._said = now
        rate = (done - self._before) / (now - self._start)
        line = f"{self._name}: {done:,} images, {rate:,.0f}/s"
        if self._total:
            left = f", {(self._total - done) / rate:,.0f} s left" if rate else ""
            line = f"{self._name}: {done:,} of {self._total:,} images, {rate:,.0f}/s{left}"
        self._say(line)


@contextlib.contextmanager
def _bar(name: str, total: int | None) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Done(ProgressColumn):
        def render(self, task: Task) -> Text:
            done = f"{task.completed:,.0f}"
            return Text(f"{done} images" if task.total is None else f"{done} of {task.total:,.0f} images")

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed or 0:,.0f}/s")

    columns = (TextColumn("{task.description:<9}"), BarColumn(), Done(), Rate(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(name, total=total)
        yield lambda done: progress.update(task, completed=done)
