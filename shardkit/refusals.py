"""Refusals as values: what is wrong with a call, and the changes of the call that help.

A layout or a check knows what it found and which options would help. It does not know the rest of the user's call, nor
whether there is a command line. So it raises values; who was called by the user completes and prints them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from shardkit.errors import CallError
from shardkit.options.call import Call, Change
from shardkit.options.words import is_command_line


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call is refused, and what to do.

    Attributes:
        problem: One sentence without a full stop: the file or folder, and what was found.
        changes: Calls that would do, the most likely first.
        remedy: What to do instead of another call, as an imperative without a full stop; '' for nothing.
    """

    problem: str
    changes: tuple[Change, ...] = ()
    remedy: str = ""

    def text(self, call: Call | None = None) -> str:
        """Return the refusal for the user: commands on the command line, keywords in Python.

        Args:
            call: The user's call; None where it is not known.
        """
        call = call or Call("convert", ("SOURCE",))
        ways = change_lines(self.changes, call)
        if not ways:
            return "; ".join(filter(None, (self.problem, self.remedy)))
        verb = ("choose one of" if len(ways) > 1 else "run") if is_command_line() else "pass"
        if not is_command_line() and len(ways) > 1:
            verb = "pass one of"
        before = f"{self.remedy}, or " if self.remedy else ""
        return "\n".join([f"{self.problem}; {before}{verb}:", *(f"  {way}" for way in ways)])


class RefusalError(CallError):
    """A call is refused; `refusal` says why and which changes help, as values.

    Attributes:
        refusal: The refusal.
        call: The user's call; None until who was called by the user has completed it.
    """

    def __init__(self, problem: str, changes: Sequence[Change] = (), *, remedy: str = "") -> None:
        """Refuse a call.

        Args:
            problem: See `Refusal`.
            changes: See `Refusal`.
            remedy: See `Refusal`.
        """
        super().__init__(problem)
        self.refusal = Refusal(problem, tuple(changes), remedy)
        self.call: Call | None = None

    def __str__(self) -> str:
        return self.refusal.text(self.call)


def change_lines(changes: Sequence[Change], call: Call) -> list[str]:
    """Return a line for each change, with its meaning as a comment.

    Args:
        changes: The changes.
        call: The user's call.

    Returns:
        Complete commands on the command line; in Python the arguments that differ, after the function if it is another.
    """
    shown = []
    for change in changes:
        if is_command_line():
            shown.append(call.changed(change).line)
        else:
            other = change.command not in {None, call.command}
            words = call.keywords(change)
            shown.append(f"shardkit.{change.command}({words})" if other else words)
    width = max(map(len, shown), default=0)
    return [f"{one:{width}}  # {change.meaning}" for one, change in zip(shown, changes, strict=True)]
