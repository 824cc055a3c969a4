"""The layout `list`: text files name the images, with their labels and splits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from shardkit.naming import printable
from shardkit.reject_reasons import NO_SPLIT
from shardkit.sources.claims.claim import UsedFile
from shardkit.sources.columns import LABEL_NAMES, LINE, LISTING_SCHEMA, UNMEASURED
from shardkit.sources.listing import ListingRow, RecordProblem, encodable_path, unicode_problem
from shardkit.sources.lists.records import ListRecord, RecordReader
from shardkit.sources.unlisted_images import (
    CountingSource,
    NamedImages,
    SharedImages,
    UnlistedImages,
    count_unlisted_images,
)
from shardkit.storage import Folder

_UNLISTED = "that no list names"


@dataclass(frozen=True, slots=True)
class ImageLists(CountingSource):
    """Images that lists name, or that lie in class folders next to lists.

    Attributes:
        folder: The folder that keys start at.
        name: Name of the layout.
        remark: How it is read, as a phrase.
        readers: Readers of the records; each is listed as a part.
        several_labels: Whether an image has several classes.
        class_names: Class names in label order; None to sort the names found.
        excluded: Path below the folder that is not listed, because it is the output; None for none.
        unlisted: End of the phrase that counts the images that no reader names.
        covered: Folders of masks and the like, which are not counted.
    """

    folder: Folder
    name: str
    remark: str
    readers: tuple[RecordReader, ...]
    several_labels: bool = False
    class_names: tuple[str, ...] | None = None
    excluded: str | None = None
    unlisted: str = _UNLISTED
    covered: tuple[str, ...] = ()

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        return pa.schema([*LISTING_SCHEMA, LINE, *([LABEL_NAMES] if self.several_labels else [])])

    @property
    def classes(self) -> tuple[str, ...] | None:
        """See Source."""
        return self.class_names

    @property
    def layout(self) -> str:
        """See Source."""
        return self.name

    @property
    def label_files(self) -> tuple[str, ...] | None:
        """See Source."""
        urls = [one.url for one in self.readers]
        return None if None in urls else tuple(filter(None, urls))

    @property
    def used_files(self) -> tuple[UsedFile, ...]:
        """See Source."""
        return tuple(UsedFile(one.path, "labels") for one in self.readers if one.own_folder is None)

    @property
    def takes_splits(self) -> bool:
        """See Source."""
        return not any(one.gives_splits for one in self.readers)

    def describe(self) -> str:
        """See Source."""
        return f"{self.folder.url}: read as {self.name}: {self.remark}"

    def parts(self) -> Sequence[int | UnlistedImages]:
        """Return one part for each reader, and one for the images that no reader names."""
        return [*range(len(self.readers)), UnlistedImages()]

    def listed_folders(self, part: int | UnlistedImages) -> tuple[str, ...]:
        """See Source."""
        own = None if isinstance(part, UnlistedImages) else self.readers[part].own_folder
        return () if own is None else (own,)

    def rows(self, part: int, skipped: dict[str, int]) -> Iterator[ListingRow]:
        """See CountingSource; records in the order of their list. Does not look up whether named images exist.

        Memory grows with the number of images that lists name, by eight bytes each.
        """
        reader = self.readers[part]
        lists = [one for one in self.readers if one.own_folder is None]
        named = [NamedImages(one.keys(self.folder)) for one in lists] if reader in lists and len(lists) > 1 else []
        shared = SharedImages(named)
        for record in reader.records(self.folder, skipped):
            if record.key is not None and self._is_excluded(record.key):
                continue
            if record.key is None or record.key not in shared:
                yield self._row(record)
                continue
            paths = [one.path for one, keys in zip(lists, named, strict=True) if record.key in keys]
            if reader.path == paths[0]:  # one row for all of them
                message = f"it is in two splits: {' and '.join(map(printable, paths))}; leave it in one"
                problem = RecordProblem(record.key, NO_SPLIT, message)
                yield self._row(record._replace(split=None, problem=problem))

    def _row(self, record: ListRecord) -> ListingRow:
        key, split, labels, place, line, problem, entry = record
        num_bytes, mtime_ns = (entry.num_bytes, entry.mtime_ns) if entry else (UNMEASURED, 0)
        bad_name = unicode_problem(key) if key is not None else None
        reason = message = None
        if problem or bad_name:
            key, reason, message = problem or bad_name  # type: ignore[misc]
            key, message = encodable_path(key), encodable_path(message)
        if reason is not None:
            # Measured as 0, or the check would look the file up and report that instead.
            return ListingRow(key or place, split, None, 0, 0, reason, message, (line,) + (None,) * self.several_labels)
        extra = (line, list(labels)) if self.several_labels else (line,)
        label = None if self.several_labels else labels[0]
        return ListingRow(key or place, split, label, num_bytes, mtime_ns, extra=extra)

    def count_unlisted(self) -> dict[str, int]:
        """See CountingSource."""
        covered = {own for one in self.readers if (own := one.own_folder) is not None} | {*self.covered}
        if self.excluded is not None:
            covered.add(self.excluded)
        named = NamedImages(key for one in self.readers if one.own_folder is None for key in one.keys(self.folder))
        return count_unlisted_images(self.folder, self.unlisted, covered=covered, named=named)

    def _is_excluded(self, key: str) -> bool:
        return self.excluded is not None and key.startswith(f"{self.excluded}/")
