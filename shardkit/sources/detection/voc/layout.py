"""Pascal VOC: one XML file per image, paired by stem.

Reads ``Annotations/`` with ``JPEGImages/`` and, if it exists, ``ImageSets/Main/``; the same below ``VOC2012/`` or
``VOCdevkit/VOC2012/``, several years together; folders that are in both ``Annotations/`` and ``JPEGImages/``, such as
splits; and split folders with the XML files next to the images. Images in other folders are counted as skipped.

Boxes are (ymin, xmin, ymax, xmax) as written in the file, as in TFDS. VOC counts pixels from 1 and includes the last
one, tools that write VOC today count from 0, and no file says which: a side is off by one pixel at most. Names and
poses are kept as written; TFDS converts them to lower case.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.naming import printable
from shardkit.reject_reasons import BAD_ANNOTATION, MISSING, NO_LABEL, NO_SPLIT
from shardkit.sources.detection.rows import detection_schema, image_row
from shardkit.sources.detection.voc.annotation_xml import MAX_BYTES, Annotation, parse_annotation
from shardkit.sources.detection.voc.image_folders import (
    IN_NO_LIST,
    ListEntry,
    VocFiles,
    VocFolder,
    find_folders,
    is_voc,
    read_lists,
    scan_files,
    split_in_lists,
)
from shardkit.sources.listing import (
    Listing,
    ListingRow,
    RecordProblem,
    Source,
    batched,
    encodable_path,
    rejected_row,
    unicode_problem,
)
from shardkit.sources.options import SourceOptions
from shardkit.sources.unlisted_images import UnlistedImages, count_unlisted_images
from shardkit.sources.visibility import refuse_other_count
from shardkit.sources.walking import join, num_slices, read_label_file, slice_bounds
from shardkit.storage import Entry, Folder

__all__ = ["Voc", "is_voc", "open_voc"]

_OBJECT_FIELDS = (
    pa.field("is_difficult", pa.bool_()),
    pa.field("is_truncated", pa.bool_()),
    pa.field("pose", pa.string()),  # as written; '' if there is none
)
_SCHEMA = detection_schema(_OBJECT_FIELDS)
_UNLISTED = "that no annotation names"
_FOLDERS_SHOWN = 8  # folders that `describe` names
_Lists = dict[str, list[ListEntry]]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the source: a slice of a folder's XML files, or with index -1 the files without a partner.

    ``num_files`` is the number of XML files and images that the driver counted.
    """

    found: VocFolder
    index: int
    num_slices: int
    num_files: int


@dataclass(frozen=True, slots=True)
class Voc(Source):
    """A Pascal VOC source.

    Attributes:
        folder: Root of the source.
        folders: The folders of XML files.
    """

    folder: Folder
    folders: tuple[VocFolder, ...]

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        return _SCHEMA

    @property
    def layout(self) -> str:
        """See Source."""
        return "Pascal VOC"

    def describe(self) -> str:
        """See Source."""
        read = []
        for found in self.folders[:_FOLDERS_SHOWN]:
            text = f"{printable(found.annotations) or '.'}/*.xml"
            if found.images != found.annotations:
                text += f" with the images in {printable(found.images)}"
            if found.lists and read_lists(self.folder, found.lists):
                text += f", splits by {printable(found.lists)}"
            elif found.split:
                text += f" as {found.split}"
            read.append(text)
        if len(self.folders) > _FOLDERS_SHOWN:
            read.append(f"{len(self.folders) - _FOLDERS_SHOWN:,} folders more")
        return f"{self.folder.url}: read {'; '.join(read)}"

    def parts(self) -> list[Part | UnlistedImages]:
        """Return slices of each folder's XML files, a part per folder for files without partner, and one for others."""
        parts: list[Part | UnlistedImages] = [UnlistedImages()]
        for found in self.folders:
            files = scan_files(self.folder, found)
            num = num_slices(len(files.annotations))
            parts += [Part(found, index, num, files.num_files) for index in range(-1, num)]
        return parts

    def list_part(self, part: Part | UnlistedImages, batch_rows: int) -> Iterator[Listing]:
        """See Source; sorted by stem."""
        if isinstance(part, UnlistedImages):
            yield from batched(_SCHEMA, (), batch_rows, self._count_unlisted([""]))
            return
        files = scan_files(self.folder, part.found)
        refuse_other_count(self.folder, part.found.annotations, files.num_files, part.num_files)
        lists = read_lists(self.folder, part.found.lists) if part.found.lists else {}
        if part.index < 0:
            skipped = files.skipped | self._count_unlisted(files.folders)
            # VOC's own releases have a third more images than the lists of one task name.
            if lists and (unlisted := sum(len(images) for stem, images in files.images.items() if stem not in lists)):
                skipped[IN_NO_LIST] = unlisted
            yield from batched(_SCHEMA, self._without_partner(part.found, files, lists), batch_rows, skipped)
            return
        stems = sorted(stem for stem in files.annotations if stem in files.images and (not lists or stem in lists))
        stems = stems[slice_bounds(len(stems), part.index, part.num_slices)]
        rows = (row for stem in stems for row in self._pair(part.found, files, lists, stem, stem))
        yield from batched(_SCHEMA, rows, batch_rows)

    def _count_unlisted(self, below: Sequence[str]) -> dict[str, int]:
        covered = {path for found in self.folders for path in (found.annotations, found.images)}
        return count_unlisted_images(self.folder, _UNLISTED, below=below, covered=covered)

    def _pair(
        self, found: VocFolder, files: VocFiles, lists: _Lists, stem: str, image_stem: str
    ) -> Iterator[ListingRow]:
        """Yield the rows of an XML file and its image, or of several images of one stem."""
        split, conflict = _split(found, lists, stem)
        xml = files.annotations[stem]
        xml_path = join(found.annotations, xml.name)
        parsed = self._parsed(xml_path, xml)
        images = files.images[image_stem]
        chosen = images[0]
        if isinstance(parsed, Annotation):
            chosen = next((one for one in images if one.name == parsed.filename), images[0])
        for image in images:
            path = join(found.images, image.name)
            problem = unicode_problem(path)
            if not problem and image is not chosen:
                problem = RecordProblem(path, NO_LABEL, f"{printable(xml_path)} belongs to {chosen.name!r}")
            if not problem and conflict:
                problem = RecordProblem(path, NO_SPLIT, conflict)
            if problem:
                yield rejected_row(problem, split, image)
            elif isinstance(parsed, str):
                message = f"{printable(xml_path)}: {parsed}; correct the file, or write it again"
                yield rejected_row(RecordProblem(path, BAD_ANNOTATION, message), split, image)
            else:
                yield image_row(path, split, image, parsed.objects, parsed.size)
                for name, reason, message in parsed.problems:
                    key = encodable_path(f"{xml_path}, {name}")
                    yield rejected_row(RecordProblem(key, reason, f"{message}; the image is kept"), split)

    def _parsed(self, path: str, entry: Entry) -> Annotation | str:
        data = read_label_file(self.folder, path, entry.num_bytes, MAX_BYTES)
        return data if isinstance(data, str) else parse_annotation(data)

    def _without_partner(self, found: VocFolder, files: VocFiles, lists: _Lists) -> Iterator[ListingRow]:
        """Yield rows of XML files without image, of images without XML file, and of names in lists without both."""
        stem_of = {image.name: stem for stem, images in files.images.items() for image in images}
        named = set()
        for stem, xml in sorted(files.annotations.items()):
            if stem in files.images or (lists and stem not in lists):
                continue
            path = join(found.annotations, xml.name)
            parsed = self._parsed(path, xml)
            filename = parsed.filename if isinstance(parsed, Annotation) else ""
            image_stem = stem_of.get(filename)
            # Files may have been renamed: then <filename> counts, unless that image has an XML file of its stem.
            if image_stem is not None and image_stem not in files.annotations and image_stem not in named:
                named.add(image_stem)
                yield from self._pair(found, files, lists, stem, image_stem)
                continue
            split, conflict = _split(found, lists, stem)
            message = f"there is no image {stem!r} of any usual ending in {printable(found.images) or 'its folder'}"
            message += f", and no {filename!r}" if filename else ""
            message = encodable_path(f"{message}; restore it, or remove the file")
            yield rejected_row(RecordProblem(encodable_path(path), NO_SPLIT if conflict else MISSING, message), split)
        for stem, images in sorted(files.images.items()):
            if stem in files.annotations or stem in named or (lists and stem not in lists):
                continue
            split, _ = _split(found, lists, stem)
            message = f"there is no {printable(stem)}.xml in {printable(found.annotations) or 'its folder'}; add it"
            for image in images:
                path = join(found.images, image.name)
                yield rejected_row(unicode_problem(path) or RecordProblem(path, NO_LABEL, message), split, image)
        for stem, entries in sorted(lists.items()):
            if stem not in files.annotations and stem not in files.images:
                name = encodable_path(stem)
                message = f"there is no image and no XML file {name!r}; restore them, or remove the line"
                yield from (rejected_row(RecordProblem(one.line, MISSING, message), one.split) for one in entries)


def _split(found: VocFolder, lists: _Lists, stem: str) -> tuple[str | None, str | None]:
    """Return the split of an image, and the message of NO_SPLIT if lists give it two."""
    return split_in_lists(lists[stem]) if lists else (found.split, None)


def open_voc(folder: Folder, options: SourceOptions) -> Voc:
    """Find the XML files and their images.

    Raises:
        DataError: There are none.
    """
    found: Sequence[VocFolder] = find_folders(folder)
    if not found:
        msg = (
            f"{folder.url}: there are no Pascal VOC annotations; searched for Annotations/*.xml with JPEGImages/, also "
            "below VOC<year>/ and VOCdevkit/VOC<year>/, and for XML files next to the images of split folders"
        )
        raise DataError(msg)
    return Voc(folder, tuple(found))
