"""What the files beside the images say: those that a source is read with, and claims, which say what a file names."""

import posixpath
from dataclasses import dataclass
from typing import Literal

from shardkit.naming import counted, printable

Use = Literal["labels", "splits", "groups", "features", "class names", "masks"]

# How the names in the file and the images' paths agree.
Form = Literal["path", "end of the path", "name", "name without ending"]

Gives = Literal["labels", "splits", "nothing", "unknown"]


@dataclass(frozen=True, slots=True)
class Claim:
    """A file that names images."""

    path: str  # the file, below SOURCE
    num_named: int  # number of different images that its first records name
    num_images: int  # number of images that names were compared with
    is_whole: bool  # whether all of its records and all images were compared; else only the first ones
    form: Form  # how its names and the images' paths agree
    gives: Gives  # what it says about the images; "unknown" if its format is not read
    is_used: bool = False  # whether the source is read with it
    why: str = ""  # why it is not used, as a clause; '' if it is
    num_files: int = 1  # number of such files in its folder, if each is called like an image; else 1

    @property
    def may_lose_labels(self) -> bool:
        return not self.is_used and self.gives in {"labels", "unknown"}

    @property
    def glob(self) -> str:
        """What hides the file and those like it, as for `ignore`."""
        folder, name = posixpath.split(self.path)
        return f"/{posixpath.join(folder, '*' + posixpath.splitext(name)[1]) if self.num_files > 1 else self.path}"

    @property
    def sentence(self) -> str:
        """What the file names, for the user, without a full stop."""
        if self.num_files > 1:
            others = counted(self.num_files - 1, "more file")
            return f"{printable(self.path)}, like {others} next to it, has the name of an image"
        named = f"{self.num_named:,} of {counted(self.num_images, 'image')}" if self.is_whole else "images"
        return f"{printable(self.path)} names {named} by the {self.form}"


@dataclass(frozen=True, slots=True)
class UsedFile:
    """A file, besides the images, that a source is read with."""

    path: str  # the file, below the source's folder; a glob such as `labels/*.txt` for a file of each image
    gives: Use  # what it says about the images
