"""Find the files in a source that name its images, and compare their first records with these."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from shardkit.errors import ShardkitError
from shardkit.sources.claims.claim import Claim, Form
from shardkit.sources.claims.image_names import Found, ImageNames
from shardkit.sources.listing import ending
from shardkit.sources.options import SourceOptions
from shardkit.sources.tables.column_names import LIKELY_LABEL_COLUMNS, named_like
from shardkit.sources.tables.formats.records import TableFile
from shardkit.sources.tables.formats.text_files import TEXT_ENDINGS
from shardkit.sources.tables.layout import TABLE_ENDINGS, open_list_files, open_table_file
from shardkit.sources.walking import children, is_image, join
from shardkit.storage import Folder, os_errors_as

_TABLES = (*TABLE_ENDINGS, ".json", *TEXT_ENDINGS)
# Files that are not read: names in them are found in their bytes.
_OTHERS = (".sqlite", ".sqlite3", ".db", ".pkl", ".pickle", ".json", ".mat", ".npy", ".yaml", ".yml", ".labels")
_WITHOUT_HEADER = (".csv", ".tsv")  # which are no tables without one
_MAX_FILES = 40
_MAX_OF_A_KIND = 20  # in one folder: more of them describe single images
_NUM_FOLDERS = 16  # that are searched for such files
_MAX_DEPTH = 6
_OF_LISTS = re.compile(r"anno|csv|eval|fold|ground|info|label|list|meta|partition|set|split|table|txt", re.IGNORECASE)
_NUM_RECORDS = 200  # of a file, which are looked up
_HEAD_BYTES = 1 << 20  # 1 MiB of other files
_IN_BYTES = re.compile(rb"[\w.+-][\w./\\+ -]{0,200}\.(?:jpe?g|png|bmp|gif|tiff?|webp)", re.IGNORECASE)
_MIN_SHARE = 1 / 2  # of the values of a column that name images
_OF_NAMES = re.compile(
    r"(?:^|[_ -])(?:id|ids|image|images|img|file|files|filename|filepaths?|name|path|paths)(?:$|[_ -])"
)


@dataclass(frozen=True, slots=True)
class NamingFile:
    """A file that names images.

    Attributes:
        path: The file, below SOURCE.
        file: The file as a table; None for a file of another kind.
        column: The column that names the images.
        found: The images of the records that were looked up, by the record's number.
        rows: The records that were looked up.
        is_whole: Whether they are all of its records.
    """

    path: str
    file: TableFile | None
    column: int
    found: dict[int, Found]
    rows: Sequence[Sequence[Any]]
    is_whole: bool

    @property
    def form(self) -> Form:
        """The form in which most names agree with the images' paths."""
        forms = [one.form for one in self.found.values()]
        return max(set(forms), key=forms.count)

    @property
    def others(self) -> list[int]:
        """The other columns."""
        names = self.file.columns if self.file is not None else ()
        return [i for i, name in enumerate(names) if i != self.column and name]

    def claim(self, names: ImageNames) -> Claim:
        """Return what the file claims."""
        images = {path for one in self.found.values() for path in one.paths}
        is_whole = self.is_whole and names.is_complete
        return Claim(self.path, len(images), len(names), is_whole, self.form, "labels" if self.others else "nothing")


def naming_files(folder: Folder, excluded: str | None, names: ImageNames) -> list[NamingFile]:
    """Return the files in a folder, and in a few folders below, that name images.

    Args:
        folder: The folder.
        excluded: Path below it that is not searched; None for none.
        names: The images of the folder.
    """
    paths = itertools.islice(_candidates(folder, excluded), _MAX_FILES)
    return [one for path in paths if (one := look_at(folder, path, names)) is not None]


def _candidates(folder: Folder, excluded: str | None) -> Iterator[str]:
    for path, names in files_by_kind(folder, excluded, frozenset({*_TABLES, *_OTHERS})):
        yield from (join(path, name) for name in names if len(names) <= _MAX_OF_A_KIND)


def files_by_kind(folder: Folder, excluded: str | None, endings: frozenset[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the files of some endings in a folder and in a few folders below: of each folder, those of one ending.

    Args:
        folder: The folder.
        excluded: Path below it that is not searched; None for none.
        endings: The endings.

    Yields:
        The path of a folder, and the names of its files of one ending.
    """
    tails = tuple(endings)
    level = [""]
    num_folders = 0
    for _ in range(_MAX_DEPTH):
        below: list[str] = []
        for path in level:
            num_folders += 1
            if num_folders > _NUM_FOLDERS:
                return
            entries = children(folder, path)
            files = [one.name for one in entries if one.name.lower().endswith(tails) and not one.is_folder]
            for kind in sorted({ending(name) for name in files}):
                yield path, [name for name in files if ending(name) == kind]
            inner = [one.name for one in entries if one.is_folder and join(path, one.name) != excluded]
            inner.sort(key=lambda name: _OF_LISTS.search(name) is None)
            below += [join(path, name) for name in inner]
        level = sorted(below, key=lambda path: _OF_LISTS.search(path.rpartition("/")[2]) is None)


def paths_below(folder: Folder, excluded: str | None) -> Iterator[str]:
    """Yield the files of labels in the first few folders below a folder that hold no images.

    Args:
        folder: The folder.
        excluded: Path below it that is not searched; None for none.
    """
    above, has_images = "", True
    for path in itertools.islice(_candidates(folder, excluded), _MAX_FILES):
        place = path.rpartition("/")[0]
        if place != above:
            above, has_images = place, any(is_image(entry.name) for entry in children(folder, place))
        if place and not has_images:
            yield path


def look_at(folder: Folder, path: str, names: ImageNames) -> NamingFile | None:
    """Return what a file names; None if it names no image.

    Args:
        folder: The folder that the path is below.
        path: The file.
        names: The images of the folder.
    """
    kind = ending(path)
    best: NamingFile | None = None
    others: tuple[str, ...] = _OTHERS
    try:
        for file in _ways_to_read(folder, path):
            one = _best_column(path, file, names)
            if one is not None and (best is None or len(one.found) > len(best.found)):
                best = one
    except ShardkitError:  # it is no table
        best, others = None, (*_OTHERS, *_WITHOUT_HEADER)
    return best or (_look_into(folder, path, names) if kind in others else None)


def _ways_to_read(folder: Folder, path: str) -> Sequence[TableFile]:
    if ending(path) in TEXT_ENDINGS:
        return open_list_files(folder, path)
    return [open_table_file(folder, path, SourceOptions())] if ending(path) in _TABLES else []


def _best_column(path: str, file: TableFile, names: ImageNames) -> NamingFile | None:
    records = list(itertools.islice(file.all_records(), _NUM_RECORDS + 1))
    rows = [one.values for one in records[:_NUM_RECORDS] if one.problem is None]
    best = best_column(file.columns, rows, names)
    return None if best is None else NamingFile(path, file, *best, rows, len(records) <= _NUM_RECORDS)


def best_column(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], names: ImageNames
) -> tuple[int, dict[int, Found]] | None:
    """Return the column that names the most images, and these by record; None if none does.

    Addresses on the Web count only if no other column names images: files are often called like the end of them.
    """
    of_web = [i for i in range(len(columns)) if rows and is_web_address(rows[0][i])]
    for chosen in ([i for i in range(len(columns)) if i not in of_web], of_web):
        found = {i: _find_column(columns[i], [row[i] for row in rows], names) for i in chosen}
        best = max(found, key=lambda i: len(found[i]), default=None)
        if best is not None and found[best]:
            return best, found[best]
    return None


def is_web_address(value: Any) -> bool:
    """Return whether a value is an address on the Web, which names no file."""
    return isinstance(value, str) and value.lower().startswith(("http://", "https://"))


def _find_column(title: str, values: Sequence[Any], names: ImageNames) -> dict[int, Found]:
    """Return the images that the values of a column name, by record; {} if they name too few.

    Args:
        title: The column's name.
        values: Its values.
        names: The images.
    """
    is_called_so = _OF_NAMES.search(_with_bars(title)) is not None and not named_like([title], LIKELY_LABEL_COLUMNS)
    texts = {i: str(value) for i, value in enumerate(values) if value not in (None, "")}
    distinct = set(texts.values())
    if not texts or (len(distinct) < len(texts) / 2 and not is_called_so):
        return {}
    found = {}
    for i, text in texts.items():
        # A number without ending is a file's name only in a column that is called so.
        by_stem = is_called_so or not text.strip().isdigit()
        if (one := names.find(text, by_stem=by_stem)) is not None:
            found[i] = one
    are_numbers = all(text.strip().isdigit() for text in distinct)
    return found if len(found) >= (0.95 if are_numbers else _MIN_SHARE) * len(texts) else {}


def _with_bars(column: str) -> str:
    """Return a column's name in lower case, with '_' between the words of "imageId"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", column).lower()


def _look_into(folder: Folder, path: str, names: ImageNames) -> NamingFile | None:
    """Return what a file names whose format is not read, by the names in its bytes."""
    with os_errors_as("read", f"{folder.url}/{path}"), folder.open(path) as file:
        head: bytes = file.read(_HEAD_BYTES)
        is_whole = not file.read(1)
    texts = dict.fromkeys(text.decode("utf-8", "replace") for text in _IN_BYTES.findall(head))
    found = {i: one for i, text in enumerate(texts) if (one := names.find(text, by_stem=False)) is not None}
    return NamingFile(path, None, 0, found, (), is_whole) if len(found) > 1 else None
