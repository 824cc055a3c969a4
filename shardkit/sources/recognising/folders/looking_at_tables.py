"""Decide whether a table in a folder says what its images are, or the folders do.

Kaggle gives train.csv next to train_images/ and test_images/: read as class folders, the classes would be these two. A
table is the source if a column of it names files below the folder. It is not if it only repeats the folders' names, as
an index of class folders does, or has nothing to do with the images, as a log.
"""

import itertools
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from shardkit.errors import ShardkitError
from shardkit.naming import split_of_folder
from shardkit.sources.engine.joined_names import JoinedNames, join_names
from shardkit.sources.engine.split_columns import is_split_column
from shardkit.sources.file_names import ending
from shardkit.sources.formats.column_names import LABEL_COLUMNS, LIKELY_LABEL_COLUMNS, named_like
from shardkit.sources.formats.tables.json_files import json_kind
from shardkit.sources.formats.tables.opening import TABLE_ENDINGS, open_list_files, open_table_file, read_prefix
from shardkit.sources.formats.tables.text_files import TEXT_ENDINGS, is_invented
from shardkit.sources.formats.tables.values import is_number
from shardkit.sources.options import SourceOptions
from shardkit.sources.recognising.claims.collecting import FILES, Head, best_column, look_up
from shardkit.sources.recognising.claims.image_names import ImageNames, plain_word
from shardkit.sources.recognising.claims.label_columns import is_web_address, may_be_labels
from shardkit.sources.recognising.claims.searching import paths_below
from shardkit.sources.recognising.folders.adjacent_tables import (
    AdjacentTable,
    AdjacentTables,
    are_classes,
    may_be_classes,
)
from shardkit.sources.recognising.folders.split_folders import splits_of
from shardkit.sources.walking import children
from shardkit.storage import Folder

_FEW_OF_A_FOLDER = 2
_USUAL_LABELS = (*LABEL_COLUMNS, *LIKELY_LABEL_COLUMNS)
_MAX_PREFIX = 3  # characters of a folder of the first characters of names
_MAX_TABLES = 20  # in one folder; more of them belong to single images or to something else
_NUM_VALUES = 100  # of a column, which are looked up
_DOWNLOAD = "download the images first (for example with img2dataset) and put the file paths into the table"


def look_at_tables(folder: Folder, excluded: str | None) -> AdjacentTables:
    """Read the beginning of each table in a folder and look its names up.

    Tables in folders below count if there is none in the folder itself, and the folders are no classes.
    """
    entries = children(folder)
    names = [one.name for one in entries if not one.is_folder and _may_be_table(folder, one.name)]
    if len(names) > _MAX_TABLES:
        return AdjacentTables()
    files = ImageNames(folder, excluded)
    tables = _look_at(folder, names, files)
    if not any(table.image_column for table in tables) and sum(one.is_folder for one in entries) > 1:
        below = (path for path in paths_below(folder, excluded, FILES) if _may_be_table(folder, path))
        tables += [one for one in _look_at(folder, [*below], files) if _is_source(one)]
    tables = _with_targets(_with_numbers_of_others(tables))
    unusable = [table for table in tables if table.problem]
    unrelated = [table for table in tables if not table.image_column and not table.problem]
    naming = [table for table in tables if table.image_column]
    rest = tuple(table for table in naming if not _has_no_labels(table, naming))
    return AdjacentTables(rest, tuple(unrelated), tuple(unusable))


def _may_be_table(folder: Folder, name: str) -> bool:
    kind = ending(name)
    if kind in TABLE_ENDINGS:
        return True
    try:
        if kind in TEXT_ENDINGS:
            return any(one.is_table for one in open_list_files(folder, name))
        return kind == ".json" and json_kind(folder, name) is not None
    except ShardkitError:
        return False


def _is_source(table: AdjacentTable) -> bool:
    """Return whether a table in a folder below says what the images are, and no folders do."""
    return bool(table.label_columns) and not are_classes(table)


def _has_no_labels(table: AdjacentTable, tables: Sequence[AdjacentTable]) -> bool:
    """Return whether a table has less columns than that of the training images, or is a form to fill in."""
    if _is_form(table) or not table.label_columns:
        return True
    is_test = set(splits_of([posixpath.splitext(table.name)[0]]).values()) == {"test"}
    lacking = (other.others - table.others - other.split_columns for other in tables if table.others < other.others)
    return is_test and any(lacking)


def _look_at(folder: Folder, names: Sequence[str], files: ImageNames) -> list[AdjacentTable]:
    heads = {name: _head(folder, name, files) for name in names}
    look_up([head for head in heads.values() if isinstance(head, Head)], files)
    return [_look_at_head(head, files) if isinstance(head, Head) else head for head in heads.values()]


def look_at_table(folder: Folder, name: str) -> AdjacentTable:
    """Read the beginning of a table and look its names up in a folder."""
    [table] = _look_at(folder, [name], ImageNames(folder, None))
    return table


def _head(folder: Folder, name: str, files: ImageNames) -> Head | AdjacentTable:
    """Return the beginning of a table, or why it cannot be used."""
    try:
        file = open_table_file(folder, name, SourceOptions())
        prefix = [record.values for record in read_prefix(file)]
        file = join_names(file, prefix, files.find_all)
        rows = [record.values for record in itertools.islice(read_prefix(file), _NUM_VALUES)]
    except ShardkitError as error:  # a text file of another kind is no table of images
        return AdjacentTable(name, (), problem=str(error).splitlines()[0].removeprefix(f"{folder.url}/{name}: "))
    return Head(name, file.columns, file, rows, is_whole=False)


def _look_at_head(head: Head, files: ImageNames) -> AdjacentTable:
    name, columns, rows = head.path, head.columns, head.rows
    best = best_column(columns, rows, files)
    if best is None:
        addresses = [i for i in range(len(columns)) if rows and all(is_web_address(row[i]) for row in rows)]
        problem = f"column {columns[addresses[0]]!r} contains URLs; {_DOWNLOAD}" if addresses else ""
        return AdjacentTable(name, columns, problem=problem)
    column, images = best
    if files.find(columns[column]) is not None and not is_invented(columns[column]):
        problem = (
            f"its first line names the image {columns[column]!r}; add a line with the names of the columns above it"
        )
        return AdjacentTable(name, columns, problem=problem)
    found = {row: one.paths for row, one in images.items()}
    if all(str(rows[row][column]).isdigit() for row in found) and _are_folders(files, rows):
        return AdjacentTable(name, columns)  # the numbers and names of the classes
    top = frozenset(path.split("/")[0] if "/" in path else "" for paths in found.values() for path in paths)
    parts = head.file.joined if isinstance(head.file, JoinedNames) else ()
    of_folders = _folder_column(columns, rows, (column, *parts), found)
    others = [i for i, title in enumerate(columns) if i not in (column, *parts) and title]
    of_splits = frozenset(
        columns[i] for i in others if head.file is not None and is_split_column(head.file, i, [row[i] for row in rows])
    )
    labels = frozenset(
        columns[i]
        for i in others
        if columns[i] not in of_splits and may_be_labels(columns[i], [row[i] for row in rows])
    )
    table = AdjacentTable(
        name, columns, columns[column], top, of_folders, label_columns=labels, split_columns=of_splits
    )
    values = {i: {row: rows[row][i] for row in found} for i in others if columns[i] in labels}
    says_labels = named_like([*labels], _USUAL_LABELS) if "/" not in name else not all(map(is_invented, labels))
    if not says_labels:  # unlike the folders
        table = replace(table, inner_folders=_inner_folders(found))
    numbers = bool(values) and all(_are_numbers_of_folders(of_rows, found) for of_rows in values.values())
    above = {posixpath.dirname(path) for paths in found.values() for path in paths}
    splits = frozenset(next(filter(None, map(split_of_folder, path.split("/"))), None) for path in above)
    num_each = len(found) / len(set(map(_folder_of, found.values())))
    coded = frozenset(columns[i] for i in values if any(_is_code(rows, i, other) for other in values if other != i))
    named = frozenset(path for paths in found.values() for path in paths)
    return replace(
        table,
        numbers_folders=numbers,
        folder_splits=splits,
        num_each=num_each,
        coded=coded,
        images=named,
    )


def _is_code(rows: Sequence[Sequence[Any]], column: int, other: int) -> bool:
    """Return whether a column has a number for each text of another one."""
    pairs = {(str(row[column]), str(row[other])) for row in rows}
    codes, names = {code for code, _ in pairs}, {name for _, name in pairs}
    are_numbers = all(map(is_number, codes)) and not any(map(is_number, names))
    return are_numbers and len(pairs) == len(codes) == len(names)


def _inner_folders(found: Mapping[int, Sequence[str]]) -> frozenset[str]:
    """Return the names of the folders of the images below what they share and below splits.

    Folders by the first characters of the images' names say nothing.
    """
    paths = sorted({path for of_row in found.values() for path in of_row})
    folders = sorted(set(map(posixpath.dirname, paths)))
    common = posixpath.commonpath(folders) if all(folders) else ""
    below = [path[len(common) :].strip("/").split("/") for path in paths]
    if len(splits_of(names := sorted({parts[0] for parts in below if len(parts) > 1}))) == len(names):
        below = [parts[1:] for parts in below]
    inner = [parts for parts in below if len(parts) > 1]
    return frozenset() if all(map(_begins_name, inner)) else frozenset(parts[0] for parts in inner)


def _begins_name(parts: Sequence[str]) -> bool:
    """Return whether a folder has the first characters of a file's name: 010/ of 0108775.jpg, but not 1/ of 1_2.jpg."""
    folder, name = parts[0], parts[-1]
    return len(folder) <= _MAX_PREFIX and name.startswith(folder) and name[len(folder) :][:1].isalnum()


def _with_numbers_of_others(tables: list[AdjacentTable]) -> list[AdjacentTable]:
    """Return the tables, without numbers of folders where these may be so by chance: each is in one row or two."""
    sure = {one.columns for one in tables if one.numbers_folders and one.num_each >= _FEW_OF_A_FOLDER}
    return [replace(one, numbers_folders=one.numbers_folders and one.columns in sure) for one in tables]


def _with_targets(tables: list[AdjacentTable]) -> list[AdjacentTable]:
    """Return the tables, with the label that Kaggle's ``sample_submission.csv`` asks for in place of their others."""
    asked = {name for one in tables if _is_form(one) for name in one.columns}
    found = []
    for one in tables:
        common = one.label_columns & asked
        if len(common) == 1 and not common & one.coded and not _is_form(one):
            [target] = common
            repeated = one.folder_column if one.folder_column == target else ""
            one = replace(one, target=target, folder_column=repeated, label_columns=frozenset([target]))  # noqa: PLW2901
            one = replace(one, inner_folders=frozenset())  # noqa: PLW2901
        found.append(one)
    return found


def _is_form(table: AdjacentTable) -> bool:
    """Return whether a table is a form to fill in with the answers of a competition."""
    return "submission" in table.name.lower()


def _are_numbers_of_folders(values: Mapping[int, Any], found: Mapping[int, Sequence[str]]) -> bool:
    """Return whether values are numbers, one for each name of the files' folders, which may be classes."""
    if not all(is_number(str(value)) for value in values.values()):
        return False
    pairs = {(str(value), _folder_of(found[row])) for row, value in values.items()}
    folders = {folder for _, folder in pairs}
    is_each = len(pairs) == len(folders) == len({value for value, _ in pairs}) > 1
    return is_each and may_be_classes(sorted(folders))


def _folder_of(paths: Sequence[str]) -> str:
    return posixpath.basename(posixpath.dirname(paths[0]))


def _folder_column(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], taken: Sequence[int], found: dict[int, list[str]]
) -> str:
    """Return the column that has the name of a folder of each row's file, which is not a split's; '' for none."""
    for i in range(len(rows[0])):
        if i not in taken and all(_is_folder_of(rows[row][i], paths) for row, paths in found.items()):
            return columns[i]
    return ""


def _is_folder_of(value: Any, paths: Sequence[str]) -> bool:
    folders = {name for path in paths for name in path.split("/")[:-1]}
    plain = plain_word(value)
    return bool(plain) and any(plain_word(name) == plain for name in folders.difference(splits_of(sorted(folders))))


def _are_folders(files: ImageNames, rows: Sequence[Sequence[Any]]) -> bool:
    """Return whether a column lists names of folders, each once: the table describes the classes."""
    for i in range(len(rows[0])):
        texts = [plain_word(row[i]) for row in rows if row[i] not in (None, "")]
        if len(texts) > 1 and len(set(texts)) == len(texts) and files.folder_names.issuperset(texts):
            return True
    return False
