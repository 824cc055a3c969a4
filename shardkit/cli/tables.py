"""An empty table in the style of all tables that the commands print."""

from rich.box import SIMPLE_HEAD
from rich.table import Table


def table(*columns: str) -> Table:
    """Return an empty table: the first column is text, the others are numbers."""
    made = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True, header_style="bold")
    for i, column in enumerate(columns):
        made.add_column(column, justify="left" if i == 0 else "right", no_wrap=True)
    return made
