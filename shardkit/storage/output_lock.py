"""One conversion at a time into a local folder. The kernel releases the lock when its process exits, even on SIGKILL.

Workers on other machines do not hold it, and object stores have no locks: see `run_token`.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator

from shardkit import naming
from shardkit.errors import MachineError
from shardkit.storage.folders import Folder, LocalFolder


@contextlib.contextmanager
def locked(output: Folder) -> Iterator[None]:
    """Hold the folder's lock; do nothing in object stores.

    Raises:
        MachineError: Another process holds it.
    """
    if not isinstance(output, LocalFolder):
        yield
        return
    path = f"{output.url}/{naming.WORK_FOLDER}/lock"
    while True:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                msg = f"{output.url}: another shardkit is writing into this folder; wait for it to end"
                raise MachineError(msg) from None
            # Its holder removes it at the end: opened just before, it would be a lock that nobody else can find.
            if not os.path.exists(path) or not os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                continue
            yield
            return
