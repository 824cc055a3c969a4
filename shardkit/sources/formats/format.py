"""`Format`: what each format of annotations gives to the engine."""

from collections.abc import Iterator, Mapping
from typing import BinaryIO, Protocol, TypeAlias

import pyarrow as pa

from shardkit.errors import CallError
from shardkit.sources.formats.record import ImageRecord, RecordTable

Options: TypeAlias = Mapping[str, str]  # of a reading's `Annotation`
ROOT = "root"  # the option that opening adds: URL of the folder that images' paths start at, for absolute ones


class Format(Protocol):
    """A format: a value of its module, which is pickled by name.

    A file that cannot be parsed raises DataError. A bad record says why, and the bad objects of an image are problems
    of its record. A record without image has problems only.
    """

    name: str
    title: str
    noun: str = "record"  # what messages call a record
    note: str = ""  # what the user should know about what is read; '' for nothing
    names_are_below: bool = False  # whether names of images never lead above the folder that they start at
    object_fields: tuple[pa.Field, ...] = ()
    settings: frozenset[str] = frozenset()

    def sniff(self, head: bytes) -> bool:
        """Return whether a file is of this format, by its beginning."""
        return False

    def records(self, file: BinaryIO, name: str, options: Options) -> Iterator[ImageRecord]:
        """Yield what a file says about its images, in the file's order; `name` is the file in messages."""

    def tables(self, file: BinaryIO, name: str, options: Options, rows: int) -> Iterator[RecordTable]:
        """Yield the records of a file in tables of so many, their objects as columns, if the format has columns.

        Objects as dicts take ten times as long to list, which counts in files of millions.
        """
        return iter(())

    def names(self, file: BinaryIO, name: str, options: Options) -> Iterator[str]:
        """Yield the names of the images, as written: the cheap pass."""
        return (record.image for record in self.records(file, name, options) if record.image)

    def masks(self, file: BinaryIO, name: str, options: Options) -> Iterator[str]:
        """Yield the paths of the masks, as written, if records have masks in place of objects."""
        return iter(())

    @property
    def gives_masks(self) -> bool:
        return type(self).masks is not Format.masks

    def classes(self, file: BinaryIO, name: str, options: Options) -> Mapping[int, str]:
        """Return the names of classes by the numbers that give their order; {} if the file does not order them."""
        return {}


def number_option(options: Options, name: str) -> int:
    """Return a whole number of a reading's options, 0 if it is not there."""
    text = options.get(name, "0")
    if not (text.isascii() and text.isdecimal()):
        msg = f"the option {name} of the reading must be a whole number; found {text!r}"
        raise CallError(msg)
    return int(text)
