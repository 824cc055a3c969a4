"""The result of one check."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from shardkit.errors import CallError, MachineError, ShardkitError

Status = Literal["ok", "note", "warning", "failed"]


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a runner, a worker or a path."""

    name: str  # what was checked, such as "job service"
    status: Status  # failed if a job cannot succeed, warning if it may fail, note if there is nothing to mend
    found: str
    remedy: str = ""  # what to do, as the second half of a sentence
    is_call: bool = False  # whether the call is wrong; otherwise the machine or the network is

    @property
    def sentence(self) -> str:
        """What was found and what to do."""
        return f"{self.found}; {self.remedy}" if self.remedy else self.found

    def error(self) -> ShardkitError:
        """Return the check as an error."""
        return CallError(self.sentence) if self.is_call else MachineError(self.sentence)


def refuse_failed(checks: Iterable[Check]) -> None:
    """Raise the first failed check."""
    for check in checks:
        if check.status == "failed":
            raise check.error()
