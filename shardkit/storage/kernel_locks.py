"""Locks of the kernel on files of a folder: the kernel releases them when the process exits, even on SIGKILL."""

import contextlib
import fcntl
import os


def _opened(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except PermissionError:
        # Another user's, of a folder that is shared: a lock of the kernel needs no right to write.
        try:
            return os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            pass
        raise


def lock_to_write(path: str) -> int:
    """Lock a file as `lock_name` does, for writing: one that another user left is removed.

    Raises:
        PermissionError: It cannot be removed.
    """
    while True:
        descriptor = lock_name(path, fcntl.LOCK_EX)
        if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDWR:
            return descriptor
        try:
            os.remove(path)
        finally:
            os.close(descriptor)


def lock_name(path: str, operation: int) -> int:
    """Open a file, made where there is none, and lock it; the lock belongs to the name and not to a file removed since.

    Args:
        path: of the file.
        operation: of `fcntl.flock`.

    Returns:
        The descriptor; closing it gives the lock back.

    Raises:
        BlockingIOError: the operation has LOCK_NB, and another holds it.
        PermissionError: the file is another user's, who lets nobody read it, or it cannot be made.
    """
    while True:
        descriptor = _opened(path)
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
