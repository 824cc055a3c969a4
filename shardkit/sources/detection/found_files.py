"""Read files of annotations that a layout has found: as a reading, which the engine executes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO, TypeVar

from shardkit.sources.context import Opening
from shardkit.sources.detection.image_paths import ImagePaths
from shardkit.sources.engine.opening import open_reading
from shardkit.sources.engine.source import ReadingSource
from shardkit.sources.readings.values import Annotation, Images, Labels, Listed, Reading
from shardkit.storage import Folder, os_errors_as

T = TypeVar("T")


def read_records(folder: Folder, path: str, read: Callable[[BinaryIO, str], Iterable[T]]) -> Iterator[T]:
    """Yield what a function reads from an open file, whose URL it is told for messages.

    Raises:
        MachineError: The disk or the network failed.
    """
    url = f"{folder.url}/{path}"
    with os_errors_as("read", url), folder.open(path) as file:
        yield from read(file, url)


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file, how its paths become keys, and the split in its name; None for none."""

    path: str
    paths: ImagePaths
    split: str | None = None


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
        remark: What the user should know besides, beginning with ';'.
    """
    paths = files[0].paths
    given = dict(options)
    given |= {"drop": str(paths.num_dropped)} if paths.num_dropped else {}
    given |= {"ending": paths.ending} if paths.ending else {}
    given |= {"field": field} if field is not None else {}
    by_name = any(file.paths.by_name for file in files)
    bases = {file.path: file.paths.place for file in files if file.paths.place != paths.place}
    origin = Annotation(
        name,
        tuple(file.path for file in files),
        paths.place,
        {} if by_name else bases,
        None if by_name else "path",
        options=given,
    )
    splits = {file.path: file.split for file in files if file.split is not None}
    reading = Reading(
        images=Images(root="" if root.url == opening.folder.url else root.url),
        label=None if field is None else Labels(origin, kind="classes" if has_several else None),
        boxes=origin if field is None else None,
        split=Listed(splits) if splits else origin if gives_splits else None,
        without_annotation=opening.options.without_annotation or "reject",
    )
    return open_reading(opening, reading, name=title, is_strict=False, remark=remark)
