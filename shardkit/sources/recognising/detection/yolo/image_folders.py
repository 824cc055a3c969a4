"""Find YOLO's images, label files and class names.

Darknet's obj.data, which CVAT exports as "YOLO 1.1", has the paths of the image lists and of the class names:

    classes = 2
    train = data/train.txt
    names = data/obj.names
    backup = backup/

Paths start at the trainer's folder, often ``data/``, which is not in the export.
"""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from shardkit.errors import CallError, DataError
from shardkit.naming import printable, split_of_folder
from shardkit.options.words import named
from shardkit.sources.formats.class_files import CLASS_LISTS, YAMLS, names_in, read_yaml
from shardkit.sources.formats.yolo import YOLO
from shardkit.sources.options import SourceOptions
from shardkit.sources.recognising.detection.yolo.data_yaml import base_of, base_outside, given_names, resolve
from shardkit.sources.walking import (
    children,
    file_or_folder,
    files_in,
    folders_in,
    is_folder,
    is_image,
    join,
    looks_like,
    read_head,
)
from shardkit.storage import Folder, open_folder, os_errors_as

_MAX_DARKNET_BYTES = 1 << 16  # 64 KiB
_NAMES = "names"
_KEYS = (rb"^names\s*:", rb"^(train|val|test)\s*:")
_NUM_SAMPLED = 3  # label files
IMAGES, LABELS = "images", "labels"


@dataclass(frozen=True, slots=True)
class YoloImages:
    """Images of one split.

    Attributes:
        path: Path of a folder that is read recursively, or of a text file that lists images.
        split: The split; None if the source gives none.
        is_list: Whether the path is a list.
    """

    path: str
    split: str | None
    is_list: bool


@dataclass(frozen=True, slots=True)
class YoloSource:
    """Content of a YOLO source.

    Attributes:
        names: (index, name) of the classes, by index; () if they are called by their numbers.
        images: Images of the splits.
        named_by: Path of the file that names the classes; '' if there is none.
        base: Path that relative entries of lists start at.
        remarks: What the user should know.
    """

    names: tuple[tuple[int, str], ...]
    images: tuple[YoloImages, ...]
    named_by: str
    base: str = ""
    remarks: tuple[str, ...] = ()


def is_yolo(folder: Folder) -> bool:
    """Return whether a folder has data.yaml, obj.data, images/ and labels/ with text files, or all in one folder."""
    if find_yaml(folder) is not None or darknet_data(folder) is not None or _mixed(folder):
        return True
    return any(_has_labels(folder, join(base, LABELS)) for base in _bases(folder))


def find_yaml(folder: Folder) -> str | None:
    """Return the name of the file with class names and folders: data.yaml, or the only other YAML that has them."""
    names = [entry.name for entry in children(folder) if not entry.is_folder]
    usual = [name for name in YAMLS if name in names]
    others = [name for name in names if name.lower().endswith((".yaml", ".yml"))]
    chosen = usual[:1] or (others if len(others) == 1 else [])
    for name in chosen:
        head = read_head(folder, name)
        if head is None or looks_like(head, *_KEYS):  # reading a special file names it
            return name
    return None


def _mixed(folder: Folder) -> list[str]:
    """Return the folders that have images and label files: the source, else its split folders."""
    splits = [name for name in folders_in(folder) if split_of_folder(name)]
    return [""] if _is_mixed(folder, "") else [name for name in splits if _is_mixed(folder, name)]


def _is_mixed(folder: Folder, base: str) -> bool:
    """Return whether a folder has images, label files of their stems, and the class names, as labelImg writes them."""
    names = [entry.name for entry in children(folder, base) if not entry.is_folder]
    if not any(name in CLASS_LISTS for name in names):
        return False
    stems = {posixpath.splitext(name)[0] for name in names if is_image(name)}
    labels = [name for name in names if _is_label(name) and posixpath.splitext(name)[0] in stems]
    heads = [read_head(folder, join(base, name)) or b"" for name in labels[:_NUM_SAMPLED]]
    return any(heads) and all(not head.strip() or YOLO.sniff(head) for head in heads)


def _bases(folder: Folder) -> list[str]:
    """Return the folders that have images/ and labels/: the source, else its split folders."""
    names = folders_in(folder)
    if {IMAGES, LABELS} <= set(names):
        return [""]
    splits = [name for name in names if split_of_folder(name)]
    return [name for name in splits if is_folder(folder, join(name, IMAGES)) and is_folder(folder, join(name, LABELS))]


def _has_labels(folder: Folder, path: str) -> bool:
    entries = children(folder, path)
    if any(_is_label(entry.name) for entry in entries if not entry.is_folder):
        return True
    below = [entry.name for entry in entries if entry.is_folder]
    return any(_is_label(entry.name) for name in below[:1] for entry in children(folder, join(path, name)))


def _is_label(name: str) -> bool:
    return name.lower().endswith(".txt") and name not in CLASS_LISTS


def read_source(folder: Folder, options: SourceOptions, yaml_path: str | None) -> tuple[Folder, YoloSource]:
    """Find images and classes, and the folder that all paths start at."""
    yaml_path = yaml_path or find_yaml(folder)
    if yaml_path is None:
        if options.root is not None:
            msg = f"{named('root')} is for the entries of a data.yaml; {folder.url} has none: leave the option out"
            raise CallError(msg)
        data_path = darknet_data(folder)
        return folder, _without_yaml(folder, options) if data_path is None else _darknet(folder, data_path)
    root = folder if options.root is None else open_folder(options.root)
    data = read_yaml(folder, yaml_path)

    def exists(path: str) -> bool:
        return file_or_folder(root, path) is not None

    at = base_of(root.url, yaml_path if options.root is None else "", data.base, exists)
    images, remarks = list[YoloImages](), list[str]()
    for split, entry in data.entries:
        path = resolve(root.url, at, entry, exists)
        if path is None:
            if split == "train" or len(data.entries) == 1:
                msg = f"{folder.url}/{yaml_path}: the images {entry!r} of {split} are not in {join(root.url, at)}; "
                outside = base_outside(folder.url, data.base) if options.root is None else None
                if outside:
                    msg += f"its `path` leads out of this folder; to allow that, add {named('root', outside)}"
                else:
                    msg += f"correct the entry, or give the folder that it starts at with {named('root')}"
                raise DataError(msg)
            remarks.append(f"{printable(entry)} of {split} is not there")
            continue
        first = next((one for one in images if one.path == path), None)
        if first is not None:
            remarks.append(f"{split} is the same {printable(path) or 'folder'} as {first.split}, and left out")
        else:
            images.append(YoloImages(path, split, not is_folder(root, path)))
    if data.num_keypoint_fields:
        remarks.append("keypoints are left out")
    return root, YoloSource(data.names, tuple(images), yaml_path, at, tuple(remarks))


def darknet_data(folder: Folder) -> str | None:
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


def _darknet(folder: Folder, data_path: str) -> YoloSource:
    def found(value: str) -> str | None:
        # `resolve` tries every end of an absolute path: the dataset may have been moved.
        path = f"/{posixpath.normpath(value)}"
        return resolve(folder.url, "", path, lambda path: file_or_folder(folder, path) is not None) if value else None

    values = _read_darknet(folder, data_path)
    named_by = found(values.get(_NAMES, ""))
    lists = [(split, found(value)) for key, value in values.items() if (split := split_of_folder(key))]
    images = tuple(YoloImages(path, split, is_list=True) for split, path in lists if path)
    if named_by is None or not images:
        what = "file of `names`" if named_by is None else "list of images"
        msg = f"{folder.url}/{data_path}: its {what} is not in {folder.url}; restore it, or correct the line"
        raise DataError(msg)
    return YoloSource(names_in(folder, named_by), images, named_by)


def _without_yaml(folder: Folder, options: SourceOptions) -> YoloSource:
    bases, mixed = _bases(folder), []
    if not bases:
        mixed = _mixed(folder)
    if not bases and not mixed:
        msg = f"{folder.url}: there is no data.yaml of YOLO, no images/ next to labels/, no classes.txt next to images"
        raise DataError(msg)
    images = [YoloImages(base, split_of_folder(base), is_list=False) for base in mixed]
    for base in bases:
        below = folders_in(folder, join(base, IMAGES))
        if not base and below and all(split_of_folder(name) for name in below):
            images += [YoloImages(join(IMAGES, name), split_of_folder(name), is_list=False) for name in below]
        else:
            images.append(YoloImages(join(base, IMAGES), split_of_folder(base), is_list=False))
    named = {path: names_in(folder, path) for path in _class_files(folder, [*bases, *mixed])}
    if not named:
        return YoloSource(given_names(folder, bases, options), tuple(images), "")
    path = max(named, key=lambda one: len(named[one]))  # the first of equal ones
    for other, names in named.items():
        if names != named[path][: len(names)]:
            msg = f"{folder.url}: {printable(other)} and {printable(path)} name different classes"
            raise DataError(f"{msg}; make them agree, or remove the wrong one")
    return YoloSource(named[path], tuple(images), path)


def _class_files(folder: Folder, bases: list[str]) -> Iterator[str]:
    # LabelImg writes it next to the label files.
    below = [join(base, LABELS) for base in bases]
    below += [join(path, name) for path in below for name in folders_in(folder, path)]
    for place in ["", *bases, *below]:
        for name in CLASS_LISTS:
            if file_or_folder(folder, join(place, name)) is not None:
                yield join(place, name)


def label_folder(path: str) -> str:
    """Return the folder of label files for a folder of images: the last ``images`` in its path becomes ``labels``."""
    before, found, after = f"/{path}/".rpartition(f"/{IMAGES}/")
    return f"{before}/{LABELS}/{after}".strip("/") if found else path


def is_class_file(name: str) -> bool:
    """Return whether a text file has class names or describes the dataset, and is not a label file."""
    return name in CLASS_LISTS or name.lower().startswith("readme")
