"""Refuse a table with the options that read it."""

from typing import Any, NamedTuple

from shardkit.options.call import Change
from shardkit.refusals import RefusalError
from shardkit.sources.formats.tables.text_files import TEXT_ENDINGS


class Choice(NamedTuple):
    """One way to read a table: what the user's options lack, and what it means."""

    changes: dict[str, Any]
    meaning: str


def refuse(problem: str, source: str, choices: list[Choice], remedy: str = "") -> RefusalError:
    """Return the error for a table that can be read in several ways, or in none without an option."""
    # A text file is a list, unless the user says otherwise.
    layout = {"layout": "table"} if source.lower().endswith(TEXT_ENDINGS) else {}
    changes = [Change(one.meaning, {**layout, **one.changes}, sources=(source,)) for one in choices]
    return RefusalError(problem, changes, remedy=remedy)


def readings_of_uncertain(names: tuple[str, ...]) -> list[Choice]:
    """Return the ways to read columns of 0 and 1 that hold -1, too."""
    return [
        Choice({"label_columns": names, "uncertain": "negative"}, "a -1 means that the class does not apply"),
        Choice({"label_columns": names, "uncertain": "positive"}, "a -1 means that the class applies"),
        Choice({"label_columns": names, "uncertain": "drop"}, "images with a -1 are left out"),
    ]
