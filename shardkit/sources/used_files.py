"""The files that a source is read with."""

from dataclasses import dataclass
from typing import Literal

Use = Literal["labels", "splits", "class names", "masks"]


@dataclass(frozen=True, slots=True)
class UsedFile:
    """A file, besides the images, that a source is read with."""

    path: str  # the file, below the source's folder; a glob such as `labels/*.txt` for a file of each image
    gives: Use  # what it says about the images
