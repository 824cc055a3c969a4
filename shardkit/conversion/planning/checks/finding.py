"""A finding: a fact about the source that the user should check before training on the dataset."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.planning.rows import LazyColumn
from shardkit.naming import first_of, printable
from shardkit.options.call import OUT, Call, Change
from shardkit.options.definition import OPTIONS
from shardkit.options.values import ACCEPTABLE
from shardkit.options.words import flag_of, named, shell_command
from shardkit.refusals import RefusalError, change_lines

FIXES = "fixes.csv"  # the table that `report --fixes` writes, in commands that are printed
EXAMPLES_SHOWN = 10  # names or pairs in the text of a finding
_Ints = npt.NDArray[np.int64]

# stops: nothing is written. warns: it is listed under `Check these:`. hints: the summary mentions it.
Kind = Literal["stops", "warns", "hints"]


class Keys(Sequence[str]):
    """Keys of rows, or pairs of them, as text; made when they are asked for, because there may be millions."""

    def __init__(self, column: LazyColumn, rows: _Ints, others: _Ints | None = None) -> None:
        """`others` has the other row of each pair; it is None for single keys."""
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
        remedy: What to do, as a phrase; empty if the changes say it.
        changes: Calls that would do, the most likely first.
        names: All names if the sentence has the first of them; for JSON.
        look_at: Key of an example that the user should look at; None for none.
        has_fixes: Whether `report --fixes` lists the labels that contradict each other, to correct them.
        call: The user's call, which the changes change; None where it is not known.
    """

    code: str
    kind: Kind
    sentence: str
    examples: Sequence[str] = ()
    remedy: str = ""
    changes: tuple[Change, ...] = ()
    names: Sequence[str] = ()
    look_at: str | None = None
    has_fixes: bool = False
    call: Call | None = None

    @property
    def stops(self) -> bool:
        """Whether nothing is converted."""
        return self.kind == "stops"

    def as_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "kind": self.kind,
            "sentence": self.sentence,
            "examples": list(self.examples or self.names),
            "remedy": self.remedy,
            "commands": list(self.commands),
        }

    @property
    def commands(self) -> tuple[str, ...]:
        """The changed calls as commands for a shell; they replace what a call that goes on writes."""
        call = self.call or Call("convert", ("SOURCE",))
        return tuple(call.changed(change).line for change in self._written())

    def _written(self) -> tuple[Change, ...]:
        if self.stops or self.call is None or self.call.command != "convert" or self.call.target is None:
            return self.changes
        return tuple(replace(one, options={**one.options, "overwrite": True}) for one in self.changes)

    def lines(self) -> list[str]:
        listing = listing_of(self.call)
        remedy = f"; {self.remedy}" if self.remedy else ""
        shown = [f"  - {self.sentence}{remedy}", *(f"      {one}" for one in self.examples[:EXAMPLES_SHOWN])]
        more = len(self.examples) - EXAMPLES_SHOWN
        if more > 0:
            shown.append(f"      … and {more:,} more{f'; all: {listing}' if listing else ''}")
        ways = change_lines(self._written(), self.call)
        if self.look_at is not None:
            written = OUT if self.call is None else self.call.written
            ways.append(shell_command("show", written, self.look_at, output="look.png"))
        if self.has_fixes:
            written = OUT if self.call is None else self.call.written
            ways.append(f"{shell_command('report', written, fixes=FIXES)}  # once converted: a table to correct")
        return [*(printable(line) for line in shown), *(f"      {way}" for way in ways)]


def listing_of(call: Call | None) -> str:
    """Return the command that lists all findings in full; '' for `append`, which `plan` cannot plan."""
    if call is None or call.command == "append":
        return ""
    given = {name: value for name, value in call.given.items() if "plan" in OPTIONS[name].commands}
    planned = replace(
        call, command="plan", target=None, given=given, beam_options=(*call.beam_options, flag_of("json"))
    )
    return planned.line


def findings_text(findings: Iterable[Finding]) -> str:
    """Return the findings that warn, under a heading; empty if there are none."""
    lines = [line for finding in findings if finding.kind == "warns" for line in finding.lines()]
    return "\n".join(["Check these:", *lines]) if lines else ""


def with_accepted(findings: Iterable[Finding], codes: Sequence[str]) -> tuple[Finding, ...]:
    """Return findings of which those that the user accepts warn, and others that may be accepted say how."""
    made = []
    for one in findings:
        if one.stops and one.code in codes:
            said = f"accepted by {named('accept', (one.code,))}: {ACCEPTABLE[one.code]}"
            made.append(replace(one, kind="warns", remedy=said, changes=()))
        elif one.stops and one.code in ACCEPTABLE:
            change = Change(ACCEPTABLE[one.code], {"accept": (*codes, one.code)})
            made.append(replace(one, changes=(*one.changes, change)))
        else:
            made.append(one)
    return tuple(made)


def refuse_stopping(findings: Iterable[Finding]) -> None:
    """Refuse to go on if a finding stops the conversion."""
    stopping = [one for one in findings if one.stops]
    if not stopping:
        return
    first, *others = stopping
    also = ["This stops it, too:", *(f"  - {printable(one.sentence)}" for one in others)] if others else []
    raise RefusalError(printable(first.sentence), first.changes, remedy=first.remedy, appendix="\n".join(also))


def some(names: Sequence[str]) -> str:
    """Return the first names, quoted, and the number of the others."""
    return first_of([*map(repr, names)], EXAMPLES_SHOWN)


def numbers_of(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Return the values of a column; null as 0."""
    numbers: npt.NDArray[np.int64] = pc.fill_null(column.cast(pa.int64()), 0).to_numpy()
    return numbers
