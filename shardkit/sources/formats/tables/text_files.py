"""Lists in .txt and .lst files as tables: fields between blanks, tabs or commas, also with a count and a header.

6                            CelebA and DeepFashion: the number of records
image_name  category_label   the columns
img/1.jpg   3

0<tab>3.000000<tab>cat/1.jpg MXNet: no header
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from shardkit.naming import IMAGE_ENDINGS, counted
from shardkit.sources.formats.column_names import plain
from shardkit.sources.formats.tables.csv_files import CsvFile
from shardkit.sources.formats.tables.lines import encoding_of, read_lines
from shardkit.sources.formats.tables.records import Record, TablePart
from shardkit.sources.walking import children, ending, join
from shardkit.storage import Folder

TEXT_ENDINGS = (".txt", ".lst")
IMAGE = "image"  # name of the column of images in a file without a header
LABEL = "label"
_OF_IMAGES = re.compile(r"(?:image|img|file)_?(?:name|path|file)?s?|names|paths", re.IGNORECASE)
_OF_LABELS = ("labels", "label", "classes", "targets", "image_labels")
_LINE = "\n"  # the delimiter of a file whose lines are names
_BLANKS = " "
_FIRST_BLANK, _LAST_BLANK = " *", "* "  # before a label of several words; behind a path with blanks
_TAB = "\t"
_DELIMITERS = (_TAB, ",", ";", "|", _BLANKS, _FIRST_BLANK, _LAST_BLANK)
_SAMPLE = 200  # lines that decide
_FLAGS = {"-1", "0", "1"}  # of VOC's lists of one class
_FEW = 3  # lines, of which nothing repeats
_MAX_COLUMNS = 60  # between tabs, tables such as GBIF's occurrence.txt have hundreds
_NUMBER = re.compile(r"[-+]?[0-9]+(?:[.][0-9]+)?")
_LONGEST_LINE = 4096  # characters: longer lines are no records of a list


@dataclass(frozen=True, slots=True)
class TextFile(CsvFile):
    """A list whose lines have the same number of fields; a delimiter of ' ' means any blanks, of LF the whole line."""

    has_header: bool = False  # whether a line names the columns
    companion: str = ""  # another file with as many lines, whose lines are the second column; '' for none

    @property
    def format_name(self) -> str:
        return "text"

    @property
    def is_table(self) -> bool:
        """Whether it is certain that lines are divided: a header, a name of an image, or three fields say so."""
        return len(self.columns) > 1 and (self.has_header or IMAGE in self.columns or len(self.columns) > 2)

    def titles(self) -> Sequence[str]:
        lines = (one.text for one in read_lines(self.folder, self.path, encoding=self.encoding))
        return [*islice((text for text in lines if text.strip() and not text.startswith("#")), self.num_skipped)]

    def divided(self, part: int) -> Sequence[TablePart]:
        return [part]

    def records(self, part: TablePart, wanted: frozenset[int] | None = None) -> Iterator[Record]:
        if self.companion:
            yield from self._beside()
            return
        width, skipped = len(self.columns), self.num_skipped
        for line in read_lines(self.folder, self.path, encoding=self.encoding):
            if line.text.isspace() or (line.text.startswith("#") and not line.problem):
                continue
            if skipped:
                skipped -= 1
                continue
            values = _fields(line.text, self.delimiter)
            problem = line.problem
            if problem is None and len(values) != width:
                problem = f"it has {counted(len(values), 'field')}, other lines have {width}"
            yield Record(line.number, () if problem else values, problem)

    def _beside(self) -> Iterator[Record]:
        read = partial(read_lines, self.folder, encoding=self.encoding)
        for name, label in zip(read(self.path), read(self.companion), strict=False):
            yield Record(name.number, (name.text.strip(), label.text.strip()), name.problem or label.problem)


def open_text(folder: Folder, path: str, known: frozenset[str]) -> list[TextFile]:
    """Return the ways to read a text file as a table of names; [] if its lines differ, as those of prose do."""
    encoding = encoding_of(folder, path)
    if not (texts := _first_lines(folder, path, encoding)):
        return []
    has_count = len(texts) > 1 and texts[0].strip().isdigit() and not texts[1].strip().isdigit()
    texts = texts[has_count:]
    made = partial(TextFile, folder, path, spaced=False, encoding=encoding)
    # images/1.jpg labels/1.png is a pair, and no name with a blank in it.
    are_pairs = all(sum(map(names_image, _fields(text, _BLANKS))) > 1 for text in texts)
    found = [] if are_pairs else [made((IMAGE,), _LINE, has_count + _has_title(texts))]
    if companion := _companion(folder, path):
        found.append(made((IMAGE, LABEL), _LINE, 0, companion=companion))
    return [*found, *_divided(made, texts, _DELIMITERS, has_count, known)]


def open_names(folder: Folder, path: str) -> TextFile:
    """Return a text file as a table of one column, whose lines are names."""
    encoding = encoding_of(folder, path)
    num_titles = int(_has_title(_first_lines(folder, path, encoding)))
    return TextFile(folder, path, (IMAGE,), _LINE, num_titles, spaced=False, encoding=encoding)


def _has_title(texts: Sequence[str]) -> bool:
    first, *others = texts or [""]
    return bool(others) and not names_image(first.strip()) and all(names_image(text.strip()) for text in others)


def open_by_blanks(folder: Folder, path: str, known: frozenset[str]) -> TextFile | None:
    """Return a file as a table with blanks between its fields; None if its lines differ, or name no images."""
    encoding = encoding_of(folder, path)
    texts = _first_lines(folder, path, encoding)
    made = partial(TextFile, folder, path, spaced=False, encoding=encoding)
    found = _divided(made, texts, (_BLANKS,), has_count=False, known=known) if texts else []
    return next((one for one in found if one.has_header or IMAGE in one.columns), None)


def _first_lines(folder: Folder, path: str, encoding: str) -> list[str]:
    """Return the first lines that are not empty; [] if one is no line of a list."""
    read = islice(read_lines(folder, path, encoding=encoding), _SAMPLE)
    lines = [one for one in read if not one.text.isspace() and not one.text.startswith("#")]
    return [] if any(one.problem or len(one.text) > _LONGEST_LINE for one in lines) else [one.text for one in lines]


def _divided(
    made: Callable[..., TextFile],
    texts: Sequence[str],
    delimiters: Sequence[str],
    has_count: bool,  # noqa: FBT001 - passed on
    known: frozenset[str],
) -> list[TextFile]:
    found: list[TextFile] = []
    for delimiter in delimiters:
        rows = [_fields(text, delimiter) for text in texts]
        width = len(rows[-1])
        if width < 2 or (width > _MAX_COLUMNS and delimiter != _TAB) or any(len(row) != width for row in rows):
            continue
        is_divided = any(len(one.columns) == width for one in found) or not all(names_image(row[0]) for row in rows)
        if delimiter in {_FIRST_BLANK, _LAST_BLANK} and is_divided:
            continue
        columns = _header(rows, known) or (_header_of_numbers(rows) if delimiter == _TAB else ())
        names = columns or invented_names(rows)
        found.append(made(names, delimiter, has_count + bool(columns), has_header=bool(columns)))
    return found


def _companion(folder: Folder, path: str) -> str:
    """Return the file with the labels of the lines: labels.txt next to images.txt; '' if there is none."""
    above, _, name = path.rpartition("/")
    if _OF_IMAGES.search(name) is None:
        return ""
    wanted = {_OF_IMAGES.sub(word, name).lower() for word in _OF_LABELS}
    names = [one.name for one in children(folder, above) if one.name.lower() in wanted and one.name != name]
    if len(names) != 1:
        return ""
    other = join(above, names[0])
    nums = [sum(1 for _ in read_lines(folder, one)) for one in (path, other)]
    return other if nums[0] == nums[1] and nums[0] > 1 else ""


def _fields(text: str, delimiter: str) -> list[str]:
    if delimiter == _LINE:
        return [text.strip()]
    if delimiter == _BLANKS:
        return text.split()
    if delimiter in {_FIRST_BLANK, _LAST_BLANK}:
        divided = text.split(None, 1) if delimiter == _FIRST_BLANK else text.rsplit(None, 1)
        return [value.strip() for value in divided]
    return [value.strip() for value in text.rstrip("\r\n").split(delimiter)]


def _header(rows: Sequence[Sequence[str]], known: frozenset[str]) -> tuple[str, ...]:
    """Return the first row if it names the columns: usual names, or no image where all others have one."""
    first, *others = rows
    if not others or len(set(first)) < len(first) or any(map(names_image, first)) or all(map(str.isdigit, first)):
        return ()
    of_images = any(all(names_image(row[i]) for row in others) for i in range(len(first)))
    return tuple(first) if of_images or any(plain(name) in known for name in first) else ()


def _header_of_numbers(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the first row if it has only texts, all different, and the others have numbers in one of its columns."""
    first, *others = rows
    are_names = len(set(first)) == len(first) and all(any(map(str.isalpha, one)) for one in first)
    if len(others) < 2 or not are_names or any(map(names_image, first)):
        return ()
    return tuple(first) if any(all(_NUMBER.fullmatch(row[i]) for row in others) for i in range(len(first))) else ()


def invented_names(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return names of columns: IMAGE for that with the most images, numbers from 1 for the others.

    In a list of images and values that repeat, these are labels.
    """
    counts = Counter({i: sum(names_image(row[i]) for row in rows) for i in range(len(rows[0]))})
    image, num = counts.most_common(1)[0]
    names = [IMAGE if num and i == image else f"column {i + 1}" for i in range(len(rows[0]))]
    if len(names) == len((IMAGE, LABEL)):
        others = [row[1 - image] for row in rows]
        if not num and (len({row[0] for row in rows}) < len(rows) or {*others} <= _FLAGS):
            return tuple(names)
        repeat = len({*others}) < len(others) or (image == 0 and len(others) <= _FEW)
        names[1 - image] = LABEL if repeat and not any(map(names_image, others)) else names[1 - image]
    return tuple(names)


def names_image(value: str) -> bool:
    """Return whether a value ends as the name of an image."""
    return ending(value) in IMAGE_ENDINGS
