"""Build the rows of annotated images, of bad records, and of images that no record names."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from shardkit.errors import CallError
from shardkit.options.values import Missing
from shardkit.options.words import named
from shardkit.reject_reasons import MISSING, NO_LABEL
from shardkit.sources.columns import ANNOTATED_HEIGHT, ANNOTATED_WIDTH, LABEL_NAMES, UNMEASURED, objects_field
from shardkit.sources.file_names import encodable_path
from shardkit.sources.formats.record import ImageRecord, Object, Size
from shardkit.sources.ignoring.filtered_folder import IgnoreGlob
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
from shardkit.sources.readings.values import Reading
from shardkit.sources.unlisted_images import NamedImages, count_unlisted_images
from shardkit.sources.walking import children, folders_in, is_image, join, list_if_allowed, parent_of
from shardkit.storage import Entry, Folder

_KEPT = "; the image is kept"


def detection_fields(extra: Sequence[pa.Field]) -> tuple[pa.Field, ...]:
    """Return the columns of the objects, with their further fields, and of the size in pixels that boxes refer to."""
    return objects_field(extra), ANNOTATED_WIDTH, ANNOTATED_HEIGHT


def image_row(
    key: str, split: str | None, entry: Entry | None, objects: Sequence[Object], size: Size, *more: Any
) -> ListingRow:
    """Return the row of a good image."""
    num_bytes, mtime_ns = (entry.num_bytes, entry.mtime_ns) if entry else (UNMEASURED, 0)
    return ListingRow(key, split, None, num_bytes, mtime_ns, extra=(list(objects), *size, *more))


def annotated_rows(
    row: ListingRow | None, found: ImageRecord, path: str, skipped: dict[str, int], advice: str = ""
) -> Iterator[ListingRow]:
    """Yield an image's row, then rows of its bad objects, and count what is left out."""
    for kind, count in found.left_out.items():
        count_skipped(skipped, kind, count)
    if row is not None:
        yield row
    for name, reason, message in found.problems:
        kept = "" if row is None else _KEPT
        problem = RecordProblem(encodable_path(f"{path}, {name}"), reason, f"{message}{kept}{advice}")
        yield rejected_row(problem, None if row is None else row.split)


def rejected_image(path: str, split: str | None, entry: Entry, reason: str, message: str) -> ListingRow:
    """Return the row of a bad image; that its path cannot be stored counts before the reason."""
    return rejected_row(unicode_problem(path) or RecordProblem(path, reason, message), split, entry)


def rejected_file(path: str, split: str | None, message: str) -> ListingRow:
    """Return the row of an annotation file without image."""
    return rejected_row(RecordProblem(encodable_path(path), MISSING, message), split)


UNNAMED = "that no annotation names"
IGNORED = "images without annotation"


def unnamed_images(
    folder: Folder,
    keys: Iterable[str],
    rows_of: Callable[[str, Entry, dict[str, int]], Iterator[ListingRow]],
    skipped: dict[str, int],
    *,
    is_whole: bool,
    why: str,
) -> Iterator[ListingRow]:
    """Yield the rows of images that no record names, next to others that one does; count those in other folders."""
    named_images = NamedImages(keys)
    places = set(map(parent_of, named_images))
    for place in sorted(places):
        for entry in list_if_allowed(folder, place):
            key = join(place, entry.name)
            if not entry.is_folder and is_image(entry.name) and key not in named_images:
                yield from rows_of(key, entry, skipped)
    if is_whole:
        inner = [join(place, name) for place in places for name in folders_in(folder, place)]
        count_others(folder, ["", *inner], places, skipped, why)


def check_policy_of_masks(policy: Missing) -> None:
    """Check what happens to images without a mask."""
    if policy == "negative":
        msg = f"{named('without_annotation', 'negative')}: an image without a mask can only be rejected, or ignored"
        raise CallError(msg)


class NamedFiles:
    """The files of the folders that hold named images; each folder is listed once.

    Attributes:
        named: Keys of the named images.
        inner: Paths of the folders in these folders.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._files: dict[str, dict[str, Entry]] = {}
        self.named: set[str] = set()
        self.inner: list[str] = []

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


def count_others(
    folder: Folder, below: Sequence[str], covered: Collection[str], skipped: dict[str, int], why: str = UNNAMED
) -> None:
    """Count the images in some folders and below them, except in covered ones."""
    for kind, count in count_unlisted_images(folder, why, below=below, covered=covered).items():
        count_skipped(skipped, kind, count)


def without_annotation(
    policy: Missing,
    key: str,
    split: str | None,
    entry: Entry,
    what: str,
    skipped: dict[str, int],
    negative: tuple[Any, ...] = (),
) -> Iterator[ListingRow]:
    """Yield the row of an image without annotation: rejected, without objects, or none, as a reading says.

    No label is no label: nobody knows whether somebody looked at such an image. One with an empty file or with a record
    without boxes is an example without objects; this is for the others.
    """
    if problem := unicode_problem(key):
        yield rejected_row(problem, split, entry)
    elif policy == "ignore":
        count_skipped(skipped, IGNORED)
    elif policy == "negative" and negative:
        count_skipped(skipped, NEGATIVES)
        yield ListingRow(key, split, None, entry.num_bytes, entry.mtime_ns, extra=negative)
    else:
        message = f"{NO_ANNOTATION if negative else ''}{what}"
        yield rejected_row(RecordProblem(key, NO_LABEL, message), split, entry)


def unlabelled_globs(tree: Folder, reading: Reading) -> tuple[IgnoreGlob, ...]:
    """Return the globs of the images of a reading that have no label on purpose."""
    globs, label = reading.images.unlabelled, reading.label
    others = {"boxes": reading.boxes, "a mask": reading.mask}
    found = [what for what, origin in others.items() if origin is not None]
    found += ["numbers for regression"] if label and label.kind == "number" else [] if label else ["no label"]
    if globs and found:
        msg = (
            f"{tree.url}: `images: unlabelled` marks images without a class among images that have one or several, and "
            f"these have {found[0]}; take `unlabelled` out of the reading"
        )
        raise CallError(msg)
    return tuple(map(IgnoreGlob, globs))


def with_unlabelled(
    rows: Iterable[ListingRow],
    fields: Sequence[pa.Field],
    complete: Callable[[ListingRow], ListingRow],
    is_unlabelled: Callable[[str], bool],
) -> Iterator[ListingRow]:
    """Yield rows, with a mark in place of the reason for those that have no label on purpose."""
    num_own, at = len(fields), fields.index(LABEL_NAMES) if LABEL_NAMES in fields else None
    for row in rows:
        has_no_class = at is not None and row.reason is None and not row.extra[at]
        if not (has_no_class or row.reason == NO_LABEL) or not is_unlabelled(row.key):
            yield row
            continue
        own = [*row.extra[:num_own], *(None,) * (num_own - len(row.extra))]
        if at is not None:
            own[at] = None
        try:
            plain = complete(row._replace(reason=None, message=None, extra=tuple(own)))
        except BadRecord as error:
            yield row._replace(reason=error.reason, message=str(error))
            continue
        yield plain._replace(extra=(*plain.extra, True))
