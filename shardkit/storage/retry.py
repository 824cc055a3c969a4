"""Retry an action of a worker after a transient error of a network file system or an object store.

Errors of a worker travel to the driver as data, so that no runner retries the task: transient ones are retried here.
"""

import errno
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from shardkit.errors import DataError, MachineError
from shardkit.storage.store_errors import is_lasting

T = TypeVar("T")

PAUSES_SECONDS = (0.5, 2.0)  # between attempts; three attempts in all
_TRANSIENT = {
    *(errno.EAGAIN, errno.EBUSY, errno.EINTR, errno.EIO, errno.EPIPE, errno.ESTALE, errno.ETIMEDOUT),
    *(errno.ECONNABORTED, errno.ECONNREFUSED, errno.ECONNRESET, errno.ENOTCONN, errno.EHOSTDOWN, errno.EHOSTUNREACH),
    *(errno.ENETDOWN, errno.ENETRESET, errno.ENETUNREACH),
}


def is_transient(error: OSError) -> bool:
    """Return whether the same action may succeed a moment later.

    Errors of object stores have no errno. Those of S3 are told apart by their words, others count as transient.
    """
    if isinstance(error, MachineError):  # a sentence about another error, or shardkit's own refusal
        return isinstance(error.__cause__, OSError) and is_transient(error.__cause__)
    if isinstance(error, (FileNotFoundError, PermissionError, DataError)) or is_lasting(error):
        return False
    return error.errno is None or error.errno in _TRANSIENT


def retried(action: Callable[[], T]) -> T:
    """Return the result of `action`; call it again after transient errors, and raise the last one."""
    for pause in PAUSES_SECONDS:
        try:
            return action()
        except OSError as error:  # noqa: PERF203 - each attempt needs its own
            if not is_transient(error):
                raise
            time.sleep(pause)
    return action()


def retried_iterator(start: Callable[[], Iterator[T]]) -> Iterator[T]:
    """Yield the items of `start()`; after a transient error start again and skip the items already yielded.

    Args:
        start: Function that returns the same items in the same order on every call.
    """
    num_yielded = 0
    for pause in (*PAUSES_SECONDS, None):
        try:
            for number, item in enumerate(start()):
                if number >= num_yielded:
                    num_yielded += 1
                    yield item
        except OSError as error:  # noqa: PERF203 - each attempt needs its own
            if pause is None or not is_transient(error):
                raise
            time.sleep(pause)
        else:
            return
