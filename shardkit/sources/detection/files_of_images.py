"""Sources with a file for each image, next to it or apart: ``1.xml``, ``1.json`` or ``1.jpg.json`` of ``1.jpg``.

Programs write no file for an image without shapes, so images without a file are counted as skipped: nobody knows
whether they are background or not yet labelled.
"""

import json
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from shardkit.naming import IMAGE_ENDINGS, printable, relative_path_problem, split_of_folder
from shardkit.reject_reasons import BAD_ANNOTATION
from shardkit.sources.detection.paired_files import GroupFiles, PairedFiles
from shardkit.sources.detection.rows import Annotation, rejected_file, rejected_image
from shardkit.sources.folders.split_folders import split_of_name
from shardkit.sources.listing import ListingRow, RecordProblem, count_skipped, encodable_path, ending, rejected_row
from shardkit.sources.unlisted_images import images_count
from shardkit.sources.walking import children, files_below, files_in, folders_in, join, parent_of
from shardkit.storage import Entry, Folder

_TRIED = 4  # JSON files of a folder that are tested
_JSON_FOLDERS = frozenset({"json", "jsons", "labels", "annotations", "annotation", "ann", "labelme"})
_RELEASE = "releases/latest/annotations"  # of V7 Darwin
_IMAGE_FOLDERS = ("images", "JPEGImages", "imgs", "img", "image")


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


@dataclass(slots=True)
class ImageFinder:
    """Finds the images of such files; lists each folder once.

    Attributes:
        folder: The source.
        images: Path and entry of all images.
    """

    folder: Folder
    images: list[tuple[str, Entry]] = field(default_factory=list)
    _listed: dict[str, dict[str, Entry]] = field(default_factory=dict)
    _by_stem: dict[str, tuple[str, Entry] | None] = field(default_factory=dict)

    def find(self, json_path: str, image_path: str) -> tuple[str, Entry] | None:
        """Return path and entry of a file's image; None if it is nowhere.

        It is where the file says; else it has the name that the file says, or the file's own stem, and is next to the
        file or in a folder of images next to the file's folder; else it is the only image of the file's stem.
        """
        place = parent_of(json_path)
        said = posixpath.normpath(join(place, image_path)) if image_path else ""
        if said and not relative_path_problem(said) and (found := self._in(parent_of(said), posixpath.basename(said))):
            return found
        stem = posixpath.splitext(posixpath.basename(json_path))[0]
        name = posixpath.basename(image_path)
        for folder in (place, *_image_folders(place)):
            # Files may have been renamed together with their images: the stem counts before the name.
            found = self._of_stem(folder, stem) or (self._in(folder, name) if name else None)
            if found:
                return found
        if not self._by_stem:
            for image in self.images:
                key = posixpath.splitext(image[1].name)[0]
                self._by_stem[key] = None if key in self._by_stem else image
        return self._by_stem.get(stem)

    def _in(self, path: str, name: str) -> tuple[str, Entry] | None:
        entry = self._files(path).get(name)
        return (join(path, name), entry) if entry else None

    def _of_stem(self, path: str, stem: str) -> tuple[str, Entry] | None:
        files = self._files(path)
        kinds = sorted(IMAGE_ENDINGS)
        name = next((stem + kind for kind in ("", *kinds, *map(str.upper, kinds)) if stem + kind in files), None)
        return (join(path, name), files[name]) if name else None

    def _files(self, path: str) -> dict[str, Entry]:
        if path not in self._listed:
            entries = children(self.folder, path)
            self._listed[path] = {one.name: one for one in entries if ending(one.name) in IMAGE_ENDINGS}
        return self._listed[path]


@dataclass(slots=True)
class ImageFiles(GroupFiles[str, tuple[str, Entry]]):
    """The files of a source: its pairs are the label files with their paths, sorted by folder; the images."""

    finder: ImageFinder = field(kw_only=True)


def walk(folder: Folder, label_ending: str) -> ImageFiles:
    """List all files of a source."""
    labels, files = [], ImageFiles("", "", finder=ImageFinder(folder))
    for path, entry in files_below(folder, ""):
        kind = ending(entry.name)
        if kind == label_ending:
            labels.append((path, entry))
        elif kind in IMAGE_ENDINGS:
            files.finder.images.append((path, entry))
        else:
            count_skipped(files.skipped, kind)
    files.pairs, files.num_parsed, files.num_files = labels, len(labels), len(labels)
    return files


def _image_folders(place: str) -> list[str]:
    """Return the folders of images next to a folder of such files, with the same folders below them."""
    parts = place.split("/") if place else []
    found = [join(parent_of(place), name) for name in _IMAGE_FOLDERS] if place else list(_IMAGE_FOLDERS)
    for i, part in enumerate(parts):
        if part.lower() in _JSON_FOLDERS:
            found += ["/".join([*parts[:i], name, *parts[i + 1 :]]) for name in _IMAGE_FOLDERS]
            found.append("/".join([*parts[:i], *parts[i + 1 :]]))
    return list(dict.fromkeys(found))


class FilesOfImages(PairedFiles[str, tuple[str, Entry]]):
    """A source of such files.

    Attributes:
        groups: The root, whose files are one group.
        noun: What messages call such a file.
    """

    __slots__ = ()
    annotation_ending = ".json"
    noun = "JSON file"
    max_bytes = 64 << 20  # 64 MiB: the file may hold the image itself

    def split_of(self, path: str, image: str) -> str | None:
        """Return the split of an image, by its path and that of its file: the last folder that is called like one."""
        del path
        return next(filter(None, map(split_of_name, image.split("/")[-2::-1])), None)

    def refusal(self, found: Annotation) -> str | None:
        """Return why an image is not read, as the end of a sentence about its file; None if it is."""
        del found
        return None

    def where_to_find(self, found: Annotation) -> str:
        """Return what to do if there is no image."""
        del found
        return "restore it"

    def scan(self, group: str) -> ImageFiles:
        """See PairedFiles."""
        del group
        return walk(self.folder, self.annotation_ending)

    def rest_rows(self, files: ImageFiles) -> Iterator[ListingRow]:
        """See PairedFiles; images without a file are only counted."""
        stems = {_stem(path) for path, _ in files.pairs}
        images = (path for path, _ in files.finder.images)
        unnamed = sum(stems.isdisjoint((_stem(path), posixpath.basename(path))) for path in images)
        files.skipped |= images_count(unnamed, f"without a {self.noun} of their name")
        return iter(())

    def pair_rows(self, files: ImageFiles, pair: tuple[str, Entry]) -> Iterator[ListingRow]:
        """See PairedFiles; the file's image is found by what the file says."""
        path, entry = pair
        parsed = self.read(path, entry)
        found = files.finder.find(path, parsed.image if isinstance(parsed, Annotation) else "")
        split = self.split_of(path, found[0] if found else path)
        if isinstance(parsed, Annotation) and found:
            if message := self.refusal(parsed):
                yield rejected_image(found[0], split, found[1], BAD_ANNOTATION, f"{printable(path)} {message}")
            else:
                yield from self.image_rows(files, found[0], split, found[1], parsed)
        elif isinstance(parsed, Annotation):
            message = f"its image {printable(parsed.image)!r} is neither where the file says nor next to it; "
            yield rejected_file(path, split, message + self.where_to_find(parsed))
        elif found:
            problem = RecordProblem(encodable_path(found[0]), BAD_ANNOTATION, str(parsed))
            yield rejected_row(problem, split, found[1])
        else:
            count_skipped(
                files.skipped, self.annotation_ending
            )  # a file of another tool, such as the settings of an editor


def _stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]


def json_of(data: bytes) -> Any:
    """Return the value of a JSON file, or why it cannot be parsed; a phrase that begins with ``it``."""
    try:
        return json.loads(data)
    except RecursionError:
        return "it is nested too deeply"
    except ValueError as error:  # not JSON, not UTF-8, or a number of thousands of digits
        return f"it is not JSON: {error}"
