"""Pascal VOC: one XML file per image, paired by stem.

Reads ``Annotations/`` with ``JPEGImages/`` and, if it exists, ``ImageSets/Main/``; the same below ``VOC2012/`` or
``VOCdevkit/VOC2012/``, several years together; folders that are in both ``Annotations/`` and ``JPEGImages/``, such as
splits; and split folders with the XML files next to the images. Images may be in folders below ``JPEGImages/``, such as
one for each class, if the XML files are not. Images in other folders are counted as skipped.
"""

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import printable
from shardkit.reject_reasons import MISSING, NO_LABEL, NO_SPLIT
from shardkit.sources.claims.claim import UsedFile
from shardkit.sources.context import Opening
from shardkit.sources.detection.files_of_images import FilesOfImages, ImageFiles
from shardkit.sources.detection.paired_files import PairedFiles
from shardkit.sources.detection.rows import detection_schema, rejected_file, rejected_image
from shardkit.sources.detection.voc.image_folders import (
    IN_NO_LIST,
    VocFolder,
    VocFolderFiles,
    find_folders,
    has_voc_files,
    is_voc,
    read_lists,
)
from shardkit.sources.detection.voc.rival_folders import without_boxes
from shardkit.sources.formats.record import ImageRecord
from shardkit.sources.formats.voc import VOC
from shardkit.sources.listing import ListingRow, RecordProblem, Source, count_skipped, encodable_path, rejected_row
from shardkit.sources.walking import join, parent_of
from shardkit.storage import Folder

__all__ = ["Voc", "is_voc", "open_voc"]

_FOLDERS_SHOWN = 8  # folders that `describe` names


@dataclass(frozen=True, slots=True)
class Voc(PairedFiles[VocFolder, str]):
    """A Pascal VOC source.

    Attributes:
        folder: Root of the source.
        groups: The folders of XML files.
    """

    folder: Folder
    groups: tuple[VocFolder, ...]

    layout = LAYOUTS["voc"].title
    schema = detection_schema(VOC.object_fields)
    unlisted = "that no annotation names"
    annotation_ending = ".xml"
    format = VOC

    @property
    def used_files(self) -> tuple[UsedFile, ...]:
        """See Source."""
        lists = (one.lists for one in self.groups if one.lists and read_lists(self.folder, one.lists))
        splits = (UsedFile(join(path, "*.txt"), "splits") for path in dict.fromkeys(lists))
        return (*super(Voc, self).used_files, *splits)

    def describe(self) -> str:
        """See Source."""
        read = []
        for found in self.groups[:_FOLDERS_SHOWN]:
            text = f"{printable(found.annotations) or '.'}/*.xml"
            if found.images != found.annotations:
                text += f" with the images in {printable(found.images)}"
            if found.lists and read_lists(self.folder, found.lists):
                text += f", splits by {printable(found.lists)}"
            elif found.split:
                text += f" as {found.split}"
            read.append(text)
        if len(self.groups) > _FOLDERS_SHOWN:
            read.append(f"{len(self.groups) - _FOLDERS_SHOWN:,} folders more")
        return f"{self.folder.url}: read {'; '.join(read)}"

    def scan(self, group: VocFolder) -> VocFolderFiles:
        """See PairedFiles."""
        files = VocFolderFiles(group, group.annotations)
        files.add_entries(self.folder, ".xml")
        files.lists = read_lists(self.folder, group.lists) if group.lists else {}
        files.pairs = sorted(stem for stem in files.annotations if stem in files.images and files.is_listed(stem))
        files.num_parsed = len(files.annotations)
        files.num_files = len(files.annotations) + sum(map(len, files.images.values()))
        return files

    def pair_rows(self, files: VocFolderFiles, pair: str, image_stem: str | None = None) -> Iterator[ListingRow]:
        """See PairedFiles; the rows of several images of one stem, which may differ from that of the XML file."""
        split, conflict = files.split_of(pair)
        xml = files.annotations[pair]
        xml_path = join(files.group.annotations, xml.name)
        found = self.read(xml_path, xml)
        images = files.images[image_stem or pair]
        chosen = images[0]
        if isinstance(found, ImageRecord):
            chosen = next((one for one in images if posixpath.basename(one.name) == found.image), images[0])
        for image in images:
            path = join(files.group.images, image.name)
            if image is not chosen:
                message = f"{printable(xml_path)} belongs to {chosen.name!r}"
                yield rejected_image(path, split, image, NO_LABEL, message)
            elif conflict:
                yield rejected_image(path, split, image, NO_SPLIT, conflict)
            else:
                yield from self.image_rows(files, path, split, image, found)

    def rest_rows(self, files: VocFolderFiles) -> Iterator[ListingRow]:
        """Yield rows of XML files without image, of images without XML file, and of names in lists without both."""
        group = files.group
        files.skipped |= self.count_unlisted(files.folders)
        # VOC's own releases have a third more images than the lists of one task name.
        if unlisted := sum(len(images) for stem, images in files.images.items() if not files.is_listed(stem)):
            files.skipped[IN_NO_LIST] = unlisted
        stem_of = {posixpath.basename(image.name): stem for stem, images in files.images.items() for image in images}
        named = set()
        for stem, xml in sorted(files.annotations.items()):
            if stem in files.images or not files.is_listed(stem):
                continue
            path = join(group.annotations, xml.name)
            parsed = self.read(path, xml)
            filename = parsed.image if isinstance(parsed, ImageRecord) else ""
            image_stem = stem_of.get(filename)
            # Files may have been renamed: then <filename> counts, unless that image has an XML file of its stem.
            if image_stem is not None and image_stem not in files.annotations and image_stem not in named:
                named.add(image_stem)
                yield from self.pair_rows(files, stem, image_stem)
                continue
            split, conflict = files.split_of(stem)
            message = f"there is no image {stem!r} of any usual ending in {printable(group.images) or 'its folder'}"
            message += f", and no {filename!r}" if filename else ""
            message = encodable_path(f"{message}; restore it, or remove the file")
            yield rejected_file(path, split, message, NO_SPLIT if conflict else MISSING)
        for stem, images in sorted(files.images.items()):
            if stem in files.annotations or stem in named or not files.is_listed(stem):
                continue
            split, _ = files.split_of(stem)
            message = f"there is no {printable(stem)}.xml in {printable(group.annotations) or 'its folder'}; add it"
            for image in images:
                yield rejected_image(join(group.images, image.name), split, image, NO_LABEL, message)
        for stem, entries in sorted(files.lists.items()):
            if stem not in files.annotations and stem not in files.images:
                name = encodable_path(stem)
                message = f"there is no image and no XML file {name!r}; restore them, or remove the line"
                yield from (rejected_row(RecordProblem(one.line, MISSING, message), one.split) for one in entries)


@dataclass(frozen=True, slots=True)
class VocFiles(FilesOfImages):
    """A source of XML files in any folders: next to the images, or with their names.

    Attributes:
        folder: Root of the source.
        left_out: Folders of XML files with other shapes of the same objects.
        groups: The root, whose files are one group.
    """

    folder: Folder
    left_out: tuple[str, ...] = ()
    groups: tuple[str, ...] = ("",)

    layout = LAYOUTS["voc"].title
    schema = detection_schema(VOC.object_fields)
    noun = "Pascal VOC file"
    annotation_ending = ".xml"
    format = VOC

    def describe(self) -> str:
        """See Source."""
        read = f"{self.folder.url}: read every *.xml with the image of its name, splits by the names of folders"
        if not self.left_out:
            return read
        shown = ", ".join(f"{printable(path)}/" for path in self.left_out[:_FOLDERS_SHOWN])
        return f"{read}; not read: {shown}, whose objects have no <bndbox>"

    def scan(self, group: str) -> ImageFiles:
        """See PairedFiles."""
        files = super(VocFiles, self).scan(group)
        kept = [(path, entry) for path, entry in files.pairs if parent_of(path) not in self.left_out]
        if num := len(files.pairs) - len(kept):
            count_skipped(files.skipped, self.annotation_ending, num)
        return replace(files, pairs=kept)


def open_voc(opening: Opening) -> Source:
    """Find the XML files and their images.

    Raises:
        DataError: There are none.
        RefusalError: Several folders have some for the same images.
    """
    folder = opening.folder
    found: Sequence[VocFolder] = find_folders(folder)
    if not found and has_voc_files(folder):
        return VocFiles(folder, without_boxes(opening))
    if not found:
        msg = (
            f"{folder.url}: there are no Pascal VOC annotations; searched for Annotations/*.xml with JPEGImages/, also "
            "below VOC<year>/ and VOCdevkit/VOC<year>/, and for XML files next to the images of split folders"
        )
        raise DataError(msg)
    return Voc(folder, tuple(found))
