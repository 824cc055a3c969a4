"""Find annotated images that EXIF turns, where nothing tells whether the annotation was turned, too."""

from collections.abc import Iterator

import numpy as np
import pyarrow.compute as pc

from shardkit.conversion.inventory.columns import MASK_PATH, OBJECTS
from shardkit.conversion.planning.checks.finding import Finding, Keys, Kind, numbers_of
from shardkit.conversion.planning.rows import Rows
from shardkit.images.info import FIRST_TRANSPOSED
from shardkit.naming import counted
from shardkit.sources.columns import ANNOTATED_HEIGHT, ANNOTATED_WIDTH


def check_turned(good: Rows) -> Iterator[Finding]:
    """Yield a finding about turned images whose boxes or masks may describe the stored or the upright picture.

    The annotation's size tells, unless both pictures have the same size or the annotation names none. Then
    `images.boxes` takes the upright picture. If the other turned images say that annotations describe the stored
    picture, that is wrong, and the finding stops the conversion.

    Args:
        good: The rows that are planned. With ``check="header"``, no image was opened and none is known to be turned.
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
