"""Refusals as values: what is wrong with a call, and the changes of the call that help.

A layout or a check knows what it found and which options would help. It does not know the rest of the user's call, nor
whether there is a command line. So it raises values; who was called by the user completes and prints them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from shardkit.errors import CallError, DataError, ShardkitError
from shardkit.options.call import Call, Change
from shardkit.options.words import is_command_line

AS_RECOGNISED = "as it was recognised"  # the meaning of the first change of a question, which is shown first


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call is refused, and what to do."""

    problem: str  # one sentence without a full stop: the file or folder, and what was found
    changes: tuple[Change, ...] = ()  # calls that would do, the most likely first
    remedy: str = ""  # what to do instead of another call, as an imperative without a full stop; '' for nothing
    appendix: str = ""  # what is printed below the changes, such as a program that makes a table; '' for nothing

    def text(self, call: Call | None = None) -> str:
        """Return the refusal for the user: commands on the command line, keywords in Python."""
        ways = change_lines(self.changes, call)
        if not ways:
            said = "; ".join(filter(None, (self.problem, self.remedy)))
        else:
            several = len(ways) > 1
            verb = ("choose one of" if several else "run") if is_command_line() else f"pass{' one of' * several}"
            before = f"{self.remedy}, or " if self.remedy else ""
            said = "\n".join([f"{self.problem}; {before}{verb}:", *(f"  {way}" for way in ways)])
        return f"{said}\n\n{self.appendix}" if self.appendix else said

    def as_json(self) -> dict[str, Any]:
        """Return the refusal as JSON values, for the driver of a worker that refuses."""
        return asdict(self)

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> "Refusal":
        """Return what `as_json` gave."""
        changes = tuple(Change(**{**one, "sources": tuple(one["sources"])}) for one in written["changes"])
        return cls(**{**written, "changes": changes})


class _RefusedError(ShardkitError):
    """What refusals of a call and of the data have in common."""

    refusal: Refusal
    call: Call | None

    def __init__(self, problem: str, changes: Sequence[Change] = (), *, remedy: str = "", appendix: str = "") -> None:
        """Refuse a call; see `Refusal`."""
        super().__init__(problem)
        self.refusal = Refusal(problem, tuple(changes), remedy, appendix)
        self.call = None

    def __str__(self) -> str:
        return self.refusal.text(self.call)

    @property
    def args(self) -> tuple[str]:  # type: ignore[override] # Beam makes an error with the step's name of these
        """The whole text."""
        return (str(self),)


class RefusalError(_RefusedError, CallError):
    """A call is refused; `refusal` says why and which changes help, as values.

    Attributes:
        refusal: The refusal.
        call: The user's call; None until who was called by the user has completed it.
    """


class UnrecognisedError(RefusalError):
    """Nothing says how a source is read; its changes read it as what any tree can be read as."""


class UnclearError(RefusalError):
    """A source can be read, and shardkit cannot prove that it is meant so: the user is asked.

    Attributes:
        readings: How it may be read, as values for `reading`, the most likely first.
    """

    readings: tuple[Mapping[str, Any], ...] = ()


class RefusedDataError(_RefusedError, DataError):
    """Data cannot be used in this call, and could be in another one; the attributes are those of `RefusalError`."""


def change_lines(changes: Sequence[Change], call: Call | None) -> list[str]:
    """Return a line for each change, with its meaning as a comment.

    Args:
        changes: The changes.
        call: The user's call; None where it is not known.

    Returns:
        Complete commands on the command line; in Python the arguments that differ, after the function if it is another.
    """
    call = call or Call("convert", ("SOURCE",))
    shown, meanings = [], []
    for change in changes:
        if is_command_line():
            shown.append(call.changed(change).line)
        else:
            words = call.keywords(change)
            is_other = change.command not in {None, call.command}
            shown.append(f"shardkit.{change.command}({words})" if is_other else words)
        meanings.append(change.meaning)
    width = max(map(len, shown), default=0)
    return [f"{one:{width}}  # {why}" if why else one for one, why in zip(shown, meanings, strict=True)]
