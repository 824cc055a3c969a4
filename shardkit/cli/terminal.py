"""Show messages and progress on standard error, and results on standard output."""

import codecs
import contextlib
import importlib
import os
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from shardkit.cli.progress import displays
from shardkit.cli.progress.displays import JSON, LOG_FORMATS, write_json, write_progress
from shardkit.cli.progress.measure import Progress, plain_line
from shardkit.naming import printable, printable_json

if TYPE_CHECKING:
    from shardkit.parallel.progress import Level, Show


def escape_controls(text: str) -> str:
    """Return a text without control characters: it may contain file names, which can hold any."""
    return "\n".join(map(printable, text.split("\n")))


def echo_json(value: Any) -> None:
    """Print a value as JSON on standard output; an encoding that lacks its characters gets their escapes."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    click.echo(printable_json(value, only_ascii=codecs.lookup(encoding).name != "utf-8"))


def fitted(text: str) -> str:
    """Return a message for standard error: wrapped between words if that is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        return text
    from shardkit.cli.printing.lines import wrapped

    columns = displays.width()
    return "\n".join(part for line in text.split("\n") for part in wrapped(line, columns))


def coloured(text: str, colour: str) -> str:
    """Return a text in a colour for `click.echo`, which removes it where the output is no terminal."""
    return text if os.environ.get("NO_COLOR") else click.style(text, fg=colour)


class Terminal:
    """A ProgressListener: messages and progress go to standard error, results to standard output."""

    def __init__(
        self, *, quiet: bool = False, log_format: str = LOG_FORMATS[0], rejected_word: str = "rejected"
    ) -> None:
        """Create a listener."""
        self._quiet, self._is_json = quiet, log_format == JSON
        self._rejected_word = rejected_word
        self._live = displays.LiveLine()

    def say(self, text: str, level: "Level" = "info") -> None:
        """Print a message."""
        if self._quiet:
            return
        if self._is_json:
            write_json(level, text)
            return
        with self._live.interrupted():
            click.echo(fitted(escape_controls(text)), err=True)

    def show(self, *parts: Any) -> None:
        """Print a result: rich tables and plain text."""
        if not self._quiet:
            print_parts(*parts)

    @contextlib.contextmanager
    def phase(self, name: str, total: int | None, *, unit: str = "images") -> Iterator["Show"]:
        """Begin a phase that counts `unit`, in the plural; see ProgressListener."""
        progress = Progress(name, total, time.monotonic(), unit=unit, rejected_word=self._rejected_word)

        def show(done: int, total: int | None = None, rejected: int | None = None, /) -> None:
            progress.update(done, total, rejected, time.monotonic())

        with self._shown(progress):
            yield show

    @contextlib.contextmanager
    def starting(self, module: str) -> Iterator[None]:
        """Show on a live terminal that the command has begun, while a module is loaded and a store is asked."""
        with contextlib.ExitStack() as stack:
            if displays.is_live() and not (self._quiet or self._is_json):
                stack.enter_context(self._live.shown(Progress("starting", None, time.monotonic())))
            with contextlib.suppress(ImportError):  # the command says which packages are missing
                importlib.import_module(module)
            yield

    @contextlib.contextmanager
    def _shown(self, progress: Progress) -> Iterator[None]:
        if self._quiet:
            yield
        elif self._is_json:
            # Also at the beginning and, with the final numbers, at the end.
            write_progress(progress.status(time.monotonic()))
            with displays.repeated(lambda: write_progress(progress.status(time.monotonic())), displays.log_pauses()):
                yield
            status = progress.status(time.monotonic())
            if status.done is not None:
                write_progress(status)
        elif displays.is_live():
            with self._live.shown(progress):
                yield
        else:
            with displays.repeated(
                lambda: self.say(plain_line(progress.status(time.monotonic()))), displays.log_pauses()
            ):
                yield


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
