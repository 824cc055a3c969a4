"""Images without labels: any tree of folders, for self-supervised training and for prediction.

Folders give the splits if their names mean splits; every other folder is just a part of the key.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from shardkit.errors import CallError
from shardkit.layouts import LAYOUTS
from shardkit.naming import IMAGE_ENDINGS
from shardkit.reject_reasons import BAD_SPLIT
from shardkit.sources.context import Opening
from shardkit.sources.folders.split_folders import is_unlabelled, splits_of
from shardkit.sources.folders.unsupported_formats import unsupported_format
from shardkit.sources.listing import (
    LISTING_SCHEMA,
    UNLABELLED,
    Listing,
    ListingRow,
    RecordProblem,
    Source,
    batched,
    count_skipped,
    ending,
    rejected_row,
    unicode_problem,
)
from shardkit.sources.walking import children, files_below, folders_in, is_dataset
from shardkit.storage import Entry, Folder

_SCHEMA = pa.schema([*LISTING_SCHEMA, UNLABELLED])
_OF_UNLABELLED = "unlabelled"  # the split of unlabeled_images/ next to train_images/


@dataclass(frozen=True, slots=True)
class UnlabelledImages(Source):
    """A tree of images without labels.

    Attributes:
        folder: Root of the source.
        folder_splits: Names of the source's folders that are splits, and these splits.
        excluded: Path below the root that is not listed, because it is the output; None for none.
    """

    folder: Folder
    folder_splits: tuple[tuple[str, str], ...]
    excluded: str | None

    schema = _SCHEMA

    layout = LAYOUTS["unlabelled"].title

    def describe(self) -> str:
        """See Source."""
        splits = ", the split from the first folder" if self.folder_splits else ""
        return f"{self.folder.url}: read as {self.layout}{splits}"

    def parts(self) -> list[str]:
        """Return the source's folders, and '' for the files next to them."""
        return [*_folders(self.folder, self.excluded), ""]

    def listed_folders(self, part: str) -> tuple[str]:
        """See Source."""
        return (part,)

    def sliceable_folder(self, part: str) -> str:
        """See Source."""
        return part

    def list_part(self, part: str, batch_rows: int) -> Iterator[Listing]:
        """See Source; files sorted by name, folder by folder."""
        skipped: dict[str, int] = {}
        yield from batched(_SCHEMA, self._rows(part, skipped), batch_rows, skipped)

    def _rows(self, part: str, skipped: dict[str, int]) -> Iterator[ListingRow]:
        split = dict(self.folder_splits).get(part)
        is_outside = bool(self.folder_splits) and split is None
        for path, entry in self._files(part):
            kind = ending(entry.name)
            if kind in IMAGE_ENDINGS:
                problem = unicode_problem(path)
                if problem is None and is_outside:
                    problem = RecordProblem(
                        path, BAD_SPLIT, "the image lies outside the split folders; move it into one"
                    )
            else:
                problem = unsupported_format(path)
                if problem is None:
                    count_skipped(skipped, kind)
                    continue
            if problem is not None:
                yield rejected_row(problem, split, entry)
            else:
                yield ListingRow(path, split, None, entry.num_bytes, entry.mtime_ns)

    def _files(self, part: str) -> Iterator[tuple[str, Entry]]:
        if not part:
            yield from ((entry.name, entry) for entry in children(self.folder) if not entry.is_folder)
            return
        left_out = () if self.excluded is None else (f"{self.excluded}/",)
        for path, entry in files_below(self.folder, part, (self.folder.resolve(""),)):
            if not path.startswith(left_out):
                yield path, entry


def open_unlabelled(opening: Opening) -> UnlabelledImages:
    """Open a tree of images without labels.

    Raises:
        CallError: Nothing is in the folder.
    """
    folder, excluded = opening.folder, opening.excluded
    names = _folders(folder, excluded)
    while len(names) == 1 and len(children(folder)) == 1 and not splits_of(names):
        opening = opening.below(names[0])
        folder, excluded = opening.folder, opening.excluded
        names = _folders(folder, excluded)
    if not names and not children(folder):
        msg = f"{folder.url}: the folder is empty; SOURCE is the folder that holds the images"
        raise CallError(msg)
    splits = splits_of(names)
    # One folder called "train" next to others may show trains.
    if len(splits) == 1 and any(name not in splits and not is_unlabelled(name) for name in names):
        splits = {}
    if splits:
        splits |= {name: _OF_UNLABELLED for name in names if name not in splits and is_unlabelled(name)}
    return UnlabelledImages(folder, tuple(splits.items()), excluded)


def _folders(folder: Folder, excluded: str | None) -> list[str]:
    return [name for name in folders_in(folder) if name != excluded and not is_dataset(folder, name)]
