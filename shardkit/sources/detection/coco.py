"""COCO: a JSON file of images, categories and annotations, and folders of images beside it.

The split comes from the file's or its folder's name: ``annotations/instances_train2017.json`` is ``train``. Boxes are
(y, x, y + height, x + width) in pixels as the file gives them, checked against the image later. Categories that share
a name are one class; the order of the classes is that of the categories' ids. Backslashes in ``file_name`` part
folders, and an absolute one is followed where it leads below the folder of the images. An image beside named ones that
has no record is rejected; those of other folders, or of a folder of several files, are counted as skipped.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shardkit.naming import printable
from shardkit.sources.detection.coco_columns import CocoColumns, called, image_names, read_coco
from shardkit.sources.detection.coco_files import CocoFile, Found, find_files, is_coco, is_within, place_images
from shardkit.sources.detection.rows import MAX_OBJECTS, Row, batches, detection_schema, problem_row
from shardkit.sources.listing import IMAGE_ENDINGS, LINE, Listing, Source, ending, unicode_problem
from shardkit.sources.options import SourceOptions
from shardkit.sources.unlisted_images import Rest, count_uncovered
from shardkit.sources.walking import children, join, parent_of
from shardkit.storage import Entry, Folder, os_errors_as

__all__ = ["Coco", "is_coco", "open_coco"]

_OBJECT_FIELDS = (
    pa.field("area", pa.float32()),  # pixels; of the box where the annotation has none
    pa.field("id", pa.int64()),  # NO_ID where the annotation has no integer
    pa.field("is_crowd", pa.bool_()),
    pa.field("segmentation", pa.string()),  # the source's JSON without blanks: polygons or RLE; '' where there is none
)
_UNCOVERED = "that no annotation names"
_SCHEMA = pa.schema([*detection_schema(_OBJECT_FIELDS), LINE])


@dataclass(frozen=True, slots=True)
class Coco(Source):
    """COCO's object annotations.

    Attributes:
        folder: that all images are below.
        files_folder: that the files of annotations are below.
        files: of annotations.
        is_whole: whether images that no file names are counted: SOURCE is a folder, and the images are below it.
        remark: what the user should know besides; '' for nothing.
    """

    folder: Folder
    files_folder: Folder
    files: tuple[CocoFile, ...]
    is_whole: bool
    remark: str

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        return _SCHEMA

    @property
    def layout(self) -> str:
        """See Source."""
        return "COCO"

    def describe(self) -> str:
        """See Source."""
        read = [
            f"{file.path} with the images in {join(self.folder.url, file.images)}"
            + (f" as {file.split}" if file.split else "")
            for file in self.files
        ]
        return f"{self.files_folder.url}: read {'; '.join(read)}{self.remark}"

    def parts(self) -> list[CocoFile | Rest]:
        """One part a file of annotations, and one for the rest."""
        has_rest = self.is_whole or not all(file.owns_images for file in self.files)
        return [*self.files, *([Rest()] if has_rest else [])]

    def list_part(self, part: CocoFile | Rest, batch_rows: int) -> Iterator[Listing]:
        """See Source; images in the file's order, then what is wrong with its records, then images it does not name."""
        if isinstance(part, Rest):
            yield from batches(_SCHEMA, (), batch_rows, self._rest())
            return
        url = f"{self.files_folder.url}/{part.path}"
        with os_errors_as("read", url), self.files_folder.open(part.path) as file:
            columns = read_coco(file, url, part.path, join(self.folder.url, part.images))
        folders, inner = _scanned(self.folder, part.images, columns.image_names)
        classes: dict[int, str] = {}
        for number, name in sorted(columns.categories.items()):
            if name not in classes.values():
                classes[number] = name
        # Known problems are listed only after `joined` has found the rest of them.
        order, starts = columns.joined()
        for start in range(0, len(columns.image_names), batch_rows):
            stop = min(start + batch_rows, len(columns.image_names))
            table = _images_table(columns, part, folders, (start, stop), (order, starts))
            yield Listing(_SCHEMA, classes=classes if start == 0 else {}, columns=table)
        problems: Iterable[Row] = (
            problem_row(key, part.split, reason, message) for key, reason, message in columns.problems
        )
        skipped: dict[str, int] = {}
        if part.owns_images:
            problems = chain(problems, list(_unnamed(part, folders, columns.image_names, skipped)))
            if self.is_whole:
                covered = {join(part.images, path) for path in folders}
                below = [part.images, *inner]
                skipped |= count_uncovered(self.folder, _UNCOVERED, below=below, covered=covered)
        yield from batches(_SCHEMA, ((*row, None) for row in problems), batch_rows, skipped)

    def _rest(self) -> dict[str, int]:
        """Images outside of the files' folders, and those in folders of several files that none of these names."""
        named = set[str]()
        for file in self.files:
            if not file.owns_images:
                # Read again, for no other part knows what all of them name.
                url = f"{self.files_folder.url}/{file.path}"
                with os_errors_as("read", url), self.files_folder.open(file.path) as opened:
                    names, _ = image_names(opened, url, join(self.folder.url, file.images))
                named.update(join(file.images, name) for name in names)
        covered = {file.images for file in self.files if file.owns_images}
        shared = {file.images for file in self.files if not file.owns_images}
        # Of folders one inside the other, the inner one is come upon in the outer one.
        outer = [path for path in sorted(shared) if not any(is_within(path, other) for other in shared - {path})]
        below = [""] if self.is_whole else outer
        return count_uncovered(self.folder, _UNCOVERED, below=below, covered=covered, named=named)


_Folders = dict[str, dict[str, Entry]]  # path below the images' folder: files there, by name


def _scanned(folder: Folder, images: str, names: Iterable[str]) -> tuple[_Folders, list[str]]:
    """Files of the folders that names lead to, and paths of the folders in these."""
    # One listing of a folder costs far less on a remote store than a question for each image.
    wanted = sorted({parent_of(name) for name in names if name})
    files, inner = _Folders(), list[str]()
    for path in wanted:
        entries = children(folder, join(images, path))
        files[path] = {entry.name: entry for entry in entries if not entry.is_folder}
        inner += [join(images, path, entry.name) for entry in entries if entry.is_folder]
    return files, inner


def _images_table(
    columns: CocoColumns,
    part: CocoFile,
    folders: _Folders,
    rows: tuple[int, int],
    joined: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
) -> pa.Table:
    """Images rows[0] to rows[1] as a table; `joined` is columns.joined()."""
    order, starts = joined
    made, lines, counts, chosen = list[Row](), list[int](), list[int](), list[npt.NDArray[np.int64]]()
    for i in range(*rows):
        name = columns.image_names[i]
        if not name:
            continue  # reported when it was read
        entry = folders[parent_of(name)].get(name.rpartition("/")[2])
        key = join(part.images, name)
        if entry is None:
            message = f"{part.path} names the image, but it is not there; restore it, or take its record out"
            made.append(problem_row(key, part.split, "missing", message))
            counts.append(-1)
        elif (num_objects := int(starts[i + 1] - starts[i])) > MAX_OBJECTS:
            message = f"{part.path} has {num_objects:,} annotations of the image, more than {MAX_OBJECTS:,}"
            made.append(problem_row(key, part.split, "bad_annotation", f"{message}; cut it into smaller ones", entry))
            counts.append(-1)
        else:
            made.append((key, part.split, None, entry.num_bytes, entry.mtime_ns, None, None, None, None, None))
            counts.append(num_objects)
            chosen.append(order[starts[i] : starts[i + 1]])
        lines.append(columns.image_lines[i])
        made[-1] = (*made[-1][:-2], *columns.image_sizes[i])
    table = Listing(_SCHEMA, [(*row, line) for row, line in zip(made, lines, strict=True)]).table()
    objects = _objects(columns, np.concatenate(chosen) if chosen else order[:0], np.array(counts, np.int64))
    at = _SCHEMA.get_field_index("objects")
    return table.set_column(at, _SCHEMA.field(at), objects)


def _objects(columns: CocoColumns, chosen: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> pa.Array:
    """The column of objects; `chosen` are the annotations of all rows, `counts` how many are of each, -1 for null."""
    type_ = _SCHEMA.field("objects").type
    boxes = np.frombuffer(columns.boxes, np.float64).reshape(-1, 4)[chosen]
    corners = np.stack([boxes[:, 1], boxes[:, 0], boxes[:, 1] + boxes[:, 3], boxes[:, 0] + boxes[:, 2]], axis=1)
    ids = np.frombuffer(columns.ids, np.int64)[chosen]
    category_ids = np.frombuffer(columns.category_ids, np.int64)[chosen].tolist()
    fields = [
        pa.FixedSizeListArray.from_arrays(pa.array(corners.ravel()), 4),
        pa.array([columns.categories[number] for number in category_ids], pa.string()),
        pa.array([called(number) for number in ids.tolist()], pa.string()),
        pa.array(np.frombuffer(columns.areas, np.float64)[chosen].astype(np.float32)),
        pa.array(ids),
        pa.array(np.frombuffer(columns.crowd, np.uint8)[chosen].astype(np.bool_)),
        pa.array([columns.segmentations[i] for i in chosen.tolist()], pa.string()),
    ]
    offsets = np.concatenate([[0], np.cumsum(np.maximum(counts, 0))]).astype(np.int32)
    structs = pa.StructArray.from_arrays(fields, fields=list(type_.value_type))
    return pa.ListArray.from_arrays(pa.array(offsets), structs, type=type_, mask=pa.array(counts < 0))


def _unnamed(part: CocoFile, folders: _Folders, names: Iterable[str], skipped: dict[str, int]) -> Iterator[Row]:
    """Images beside the named ones; files that are none are counted into `skipped`."""
    named = set(names)
    for path, files in folders.items():
        for name, entry in files.items():
            below = join(part.images, path, name)
            kind = ending(name)
            if join(path, name) in named or below == part.path:
                continue
            if kind not in IMAGE_ENDINGS:
                skipped[kind] = skipped.get(kind, 0) + 1
            elif problem := unicode_problem(below):
                yield problem_row(problem[0], part.split, problem[1], problem[2], entry)
            else:
                message = f"{part.path} does not name the image; add a record for it, or move it elsewhere"
                yield problem_row(below, part.split, "no_label", message, entry)


def open_coco(folder: Folder, options: SourceOptions, json_path: str | None = None) -> Coco:
    """Find the files of annotations and their images.

    Args:
        folder: the source, or of the file that is the source.
        options: `root` is the folder of the images.
        json_path: of the file that is the source, below the folder; its images may be in the folder above.

    Raises:
        DataError: there are no annotations, or no images to them; a file is no JSON.
    """
    found = find_files(folder) if json_path is None else Found((json_path,))
    root, files = place_images(folder, found.paths, options, may_leave=json_path is not None)
    left_out = ", ".join(map(printable, found.left_out))
    remark = f"; left out {left_out}, which are of other tasks" if left_out else ""
    is_whole = json_path is None and options.root is None
    return Coco(root, folder, files, is_whole, remark)
