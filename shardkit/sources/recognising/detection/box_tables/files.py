"""Find the tables of boxes in a folder."""

import itertools
import json
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass

from shardkit.errors import DataError
from shardkit.naming import split_of_folder
from shardkit.options.call import Change
from shardkit.refusals import RefusalError
from shardkit.sources.engine.box_table_opening import TEXT, first_fields
from shardkit.sources.formats.box_tables.columns import columns_without_header, is_box_table
from shardkit.sources.formats.tables.lines import read_lines
from shardkit.sources.formats.tables.opening import open_table_file
from shardkit.sources.options import SourceOptions
from shardkit.sources.recognising.detection.image_paths import split_of, split_tokens
from shardkit.sources.recognising.folders.source_place import SourcePlace
from shardkit.sources.walking import file_or_folder, files_in, folders_in, join, parent_of
from shardkit.storage import Folder

_JSON_LINES = (".jsonl", ".ndjson")
# Tables in a split folder; the first: Roboflow, the last: Open Images by FiftyOne. A listing would list the images too.
_OF_SPLITS = ("_annotations.csv", "annotations.csv", "labels.csv", "labels/detections.csv")
_FOLDERS = ("annotations", "annotation", "labels", "csv_folder", "csv", "boxes", "data")
_MAX_TRIED = 64  # tables whose first line is read
_MAX_OF_A_FOLDER = 8  # text files: more of them are label files, one for each image
_DEPTH_OF_TABLES = 3  # levels of folders in a folder of tables
_SHOWN = 6  # tables that a refusal names


@dataclass(frozen=True, slots=True)
class FoundTables:
    """The tables of boxes in a folder: their paths, and those of tables that are left out for them."""

    paths: tuple[str, ...]
    left_out: tuple[str, ...] = ()


def split_of_table(path: str) -> str | None:
    """Return the split in a table's name or in the name of a folder that it is in; None for neither."""
    folders = reversed(path.split("/")[:-1])
    return split_of(path) or next((split for name in folders if (split := split_of_folder(name))), None)


def holds_boxes(folder: Folder, path: str) -> bool:
    """Return whether a table has one row per box, judging by its first line or its schema."""
    kind = posixpath.splitext(path)[1].lower()
    try:
        if kind in TEXT:
            fields = first_fields(folder, path)[0]
            is_list = kind == ".txt" and columns_without_header(fields) is not None  # of boxes of some images, perhaps
            return is_box_table(fields) and not is_list
        if kind in _JSON_LINES:  # opening it would read all lines
            return is_box_table(_first_names(folder, path))
        return is_box_table(open_table_file(folder, path, SourceOptions()).columns)
    except DataError:  # it is no table at all
        return False


def has_box_tables(folder: Folder) -> bool:
    """Return whether a folder has tables of boxes."""
    return bool(_paths(folder))


def find_tables(folder: Folder, place: SourcePlace) -> FoundTables:
    """Return the tables of boxes in a folder: those of splits, those of its folders, or the only one."""
    paths = _paths(folder)
    if not paths:
        msg = (
            f"{folder.url}: there is no table of boxes; searched for .csv and .tsv files with columns such as "
            "filename, class, xmin, ymin, xmax, ymax in it, in annotations/, in split folders; give the file as SOURCE"
        )
        raise DataError(msg)
    by_name: dict[str, list[str]] = {}
    for path in paths:
        by_name.setdefault(posixpath.basename(path), []).append(path)
    is_in_each = len(paths) > len(by_name)
    of_splits = [path for path in paths if split_of_table(path)]
    if of_splits and not (is_in_each and len(by_name) > 1):
        splits = [split_of_table(path) for path in of_splits]
        if len(set(splits)) == len(splits) or not any(split_tokens(posixpath.basename(path)) for path in of_splits):
            return FoundTables(tuple(of_splits), tuple(path for path in paths if path not in of_splits))
    elif len(by_name) == 1:
        return FoundTables(tuple(paths))
    commands = [Change(f"the boxes of {path}", sources=(f"{folder.url}/{path}",)) for path in paths[:_SHOWN]]
    if is_in_each:
        others = {name: tuple(other for other in by_name if other != name) for name in by_name}
        commands = [place.whole({"ignore": others[name]}, f"the boxes of each {name}") for name in by_name]
    raise RefusalError(f"{folder.url}: {len(paths)} tables of boxes may be the source", commands)


def _paths(folder: Folder) -> list[str]:
    names = folders_in(folder)
    splits = [name for name in names if split_of_folder(name)]
    in_splits = [join(split, name) for split in splits for name in _OF_SPLITS]
    paths = [path for path in in_splits if file_or_folder(folder, path) is not None]
    places = [name for name in names if name.lower() in _FOLDERS]
    for place in ("", *places):
        texts = files_in(folder, place, *TEXT)
        paths += texts if len(texts) <= _MAX_OF_A_FOLDER else [path for path in texts if not path.endswith(".txt")]
    if found := [path for path in paths[:_MAX_TRIED] if holds_boxes(folder, path)]:
        return found
    below = itertools.chain.from_iterable(_in_each_folder(folder, place, _DEPTH_OF_TABLES) for place in places)
    if found := list(below):
        return found
    in_each = [] if splits else _in_each_folder(folder, "", 1)
    return in_each if len(set(map(parent_of, in_each))) > 1 else []  # the only folder is opened like the source


def _in_each_folder(folder: Folder, above: str, depth: int) -> list[str]:
    """Return the tables in each folder of a folder, such as one for each class; [] if the first folder has none."""
    names = folders_in(folder, above) if depth else []
    if not names:
        return []
    first = join(above, names[0])
    texts = files_in(folder, first, *TEXT)
    own = [path for path in texts if holds_boxes(folder, path)] if len(texts) <= _MAX_OF_A_FOLDER else []
    if own:
        ends = [posixpath.basename(path) for path in own]
        found = (join(above, name, end) for end in ends for name in names)
        return [path for path in found if file_or_folder(folder, path) is not None]
    if not (below := _in_each_folder(folder, first, depth - 1)):
        return []
    return [*below, *(path for name in names[1:] for path in _in_each_folder(folder, join(above, name), depth - 1))]


def _first_names(folder: Folder, path: str) -> Sequence[str]:
    """Return the names in the first line of a JSON Lines table."""
    first = next((line for line in read_lines(folder, path) if line.text.strip()), None)
    try:
        record = json.loads(first.text) if first is not None else None
    except (RecursionError, ValueError):
        return ()
    return list(record) if isinstance(record, dict) else ()
