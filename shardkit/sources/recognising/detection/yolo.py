"""YOLO: a text file for each image, with boxes or polygons as fractions of its sides, and the names of the classes.

The label file of ``…/images/…/1.jpg`` is ``…/labels/…/1.txt``, else the one next to it. shardkit reads the folders and
lists of data.yaml or, without one, ``images/`` and ``labels/`` with classes.txt or obj.names, or the lists of Darknet's
obj.data, which CVAT exports as "YOLO 1.1". It ignores the ``path`` of a data.yaml that was moved, and the ``../`` that
Roboflow writes before folders that are next to the file. A ``path`` that leads out of the YAML's folder is followed
only with ``root``: a file that comes with the data must not lead out of it. Other images are counted as skipped.
"""

import contextlib
import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shardkit.errors import CallError, DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import first_of, printable, relative_path_problem, split_of_folder
from shardkit.options.call import Change
from shardkit.options.forms import ClassesOfFile
from shardkit.options.words import named
from shardkit.refusals import RefusalError, RefusedDataError
from shardkit.sources.engine.file_groups import matching_files
from shardkit.sources.engine.image_places import find_paths
from shardkit.sources.engine.paths import PathRule, path_parts
from shardkit.sources.formats.class_names import read_fields
from shardkit.sources.formats.yolo import CLASS_LISTS, YAMLS, YOLO, class_files_in, names_in, read_class_file, read_yaml
from shardkit.sources.listing import Source
from shardkit.sources.name_index import written_path
from shardkit.sources.options import Opening, SourceOptions
from shardkit.sources.readings.values import Listed
from shardkit.sources.recognising.detection.of_one_image import (
    FilesOfFolder,
    find_folders,
    open_image_files,
    split_of_paths,
)
from shardkit.sources.walking import (
    file_or_folder,
    files_in,
    folders_in,
    is_folder,
    is_within,
    join,
    looks_like,
    parent_of,
    read_head,
)
from shardkit.storage import Folder, open_folder, os_errors_as

_MAX_DARKNET_BYTES = 1 << 16  # 64 KiB
_NAMES = "names"
_KEYS = (rb"^names\s*:", rb"^(train|val|test)\s*:")
_IMAGES, _LABELS = "images", "labels"
_MAY_NAME_CLASSES = re.compile(r".*(?:class|label|name).*\.txt|.*\.names", re.IGNORECASE)  # predefined_classes.txt
_MAX_PLACES = 16  # folders of listed images that are read each on its own
_FOLDERS_SHOWN = 4  # folders in a message


@dataclass(slots=True)
class _Found:
    """Content of a source."""

    named_by: str  # path of the file that names the classes; '' if there is none
    files: list[FilesOfFolder] = field(default_factory=list)  # the label files of folders of images
    lists: dict[str, str] = field(default_factory=dict)  # the splits of lists of images, by their paths
    base: str = ""  # path that relative entries of lists start at
    classes: Sequence[str] = ()  # names of the classes, if no file has them; () if they are called by their numbers
    remarks: list[str] = field(default_factory=list)  # what the user should know


def is_yolo(folder: Folder) -> bool:
    """Return whether a folder has data.yaml, obj.data, images/ and labels/ with text files, or all in one folder."""
    return _find_yaml(folder) is not None or _darknet_data(folder) is not None or bool(_label_folders(folder))


def open_yolo(opening: Opening) -> Source:
    """Find class names, images and label files; `root` is the folder that entries of data.yaml start at."""
    folder, options, root = opening.folder, opening.options, opening.folder
    if yaml_path := opening.file or _find_yaml(folder):
        root = folder if options.root is None else open_folder(options.root)
        found = _of_yaml(folder, root, yaml_path, is_root=options.root is not None)
    elif options.root is not None:
        msg = f"{named('root')} is for the entries of a data.yaml; {folder.url} has none: leave the option out"
        raise CallError(msg)
    else:
        data_path = _darknet_data(folder)
        found = _of_folders(folder, options) if data_path is None else _of_darknet(folder, data_path)
    files, lists = _with_lists(root, found)
    if next(matching_files(root, [one.glob for one in files], YOLO.side_files), None) is None:
        looked = first_of([printable(join(root.url, one.glob)) for one in files], _FOLDERS_SHOWN)
        msg = (
            f"{folder.url}: there is no label file of YOLO; searched for {looked}: an image without objects "
            "has an empty one; put the label files there"
        )
        raise DataError(msg)
    return open_image_files(
        opening,
        YOLO.name,
        LAYOUTS["yolo"].title,
        files,
        root=root,
        names=found.named_by,
        classes=found.classes,
        lists=lists,
        remark="".join(f"; note: {one}" for one in found.remarks),
    )


def _find_yaml(folder: Folder) -> str | None:
    """Return the name of the file with class names and folders: data.yaml, or the only other YAML that has them."""
    names = [posixpath.basename(path) for path in files_in(folder, "", ".yaml", ".yml")]
    chosen = [name for name in YAMLS if name in names][:1] or (names if len(names) == 1 else [])
    for name in chosen:
        head = read_head(folder, name)
        if head is None or looks_like(head, *_KEYS):  # reading a special file names it
            return name
    return None


def _of_yaml(folder: Folder, root: Folder, yaml_path: str, *, is_root: bool) -> _Found:
    data = read_yaml(folder, yaml_path)
    if not data.entries:
        msg = (
            f"{folder.url}/{yaml_path}: it names no images: `train`, `val` and `test` are missing; add the folders of "
        )
        raise DataError(f"{msg}images")

    def exists(path: str) -> bool:
        return file_or_folder(root, path) is not None

    own = "" if is_root else parent_of(yaml_path)
    at = own if data.base in {"", "."} else _resolve(root.url, own, data.base, exists)
    found = _Found(yaml_path, base=own if at is None else at)
    splits: dict[str, str] = {}
    for split, entry in data.entries:
        path = _resolve(root.url, found.base, entry, exists)
        if path is None and (split == "train" or len(data.entries) == 1):
            at = join(root.url, found.base)
            msg = f"{folder.url}/{yaml_path}: the images {entry!r} of {split} are not in {at}; "
            raise DataError(msg + _remedy(folder, "" if is_root else data.base))
        if path is None:
            found.remarks.append(f"{printable(entry)} of {split} is not there")
        elif path in splits:
            where = printable(path) or "folder"
            found.remarks.append(f"{split} is the same {where} as {splits[path]}, and left out")
        else:
            splits[path] = split
    for path, split in splits.items():
        if is_folder(root, path):
            found.files += _of_folder(root, path, split)
        else:
            found.lists[path] = split
    if data.num_keypoint_fields:
        found.remarks.append("keypoints are left out")
    return found


def _remedy(folder: Folder, base: str) -> str:
    # The folder is only shown to the user, because a file that comes with the data must not lead out of its folder.
    outside = os.path.normpath(os.path.join(folder.url, base))
    if base and "://" not in folder.url and os.path.isdir(outside):
        return f"its `path` leads out of this folder; to allow that, add {named('root', outside)}"
    return f"correct the entry, or give the folder that it starts at with {named('root')}"


def _resolve(root: str, at: str, entry: str, exists: Callable[[str], bool]) -> str | None:
    """Return the path below the source that an entry means; None if there is none.

    A relative entry starts at `at`; leading ``../`` are dropped if nothing is there, because Roboflow writes too many.
    An absolute entry is below the source, or the dataset was moved: then its longest end that exists counts.
    """
    entry = entry.strip().replace("\\", "/")
    if entry.startswith(f"{root}/"):
        tried = [entry[len(root) + 1 :]]
    elif entry.startswith("/") or entry[1:3] == ":/":
        parts = [part for part in path_parts(entry) if part != ".."]
        tried = ["/".join(parts[start:]) for start in range(len(parts))]
    else:
        kept = re.sub(r"^(?:\.\./)+", "", posixpath.normpath(entry))
        tried = [join(at, entry), join(at, kept), kept]
    tried = ["" if path == "." else path for path in map(posixpath.normpath, tried)]
    return next((path for path in tried if path.split("/")[0] != ".." and exists(path)), None)


def _darknet_data(folder: Folder) -> str | None:
    """Return the name of a folder's only ``*.data`` file, if it has class names and image lists; else None."""
    found = files_in(folder, "", ".data")
    if len(found) != 1:
        return None
    keys = _read_darknet(folder, found[0]).keys()
    return found[0] if _NAMES in keys and any(map(split_of_folder, keys)) else None


def _read_darknet(folder: Folder, path: str) -> dict[str, str]:
    with os_errors_as("read", folder.url_of(path)), folder.open(path) as file:
        text = file.read(_MAX_DARKNET_BYTES).decode("utf-8-sig", "replace")
    pairs = (line.partition("=") for line in text.split("\n") if "=" in line)
    return {key.strip(): value.strip() for key, _, value in pairs}


def _of_darknet(folder: Folder, data_path: str) -> _Found:
    """Return the lists and the names of a file whose paths start at the trainer's folder, often ``data/``."""

    def find(value: str) -> str | None:
        # Every end of an absolute path is tried.
        path = f"/{posixpath.normpath(value)}"
        return _resolve(folder.url, "", path, lambda path: file_or_folder(folder, path) is not None) if value else None

    values = _read_darknet(folder, data_path)
    named_by = find(values.get(_NAMES, ""))
    lists = {path: split for key, value in values.items() if (split := split_of_folder(key)) and (path := find(value))}
    if named_by is None or not lists:
        what = "file of `names`" if named_by is None else "list of images"
        msg = f"{folder.url}/{data_path}: its {what} is not in {folder.url}; restore it, or correct the line"
        raise DataError(msg)
    return _Found(named_by, lists=lists)


def _label_folders(folder: Folder) -> dict[str, str]:
    """Return the folders of images by their folders of label files: those of usual names, or with names of classes."""
    _, places = find_folders(folder, "yolo") or (YOLO, {})
    return {
        place: images
        for place, images in places.items()
        if images is not None
        and (place != images or any(file_or_folder(folder, join(place, name)) for name in CLASS_LISTS))
    }


def _of_folders(folder: Folder, options: SourceOptions) -> _Found:
    places = _label_folders(folder)
    if not places:
        msg = f"{folder.url}: there is no data.yaml of YOLO, no images/ next to labels/, no classes.txt next to images"
        raise DataError(msg)
    outer = [place for place in places if not any(place != one and is_within(place, one) for one in places)]
    files = [
        FilesOfFolder(join(place, "**/*.txt"), images, split_of_paths(images, place))
        for place, images in places.items()
        if place in outer
    ]
    bases = list(dict.fromkeys(["", *map(parent_of, places.values()), *map(parent_of, places), *places]))
    named_by = {path: [*read_class_file(folder, path)[0].items()] for path in _class_files(folder, bases)}
    if not named_by:
        return _Found("", files, classes=_given_names(folder, bases, options))
    path = max(named_by, key=lambda one: len(named_by[one]))  # the first of equal ones
    for other, names in named_by.items():
        if names != named_by[path][: len(names)]:
            problem = f"{folder.url}: {printable(other)} and {printable(path)} name different classes"
            globs = dict(zip((path, other), map(posixpath.basename, (path, other)), strict=True))
            if len({*globs.values()}) == 1:
                globs = {one: f"/{one}" for one in globs}
            changes = [Change(f"without {printable(one)}", {"ignore": (glob,)}) for one, glob in globs.items()]
            raise RefusedDataError(problem, changes, remedy="make them agree, remove the wrong one")
    return _Found(path, files)


def _class_files(folder: Folder, places: Iterable[str]) -> Iterator[str]:
    """Yield the lists of class names in some folders, and the YAML files that have names, if only those."""
    for path in class_files_in(folder, places):
        if path.endswith(CLASS_LISTS) or looks_like(read_head(folder, path) or b"", _KEYS[0]):
            yield path


def _given_names(folder: Folder, bases: Iterable[str], options: SourceOptions) -> Sequence[str]:
    """Return the names that the user gives; () if the user names the layout, so that classes are called by numbers."""
    if options.classes is not None or options.layout is not None:
        return options.classes or ()
    changes = [*_in_other_texts(folder, bases)]
    changes.append(Change("the numbers are the names of the classes", {"layout": "yolo"}))
    problem = f"{folder.url}: there are no names of YOLO's classes, no classes.txt and no data.yaml"
    remedy = f"give a file of a name a line, that of class 0 first, with {named('classes')}"
    raise RefusalError(problem, changes, remedy=remedy)


def _in_other_texts(folder: Folder, bases: Iterable[str]) -> Iterator[Change]:
    """Yield a change for each text whose name says that it may name the classes, if the option can name it."""
    for path in (path for place in bases for path in files_in(folder, place, ".txt", ".names")):
        written = join(folder.url, path)
        if _MAY_NAME_CLASSES.fullmatch(posixpath.basename(path)) and Path(written).is_file():
            with contextlib.suppress(DataError):  # it is another text
                names = [name for _, name in names_in(folder, path)]
                yield Change(f"the names in {printable(path)}", {"classes": ClassesOfFile.of(names, written)})


def _with_lists(folder: Folder, found: _Found) -> tuple[list[FilesOfFolder], Listed | None]:
    """Return the label files, with those of listed images, and the lists that name images; None for none."""
    files = found.files
    if not found.lists:
        return files, None
    rules, dropped, places = dict[str, PathRule](), dict[str, None](), set[str]()
    for path in found.lists:
        # Lists often hold absolute paths of another machine, or paths that start at the trainer's folder.
        lines = [written_path(one.values[0]) for one in read_fields(folder, path, "\n")]
        starts = [(folder, place) for place in (parent_of(path), found.base, "")]
        located = find_paths([line for line in lines if ".." not in line.split("/")], starts)
        rule = located[1] if located else PathRule(parent_of(path))
        rules[path], start = rule, ""
        if rule.num_dropped and lines:
            start = lines[0].removesuffix("/".join(path_parts(lines[0])[rule.num_dropped :]))
            dropped[f"{start.rstrip('/')}="] = None
        places |= {parent_of(posixpath.normpath(join(rule.place, line.removeprefix(start)))) for line in lines}
    first = next(iter(rules.values())).place
    bases = {path: rule.place for path, rule in rules.items() if rule.place != first}
    splits = found.lists | {one.glob: one.split or "" for one in files}
    inside = (place for place in places if not place or relative_path_problem(place) is None)
    covered = tuple(f"{one.images}/" for one in files)
    rest = sorted(place for place in inside if is_folder(folder, place) and not f"{place}/".startswith(covered))
    if len(rest) > _MAX_PLACES and not files:
        files = _of_folder(folder, posixpath.commonpath(rest), None)
    else:
        files = files + [FilesOfFolder(join(_labels_of(folder, place), "*.txt"), place) for place in rest]
    return files, Listed(splits, match="path", base=first, bases=bases, strip=tuple(dropped))


def _labels_of(folder: Folder, place: str) -> str:
    labels = label_folder(place)
    return labels if is_folder(folder, labels) else place


def label_folder(path: str) -> str:
    """Return the folder of label files for a folder of images: the last ``images`` in its path becomes ``labels``."""
    before, found, after = f"/{path}/".rpartition(f"/{_IMAGES}/")
    return f"{before}/{_LABELS}/{after}".strip("/") if found else path


def _of_folder(folder: Folder, path: str, split: str | None) -> list[FilesOfFolder]:
    """Return the label files of the images below a folder: of each images/ in it, if it is in none and has some."""
    inner = [] if label_folder(path) != path else [*_image_folders(folder, path)]
    return [FilesOfFolder(join(_labels_of(folder, place), "**/*.txt"), place, split) for place in inner or [path]]


def _image_folders(folder: Folder, path: str) -> Iterator[str]:
    for name in folders_in(folder, path):
        if name == _IMAGES:
            yield join(path, name)
        else:
            yield from _image_folders(folder, join(path, name))
