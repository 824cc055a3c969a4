"""Sources with a file for each image, next to it or apart: ``1.xml``, ``1.json`` or ``1.jpg.json`` of ``1.jpg``.

Programs write no file for an image without shapes, so images without a file are counted as skipped: nobody knows
whether they are background or not yet labelled.
"""

import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from shardkit.naming import IMAGE_ENDINGS, printable, split_of_folder
from shardkit.reject_reasons import BAD_ANNOTATION
from shardkit.sources.detection.paired_files import GroupFiles, PairedFiles
from shardkit.sources.detection.rows import rejected_file, rejected_image
from shardkit.sources.folders.split_folders import split_of_name
from shardkit.sources.formats.record import ImageRecord
from shardkit.sources.listing import ListingRow, RecordProblem, count_skipped, encodable_path, ending, rejected_row
from shardkit.sources.name_index import NameIndex
from shardkit.sources.unlisted_images import images_count
from shardkit.sources.walking import files_below, files_in, folders_in, join, parent_of
from shardkit.storage import Entry, Folder

_TRIED = 4  # JSON files of a folder that are tested
_JSON_FOLDERS = frozenset({"json", "jsons", "labels", "annotations", "annotation", "ann", "labelme"})
_RELEASE = "releases/latest/annotations"  # of V7 Darwin


def first_files(folder: Folder) -> Iterator[str]:
    """Yield the first few JSON files of each folder where those of single images usually are."""
    return (path for place in _places(folder) for path in files_in(folder, place, ".json")[:_TRIED])


def _places(folder: Folder) -> Iterator[str]:
    """Yield the folders where such files usually are; others are not listed, because there may be many."""
    yield ""
    names = folders_in(folder)
    usual = [name for name in names if name.lower() in _JSON_FOLDERS or split_of_folder(name)]
    for name in dict.fromkeys([*usual, *names[:1]]):
        yield name
        inner = folders_in(folder, name)
        for one in dict.fromkeys([*(one for one in inner if one.lower() in _JSON_FOLDERS), *inner[:1]]):
            yield join(name, one)
    yield _RELEASE


class ImageFinder:
    """Finds the images of such files.

    Attributes:
        names: All images by their names.
    """

    def __init__(self, folder: Folder, images: Iterable[tuple[str, Entry]]) -> None:
        """Keep path and entry of all images.

        Args:
            folder: The source.
            images: Path and entry of each image.
        """
        self.images = dict(images)
        self.names = NameIndex(folder, self.images)

    def find(self, path: str, said: str) -> tuple[str, Entry] | None:
        """Return path and entry of a file's image; None if it is nowhere, or several are as near.

        Args:
            path: The file.
            said: The path or name that it says; '' for none.
        """
        exact = posixpath.normpath(join(parent_of(path), said)) if said else ""
        found = [exact] if exact in self.images else self.names.of_file(path, said)
        return (found[0], self.images[found[0]]) if len(found) == 1 else None


@dataclass(slots=True)
class ImageFiles(GroupFiles[str, tuple[str, Entry]]):
    """The files of a source: its pairs are the label files with their paths, sorted by folder; the images."""

    finder: ImageFinder = field(kw_only=True)


def walk(folder: Folder, label_ending: str) -> ImageFiles:
    """List all files of a source."""
    labels, images, skipped = [], [], dict[str, int]()
    for path, entry in files_below(folder, ""):
        kind = ending(entry.name)
        if kind == label_ending:
            labels.append((path, entry))
        elif kind in IMAGE_ENDINGS:
            images.append((path, entry))
        else:
            count_skipped(skipped, kind)
    finder = ImageFinder(folder, images)
    return ImageFiles("", "", labels, len(labels), len(labels), skipped, finder=finder)


class FilesOfImages(PairedFiles[str, tuple[str, Entry]]):
    """A source of such files.

    Attributes:
        groups: The root, whose files are one group.
        noun: What messages call such a file.
    """

    __slots__ = ()
    annotation_ending = ".json"
    noun = "JSON file"

    def split_of(self, path: str, image: str) -> str | None:
        """Return the split of an image: the last folder that is called like one, of its path or else of its file's."""
        folders = (*image.split("/")[-2::-1], *path.split("/")[-2::-1])
        return next(filter(None, map(split_of_name, folders)), None)

    def refusal(self, found: ImageRecord) -> str | None:
        """Return why an image is not read, as the end of a sentence about its file; None if it is."""
        del found
        return None

    def scan(self, group: str) -> ImageFiles:
        """See PairedFiles."""
        del group
        return walk(self.folder, self.annotation_ending)

    def rest_rows(self, files: ImageFiles) -> Iterator[ListingRow]:
        """See PairedFiles; images without a file are only counted."""
        stems = {_stem(path) for path, _ in files.pairs}
        images = files.finder.images
        unnamed = sum(stems.isdisjoint((_stem(path), posixpath.basename(path))) for path in images)
        files.skipped |= images_count(unnamed, f"without a {self.noun} of their name")
        return iter(())

    def pair_rows(self, files: ImageFiles, pair: tuple[str, Entry]) -> Iterator[ListingRow]:
        """See PairedFiles; the file's image is found by what the file says."""
        path, entry = pair
        parsed = self.read(path, entry)
        found = files.finder.find(path, parsed.image if isinstance(parsed, ImageRecord) else "")
        split = self.split_of(path, found[0] if found else path)
        if isinstance(parsed, ImageRecord) and found:
            if message := self.refusal(parsed):
                yield rejected_image(found[0], split, found[1], BAD_ANNOTATION, f"{printable(path)} {message}")
            else:
                yield from self.image_rows(files, found[0], split, found[1], parsed)
        elif isinstance(parsed, ImageRecord):
            message = f"its image {printable(parsed.image)!r} is neither where the file says nor next to it; "
            yield rejected_file(path, split, message + self.format.missing)
        elif found:
            problem = RecordProblem(encodable_path(found[0]), BAD_ANNOTATION, str(parsed))
            yield rejected_row(problem, split, found[1])
        else:
            count_skipped(
                files.skipped, self.annotation_ending
            )  # a file of another tool, such as the settings of an editor


def _stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]
