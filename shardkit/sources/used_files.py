"""The files that a source is read with."""

from dataclasses import dataclass
from typing import Literal

Use = Literal["labels", "splits", "class names", "masks"]


@dataclass(frozen=True, slots=True)
class UsedFile:
    """A file, besides the images, that a source is read with.

    Attributes:
        path: The file, below the source's folder; a glob such as ``labels/*.txt`` for a file of each image.
        gives: What it says about the images.
    """

    path: str
    gives: Use
