"""What the tables in a folder of images say about them, judging by their first records; see `looking_at_tables`."""

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass

from shardkit.naming import printable
from shardkit.sources.engine.split_columns import split_of_file
from shardkit.sources.file_names import stem_of
from shardkit.sources.recognising.folders.folder_names import parts_of_data
from shardkit.sources.recognising.folders.split_folders import is_unlabelled, says_nothing, splits_of

_DIGITS_OF_RANGES = 4


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
        split_columns: Other columns that give splits.
        inner_folders: If it has no header: the folders of the files, below what is above all of them.
        coded: Columns of which each value stands for one of a column of texts.
        images: The files that its first rows name.
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
    split_columns: frozenset[str] = frozenset()
    inner_folders: frozenset[str] = frozenset()
    coded: frozenset[str] = frozenset()
    images: frozenset[str] = frozenset()
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
        unrelated: Tables that name no image.
        unusable: Tables that cannot be read, or name images on the Web.
    """

    naming: tuple[AdjacentTable, ...] = ()
    unrelated: tuple[AdjacentTable, ...] = ()
    unusable: tuple[AdjacentTable, ...] = ()

    @property
    def unread(self) -> list[AdjacentTable]:
        """Tables that are not used and may have labels of the images: more than a column, or unreadable."""
        return [one for one in (*self.unrelated, *self.unusable) if one.problem or len(one.others) > 1]

    @property
    def families(self) -> list[list[tuple[str, str]]]:
        """Names and splits of tables with equal columns, one for each split: two or more in each family.

        A column of splits does not count: train.csv may be divided further by ``is_valid``.
        """
        by_columns: dict[tuple[str, ...], list[AdjacentTable]] = {}
        for table in self.naming:
            columns = tuple(name for name in table.columns if name not in table.split_columns)
            by_columns.setdefault(columns, []).append(table)
        return [found for tables in by_columns.values() if len(found := _with_own_splits(tables)) > 1]

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
    def are_parts(self) -> bool:
        """Whether there are several tables with the same columns that name different images and are of no split."""
        images = [path for one in self.naming for path in one.images]
        are_alike = len({one.columns for one in self.naming}) == 1 < len(self.naming)
        return are_alike and len(set(images)) == len(images) and not any(split_of_file(one.name) for one in self.naming)

    @property
    def must_differ(self) -> bool:
        """Whether the tables are read together only if no image is in two of them: a name says no split."""
        return any(split_of_file(one.name) is None for one in self.naming)

    @property
    def remark(self) -> str:
        """What the user should know about the tables that are not used; '' for nothing."""
        parts = [
            (self.unrelated, "names no image below the folder and is not used"),
        ]
        notes = [f"{printable(table.name)} {what}" for tables, what in parts for table in tables]
        notes += [f"{printable(table.name)} is not used: {table.problem}" for table in self.unusable]
        return "".join(f"; note: {note}" for note in notes)


def _with_own_splits(tables: Sequence[AdjacentTable]) -> list[tuple[str, str]]:
    """Return tables with their splits; a table with a column of splits may be next to test.csv."""
    found = _of_splits([one.name for one in tables])
    rest = [one for one in tables if one.name not in dict(found)]
    is_own = len(rest) == 1 and bool(rest[0].split_columns) and "train" not in dict(found).values()
    return [*found, (rest[0].name, "train")] if found and is_own else found


def _of_splits(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return tables with their splits, by their own names, their folders', or words in their names; [] if two agree."""
    stems = {name: stem_of(name) for name in names}
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


def are_classes(table: AdjacentTable) -> bool:
    """Return whether the folders of a table's images look like classes by their own names, too."""
    return any(may_be_classes(sorted(names - {""})) for names in (table.image_folders, table.inner_folders))


def may_be_classes(names: list[str]) -> bool:
    """Return whether folders may be classes by their names: several that are no splits, nor ranges of numbers."""
    splits = splits_of(names)
    others = [name for name in names if not (name in splits or is_unlabelled(name) or says_nothing(name))]
    # StyleGAN's 00000/ has the first thousand images; 2024-05-06/ has those of a day.
    are_ranges = all(name.isdigit() and len(name) >= _DIGITS_OF_RANGES for name in others)
    return len(others) > 1 and not are_ranges and not parts_of_data(others)
