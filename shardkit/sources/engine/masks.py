"""Masks of examples: by templates of paths, or named by files of annotations, and what their pixels mean."""

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import pyarrow as pa

from shardkit.errors import CallError, DataError
from shardkit.images.masks import BLACK_AND_WHITE, SEGMENTS
from shardkit.naming import printable
from shardkit.options.values import Missing
from shardkit.options.words import named
from shardkit.reject_reasons import BAD_MASK, MISSING, NO_LABEL
from shardkit.sources.columns import LINE, MASK_COLOURS, MASK_PATH
from shardkit.sources.engine.annotations import AnnotationDriver, KeyOf, NamingFile
from shardkit.sources.engine.drivers import Context
from shardkit.sources.engine.facts import IGNORED, LEFT_OUT, Fact, Values
from shardkit.sources.engine.images import Binding, FilesOfFolders, ImagePaths, MaskPaths
from shardkit.sources.engine.records import NamedFiles
from shardkit.sources.formats.class_names import read_palette
from shardkit.sources.formats.format import Format, ImageRecord
from shardkit.sources.listing import BadRecord, ListingRow, below, unicode_problem
from shardkit.sources.mask_pixels import NUM_SAMPLED, are_black_and_white, greatest_number
from shardkit.sources.readings.values import NUMBERS, TWO_COLOURS, Annotation, Paired
from shardkit.sources.unlisted_images import NamedImages
from shardkit.sources.walking import file_or_folder, is_within, join, parent_of, stem_of
from shardkit.storage import Entry, Folder

_NO_IMAGE = "there is no image for this mask; restore the image, or remove the mask"


@dataclass(frozen=True, slots=True)
class OfMasks:
    """Masks by templates of paths, and what their colours mean."""

    paths: MaskPaths
    colours: str = ""  # what the colours of masks mean, see images.check_mask; '' if masks hold numbers
    leaves_out: bool = False  # whether images without a mask are left out and counted, not rejected
    example: str = ""  # path of a mask, for messages

    def values(self, folder: Folder) -> Values:
        files = FilesOfFolders(folder)
        more = (self.colours,) if self.colours else ()

        def mask(key: str) -> tuple[str, ...]:
            places = self.paths.of_image(key)
            found = next(filter(None, map(files.find, places)), ())
            if not found and self.leaves_out:
                raise BadRecord(LEFT_OUT, IGNORED)
            if not found:
                what = f"there is no {places[0]}" if places else "its path does not fit the template of images"
                msg = f"the image has no mask: {printable(what)} (another mask is {printable(self.example)})"
                raise BadRecord(NO_LABEL, f"{msg}; add it, or leave the image out")
            if len(found) > 1:
                msg = f"the image has several masks: {printable(found[0])} and {printable(found[1])}; leave one"
                raise BadRecord(BAD_MASK, msg)
            return (found[0], *more)

        return mask


def mask_paths(origin: Paired) -> MaskPaths:
    """Return where the masks of a reading are."""
    pairs = ((origin.pair, origin.image), *origin.also.items())
    for mask, image in pairs:
        if mask in {image, f"{{dir}}/{image}"}:
            msg = (
                f"mask: {printable(mask)} stands for the image itself; write the folder, end or ending of the masks, "
                "such as {dir}/{stem}.png"
            )
            raise CallError(msg)
    return MaskPaths(pairs)


def check_policy_of_masks(policy: Missing) -> None:
    """Check what happens to images without a mask."""
    if policy == "negative":
        msg = f"{named('without_annotation', 'negative')}: an image without a mask can only be rejected, or ignored"
        raise CallError(msg)


def open_masks(at: Binding) -> Fact:
    """Return the fact of the masks, and put what their pixels mean into the reading."""
    origin, paths = at.reading.mask, at.images.masks
    assert isinstance(origin, Paired) and paths is not None  # noqa: S101, PT018 - the caller looked
    first = [path for path, _ in islice(paths.masks(at.folder, at.images.left_out), NUM_SAMPLED)]
    if not first:
        msg = (
            f"{at.folder.url}: no file is at {printable(origin.pair)}, where the reading has the masks; without a "
            "single mask, no image has one; correct the template"
        )
        raise DataError(msg)
    if at.reading.boxes is None:
        check_policy_of_masks(at.reading.without_annotation)
    palette = origin.palette or (TWO_COLOURS if are_black_and_white(at.folder, first) else NUMBERS)
    at.reading = replace(at.reading, mask=replace(origin, palette=palette))
    colours = BLACK_AND_WHITE if palette == TWO_COLOURS else ""
    if origin.file:
        names, colours = _classes_of(at, origin.file, first)
        at.reading = replace(at.reading, classes=names)
    source = OfMasks(paths, colours, at.reading.without_annotation == "ignore", first[0])
    return Fact(source, (MASK_PATH, MASK_COLOURS) if colours else (MASK_PATH,))


def _classes_of(at: Binding, path: str, first: Sequence[str]) -> tuple[tuple[str, ...], str]:
    of_file = read_palette(at.tree, path)
    if at.reading.classes not in {(), of_file.names}:
        raise at.other_classes(path, of_file.names)
    greatest = greatest_number(at.folder, first, "") if of_file.is_counted else -1
    if greatest >= len(of_file.names):
        msg = (
            f"{at.tree.url}/{path}: it names classes 0 to {len(of_file.names) - 1}, and the masks have number "
            f"{greatest}; write the number before each name, such as '1 cat', or add the missing names"
        )
        raise DataError(msg)
    return of_file.names, of_file.colours


def masks_without_image(folder: Folder, images: ImagePaths) -> Iterator[tuple[str, ListingRow]]:
    """Yield the path of each mask that is of no image, and the rejected row of the image that it would have.

    Every image counts, also one that is no example: a dataset may have masks of more images than its lists name.
    """
    paths = images.masks
    if paths is None:
        return
    files = FilesOfFolders(folder)
    if len(paths.templates) == 1 and paths.are_invertible:
        for path, entry in paths.masks(folder, images.left_out):
            key = paths.image_of(path) or path
            if all(map(paths.is_mask, files.find(key))) and not unicode_problem(path):
                yield path, _lonely(key, entry)
        return
    places = (paths.of_image(key) for key, _ in paths.images(folder, images.left_out))
    of_images = (path for some in places for path in next(filter(None, map(files.find, some)), ()))
    found = NamedImages(of_images)
    for path, entry in paths.masks(folder, images.left_out):
        if path not in found and not unicode_problem(path):
            yield path, _lonely(paths.image_of(path) or path, entry)


def _lonely(key: str, entry: Entry) -> ListingRow:
    return ListingRow(key, None, None, entry.num_bytes, entry.mtime_ns, MISSING, _NO_IMAGE)


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
        read = [file.describe(self.format, f" and the masks in {file.options[_MASKS] or '.'}/") for file in self.files]
        return f"masks from {'; '.join(read)}; note: {self.format.note}"

    @property
    def places(self) -> set[str]:
        return {place for file in self.files for place in (file.paths.place, file.options[_MASKS])}

    def rows_of(
        self,
        context: Context,
        record: ImageRecord,
        part: NamingFile,
        key_of: KeyOf,
        images: NamedFiles,
        number: int | None = None,
    ) -> Iterator[ListingRow]:
        if record.mask:
            record.mask = join(part.options[_MASKS], record.mask)
            if images.find(record.mask) is None and not record.bad:
                record.bad = (
                    f"its mask {printable(record.mask)} is not there; restore it, or remove the image's records"
                )
                record.reason = NO_LABEL
        return AnnotationDriver.rows_of(self, context, record, part, key_of, images, number)

    def problem_of(self, context: Context, record: ImageRecord) -> tuple[str, str] | None:
        if record.bad or record.mask:
            return AnnotationDriver.problem_of(self, context, record)
        is_ignored = self.policy == "ignore"
        return (LEFT_OUT, IGNORED) if is_ignored else (NO_LABEL, "no annotation is of the image; add one, or remove it")

    def with_values(self, row: ListingRow, record: ImageRecord, objects: Any = None) -> ListingRow:
        numbers = {name: number for number, name in enumerate(self.class_names or ())}
        colours = "".join(
            f"{one & 255:02x}{one >> 8 & 255:02x}{one >> 16:02x}{numbers[name]:02x}" for one, name in record.segments
        )
        return row._replace(extra=(record.mask, SEGMENTS + colours + _NO_SEGMENT, record.number, *row.extra))

    def unnamed_row_of(self, context: Context, part: NamingFile | None, key: str, entry: Entry) -> Iterator[ListingRow]:
        """See AnnotationDriver; masks that no annotation names are counted."""
        if self.images.masks is not None and self.images.masks.is_mask(key):
            context.skip("masks that no annotation names")
        else:
            yield from AnnotationDriver.unnamed_row_of(self, context, part, key, entry)


def with_masks(
    tree: Folder, folder: Folder, kind: Format, origin: Annotation, files: Sequence[NamingFile]
) -> tuple[Annotation, tuple[NamingFile, ...], MaskPaths]:
    """Return the origin with where the masks of its files are, the files with their folders, and the paths of masks."""
    prefix = below(folder, tree.url) if tree.url.startswith(f"{folder.url}/") else ""
    names = [[*islice(file.read(tree, kind, kind.masks), _TRIED)] for file in files]
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
