"""Tell failures of a disk, a network or a whole object store from those of one file.

An image that cannot be read is rejected, and a few rejected images are tolerated. If the disk fails, the store does not
answer or the credentials have expired, that would leave good images out of the dataset, so the run stops instead.
"""

import contextlib
import errno
from collections.abc import Iterator

from shardkit.errors import MachineError, ShardkitError, StoreError
from shardkit.storage import amazon, google

AGAIN = "then run the same command again"
# Errors that say something about one path. All others are of the disk, the network or this process, also unknown ones.
_OF_A_PATH = {
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM),
    *(errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ),
}
_GOOGLE_REMEDY = "check the credentials, their permissions and the network"


@contextlib.contextmanager
def store_errors(url: str) -> Iterator[None]:
    """Turn an error of an object store into a StoreError, or into a PermissionError if only this object is concerned.

    Args:
        url: URL of the file or folder; the client's message may not have it.
    """
    try:
        with google.shorten_errors(url):
            yield
    except OSError as error:
        raise_store_failure(url, error)
        if explained := amazon.explain(str(error)):
            raise PermissionError(errno.EACCES, explained.text, url) from error
        raise


def raise_store_failure(url: str, error: OSError) -> None:
    """Raise a StoreError if an error means that a store fails for all files, not for one.

    Args:
        url: URL of the file or folder.
        error: The error, of a store's client, of a local disk or of `store_errors`.

    Raises:
        StoreError: The store refuses or does not answer.
    """
    if isinstance(error, StoreError):
        raise error
    if isinstance(error, (ShardkitError, FileNotFoundError)):
        return
    if explained := amazon.explain(str(error)):
        if not explained.fault.is_of_object:
            # The cause tells `is_transient` whether to try again.
            cause = error if explained.fault.is_transient else PermissionError(errno.EACCES, str(error))
            raise StoreError(f"{url}: {explained.text}, {AGAIN}") from cause
    elif url.startswith("gs://") and (error.errno is None or str(error.filename).startswith("gs://")):
        # Others are of the local disk, to which an object is written first.
        raise StoreError(f"{url}: {error.strerror or error}; {_GOOGLE_REMEDY}, {AGAIN}") from error


def is_of_machine(error: OSError) -> bool:
    """Return whether an error of reading says nothing about the file: the disk, the network or this process failed.

    Errors of object stores have no number; `raise_store_failure` tells them apart.
    """
    if isinstance(error, ShardkitError):
        return isinstance(error, MachineError)
    return error.errno is not None and error.errno not in _OF_A_PATH


def is_lasting(error: OSError) -> bool:
    """Return whether an error of S3 stays until the user does something."""
    explained = amazon.explain(str(error))
    return explained is not None and not explained.fault.is_transient


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
