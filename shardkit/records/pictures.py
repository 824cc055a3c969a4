"""Save a picture."""

from pathlib import Path
from typing import TYPE_CHECKING

from shardkit.errors import CallError
from shardkit.storage.whole_file import whole_file

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
    with whole_file(path, "the picture") as temporary:
        picture.save(temporary, kind)
