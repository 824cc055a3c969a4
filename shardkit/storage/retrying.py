"""Try an action of a worker again after an error that may pass: a network file system or an object store that stumbles.

Errors of a worker travel to the driver as data, so no runner repeats the task: what may pass is repeated here.
"""

import errno
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from shardkit.errors import MachineError

T = TypeVar("T")

PAUSES_SECONDS = (0.5, 2.0)  # between attempts: three in all
_TRANSIENT = {
    *(errno.EAGAIN, errno.EBUSY, errno.EINTR, errno.EIO, errno.EPIPE, errno.ESTALE, errno.ETIMEDOUT),
    *(errno.ECONNABORTED, errno.ECONNREFUSED, errno.ECONNRESET, errno.EHOSTUNREACH, errno.ENETUNREACH),
}


def is_transient(error: OSError) -> bool:
    """Return whether the same action may succeed a moment later.

    Errors of object stores have no errno, and what is permanent among them cannot be told; they count as transient.
    """
    if isinstance(error, MachineError):  # a sentence about another error, or shardkit's own refusal
        return isinstance(error.__cause__, OSError) and is_transient(error.__cause__)
    if isinstance(error, (FileNotFoundError, PermissionError)):
        return False
    return error.errno is None or error.errno in _TRANSIENT


def retried(action: Callable[[], T]) -> T:
    """Return the result of `action`, which is called again after transient errors; the last error is raised."""
    for pause in PAUSES_SECONDS:
        try:
            return action()
        except OSError as error:  # noqa: PERF203 - each attempt needs its own
            if not is_transient(error):
                raise
            time.sleep(pause)
    return action()


def retried_iterator(start: Callable[[], Iterator[T]]) -> Iterator[T]:
    """Yield the items of `start()`; after a transient error it starts again, and items already given are skipped.

    Args:
        start: Function that gives the same items in the same order on every call.
    """
    num_given = 0
    for pause in (*PAUSES_SECONDS, None):
        try:
            for number, item in enumerate(start()):
                if number >= num_given:
                    num_given += 1
                    yield item
        except OSError as error:  # noqa: PERF203 - each attempt needs its own
            if pause is None or not is_transient(error):
                raise
            time.sleep(pause)
        else:
            return
