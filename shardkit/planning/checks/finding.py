"""A finding: a fact about the source that the user should check before training on the dataset."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from shardkit.errors import CallError
from shardkit.naming import printable
from shardkit.sources.commands import Command, refusal

EXAMPLES_SHOWN = 10  # names or pairs in a finding

# stops: nothing is written. warns: it is listed under `Check these:`. hints: the summary mentions it.
Kind = Literal["stops", "warns", "hints"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A fact to check.

    Attributes:
        code: Name of the kind of finding, for programs; it does not change.
        kind: What follows from it.
        sentence: What was found, with numbers, without a full stop.
        examples: At most EXAMPLES_SHOWN names or pairs.
        remedy: What to do, as a phrase; empty if the commands say it.
        commands: Ready commands, the most likely first.
    """

    code: str
    kind: Kind
    sentence: str
    examples: tuple[str, ...] = ()
    remedy: str = ""
    commands: tuple[Command, ...] = ()

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
            "examples": list(self.examples),
            "remedy": self.remedy,
            "commands": [command.line for command in self.commands],
        }

    def lines(self) -> list[str]:
        """Return the finding as lines of text."""
        remedy = f"; {self.remedy}" if self.remedy else ""
        shown = [f"  - {self.sentence}{remedy}", *(f"      {one}" for one in self.examples)]
        return [printable(line) for line in shown] + [
            f"      {command.line}  # {command.meaning}" for command in self.commands
        ]


def findings_text(findings: Iterable[Finding]) -> str:
    """Return the findings that warn, under a heading; empty if there are none."""
    lines = [line for finding in findings if finding.kind == "warns" for line in finding.lines()]
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
    shown = ", ".join(map(repr, names[:EXAMPLES_SHOWN]))
    more = len(names) - EXAMPLES_SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown
