"""TFRecord files of tf.train.Examples that other programs wrote.

    mnist-train.tfrecord-00000-of-00001  features.json  label.labels.txt      TFDS
    train-00000-of-01024                                                      tensorflow/models
    train-00000-of-00001.tfrecord.gz                                          TFRecorder

Encoded images in plain files are read in place: the listing has their offsets. Compressed files cannot be read from
the middle, and pixels are no image files: then listing a file writes its images, one after the other, into one file of
the work folder. While the conversion runs, this takes the disk space of the images once more.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO, cast

import pyarrow as pa

from shardkit.dataset.foreign.compression import inflating
from shardkit.dataset.foreign.files import ForeignFile, number_problem
from shardkit.dataset.foreign.frames import Frame, frames
from shardkit.dataset.foreign.label_names import LabelNames
from shardkit.dataset.foreign.record_layout import RecordLayout
from shardkit.dataset.foreign.values import Record, read_record
from shardkit.errors import DataError, RecordError
from shardkit.layouts import LAYOUTS
from shardkit.naming import WORK_FOLDER, counted, printable
from shardkit.options.words import named
from shardkit.record_sources.tfrecord.records import RecordReader, image_bytes, record_fields
from shardkit.reject_reasons import DAMAGED, TRUNCATED
from shardkit.sources.columns import LISTING_SCHEMA, OFFSET, PATH
from shardkit.sources.listing import BadRecord, Listing, ListingRow, RecordProblem, Source, batched, rejected_row
from shardkit.storage import Folder, os_errors_as

_SPOOL = f"{WORK_FOLDER}/images"
# Writes an image to its place: maps a frame, its record and the image to the file and the offset of the image in it.
_Place = Callable[[Frame, Record, bytes], tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Tfrecords(Source):
    """A source of TFRecord files."""

    folder: Folder  # that images are read from: `files_folder`, or the work folder once they are listed
    files_folder: Folder  # that the files' paths start at
    files: tuple[ForeignFile, ...]
    record_layout: RecordLayout  # which feature is what
    names: LabelNames | None  # names of the labels' numbers; None if there are none, or a feature has them
    group: str | None  # feature of the groups, such as a patient's number; None for none
    is_spooled: bool  # images are written into the work folder
    is_file: bool  # SOURCE is the only file itself
    other_files: tuple[tuple[str, int], ...]  # number of files next to them by ending
    remarks: tuple[str, ...]  # for the user
    keeps_truncated: bool = False  # the records before the end of a file that cannot be read to its end

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        return pa.schema([*LISTING_SCHEMA, PATH, OFFSET, *record_fields(self.record_layout, self.group)])

    @property
    def classes(self) -> tuple[str, ...] | None:
        """See Source; the names of the numbers, if a file has them."""
        return self.names.names if self.names else None

    layout = LAYOUTS["tfrecord"].title

    def describe(self) -> str:
        """Return how the source is read, one line for each role of a feature."""
        url = f"{self.files_folder.url}/{self.files[0].path}" if self.is_file else self.files_folder.url
        counts = Counter(file.split or "no split" for file in self.files)
        splits = ", ".join(f"{count} of {name}" for name, count in counts.items())
        family = self.record_layout.family
        of = "" if family == "others" else f" of {family}"
        kinds = sorted({file.compression for file in self.files if file.compression})
        how = "images are unpacked once into a temporary folder" if self.is_spooled else "images are read in place"
        head = (
            f"{url}: read as {self.layout}{of}, {counted(len(self.files), 'file')} ({splits})"
            f"{', ' + ' and '.join(kinds) if kinds else ''}; {how}"
        )
        names = [f"names     {self.names.describe()}"] if self.names else []
        groups = [f"group     {printable(self.group)}"] if self.group else []
        return "\n  ".join([head, *self.record_layout.describe(), *groups, *names, *self.remarks])

    def check_classes(self, classes: Mapping[int, str]) -> None:
        """See Source; two numbers of one name are two classes that would silently become one."""
        number_of: dict[str, int] = {}
        for number, name in sorted(classes.items()):
            if number_of.setdefault(name, number) != number:
                label = self.record_layout.label
                msg = (
                    f"{self.files_folder.url}: the labels {number_of[name]} and {number} are both {name!r} in "
                    f"{label.names!r}; give a name for each number with {named('classes')}"
                )
                raise DataError(msg)

    def parts(self) -> list[ForeignFile]:
        """Return one part for each file."""
        return list(self.files)

    def list_part(self, part: ForeignFile, batch_rows: int) -> Iterator[Listing]:
        """See Source; records in the file's order. Checks the CRCs of every record."""
        skipped = dict(self.other_files) if part == self.files[0] else {}
        reader = RecordReader(part.path, part.stem, part.split, self.record_layout, self.names, self.group)
        if not self.is_spooled:
            yield from self._batches(part, reader, _in_place(part, self.record_layout), batch_rows, skipped)
            return
        # Only the same bytes get this name, so the file of an earlier, interrupted conversion may be overwritten.
        seen = f"{self.files_folder.url}/{part.path}\n{part.mtime_ns}\n{self.record_layout.image}"
        blob = f"{_SPOOL}/{hashlib.sha256(seen.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}"
        with self.folder.atomic_write(blob) as spool:
            # As columns, which are small: no row may be given away before the file is complete.
            listings = [
                Listing(self.schema, columns=one.table(), skipped=one.skipped, classes=one.classes)
                for one in self._batches(part, reader, _Spooling(blob, spool), batch_rows, skipped)
            ]
        yield from listings

    def _batches(
        self, part: ForeignFile, reader: RecordReader, place: _Place, batch_rows: int, skipped: dict[str, int]
    ) -> Iterator[Listing]:
        given: dict[int, str] = {}
        for listing in batched(self.schema, self._rows(part, reader, place), batch_rows, skipped):
            listing.classes = {number: name for number, name in reader.classes.items() if number not in given}
            given |= listing.classes
            yield listing

    def _rows(self, part: ForeignFile, reader: RecordReader, place: _Place) -> Iterator[ListingRow]:
        url = f"{self.files_folder.url}/{part.path}"
        num, is_whole = 0, True
        with os_errors_as("read the file", url), self.files_folder.open(part.path) as opened:
            for frame in frames(inflating(cast("BinaryIO", opened), part.compression)):
                if frame.is_end:
                    is_whole = False
                    yield self._unread(frame, part, url)
                    break
                yield _row(frame, part, reader, place)
                num += 1
        if is_whole and (problem := number_problem(url, num, part.num_records)):
            raise DataError(problem)

    def _unread(self, frame: Frame, part: ForeignFile, url: str) -> ListingRow:
        """Return the row for the rest of a file that cannot be read.

        The rest may be any number of records, so it is not one image among `max_rejected`: the user has to accept it.
        """
        before = "no record" if not frame.number else f"only {counted(frame.number, 'record')}"
        found = f"record {frame.number}: {frame.problem}"
        if self.keeps_truncated:
            message = f"{found}; {before} of the file could be read, and it is unknown how many are lost"
            return rejected_row(RecordProblem(_where(frame, part), TRUNCATED, message), part.split)
        leaving = "" if self.is_file else f"leave it out with {named('ignore', printable(part.path))}, "
        msg = (
            f"{url}: {found}; {before} of the file can be read, and it is unknown how many are lost. Copy or write the "
            f"file again, {leaving}or add {named('keep_truncated', True)} to convert what can be read"
        )
        raise DataError(msg)


def _where(frame: Frame, part: ForeignFile) -> str:
    return f"{part.path}, record {frame.number}"


def _row(frame: Frame, part: ForeignFile, reader: RecordReader, place: _Place) -> ListingRow:
    key = _where(frame, part)
    if frame.problem:
        return rejected_row(RecordProblem(key, DAMAGED, f"{frame.problem}; copy or write the file again"), part.split)
    try:
        record = read_record(frame.data)
    except RecordError as error:
        return rejected_row(RecordProblem(key, DAMAGED, str(error)), part.split)
    features = record.features
    row = ListingRow(reader.key(frame.number, features), part.split, None, 0, part.mtime_ns)
    try:
        row = row._replace(split=reader.split_of(features))
        image = image_bytes(reader.layout, features)
        label_name, more = reader.annotation(frame.number, features, image)
        path, offset = place(frame, record, image)
    except BadRecord as error:
        return row._replace(reason=error.reason, message=str(error))
    except RecordError as error:
        return row._replace(reason=DAMAGED, message=str(error))
    return row._replace(label_name=label_name, source_bytes=len(image), extra=(path, offset, *more))


def _in_place(part: ForeignFile, layout: RecordLayout) -> _Place:
    def place(frame: Frame, record: Record, image: bytes) -> tuple[str, int]:
        start, length = record.locate(layout.image.name)
        if frame.data[start : start + length] != image:
            msg = f"the feature {layout.image.name!r} is stored twice with different bytes; write the record again"
            raise RecordError(msg)
        return part.path, frame.offset + start

    return place


class _Spooling:
    """Appends images to one file."""

    def __init__(self, path: str, file: BinaryIO) -> None:
        self._path, self._file, self._offset = path, file, 0

    def __call__(self, frame: Frame, record: Record, image: bytes) -> tuple[str, int]:
        """See _Place."""
        offset = self._offset
        self._file.write(image)
        self._offset += len(image)
        return self._path, offset
