"""Do work in threads of this process, without Beam.

Beam has runners for one process, too. They pass everything through gRPC between threads: under load they have aborted
the process and have waited without end, and they take two seconds to import and half a second for each step.
"""

import collections
import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, TypeVar

from shardkit.errors import MachineError, ShardkitError
from shardkit.parallel.for_each import Work
from shardkit.parallel.progress import Phase, Poll, poll_while, shown

_T = TypeVar("_T")
_END: Any = object()


@dataclass(frozen=True, slots=True)
class ThreadExecutor:
    """Works in threads; see `for_each.Executor`. Codecs, hashes and files run without the interpreter's lock."""

    num_threads: int  # at least 1
    is_remote: ClassVar[bool] = False
    temp_location: ClassVar[None] = None

    def for_each(self, name: str, items: Sequence[Any], work: Work, phase: Phase) -> None:
        """See Executor. After an error or Ctrl-C no item is begun, and those that were begun are finished."""
        del name
        with self.working(phase) as each:
            each(work, items)

    @contextlib.contextmanager
    def working(self, phase: Phase) -> Iterator[Callable[[Work, Iterable[Any]], collections.deque[Any]]]:
        """Show a phase during the block; its value calls a function for each item, and returns all that it yields."""
        with shown(phase) as poll:
            yield partial(_work_on_each, self.num_threads, phase, poll)


def _work_on_each(
    num_threads: int, phase: Phase, poll: Poll, work: Work, items: Iterable[Any]
) -> collections.deque[Any]:
    """Call a function for each item, taken one by one when a thread is free; return all that it yields."""
    left, lock, is_over = iter(items), threading.Lock(), threading.Event()
    results: collections.deque[Any] = collections.deque()

    def work_on() -> None:
        try:
            while not is_over.is_set():
                with lock:
                    item = next(left, _END)
                if item is _END:
                    return
                results.extend(work(item) or ())
        except BaseException:
            is_over.set()
            raise

    pool = ThreadPoolExecutor(num_threads, thread_name_prefix=phase.name)
    try:
        threads = [pool.submit(work_on) for _ in range(num_threads)]
        # The main thread waits in short steps: it answers Ctrl-C between them.
        poll_while(lambda pause: bool(wait(threads, pause).not_done), poll, phase.watch)
        for thread in threads:
            _raise_error_of(thread)
        poll()  # the final numbers
    finally:
        is_over.set()
        pool.shutdown(wait=False)
    return results


def _raise_error_of(thread: Future[None]) -> None:
    try:
        thread.result()
    except (ShardkitError, OSError):
        raise
    except Exception as error:  # a fault of a library or of ours; the user gets a sentence, a program the cause
        raise MachineError(f"a worker failed: {type(error).__name__}: {error}") from error


def taken(items: collections.deque[_T]) -> Iterator[_T]:
    """Yield items in their order; each is forgotten by then."""
    while items:
        yield items.popleft()
