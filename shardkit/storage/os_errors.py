"""Errors of the operating system and of object stores, told in one sentence that names the file."""

import contextlib
import errno
from collections.abc import Iterator

from shardkit.errors import MachineError, ShardkitError, StoreError
from shardkit.storage.store_errors import raise_store_failure


@contextlib.contextmanager
def os_errors_as(action: str, url: str) -> Iterator[None]:
    """Turn an OSError of the block into a MachineError; shardkit's own errors pass unchanged.

    Args:
        action: Verb phrase for what failed, such as "read the table".
        url: Path or URL of the file or folder.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, ShardkitError):
            raise
        raise_store_failure(url, error)
        msg = f"{url}: cannot {action}: {error.strerror or error}"
        raise MachineError(msg) from error


def unreadable(url: str, error: OSError) -> ShardkitError:
    """Return the error for a file that exists, or may exist, and that the machine cannot read."""
    if isinstance(error, ShardkitError):  # it says what is wrong, such as a pipe in the place of a file
        return error
    try:
        raise_store_failure(url, error)
    except StoreError as failure:
        return failure
    return MachineError(
        f"{url}: cannot be read: {error.strerror or error}; check its permissions, the disk and the network, then run "
        f"again"
    )


def is_out_of_space(error: BaseException) -> bool:
    """Return whether an error says that the disk or the quota is full."""
    return isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}
