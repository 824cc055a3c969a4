"""Save a picture."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from shardkit.errors import CallError, MachineError

if TYPE_CHECKING:
    from PIL.Image import Image

_FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP"}


def save_picture(picture: "Image", path: Path) -> None:
    """Write a picture in the format of the file's ending, under a temporary name until it is whole.

    Raises:
        CallError: The ending is not that of a picture.
        MachineError: The file cannot be written.
    """
    kind = _FORMATS.get(path.suffix.lower())
    if kind is None:
        msg = f"{path}: pictures are written as {', '.join(_FORMATS)}; name a file with one of these endings"
        raise CallError(msg)
    temporary = path.with_name(f"{path.name}.unfinished")
    try:
        picture.save(temporary, kind)
        temporary.replace(path)
    except OSError as error:
        msg = f"{path}: the picture cannot be written: {error.strerror or error}"
        raise MachineError(msg) from error
    finally:
        with contextlib.suppress(OSError):  # it is not there
            temporary.unlink()
