"""Find the files in a source that name its images, and compare their first records with these."""

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from shardkit.errors import ShardkitError
from shardkit.sources.claim import Claim, Form, Gives
from shardkit.sources.engine.labels.profile import are_of_single_images
from shardkit.sources.engine.labels.reading import CROSSES, word_of
from shardkit.sources.formats.column_names import (
    IMAGE_COLUMNS,
    LABEL_COLUMNS,
    LIKELY_IMAGE_COLUMNS,
    LIKELY_LABEL_COLUMNS,
    named_like,
)
from shardkit.sources.formats.tables.opening import TABLE_ENDINGS, open_list_files, open_table_file
from shardkit.sources.formats.tables.records import TableFile
from shardkit.sources.formats.tables.text_files import TEXT_ENDINGS
from shardkit.sources.formats.tables.values import is_number
from shardkit.sources.name_index import written_path
from shardkit.sources.options import SourceOptions
from shardkit.sources.recognising.claims.image_names import Found, ImageNames
from shardkit.sources.recognising.claims.searching import MAX_FILES, candidates
from shardkit.sources.walking import ending, file_or_folder, is_image
from shardkit.storage import Folder, os_errors_as

_TABLES = (*TABLE_ENDINGS, ".json", *TEXT_ENDINGS)
# Files that are not read: names in them are found in their bytes.
_OTHERS = (".sqlite", ".sqlite3", ".db", ".pkl", ".pickle", ".json", ".mat", ".npy", ".yaml", ".yml", ".labels")
_WITHOUT_HEADER = (".csv", ".tsv")  # which are no tables without one
FILES = frozenset({*_TABLES, *_OTHERS})  # that may name images
_OF_SPLITS = {".csv", ".tsv", ".json", *TEXT_ENDINGS}
_MAX_BYTES = 16 << 20  # 16 MiB of a file that may give splits, next to files of boxes of any size
_NUM_RECORDS = 200  # of a file, which are looked up
_HEAD_BYTES = 1 << 20  # 1 MiB of other files
_IN_BYTES = re.compile(rb"[\w.+-][\w./\\+ -]{0,200}\.(?:jpe?g|png|bmp|gif|tiff?|webp)", re.IGNORECASE)
_MIN_SHARE = 1 / 2  # of the values of a column that name images
_OF_NAMES = re.compile(
    r"(?:^|[_ -])(?:id|ids|image|images|img|file|files|filename|filepaths?|name|path|paths)(?:$|[_ -])"
)
_OF_FOLDS = re.compile(r"(?:^|[_ -])(?:k?folds?|cv|index|idx)(?:$|[_ -])", re.IGNORECASE)
_DIGITS_OF_CODE = 6  # years and counts have fewer
_FEW_RECORDS = 3  # of fewer, nothing repeats


@dataclass(frozen=True, slots=True)
class NamingFile:
    """A file that names images."""

    path: str  # the file, below SOURCE
    file: TableFile | None  # the file as a table; None for a file of another kind
    column: int  # the column that names the images
    found: dict[int, Found]  # the images of the records that were looked up, by the record's number
    rows: Sequence[Sequence[Any]]  # the records that were looked up
    is_whole: bool  # whether they are all of its records

    @property
    def form(self) -> Form:
        """The form in which most names agree with the images' paths."""
        forms = [one.form for one in self.found.values()]
        return max(set(forms), key=forms.count)

    @property
    def named(self) -> dict[str, Found]:
        """The images by what the file calls them."""
        return {str(self.rows[i][self.column]): one for i, one in self.found.items()}

    @property
    def agreement(self) -> tuple[int, int]:
        """The number of images that are named, and the number of parts of their paths."""
        return len(self.found), sum(one.num_parts for one in self.found.values())

    @property
    def titles(self) -> Sequence[str]:
        """Names of its columns; none of a file of another kind."""
        return self.file.columns if self.file is not None else ()

    @property
    def others(self) -> list[int]:
        """The other columns."""
        return [i for i, name in enumerate(self.titles) if i != self.column and name]

    def may_be_labels(self, columns: Iterable[int]) -> bool:
        """Return whether some of the columns may hold labels."""
        return any(_may_be_labels(self.titles[i], [row[i] for row in self.rows]) for i in columns)

    def claim(self, names: ImageNames) -> Claim:
        """Return what the file claims."""
        images = {path for one in self.found.values() for path in one.paths}
        is_whole = self.is_whole and names.are_counted
        gives: Gives = "labels" if self.may_be_labels(self.others) else "nothing"
        return Claim(self.path, len(images), names.num_images, is_whole, self.form, gives)


def naming_files(
    folder: Folder, excluded: str | None, names: ImageNames, *, only_lists: bool = False, used: Collection[str] = ()
) -> list[NamingFile]:
    """Return the files in a folder, and in some folders below, that name images.

    With `only_lists`, files that are large or unusual for lists of splits are left out.
    """
    paths: Iterable[str] = candidates(folder, excluded, FILES)
    paths = (path for path in paths if path not in used or ending(path) != ".json")
    if only_lists:
        paths = (path for path in paths if ending(path) in _OF_SPLITS and _num_bytes(folder, path) <= _MAX_BYTES)
    paths = itertools.islice(paths, MAX_FILES)
    tables: dict[str, list[Head]] = {}
    others: dict[str, Head] = {}
    for path in paths:
        tables[path], is_other = _heads(folder, path)
        if is_other:
            others[path] = _names_in(folder, path)
    best = _best(look_up([head for heads in tables.values() for head in heads], names))
    rest = _best(look_up([head for path, head in others.items() if path not in best], names))
    return [one for path in tables if (one := best.get(path) or rest.get(path)) is not None]


def _num_bytes(folder: Folder, path: str) -> int:
    entry = file_or_folder(folder, path)
    return 0 if entry is None else entry.num_bytes


def _best(found: Iterable[NamingFile]) -> dict[str, NamingFile]:
    """Return the way to read each file in which it names the most images."""
    best: dict[str, NamingFile] = {}
    for one in found:
        if one.path not in best or one.agreement > best[one.path].agreement:
            best[one.path] = one
    return best


def look_up(heads: Sequence["Head"], names: ImageNames) -> list[NamingFile]:
    """Return the files that name images; look into all folders for names that the first folders do not have."""
    found = {head: head.look_up(names) for head in heads}
    unsure = [head for head, one in found.items() if one is None or len(one.found) < len(head.rows)]
    if not names.is_complete and unsure:
        names.look_for([text for head in unsure for text in head.texts()])
        found |= {head: head.look_up(names) for head in unsure}
    return [one for one in found.values() if one is not None]


@dataclass(frozen=True, eq=False, slots=True)
class Head:
    """The beginning of a file, in one way to read it."""

    path: str
    columns: tuple[str, ...]
    # The file as a table; None for one whose format is not read: `rows` are the names in its bytes
    file: TableFile | None
    rows: Sequence[Sequence[Any]]  # the first records
    is_whole: bool  # whether they are all

    def texts(self) -> Iterator[str]:
        """Yield all values that may be names of images."""
        return (str(value) for row in self.rows for value in row if value is not None and not isinstance(value, float))

    def look_up(self, names: ImageNames) -> NamingFile | None:
        """Return what the file names; None if it names no image."""
        if self.file is not None:
            best = best_column(self.columns, self.rows, names, of_few=True)
            return None if best is None else NamingFile(self.path, self.file, *best, self.rows, self.is_whole)
        texts = (row[0] for row in self.rows)
        found = {i: one for i, text in enumerate(texts) if (one := names.find(text, by_stem=False)) is not None}
        return NamingFile(self.path, None, 0, found, self.rows, self.is_whole) if len(found) > 1 else None


def _heads(folder: Folder, path: str) -> tuple[list[Head], bool]:
    """Return the beginning of a file, in each way to read it as a table; and whether names in its bytes count."""
    kind = ending(path)
    found: list[Head] = []
    others: tuple[str, ...] = _OTHERS
    try:
        for file in _ways_to_read(folder, path):
            records = list(itertools.islice(file.all_records(), _NUM_RECORDS + 1))
            rows = [one.values for one in records[:_NUM_RECORDS] if one.problem is None]
            found.append(Head(path, file.columns, file, rows, len(records) <= _NUM_RECORDS))
    except ShardkitError:  # it is no table
        found, others = [], (*_OTHERS, *_WITHOUT_HEADER)
    return found, kind in others


def _ways_to_read(folder: Folder, path: str) -> Sequence[TableFile]:
    if ending(path) in TEXT_ENDINGS:
        return open_list_files(folder, path)
    return [open_table_file(folder, path, SourceOptions())] if ending(path) in _TABLES else []


def best_column(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], names: ImageNames, *, of_few: bool = False
) -> tuple[int, dict[int, Found]] | None:
    """Return the column that names the most images, and these by record; None if none does.

    Addresses on the Web count only if no other column names images: files are often called like the end of them.

    With `of_few`, a column of names of image files counts, too, if most of these are not there.
    """
    usual = named_like(columns, (*IMAGE_COLUMNS, *LIKELY_IMAGE_COLUMNS))
    in_order = [*usual, *(i for i in range(len(columns)) if i not in usual)]
    of_web = [i for i in in_order if rows and _is_web_address(rows[0][i])]
    for chosen in ([i for i in in_order if i not in of_web], of_web):
        found = {i: _find_column(columns[i], [row[i] for row in rows], names, of_few=of_few) for i in chosen}
        # Of two columns, that with the paths as they are here, and not on the machine of the table's author; of others,
        # that of the more usual name.
        best = max(found, key=lambda i: (len(found[i]), sum(one.num_parts for one in found[i].values())), default=None)
        if best is not None and found[best]:
            return best, found[best]
    return None


def _find_column(title: str, values: Sequence[Any], names: ImageNames, *, of_few: bool) -> dict[int, Found]:
    """Return the images that the values of a column name, by record; {} if they name too few."""
    is_called_so = _OF_NAMES.search(_with_bars(title)) is not None and not named_like([title], LIKELY_LABEL_COLUMNS)
    texts = {i: str(value) for i, value in enumerate(values) if value not in (None, "")}
    distinct = set(texts.values())
    if not texts or (len(distinct) < len(texts) / 2 and not is_called_so):
        return {}
    found = {}
    for i, text in texts.items():
        # A short number without ending and without zeros before it is a file's name only in a column that is called so.
        number = text.strip()
        by_stem = is_called_so or not number.isdigit() or number[:-1].startswith("0") or len(number) >= _DIGITS_OF_CODE
        if (one := names.find(text, by_stem=by_stem)) is not None:
            found[i] = one
    if of_few and all(is_image(written_path(text)) for text in distinct):
        return found
    are_numbers = all(text.strip().isdigit() for text in distinct)
    return found if len(found) >= (0.95 if are_numbers else _MIN_SHARE) * len(texts) else {}


def _with_bars(column: str) -> str:
    """Return a column's name in lower case, with '_' between the words of "imageId"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", column).lower()


def _names_in(folder: Folder, path: str) -> Head:
    """Return the names in the bytes of a file whose format is not read."""
    with os_errors_as("read", folder.url_of(path)), folder.open(path) as file:
        head: bytes = file.read(_HEAD_BYTES)
        is_whole = not file.read(1)
    texts = dict.fromkeys(text.decode("utf-8", "replace") for text in _IN_BYTES.findall(head))
    return Head(path, ("",), None, [(text,) for text in texts], is_whole)


def _may_be_labels(title: str, values: Sequence[Any]) -> bool:
    """Return whether a column may hold labels: it has a usual name for them, or its values repeat or are numbers."""
    texts = [str(value) for value in values if value not in (None, "")]
    if not texts or are_of_single_images(texts):
        return False
    if named_like([title], (*LABEL_COLUMNS, *LIKELY_LABEL_COLUMNS)):
        return True
    if _OF_FOLDS.search(title):
        return False
    distinct = set(texts)
    if len(texts) > 1 and len(distinct) == 1:
        return len(texts) < len(values) and word_of(texts[0]) in CROSSES
    if len(distinct) < len(texts) or len(texts) < _FEW_RECORDS:
        return True
    numbers = [float(text) for text in texts if is_number(text)]
    if len(numbers) < len(texts):
        return False
    return bool(numbers[0] % 1) or any(b - a != 1 for a, b in itertools.pairwise(numbers))  # no index


def _is_web_address(value: Any) -> bool:
    """Return whether a value is an address on the Web, which names no file."""
    return isinstance(value, str) and value.lower().startswith(("http://", "https://"))
