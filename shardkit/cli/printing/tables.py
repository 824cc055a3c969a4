"""Make empty tables in the style of everything that the commands print, and tables of names and values."""

from rich.box import SIMPLE_HEAD
from rich.table import Table

from shardkit.naming import printable


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
