"""Trees of image files: what the layouts that read every image of a folder have in common."""

import posixpath
from collections.abc import Callable, Iterable, Iterator

from shardkit.naming import IMAGE_ENDINGS
from shardkit.sources.file_names import ending
from shardkit.sources.formats.unsupported_images import is_video, unsupported_format
from shardkit.sources.listing import BadRecord, ListingRow, RecordProblem, count_skipped, rejected_row, unicode_problem
from shardkit.storage import Entry


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
    With `rejects_others`, pictures in other formats are rejected, not counted, unless an image next to them has their
    name: they are what it was made from (1.CR2, 1.jpg, 1.psd).
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
