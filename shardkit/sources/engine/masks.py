"""Masks of examples: the fact, what their pixels mean, and the masks that are of no image."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import pyarrow as pa

from shardkit.errors import CallError, DataError
from shardkit.images.masks import BLACK_AND_WHITE
from shardkit.naming import printable
from shardkit.reject_reasons import BAD_MASK, MISSING, NO_LABEL
from shardkit.sources.columns import MASK_COLOURS, MASK_PATH
from shardkit.sources.engine.facts import LEFT_OUT, Values
from shardkit.sources.engine.images import ImagePaths
from shardkit.sources.engine.mask_paths import FilesOfFolders, MaskPaths
from shardkit.sources.engine.unannotated import IGNORED, check_policy_of_masks
from shardkit.sources.formats.palettes import read_palette
from shardkit.sources.listing import BadRecord, ListingRow, unicode_problem
from shardkit.sources.mask_pixels import NUM_SAMPLED, are_black_and_white, greatest_number
from shardkit.sources.readings.values import NUMBERS, TWO_COLOURS, Paired, Reading
from shardkit.sources.unlisted_images import NamedImages
from shardkit.storage import Entry, Folder

_NO_IMAGE = "there is no image for this mask; restore the image, or remove the mask"


@dataclass(frozen=True, slots=True)
class MaskFact:
    """The mask of an example, by templates of its path."""

    paths: MaskPaths
    colours: str = ""  # what the colours of masks mean, see images.check_mask; '' if masks hold numbers
    leaves_out: bool = False  # whether images without a mask are left out and counted, not rejected
    example: str = ""  # path of a mask, for messages

    column = ""

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (MASK_PATH, MASK_COLOURS) if self.colours else (MASK_PATH,)

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


def open_masks(tree: Folder, folder: Folder, images: ImagePaths, reading: Reading) -> tuple[Reading, MaskFact]:
    """Return the fact of the masks, and the reading with what their pixels mean."""
    origin, paths = reading.mask, images.masks
    assert isinstance(origin, Paired) and paths is not None  # noqa: S101, PT018 - the caller looked
    left_out = () if images.excluded is None else (images.excluded,)
    first = [path for path, _ in islice(paths.masks(folder, left_out), NUM_SAMPLED)]
    if not first:
        msg = (
            f"{folder.url}: no file is at {printable(origin.pair)}, where the reading has the masks; without a single "
            "mask, no image has one; correct the template"
        )
        raise DataError(msg)
    leaves_out = reading.without_annotation == "ignore"
    if reading.boxes is None:
        check_policy_of_masks(reading.without_annotation)
    palette = origin.palette or (TWO_COLOURS if are_black_and_white(folder, first) else NUMBERS)
    reading = replace(reading, mask=replace(origin, palette=palette))
    if not origin.file:
        return reading, MaskFact(paths, BLACK_AND_WHITE if palette == TWO_COLOURS else "", leaves_out, first[0])
    of_file = read_palette(tree, origin.file)
    if reading.classes not in {(), of_file.names}:
        msg = (
            f"{tree.url}/{origin.file}: it names other classes ({', '.join(map(printable, of_file.names))}) than "
            f"the reading ({', '.join(map(printable, reading.classes))}); make them agree"
        )
        raise DataError(msg)
    greatest = greatest_number(folder, first, "") if of_file.is_counted else -1
    if greatest >= len(of_file.names):
        msg = (
            f"{tree.url}/{origin.file}: it names classes 0 to {len(of_file.names) - 1}, and the masks have number "
            f"{greatest}; write the number before each name, such as '1 cat', or add the missing names"
        )
        raise DataError(msg)
    return replace(reading, classes=of_file.names), MaskFact(paths, of_file.colours, leaves_out, first[0])


def masks_without_image(folder: Folder, images: ImagePaths) -> Iterator[tuple[str, ListingRow]]:
    """Yield the path of each mask that is of no image, and the rejected row of the image that it would have.

    Every image counts, also one that is no example: a dataset may have masks of more images than its lists name.
    """
    paths = images.masks
    if paths is None:
        return
    files = FilesOfFolders(folder)
    left_out = () if images.excluded is None else (images.excluded,)
    if len(paths.templates) == 1 and paths.are_invertible:
        for path, entry in paths.masks(folder, left_out):
            key = paths.image_of(path) or path
            if all(map(paths.is_mask, files.find(key))) and not unicode_problem(path):
                yield path, _lonely(key, entry)
        return
    places = (paths.of_image(key) for key, _ in paths.images(folder, left_out))
    of_images = (path for some in places for path in next(filter(None, map(files.find, some)), ()))
    found = NamedImages(of_images)
    for path, entry in paths.masks(folder, left_out):
        if path not in found and not unicode_problem(path):
            yield path, _lonely(paths.image_of(path) or path, entry)


def _lonely(key: str, entry: Entry) -> ListingRow:
    return ListingRow(key, None, None, entry.num_bytes, entry.mtime_ns, MISSING, _NO_IMAGE)
