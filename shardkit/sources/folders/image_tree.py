"""Trees of image files: what the layouts that read every image of a folder have in common."""

import abc
import posixpath
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from shardkit.naming import IMAGE_ENDINGS
from shardkit.sources.folders.unsupported_formats import is_video, unsupported_format
from shardkit.sources.listing import (
    BadRecord,
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
from shardkit.sources.unlisted_images import count_unlisted_images
from shardkit.sources.walking import children, files_below, folders_in, is_dataset
from shardkit.storage import Entry, Folder

WITHOUT_LABELS = "which has no labels"  # how the images of a folder that is left out are counted


def image_rows(
    files: Iterable[tuple[str, Entry]],
    split: str | None,
    row: Callable[[str, Entry], ListingRow],
    skipped: dict[str, int],
    *,
    rejects_others: bool = True,
) -> Iterator[ListingRow]:
    """Yield the rows of images, and of pictures in a format that is not read; count the other files.

    Videos are counted next to at least as many images; else they are rejected, so that no class of videos vanishes.

    Args:
        files: Path and entry of each file, sorted by path in each folder.
        split: Split of the rejected rows.
        row: Function that returns the row of an image, or raises BadRecord.
        skipped: Counts of skipped files.
        rejects_others: Whether pictures in a format that is not read are rejected, not counted. Those of the same name
            as an image next to them are what it was made from (1.CR2, 1.jpg, 1.psd), and always counted.
    """
    waiting: list[tuple[str, RecordProblem, Entry]] = []  # files that the next image may be made from
    videos: list[tuple[str, RecordProblem, Entry]] = []
    num_images, last = 0, ""
    for path, entry in files:
        kind = ending(entry.name)
        is_image = kind in IMAGE_ENDINGS
        problem = unicode_problem(path) if is_image else unsupported_format(path) if rejects_others else None
        if problem is not None and not is_image:
            if _stem(path) == _stem(last):
                count_skipped(skipped, _original(kind))
            else:
                waiting.append((path, problem, entry))
            continue
        if is_image:
            num_images, last = num_images + 1, path
        if waiting:
            yield from _others(waiting, path if is_image else "", split, skipped, videos)
            waiting.clear()
        if problem is not None:
            yield rejected_row(problem, split, entry)
        elif not is_image:
            count_skipped(skipped, kind)
        else:
            try:
                yield row(path, entry)
            except BadRecord as error:
                yield rejected_row(RecordProblem(path, error.reason, str(error)), split, entry)
    yield from _others(waiting, "", split, skipped, videos)
    for path, problem, entry in videos:
        if len(videos) <= num_images:
            count_skipped(skipped, ending(path))
        else:
            yield rejected_row(problem, split, entry)


def _others(
    waiting: list[tuple[str, RecordProblem, Entry]],
    image: str,
    split: str | None,
    skipped: dict[str, int],
    videos: list[tuple[str, RecordProblem, Entry]],
) -> Iterator[ListingRow]:
    """Yield the rows of files in formats that are not read; count those that have the name of the image behind them.

    Videos are added to `videos`.
    """
    for path, problem, entry in waiting:
        if _stem(path) == _stem(image):
            count_skipped(skipped, _original(ending(path)))
        elif is_video(path):
            videos.append((path, problem, entry))
        else:
            yield rejected_row(problem, split, entry)


def _stem(path: str) -> str:
    return posixpath.splitext(path)[0]


def _original(kind: str) -> str:
    return f"of the same name as an image ({kind})"


@dataclass(frozen=True, slots=True)
class ImageTree(Source):
    """A tree of images in which the first folders may give the splits.

    Attributes:
        folder: Root of the source.
        folder_splits: Names of the source's folders that are splits, and these splits.
        excluded: Path below the root that is not listed, because it is the output; None for none.
        left_out: Folders whose images have no labels: they are counted, not listed.
    """

    folder: Folder
    folder_splits: tuple[tuple[str, str], ...]
    excluded: str | None
    left_out: tuple[str, ...] = ()

    @abc.abstractmethod
    def row(self, path: str, entry: Entry, split: str | None) -> ListingRow:
        """Return the row of an image.

        Args:
            path: Its path.
            entry: Its file.
            split: The split of its first folder.

        Raises:
            BadRecord: It gives no example.
        """

    @property
    def label_files(self) -> tuple[str, ...]:
        """See Source."""
        return ()

    @property
    def takes_splits(self) -> bool:
        """See Source."""
        return not self.folder_splits

    def parts(self) -> list[str]:
        """Return the source's folders, and '' for the files next to them."""
        return [*tree_folders(self.folder, self.excluded), ""]

    def listed_folders(self, part: str) -> tuple[str]:
        """See Source."""
        return (part,)

    def sliceable_folder(self, part: str) -> str | None:
        """See Source; the part '' also counts the images of `left_out`, which must happen once."""
        return part if part or not self.left_out else None

    def list_part(self, part: str, batch_rows: int) -> Iterator[Listing]:
        """See Source; files sorted by name, folder by folder."""
        skipped: dict[str, int] = {}
        if not part and self.left_out:
            covered = () if self.excluded is None else (self.excluded,)
            skipped = count_unlisted_images(self.folder, WITHOUT_LABELS, below=self.left_out, covered=covered)
        split = dict(self.folder_splits).get(part)
        rows = image_rows(self._files(part), split, lambda path, entry: self.row(path, entry, split), skipped)
        yield from batched(self.schema, rows, batch_rows, skipped)

    def _files(self, part: str) -> Iterator[tuple[str, Entry]]:
        if part:
            left_out = {path for path in (self.excluded, *self.left_out) if path is not None}
            return files_below(self.folder, part, left_out)
        return ((entry.name, entry) for entry in children(self.folder) if not entry.is_folder)


def tree_folders(folder: Folder, excluded: str | None) -> list[str]:
    """Return the names of the folders of a tree, without the output and datasets that were written into it."""
    return [name for name in folders_in(folder) if name != excluded and not is_dataset(folder, name)]
