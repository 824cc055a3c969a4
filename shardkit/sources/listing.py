"""The interface of every layout: parts that are listed in parallel, and columnar batches of the examples in a part."""

import abc
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple, cast

import pyarrow as pa

from shardkit.errors import DataError, ShardkitError
from shardkit.reject_reasons import BAD_NAME
from shardkit.sources.claim import Claim, UsedFile
from shardkit.sources.columns import LISTING_SCHEMA, MAX_OBJECTS, OBJECTS
from shardkit.sources.readings.values import Reading
from shardkit.sources.walking import encodable_path
from shardkit.storage import Entry, Folder

NO_ANNOTATION = "no annotation: "  # begins the message of a rejected image that may be an example without objects
NEGATIVES = "images without annotation are examples without objects"  # counted as skipped, and not left out


class BadRecord(ValueError):  # noqa: N818 - it describes the data, not a failure of the program
    """A record that gives no example; the text is a sentence without the record's key."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason  # a code of shardkit.reject_reasons


class RecordProblem(NamedTuple):
    """Why a record or a file is rejected; `key` is its path, or a name such as "labels.csv, line 7"."""

    key: str
    reason: str
    message: str


class ListingRow(NamedTuple):
    """A row of a listing: the columns of LISTING_SCHEMA, and the layout's other columns."""

    key: str
    split: str | None
    label_name: str | None
    source_bytes: int
    mtime_ns: int
    reason: str | None = None
    message: str | None = None
    extra: tuple[Any, ...] = ()  # values of the schema's other columns, in its order; () if all are null


def rejected_row(problem: RecordProblem, split: str | None, entry: Entry | None = None) -> ListingRow:
    """Return the row of a bad image, whose file is `entry`, or of a bad record."""
    num_bytes, mtime_ns = (entry.num_bytes, entry.mtime_ns) if entry else (0, 0)
    return ListingRow(problem.key, split, None, num_bytes, mtime_ns, problem.reason, problem.message)


@dataclass(slots=True)
class Listing:
    """A columnar batch of rows, and counts of what was skipped."""

    schema: pa.Schema = LISTING_SCHEMA
    rows: list[ListingRow] = field(default_factory=list)  # the rows, unless they are in `columns`
    columns: pa.Table | None = None  # the rows as a table, from layouts that produce columns
    # Number of files that are not images by ending, and of images without annotation by a phrase
    skipped: dict[str, int] = field(default_factory=dict)
    # Class names by number, from formats that number classes (COCO's category id)
    classes: dict[int, str] = field(default_factory=dict)

    def table(self) -> pa.Table:
        if self.columns is not None:
            return self.columns
        num_extra = len(self.schema) - len(LISTING_SCHEMA)
        *columns, extra = zip(*self.rows, strict=True) if self.rows else [()] * len(ListingRow._fields)
        nulls = (None,) * num_extra
        columns += list(zip(*(values or nulls for values in extra), strict=True)) if self.rows else [()] * num_extra
        arrays = [pa.array(column, type_) for column, type_ in zip(columns, self.schema.types, strict=True)]
        return pa.Table.from_arrays(arrays, schema=self.schema)

    def add(self, skipped: Mapping[str, int], classes: Iterable[tuple[int, str]]) -> None:
        for kind, count in skipped.items():
            self.skipped[kind] = self.skipped.get(kind, 0) + count
        for number, name in classes:
            known = self.classes.setdefault(number, name)
            if known != name:
                msg = f"category {number} is {known!r} in one file of the source and {name!r} in another; make them "
                raise DataError(msg + "agree")


def batched(
    schema: pa.Schema, rows: Iterable[ListingRow], batch_rows: int, skipped: MutableMapping[str, int] | None = None
) -> Iterator[Listing]:
    """Yield the rows in batches of at most `batch_rows`, and fewer if they have MAX_OBJECTS objects or more.

    The last batch holds `skipped`, to which `rows` may add while they are read.
    """
    at = schema.get_field_index(OBJECTS) - len(LISTING_SCHEMA)
    remaining = iter(rows)
    batch: list[ListingRow] = []
    while first := next(remaining, None):
        if batch:
            yield Listing(schema, batch)
        more = islice(remaining, batch_rows - 1)
        batch = [first, *(more if at < 0 else _until_many_objects(more, at, _num_objects(first, at)))]
    if batch or skipped:
        yield Listing(schema, batch, skipped=dict(skipped or {}))


def _until_many_objects(rows: Iterator[ListingRow], at: int, num_objects: int) -> Iterator[ListingRow]:
    while num_objects < MAX_OBJECTS and (row := next(rows, None)):
        yield row
        num_objects += _num_objects(row, at)


def _num_objects(row: ListingRow, at: int) -> int:
    return len(row.extra[at] or ()) if row.extra else 0


def count_skipped(skipped: MutableMapping[str, int], kind: str, count: int = 1) -> None:
    """Add to the number of skipped files of a kind."""
    skipped[kind] = skipped.get(kind, 0) + count


class Source(abc.ABC):
    """A source of one layout. Instances are small and are pickled into the pipeline's graph."""

    __slots__ = ()
    folder: Folder  # that the images' paths start at

    @property
    def schema(self) -> pa.Schema:
        """Columns of the listings: LISTING_SCHEMA and the layout's own."""
        return LISTING_SCHEMA

    @property
    def classes(self) -> tuple[str, ...] | None:
        """Class names in label order, if the format defines them; None: as listed, else sorted."""
        return None

    def check_classes(self, classes: Mapping[int, str]) -> None:
        """Raise DataError if the class names by number that all listings together gave contradict each other."""
        del classes

    @property
    @abc.abstractmethod
    def layout(self) -> str:
        """Name of the layout."""

    @abc.abstractmethod
    def describe(self) -> str:
        """Return one sentence for the user: how the source is read."""

    @abc.abstractmethod
    def parts(self) -> Sequence[Any]:
        """Return the parts that are listed in parallel; they are small and are pickled."""

    @property
    def is_checked(self) -> bool:
        """Whether listing fills in all that checking finds, so that no image is read before it is written."""
        return False

    @property
    def origin(self) -> str | None:
        """A sha256 that says more of what is read than the rows do, such as the digest of a dataset; None for none."""
        return None

    @property
    def label_files(self) -> tuple[str, ...] | None:
        """URLs of the files that give the labels and splits; None if the layout does not say: all may be used."""
        return None

    @property
    def used_files(self) -> tuple[UsedFile, ...]:
        """Files, besides the images, that the source is read with; () if the images' files hold all."""
        return tuple(UsedFile(below(self.folder, url), "labels") for url in self.label_files or ())

    @property
    def takes_splits(self) -> bool:
        """Whether the source has no splits of its own, and lists of other files may give them."""
        return False

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What the files in the source that name images say about them."""
        return ()

    @property
    def reading(self) -> Reading | None:
        """How the source is read, as a value; None if its layout is not a reading."""
        return None

    def check_accounts(self, skipped: Mapping[str, int]) -> None:
        """Raise DataError if the user has said how the source is read, and that leaves files over, by their counts."""
        del skipped

    def misfit(self, error: ShardkitError) -> ShardkitError:
        """Return the error of classes or splits that cannot be right, with what the reading has to do with it."""
        return error

    @property
    def removed_before(self) -> tuple[str, ...]:
        """Keys of examples that are left out because another dataset of the source removed them before."""
        return ()

    def undivided(self) -> "Source":
        """Return the same source without its own splits, if it has some that `splits` may replace."""
        return self

    def refuse_changed(self) -> None:  # noqa: B027 - most layouts leave it to writing, which compares every file
        """Raise SourceChangedError if the source was replaced since it was opened, and writing cannot find it."""

    def withdrawn(self) -> pa.Table | None:
        """Return the hashes of examples that stay out of the new dataset, see dataset.withdrawn; None without any."""
        return None

    def listed_folders(self, part: Any) -> Sequence[str]:
        """Return the folders that `list_part` would silently list incompletely if they were missing or empty."""
        del part
        return ()

    def sliceable_folder(self, part: Any) -> str | None:
        """Return the folder of a part that several workers may list, a range of names each; None if it is not one.

        The rows of a name must follow from the name alone.
        """
        del part
        return None

    def divided(self, part: Any) -> Sequence[Any]:
        """Return smaller parts that list what a part lists, in its order; the part itself if it stays whole.

        The driver calls it if several processes list the source; it may read the part's file once.
        """
        return [part]

    def in_folder(self, folder: Folder) -> "Source":
        """Return the same source with another folder, which shows a range of the names."""
        made: Source = replace(cast("Any", self), folder=folder)  # every layout is a dataclass
        return made

    @abc.abstractmethod
    def list_part(self, part: Any, batch_rows: int) -> Iterator[Listing]:
        """Yield batches of at most `batch_rows` rows; the same files give the same batches on every call."""


def below(folder: Folder, url: str) -> str:
    """Return the path of a URL below a folder; the URL itself if it is not below."""
    return url.removeprefix(f"{folder.url.rstrip('/')}/")


def unicode_problem(path: str) -> RecordProblem | None:
    """Return why a file's path cannot be stored in a table or an example; None if it can."""
    key = encodable_path(path)
    return None if key == path else RecordProblem(key, BAD_NAME, "the file's name is not valid UTF-8; rename it")
