"""Find files that have a record for each image, and their images: one finder for all such formats.

The beginning of a file tells its format. Its first records tell whether it has boxes or classes of whole images, and
where the images are. ``label_columns=NAME`` reads an attribute of the images as their classes instead, or tells which
attribute of the regions, or which labelling job, gives the classes of boxes.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, TypeVar, cast

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS, Layout
from shardkit.naming import first_of, printable, split_of_folder
from shardkit.options.call import Change
from shardkit.refusals import RefusalError
from shardkit.sources.engine.annotations import AnnotationDriver
from shardkit.sources.engine.image_places import find_paths, places_below
from shardkit.sources.engine.opening import open_reading
from shardkit.sources.engine.source import ReadingSource
from shardkit.sources.engine.splits import split_of_path, split_tokens
from shardkit.sources.formats.box_lines import WIDER_FACE
from shardkit.sources.formats.format import ONE_CLASS, ROOT, Format, ImageRecord
from shardkit.sources.formats.label_studio import LABEL_STUDIO
from shardkit.sources.formats.registry import FORMATS
from shardkit.sources.formats.vendors.formats import VENDORS, JsonFormat
from shardkit.sources.formats.xml_files import CVAT, TracksError
from shardkit.sources.listing import Source
from shardkit.sources.options import Opening
from shardkit.sources.readings.values import Annotation, Images, Labels, Listed, Reading
from shardkit.sources.recognising.detection.box_numbers import AS_CORNERS, are_corners
from shardkit.sources.recognising.detection.image_fields import classes_of
from shardkit.sources.recognising.detection.of_one_image import (
    format_of_image,
    has_files_of_images,
    open_files_of_images,
)
from shardkit.sources.walking import file_or_folder, files_in, folders_in, join, read_head, stem_of
from shardkit.storage import Folder, open_folder, os_errors_as

T = TypeVar("T", ImageRecord, str)
_TRIED = 8  # files of a folder that are tested
_FIRST = 1000  # images that decide how a file is read
_MAX_INNER = 16  # folders below a folder of label files that are searched
# Folders of label files; others are not listed, because they may hold many images.
_FOLDERS = re.compile(r"(?:labels?|annotations?|ann|vott-json-export|data|manifests?|wider_face_split)", re.IGNORECASE)
_OF_SPLITS = (
    "_annotations.createml.json",
    "via_region_data.json",
    "metadata.jsonl",
    "bounding_boxes.labels",
)  # in folders of images, which are not listed
_FIELDS = 4  # of objects, besides the class
_OF_SEQUENCE = "gt/gt.txt"  # of MOT
_REGIONS = b"rectanglelabels|polygonlabels|brushlabels|ellipselabels|keypointlabels".split(b"|")


@dataclass(frozen=True, slots=True)
class _Kind:
    """Formats of a layout."""

    endings: tuple[str, ...]  # endings of their files
    formats: Sequence[Format | JsonFormat]  # the formats, or their forms, those with sharp signs first
    missing: str  # the message if a folder has none of their files
    wrong: str = ""  # the message if a file is none of them


_JSON = f"none of these formats was found: {', '.join(one.title for one in VENDORS)}"
_KINDS: Mapping[Layout, _Kind] = {
    "box-json": _Kind(tuple(dict.fromkeys(one for row in VENDORS for one in row.endings)), VENDORS, _JSON, _JSON),
    "cvat": _Kind(
        (".xml",),
        (CVAT,),
        "there is no XML file of CVAT for images, such as annotations.xml next to images/",
        "the file is not 'CVAT for images 1.1'; for Pascal VOC, give the folder of the XML files as SOURCE",
    ),
    "label-studio": _Kind(
        (".json",),
        (LABEL_STUDIO,),
        "there is no JSON export of Label Studio; searched for *.json",
        "the file is not an export 'JSON' or 'JSON-MIN' of Label Studio",
    ),
    "wider-face": _Kind(
        ("_bbx_gt.txt",),
        (WIDER_FACE,),
        "there is no list of WIDER FACE next to its images; searched for wider_face_split/wider_face_train_bbx_gt.txt "
        "and WIDER_train/images",
    ),
}


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file, the split in its name, and how it is read."""

    path: str  # path of the file
    split: str | None = None  # the split in its name; None if it gives none
    options: Mapping[str, str] = field(default_factory=dict)  # settings of the format
    attribute: str | None = None  # the attribute of images that gives their classes; None for boxes
    has_several: bool = False  # whether an image may have several classes
    gives_splits: bool = False  # whether records, or the images' folders, give splits
    about: str = ""  # what the user should know; '' for nothing


def has_box_json(folder: Folder) -> bool:
    """Return whether a folder has files of JSON with boxes, for many images or for one each."""
    return bool(_find(folder, layout="box-json")) or has_files_of_images(folder)


def refuse_other_export(folder: Folder, path: str) -> None:
    """Refuse a file that no layout reads: an export with another one to choose, or the file of one image."""
    if title := format_of_image(folder, path):
        command = Change("all images of the folder that have such a file", sources=(folder.url,))
        raise RefusalError(f"{folder.url}/{path}: this is the file of one image ({title})", [command])
    head = (read_head(folder, path) or b"") if path.lower().endswith((".csv", ".tsv")) else b""
    if b"annotation_id" in head and any(word in head for word in _REGIONS):
        msg = f"{folder.url}/{path}: this is Label Studio's CSV, whose boxes are JSON in a field; export 'JSON' there"
        raise DataError(msg)


def _format_of(folder: Folder, path: str, *, layout: Layout) -> Format | JsonFormat | None:
    """Return the format of a file, judging by its name and its beginning; None if it is another one."""
    kind = _KINDS[layout]
    if not path.lower().endswith(kind.endings):
        return None
    head, name = read_head(folder, path), posixpath.basename(path).lower()
    if layout == "wider-face":  # known by its name
        return WIDER_FACE
    fitting = (one for one in kind.formats if not isinstance(one, JsonFormat) or name.endswith(one.endings))
    return next((one for one in fitting if one.sniff(head or b"")), None)


is_export, is_box_json = (partial(_format_of, layout=layout) for layout in ("label-studio", "box-json"))


def _find(folder: Folder, *, layout: Layout) -> list[str]:
    """Return the files of the first folder that has any: the folder itself, its splits', or those of label files."""
    names, endings = folders_in(folder), _KINDS[layout].endings
    in_splits = [join(name, one) for name in names if split_of_folder(name) for one in _OF_SPLITS]
    in_splits = [path for path in in_splits if file_or_folder(folder, path)]
    # An export in train/ and one in val/; Azure's AutoML has training-mltable-folder/ and validation-mltable-folder/.
    of_splits = [name for name in names if split_tokens(name)][:_MAX_INNER]
    beside = [path for name in of_splits for path in files_in(folder, name, *endings)[:_TRIED]]
    for paths in (files_in(folder, "", *endings), in_splits, *_label_files(folder, names, endings), beside):
        if found := [path for path in paths[:_TRIED] if _format_of(folder, path, layout=layout)]:
            return found
    # Of sequences, such as train/MOT17-02/gt/gt.txt; none if the first sequence has none.
    tops = [join(name, one) for name in names if split_of_folder(name) for one in folders_in(folder, name)] or names
    first, *others = (join(top, _OF_SEQUENCE) for top in tops or [""])
    if not file_or_folder(folder, first) or not _format_of(folder, first, layout=layout):
        return []
    return [first, *(path for path in others if file_or_folder(folder, path))]


def _has(folder: Folder, *, layout: Layout) -> bool:
    return bool(_find(folder, layout=layout))


has_cvat, has_label_studio, has_wider_face = (
    partial(_has, layout=layout) for layout in ("cvat", "label-studio", "wider-face")
)


def _label_files(folder: Folder, names: Sequence[str], endings: tuple[str, ...]) -> Iterator[list[str]]:
    for name in (name for name in names if _FOLDERS.fullmatch(name)):
        yield files_in(folder, name, *endings)
        for inner in folders_in(folder, name)[:_MAX_INNER]:
            if not split_of_folder(inner):  # a file for each image
                yield files_in(folder, join(name, inner), *endings)


def open_box_json(opening: Opening) -> Source:
    """Find files of JSON with boxes, and their images."""
    if opening.file is None and not _find(opening.folder, layout="box-json") and has_files_of_images(opening.folder):
        return open_files_of_images(opening)
    return _open(opening, layout="box-json")


def _open(opening: Opening, *, layout: Layout) -> Source:
    folder, path, kind = opening.folder, opening.file, _KINDS[layout]
    paths = [path] if path is not None else _find(folder, layout=layout)
    if not paths:
        raise DataError(f"{folder.url}: {kind.missing}")
    looked_at = [_look_at(opening, one, layout) for one in paths]
    files = [file for file, _ in looked_at]
    file, first = looked_at[0]
    if len({one.attribute for one in files}) > 1:
        names = ", ".join(map(printable, paths))
        msg = f"{folder.url}: {names} do not all give boxes, or classes of the same attribute; give one file as SOURCE"
        raise DataError(msg)
    if len(files) == 1 and file.split == "train":  # the only file is often called so: then splits can divide it
        files = [replace(file, split=None)]
    options = dict(file.options)
    if len({one.options.get("form") for one in files}) > 1:
        del options["form"]
    about = "; ".join(dict.fromkeys(filter(None, (one.about for one in files))))
    remark = f"; {about}" if about else ""
    source = open_found_files(opening, layout, LAYOUTS[layout].title, files, options, remark)
    return _with_what_images_tell(opening, source, file, first)


open_cvat, open_label_studio, open_wider_face = (
    partial(_open, layout=layout) for layout in ("cvat", "label-studio", "wider-face")
)


def _look_at(opening: Opening, path: str, layout: Layout) -> tuple[FoundFile, list[ImageRecord]]:
    """Decide how to read a file, from its first 1,000 images, which are returned, too."""
    folder = opening.folder
    url, kind = f"{folder.url}/{path}", _format_of(folder, path, layout=layout)
    if kind is None:
        raise DataError(f"{url}: {_KINDS[layout].wrong}")
    try:
        records = (
            partial(kind.images, column=None) if isinstance(kind, JsonFormat) else partial(kind.records, options={})
        )
        first = read_first(folder, path, records)
    except TracksError as error:
        msg = f"{error}, which shardkit does not read; export the task as 'COCO 1.0' with its images"
        raise DataError(msg) from None
    has_own_fields = isinstance(kind, JsonFormat) and kind.has_own_fields
    attribute, column = classes_of(url, first, opening.options.label_columns, has_own_fields=has_own_fields)
    gives_splits, options, about = any(image.split for image in first), dict[str, str](), ""
    if isinstance(kind, JsonFormat):
        options |= {"form": kind.title} | ({"class": column} if column else {})
        of_class = f"classes of {printable(repr(column))}" if column else ""
        if {one["label_name"] for image in first for one in image.objects} == {ONE_CLASS}:
            of_class = f"all of the class {ONE_CLASS!r}"
        about = ", ".join(filter(None, [kind.title, of_class, kind.remark])) if attribute is None else ""
        if column and not opening.options.label_columns and (others := other_fields(folder, path, kind, column)):
            about += (
                f"; note: its objects also have {first_of([*map(repr, map(printable, others))], _FIELDS)}, not read"
            )
    several = any(len(image.attributes.get(attribute or "", ())) > 1 for image in first)
    return FoundFile(path, split_of_path(path), options, attribute, several, gives_splits, about), first


def _with_what_images_tell(
    opening: Opening, source: ReadingSource, file: FoundFile, first: Sequence[ImageRecord]
) -> ReadingSource:
    """Return a source with the splits that folders of the images give, and with boxes as corners if they are."""
    driver = cast("AnnotationDriver", source.driver)
    keys, value, more, remark = [*islice(driver.keys(source.folder), _FIRST)], source.value, dict[str, str](), ""
    kind = next((one for one in VENDORS if one.title == file.options.get("form")), None)
    if kind is not None and are_corners(source, driver, kind, first):
        more, remark = {"box": "corners"}, f"; {AS_CORNERS}"
    are_splits = any(split_of_folder(name) for key in keys for name in key.split("/")[:-1])
    if are_splits and not file.gives_splits and file.split is None:
        more["splits"] = "folders"
    if not more:
        return source
    value = value.mapped(
        lambda one: replace(one, options={**one.options, **more}) if isinstance(one, Annotation) else one
    )
    if "splits" in more:
        value = replace(value, split=value.boxes or (value.label.origin if value.label else None))
    return open_reading(opening, value, name=source.name, is_strict=False, remark=source.remark + remark)


def other_fields(folder: Folder, path: str, kind: JsonFormat, column: str) -> list[str]:
    """Return the fields of objects, besides that of the class, whose values repeat as classes do."""
    first = read_first(folder, path, partial(kind.images, column=column))
    fields = [name for name in dict.fromkeys(name for image in first for name in image.columns) if name != column]
    found = []
    for name in fields[:_FIELDS]:
        read = read_first(folder, path, partial(kind.images, column=name))
        values = [one["label_name"] for image in read for one in image.objects]
        found += [name] if 1 < len({*values} - {None, ""}) <= len(values) / 2 else []
    return found


def read_first(
    folder: Folder, path: str, read: Callable[[Any, str], Iterator[T]], num: int = _FIRST, kind: Format | None = None
) -> list[T]:
    """Return the first items that a function reads from an open file, whose URL it is told for messages."""
    url = f"{folder.url}/{path}"
    with os_errors_as("read", url), folder.open(path) if kind is None else kind.open(folder, path) as file:
        return list(islice(read(file, url), num))


def root_of(opening: Opening, kind: Format, path: str, options: Mapping[str, str], outside: str = "") -> str:
    """Return the folder that keys start at: '' for SOURCE; its URL if the user gives it, or the images are elsewhere.

    They may be in the folder above a file that is SOURCE, or `outside`.
    """
    if opening.options.root is not None:
        url = open_folder(opening.options.root).url
        return "" if url == opening.folder.url else url
    above = posixpath.dirname(opening.folder.url)
    urls = [opening.folder.url, *([above] if above and above[-1] not in "/:" else []), *filter(None, [outside])]
    for url in urls if opening.file is not None else ():
        root = open_folder(url)
        texts = read_first(opening.folder, path, partial(kind.names, options={**options, ROOT: root.url}), _TRIED, kind)
        places = [(root, place) for place in places_below(root, opening.folder, path)]
        if find_paths(texts, places, stem_of(path)):
            return "" if url == opening.folder.url else root.url
    return ""


def open_found_files(
    opening: Opening,
    name: str,
    title: str,
    files: Sequence[FoundFile],
    options: Mapping[str, str],
    remark: str = "",
    *,
    class_file: str = "",
    outside: str = "",
) -> ReadingSource:
    """Return the source of files of one format, all of which give the same; the engine finds their images."""
    attribute, kind = files[0].attribute, FORMATS[name]
    has_several = any(file.has_several for file in files)
    given = {**options} | ({"field": attribute} if attribute is not None else {})
    origin = Annotation(name, tuple(file.path for file in files), names=class_file, options=given)
    splits = {file.path: file.split for file in files if file.split is not None}
    root = root_of(opening, kind, files[0].path, files[0].options, outside)
    reading = Reading(
        images=Images(root, unnamed="near"),
        label=None if attribute is None else Labels(origin, kind="classes" if has_several else "class"),
        boxes=origin if attribute is None and not kind.gives_masks else None,
        mask=origin if kind.gives_masks else None,
        split=Listed(splits) if splits else origin if any(file.gives_splits for file in files) else None,
        without_annotation=opening.options.without_annotation or "reject",
    )
    return open_reading(opening, reading, name=title, is_strict=False, remark=remark)
