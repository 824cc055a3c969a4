"""Masks of examples: the fact, what their pixels mean, and the masks that are of no image."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from shardkit.errors import CallError, DataError
from shardkit.images.masks import BLACK_AND_WHITE
from shardkit.naming import printable
from shardkit.options.values import Missing
from shardkit.options.words import named
from shardkit.reject_reasons import BAD_MASK, MISSING, NO_LABEL
from shardkit.sources.columns import MASK_COLOURS, MASK_PATH
from shardkit.sources.engine.facts import IGNORED, LEFT_OUT, Fact, Values
from shardkit.sources.engine.images import Binding, FilesOfFolders, ImagePaths, MaskPaths
from shardkit.sources.formats.palettes import read_palette
from shardkit.sources.listing import BadRecord, ListingRow, unicode_problem
from shardkit.sources.mask_pixels import NUM_SAMPLED, are_black_and_white, greatest_number
from shardkit.sources.readings.values import NUMBERS, TWO_COLOURS, Paired
from shardkit.sources.unlisted_images import NamedImages
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
        msg = (
            f"{at.tree.url}/{path}: it names other classes ({', '.join(map(printable, of_file.names))}) than "
            f"the reading ({', '.join(map(printable, at.reading.classes))}); make them agree"
        )
        raise DataError(msg)
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
