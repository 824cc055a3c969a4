"""Call a function for each item in threads of this process, and show the progress meanwhile."""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from shardkit.errors import MachineError, ShardkitError
from shardkit.writing.progress import Phase, Show, show_once, show_while

_T = TypeVar("_T")


def run_in_threads(work: Callable[[_T], None], items: Iterable[_T], num_threads: int, show: Show, phase: Phase) -> None:
    """Call a function for each item. After an error or Ctrl-C, no further item is begun.

    Args:
        work: The function.
        items: The items, in the order in which to start them; taken one by one, when a thread is free.
        num_threads: Number of threads, at least 1.
        show: Receives the progress.
        phase: The phase, which has begun.

    Raises:
        ShardkitError: Raised by `work`; items at work were finished before.
        OSError: Likewise.
        MachineError: Another exception, which is the cause, was raised by `work`.
    """
    left, lock, is_over = iter(items), threading.Lock(), threading.Event()

    def work_on() -> None:
        try:
            for item in _shared(left, lock):
                if is_over.is_set():
                    return
                work(item)
        except BaseException:
            is_over.set()
            raise

    pool = ThreadPoolExecutor(num_threads, thread_name_prefix=phase.name)
    try:
        threads = [pool.submit(work_on) for _ in range(num_threads)]
        # The main thread waits in short steps: it answers Ctrl-C between them.
        show_while(lambda pause: bool(wait(threads, pause).not_done), show, phase)
        for thread in threads:
            _raise_error_of(thread)
        show_once(show, phase)  # the final numbers
    finally:
        is_over.set()
        pool.shutdown(wait=False)


def _raise_error_of(thread: Future[None]) -> None:
    try:
        thread.result()
    except (ShardkitError, OSError):
        raise
    except Exception as error:  # a fault of a library or of ours; the user gets a sentence, a program the cause
        msg = f"a worker failed: {type(error).__name__}: {error}"
        raise MachineError(msg) from error


def _shared(items: Iterator[_T], lock: threading.Lock) -> Iterator[_T]:
    """Yield items of an iterator that other threads take items of, too."""
    while True:
        with lock:
            try:
                item = next(items)
            except StopIteration:
                return
        yield item
