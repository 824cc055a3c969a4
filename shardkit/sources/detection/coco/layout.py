"""COCO: a JSON file of images, categories and annotations, and folders of images next to it.

The split comes from the name of the file or of its folder: ``annotations/instances_train2017.json`` is ``train``. Boxes
are (y, x, y + height, x + width) in pixels as written; the check compares them with the image later. Categories of the
same name are one class; classes are in the order of category ids, or of their names if files disagree in the ids.
Backslashes in ``file_name`` separate folders, and an absolute path is followed if it leads below the folder of the
images. An image without record is rejected if it is in a folder of images with records of one file; in other folders,
and in folders of several files, it is counted as skipped.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shardkit.layouts import LAYOUTS
from shardkit.options.values import Missing
from shardkit.reject_reasons import BAD_ANNOTATION, DUPLICATE_ID, MISSING
from shardkit.sources.claims.claim import UsedFile
from shardkit.sources.columns import LINE, MAX_OBJECTS
from shardkit.sources.context import Opening
from shardkit.sources.detection.coco.classes import (
    CLASSES_SCHEMA,
    SEVERAL_SCHEMA,
    Folders,
    Kind,
    choose_kind,
    class_rows,
    gives_several,
    ids_disagree,
    kind_of,
    refuse_kind,
    scanned,
)
from shardkit.sources.detection.coco.files import (
    AnnotationFiles,
    CocoFile,
    find_annotation_files,
    find_image_folders,
    image_columns,
    is_coco,
    is_within,
)
from shardkit.sources.detection.coco.moved_images import find_moved
from shardkit.sources.detection.coco.panoptic import open_panoptic
from shardkit.sources.detection.rows import detection_schema
from shardkit.sources.engine.unannotated import without_annotation
from shardkit.sources.formats.coco.columns import (
    CocoColumns,
    JoinedAnnotations,
    read_coco,
)
from shardkit.sources.formats.coco.records import OBJECT_FIELDS, objects_of
from shardkit.sources.listing import (
    Listing,
    ListingRow,
    RecordProblem,
    Source,
    batched,
    count_skipped,
    ending,
    rejected_row,
)
from shardkit.sources.unlisted_images import UnlistedImages, count_unlisted_images
from shardkit.sources.walking import folders_in, is_image, join, list_if_allowed, parent_of
from shardkit.storage import Entry, Folder, os_errors_as

__all__ = ["Coco", "is_coco", "open_coco"]

_UNLISTED = "that no annotation names"
_SCHEMA = pa.schema([*detection_schema(OBJECT_FIELDS), LINE])


@dataclass(frozen=True, slots=True)
class Coco(Source):
    """A source of COCO object annotations.

    Attributes:
        folder: The folder that image paths start at.
        files_folder: The folder that paths of annotation files start at.
        files: The annotation files.
        is_whole: Whether images that no file names are counted: if SOURCE is a folder and has the images below it.
        has_boxes: Whether annotations have boxes; else they are classes of whole images.
        has_ids: Whether category ids give the order of classes: the files agree in them.
        remark: What the user should know besides; '' for nothing.
        has_several: Whether images may have several classes.
        policy: What happens to images without record next to images with one.
    """

    folder: Folder
    files_folder: Folder
    files: tuple[CocoFile, ...]
    is_whole: bool
    has_boxes: bool
    has_ids: bool
    remark: str
    has_several: bool = False
    policy: Missing = "reject"

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        without_boxes = SEVERAL_SCHEMA if self.has_several else CLASSES_SCHEMA
        return _SCHEMA if self.has_boxes else without_boxes

    @property
    def layout(self) -> str:
        """See Source."""
        with_boxes, without, _ = LAYOUTS["coco"].titles
        return with_boxes if self.has_boxes else without

    @property
    def used_files(self) -> tuple[UsedFile, ...]:
        """See Source."""
        return tuple(UsedFile(file.path, "labels") for file in self.files)

    def describe(self) -> str:
        """See Source."""
        read = [
            f"{file.path} with the images in {join(self.folder.url, file.images)}"
            + (", found by the ends of their paths" if file.is_moved else "")
            + (f" as {file.split}" if file.split else "")
            for file in self.files
        ]
        return f"{self.files_folder.url}: read {'; '.join(read)}{self.remark}"

    def parts(self) -> list[CocoFile | UnlistedImages]:
        """Return one part for each annotation file, and one for the images that none names."""
        has_rest = self.is_whole or not all(file.owns_images for file in self.files)
        return [*self.files, *([UnlistedImages()] if has_rest else [])]

    def list_part(self, part: CocoFile | UnlistedImages, batch_rows: int) -> Iterator[Listing]:
        """See Source; images in the file's order, then bad records, then images without record."""
        if isinstance(part, UnlistedImages):
            counts: dict[str, int] = {}
            yield from batched(self.schema, self._unlisted(counts), batch_rows, counts)
            return
        url = f"{self.files_folder.url}/{part.path}"
        with os_errors_as("read", url), self.files_folder.open(part.path) as file:
            images_url = join(self.folder.url, part.images)
            columns = read_coco(file, url, part.path, images_url, has_boxes=self.has_boxes)
        if part.is_moved:
            find_moved(columns, self.folder, part.split)
        folders, inner = scanned(self.folder, part.images, columns.image_names)
        classes: dict[int, str] = {}
        for number, name in sorted(columns.categories.items()) if self.has_ids else ():
            if name not in classes.values():
                classes[number] = name
        # Joining finds further problems, so problems are listed last.
        joined = columns.joined()
        for start in range(0, len(columns.image_names), batch_rows):
            stop = min(start + batch_rows, len(columns.image_names))
            found = classes if start == 0 else {}
            if self.has_boxes:
                table = _images_table(columns, part, folders, range(start, stop), joined)
                yield Listing(_SCHEMA, classes=found, columns=table)
            else:
                numbers = range(start, stop)
                rows = list(class_rows(columns, part, folders, numbers, joined, has_several=self.has_several))
                yield Listing(self.schema, rows, classes=found)
        problems: Iterable[ListingRow] = (rejected_row(problem, part.split) for problem in columns.problems)
        skipped: dict[str, int] = {}
        if part.owns_images:
            problems = chain(problems, list(self._without_record(part, folders, columns.image_names, skipped)))
            if self.is_whole:
                covered = {join(part.images, path) for path in folders}
                below = [part.images, *inner]
                skipped |= count_unlisted_images(self.folder, _UNLISTED, below=below, covered=covered)
        yield from batched(self.schema, problems, batch_rows, skipped)

    def _unlisted(self, skipped: dict[str, int]) -> Iterator[ListingRow]:
        """Yield the images without record in folders of several files; count images outside of the files' folders."""
        named = set[str]()
        for file in self.files:
            if not file.owns_images:
                # Read again, because no other part knows what all of these files name.
                url = f"{self.files_folder.url}/{file.path}"
                with os_errors_as("read", url), self.files_folder.open(file.path) as opened:
                    columns = image_columns(opened, url, join(self.folder.url, file.images))
                if file.is_moved:
                    find_moved(columns, self.folder, file.split)
                named.update(join(file.images, name) for name in columns.image_names if name)
        covered = {file.images for file in self.files if file.owns_images}
        shared = {file.images for file in self.files if not file.owns_images}
        # The walk of an outer folder reaches the inner ones too.
        outer = [path for path in sorted(shared) if not any(is_within(path, other) for other in shared - {path})]
        places = {
            join(one, parent_of(name[len(one) :].lstrip("/")))
            for one in outer
            for name in named
            if is_within(name, one)
        }
        for place in sorted(places):
            for entry in list_if_allowed(self.folder, place):
                key = join(place, entry.name)
                if not entry.is_folder and is_image(entry.name) and key not in named:
                    yield from self._unnamed("no file names the image", key, None, entry, skipped)
        below = [""] if self.is_whole else outer
        below += [join(place, name) for place in places for name in folders_in(self.folder, place)]
        counts = count_unlisted_images(self.folder, _UNLISTED, below=below, covered=covered | places)
        for kind, count in counts.items():
            count_skipped(skipped, kind, count)

    def _unnamed(
        self, what: str, key: str, split: str | None, entry: Entry, skipped: dict[str, int]
    ) -> Iterator[ListingRow]:
        negative: tuple[Any, ...] = ([], None, None, None) if self.has_boxes else ([], None) if self.has_several else ()
        yield from without_annotation(self.policy, key, split, entry, f"{what}; add a record", skipped, negative)

    def _without_record(
        self, part: CocoFile, folders: Folders, names: Iterable[str], skipped: dict[str, int]
    ) -> Iterator[ListingRow]:
        """Yield rows of images without record next to images with one; count files that are not images."""
        named = set(names)
        for path, files in folders.items():
            for name, entry in files.items():
                below = join(part.images, path, name)
                if join(path, name) in named or below == part.path:
                    continue
                if is_image(name):
                    yield from self._unnamed(f"{part.path} does not name the image", below, part.split, entry, skipped)
                else:
                    count_skipped(skipped, ending(name))


def _images_table(
    columns: CocoColumns,
    part: CocoFile,
    folders: Folders,
    rows: range,
    joined: JoinedAnnotations,
) -> pa.Table:
    """Return the images of some rows as a table."""
    made, counts, chosen = list[ListingRow](), list[int](), list[npt.NDArray[np.int64]]()
    for i in rows:
        name = columns.image_names[i]
        if not name:
            continue  # reported when it was read
        entry = folders[parent_of(name)].get(name.rpartition("/")[2])
        key, extra = join(part.images, name), (None, *columns.image_sizes[i], columns.image_lines[i])
        num_objects = int(joined.starts[i + 1] - joined.starts[i])
        if entry is None:
            message = f"{part.path} names the image, but it is not there; restore it, or remove its record"
            row = rejected_row(RecordProblem(key, MISSING, message), part.split)
            num_objects = -1
        elif problem := columns.repeated_id(i):
            row = rejected_row(RecordProblem(key, DUPLICATE_ID, f"{part.path}: {problem}"), part.split, entry)
            num_objects = -1
        elif num_objects > MAX_OBJECTS:
            message = f"{part.path} has {num_objects:,} annotations of the image, more than {MAX_OBJECTS:,}"
            tiles = f"{message}; split the image into tiles"
            row = rejected_row(RecordProblem(key, BAD_ANNOTATION, tiles), part.split, entry)
            num_objects = -1
        else:
            row = ListingRow(key, part.split, None, entry.num_bytes, entry.mtime_ns)
            chosen.append(joined.order[joined.starts[i] : joined.starts[i + 1]])
        made.append(row._replace(extra=extra))
        counts.append(num_objects)
    table = Listing(_SCHEMA, made).table()
    type_ = _SCHEMA.field("objects").type
    in_order = np.concatenate(chosen) if chosen else joined.order[:0]
    objects = objects_of(columns, type_, in_order, np.array(counts, np.int64))
    at = _SCHEMA.get_field_index("objects")
    return table.set_column(at, _SCHEMA.field(at), objects)


def open_coco(opening: Opening) -> Source:
    """Find the annotation files and their images, which may be in the folder above a file that is the source.

    Raises:
        DataError: There are no annotations, or no images for them, or a file is not JSON.
    """
    folder, options, json_path = opening.folder, opening.options, opening.file
    found = find_annotation_files(folder) if json_path is None else AnnotationFiles((json_path,))
    chosen, has_boxes, remark = choose_kind(folder, found)
    if not chosen and (panoptic := [path for path in found.paths if kind_of(folder, path) is Kind.PANOPTIC]):
        return open_panoptic(opening, panoptic)
    root, files = find_image_folders(folder, chosen or found.paths, options, may_leave=json_path is not None)
    if not chosen:
        refuse_kind(folder, found.paths[0])  # after the files' first images, which tell more if a file is damaged
    is_whole = json_path is None and options.root is None
    has_ids = not ids_disagree(folder, chosen)
    if not has_ids:
        remark += "; note: the files have different category ids, and classes are those of the same name"
    has_several = not has_boxes and gives_several(folder, chosen)
    remark += "; images may have several classes" if has_several else ""
    policy = options.without_annotation or "reject"
    return Coco(root, folder, files, is_whole, has_boxes, has_ids, remark, has_several, policy)
