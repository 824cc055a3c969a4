"""What enumerates images by records of annotations: the rows of records, and those of images that no record names."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from shardkit.options.values import Missing
from shardkit.reject_reasons import BAD_ANNOTATION, BAD_LABEL, MISSING, NO_LABEL
from shardkit.sources.columns import ANNOTATED_HEIGHT, ANNOTATED_WIDTH, LABEL_NAMES, LINE, MAX_OBJECTS, objects_field
from shardkit.sources.engine.drivers import Complete, Context, Driver
from shardkit.sources.engine.facts import IGNORED, LEFT_OUT
from shardkit.sources.engine.splits import split_of_folders
from shardkit.sources.formats.format import ImageRecord
from shardkit.sources.listing import (
    NEGATIVES,
    NO_ANNOTATION,
    BadRecord,
    ListingRow,
    RecordProblem,
    count_skipped,
    rejected_row,
    unicode_problem,
)
from shardkit.sources.readings.values import Unnamed
from shardkit.sources.unlisted_images import NamedImages, count_unlisted_images, images_near
from shardkit.sources.walking import children, encodable_path, folders_in, join, parent_of
from shardkit.storage import Entry, Folder

_KEPT = "; the image is kept"


def detection_fields(extra: Sequence[pa.Field]) -> tuple[pa.Field, ...]:
    """Return the columns of the objects, with their further fields, and of the size in pixels that boxes refer to."""
    return objects_field(extra), ANNOTATED_WIDTH, ANNOTATED_HEIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordDriver(Driver):
    """Enumerates the images that records of annotations name."""

    policy: Missing = "reject"  # what happens to images that no record names
    attribute: str | None = None  # the attribute of images that gives their classes; None for boxes
    has_several: bool = False  # whether an image may have several classes
    # Whether the last folder of an image's path that is called like a split gives it, if nothing else does
    splits_of_folders: bool = False
    is_whole: bool = False  # whether images in other folders are counted: if SOURCE is a folder that has the images
    class_names: tuple[str, ...] | None = None  # class names in label order; None if the files do not order them

    has_lines: ClassVar[bool] = True  # whether its rows have the number of their record

    @property
    def object_fields(self) -> Sequence[pa.Field]:
        """Further fields of objects."""
        return ()

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        labels = (LABEL_NAMES,) if self.has_several else ()
        own = detection_fields(self.object_fields) if self.attribute is None else labels
        return (*own, *([LINE] if self.has_lines else []))

    @property
    def classes(self) -> tuple[str, ...] | None:
        return self.class_names

    def split_of(self, *paths: str) -> str | None:
        return split_of_folders(*paths) if self.splits_of_folders else None

    def problem_of(self, context: Context, record: ImageRecord) -> tuple[str, str] | None:
        """Return the reason and the message of a record that gives no example; None if it gives one."""
        if record.bad:
            return record.reason, record.bad
        if record.has_too_many:
            return BAD_ANNOTATION, f"it has more than {MAX_OBJECTS:,} objects; split the image into tiles"
        num = len(record.attributes.get(self.attribute or "", ()))
        if self.attribute is None or self.has_several or num == 1:
            return None
        return BAD_LABEL if num else NO_LABEL, f"it has {num or 'no'} classes of {self.attribute!r}; give it one"

    def with_values(self, row: ListingRow, record: ImageRecord, objects: Any = None) -> ListingRow:
        """Return a row with what a record gives, before the facts that it has; `objects` is in place of its objects."""
        labels = record.attributes.get(self.attribute or "", [])
        own: tuple[Any, ...] = (labels,) if self.has_several else ()
        if self.attribute is None:
            own = (record.objects if objects is None else objects, *record.size)
        elif not self.has_several:
            row = row._replace(label_name=labels[0])
        return row._replace(extra=(*own, *([record.number] if self.has_lines else []), *row.extra))

    def record_rows(
        self,
        context: Context,
        row: ListingRow,
        record: ImageRecord,
        name: str,
        path: str,
        objects: Any = None,
        problem: tuple[str, str] | None = None,
    ) -> Iterator[ListingRow]:
        """Yield the row of an image with what its record says and all facts of its key, and rows of its bad objects.

        `name` is the record, for messages; with `objects`, bad objects have rows of their own. `problem` is why the
        image is rejected already.
        """
        try:
            if problem := problem or self.problem_of(context, record):
                raise BadRecord(*problem)
            row = context.complete(self.with_values(row, record, objects))
        except BadRecord as error:
            message = str(error) if error.reason == LEFT_OUT else f"{name}: {error}"
            rejected = rejected_row(RecordProblem(row.key, error.reason, message), row.split)
            yield rejected._replace(extra=(*(None for _ in self.fields[1:]), record.number))
            return
        if objects is None:
            yield from annotated_rows(context, row, record if self.attribute is None else ImageRecord(), path)
        else:
            yield row

    def unannotated(self, context: Context, row: ListingRow, entry: Entry, what: str) -> Iterator[ListingRow]:
        """Yield the row of an image without annotation: rejected, without objects, or none, as a reading says.

        No label is no label: nobody knows whether somebody looked at such an image. One with an empty file or with a
        record without boxes is an example without objects; this is for the others.
        """
        has_list = any(pa.types.is_list(one.type) for one in self.fields[:1])
        if problem := unicode_problem(row.key):
            yield rejected_row(problem, row.split, entry)
        elif self.policy == "ignore":
            context.skip(IGNORED)
        elif self.policy == "negative" and has_list:
            context.skip(NEGATIVES)
            extra = ([], *(None,) * (len(self.fields) - 1), *row.extra)
            yield row._replace(source_bytes=entry.num_bytes, mtime_ns=entry.mtime_ns, extra=extra)
        else:
            message = f"{NO_ANNOTATION if has_list else ''}{what}"
            yield rejected_row(RecordProblem(row.key, NO_LABEL, message), row.split, entry)

    def unnamed(self, context: Context, mode: Unnamed) -> Iterator[ListingRow] | None:
        """See Driver; images next to others that a record names."""
        return None if mode == "reject" else self._near(context)

    def _near(self, context: Context) -> Iterator[ListingRow]:
        named_images = NamedImages(self.keys(context.folder))
        for key, entry in images_near(context.folder, named_images):
            yield from self.unnamed_row(context, key, entry)
        places = set(map(parent_of, named_images))
        some = places if self.is_whole else ()
        inner = [join(place, name) for place in some for name in folders_in(context.folder, place)]
        self.count_others(context, ["", *inner], places)

    def count_others(self, context: Context, below: Sequence[str], covered: Collection[str]) -> None:
        """Count the images in some folders and below them, except in covered ones, if they are part of SOURCE."""
        if self.is_whole:
            others = count_unlisted_images(context.folder, "that no annotation names", below=below, covered=covered)
            for kind, count in others.items():
                count_skipped(context.skipped, kind, count)


def annotated_rows(
    context: Context, row: ListingRow | None, found: ImageRecord, path: str, advice: str = ""
) -> Iterator[ListingRow]:
    """Yield an image's row, then rows of its bad objects, and count what is left out."""
    for kind, count in found.left_out.items():
        count_skipped(context.skipped, kind, count)
    if row is not None:
        yield row
    for name, reason, message in found.problems:
        kept = "" if row is None else _KEPT
        problem = RecordProblem(encodable_path(f"{path}, {name}"), reason, f"{message}{kept}{advice}")
        yield rejected_row(problem, None if row is None else row.split)


def plain_row(key: str, split: str | None, entry: Entry) -> ListingRow:
    """Return the row of an image without further facts."""
    return ListingRow(key, split, None, entry.num_bytes, entry.mtime_ns)


def completed(row: ListingRow, complete: Complete) -> ListingRow:
    """Return the row of an image with the facts of its key; a rejected one if it is no example."""
    if problem := unicode_problem(row.key):
        return row._replace(key=problem.key, reason=problem.reason, message=problem.message)
    try:
        return complete(row)
    except BadRecord as error:
        return row._replace(reason=error.reason, message=str(error))


def rejected_file(path: str, split: str | None, message: str) -> ListingRow:
    """Return the row of a file of annotations without image."""
    return rejected_row(RecordProblem(encodable_path(path), MISSING, encodable_path(message)), split)


class NamedFiles:
    """The files of the folders that hold named images; each folder is listed once."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._files: dict[str, dict[str, Entry]] = {}
        self.named: set[str] = set()  # keys of the named images
        self.inner: list[str] = []  # paths of the folders in these folders

    @property
    def places(self) -> set[str]:
        return {*self._files}

    def find(self, key: str) -> Entry | None:
        """Return the file of a named image; None if it is not there."""
        self.named.add(key)
        place, _, name = key.rpartition("/")
        if place not in self._files:
            entries = children(self._folder, place)
            self._files[place] = {one.name: one for one in entries if not one.is_folder}
            self.inner += [join(place, one.name) for one in entries if one.is_folder]
        return self._files[place].get(name)

    def others(self) -> Iterator[tuple[str, Entry]]:
        for place, files in sorted(self._files.items()):
            for name, entry in files.items():
                if (path := join(place, name)) not in self.named:
                    yield path, entry
