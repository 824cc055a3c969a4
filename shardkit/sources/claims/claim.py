"""A claim: a file that names images, and what it says about them."""

from dataclasses import dataclass
from typing import Literal

from shardkit.naming import counted, printable

# How the names in the file and the images' paths agree.
Form = Literal["path", "end of the path", "name", "name without ending"]
Gives = Literal["labels", "splits", "nothing"]


@dataclass(frozen=True, slots=True)
class Claim:
    """A file that names images.

    Attributes:
        path: The file, below SOURCE.
        num_named: Number of different images that its first records name.
        num_images: Number of images that names were compared with.
        is_whole: Whether all of its records and all images were compared; else only the first ones.
        form: How its names and the images' paths agree.
        gives: What it says about the images.
        is_used: Whether the source is read with it.
        why: Why it is not used, as a clause; '' if it is.
    """

    path: str
    num_named: int
    num_images: int
    is_whole: bool
    form: Form
    gives: Gives
    is_used: bool = False
    why: str = ""

    @property
    def sentence(self) -> str:
        """What the file names, for the user, without a full stop."""
        named = f"{self.num_named:,} of {counted(self.num_images, 'image')}" if self.is_whole else "images"
        return f"{printable(self.path)} names {named} by the {self.form}"
