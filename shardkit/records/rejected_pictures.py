"""The pictures of rejected files, read from the folder that a dataset was made from."""

from typing import TYPE_CHECKING

from shardkit.errors import CallError
from shardkit.image_limits import MAX_FILE_BYTES
from shardkit.images import BadImage, inspect
from shardkit.images.pillow import open_image
from shardkit.naming import relative_path_problem
from shardkit.options.words import flag_of
from shardkit.storage import Folder, open_folder

if TYPE_CHECKING:
    from PIL.Image import Image


def open_source_folder(path: str | None) -> Folder | None:
    """Return the folder of `--source-folder`; None if it is not given.

    Raises:
        CallError: There is no such folder, or it is empty.
    """
    if path is None:
        return None
    folder = open_folder(path)
    if not folder.scan():
        msg = f"{flag_of('source_folder')} {path}: there is no such folder, or it is empty; correct the path"
        raise CallError(msg)
    return folder


def opened_file(folder: Folder, path: str, side: int) -> "Image | None":
    """Return the picture of a file that was rejected; None if it does not open.

    A path that leaves the folder is not followed: the list of rejected files has what a label file or a dataset says.
    """
    if relative_path_problem(path):
        return None
    try:
        found = folder.stat(path)
        if found is None or found.num_bytes > MAX_FILE_BYTES:
            return None
        return decoded(folder.read(path), side)
    except OSError:
        return None


def decoded(data: bytes, side: int) -> "Image | None":
    """Return the picture of an encoded image, upright, as RGB; None if it does not decode."""
    from PIL import ImageOps

    try:
        image = open_image(data, inspect(data).format)  # refuses images that are too large to decode
        image.load()
        picture = ImageOps.exif_transpose(image).convert("RGB")
    except (BadImage, OSError, ValueError):
        return None
    picture.thumbnail((side, side))
    return picture
