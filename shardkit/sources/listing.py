"""What every layout gives: parts that are listed in parallel, and columnar batches of what they hold."""

import abc
import os
from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from shardkit.storage import Folder

LISTING_SCHEMA = pa.schema(
    [
        pa.field("key", pa.string(), nullable=False),  # stable relative POSIX path in the source
        pa.field("split", pa.string()),  # as the source gives it; null where it gives none
        pa.field("label_name", pa.string()),  # null only where `reason` is not
        pa.field("source_bytes", pa.int64(), nullable=False),
        pa.field("mtime_ns", pa.int64(), nullable=False),
        pa.field("reason", pa.string()),  # why it is rejected already; null while it is good
        pa.field("message", pa.string()),
    ]
)

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
_JUNK = frozenset({"thumbs.db", "desktop.ini", "__macosx", "icon\r"})


@dataclass(frozen=True, slots=True)
class Part:
    """What one worker lists: a folder and what its examples have in common."""

    path: str
    split: str | None
    label_name: str | None
    recursive: bool


@dataclass(slots=True)
class Listing:
    """A columnar batch in the making; ``table()`` has LISTING_SCHEMA, rows in the order in which they were added."""

    keys: list[str] = field(default_factory=list)
    splits: list[str | None] = field(default_factory=list)
    label_names: list[str | None] = field(default_factory=list)
    source_bytes: list[int] = field(default_factory=list)
    mtimes_ns: list[int] = field(default_factory=list)
    reasons: list[str | None] = field(default_factory=list)
    messages: list[str | None] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)

    def table(self) -> pa.Table:
        """The rows as an Arrow table."""
        columns = [
            self.keys,
            self.splits,
            self.label_names,
            self.source_bytes,
            self.mtimes_ns,
            self.reasons,
            self.messages,
        ]
        return pa.Table.from_arrays(
            [pa.array(column, type_) for column, type_ in zip(columns, LISTING_SCHEMA.types, strict=True)],
            schema=LISTING_SCHEMA,
        )


class Source(abc.ABC):
    """A source of one layout. Instances are small and pickled into the pipeline's graph.

    Attributes:
        folder: where the keys are paths.
    """

    __slots__ = ()
    folder: Folder

    @property
    @abc.abstractmethod
    def layout(self) -> str:
        """Name of the layout."""

    @abc.abstractmethod
    def describe(self) -> str:
        """One sentence for the user: how the source was read."""

    @abc.abstractmethod
    def parts(self) -> list[Part]:
        """What is listed in parallel."""

    @abc.abstractmethod
    def list_part(self, part: Part, batch_rows: int) -> Iterator[Listing]:
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
