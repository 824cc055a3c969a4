"""Write one local file for a user, such as a picture or a page: it is there whole, or not at all."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from shardkit.errors import MachineError


@contextlib.contextmanager
def whole_file(path: Path, what: str) -> Iterator[Path]:
    """Give the block a temporary path, and rename it to the file's when the block ends without an error.

    Args:
        path: The file.
        what: What it is, for the error: "the page".

    Raises:
        MachineError: The file cannot be written.
    """
    temporary = path.with_name(f"{path.name}.unfinished")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        msg = f"{path}: {what} cannot be written: {error.strerror or error}"
        raise MachineError(msg) from error
    finally:
        with contextlib.suppress(OSError):  # it is not there
            temporary.unlink()
