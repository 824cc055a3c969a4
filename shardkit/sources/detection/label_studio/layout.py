"""Label Studio's exports JSON and JSON-MIN: rectangles, ellipses and polygons as boxes, or choices as classes.

An export with boxes is read as boxes; ``--label-column CONTROL`` reads the choices of a control instead. The box of an
ellipse, a polygon or a turned rectangle encloses it. The export has no images: they are searched near the file, by the
path at the end of their URL, and without the digits that Label Studio adds to the names of uploaded files.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.naming import printable
from shardkit.reject_reasons import BAD_ANNOTATION, BAD_LABEL, NO_LABEL
from shardkit.sources.commands import Command, refusal
from shardkit.sources.detection.label_studio.export import (
    Export,
    choices_by,
    find_exports,
    is_export,
    open_export,
    read_tasks,
)
from shardkit.sources.detection.label_studio.regions import (
    has_box,
    image_size,
    is_region,
    is_turned,
    read_regions,
)
from shardkit.sources.detection.label_studio.tasks import Task
from shardkit.sources.detection.rows import detection_schema, image_row
from shardkit.sources.listing import (
    LABEL_NAMES,
    LINE,
    LISTING_SCHEMA,
    MAX_OBJECTS,
    UNMEASURED,
    BadRecord,
    Listing,
    ListingRow,
    RecordProblem,
    Source,
    batched,
    count_skipped,
    encodable_path,
    rejected_row,
)
from shardkit.sources.options import SourceOptions
from shardkit.sources.tables.unlisted import count_unlisted
from shardkit.sources.unlisted_images import UnlistedImages
from shardkit.sources.walking import join
from shardkit.storage import Entry, Folder, os_errors_as

__all__ = ["LabelStudio", "has_label_studio", "is_export", "open_label_studio"]

_UNANNOTATED = "tasks that nobody annotated"
_OTHERS = "further annotations of a task"
_WITHOUT_BOX = "regions without box (brushes, key points)"


@dataclass(frozen=True, slots=True)
class LabelStudio(Source):
    """An export of Label Studio.

    Attributes:
        folder: The folder that keys start at.
        files_folder: The folder of the export.
        export: The export.
    """

    folder: Folder
    files_folder: Folder
    export: Export

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        if self.export.control is None:
            return pa.schema([*detection_schema(()), LINE])
        return pa.schema([*LISTING_SCHEMA, *([LABEL_NAMES] if self.export.has_several else []), LINE])

    @property
    def layout(self) -> str:
        """See Source."""
        return "Label Studio"

    def describe(self) -> str:
        """See Source."""
        control = self.export.control
        what = "regions as boxes" if control is None else f"the choices of {control!r} as classes"
        remark = ", names without the digits of uploads" if self.export.without_prefix else ""
        images = join(self.folder.url, self.export.paths.place)
        return (
            f"{self.files_folder.url}: read {what} from {printable(self.export.path)}, with the images in {images}"
            f"{self.export.paths.remark()}{remark}"
        )

    def parts(self) -> list[bool | UnlistedImages]:
        """Return one part for the export, and one for the images that it does not name."""
        return [UnlistedImages(), True]

    def list_part(self, part: bool | UnlistedImages, batch_rows: int) -> Iterator[Listing]:  # noqa: FBT001
        """See Source; in the file's order."""
        skipped: dict[str, int] = {}
        if isinstance(part, UnlistedImages):
            if count := count_unlisted(self.folder, self._keys()):
                skipped[f"{'image' if count == 1 else 'images'} that {printable(self.export.path)} does not name"] = (
                    count
                )
            yield from batched(self.schema, (), batch_rows, skipped)
            return
        rows = (row for task in self._tasks() for row in self._rows(task, skipped))
        yield from batched(self.schema, rows, batch_rows, skipped)

    def _tasks(self) -> Iterator[Task | int]:
        url = f"{self.files_folder.url}/{self.export.path}"
        with os_errors_as("read", url), self.files_folder.open(self.export.path) as file:
            yield from read_tasks(file, url)

    def _keys(self) -> Iterator[str]:
        for task in self._tasks():
            if isinstance(task, Task):
                try:
                    yield self.export.key(task)
                except BadRecord:
                    continue

    def _rows(self, task: Task | int, skipped: dict[str, int]) -> Iterator[ListingRow]:
        number = task if isinstance(task, int) else task.number
        name = f"{encodable_path(self.export.path)}, task {number}"
        if isinstance(task, int):
            yield rejected_row(RecordProblem(name, BAD_ANNOTATION, "it is not a task of Label Studio"), None)
            return
        if not task.is_annotated:
            count_skipped(skipped, _UNANNOTATED)
            return
        if task.num_others:
            count_skipped(skipped, _OTHERS, task.num_others)
        try:
            key = self.export.key(task)
        except BadRecord as error:
            yield rejected_row(RecordProblem(name, error.reason, str(error)), None)
            return
        if self.export.control is None:
            yield from self._boxes(task, key, name, skipped)
        else:
            yield self._class(task, key, name, self.export.control)

    def _boxes(self, task: Task, key: str, name: str, skipped: dict[str, int]) -> Iterator[ListingRow]:
        regions = [result for result in task.results if is_region(result.value)]
        with_box = [result for result in regions if has_box(result.value)]
        if len(with_box) < len(regions):
            count_skipped(skipped, _WITHOUT_BOX, len(regions) - len(with_box))
        message = ""
        if len(with_box) > MAX_OBJECTS:
            message = f"{name} has {len(with_box):,} regions, more than {MAX_OBJECTS:,}; split the image into tiles"
        elif is_turned(with_box):
            message = f"{name}: the image was turned in Label Studio; turn the file itself, and label it again"
        if message:
            problem = RecordProblem(key, BAD_ANNOTATION, message)
            yield rejected_row(problem, None)._replace(extra=(None, None, None, task.number))
            return
        size = image_size(with_box)
        found = list(read_regions(with_box, size, name))
        objects = [one for one in found if isinstance(one, dict)]
        row = image_row(key, None, Entry(key, is_folder=False, num_bytes=UNMEASURED, mtime_ns=0), objects, size)
        yield row._replace(extra=(*row.extra, task.number))
        for one in found:
            if isinstance(one, RecordProblem):
                yield rejected_row(one._replace(message=f"{one.message}; the image is kept"), None)

    def _class(self, task: Task, key: str, name: str, control: str) -> ListingRow:
        labels = choices_by(task, control)
        if self.export.has_several:
            return ListingRow(key, None, None, UNMEASURED, 0, extra=(labels, task.number))
        if len(labels) == 1:
            return ListingRow(key, None, labels[0], UNMEASURED, 0, extra=(task.number,))
        message = f"{name} has {len(labels) or 'no'} choices of {control!r}; choose one"
        problem = RecordProblem(key, BAD_LABEL if labels else NO_LABEL, message)
        return rejected_row(problem, None)._replace(extra=(task.number,))


def has_label_studio(folder: Folder) -> bool:
    """Return whether a folder has a JSON export of Label Studio."""
    return bool(find_exports(folder))


def open_label_studio(folder: Folder, options: SourceOptions, path: str | None = None) -> LabelStudio:
    """Find the export and its images.

    Args:
        folder: The source, or the folder of the file that is the source.
        options: Options of the source; see open_export.
        path: Path of the file that is the source.

    Raises:
        DataError: There is no export, or it cannot be read.
        CallError: There are several exports, or several controls have choices.
    """
    found = [path] if path is not None else find_exports(folder)
    if path is not None and not is_export(folder, path):
        msg = f"{folder.url}/{path}: the file is not an export 'JSON' or 'JSON-MIN' of Label Studio"
        raise DataError(msg)
    if not found:
        msg = f"{folder.url}: there is no JSON export of Label Studio; searched for *.json"
        raise DataError(msg)
    if len(found) > 1:
        commands = [Command(f"{folder.url}/{name}", (), f"the tasks of {name}") for name in found]
        raise refusal(f"{folder.url}: {len(found)} exports of Label Studio may be the source", commands)
    root, export = open_export(folder, found[0], options, may_leave=path is not None)
    return LabelStudio(root, folder, export)
