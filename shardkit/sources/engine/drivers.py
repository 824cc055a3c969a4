"""What enumerates the examples of a reading; `TreeDriver` lists the images of folders.

Pictures in a format that shardkit does not read are rejected, not skipped: a folder of photographs in a camera's own
format would otherwise vanish without counting for ``max_rejected``. A skipped file is one that belongs to no dataset of
images, such as ``.txt``, or a video next to images.
"""

import abc
import posixpath
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar

import pyarrow as pa

from shardkit.naming import printable
from shardkit.options.words import named
from shardkit.reject_reasons import NO_LABEL, UNSUPPORTED_FORMAT
from shardkit.sources.engine.accounting import Accounting
from shardkit.sources.formats.format import RecordTable
from shardkit.sources.listing import BadRecord, ListingRow, RecordProblem, count_skipped, rejected_row, unicode_problem
from shardkit.sources.readings.values import Unnamed
from shardkit.sources.walking import children, encodable_path, ending, files_below, is_dataset, is_image, join
from shardkit.storage import Entry, Folder

_RAW = frozenset({".arw", ".cr2", ".cr3", ".dng", ".nef", ".nrw", ".orf", ".pef", ".raf", ".rw2", ".srw"})
_VIDEO = frozenset({".avi", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".webm", ".wmv"})
_DRAWING = frozenset({".ai", ".eps", ".pdf", ".psd", ".svg", ".xcf"})
_PIXELS = frozenset({".dcm", ".exr", ".jxl", ".tga"})

# What to do about a file, by its ending.
_REMEDIES = {
    **dict.fromkeys(_RAW, "develop the camera's raw file to JPEG or TIFF, such as with darktable"),
    **dict.fromkeys(_VIDEO, "extract frames from the video, such as with ffmpeg"),
    **dict.fromkeys(_DRAWING, "export the drawing or document as PNG"),
    **dict.fromkeys(_PIXELS, "convert it to PNG"),
}


def unsupported_format(path: str) -> RecordProblem | None:
    """Return why a file is rejected that holds a picture in a format that is not read; None for any other file."""
    kind = ending(path)
    remedy = _REMEDIES.get(kind)
    if remedy is None:
        return None
    message = f"{kind} is a format that shardkit does not read; {remedy}, or move it away"
    return RecordProblem(encodable_path(path), UNSUPPORTED_FORMAT, message)


# Adds the facts of a key to a row; raises BadRecord.
Complete = Callable[[ListingRow], ListingRow]


@dataclass(frozen=True, slots=True)
class Context:
    """What a part is listed with."""

    folder: Folder  # the folder that keys start at
    skipped: dict[str, int]  # counts of what is left out
    complete: Complete = lambda row: row  # adds the facts of a key

    def skip(self, kind: str) -> None:
        count_skipped(self.skipped, kind)


# Rows with the number of their record in a table in place of their objects, and the table; None for other rows.
RowsOfTable = tuple[Iterable[ListingRow], RecordTable | None]


class Driver(abc.ABC):
    """What enumerates examples. Instances are small and are pickled."""

    __slots__ = ()
    names_images: ClassVar[bool] = True  # whether its records name the images, so that others may be in the folders

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        """Columns that its rows have besides LISTING_SCHEMA."""
        return ()

    @property
    def classes(self) -> tuple[str, ...] | None:
        """Class names in label order, if its files define them."""
        return None

    @property
    def used(self) -> tuple[str, ...]:
        """Globs of its files, besides the images."""
        return ()

    def describe(self) -> str:
        """Return a phrase for the user that says how its files are read; '' for nothing."""
        return ""

    @abc.abstractmethod
    def parts(self, folder: Folder) -> Sequence[Any]:
        """Return the parts that are listed in parallel."""

    @abc.abstractmethod
    def rows(self, context: Context, part: Any) -> Iterator[ListingRow]:
        """Yield the rows of a part, with the facts of their keys; count what is left out."""

    def object_tables(self, context: Context, part: Any, num_rows: int) -> Iterator[RowsOfTable] | None:
        """Yield the rows of a part in tables of so many; None if `rows` gives them."""
        return None

    def keys(self, folder: Folder) -> Iterator[str]:
        return iter(())

    def unnamed(self, context: Context, mode: Unnamed) -> Iterator[ListingRow] | None:
        """Yield the rows of the images that neither its records name nor its parts list; None to compare all `keys`."""
        return None

    def unnamed_row(
        self, context: Context, key: str, entry: Entry, which: str = "no record names"
    ) -> Iterator[ListingRow]:
        """Yield the row of such an image, if it has one; `which` says that no record names it, before the object."""
        message = f"{which} it; add a record for it, or leave it out with {named('ignore')}"
        yield ListingRow(key, None, None, entry.num_bytes, entry.mtime_ns, NO_LABEL, message)

    def listed_folders(self, part: Any) -> Sequence[str]:
        return ()

    def sliceable_folder(self, part: Any) -> str | None:
        return None

    def divided(self, part: Any) -> Sequence[Any]:
        return [part]


@dataclass(frozen=True, slots=True)
class RestPart:
    """The part of the images that no record names, and of the files that nothing explains."""


@dataclass(frozen=True, slots=True)
class TreePart:
    """A folder of images; with `recursive`, all below it."""

    path: str
    recursive: bool


@dataclass(frozen=True, slots=True)
class TreeDriver(Driver):
    """Lists the images of folders."""

    depth: int = 1  # number of levels of folders that are parts: those that facts are taken from
    excluded: str | None = None  # path that is not listed, because it is the output; None for none
    # Whether the folders of the last level are labels: those without an image are counted, and pictures next to them in
    # formats that are not read are counted, not rejected
    are_labels: bool = True
    explained: tuple[str, ...] = ()  # globs of the files that facts come from, below the source
    root: str = ""  # folder below the source that paths start at
    is_strict: bool = False  # whether other files are counted as not explained

    names_images = False

    def parts(self, folder: Folder) -> list[TreePart]:
        """See Driver; the folders at `depth`, and those above for the images next to them."""
        return list(self._parts(folder, "", 0))

    def _parts(self, folder: Folder, path: str, depth: int) -> Iterator[TreePart]:
        if depth == self.depth:
            yield TreePart(path, recursive=True)
            return
        for entry in children(folder, path):
            inner = join(path, entry.name)
            if entry.is_folder and inner != self.excluded and not is_dataset(folder, inner):
                yield from self._parts(folder, inner, depth + 1)
        yield TreePart(path, recursive=False)

    def listed_folders(self, part: TreePart) -> tuple[str]:
        return (part.path,)

    def sliceable_folder(self, part: TreePart) -> str:
        return part.path

    def rows(self, context: Context, part: TreePart) -> Iterator[ListingRow]:

        def row(path: str, entry: Entry) -> ListingRow:
            return context.complete(ListingRow(path, None, None, entry.num_bytes, entry.mtime_ns))

        left_out = () if self.excluded is None else (self.excluded,)
        files = files_below(context.folder, part.path, left_out, recursive=part.recursive)
        if self.explained or self.is_strict:
            files = self._accounted(files, context.skipped)
        is_empty = True
        rejects_others = part.recursive or not self.are_labels
        for one in image_rows(files, row, context.skipped, rejects_others=rejects_others):
            is_empty = False
            yield one
        if is_empty and part.recursive and self.are_labels:
            context.skip(f"label folder {printable(part.path)}/ without an image")

    def _accounted(self, files: Iterator[tuple[str, Entry]], skipped: dict[str, int]) -> Iterator[tuple[str, Entry]]:
        accounting = Accounting(self.explained, self.root)
        for path, entry in files:
            if is_image(path):
                yield path, entry
            elif not accounting.is_used(path):
                if self.is_strict:
                    accounting.count(path, skipped)
                yield path, entry


def image_rows(
    files: Iterable[tuple[str, Entry]],
    row: Callable[[str, Entry], ListingRow],
    skipped: dict[str, int],
    *,
    rejects_others: bool = True,
) -> Iterator[ListingRow]:
    """Yield the rows of images, and of pictures in a format that is not read; count the other files.

    Videos are counted next to at least as many images; else they are rejected, so that no class of videos vanishes.
    With `rejects_others`, pictures in other formats are rejected, not counted, unless an image next to them has their
    name: they are what it was made from (1.CR2, 1.jpg, 1.psd).
    """
    videos: list[tuple[RecordProblem, Entry]] = []
    num_images = 0
    for _, of_name in groupby(files, key=lambda one: posixpath.splitext(one[0])[0]):
        some = [*of_name]
        num = sum(is_image(entry.name) for _, entry in some)
        num_images += num
        for path, entry in some:
            kind, is_read = ending(entry.name), is_image(entry.name)
            problem = unicode_problem(path) if is_read else unsupported_format(path) if rejects_others else None
            if problem is not None and not is_read and num:
                count_skipped(skipped, f"of the same name as an image ({kind})")
            elif problem is not None and kind in _VIDEO:
                videos.append((problem, entry))
            elif problem is not None:
                yield rejected_row(problem, None, entry)
            elif not is_read:
                count_skipped(skipped, kind)
            else:
                try:
                    yield row(path, entry)
                except BadRecord as error:
                    yield rejected_row(RecordProblem(path, error.reason, str(error)), None, entry)
    for problem, entry in videos:
        if len(videos) <= num_images:
            count_skipped(skipped, ending(entry.name))
        else:
            yield rejected_row(problem, None, entry)
