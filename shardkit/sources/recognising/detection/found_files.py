"""Read files of annotations that a layout has found: as a reading, which the engine executes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO, TypeVar

from shardkit.options.values import Match
from shardkit.sources.context import Opening
from shardkit.sources.engine.opening import open_reading
from shardkit.sources.engine.path_rules import PathRule
from shardkit.sources.engine.source import ReadingSource
from shardkit.sources.formats.one_image import ImageFormat
from shardkit.sources.readings.values import Annotation, Images, Labels, Listed, Reading
from shardkit.sources.walking import files_in, join, read_head
from shardkit.storage import Folder, os_errors_as

T = TypeVar("T")
_TRIED = 8  # label files that are tested, because the first may be empty


def read_records(folder: Folder, path: str, read: Callable[[BinaryIO, str], Iterable[T]]) -> Iterator[T]:
    """Yield what a function reads from an open file, whose URL it is told for messages."""
    url = f"{folder.url}/{path}"
    with os_errors_as("read", url), folder.open(path) as file:
        yield from read(file, url)


def has_texts(folder: Folder, path: str, kind: ImageFormat) -> bool:
    """Return whether a folder has text files of a format, judging by the first one that is not empty."""
    heads = (read_head(folder, tried) or b"" for tried in files_in(folder, path, ".txt")[:_TRIED])
    return any(kind.sniff(head) for head in islice(filter(bytes.strip, heads), 1))


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file, how its paths become keys, the split in its name, and how the paths match; None for none."""

    path: str
    paths: PathRule
    split: str | None = None
    match: Match | None = "path"


def open_found_files(
    opening: Opening,
    root: Folder,
    name: str,
    title: str,
    files: Sequence[FoundFile],
    options: Mapping[str, str],
    *,
    field: str | None = None,
    has_several: bool = False,
    gives_splits: bool = False,
    gives_masks: bool = False,
    remark: str = "",
) -> ReadingSource:
    """Return the source of files of one format.

    Args:
        opening: What the user opens.
        root: The folder that keys start at.
        name: Name of the format.
        title: Name of the layout.
        files: The files.
        options: Settings of the format.
        field: What gives the classes of images; None for boxes.
        has_several: Whether an image may have several classes.
        gives_splits: Whether records give splits.
        gives_masks: Whether records give masks in place of boxes.
        remark: What the user should know besides, beginning with ';'.
    """
    paths = files[0].paths
    given = dict(options)
    given |= {"drop": str(paths.num_dropped)} if paths.num_dropped else {}
    given |= {"ending": paths.ending} if paths.ending else {}
    given |= {"field": field} if field is not None else {}
    by_name = any(file.paths.by_name for file in files)
    match: Match | None = None if by_name else next((file.match for file in files if file.match != "path"), "path")
    bases = {file.path: file.paths.place for file in files if file.paths.place != paths.place}
    origin = Annotation(
        name,
        tuple(file.path for file in files),
        paths.place,
        {} if by_name else bases,
        match,
        options=given,
    )
    splits = {file.path: file.split for file in files if file.split is not None}
    reading = Reading(
        images=Images("" if root.url == opening.folder.url else root.url, unnamed="near"),
        label=None if field is None else Labels(origin, kind="classes" if has_several else "class"),
        boxes=origin if field is None and not gives_masks else None,
        mask=origin if gives_masks else None,
        split=Listed(splits) if splits else origin if gives_splits else None,
        without_annotation=opening.options.without_annotation or "reject",
    )
    return open_reading(opening, reading, name=title, is_strict=False, remark=remark)


@dataclass(frozen=True, slots=True)
class FilesOfFolder:
    """Files with the paths of the images in a folder, and the split that its name gives; None for none."""

    glob: str
    images: str
    split: str | None = None


def open_image_files(
    opening: Opening,
    name: str,
    title: str,
    files: Sequence[FilesOfFolder] | Sequence[str],
    options: Mapping[str, str] | None = None,
    *,
    root: Folder | None = None,
    names: str = "",
    classes: Sequence[str] = (),
    lists: Listed | None = None,
    field: str | None = None,
    has_several: bool = False,
    remark: str = "",
) -> ReadingSource:
    """Return the source of files of one image each.

    Args:
        opening: What the user opens.
        name: Name of the format.
        title: Title of the layout.
        files: The files; globs if the image of each is in the nearest folder.
        options: Settings of the format.
        root: The folder of all files and images; None for that of the source.
        names: File with the names of classes.
        classes: Class names in label order.
        lists: Lists that name the examples.
        field: What gives the classes of images; None for boxes.
        has_several: Whether an image may have several classes.
        remark: What the user should know besides, beginning with ';'.
    """
    is_elsewhere = root is not None and root.url != opening.folder.url
    above = root.url if root is not None and is_elsewhere else ""
    of_folders = [one for one in files if isinstance(one, FilesOfFolder)]
    globs = tuple(join(above, one if isinstance(one, str) else one.glob) for one in files)
    given = dict(options or {}) | ({"field": field} if field is not None else {})
    first = of_folders[0].images if of_folders else ""
    bases = {glob: one.images for glob, one in zip(globs, of_folders, strict=False) if one.images != first}
    origin = Annotation(name, globs, first, bases, "path" if of_folders else "end", names=names, options=given)
    splits = {glob: one.split for glob, one in zip(globs, of_folders, strict=False) if one.split is not None}
    by_folders = origin if given.get("splits") == "folders" else None
    reading = Reading(
        images=Images(above, unnamed="ignore" if lists is not None else "near"),
        label=None if field is None else Labels(origin, kind="classes" if has_several else None),
        boxes=origin if field is None else None,
        split=lists or (Listed(splits) if splits else by_folders),
        classes=tuple(classes),
        without_annotation=opening.options.without_annotation or "reject",
    )
    return open_reading(opening, reading, name=title, is_strict=False, remark=remark)
