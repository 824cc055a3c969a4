"""Find such files in a folder, and decide how each is read: as boxes or as classes, and where its images are."""

import contextlib
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from shardkit.errors import DataError
from shardkit.naming import printable, split_of_folder
from shardkit.options.call import Change
from shardkit.options.words import named
from shardkit.refusals import RefusalError
from shardkit.sources.context import Opening
from shardkit.sources.engine.path_rules import PathRule
from shardkit.sources.file_names import stem_of
from shardkit.sources.formats.record import ONE_CLASS, ImageRecord
from shardkit.sources.formats.vendors.formats import VENDORS, JsonFormat
from shardkit.sources.listing import BadRecord
from shardkit.sources.name_index import NameIndex
from shardkit.sources.recognising.detection.box_json.numbers import fitting_format
from shardkit.sources.recognising.detection.found_files import FoundFile, read_records
from shardkit.sources.recognising.detection.image_paths import (
    find_paths,
    image_places,
    not_near,
    paths_by_names,
    split_of,
    split_tokens,
)
from shardkit.sources.walking import file_or_folder, files_in, folders_in, join, read_head
from shardkit.storage import Folder

_ENDINGS = tuple(dict.fromkeys(one for row in VENDORS for one in row.endings))
_TRIED = 8  # files of a folder that are tested
_FIRST = 1000  # images that decide how a file is read
_MAX_INNER = 16  # folders below a folder of label files, or of images, that are searched
# Folders of label files; others are not listed, because they may hold many images.
_FOLDERS = re.compile(r"(?:labels?|annotations?|ann|vott-json-export|data|manifests?)", re.IGNORECASE)
_OF_SPLITS = (
    "_annotations.createml.json",
    "via_region_data.json",
    "metadata.jsonl",
    "bounding_boxes.labels",
)  # in folders of images, which are not listed
_OF_SEQUENCE = "gt/gt.txt"  # of MOT
_IMAGES = re.compile(r"(?:images?|imgs?)", re.IGNORECASE)
# Attributes that usually give the class of a region, the most usual first.
_USUAL = ("class", "label", "name", "category", "type", "object")


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """How a file is read.

    Attributes:
        root: The folder that keys start at.
        file: The file.
        kind: Its format, with the parser that its boxes fit.
        attribute: The attribute of images that gives their classes; None for boxes.
        column: What gives the classes of boxes; None if there is nothing to choose.
        has_several: Whether an image may have several classes.
        is_one_class: Whether no box has a class.
        gives_splits: Whether records give splits.
        splits_of_folders: Whether the images' folders do, because neither records nor the file's name do.
    """

    root: Folder
    file: FoundFile
    kind: JsonFormat
    attribute: str | None
    column: str | None
    has_several: bool
    is_one_class: bool
    gives_splits: bool
    splits_of_folders: bool

    def describe(self) -> str:
        """Return what the user should know about what is read; '' for nothing."""
        of_class = f"classes of {printable(repr(self.column))}" if self.column else ""
        of_class = f"all of the class {ONE_CLASS!r}" if self.is_one_class else of_class
        return ", ".join(filter(None, [self.kind.title, of_class, self.kind.remark])) if self.attribute is None else ""


def format_of(folder: Folder, path: str) -> JsonFormat | None:
    """Return the format of a file, judging by its name and its beginning; None if it is another one."""
    if not path.lower().endswith(_ENDINGS):
        return None
    head = read_head(folder, path)
    return next((row for row in VENDORS if row.fits(posixpath.basename(path), head)), None)


def find_json_files(folder: Folder) -> list[str]:
    """Return the files of the first folder that has any: the folder itself, its splits', or those of label files."""
    names = folders_in(folder)
    in_splits = [join(name, one) for name in names if split_of_folder(name) for one in _OF_SPLITS]
    in_splits = [path for path in in_splits if file_or_folder(folder, path)]
    # Azure's AutoML has training-mltable-folder/ and validation-mltable-folder/.
    of_splits = [name for name in names if split_tokens(name) and not split_of_folder(name)][:_MAX_INNER]
    beside = [path for name in of_splits for path in files_in(folder, name, *_ENDINGS)]
    for paths in (files_in(folder, "", *_ENDINGS), in_splits, *_label_files(folder, names), beside):
        if found := [path for path in paths[:_TRIED] if format_of(folder, path)]:
            return found
    return _of_sequences(folder, names)


def _of_sequences(folder: Folder, names: Sequence[str]) -> list[str]:
    """Return the files of sequences, such as train/MOT17-02/gt/gt.txt; none if the first sequence has none."""
    tops = [join(name, one) for name in names if split_of_folder(name) for one in folders_in(folder, name)] or names
    paths = (join(top, _OF_SEQUENCE) for top in tops)
    first = next(paths, None)
    if first is None or not file_or_folder(folder, first) or not format_of(folder, first):
        return []
    return [first, *(path for path in paths if file_or_folder(folder, path))]


def _label_files(folder: Folder, names: Sequence[str]) -> Iterator[list[str]]:
    for name in (name for name in names if _FOLDERS.fullmatch(name)):
        yield files_in(folder, name, *_ENDINGS)
        for inner in folders_in(folder, name)[:_MAX_INNER]:
            if not split_of_folder(inner):  # a file for each image
                yield files_in(folder, join(name, inner), *_ENDINGS)


def open_json_file(opening: Opening, path: str, kind: JsonFormat) -> OpenedFile:
    """Decide how to read a file, from its first 1,000 images."""
    folder, options = opening.folder, opening.options
    url = f"{folder.url}/{path}"
    first = list(islice(read_records(folder, path, partial(kind.images, column=None)), _FIRST))
    with_image = [image.image for image in first if image.image]
    if not with_image:
        why = next((f"; record {image.number}: {image.bad}" for image in first if image.bad), "")
        msg = f"{url}: its first records name no image{why}"
        raise DataError(msg)
    attribute, column = classes_of(url, first, options.label_columns, has_own_fields=kind.has_own_fields)
    places = image_places(folder, path, options, may_leave=opening.file is not None)
    located = find_paths(with_image, [*places, *_deeper_places(places, path)])
    if located is None and options.root is None and (by_name := paths_by_names(NameIndex(folder), with_image)):
        located = folder, by_name
    if located is None:
        why = not_near(url, with_image, places)
        msg = f"{why}; give the folder that the images are in with {named('root')}"
        raise DataError(msg)
    root, paths = located
    gives_splits = any(image.split for image in first)
    return OpenedFile(
        root=root,
        file=FoundFile(path, paths, split_of(path)),
        kind=fitting_format(url, root, paths, kind, first),
        attribute=attribute,
        column=column,
        has_several=attribute is not None and any(len(image.attributes.get(attribute, ())) > 1 for image in first),
        is_one_class={one["label_name"] for image in first for one in image.objects} == {ONE_CLASS},
        gives_splits=gives_splits,
        splits_of_folders=not gives_splits and split_of(path) is None and _have_splits(root, paths, with_image),
    )


def _have_splits(root: Folder, paths: PathRule, texts: Sequence[str]) -> bool:
    """Return whether folders of the first images are called like splits."""
    if paths.by_name:
        keys = [key for text in texts for key in NameIndex(root).find_all(text)[:1]]
    else:
        keys = []
        for text in texts:
            with contextlib.suppress(BadRecord):
                keys.append(paths.key(text))
    return any(split_of_folder(name) for key in keys for name in key.split("/")[:-1])


def classes_of(
    url: str, images: Sequence[ImageRecord], chosen: Sequence[str], *, has_own_fields: bool = False
) -> tuple[str | None, str | None]:
    """Return the attribute of images that gives their classes, None for boxes; and what gives the boxes' classes."""
    attributes = {name: None for image in images for name in image.attributes}
    columns = {name: None for image in images for name in image.columns}
    if chosen:
        [name, *_] = chosen
        if name in columns:
            return None, name
        if name in attributes:
            return name, None
        given = ", ".join(repr(one) for one in (*columns, *attributes)) or "none"
        msg = f"{url}: nothing gives classes by the name {name!r}; there are {given}"
        raise DataError(msg)
    if has_own_fields and columns and attributes:
        return None, _one_of(url, (*columns, *attributes), "gives the classes")
    if len(columns) > 1:
        usual = [name for one in _USUAL for name in columns if name.lower() == one][:1]
        return None, usual[0] if usual else _one_of(url, tuple(columns), "gives the classes of the boxes")
    if columns or any(image.objects or image.problems for image in images):
        return None, next(iter(columns), None)
    if not attributes:
        msg = f"{url}: its first records have neither boxes nor classes"
        raise DataError(msg)
    return next(iter(attributes)) if len(attributes) == 1 else _one_of(url, tuple(attributes), "is the class"), None


def _one_of(url: str, names: Sequence[str], what: str) -> str:
    commands = [Change(f"{printable(name)} {what}", {"label_columns": (name,)}, sources=(url,)) for name in names]
    raise RefusalError(f"{url}: {len(names)} attributes may give the classes", commands)


def _deeper_places(places: Sequence[tuple[Folder, str]], path: str) -> Iterator[tuple[Folder, str]]:
    """Yield the folders below those of images: BDD100K has images/100k/train for labels/det_20/det_train.json."""
    tokens = [token for token, _ in split_tokens(stem_of(path))]
    for folder in {place[0].url: place[0] for place in places}.values():
        for base in (name for name in folders_in(folder) if _IMAGES.fullmatch(name)):
            for inner in folders_in(folder, base)[:_MAX_INNER]:
                yield from ((folder, join(base, inner, token)) for token in tokens)
