"""Lines of text for rich: paragraphs wrap between words at the terminal's width, commands stay whole to be copied."""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.style import Style
from rich.table import Table

from shardkit.naming import printable

COMMAND = "  shardkit "  # how the line of a command begins, in messages too
_HANGING = 2  # columns by which the further lines of a paragraph are indented


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One line of text, wrapped if the output is a terminal; its further lines are indented."""

    text: str
    colour: str | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """See rich's console protocol."""
        text = printable(self.text)
        for line in wrapped(text, options.max_width) if console.is_terminal else [text]:
            yield from (Segment(line, Style(color=self.colour)), Segment.line())


@dataclass(frozen=True, slots=True)
class Verbatim:
    """One line that is printed as it is, however long: a command or a line of Python."""

    text: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """See rich's console protocol."""
        del console, options
        yield from (Segment(printable(self.text)), Segment.line())


def wrapped(line: str, width: int) -> list[str]:
    """Return the lines of a paragraph; commands are not wrapped, because a wrapped one cannot be copied."""
    indent = line[: len(line) - len(line.lstrip())]
    # Commands below the items of a list are indented further.
    if len(line) <= width or (line.startswith("  ") and line.lstrip().startswith(COMMAND.lstrip())):
        return [line]
    further = indent + " " * _HANGING
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=further,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )


def table(*columns: str) -> Table:
    """Return an empty table: the first column is text, which wraps if it is long; the others are numbers."""
    made = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True, header_style="bold")
    for i, column in enumerate(columns):
        # Rich narrows the columns that wrap before the others: a long class name must not hide the numbers.
        made.add_column(column, justify="left" if i == 0 else "right", no_wrap=i > 0, overflow="fold")
    return made


def feature_rows(rows: list[tuple[str, str]]) -> Table:
    """Return a table of names and values, without a header."""
    made = Table(box=None, pad_edge=False, show_header=False)
    made.add_column(style="bold", no_wrap=True)
    made.add_column()
    for name, value in rows:
        made.add_row(printable(name), printable(value))
    return made
