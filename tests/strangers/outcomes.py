"""How every folder is read today, as ``outcomes.txt`` says: ``python -m tests.strangers.sweep --write`` makes it.

A line is the outcome, the number of the first printed command that is right (0 for none), and the name of the folder.
"""

from pathlib import Path
from typing import NamedTuple

_TABLE = Path(__file__).with_name("outcomes.txt")


class Outcome(NamedTuple):
    """How a folder is read: "right", "advised", "refused" or "wrong", and by which printed command from 1."""

    outcome: str
    number: int


def outcomes():
    """The outcomes of all folders, by their names."""
    rows = (line.split(" ", 2) for line in _TABLE.read_text(encoding="utf-8").splitlines())
    return {name: Outcome(outcome, int(number)) for outcome, number, name in rows}


def write_outcomes(found):
    """Replace the table."""
    lines = (f"{one.outcome} {one.number} {name}\n" for name, one in found.items())
    _TABLE.write_text("".join(lines), encoding="utf-8")
