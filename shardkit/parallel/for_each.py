"""Call a function for each of many items, in threads of this process or on a cluster.

Results and errors travel as files in a folder that all workers reach, so nothing is returned. An exception of a worker
would reach the user as kilobytes of an engine's traceback, and as one of many: an error is written into the folder, the
driver stops all workers when it finds one, and raises it.
"""

import contextlib
import json
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

from shardkit import naming
from shardkit.errors import CallError, DataError, MachineError, ShardkitError, StaleRunError
from shardkit.options.words import Style, message_style, written_as
from shardkit.parallel.detached import end_run, kept_alive
from shardkit.parallel.driver_view import DriverView, check_worker
from shardkit.parallel.progress import Phase
from shardkit.parallel.run_token import Fence, Run
from shardkit.refusals import Refusal, RefusalError, RefusedDataError
from shardkit.storage import Folder, os_errors_as

T = TypeVar("T")

FAILURE = f"{naming.WORK_FOLDER}/failure.json"
_ERRORS = {kind.exit_code: kind for kind in (CallError, DataError, MachineError)}


class JobEnd(Exception):  # noqa: N818 - no error
    """Raised by a worker to end a job that has nothing left to do; the driver raises it again, with its JSON facts."""

    kinds: ClassVar[dict[str, type["JobEnd"]]] = {}

    def __init_subclass__(cls) -> None:
        cls.kinds[cls.__name__] = cls

    def __init__(self, facts: dict[str, Any]) -> None:
        super().__init__(facts)
        self.facts = facts


# `for_each` calls the function with an item and a Fence, an executor with an item.
Work: TypeAlias = Callable[..., Iterable[Any] | None]


class Executor(Protocol):
    """Runs work for many items to its end: `threads.ThreadExecutor` or `beam.conversion.BeamExecutor`."""

    @property
    def is_remote(self) -> bool:
        """Whether workers may run on other hosts, or with other libraries, than the driver."""
        ...

    @property
    def temp_location(self) -> str | None:
        """A folder that all workers reach, for what is not part of an output; None for a local one."""
        ...

    def for_each(self, name: str, items: Sequence[Any], work: Work, phase: Phase) -> None:
        """Do the work for each item, begun in their order and spread over the workers; `name` is for an engine."""
        ...


def for_each(
    executor: Executor,
    run: Run,
    name: str,
    items: Sequence[T],
    work: Work,
    phase: Phase,
    *,
    reads: Sequence[Folder] = (),
) -> None:
    """Do the work for each item, and wait for its end; raise what a worker raised.

    The work may be done several times for one item, also at the same time: engines repeat what has failed, and what is
    slow. So it writes the same files each time, with names that follow from the item, through its fence.

    The items are part of the job, and so at most some hundred thousand, of some bytes each. Of the folders that workers
    read, each worker process compares what it sees with the driver first.
    """
    guard = Guard.of(run, executor, reads)
    watched(run, phase, lambda shown: executor.for_each(name, items, partial(guard.call, work), shown))


def watched(
    run: Run,
    phase: Phase,
    act: Callable[[Phase], None],
    *,
    watch: Callable[[], None] = lambda: None,
    is_done: Callable[[], bool] = lambda: False,
) -> None:
    """Let workers of a run act, stop them after the failure of one, and raise that failure, or the job's end.

    Meanwhile, `watch` is called every second or so. `is_done` looks whether the results are there, for engines that
    forget jobs that have ended.
    """
    run.folder.remove(FAILURE)  # of an earlier run

    def look() -> None:
        if has_failed(run.folder):  # on a cluster the others would go on for hours
            run.stop_workers()
        watch()

    with run.checked():
        try:
            act(replace(phase, watch=look, stop=run.stop_workers))
        except MachineError:
            # The driver may have been silent until Flink forgot the job ("FlinkJobNotFound"): look before giving up.
            raise_failure(run.folder)
            if not is_done():
                raise
        raise_failure(run.folder)


@dataclass(frozen=True, slots=True)
class Guard:
    """What each call of a worker begins and ends with; small and pickled into the job."""

    folder: Folder  # receives results and failures
    run: str  # its token
    driver: DriverView | None = None  # None if workers are threads of the driver
    style: Style = field(default_factory=message_style)  # the driver's; the worker's messages are for the same user
    is_detached: bool = False  # the driver has left; see `detached`

    @classmethod
    def of(cls, run: Run, executor: Executor, reads: Sequence[Folder], *, is_detached: bool = False) -> "Guard":
        view = DriverView.of(reads) if executor.is_remote else None
        return cls(run.folder, run.token, view, is_detached=is_detached)

    def call(self, function: Callable[..., Iterable[Any] | None], item: Any) -> Iterator[Any]:
        """Yield what a function of an item and a Fence gives.

        Nothing is done, silently, if the run has ended. An error of the data or of this host is written to a file.
        """
        return self._guarded(partial(function, item), is_of_one=False)

    def call_once(self, function: Callable[[Fence], Iterable[Any] | None]) -> list[Any] | None:
        """Return what a function of a Fence gives, called for all workers; None if it or a step before has failed."""
        given = list[Any]()
        if not has_failed(self.folder):  # otherwise results are missing, and an error would hide the first one
            given += self._guarded(function, is_of_one=True)
        return None if has_failed(self.folder) else given

    def _guarded(self, function: Callable[[Fence], Iterable[Any] | None], *, is_of_one: bool) -> Iterator[Any]:
        fence = Fence(self.folder, self.run, is_remote=self.driver is not None)
        style = contextlib.nullcontext() if self.driver is None else written_as(self.style)
        alive = kept_alive(fence) if self.is_detached else contextlib.nullcontext()
        with contextlib.suppress(StaleRunError), style, alive:
            try:
                fence.check()
                check_worker(self.driver)
                yield from function(fence) or ()
            except StaleRunError:
                raise
            except (ShardkitError, OSError, JobEnd) as error:
                # Data that one worker refuses for all are not those of its host.
                names_host = not (is_of_one and isinstance(error, DataError))
                report_failure(error, fence, names_host=names_host, is_untold=self.is_detached)
                if self.is_detached:
                    end_run(fence, keeps_work=not isinstance(error, JobEnd))


def report_failure(error: Exception, fence: Fence, *, names_host: bool = True, is_untold: bool = False) -> None:
    """Write an error, or the end of the job, into the work folder; the driver then stops all workers.

    `is_untold`: there is no driver that tells the user.
    """
    failure: dict[str, Any]
    if isinstance(error, JobEnd):
        failure = {"end": type(error).__name__, "facts": error.facts}
    else:
        exit_code = error.exit_code if isinstance(error, ShardkitError) else MachineError.exit_code
        names_host = names_host and exit_code != CallError.exit_code
        found = with_host(str(error), fence) if names_host else str(error)
        failure = {"error": found, "exit_code": exit_code, "is_untold": is_untold}
    if isinstance(error, RefusalError | RefusedDataError):
        failure["refusal"] = error.refusal.as_json()
    with os_errors_as("report an error", f"{fence.folder.url}/{naming.WORK_FOLDER}"):
        fence.write(FAILURE, json.dumps(failure).encode())


def with_host(said: str, fence: Fence) -> str:
    """Return an error's text with the worker's host, unless it names it already or the worker is the driver."""
    host = platform.node()
    return said if not fence.is_remote or f"host {host}" in said else f"{said} (on host {host})"


def has_failed(folder: Folder) -> bool:
    """Return whether a worker has reported a failure."""
    return folder.stat(FAILURE) is not None


def untold_failure(folder: Folder) -> str | None:
    """Return why a job without a driver failed, if nobody has started it again; None if it did not."""
    if not has_failed(folder):
        return None
    try:
        failure = json.loads(folder.read(FAILURE))
        return str(failure["error"]) if failure.get("is_untold") else None
    except (ValueError, KeyError, AttributeError, RecursionError):  # damaged
        return None


def raise_failure(folder: Folder) -> None:
    """Raise the failure or the job's end that a worker reported, if any."""
    if not has_failed(folder):
        return
    failure = json.loads(folder.read(FAILURE))
    if "end" in failure:
        raise JobEnd.kinds[failure["end"]](failure["facts"])
    if "refusal" in failure:
        is_of_call = failure["exit_code"] == CallError.exit_code
        refused = (RefusalError if is_of_call else RefusedDataError)(failure["error"])
        refused.refusal = Refusal.from_json(failure["refusal"])
        raise refused
    raise _ERRORS[failure["exit_code"]](failure["error"])
