"""A folder as somebody has it on disk, and what is true of each of its images."""

import io
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from PIL import Image

from shardkit.testing import encoded

WIDTH, HEIGHT = 24, 20  # of every picture, pixels
KINDS = {
    "jpg": "JPEG",
    "jpeg": "JPEG",
    "jfif": "JPEG",
    "png": "PNG",
    "gif": "GIF",
    "bmp": "BMP",
    "tif": "TIFF",
    "tiff": "TIFF",
    "webp": "WEBP",
    "pgm": "PPM",
    "ppm": "PPM",
}


@dataclass(frozen=True)
class Truth:
    """What is true of an image.

    Attributes:
        label: Name of its class; the names in a tuple if there are several; a number for regression; None for none.
        split: "train", "validation" or "test"; None if the folder does not say.
        boxes: (xmin, ymin, xmax, ymax, class) in pixels; None if the folder has no boxes.
        mask: Class numbers, [HEIGHT, WIDTH]; None if the folder has no masks.
    """

    label: str | tuple[str, ...] | float | None = None
    split: str | None = None
    boxes: tuple[tuple[float, float, float, float, str], ...] | None = None
    mask: np.ndarray | None = None


@dataclass
class Tree:
    """Files by path below a folder, and the truth of those that are images to learn from.

    Attributes:
        files: Contents.
        truth: By the path of an image.
        hidden: Contents of images that are in an archive, by their former paths.
        sources: What a user types as SOURCE, below the folder; with ``NAME=`` in front, a split.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    truth: dict[str, Truth] = field(default_factory=dict)
    hidden: dict[str, bytes] = field(default_factory=dict)
    sources: list[str] = field(default_factory=lambda: [""])

    def image(self, path, label=None, split=None, *, boxes=None, mask=None):
        """Add a picture that no other has, and what is true of it; return its path."""
        self.files[path] = _picture(len(self.files) + len(self.hidden), path)
        self.truth[path] = Truth(label, split, None if boxes is None else tuple(boxes), mask)
        return path

    def images(self, pattern, count, label=None, split=None):
        """Add pictures, with their numbers in place of ``{}``; return their paths."""
        return [self.image(pattern.format(number), label, split) for number in range(count)]

    def unlearnt(self, path):
        """Add a picture that no dataset may hold: it has no label, or is a drawing of one."""
        self.files[path] = _picture(len(self.files) + len(self.hidden), path)
        return path

    def text(self, path, content, encoding="utf-8"):
        """Add a text file."""
        self.files[path] = content.encode(encoding)

    def drawing(self, path, values, **options):
        """Add an image of these pixels, such as a mask."""
        self.files[path] = encoded(
            Image.fromarray(np.asarray(values)), KINDS[path.rpartition(".")[2].lower()], **options
        )


def _picture(seed, path):
    pixels = np.random.default_rng(seed).integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
    kind = KINDS[path.rpartition(".")[2].lower()]
    return encoded(Image.fromarray(pixels), kind, **({"lossless": True} if kind == "WEBP" else {}))


def pixels_of(data, mode=None):
    """The pixels of a file, uint8 or uint16; in a mode of Pillow's, or as they are stored."""
    image = Image.open(io.BytesIO(data))
    return np.ascontiguousarray(image.convert(mode) if mode else image)


@dataclass(frozen=True)
class Folder:
    """A folder with its name and how shardkit should read it; ``outcomes.txt`` says how it is read today.

    Attributes:
        name: What it is modelled on.
        make: Makes it.
        reading: How it should be read: "right" with no option, "advised" if a command that the refusal printed reads it
            right, "refused" if none can: the sentence says why.
        module: The module that makes it.
    """

    name: str
    make: Callable[[], Tree]
    reading: str
    module: str


FOLDERS: list[Folder] = []


def folder(name, reading="right"):
    """Register a function that fills a tree."""

    def register(fill):
        def make():
            tree = Tree()
            fill(tree)
            return tree

        FOLDERS.append(Folder(name, make, reading, fill.__module__))
        return fill

    return register
