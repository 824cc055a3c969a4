"""Boxes or classes in files of JSON with one record for each image: BDD100K, VIA, CrowdHuman, SageMaker and others.

A file with boxes is read as boxes; ``label_columns=NAME`` reads an attribute of the images as their classes instead, or
tells which attribute of the regions, or which labelling job, gives the classes of boxes.
"""

from dataclasses import replace

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import printable
from shardkit.sources.context import Opening
from shardkit.sources.formats.vendors.formats import BOX_JSON, VENDORS
from shardkit.sources.listing import Source
from shardkit.sources.recognising.detection.box_json.files import find_json_files, format_of, open_json_file
from shardkit.sources.recognising.detection.box_json.single_files import find_single_files, open_single_files
from shardkit.sources.recognising.detection.found_files import open_found_files
from shardkit.storage import Folder

__all__ = ["format_of", "has_box_json", "open_box_json"]


def has_box_json(folder: Folder) -> bool:
    """Return whether a folder has such files, judging by names and the beginning of a few files."""
    return bool(find_json_files(folder)) or find_single_files(folder) is not None


def open_box_json(opening: Opening) -> Source:
    """Find the files and their images."""
    folder, path = opening.folder, opening.file
    paths = find_json_files(folder) if path is None else [path] if format_of(folder, path) else []
    if not paths and path is None and (title := find_single_files(folder)):
        return open_single_files(opening, title, opening.options.label_columns)
    if not paths:
        titles = ", ".join(one.title for one in VENDORS)
        msg = f"{folder.url if path is None else f'{folder.url}/{path}'}: none of these formats was found: {titles}"
        raise DataError(msg)
    opened = []
    for one in paths:
        if (own := format_of(folder, one)) is None:
            msg = f"{folder.url}/{one}: the file's format is not known"
            raise DataError(msg)
        opened.append(open_json_file(opening, one, own))
    if len({one.attribute for one in opened}) > 1:
        names = ", ".join(printable(one.file.path) for one in opened)
        msg = f"{folder.url}: {names} do not all give boxes, or classes of the same attribute; give one file as SOURCE"
        raise DataError(msg)
    first, files = opened[0], [one.file for one in opened]
    if len(files) == 1 and files[0].split == "train":
        files = [replace(files[0], split=None)]  # the only file is often called so: then splits can divide it
    given = dict[str, str]()
    if len({one.kind.title for one in opened}) == 1:
        given["form"] = first.kind.title
    given |= {"class": first.column} if first.column else {}
    given |= {"box": "corners"} if first.kind.parse == first.kind.parse_corners else {}
    given |= {"splits": "folders"} if first.splits_of_folders else {}
    about = "; ".join(dict.fromkeys(filter(None, (one.describe() for one in opened))))
    return open_found_files(
        opening,
        first.root,
        BOX_JSON.name,
        LAYOUTS["box-json"].title,
        files,
        given,
        field=first.attribute,
        has_several=any(one.has_several for one in opened),
        gives_splits=any(one.gives_splits or one.splits_of_folders for one in opened),
        remark=f"; {about}" if about else "",
    )
