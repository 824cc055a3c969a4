"""Annotations with a file for each image: pairs of an image and its file, as what enumerates examples."""

import os
import posixpath
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from shardkit.naming import first_of, printable
from shardkit.reject_reasons import BAD_ANNOTATION, NO_LABEL
from shardkit.sources.engine.drivers import Complete, Context
from shardkit.sources.engine.facts import Fact, Values
from shardkit.sources.engine.file_groups import FileGroup, GroupFiles, NearestImages, fits, scan_group
from shardkit.sources.engine.images import ImagePaths
from shardkit.sources.engine.lists import OfLists, row_without_image
from shardkit.sources.engine.records import RecordDriver, annotated_rows, completed, plain_row, rejected_file
from shardkit.sources.formats.format import ImageFormat, ImageRecord, Options
from shardkit.sources.hosts import refuse_other_count
from shardkit.sources.listing import ListingRow, RecordProblem, count_skipped, rejected_row, unicode_problem
from shardkit.sources.readings.values import Unnamed
from shardkit.sources.walking import encodable_path, ending, num_slices, read_label_file, slice_bounds, stem_of
from shardkit.storage import Entry, Folder

_REST = -1  # index of the part of a group that has the files and images without a partner
_GROUPS_SHOWN = 8  # that `describe` names
_MAX_KEPT = 100_000  # files: some 50 MB
_last_scan: "dict[tuple[int, tuple[int, int]], GroupFiles]" = {}  # the last one of this process, for the next slice
_WITH_BOXES = (
    "it has boxes, unlike the first files, and classes of whole images are read; remove them, or give the files with "
    "boxes apart"
)


@dataclass(frozen=True, slots=True)
class FilesPart:
    """A slice of the pairs of a group, or with index _REST what has no partner.

    `num_files` is the number of files that the driver counted: slices of another number would overlap or have gaps.
    `counted_by` has the driver's process and the time.
    """

    group: int
    index: int
    num_slices: int
    num_files: int
    counted_by: tuple[int, int]


@dataclass(frozen=True, slots=True)
class ImageFileDriver(RecordDriver):
    """Enumerates the images that files of annotations are for, and those that lack one."""

    tree: Folder  # the folder that the paths of the files start at
    format: ImageFormat
    options: Options
    groups: tuple[FileGroup, ...]
    images: ImagePaths
    keeps_boxed: bool = False  # whether a file with boxes gives its image a class, too
    # The splits of the files that globs match, if images are found by their names
    split_of_globs: tuple[tuple[str, str], ...] = ()
    named_by: str = ""  # what the user should know about the names of classes, beginning with ','; '' for nothing
    lists: OfLists | None = None  # the lists that name the examples of groups without split; None for none
    by_lists: Fact | None = None  # the split that they give; None for none

    has_lines = False

    @property
    def object_fields(self) -> Sequence[pa.Field]:
        return self.format.object_fields

    @property
    def used(self) -> tuple[str, ...]:
        return tuple(glob for group in self.groups for glob in group.globs)

    def describe(self) -> str:
        what = "boxes"
        if self.attribute is not None:
            several = "several classes" if self.has_several else "one class"
            what = f"{several} per image of {printable(repr(self.attribute))}"
        read = first_of([group.describe() for group in self.groups], _GROUPS_SHOWN, more="folders more")
        note = f"; note: {self.format.note}" if self.format.note and self.attribute is None else ""
        return f"{what} from {read}{self.named_by}{note}"

    def parts(self, folder: Folder) -> list[FilesPart]:
        """See Driver; slices of each group, and a part for what has no partner."""
        parts: list[FilesPart] = []
        counted_by = os.getpid(), time.time_ns()
        for number, group in enumerate(self.groups):
            files = self._scan(folder, group)
            num = num_slices(len(files.pairs))
            parts += [FilesPart(number, index, num, files.num_files, counted_by) for index in range(_REST, num)]
        return parts

    def _scan(self, folder: Folder, group: FileGroup) -> GroupFiles:
        return scan_group(self.tree, folder, group, self.images, self.format.side_files)

    def _scan_once(self, folder: Folder, part: FilesPart) -> GroupFiles:
        """Return the files of a part's group, which are scanned once for all slices that a process lists in order.

        A worker may not get the last slice, after which they are dropped: it keeps only a scan of few files.
        """
        key = part.group, part.counted_by
        files = _last_scan.pop(key, None) or self._scan(folder, self.groups[part.group])
        _last_scan.clear()
        is_last = part.index == part.num_slices - 1
        is_kept = files.num_files <= _MAX_KEPT or part.counted_by[0] == os.getpid()
        if is_kept and not is_last and files.num_files == part.num_files:
            _last_scan[key] = files
        return files

    def read(self, path: str, entry: Entry) -> ImageRecord:
        data = read_label_file(self.tree, path, entry.num_bytes, self.format.max_bytes)
        record = ImageRecord(bad=data) if isinstance(data, str) else self.format.parse(data, self.options)
        record.bad += "; correct the file, or write it again" if record.bad else ""
        return record

    def rows(self, context: Context, part: FilesPart) -> Iterator[ListingRow]:
        group = self.groups[part.group]
        files = self._scan_once(context.folder, part)
        if self.by_lists is not None and group.split is None:
            complete = partial(_with_split, self.by_lists.values(context.folder), context.complete)
            context = replace(context, complete=complete)
        refuse_other_count(self.tree, group.globs[0], files.num_files, part.num_files)
        if part.index == _REST:
            for kind, count in files.skipped.items():
                count_skipped(context.skipped, kind, count)
            if group.images is not None:
                yield from self._without_partner(context, group, files)
            if self.lists is not None and part.group == 0:
                yield from self._lines_without_image(context.folder, self.lists)
            return
        for path, entry in files.pairs[slice_bounds(len(files.pairs), part.index, part.num_slices)]:
            if files.nearest is not None:
                yield from self._nearest_rows(context, files.nearest, path, entry)
            else:
                yield from self._pair_rows(context, group.split, files.images_of[path], path, entry)

    def _nearest_rows(self, context: Context, nearest: NearestImages, path: str, entry: Entry) -> Iterator[ListingRow]:
        record: ImageRecord | None = None
        key = nearest.of_name(path)
        if key is None:
            record = self.read(path, entry)
            key = nearest.find(path, record.image)
        if key is not None:
            row = plain_row(key, self._split_of(key, path), nearest.images[key])
            yield from self._example(context, row, path, lambda: record or self.read(path, entry))
        elif record is not None and not record.bad:
            said = printable(record.image)
            where = f"{said!r} is neither where the file says nor" if said else "is not"
            message = f"its image {where} next to it; {self.format.missing}"
            yield rejected_file(path, self._split_of(path, path), message)
        else:  # a file of another tool, such as the settings of an editor
            context.skip(ending(path))

    def _pair_rows(
        self, context: Context, split: str | None, images: Sequence[tuple[str, Entry]], path: str, entry: Entry
    ) -> Iterator[ListingRow]:
        """Yield the rows of a file and its image; of several that differ in their endings, the file has to name it."""
        if len(images) == 1:
            row = plain_row(images[0][0], split, images[0][1])
            yield from self._example(context, row, path, lambda: self.read(path, entry))
            return
        record = self.read(path, entry)
        names = [posixpath.basename(key) for key, _ in images]
        said = posixpath.basename(record.image)
        for name, (key, image) in zip(names, images, strict=True):
            if name == said:
                yield from self._example(context, plain_row(key, split, image), path, lambda: record)
                continue
            belongs = f"may belong to {' or '.join(repr(printable(one)) for one in names)}"
            belongs = f"belongs to {printable(said)!r}" if said in names else belongs
            message = f"{printable(path)} {belongs}, which differ in their endings only; rename or remove one"
            yield rejected_row(unicode_problem(key) or RecordProblem(key, NO_LABEL, message), split, image)

    def _example(
        self, context: Context, row: ListingRow, path: str, read: Callable[[], ImageRecord]
    ) -> Iterator[ListingRow]:
        row = completed(row, context.complete)
        record = ImageRecord() if row.reason is not None else read()
        if row.reason is not None:
            yield row
        elif problem := self.problem_of(context, record):
            reason, message = problem
            yield row._replace(reason=reason, message=f"{encodable_path(path)}: {message}", extra=())
        else:
            row = self.with_values(row, record)
            objects = record if self.attribute is None else ImageRecord()
            yield from annotated_rows(context, row, objects, path, self.format.advice)

    def problem_of(self, context: Context, record: ImageRecord) -> tuple[str, str] | None:
        has_shapes = bool(record.objects or record.problems or record.left_out)
        if self.attribute is not None and has_shapes and not self.keeps_boxed:
            return BAD_ANNOTATION, _WITH_BOXES
        if self.attribute is None and record.attributes:
            if not record.objects and self.format.of_classes:
                return BAD_ANNOTATION, self.format.of_classes
            context.skip(f"classes of whole images ({', '.join(record.attributes)})")
        return RecordDriver.problem_of(self, context, record)

    def _split_of(self, key: str, path: str) -> str | None:
        if self.split_of_globs:
            return next((split for glob, split in self.split_of_globs if fits(glob, path)), None)
        return self.split_of(key, path)

    def _without_partner(self, context: Context, group: FileGroup, files: GroupFiles) -> Iterator[ListingRow]:
        """Yield the rows of files without image, unless they name one without a file; then of the other images."""
        where = printable(group.images or "") or "its folder"
        images_alone = files.images_alone.copy()  # slices share the scan
        images = {posixpath.basename(path): path for path in images_alone}
        listed = {} if self.lists is None else {line.text: line.value for line in self.lists.lines()}
        for path, entry in files.files_alone.items():
            if self.lists is not None and (self._are_paths or stem_of(path) not in listed):
                continue  # the line of the list is reported, or the file is of no example
            said = posixpath.basename(self.read(path, entry).image)
            if (key := images.pop(said, None)) is not None:
                pair = [(key, images_alone.pop(key))]
                yield from self._pair_rows(context, group.split, pair, path, entry)
                continue
            also = f", and no {said!r}" if said else ""
            what = f"there is no image {stem_of(path)!r} of any usual ending in {where}{also}"
            yield rejected_file(path, listed.get(stem_of(path), group.split), f"{what}; {self.format.missing}")
        for key, image in images_alone.items():
            row = completed(plain_row(key, group.split, image), context.complete)
            if row.reason is None:
                name = printable(f"{stem_of(key)}{self.format.ending}")
                what = f"there is no {name} in {printable(group.place) or 'its folder'}; add it"
                yield from self.unannotated(context, row, image, what)
            else:
                yield row

    @property
    def _are_paths(self) -> bool:
        """Whether lines of lists are paths of images; else they name their files, too."""
        return self.lists is not None and self.lists.matching.match == "path"

    def _lines_without_image(self, folder: Folder, lists: OfLists) -> Iterator[ListingRow]:
        """Yield the rows of lines that name no image, nor a file that is reported."""
        files = [self._scan(folder, group) for group in self.groups]
        keys = {key for one in files for images in one.images_of.values() for key, _ in images}
        keys |= {key for one in files for key in one.images_alone}
        stems = set() if self._are_paths else {stem_of(path) for one in files for path in one.files_alone}
        for line, key in lists.keyed_lines(folder):
            if key not in keys and line.text not in stems:
                yield row_without_image(line)

    def keys(self, folder: Folder) -> Iterator[str]:
        """See Driver; of groups with a folder of images, also those without a file, which are listed with it."""
        for group in self.groups:
            files = self._scan(folder, group)
            if (nearest := files.nearest) is None:
                for images in files.images_of.values():
                    yield from (key for key, _ in images)
                yield from files.images_alone
                continue
            for path, entry in files.pairs:
                key = nearest.of_name(path) or nearest.find(path, self.read(path, entry).image)
                if key is not None:
                    yield key

    def unnamed(self, context: Context, mode: Unnamed) -> Iterator[ListingRow] | None:
        """See Driver; groups with a folder of images list all of it."""
        if mode == "reject" or self.groups[0].images is None:
            return RecordDriver.unnamed(self, context, mode)
        flat = [group for group in self.groups if self.is_whole and not group.is_deep]
        inner = [path for group in flat for path in self._scan(context.folder, group).folders]
        covered = {path for group in self.groups for path in (group.images or "", group.place)}
        self.count_others(context, ["", *inner], covered)
        return iter(())

    def unnamed_row(self, context: Context, key: str, entry: Entry, which: str = "") -> Iterator[ListingRow]:
        what = f"no {self.format.ending} file of {self.format.title} is for the image; add one"
        return self.unannotated(context, plain_row(key, self._split_of(key, key), entry), entry, what)


def _with_split(split_of: Values, complete: Complete, row: ListingRow) -> ListingRow:
    return complete(row._replace(split=split_of(row.key)))
