"""One conversion at a time into a local folder: a lock that the kernel releases when the process exits.

Workers on other machines do not hold it, and object stores have no locks: `run_token` covers those.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator

from shardkit import naming
from shardkit.errors import MachineError
from shardkit.storage.folder import Folder
from shardkit.storage.kernel_locks import lock_file
from shardkit.storage.local import LocalFolder


@contextlib.contextmanager
def locked(output: Folder, name: str | None = None) -> Iterator[None]:
    """Hold the folder's lock during the block; do nothing in object stores.

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
