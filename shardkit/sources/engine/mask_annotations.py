"""Masks that files of annotations name: the records of images with the path of a mask and what its colours mean."""

import posixpath
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.images.masks import SEGMENTS
from shardkit.naming import printable
from shardkit.options.values import Missing
from shardkit.reject_reasons import NO_LABEL
from shardkit.sources.columns import LINE, MASK_COLOURS, MASK_PATH
from shardkit.sources.engine.annotations import AnnotationDriver, NamingFile
from shardkit.sources.engine.drivers import Complete
from shardkit.sources.engine.facts import IGNORED, LEFT_OUT
from shardkit.sources.engine.images import MaskPaths
from shardkit.sources.engine.masks import check_policy_of_masks
from shardkit.sources.engine.records import NamedFiles
from shardkit.sources.formats.format import Format, ImageRecord
from shardkit.sources.listing import ListingRow, below, count_skipped
from shardkit.sources.readings.values import Annotation
from shardkit.sources.walking import file_or_folder, is_within, join, parent_of, stem_of
from shardkit.storage import Entry, Folder

_MASKS = "masks"  # the option that says where the masks of a file are
# Where they may be: called like the file, next to it or one level higher; or next to the file.
_PLACES = ("{dir}/{stem}", "{dir}/../{stem}", "{dir}", ".")
_TRIED = 8  # masks that are looked up, because the first may be missing
_MAX_CLASSES = 255  # 255 is no class
_NO_SEGMENT = "000000ff"  # black, and the class number of pixels without a class


@dataclass(frozen=True, slots=True)
class MaskDriver(AnnotationDriver):
    """Enumerates the records of files that name a mask of each image."""

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (MASK_PATH, MASK_COLOURS, LINE)

    def describe(self) -> str:
        read = [file.describe(f" and the masks in {file.options[_MASKS] or '.'}/") for file in self.files]
        return f"masks from {'; '.join(read)}; note: {self.format.note}"

    @property
    def places(self) -> set[str]:
        return {place for file in self.files for place in (file.paths.place, file.options[_MASKS])}

    def rows_of(
        self,
        record: ImageRecord,
        part: NamingFile,
        key_of: Callable[[str], str],
        images: NamedFiles,
        complete: Complete,
        skipped: dict[str, int],
        number: int | None = None,
    ) -> Iterator[ListingRow]:
        if record.mask:
            record.mask = join(part.options[_MASKS], record.mask)
            if images.find(record.mask) is None and not record.bad:
                record.bad = (
                    f"its mask {printable(record.mask)} is not there; restore it, or remove the image's records"
                )
                record.reason = NO_LABEL
        return AnnotationDriver.rows_of(self, record, part, key_of, images, complete, skipped, number)

    def problem_of(self, record: ImageRecord, skipped: dict[str, int]) -> tuple[str, str] | None:
        if record.bad or record.mask:
            return AnnotationDriver.problem_of(self, record, skipped)
        is_ignored = self.policy == "ignore"
        return (LEFT_OUT, IGNORED) if is_ignored else (NO_LABEL, "no annotation is of the image; add one, or remove it")

    def with_values(self, row: ListingRow, record: ImageRecord, objects: Any = None) -> ListingRow:
        numbers = {name: number for number, name in enumerate(self.class_names or ())}
        colours = "".join(
            f"{one & 255:02x}{one >> 8 & 255:02x}{one >> 16:02x}{numbers[name]:02x}" for one, name in record.segments
        )
        return row._replace(extra=(record.mask, SEGMENTS + colours + _NO_SEGMENT, record.number, *row.extra))

    def unnamed_row_of(
        self, part: NamingFile | None, key: str, entry: Entry, skipped: dict[str, int]
    ) -> Iterator[ListingRow]:
        """See AnnotationDriver; masks that no annotation names are counted."""
        if self.images.masks is not None and self.images.masks.is_mask(key):
            count_skipped(skipped, "masks that no annotation names")
        else:
            yield from AnnotationDriver.unnamed_row_of(self, part, key, entry, skipped)


def with_masks(
    tree: Folder, folder: Folder, kind: Format, origin: Annotation, files: Sequence[NamingFile]
) -> tuple[Annotation, tuple[NamingFile, ...], MaskPaths]:
    """Return the origin with where the masks of its files are, the files with their folders, and the paths of masks."""
    prefix = below(folder, tree.url) if tree.url.startswith(f"{folder.url}/") else ""
    names = [[*islice(file.read(tree, kind.masks), _TRIED)] for file in files]
    missing = ""
    for template in [origin.options[_MASKS]] if _MASKS in origin.options else _PLACES:
        places = [_place(template, join(prefix, file.path)) for file in files]
        lost = [
            i
            for i, place in enumerate(places)
            if not any(file_or_folder(folder, join(place, name)) is not None for name in names[i])
        ]
        if not lost:
            pairs = zip(files, places, strict=True)
            placed = tuple(replace(file, options={**file.options, _MASKS: place}) for file, place in pairs)
            complete = replace(origin, options={**origin.options, _MASKS: template})
            return (
                complete,
                placed,
                MaskPaths(tuple(_template(file) for file in placed if file.options[_MASKS] != file.paths.place)),
            )
        first = printable(repr(names[lost[0]][0] if names[lost[0]] else ""))
        missing = missing or f"{tree.url}/{files[lost[0]].path}: its first mask {first} is in none of "
        missing += f"{', ' * missing.endswith('/')}{join(folder.url, places[lost[0]])}/"
    raise DataError(f"{missing}; unpack the masks there, or say where they are (options: {{masks: FOLDER}})")


def _place(template: str, path: str) -> str:
    stem = stem_of(path)
    place = posixpath.normpath(template.replace("{dir}", parent_of(path) or ".").replace("{stem}", stem))
    return "" if place in {".", ".."} else place.removeprefix("../")


def _template(file: NamingFile) -> tuple[str, str]:
    """Return the template of the masks of a file in folders of their own; without inner folders if images are there."""
    place = file.options[_MASKS]
    folders = "" if is_within(file.paths.place, place) else "{dir}/"
    return join(place, f"{folders}{{stem}}.png"), "{stem}"


def check_classes(tree: Folder, names: tuple[str, ...] | None, policy: Missing) -> None:
    """Check that the categories of all files are the classes of masks, and what happens to images without one."""
    check_policy_of_masks(policy)
    if names is None:
        msg = f"{tree.url}: the files of masks have no categories, or different names for one id; make them agree"
        raise DataError(msg)
    if len(names) > _MAX_CLASSES:
        msg = f"{tree.url}: there are {len(names):,} categories, more than the {_MAX_CLASSES} of a mask's 8 bits"
        raise DataError(msg)
