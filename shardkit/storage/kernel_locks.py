"""Locks on files that the kernel releases when the process exits, even on SIGKILL."""

import contextlib
import fcntl
import os
from collections.abc import Iterator

from shardkit import naming
from shardkit.errors import MachineError
from shardkit.storage.folder import Folder
from shardkit.storage.local import LocalFolder


def lock_file(path: str, operation: int, *, for_writing: bool = False, create_folder: bool = False) -> int:
    """Open a file, creating it if needed, and lock it under its name, not a file that was removed in the meantime.

    Args:
        path: The file's path.
        operation: An operation of `fcntl.flock`.
        for_writing: Whether the descriptor must be writable. A file that another user left is then replaced.
        create_folder: Whether to create the file's folder if it is missing.

    Returns:
        The descriptor. Closing it releases the lock.

    Raises:
        BlockingIOError: The operation has LOCK_NB, and another descriptor holds the lock.
        PermissionError: The file cannot be created, or it belongs to another user and can be neither read nor, with
            `for_writing`, removed.
    """
    while True:
        if create_folder:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        descriptor = _open(path)
        try:
            fcntl.flock(descriptor, operation)
            # If the file was removed or renamed after it was opened here, nobody else can find this lock.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                    if not for_writing or _is_writable(descriptor):
                        return descriptor
                    os.remove(path)
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _open(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except PermissionError:
        # In a shared folder the file may be another user's; the kernel locks files that are open for reading, too.
        try:
            return os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            pass
        raise


def _is_writable(descriptor: int) -> bool:
    return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDWR


@contextlib.contextmanager
def locked(output: Folder, name: str | None = None) -> Iterator[None]:
    """Hold the folder's lock during the block; do nothing in object stores.

    Workers on other machines do not hold it, and object stores have no locks: `run_token` covers those.

    Args:
        output: The folder.
        name: Path of the lock's file in it, which is removed at the end; None for that of conversions, which is removed
            together with their work folder.

    Raises:
        MachineError: Another process holds it.
    """
    if not isinstance(output, LocalFolder):
        yield
        return
    path = f"{output.path}/{name or f'{naming.WORK_FOLDER}/lock'}"
    try:
        # A conversion that ends removes the folder with the lock in it.
        descriptor = lock_file(path, fcntl.LOCK_EX | fcntl.LOCK_NB, create_folder=True)
    except BlockingIOError:
        msg = f"{output.url}: another shardkit is writing into this folder; wait for it to end"
        raise MachineError(msg) from None
    try:
        yield
    finally:
        if name is not None:
            os.remove(path)
        os.close(descriptor)
