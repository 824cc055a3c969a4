"""Find boxes that reach beyond their images, and images that were resized or turned after they were annotated."""

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from shardkit.conversion.inventory.columns import MASK_PATH
from shardkit.conversion.planning.checks.finding import Finding, Keys, Kind, numbers_of
from shardkit.conversion.planning.rows import Rows
from shardkit.images.info import FIRST_TRANSPOSED
from shardkit.naming import counted
from shardkit.options.call import Change
from shardkit.sources.columns import ANNOTATED_HEIGHT, ANNOTATED_WIDTH, NUM_CLIPPED, OBJECTS
from shardkit.sources.left_out import repeated_objects
from shardkit.sources.listing import NEGATIVES


def check_boxes(good: Rows, layout: str, skipped: Mapping[str, int], *, is_addition: bool) -> Iterator[Finding]:
    """Yield findings about images without boxes, and about boxes that are there twice, were cut off or scaled."""
    if OBJECTS not in good.column_names or not len(good):
        return
    has_boxes = numbers_of(pc.list_value_length(good[OBJECTS])) > 0
    yield from _negatives(has_boxes, skipped.get(NEGATIVES, 0), is_addition=is_addition)
    yield from _repeated(good)
    if good.lazy_column("width").column.null_count == len(good.table):
        return
    if NUM_CLIPPED.name in good.column_names:
        yield from _clipped(good)
    if ANNOTATED_WIDTH.name in good.column_names:
        yield from _resized(good, has_boxes)


def _negatives(
    has_boxes: npt.NDArray[np.bool_], num_without_annotation: int, *, is_addition: bool
) -> Iterator[Finding]:
    """Say how many images are examples without boxes; a source without a single box is probably read wrong."""
    num = int((~has_boxes).sum())
    said = f", {num_without_annotation:,} of them without annotation" if num_without_annotation else ""
    if num == len(has_boxes) and not is_addition:
        sentence = f"none of {counted(num, 'image')} has a box{said}"
        yield Finding("no_boxes", "stops", sentence, remedy="check the files of boxes, or convert with another layout")
    elif num:
        have = "has" if num == 1 else "have"
        sentence = f"{num:,} of {counted(len(has_boxes), 'image')} {have} no box{said}"
        yield Finding("images_without_boxes", "hints", sentence, remedy="they are stored as negatives")


def _repeated(good: Rows) -> Iterator[Finding]:
    num, images, start = 0, list[npt.NDArray[np.int64]](), 0
    for chunk in good[OBJECTS].chunks:
        is_repeated = repeated_objects(chunk)
        num += int(is_repeated.sum())
        images.append(start + np.unique(pc.list_parent_indices(chunk).to_numpy()[is_repeated]))
        start += len(chunk)
    if not num:
        return
    rows = np.concatenate(images)
    repeat = "repeats" if num == 1 else "repeat"
    where = f"{counted(num, 'box')} in {counted(len(rows), 'image')}"
    sentence = f"{where} {repeat} an earlier one of the same class"
    changes = (Change("keep the first of each", {"drop_repeated_boxes": True}),)
    yield Finding("repeated_boxes", "warns", sentence, Keys(good.lazy_column("key"), rows), changes=changes)


def _clipped(good: Rows) -> Iterator[Finding]:
    numbers = numbers_of(good[NUM_CLIPPED.name])
    if not (num_clipped := int(numbers.sum())):
        return
    num_boxes = int(numbers_of(pc.list_value_length(good[OBJECTS])).sum())
    images = np.flatnonzero(numbers)
    sentence = (
        f"{counted(num_clipped, 'box')} of {num_boxes:,} in {counted(len(images), 'image')} reach beyond the image by "
        "more than a pixel and are cut off at its edge"
    )
    key = good.lazy_column("key").slice(int(images[0]), 1)[0].as_py()
    remedy = "if many do, their numbers may mean something else: look at one"
    yield Finding("clipped_boxes", "warns", sentence, Keys(good.lazy_column("key"), images), remedy=remedy, look_at=key)


def _resized(good: Rows, has_boxes: npt.NDArray[np.bool_]) -> Iterator[Finding]:
    named = [numbers_of(good[one.name]) for one in (ANNOTATED_WIDTH, ANNOTATED_HEIGHT)]
    sizes = [numbers_of(good[name]) for name in ("width", "height")]
    is_as_named = (np.minimum(*named) == 0) | ((named[0] == sizes[0]) & (named[1] == sizes[1]))
    is_as_named |= (named[0] == sizes[1]) & (named[1] == sizes[0])  # turned by EXIF
    images = np.flatnonzero(has_boxes & ~is_as_named)
    if not len(images):
        return
    first = int(images[0])
    sentence = (
        f"{counted(len(images), 'image')} of {len(good):,} have another size than their annotations say and the same "
        f"shape, such as {sizes[0][first]} x {sizes[1][first]}, not {named[0][first]} x {named[1][first]}: their boxes "
        "are scaled"
    )
    key = good.lazy_column("key").slice(first, 1)[0].as_py()
    remedy = "look at one: they may have been cut instead of resized"
    yield Finding("scaled_boxes", "warns", sentence, Keys(good.lazy_column("key"), images), remedy=remedy, look_at=key)


def check_turned(good: Rows) -> Iterator[Finding]:
    """Yield a finding about turned images whose boxes or masks may describe the stored or the upright picture.

    The annotation's size tells, unless both pictures have the same size or the annotation names none. Then
    `images.boxes` takes the upright picture. If the other turned images say that annotations describe the stored
    picture, that is wrong, and the finding stops the conversion.
    With ``check="header"``, no image was opened and none is known to be turned.
    """
    what = next((one for one in (OBJECTS, MASK_PATH) if one in good.column_names), None)
    if what is None or good.lazy_column("orientation").column.null_count == len(good.table):
        return
    turned = good.filter(numbers_of(good["orientation"]) > 1)
    if what == OBJECTS:
        turned = turned.filter(numbers_of(pc.list_value_length(turned[OBJECTS])) > 0)
    if not len(turned):
        return
    width, height = numbers_of(turned["width"]), numbers_of(turned["height"])
    decided = (numbers_of(turned["orientation"]) >= FIRST_TRANSPOSED) & (width != height)
    num_stored = num_upright = 0
    if what == OBJECTS:  # the size of a mask is not in the inventory
        named_width, named_height = numbers_of(turned[ANNOTATED_WIDTH.name]), numbers_of(turned[ANNOTATED_HEIGHT.name])
        decided &= (named_width > 0) & (named_height > 0)
        num_stored = int(np.sum(decided & (named_width == width) & (named_height == height)))
        num_upright = int(np.sum(decided)) - num_stored
    undecided = turned.filter(~decided)
    if not len(undecided):
        return
    describe = "the boxes describe" if what == OBJECTS else "the mask describes"
    sentence = (
        f"EXIF turns or mirrors {counted(len(undecided), 'image')} of {len(good):,}, and the size does not tell "
        f"whether {describe} the picture as it is shown or as it is stored"
    )
    remove = "remove the orientation from these files (`exiftool -Orientation= FILE`)"
    key = None
    kind: Kind = "stops" if num_stored and not num_upright else "warns"
    if kind == "stops":
        sentence += f"; the sizes of {counted(num_stored, 'other turned image')} all say: as it is stored"
        remedy = remove
    else:
        key = undecided.lazy_column("key").slice(0, 1)[0].as_py()
        remedy = f"shown is assumed: look at one, and if it is wrong, {remove}"
    examples = Keys(undecided.lazy_column("key"), np.arange(len(undecided)))
    yield Finding("turned_images", kind, sentence, examples, remedy=remedy, look_at=key)
