"""Label Studio's exports JSON and JSON-MIN: rectangles, ellipses and polygons as boxes, or choices as classes.

An export with boxes is read as boxes; ``label_columns=CONTROL`` reads the choices of a control instead. The box of an
ellipse, a polygon or a turned rectangle encloses it. The export has no images: they are searched near the file, by the
path at the end of their URL, and without the digits that Label Studio adds to the names of uploaded files.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import printable
from shardkit.options.call import Change
from shardkit.refusals import RefusalError
from shardkit.reject_reasons import BAD_ANNOTATION, BAD_LABEL, NO_LABEL
from shardkit.sources.columns import LABEL_NAMES, LINE, LISTING_SCHEMA, MAX_OBJECTS, UNMEASURED
from shardkit.sources.context import Opening
from shardkit.sources.detection.annotation_files import ImageRecords, read_records
from shardkit.sources.detection.label_studio.export import (
    Export,
    choices_by,
    find_exports,
    is_export,
    open_export,
    read_tasks,
)
from shardkit.sources.detection.rows import annotated_rows, detection_schema, image_row
from shardkit.sources.formats.label_studio import Task, has_box, image_path, is_region, is_turned, read_regions
from shardkit.sources.listing import BadRecord, ListingRow, RecordProblem, count_skipped, encodable_path, rejected_row
from shardkit.sources.unlisted_images import count_unnamed, images_count
from shardkit.sources.walking import join
from shardkit.storage import Folder

__all__ = ["LabelStudio", "has_label_studio", "is_export", "open_label_studio"]


@dataclass(frozen=True, slots=True)
class LabelStudio(ImageRecords[Export, Task]):
    """An export of Label Studio.

    Attributes:
        folder: The folder that keys start at.
        files_folder: The folder of the export.
        files: The export.
    """

    folder: Folder
    files_folder: Folder
    files: tuple[Export]

    layout = LAYOUTS["label-studio"].title
    record_noun = "task"

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        [export] = self.files
        if export.control is None:
            return pa.schema([*detection_schema(()), LINE])
        return pa.schema([*LISTING_SCHEMA, *([LABEL_NAMES] if export.has_several else []), LINE])

    def describe(self) -> str:
        """See Source."""
        [export] = self.files
        what = "regions as boxes" if export.control is None else f"the choices of {export.control!r} as classes"
        remark = ", names without the digits of uploads" if export.without_prefix else ""
        images = join(self.folder.url, export.paths.place)
        return (
            f"{self.files_folder.url}: read {what} from {printable(export.path)}, with the images in {images}"
            f"{export.paths.remark()}{remark}"
        )

    def records(self, file: Export) -> Iterator[Task]:
        """See ImageRecords."""
        return read_records(self.files_folder, file.path, read_tasks)

    def key(self, file: Export, record: Task) -> str:
        """See ImageRecords."""
        if not record.is_task:
            raise BadRecord(BAD_ANNOTATION, "it is not a task of Label Studio")
        return file.paths.key(image_path(record.image, without_prefix=file.without_prefix))

    def count_unlisted(self) -> dict[str, int]:
        """See CountingSource; images next to those that the export names."""
        [export] = self.files
        return images_count(
            count_unnamed(self.folder, self.keys(export)), f"that {printable(export.path)} does not name"
        )

    def image_rows(self, file: Export, record: Task, skipped: dict[str, int]) -> Iterator[ListingRow]:
        """See ImageRecords; a task that nobody annotated gives none."""
        if not record.is_annotated:
            count_skipped(skipped, "tasks that nobody annotated")
            return
        if record.num_others:
            count_skipped(skipped, "further annotations of a task", record.num_others)
        yield from ImageRecords.image_rows(self, file, record, skipped)

    def record_rows(self, file: Export, record: Task, key: str, skipped: dict[str, int]) -> Iterator[ListingRow]:
        """See ImageRecords."""
        name = f"{encodable_path(file.path)}, task {record.number}"
        if file.control is not None:
            yield _class_row(file, record, key, name)
            return
        regions = [result for result in record.results if is_region(result.value)]
        with_box = [result for result in regions if has_box(result.value)]
        if len(with_box) < len(regions):
            count_skipped(skipped, "regions without box (brushes, key points)", len(regions) - len(with_box))
        message = ""
        if len(with_box) > MAX_OBJECTS:
            message = f"{name} has {len(with_box):,} regions, more than {MAX_OBJECTS:,}; split the image into tiles"
        elif is_turned(with_box):
            message = f"{name}: the image was turned in Label Studio; turn the file itself, and label it again"
        if message:
            problem = RecordProblem(key, BAD_ANNOTATION, message)
            yield rejected_row(problem, None)._replace(extra=(None, None, None, record.number))
            return
        found = read_regions(with_box, f"task {record.number}")
        row = image_row(key, None, None, found.objects, found.size, record.number)
        yield from annotated_rows(row, found, file.path, skipped)


def _class_row(file: Export, task: Task, key: str, name: str) -> ListingRow:
    labels = choices_by(task, file.control)
    if file.has_several:
        return ListingRow(key, None, None, UNMEASURED, 0, extra=(labels, task.number))
    if len(labels) == 1:
        return ListingRow(key, None, labels[0], UNMEASURED, 0, extra=(task.number,))
    message = f"{name} has {len(labels) or 'no'} choices of {file.control!r}; choose one"
    problem = RecordProblem(key, BAD_LABEL if labels else NO_LABEL, message)
    return rejected_row(problem, None)._replace(extra=(task.number,))


def has_label_studio(folder: Folder) -> bool:
    """Return whether a folder has a JSON export of Label Studio."""
    return bool(find_exports(folder))


def open_label_studio(opening: Opening) -> LabelStudio:
    """Find the export and its images; see open_export for the options.

    Raises:
        DataError: There is no export, or it cannot be read.
        CallError: There are several exports, or several controls have choices.
    """
    folder, path = opening.folder, opening.file
    found = [path] if path is not None else find_exports(folder)
    if path is not None and not is_export(folder, path):
        msg = f"{folder.url}/{path}: the file is not an export 'JSON' or 'JSON-MIN' of Label Studio"
        raise DataError(msg)
    if not found:
        msg = f"{folder.url}: there is no JSON export of Label Studio; searched for *.json"
        raise DataError(msg)
    if len(found) > 1:
        commands = [Change(f"the tasks of {name}", sources=(f"{folder.url}/{name}",)) for name in found]
        raise RefusalError(f"{folder.url}: {len(found)} exports of Label Studio may be the source", commands)
    root, export = open_export(folder, found[0], opening.options, may_leave=path is not None)
    return LabelStudio(root, folder, (export,))
