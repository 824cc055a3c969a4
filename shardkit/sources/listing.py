"""What every layout gives: parts that are listed in parallel, and columnar batches of what they hold."""

import abc
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from shardkit.storage import Folder

# What every layout lists. A row is an example, or with a reason a problem: an image that is bad as listed, or a record
# of a label file that leads to none; then the key is that record's name, such as "labels.csv, line 7".
LISTING_SCHEMA = pa.schema(
    [
        pa.field("key", pa.string(), nullable=False),  # stable relative POSIX path in the source
        pa.field("split", pa.string()),  # as the source gives it; null where it gives none
        pa.field("label_name", pa.string()),  # of layouts with one class an image; else null
        pa.field("source_bytes", pa.int64(), nullable=False),  # of the image; UNMEASURED where listing does not tell
        pa.field("mtime_ns", pa.int64(), nullable=False),
        pa.field("reason", pa.string()),  # why it is rejected already; null while it is good
        pa.field("message", pa.string()),
    ]
)
UNMEASURED = -1  # the file's size and time are looked up when it is checked, side by side; a missing one is rejected

# What some layouts list besides, under these names and types; they stand behind LISTING_SCHEMA in any order.
LINE = pa.field("line", pa.int64())  # the record's number in its file, from 1: of one key, the first one counts
PATH = pa.field("path", pa.string())  # where the image's bytes are, below the source's folder; without it: the key
OFFSET = pa.field("offset", pa.int64())  # of its source_bytes bytes in that file; without it: the whole file
GROUP = pa.field("group", pa.string())  # what must not be parted by splits; null: the example is alone
LABEL_NAMES = pa.field("label_names", pa.list_(pa.string()))  # multi-label: any number of classes
MASK_PATH = pa.field("mask_path", pa.string())  # segmentation: the mask's file, below the source's folder
# Detection: the size in pixels that `objects` refer to; 0 where boxes are shares of the image's sides already.
ANNOTATED_WIDTH = pa.field("annotated_width", pa.int32())
ANNOTATED_HEIGHT = pa.field("annotated_height", pa.int32())
FEATURE_PREFIX = "feature:"  # of columns that are carried along: int64, float32, string, or lists of these


def target_field(num_targets: int) -> pa.Field:
    """Regression: the column of that many numbers an image."""
    return pa.field("target", pa.list_(pa.float32(), num_targets))


def objects_field(extra: Sequence[pa.Field] = ()) -> pa.Field:
    """Detection: the column of objects; `extra` are further fields of each, int64, float32, bool or string.

    `bbox` is (ymin, xmin, ymax, xmax) in the unit that ANNOTATED_WIDTH and ANNOTATED_HEIGHT tell, not yet clamped;
    `name` is how a problem with this object is called, such as "annotation 17" or "line 3".
    """
    fields = [
        pa.field("bbox", pa.list_(pa.float64(), 4)),
        pa.field("label_name", pa.string()),
        pa.field("name", pa.string()),
    ]
    return pa.field("objects", pa.list_(pa.struct([*fields, *extra])))


def feature_field(name: str, type_: pa.DataType) -> pa.Field:
    """A column that is carried along into the examples."""
    return pa.field(FEATURE_PREFIX + name, type_)


# What Pillow opens and people train on. A file of any other name is skipped and counted by its ending, not rejected.
IMAGE_ENDINGS = frozenset(
    {
        *(
            ".avif",
            ".bmp",
            ".dib",
            ".gif",
            ".j2k",
            ".jfif",
            ".jp2",
            ".jpe",
            ".jpeg",
            ".jpg",
            ".jpx",
            ".pbm",
            ".pgm",
            ".png",
        ),
        *(".pnm", ".ppm", ".tif", ".tiff", ".webp"),
    }
)
_BATCH_BYTES = 8 << 20  # 8 MiB in columns: some 100,000 boxes, ten times as much while they are checked
_JUNK = frozenset({"thumbs.db", "desktop.ini", "__macosx", "icon\r"})


@dataclass(slots=True)
class Listing:
    """A columnar batch in the making.

    Attributes:
        schema: of the table: the source's.
        rows: tuples in the schema's order; or
        columns: the rows as a table, where a layout has them in columns.
        skipped: files that are no images, counted by ending; images that nothing speaks of, counted by why.
        classes: names by their number in the format, where the format numbers classes (COCO's category id).
    """

    schema: pa.Schema = LISTING_SCHEMA
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    columns: pa.Table | None = None
    skipped: dict[str, int] = field(default_factory=dict)
    classes: dict[int, str] = field(default_factory=dict)

    def table(self) -> pa.Table:
        """The rows as an Arrow table."""
        if self.columns is not None:
            return self.columns
        columns = zip(*self.rows, strict=True) if self.rows else [()] * len(self.schema)
        arrays = [pa.array(column, type_) for column, type_ in zip(columns, self.schema.types, strict=True)]
        return pa.Table.from_arrays(arrays, schema=self.schema)


def gathered(listings: Iterable[Listing], batch_rows: int) -> Iterator[Listing]:
    """Put listings together, as columns, until each has batch_rows rows or 8 MiB: small folders cost as much.

    A Beam element and a file on the disk for each of a thousand folders of ten images would cost more than listing
    them.
    """
    waiting: list[Listing] = []
    num_rows = num_bytes = 0
    for listing in listings:
        # As columns: a million boxes as Python objects took 19 GB on their way between two steps of a pipeline.
        table = listing.table()
        waiting.append(replace(listing, rows=[], columns=table))
        num_rows += len(table)
        num_bytes += table.nbytes
        if num_rows >= batch_rows or num_bytes >= _BATCH_BYTES:
            yield _joined(waiting)
            waiting, num_rows, num_bytes = [], 0, 0
    if waiting:
        yield _joined(waiting)


def _joined(listings: list[Listing]) -> Listing:
    if len(listings) == 1:
        return listings[0]
    skipped, classes = dict[str, int](), dict[int, str]()
    for listing in listings:
        for kind, count in listing.skipped.items():
            skipped[kind] = skipped.get(kind, 0) + count
        classes |= listing.classes
    columns = pa.concat_tables([listing.table() for listing in listings])
    return Listing(listings[0].schema, columns=columns, skipped=skipped, classes=classes)


class Source(abc.ABC):
    """A source of one layout. Instances are small and pickled into the pipeline's graph.

    Attributes:
        folder: where the images' paths are.
    """

    __slots__ = ()
    folder: Folder

    @property
    def schema(self) -> pa.Schema:
        """Columns of the listings: LISTING_SCHEMA, and the layout's own."""
        return LISTING_SCHEMA

    @property
    def classes(self) -> tuple[str, ...] | None:
        """Class names in label order, where the format says them outright; None: as listed, else sorted."""
        return None

    @property
    @abc.abstractmethod
    def layout(self) -> str:
        """Name of the layout."""

    @abc.abstractmethod
    def describe(self) -> str:
        """One sentence for the user: how the source was read."""

    @abc.abstractmethod
    def parts(self) -> Sequence[Any]:
        """What is listed in parallel; small and pickled."""

    def listed_folders(self, part: Any) -> Sequence[str]:
        """Folders of which a missing or empty one would make `list_part` give less without a word; () by default."""
        del part
        return ()

    @abc.abstractmethod
    def list_part(self, part: Any, batch_rows: int) -> Iterator[Listing]:
        """Batches of at most batch_rows rows; the same files give the same batches on every call."""


def is_ignored(name: str) -> bool:
    """Whether operating systems and tools leave such files or folders behind; nobody means them as data."""
    return name.startswith(".") or name.lower() in _JUNK


def ending(name: str) -> str:
    """The lower-case ending of a file's name, dot included; '(none)' for a name without one."""
    kind = os.path.splitext(name)[1].lower()
    if not kind.isascii():  # it is printed, and stored in the manifest
        kind = kind.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return kind or "(none)"


def unicode_problem(path: str) -> tuple[str, str, str] | None:
    """Key, reason and message of a file whose path cannot stand in a table or a record; None where it can."""
    if path.isascii():
        return None
    try:
        path.encode()
    except UnicodeEncodeError:
        key = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        return key, "bad_name", "the file's name is not valid UTF-8; rename it"
    return None


def encodable_path(path: str) -> str:
    """A path as it can stand in a table: bytes that are not UTF-8 are written out."""
    problem = unicode_problem(path)
    return problem[0] if problem else path
