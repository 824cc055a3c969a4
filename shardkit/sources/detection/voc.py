"""Pascal VOC: one XML file an image, paired by stem.

Read are ``Annotations/`` with ``JPEGImages/`` and, where it is there, ``ImageSets/Main/``; the same below ``VOC2012/``
or ``VOCdevkit/VOC2012/``, several years together; folders that both ``Annotations/`` and ``JPEGImages/`` hold, such as
splits; and split folders where the XML files lie beside the images. Images anywhere else are counted as skipped.

Boxes are (ymin, xmin, ymax, xmax) as they stand in the file, as in TFDS: VOC counts pixels from 1 and includes the last
one, so that a side is off by one pixel at most, but tools that write VOC today count from 0, and no file tells which.
Names and poses are kept as written, where TFDS makes them lower case.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.naming import printable
from shardkit.sources.detection.rows import Row, batches, detection_schema, encodable, image_row, problem_row
from shardkit.sources.detection.voc_folders import (
    Files,
    VocFolder,
    find_folders,
    is_voc,
    read_lists,
    scan_files,
    split_in_lists,
)
from shardkit.sources.detection.voc_xml import MAX_BYTES, Annotation, parse_annotation
from shardkit.sources.listing import Listing, Source, unicode_problem
from shardkit.sources.options import SourceOptions
from shardkit.sources.unlisted_images import Rest, count_uncovered
from shardkit.sources.visibility import refuse_other_count
from shardkit.sources.walking import join, num_slices, read_label_file, slice_bounds
from shardkit.storage import Entry, Folder

__all__ = ["Voc", "is_voc", "open_voc"]

_OBJECT_FIELDS = (
    pa.field("is_difficult", pa.bool_()),
    pa.field("is_truncated", pa.bool_()),
    pa.field("pose", pa.string()),  # as written; '' where there is none
)
_SCHEMA = detection_schema(_OBJECT_FIELDS)
_UNCOVERED = "that no annotation names"
_FOLDERS_SHOWN = 8
_Lists = dict[str, list[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class Part:
    """What one worker lists: a slice of a folder's XML files, or with index -1 what has no XML file or no image.

    ``num_files`` is what the driver counted of both.
    """

    found: VocFolder
    index: int
    num_slices: int
    num_files: int


@dataclass(frozen=True, slots=True)
class Voc(Source):
    """Pascal VOC.

    Attributes:
        folder: the source's root.
        folders: of XML files.
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

    def parts(self) -> list[Part | Rest]:
        """Slices of every folder's XML files, one part a folder for what has no partner, and one for the rest."""
        parts: list[Part | Rest] = [Rest()]
        for found in self.folders:
            files = scan_files(self.folder, found)
            num = num_slices(len(files.annotations))
            parts += [Part(found, index, num, files.num_files) for index in range(-1, num)]
        return parts

    def list_part(self, part: Part | Rest, batch_rows: int) -> Iterator[Listing]:
        """See Source; sorted by stem."""
        if isinstance(part, Rest):
            yield from batches(_SCHEMA, (), batch_rows, self._uncovered([""]))
            return
        files = scan_files(self.folder, part.found)
        refuse_other_count(self.folder, part.found.annotations, files.num_files, part.num_files)
        lists = read_lists(self.folder, part.found.lists) if part.found.lists else {}
        if part.index < 0:
            skipped = files.skipped | self._uncovered(files.folders)
            # VOC's own releases hold a third more images than their lists of one task name.
            if lists and (unlisted := sum(len(images) for stem, images in files.images.items() if stem not in lists)):
                skipped["(in no list of a split)"] = unlisted
            yield from batches(_SCHEMA, self._without_partner(part.found, files, lists), batch_rows, skipped)
            return
        stems = sorted(stem for stem in files.annotations if stem in files.images and (not lists or stem in lists))
        stems = stems[slice_bounds(len(stems), part.index, part.num_slices)]
        rows = (row for stem in stems for row in self._pair(part.found, files, lists, stem, stem))
        yield from batches(_SCHEMA, rows, batch_rows)

    def _uncovered(self, below: Sequence[str]) -> dict[str, int]:
        covered = {path for found in self.folders for path in (found.annotations, found.images)}
        return count_uncovered(self.folder, _UNCOVERED, below=below, covered=covered)

    def _pair(self, found: VocFolder, files: Files, lists: _Lists, stem: str, image_stem: str) -> Iterator[Row]:
        """Rows of an XML file and its image, or images of one stem."""
        split, problem = _split(found, lists, stem)
        xml = files.annotations[stem]
        xml_path = join(found.annotations, xml.name)
        parsed = self._parsed(xml_path, xml)
        images = files.images[image_stem]
        if isinstance(parsed, Annotation):
            chosen = next((one for one in images if one.name == parsed.filename), images[0])
        else:
            chosen = images[0]
            problem = problem or ("bad_annotation", f"{printable(xml_path)}: {parsed}; mend the file, or write it anew")
        for image in images:
            path = join(found.images, image.name)
            if bad_name := unicode_problem(path):
                yield problem_row(bad_name[0], split, bad_name[1], bad_name[2], image)
            elif image is not chosen:
                yield problem_row(path, split, "no_label", f"{printable(xml_path)} is that of {chosen.name!r}", image)
            elif problem:
                yield problem_row(path, split, problem[0], problem[1], image)
            elif isinstance(parsed, Annotation):
                yield image_row(path, split, image, parsed.objects, parsed.size)
                for name, reason, message in parsed.problems:
                    yield problem_row(_shown(f"{xml_path}, {name}"), split, reason, f"{message}; the image stays")

    def _parsed(self, path: str, entry: Entry) -> Annotation | str:
        data = read_label_file(self.folder, path, entry.num_bytes, MAX_BYTES)
        return data if isinstance(data, str) else parse_annotation(data)

    def _without_partner(self, found: VocFolder, files: Files, lists: _Lists) -> Iterator[Row]:
        """XML files without an image of their stem, images without an XML file, and names in lists without both."""
        stem_of = {image.name: stem for stem, images in files.images.items() for image in images}
        named = set()
        for stem, xml in sorted(files.annotations.items()):
            if stem in files.images or (lists and stem not in lists):
                continue
            path = join(found.annotations, xml.name)
            parsed = self._parsed(path, xml)
            filename = parsed.filename if isinstance(parsed, Annotation) else ""
            image_stem = stem_of.get(filename)
            # Files may have been renamed since; then <filename> tells, unless that image has an XML file of its own.
            if image_stem is not None and image_stem not in files.annotations and image_stem not in named:
                named.add(image_stem)
                yield from self._pair(found, files, lists, stem, image_stem)
                continue
            split, problem = _split(found, lists, stem)
            message = f"there is no image {stem!r} of any usual ending in {printable(found.images) or 'its folder'}"
            message += f", and no {filename!r}" if filename else ""
            reason = problem[0] if problem else "missing"
            yield problem_row(
                encodable(_shown(path)), split, reason, _shown(f"{message}; restore it, or take the file out")
            )
        for stem, images in sorted(files.images.items()):
            if stem in files.annotations or stem in named or (lists and stem not in lists):
                continue
            split, _ = _split(found, lists, stem)
            for image in images:
                path = join(found.images, image.name)
                key, reason, message = unicode_problem(path) or (
                    path,
                    "no_label",
                    f"there is no {printable(stem)}.xml in {printable(found.annotations) or 'its folder'}; add it",
                )
                yield problem_row(key, split, reason, message, image)
        for stem, places in sorted(lists.items()):
            if stem not in files.annotations and stem not in files.images:
                for split, where in places:
                    message = f"there is no image and no XML file {_shown(stem)!r}; restore them, or take the line out"
                    yield problem_row(where, split, "missing", message)


def _split(found: VocFolder, lists: _Lists, stem: str) -> tuple[str | None, tuple[str, str] | None]:
    """The split of an image, and what is wrong with it."""
    if not lists:
        return found.split, None
    split, reason, message = split_in_lists(lists[stem])
    return split, (reason, message) if reason and message else None


def _shown(text: str) -> str:
    return encodable(text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"))


def open_voc(folder: Folder, options: SourceOptions) -> Voc:
    """Find the XML files and their images.

    Raises:
        DataError: there are none.
    """
    found: Sequence[VocFolder] = find_folders(folder)
    if not found:
        msg = (
            f"{folder.url}: there are no Pascal VOC annotations; looked for Annotations/*.xml with JPEGImages/, also "
            "below VOC<year>/ and VOCdevkit/VOC<year>/, and for XML files beside the images of split folders"
        )
        raise DataError(msg)
    return Voc(folder, tuple(found))
