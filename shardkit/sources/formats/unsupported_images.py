"""Recognise files of pictures in a format that shardkit does not read: they are rejected, not skipped.

A skipped file is one that belongs to no dataset of images, such as ``.txt``, or a video next to images. A folder of
photographs in a camera's own format would otherwise vanish without counting for ``max_rejected``.
"""

from shardkit.reject_reasons import UNSUPPORTED_FORMAT
from shardkit.sources.file_names import encodable_path, ending
from shardkit.sources.listing import RecordProblem

_RAW = frozenset({".arw", ".cr2", ".cr3", ".dng", ".nef", ".nrw", ".orf", ".pef", ".raf", ".rw2", ".srw"})
_VIDEO = frozenset({".avi", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".webm", ".wmv"})
_DRAWING = frozenset({".ai", ".eps", ".pdf", ".psd", ".svg", ".xcf"})
_PIXELS = frozenset({".dcm", ".exr", ".jxl", ".tga"})

# What to do about a file, by its ending.
_REMEDIES = {
    **dict.fromkeys(_RAW, "develop the camera's raw file to JPEG or TIFF, such as with darktable"),
    **dict.fromkeys(_VIDEO, "extract frames from the video, such as with ffmpeg"),
    **dict.fromkeys(_DRAWING, "export the drawing or document as PNG"),
    **dict.fromkeys(_PIXELS, "convert it to PNG"),
}


def unsupported_format(path: str) -> RecordProblem | None:
    """Return why a file is rejected that holds a picture in a format that is not read; None for any other file."""
    kind = ending(path)
    remedy = _REMEDIES.get(kind)
    if remedy is None:
        return None
    message = f"{kind} is a format that shardkit does not read; {remedy}, or move it away"
    return RecordProblem(encodable_path(path), UNSUPPORTED_FORMAT, message)


def is_video(path: str) -> bool:
    """Return whether a file is a video by its ending."""
    return ending(path) in _VIDEO
