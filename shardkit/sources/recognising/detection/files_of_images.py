"""Find files of single images, next to them or apart: ``1.xml``, ``1.json`` or ``1.jpg.json`` of ``1.jpg``."""

from collections.abc import Iterator, Sequence

from shardkit.naming import split_of_folder
from shardkit.sources.engine.file_groups import NearestImages
from shardkit.sources.file_names import ending
from shardkit.sources.formats.one_image import ImageFormat
from shardkit.sources.formats.record import ImageRecord
from shardkit.sources.walking import files_below, files_in, folders_in, is_image, join, read_label_file
from shardkit.storage import Entry, Folder

_FIRST = 200  # files that decide how all are read
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


def files_with(folder: Folder, kind: str) -> list[tuple[str, Entry]]:
    """Return path and entry of all files with an ending, sorted by folder."""
    return [(path, entry) for path, entry in files_below(folder, "") if ending(entry.name) == kind]


def nearest_images(folder: Folder) -> NearestImages:
    """Return the finder of the images of files, of all below a folder."""
    return NearestImages(folder, {path: entry for path, entry in files_below(folder, "") if is_image(entry.name)})


def first_records(folder: Folder, kind: ImageFormat, files: Sequence[tuple[str, Entry]]) -> list[ImageRecord]:
    """Return what some files say, taken evenly from all; only one with shapes, if there is one."""
    records = []
    for path, entry in files[:: 1 + len(files) // _FIRST]:
        data = read_label_file(folder, path, entry.num_bytes, kind.max_bytes)
        record = ImageRecord(bad=data) if isinstance(data, str) else kind.parse(data, {})
        if has_shapes(record):
            return [record]
        if not record.bad:
            records.append(record)
    return records


def has_shapes(record: ImageRecord) -> bool:
    """Return whether a file has shapes, good, bad or left out."""
    return bool(record.objects or record.problems or record.left_out)
