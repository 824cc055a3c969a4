"""`Format` and `ImageFormat`, what a format of annotations gives to the engine, and `ImageRecord`, what files say."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, BinaryIO, NamedTuple, Protocol, TypeAlias

import pyarrow as pa

from shardkit.errors import CallError
from shardkit.reject_reasons import BAD_ANNOTATION, BAD_BOX
from shardkit.sources.columns import MAX_OBJECTS
from shardkit.sources.formats.shapes import Sides, is_finite, number
from shardkit.sources.listing import RecordProblem, count_skipped
from shardkit.storage import Folder

Object = dict[str, Any]
Size = tuple[int | None, int | None]
ONE_CLASS = "object"  # the class of every box of a file without classes
# float() also accepts 1_000, infinity and the digits of other scripts.
NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_MAX_SIDE = 2**31
_SHOWN = 80  # characters of a bad field


@dataclass(slots=True)
class ImageRecord:
    """What a file says about one image."""

    image: str = ""  # the image's path or name as written; '' if the file gives none
    # Width and height that the boxes refer to: pixels, (0, 0) if boxes are fractions of the sides, None if the file
    # does not give them: then they are the image's
    size: Size = (None, None)
    objects: list[Object] = field(default_factory=list)
    # The bad objects; the key is the object's name in the file, such as "line 3"
    problems: list[RecordProblem] = field(default_factory=list)
    # Number of shapes that are not read, by a phrase for the user
    left_out: dict[str, int] = field(default_factory=dict)
    # Classes of the whole image, by the name of what gives them
    attributes: dict[str, list[str]] = field(default_factory=dict)
    number: int = 0  # the record's number in the file, or that of its line, from 1
    split: str = ""  # the split's name as written; '' for none
    # Names of what gives classes to boxes: attributes of regions, or labelling jobs
    columns: dict[str, None] = field(default_factory=dict)
    bad: str = ""  # why the record gives no example, such as "it is no JSON object"; '' if it does
    reason: str = BAD_ANNOTATION  # the code of shardkit.reject_reasons for that
    mask: str = ""  # path of the image's mask, as written; '' for none
    # The colours of the mask, as red + 256 * green + 65,536 * blue, with the class of each
    segments: list[tuple[int, str]] = field(default_factory=list)
    # Whether the record gives no example and is counted: as `left_out` says, else as one that nobody annotated
    is_skipped: bool = False
    may_lack_image: bool = False  # whether the record is counted, not rejected, if its image is not there

    def add_line_problem(self, line: int, what: str) -> None:
        self.problems.append(RecordProblem(f"line {line}", BAD_ANNOTATION, what))

    def set_size(self, width: Any, height: Any) -> None:
        """Take the size in pixels that the boxes refer to, if it is one."""
        if all(isinstance(side, int) and 0 < side < _MAX_SIDE for side in (width, height)):
            self.size = width, height

    def add(self, name: str, label: Any, sides: Sides | None, key: str = "", **fields: Any) -> Object | None:
        """Add and return an object with further fields, or add why it is bad; `key` names it in messages."""
        if self.has_too_many:
            return None
        key = key or (f"record {self.number}, {name}" if self.number else name)
        if not isinstance(label, str | int) or isinstance(label, bool) or not str(label).strip():
            message = "it has no class; add it, or remove the object"
            self.problems.append(RecordProblem(key, BAD_ANNOTATION, message))
        elif sides is None or not all(map(is_finite, sides)):
            found = f"; found {', '.join(map(str, sides))}"[:_SHOWN] if sides else ""
            message = encodable(f"its coordinates must be finite numbers{found}; correct or remove it")
            self.problems.append(RecordProblem(key, BAD_BOX, message))
        else:
            xmin, ymin, xmax, ymax = map(float, sides)
            label_name = encodable(str(label).strip())
            self.objects.append({"bbox": [ymin, xmin, ymax, xmax], "label_name": label_name, "name": name, **fields})
            return self.objects[-1]
        return None

    @property
    def has_too_many(self) -> bool:
        """Whether there are more objects, good and bad, than an image may have; the rest is not read then."""
        return len(self.objects) + len(self.problems) > MAX_OBJECTS

    def leave_out(self, what: str) -> None:
        count_skipped(self.left_out, what)


class RecordTable(NamedTuple):
    """Records whose objects are a column."""

    # The records, to be read once, whose objects are counted only; None for one that is reported otherwise
    records: Iterable[ImageRecord | None]
    objects: pa.Array | None  # the objects of each, as the column of a listing; None for classes of whole images
    classes: Mapping[int, str]  # names of classes by the numbers that give their order


def size_of(width: Any, height: Any) -> Size:
    """Return the size of an image in pixels; None for both sides if one is none, such as LabelImg's 0."""
    sides = number(width), number(height)
    return (int(sides[0]), int(sides[1])) if all(1 <= side < _MAX_SIDE for side in sides) else (None, None)


def number_problem(texts: Iterable[str]) -> str | None:
    """Return which field of a text file is not a finite number; None if all are."""
    for text in texts:
        if not NUMBER.fullmatch(text) or not math.isfinite(float(text)):
            return f"{text[:_SHOWN]!r} is not a finite number"
    return None


def encodable(text: str) -> str:
    """Return the text with lone surrogates escaped: JSON and YAML can contain them, and no table can store them."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


Options: TypeAlias = Mapping[str, str]  # of a reading's `Annotation`
# Options that opening adds: URL of the folder that images' paths start at, for absolute ones; path of the file with the
# names of classes, '' for none; and which slice of the file's images is read, as "0 4" for the first of four.
ROOT, CLASS_FILE, SLICE = "root", "class_file", "slice"


class Format(Protocol):
    """A format: a value of its module, which is pickled by name.

    A file that cannot be parsed raises DataError. A bad record says why, and the bad objects of an image are problems
    of its record. A record without image has problems only. `file` is what `open` gives, for most formats a BinaryIO.
    """

    name: str
    title: str
    noun: str = "record"  # what messages call a record
    note: str = ""  # what the user should know about what is read; '' for nothing
    missing: str = ""  # what else to do if no image is found, as an imperative; '' for nothing
    names_are_below: bool = False  # whether names of images never lead above the folder that they start at
    object_fields: tuple[pa.Field, ...] = ()
    settings: frozenset[str] = frozenset()
    ways: tuple[Mapping[str, str], ...] = ({},)  # settings of which the first that leads to images counts
    slice_bytes: int = 0  # size of a slice, if a larger file is read once for each slice of its images; 0 if it is not

    def sniff(self, head: bytes) -> bool:
        """Return whether a file is of this format, by its beginning."""
        return False

    def open(self, folder: Folder, path: str) -> AbstractContextManager[Any]:
        """Return a file as `records` takes it."""
        opened: AbstractContextManager[BinaryIO] = folder.open(path)
        return opened

    def completed(self, folder: Folder, path: str, options: Options) -> Options:
        """Return options with what only the file tells."""
        return options

    def fields(self, options: Options) -> Sequence[pa.Field]:
        """Return the further fields of objects."""
        return self.object_fields

    def describe(self, options: Options) -> str:
        """Return a phrase for the user that says how a file is read, and begins with a separator; '' for nothing."""
        return f", {options['form']}" if "form" in options else ""

    def records(self, file: Any, name: str, options: Options) -> Iterator[ImageRecord]:
        """Yield what a file says about its images, in the file's order; `name` is the file in messages."""

    def joined(self, file: Any, name: str, options: Options, key_of: Callable[[str], str]) -> Iterator[ImageRecord]:
        """Yield the records; if they have several rows each, joined by the key of the image that these name.

        `key_of` raises BadRecord.
        """
        return self.records(file, name, options)

    def tables(self, file: Any, name: str, options: Options, rows: int) -> Iterator[RecordTable]:
        """Yield the records of a file in tables of so many, their objects as columns, if the format has columns.

        Objects as dicts take ten times as long to list, which counts in files of millions.
        """
        return iter(())

    def names(self, file: Any, name: str, options: Options) -> Iterator[str]:
        """Yield the names of the images, as written: the cheap pass."""
        return (record.image for record in self.records(file, name, options) if record.image)

    def masks(self, file: Any, name: str, options: Options) -> Iterator[str]:
        """Yield the paths of the masks, as written, if records have masks in place of objects."""
        return iter(())

    @property
    def gives_masks(self) -> bool:
        return type(self).masks is not Format.masks

    def classes(self, file: Any, name: str, options: Options) -> Mapping[int, str]:
        """Return the names of classes by the numbers that give their order; {} if the file does not order them."""
        return {}


def number_option(options: Options, name: str) -> int:
    """Return a whole number of a reading's options, 0 if it is not there."""
    text = options.get(name, "0")
    if not (text.isascii() and text.isdecimal()):
        msg = f"the option {name} of the reading must be a whole number; found {text!r}"
        raise CallError(msg)
    return int(text)


# The object of a line, why it is bad, or None if it is none; counts in the record what is left out.
ObjectOfLine: TypeAlias = Callable[[str, ImageRecord, Options], "Object | str | None"]
JSON_BYTES = 64 << 20  # 64 MiB: a JSON file may hold the image itself
_ADVICE = "; correct the line, or remove it"


@dataclass(frozen=True, slots=True)
class ImageFormat:
    """A format with one file for each image."""

    name: str
    title: str
    ending: str  # usual ending of its files
    # Function from a file's content to what it says; `bad` is set if it cannot be read
    parse: Callable[[bytes, Options], ImageRecord]
    sniff: Callable[[bytes], bool]  # returns whether the beginning of a file is of the format
    object_fields: tuple[pa.Field, ...] = ()
    advice: str = ""  # end of the message of a bad object
    note: str = ""  # what the user should know about what is read; '' for nothing
    missing: str = "restore it, or remove the file"  # what to do if a file's image is not there
    # Why a file with classes of the whole image only gives no boxes; '' if it gives an image without any
    of_classes: str = ""
    side_files: frozenset[str] = frozenset()  # names of files with its ending that are none of its files
    numbers_classes: bool = False  # whether classes are numbers, which another file names
    settings: frozenset[str] = frozenset()
    # Size above which a file is not read
    max_bytes: int = 16 << 20  # 16 MiB for the annotations of one image


def line_format(
    name: str,
    title: str,
    are_lines: Callable[[list[str]], bool],
    object_of: ObjectOfLine,
    size: Size = (None, None),
    **settings: Any,
) -> ImageFormat:
    """Return a format of text with an object a line."""
    is_head = partial(_has_lines, are_lines)
    parse = partial(_parse_lines, object_of, size)
    return ImageFormat(name, title, ".txt", parse, is_head, advice=_ADVICE, **settings)


def _has_lines(are_lines: Callable[[list[str]], bool], head: bytes) -> bool:
    text = head.decode("utf-8-sig", "replace")
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return bool(lines) and are_lines(lines)


def _parse_lines(object_of: ObjectOfLine, size: Size, data: bytes, options: Options) -> ImageRecord:
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if len(lines) > MAX_OBJECTS + 1:
        return ImageRecord(bad=f"it has {len(lines) - 1:,} lines, more than {MAX_OBJECTS:,}")
    record = ImageRecord(size=size)
    for place, raw in enumerate(lines, 1):
        line = raw.decode("utf-8", "replace").strip()
        found = object_of(line, record, options) if line else None
        if isinstance(found, str):
            record.add_line_problem(place, found)
        elif found is not None:
            record.objects.append({**found, "name": f"line {place}"})
    return record
