"""Name options in messages as the user writes them: flags on the command line, keywords in Python.

A message is made far below the place where it is printed, so the way of writing is a setting of the process, as the
language is in gettext: Python's, unless the command line is running.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

Style = Literal["command", "python"]

_OTHER_FLAGS = {"label_columns": "--label-column"}  # of options whose flag is not their name
_style: Style = "python"


@contextmanager
def written_as(style: Style) -> Iterator[None]:
    """Write options in this style; the command line runs inside of it.

    It holds for all threads, because workers' messages are the user's too.
    """
    global _style  # noqa: PLW0603 - see the module
    before, _style = _style, style
    try:
        yield
    finally:
        _style = before


def named(option: str, *value: Any) -> str:
    """Return an option, with its value if one is given, as the user writes it.

    Args:
        option: Name of the option, such as ``max_side``.
        *value: At most one: its value, or True for an option that is only given or not.

    Returns:
        ``--max-side 256`` on the command line, ``max_side=256`` in Python.
    """
    if _style == "python":
        return f"{option}={value[0]!r}" if value else option
    flag = flag_of(option)
    return f"{flag} {value[0]}" if value and value[0] is not True else flag


def flag_of(option: str) -> str:
    """Return the flag of an option: ``--max-side``."""
    return _OTHER_FLAGS.get(option) or "--" + option.replace("_", "-")
