"""Remedies for errors of the disk that a cache is on."""

import contextlib
import errno
from collections.abc import Iterator

from shardkit.errors import MachineError

_OTHER_USERS_FILE = (
    "give each user their own cache folder, or let all of them read and write in the folder and the files in it"
)
_FULL = "free some room on its disk, or choose a cache folder on a larger one"
_NO_LOCKS = "its file system has no locks: choose a cache folder on this machine's own disk"
_REMEDIES = {
    errno.EACCES: _OTHER_USERS_FILE,
    errno.EPERM: _OTHER_USERS_FILE,
    errno.EROFS: "choose a cache folder that is writable",
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.ENOLCK: _NO_LOCKS,
    errno.ENOTSUP: _NO_LOCKS,
    errno.ENOSYS: _NO_LOCKS,
}
_DEFAULT_REMEDY = "choose a cache folder on another disk of this machine"


@contextlib.contextmanager
def cache_errors(directory: str) -> Iterator[None]:
    """Turn an OSError of the block into a MachineError that names the file and the remedy.

    Args:
        directory: The cache's folder, named if the error names no file.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, MachineError):
            raise
        remedy = _REMEDIES.get(error.errno or 0, _DEFAULT_REMEDY)
        msg = f"{error.filename or directory}: the cache cannot be used: {error.strerror or error}; {remedy}"
        raise MachineError(msg) from error
