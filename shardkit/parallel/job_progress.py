"""The progress of a job of several stages: the driver finds the stage by the files that workers have written."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from shardkit.parallel.progress import Level, Phase, ProgressListener, Show


@dataclass(frozen=True, slots=True)
class StagePhase:
    """The phase of a stage.

    Attributes:
        has_begun: Whether the stage has begun, by the files of the job.
        make: Function that returns the phase once it has.
    """

    has_begun: Callable[[], bool]
    make: Callable[[], Phase]


def job_phase(phases: Sequence[StagePhase]) -> Phase:
    """Return one phase for a whole job, which shows the phases of its stages one after the other.

    Args:
        phases: The phases in their order; the first has begun.
    """
    shown = _Stages(phases)
    return Phase(shown, "", None, shown.count)


class _Stages:
    """A listener for the phase of a whole job: it begins a phase of the real listener for each stage."""

    def __init__(self, phases: Sequence[StagePhase]) -> None:
        self._left = list(phases)
        self._phase = self._left.pop(0).make()
        self._listener: ProgressListener = self._phase.listener
        self._before = 0  # images of the stages before
        self._done = 0
        self._open: contextlib.ExitStack = contextlib.ExitStack()

    def say(self, text: str, level: Level = "info") -> None:
        self._listener.say(text, level)

    def count(self) -> int:
        """Return a number that changes with the progress of any stage."""
        return self._before + self._done

    def phase(self, name: str, total: int | None) -> AbstractContextManager[Show]:
        del name, total
        return self._all_phases()

    @contextlib.contextmanager
    def _all_phases(self) -> Iterator[Show]:
        with contextlib.ExitStack() as self._open:
            self._begin()
            yield self._show

    def _begin(self) -> None:
        self._shown = self._open.enter_context(self._listener.phase(self._phase.name, self._phase.total))

    def _show(self, done: int, total: int | None = None, rejected: int | None = None, /) -> None:
        del done, total, rejected
        while self._left and self._left[0].has_begun():
            self._phase.poll(self._note)
            self._open.close()
            self._before += self._done + 1
            self._phase = self._left.pop(0).make()
            self._begin()
        self._phase.poll(self._note)

    def _note(self, done: int, total: int | None = None, rejected: int | None = None, /) -> None:
        self._done = done
        self._shown(done, total, rejected)
