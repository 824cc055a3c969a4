"""Sources of few annotation files that name many images.

A format finds its files, reads the records of one file, and turns a record into rows. Here is what they have in common:
each file is a part, a record whose image path may not be followed is rejected under the record's name, and one part
counts the images that no file names.
"""

import abc
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Generic, TypeVar

from shardkit.sources.claims.claim import UsedFile
from shardkit.sources.detection.image_paths import ImagePaths
from shardkit.sources.unlisted_images import (
    CountingSource,
    UnlistedImages,
    count_unlisted_images,
    count_unnamed,
    images_count,
)
from shardkit.sources.walking import folders_in, join, parent_of
from shardkit.storage import Folder, os_errors_as

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AnnotationFile:
    """A file that names images.

    Attributes:
        path: Path of the file.
        paths: How its image paths become keys.
        split: The split of all its images; None if the file does not give it.
    """

    path: str
    paths: ImagePaths
    split: str | None


F = TypeVar("F", bound=AnnotationFile)


def read_records(folder: Folder, path: str, read: Callable[[BinaryIO, str], Iterable[T]]) -> Iterator[T]:
    """Yield what a function reads from an open file, whose URL it is told for messages.

    Raises:
        MachineError: The disk or the network failed.
    """
    url = f"{folder.url}/{path}"
    with os_errors_as("read", url), folder.open(path) as file:
        yield from read(file, url)


class AnnotationFiles(CountingSource, Generic[F]):
    """A source of few annotation files that name many images.

    Attributes:
        folder: The folder that keys start at.
        files: The annotation files.
        is_whole: Whether all images are counted that no file names: if SOURCE is a folder.
        unnamed: End of the phrase for images that no file names.
    """

    __slots__ = ()
    files: tuple[F, ...]
    is_whole: bool
    unnamed = "that no annotation names"

    @abc.abstractmethod
    def keys(self, file: F) -> Iterator[str]:
        """Yield the keys of the images that a file names."""

    @property
    def used_files(self) -> tuple[UsedFile, ...]:
        """See Source."""
        return tuple(UsedFile(file.path, "labels") for file in self.files)

    def parts(self) -> Sequence[Any]:
        """Return one part for each file, and one for the images that none names."""
        return [UnlistedImages(), *self.files]

    def count_unlisted(self) -> dict[str, int]:
        """See CountingSource; images next to those that a file names, and with `is_whole` all others."""
        places = dict[str, None]()
        skipped = images_count(count_unnamed(self.folder, self._placed(places)), f"next to others {self.unnamed}")
        if self.is_whole:
            inner = [join(place, name) for place in places for name in folders_in(self.folder, place)]
            skipped |= count_unlisted_images(self.folder, self.unnamed, below=["", *inner], covered=places)
        return skipped

    def _placed(self, places: dict[str, None]) -> Iterator[str]:
        for file in self.files:
            for key in self.keys(file):
                places[parent_of(key)] = None
                yield key
