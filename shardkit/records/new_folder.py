"""Write a folder whole or not at all."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from shardkit.dataset.manifest.pinning import refuse_pinned
from shardkit.errors import CallError


@contextlib.contextmanager
def new_folder(folder: str, what: str) -> Iterator[Path]:
    """Give the folder to write into, which gets its name at the end; after an error or Ctrl-C nothing is left.

    Args:
        folder: A local folder that does not exist, or is empty.
        what: What is done, for messages: ``extract``.

    Raises:
        CallError: The folder is in a store or not empty, or an earlier call was killed.
    """
    target = Path(folder)
    if "://" in folder:
        raise CallError(f"{folder}: {what} writes to a local folder; copy it to the store afterwards")
    refuse_pinned("FOLDER", folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise CallError(f"{folder}: this already exists and is not empty; name a new folder")
    unfinished = target.with_name(f"{target.name}.unfinished")
    if unfinished.exists():
        raise CallError(f"{unfinished}: an earlier {what} was interrupted; remove this folder, then {what} again")
    try:
        yield unfinished
        if target.exists():
            target.rmdir()
        os.rename(unfinished, target)
    except BaseException:  # also Ctrl-C: the same command works again
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
