"""Find Labelme's files in a folder, and the image of each."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field

from shardkit.naming import IMAGE_ENDINGS, relative_path_problem, split_of_folder
from shardkit.sources.detection.paired_files import GroupFiles
from shardkit.sources.listing import count_skipped, ending
from shardkit.sources.walking import children, files_below, files_in, folders_in, join, looks_like, parent_of, read_head
from shardkit.storage import Entry, Folder

_KEYS = (rb'"shapes"\s*:\s*\[', rb'"(version|flags|imagePath|imageData|imageHeight)"\s*:')
_TRIED = 4  # JSON files of a folder that are tested
_JSON_FOLDERS = frozenset({"json", "jsons", "labels", "annotations", "annotation", "ann", "labelme"})
_IMAGE_FOLDERS = ("images", "JPEGImages", "imgs", "img", "image")


def is_labelme_file(folder: Folder, path: str) -> bool:
    """Return whether a file is Labelme's, judging by its beginning."""
    return looks_like(read_head(folder, path), *_KEYS, start=b"{")


def has_labelme(folder: Folder) -> bool:
    """Return whether a folder has files of Labelme, judging by names and the beginning of a few files."""
    return any(_has_files(folder, place) for place in _places(folder))


def _places(folder: Folder) -> Iterator[str]:
    """Yield the folders where files of Labelme usually are; others are not listed, because there may be many."""
    yield ""
    names = folders_in(folder)
    usual = [name for name in names if name.lower() in _JSON_FOLDERS or split_of_folder(name)]
    for name in dict.fromkeys([*usual, *names[:1]]):
        yield name
        inner = folders_in(folder, name)
        for one in dict.fromkeys([*(one for one in inner if one.lower() in _JSON_FOLDERS), *inner[:1]]):
            yield join(name, one)


def _has_files(folder: Folder, path: str) -> bool:
    return any(is_labelme_file(folder, one) for one in files_in(folder, path, ".json")[:_TRIED])


@dataclass(slots=True)
class ImageFinder:
    """Finds the images of Labelme's files; lists each folder once."""

    folder: Folder
    _listed: dict[str, dict[str, Entry]] = field(default_factory=dict)

    def find(self, json_path: str, image_path: str) -> tuple[str, Entry] | None:
        """Return path and entry of a file's image; None if it is nowhere.

        It is where the file says; else it has the name that the file says, or the file's own stem, and is next to the
        file or in a folder of images next to the file's folder.
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
        return None

    def _in(self, path: str, name: str) -> tuple[str, Entry] | None:
        entry = self._files(path).get(name)
        return (join(path, name), entry) if entry else None

    def _of_stem(self, path: str, stem: str) -> tuple[str, Entry] | None:
        files = self._files(path)
        name = next((stem + kind for kind in sorted(IMAGE_ENDINGS) if stem + kind in files), None)
        name = name or next(
            (stem + kind.upper() for kind in sorted(IMAGE_ENDINGS) if stem + kind.upper() in files), None
        )
        return (join(path, name), files[name]) if name else None

    def _files(self, path: str) -> dict[str, Entry]:
        if path not in self._listed:
            entries = children(self.folder, path)
            self._listed[path] = {one.name: one for one in entries if ending(one.name) in IMAGE_ENDINGS}
        return self._listed[path]


@dataclass(slots=True)
class LabelmeFiles(GroupFiles[str, tuple[str, Entry]]):
    """The files of a source: its pairs are the JSON files with their paths, sorted by folder; paths of the images."""

    finder: ImageFinder = field(kw_only=True)
    images: list[str] = field(default_factory=list)


def walk(folder: Folder) -> LabelmeFiles:
    """List all files of a source."""
    jsons, files = [], LabelmeFiles("", "", finder=ImageFinder(folder))
    for path, entry in files_below(folder, ""):
        kind = ending(entry.name)
        if kind == ".json":
            jsons.append((path, entry))
        elif kind in IMAGE_ENDINGS:
            files.images.append(path)
        else:
            count_skipped(files.skipped, kind)
    files.pairs, files.num_parsed, files.num_files = jsons, len(jsons), len(jsons)
    return files


def _image_folders(place: str) -> list[str]:
    """Return the folders of images next to a folder of JSON files, with the same folders below them."""
    parts = place.split("/") if place else []
    found = [join(parent_of(place), name) for name in _IMAGE_FOLDERS] if place else list(_IMAGE_FOLDERS)
    for i, part in enumerate(parts):
        if part.lower() in _JSON_FOLDERS:
            found += ["/".join([*parts[:i], name, *parts[i + 1 :]]) for name in _IMAGE_FOLDERS]
            found.append("/".join([*parts[:i], *parts[i + 1 :]]))
    return list(dict.fromkeys(found))
