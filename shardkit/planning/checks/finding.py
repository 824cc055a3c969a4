"""A finding: a fact about the source that the user should check before training on the dataset."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from shardkit.errors import CallError
from shardkit.naming import first_of, printable
from shardkit.planning.rows import LazyColumn
from shardkit.sources.commands import Command, refusal

EXAMPLES_SHOWN = 10  # names or pairs in the text of a finding
_Ints = npt.NDArray[np.int64]

# stops: nothing is written. warns: it is listed under `Check these:`. hints: the summary mentions it.
Kind = Literal["stops", "warns", "hints"]


class Keys(Sequence[str]):
    """Keys of rows, or pairs of them, as text; made when they are asked for, because there may be millions."""

    def __init__(self, column: LazyColumn, rows: _Ints, others: _Ints | None = None) -> None:
        """Choose rows.

        Args:
            column: The keys of the rows that are planned.
            rows: int64[n], the rows.
            others: int64[n], the other row of each pair; None for single keys.
        """
        self._column, self._rows, self._others = column, rows, others

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...
    def __getitem__(self, at: int | slice) -> str | tuple[str, ...]:
        if not isinstance(at, slice):
            return self[at : at + 1 or None][0]
        ones = self._column.take(self._rows[at]).to_pylist()
        if self._others is None:
            return tuple(ones)
        others = self._column.take(self._others[at]).to_pylist()
        return tuple(f"{one} and {other}" for one, other in zip(ones, others, strict=True))

    def __iter__(self) -> Iterator[str]:
        return iter(self[:])


@dataclass(frozen=True, slots=True)
class Finding:
    """A fact to check.

    Attributes:
        code: Name of the kind of finding, for programs; it does not change.
        kind: What follows from it.
        sentence: What was found, with numbers, without a full stop.
        examples: All names or pairs; the text shows EXAMPLES_SHOWN.
        remedy: What to do, as a phrase; empty if the commands say it.
        commands: Ready commands, the most likely first.
        names: All names if the sentence has the first of them; for JSON.
    """

    code: str
    kind: Kind
    sentence: str
    examples: Sequence[str] = ()
    remedy: str = ""
    commands: tuple[Command, ...] = ()
    names: Sequence[str] = ()

    @property
    def stops(self) -> bool:
        """Whether nothing is converted."""
        return self.kind == "stops"

    def as_json(self) -> dict[str, Any]:
        """Return the finding as JSON values."""
        return {
            "code": self.code,
            "kind": self.kind,
            "sentence": self.sentence,
            "examples": list(self.examples or self.names),
            "remedy": self.remedy,
            "commands": [command.line for command in self.commands],
        }

    def lines(self, listing: str = "") -> list[str]:
        """Return the finding as lines of text.

        Args:
            listing: The command that lists everything; '' if there is none.
        """
        remedy = f"; {self.remedy}" if self.remedy else ""
        shown = [f"  - {self.sentence}{remedy}", *(f"      {one}" for one in self.examples[:EXAMPLES_SHOWN])]
        more = len(self.examples) - EXAMPLES_SHOWN
        if more > 0:
            shown.append(f"      … and {more:,} more{f'; all: {listing}' if listing else ''}")
        return [printable(line) for line in shown] + [
            f"      {command.line}  # {command.meaning}" for command in self.commands
        ]


def findings_text(findings: Iterable[Finding], listing: str = "") -> str:
    """Return the findings that warn, under a heading; empty if there are none.

    Args:
        findings: The findings.
        listing: See Finding.lines.
    """
    lines = [line for finding in findings if finding.kind == "warns" for line in finding.lines(listing)]
    return "\n".join(["Check these:", *lines]) if lines else ""


def refuse_stopping(findings: Sequence[Finding]) -> None:
    """Refuse to go on if a finding stops the conversion.

    Raises:
        CallError: The first such finding, with its commands.
    """
    for finding in findings:
        if finding.stops:
            remedy = f"; {finding.remedy}" if finding.remedy else ""
            problem = printable(finding.sentence) + remedy
            raise refusal(problem, finding.commands) if finding.commands else CallError(problem)


def some(names: Sequence[str]) -> str:
    """Return the first names, quoted, and the number of the others."""
    return first_of([*map(repr, names)], EXAMPLES_SHOWN)
