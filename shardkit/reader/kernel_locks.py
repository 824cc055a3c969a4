"""Locks of the kernel on files of a folder: they die with their holders, however that be."""

import contextlib
import fcntl
import os


def lock_name(path: str, operation: int) -> int:
    """Open a file, made where there is none, and lock it; the lock belongs to the name and not to a file removed since.

    Args:
        path: of the file.
        operation: of `fcntl.flock`.

    Returns:
        The descriptor; closing it gives the lock back.

    Raises:
        BlockingIOError: the operation has LOCK_NB, and another holds it.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, operation)
            # Removed or renamed between our open and our lock, it would be a lock that nobody else can find.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
