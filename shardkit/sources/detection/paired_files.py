"""Sources in which each image has an annotation file of its own.

A format finds the groups of files in a source, such as pairs of folders; scans one group; yields the rows of a pair
and of the files without a partner; and parses one annotation file. Here is what they have in common: a group
is listed in slices of its pairs, a slice on each worker, and one part lists and counts what has no partner.
"""

import abc
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from shardkit.naming import IMAGE_ENDINGS, printable
from shardkit.reject_reasons import BAD_ANNOTATION
from shardkit.sources.claims.claim import UsedFile
from shardkit.sources.detection.rows import annotated_rows, image_row, rejected_image
from shardkit.sources.formats.format import Options
from shardkit.sources.formats.one_image import ImageFormat
from shardkit.sources.formats.record import ImageRecord
from shardkit.sources.listing import ListingRow, count_skipped, ending, rejected_row, unicode_problem
from shardkit.sources.unlisted_images import CountingSource, UnlistedImages, count_unlisted_images
from shardkit.sources.visibility import refuse_other_count
from shardkit.sources.walking import children, files_below, is_image, join, num_slices, read_label_file, slice_bounds
from shardkit.storage import Entry, Folder

REST = -1  # index of the part that has the files without a partner


@dataclass(frozen=True, slots=True)
class FolderPair:
    """A folder of images and the folder of their annotation files.

    Attributes:
        images: Path of the images.
        annotations: Path of the annotation files; the same if they are in one folder.
        split: The split of all these images, if a folder's name gives it.
    """

    images: str
    annotations: str
    split: str | None


G = TypeVar("G")  # a group of files
P = TypeVar("P")  # a pair of an image and its annotation file


@dataclass(slots=True)
class GroupFiles(Generic[G, P]):
    """The files of a group, as one host sees them.

    Attributes:
        group: The group.
        place: The folder or list that names the group in messages.
        pairs: The pairs, in the order in which they are listed.
        num_parsed: Number of files that are parsed, about, from which the number of slices follows.
        num_files: Number of files that must be the same on each host, or slices would overlap or have gaps.
        skipped: Number of other files by ending, and of what else a part skips.
    """

    group: G
    place: str
    pairs: Sequence[P] = ()
    num_parsed: int = 0
    num_files: int = 0
    skipped: dict[str, int] = field(default_factory=dict)


D = TypeVar("D", bound=FolderPair)


@dataclass(slots=True)
class StemFiles(GroupFiles[D, str]):
    """The files of a pair of folders: annotation files by stem, sorted images by stem, and paths of inner folders.

    Names of images in inner folders, such as one for each class, are paths below the folder of images.
    """

    annotations: dict[str, Entry] = field(default_factory=dict)
    images: dict[str, list[Entry]] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)

    def add_entries(self, folder: Folder, annotation_ending: str) -> None:
        """List the folders and add their files; the format sets the pairs and the numbers."""
        are_deeper = self._add_images_below(folder)
        for path in dict.fromkeys((self.group.annotations, self.group.images)):
            for entry in children(folder, path):
                if entry.is_folder:
                    self.folders += [] if are_deeper else [join(path, entry.name)]
                    continue
                stem, kind = posixpath.splitext(entry.name)[0], ending(entry.name)
                if path == self.group.annotations and kind == annotation_ending:
                    self.annotations[stem] = entry
                elif path == self.group.images and kind in IMAGE_ENDINGS:
                    self.images.setdefault(stem, []).append(entry)
                else:
                    count_skipped(self.skipped, kind)

    def _add_images_below(self, folder: Folder) -> bool:
        """Add the images in inner folders, if no image is above them and no annotation file is as deep."""
        images, annotations = (children(folder, path) for path in (self.group.images, self.group.annotations))
        if self.group.images == self.group.annotations:
            return False
        if any(is_image(one.name) for one in images) or any(one.is_folder for one in annotations):
            return False
        for path, entry in files_below(folder, self.group.images):
            if is_image(entry.name):
                image = entry._replace(name=path[len(self.group.images) + 1 :])
                self.images.setdefault(posixpath.splitext(entry.name)[0], []).append(image)
        return True


@dataclass(frozen=True, slots=True)
class GroupPart:
    """A part of a source: a slice of a group's pairs, or with index REST the files without a partner.

    ``num_files`` is the number of files that the driver counted.
    """

    group: Any
    index: int
    num_slices: int
    num_files: int


class PairedFiles(CountingSource, Generic[G, P]):
    """A source in which each image has an annotation file of its own.

    Attributes:
        format: The format of the annotation files.
        options: What the format is told of other files.
        groups: The groups of files.
        first_index: Index of the first part of a group, which has the counts of other files: 0 if no part is REST.
        unlisted: End of the phrase for the images outside of the groups; '' to not count them.
        annotation_ending: Ending of the annotation files.
    """

    __slots__ = ()
    format: ImageFormat
    options: Options = MappingProxyType({})
    groups: tuple[G, ...]
    first_index = REST
    annotation_ending = ".txt"

    @property
    def unlisted(self) -> str:
        """See the class."""
        return ""

    @property
    def used_files(self) -> tuple[UsedFile, ...]:
        """See Source."""
        folders = (group.annotations if isinstance(group, FolderPair) else "" for group in self.groups)
        return tuple(UsedFile(join(path, f"*{self.annotation_ending}"), "labels") for path in dict.fromkeys(folders))

    @abc.abstractmethod
    def scan(self, group: G) -> GroupFiles[G, P]:
        """List the files of a group."""

    @abc.abstractmethod
    def pair_rows(self, files: Any, pair: P) -> Iterator[ListingRow]:
        """Yield the rows of a pair; `files` is what `scan` returned."""

    def rest_rows(self, files: Any) -> Iterator[ListingRow]:
        """Yield the rows of files without a partner."""
        del files
        return iter(())

    def folders_of(self, group: G) -> Sequence[str]:
        """Return the folders that a group lists completely."""
        return (group.annotations, group.images) if isinstance(group, FolderPair) else ()

    def parts(self) -> list[GroupPart | UnlistedImages]:
        """Return slices of each group's pairs, a part per group for files without partner, and one for other images."""
        parts: list[GroupPart | UnlistedImages] = [UnlistedImages()] if self.unlisted else []
        for group in self.groups:
            files = self.scan(group)
            num = num_slices(files.num_parsed)
            parts += [GroupPart(group, index, num, files.num_files) for index in range(self.first_index, num)]
        return parts

    def rows(self, part: GroupPart, skipped: dict[str, int]) -> Iterator[ListingRow]:
        """See CountingSource."""
        files = self.scan(part.group)
        refuse_other_count(self.folder, files.place, files.num_files, part.num_files)
        if part.index != self.first_index:
            files.skipped.clear()  # the first part counts them
        if part.index == REST:
            yield from self.rest_rows(files)
        else:
            for pair in files.pairs[slice_bounds(len(files.pairs), part.index, part.num_slices)]:
                yield from self.pair_rows(files, pair)
        skipped |= files.skipped

    def count_unlisted(self, below: Iterable[str] = ("",)) -> dict[str, int]:
        """See CountingSource; counts the images below some folders."""
        covered = {path for group in self.groups for path in self.folders_of(group)}
        return count_unlisted_images(self.folder, self.unlisted, below=below, covered=covered)

    def read(self, path: str, entry: Entry) -> ImageRecord | str:
        """Read and parse an annotation file, or return the message of an image whose file cannot be used."""
        data = read_label_file(self.folder, path, entry.num_bytes, self.format.max_bytes)
        found = ImageRecord(bad=data) if isinstance(data, str) else self.format.parse(data, self.options)
        if found.bad:
            return f"{printable(path)}: {found.bad}; correct the file, or write it again"
        found.file = path
        return found

    def image_rows(
        self, files: GroupFiles[G, P], path: str, split: str | None, image: Entry, found: ImageRecord | str
    ) -> Iterator[ListingRow]:
        """Yield the rows of an image and its bad objects; `found` is what `read` returned."""
        if isinstance(found, str):
            yield rejected_image(path, split, image, BAD_ANNOTATION, found)
        elif problem := unicode_problem(path):
            yield rejected_row(problem, split, image)
        else:
            row = image_row(path, split, image, found.objects, found.size)
            yield from annotated_rows(row, found, found.file, files.skipped, self.format.advice)
