"""Decide whether a table in a folder says what its images are, or the folders do.

Kaggle gives train.csv next to train_images/ and test_images/: read as class folders, the classes would be these two. A
table is the source if a column of it names files below the folder. It is not if it only repeats the folders' names, as
an index of class folders does, or has nothing to do with the images, as a log.
"""

import itertools
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shardkit.errors import ShardkitError
from shardkit.naming import printable, split_of_folder
from shardkit.sources.claims.collecting import FILES, Head, best_column, is_web_address, look_up
from shardkit.sources.claims.image_names import ImageNames, plain_word
from shardkit.sources.claims.searching import paths_below
from shardkit.sources.folders.split_folders import is_unlabelled, says_nothing, splits_of
from shardkit.sources.listing import ending
from shardkit.sources.options import SourceOptions
from shardkit.sources.tables.column_names import LABEL_COLUMNS, LIKELY_LABEL_COLUMNS, named_like
from shardkit.sources.tables.formats.json_files import json_kind
from shardkit.sources.tables.formats.text_files import TEXT_ENDINGS, is_invented, names_image
from shardkit.sources.tables.formats.values import is_number
from shardkit.sources.tables.layout import TABLE_ENDINGS, open_list_files, open_table_file
from shardkit.sources.tables.roles import read_prefix
from shardkit.sources.tables.split_words import holds_splits, split_of_file
from shardkit.sources.walking import children
from shardkit.storage import Folder

_OF_FOLDS = re.compile(r"(?:^|[_ -])(?:k?folds?|cv|index|idx)(?:$|[_ -])", re.IGNORECASE)
_USUAL_LABELS = (*LABEL_COLUMNS, *LIKELY_LABEL_COLUMNS)
_FEW_RECORDS = 3  # of fewer, nothing repeats
_FEW_OF_A_FOLDER = 2
_DIGITS_OF_RANGES = 4
_MAX_TABLES = 20  # in one folder; more of them belong to single images or to something else
_NUM_VALUES = 100  # of a column, which are looked up
_DOWNLOAD = "download the images first (for example with img2dataset) and put the file paths into the table"


@dataclass(frozen=True, slots=True)
class AdjacentTable:
    """A table in a folder of images.

    Attributes:
        name: The file.
        columns: Its columns.
        image_column: The column that names files below the folder; '' if none does.
        image_folders: Top folders that hold files which it names; '' for the folder itself.
        folder_column: Another column, which only repeats the names of the files' folders; '' for none.
        numbers_folders: Whether another column has a number for each of these folders, which are classes.
        num_each: Number of rows that name files, for each name of the files' folders, on average.
        folder_splits: The splits that the files' folders mean; None if one means none.
        label_columns: Other columns that may hold labels: no splits, numbers of folds, links or texts of one image.
        inner_folders: If it has no header: the folders of the files, below what is above all of them.
        coded: Columns of which each value stands for one of a column of texts.
        target: The column of labels that a form of a competition's answers asks for; '' if none does.
        problem: Why the table cannot be used, as a clause; '' if it can be read.
    """

    name: str
    columns: tuple[str, ...]
    image_column: str = ""
    image_folders: frozenset[str] = frozenset()
    folder_column: str = ""
    numbers_folders: bool = False
    num_each: float = 0
    folder_splits: frozenset[str | None] = frozenset()
    label_columns: frozenset[str] = frozenset()
    inner_folders: frozenset[str] = frozenset()
    coded: frozenset[str] = frozenset()
    target: str = ""
    problem: str = ""

    @property
    def repeats_folders(self) -> bool:
        """Whether a column only repeats the files' folders, by their names or numbers."""
        return bool(self.folder_column) or self.numbers_folders

    @property
    def others(self) -> frozenset[str]:
        """The columns that do not name files."""
        return frozenset(self.columns) - {self.image_column, ""}


@dataclass(frozen=True, slots=True)
class AdjacentTables:
    """The tables in a folder, by what they are for.

    Attributes:
        naming: Tables that name images and have labels.
        without_labels: Tables that name images and have no labels, as a test set's.
        unrelated: Tables that name no image.
        unusable: Tables that cannot be read, or name images on the Web.
    """

    naming: tuple[AdjacentTable, ...] = ()
    without_labels: tuple[AdjacentTable, ...] = ()
    unrelated: tuple[AdjacentTable, ...] = ()
    unusable: tuple[AdjacentTable, ...] = ()

    @property
    def unread(self) -> list[AdjacentTable]:
        """Tables that are not used and may have labels of the images: more than a column, or unreadable."""
        return [one for one in (*self.unrelated, *self.unusable) if one.problem or len(one.others) > 1]

    @property
    def families(self) -> list[list[tuple[str, str]]]:
        """Names and splits of tables with equal columns, one for each split: two or more in each family."""
        by_columns: dict[tuple[str, ...], list[str]] = {}
        for table in self.naming:
            by_columns.setdefault(table.columns, []).append(table.name)
        return [found for names in by_columns.values() if len(found := _of_splits(names)) > 1]

    @property
    def of_splits(self) -> list[tuple[str, str]]:
        """Names and splits of the only family; [] if there is none, or several."""
        families = self.families
        return families[0] if len(families) == 1 else []

    @property
    def of_other_folders(self) -> frozenset[str]:
        """Tables in a folder of their own, so that the images' names do not start there."""
        tables = (one for one in self.naming if "/" in one.name)
        return frozenset(one.name for one in tables if one.name.split("/")[0] not in one.image_folders)

    @property
    def repeat_folders_of_splits(self) -> bool:
        """Whether the folders of the images say all that the tables do: the labels and the splits."""
        splits = dict(self.of_splits)
        return all(one.repeats_folders and one.folder_splits == {splits.get(one.name)} for one in self.naming)

    @property
    def are_of_splits(self) -> bool:
        """Whether there are several tables that name images, one for each split."""
        return bool(self.naming) and len(self.of_splits) == len(self.naming)

    @property
    def remark(self) -> str:
        """What the user should know about the tables that are not used; '' for nothing."""
        parts = [
            (self.unrelated, "names no image below the folder and is not used"),
        ]
        notes = [f"{printable(table.name)} {what}" for tables, what in parts for table in tables]
        notes += [f"{printable(table.name)} is not used: {table.problem}" for table in self.unusable]
        return "".join(f"; note: {note}" for note in notes)


def _of_splits(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return tables with their splits, by their own names, their folders', or words in their names; [] if two agree."""
    stems = {name: posixpath.splitext(posixpath.basename(name))[0] for name in names}
    above = {name: posixpath.basename(posixpath.dirname(name)) for name in names}
    found = [
        [(name, splits[word]) for name, word in words.items() if word in splits]
        for words in (stems, above)
        for splits in [splits_of(sorted(set(words.values())))]
    ]
    by_words = {name: split for name in names if (split := split_of_file(name))}
    rest = [name for name in names if name not in by_words]
    if len(rest) == 1 and "train" not in by_words.values() and all(stems[rest[0]] in stems[name] for name in by_words):
        by_words[rest[0]] = "train"  # tags.tsv next to test-tags.tsv
    found.append([*by_words.items()])
    pairs = next((one for one in found if len(one) == len(names)), next(filter(None, found), []))
    return pairs if len({split for _, split in pairs}) == len(pairs) else []


def look_at_tables(folder: Folder, excluded: str | None) -> AdjacentTables:
    """Read the beginning of each table in a folder and look its names up.

    Tables in folders below count if there is none in the folder itself, and the folders are no classes.

    Args:
        folder: The folder.
        excluded: Path below it that is not searched; None for none.
    """
    entries = children(folder)
    names = [one.name for one in entries if not one.is_folder and _may_be_table(folder, one.name)]
    if len(names) > _MAX_TABLES:
        return AdjacentTables()
    files = ImageNames(folder, excluded)
    tables = _look_at(folder, names, files)
    if not any(table.image_column for table in tables) and sum(one.is_folder for one in entries) > 1:
        below = (path for path in paths_below(folder, excluded, FILES) if _may_be_table(folder, path))
        tables += [one for one in _look_at(folder, [*below], files) if _is_source(folder, one)]
    tables = _with_targets(_with_numbers_of_others(tables))
    unusable = [table for table in tables if table.problem]
    unrelated = [table for table in tables if not table.image_column and not table.problem]
    naming = [table for table in tables if table.image_column]
    without = [table for table in naming if _has_no_labels(table, naming)]
    rest = tuple(table for table in naming if table not in without)
    return AdjacentTables(rest, tuple(without), tuple(unrelated), tuple(unusable))


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


def _is_source(folder: Folder, table: AdjacentTable) -> bool:
    """Return whether a table in a folder below says what the images are, and no folders do."""
    return bool(table.label_columns) and not are_classes(table)


def are_classes(table: AdjacentTable) -> bool:
    """Return whether the folders of a table's images look like classes by their own names, too."""
    return any(_may_be_classes(sorted(names - {""})) for names in (table.image_folders, table.inner_folders))


def _may_be_classes(names: list[str]) -> bool:
    splits = splits_of(names)
    others = [name for name in names if not (name in splits or is_unlabelled(name) or says_nothing(name))]
    # StyleGAN's 00000/ has the first thousand images.
    return len(others) > 1 and not all(name.isdigit() and len(name) >= _DIGITS_OF_RANGES for name in others)


def _has_no_labels(table: AdjacentTable, tables: Sequence[AdjacentTable]) -> bool:
    """Return whether a table has less columns than that of the training images, or is a form to fill in."""
    if _is_form(table) or not table.label_columns:
        return True
    is_test = set(splits_of([posixpath.splitext(table.name)[0]]).values()) == {"test"}
    return is_test and any(table.others < other.others for other in tables)


def _look_at(folder: Folder, names: Sequence[str], files: ImageNames) -> list[AdjacentTable]:
    heads = {name: _head(folder, name) for name in names}
    look_up([head for head in heads.values() if isinstance(head, Head)], files)
    return [_look_at_head(head, files) if isinstance(head, Head) else head for head in heads.values()]


def look_at_table(folder: Folder, name: str) -> AdjacentTable:
    """Read the beginning of a table and look its names up in a folder.

    Args:
        folder: The folder.
        name: The table in it.
    """
    [table] = _look_at(folder, [name], ImageNames(folder, None))
    return table


def _head(folder: Folder, name: str) -> Head | AdjacentTable:
    """Return the beginning of a table, or why it cannot be used."""
    try:
        file = open_table_file(folder, name, SourceOptions())
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
    found = {row: one.paths for row, one in images.items()}
    if all(str(rows[row][column]).isdigit() for row in found) and _are_folders(files, rows):
        return AdjacentTable(name, columns)  # the numbers and names of the classes
    top = frozenset(path.split("/")[0] if "/" in path else "" for paths in found.values() for path in paths)
    of_folders = _folder_column(columns, rows, column, found)
    others = [i for i, title in enumerate(columns) if i != column and title]
    labels = frozenset(columns[i] for i in others if _may_be_labels(columns[i], [row[i] for row in rows]))
    table = AdjacentTable(name, columns, columns[column], top, of_folders, label_columns=labels)
    values = {i: {row: rows[row][i] for row in found} for i in others if columns[i] in labels}
    says_labels = named_like([*labels], _USUAL_LABELS) if "/" not in name else not all(map(is_invented, labels))
    if not says_labels:  # unlike the folders
        table = replace(table, inner_folders=_inner_folders(found))
    numbers = bool(values) and all(_are_numbers_of_folders(of_rows, found) for of_rows in values.values())
    above = {posixpath.dirname(path) for paths in found.values() for path in paths}
    splits = frozenset(next(filter(None, map(split_of_folder, path.split("/"))), None) for path in above)
    num_each = len(found) / len(set(map(_folder_of, found.values())))
    coded = frozenset(columns[i] for i in values if any(_is_code(rows, i, other) for other in values if other != i))
    return replace(table, numbers_folders=numbers, folder_splits=splits, num_each=num_each, coded=coded)


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
    return len(folder) < _DIGITS_OF_RANGES and name.startswith(folder) and name[len(folder) :][:1].isalnum()


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
    return is_each and _may_be_classes(sorted(folders))


def _folder_of(paths: Sequence[str]) -> str:
    return posixpath.basename(posixpath.dirname(paths[0]))


def _may_be_labels(title: str, values: Sequence[Any]) -> bool:
    """Return whether a column may hold labels: it has a usual name for them, or its values repeat or are numbers."""
    texts = [str(value) for value in values if value not in (None, "")]
    if texts and all(map(names_image, texts)):  # of masks, of depth
        return False
    if named_like([title], _USUAL_LABELS):
        return True
    if holds_splits(title, texts) or _OF_FOLDS.search(title) or all(map(is_web_address, texts)):
        return False
    distinct = set(texts)
    if len(texts) > 1 and len(distinct) == 1:
        return False
    if len(distinct) < len(texts) or len(texts) < _FEW_RECORDS:
        return True
    numbers = [float(text) for text in texts if is_number(text)]
    if len(numbers) < len(texts):
        return False
    return bool(numbers[0] % 1) or any(b - a != 1 for a, b in itertools.pairwise(numbers))  # no index


def _folder_column(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], column: int, found: dict[int, list[str]]
) -> str:
    """Return the column that has the name of a folder of each row's file, which is not a split's; '' for none."""
    for i in range(len(rows[0])):
        if i != column and all(_is_folder_of(rows[row][i], paths) for row, paths in found.items()):
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
