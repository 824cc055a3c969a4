"""Place boxes and masks on the upright image.

Stored boxes are (ymin, xmin, ymax, xmax) as fractions of the upright image's height and width, as in TFDS.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from shardkit.images.info import FIRST_TRANSPOSED, BadImage, ImageInfo, MaskInfo
from shardkit.images.stored.placement import Placement
from shardkit.reject_reasons import ANNOTATED_SIZE

Box = tuple[float, float, float, float]
_FLOAT32 = struct.Struct("<4f")
_MASK = "mask"
_OF_PIXELS = {"segmentation", "area"}  # fields of objects that would have to be scaled with the boxes
_SLACK = 1.001  # pixels that a box may reach beyond its image: Pascal VOC counts pixels from 1
_Point = tuple[float, float]

# EXIF orientation: from (y, x) in the stored picture to (y, x) in the upright one (EXIF 2.3, 4.6.4 A).
_UPRIGHT: dict[int, Callable[[float, float], _Point]] = {
    1: lambda y, x: (y, x),
    5: lambda y, x: (x, y),
    6: lambda y, x: (x, 1 - y),
    7: lambda y, x: (1 - x, 1 - y),
    8: lambda y, x: (1 - x, y),
}


class BadBox(NamedTuple):
    """A box without area in its image or its stored part: the object's name, and a clause about the box."""

    name: str
    found: str


def upright_size(info: ImageInfo) -> tuple[int, int]:
    """Return the width and height of the upright image in pixels."""
    return (info.height, info.width) if info.orientation >= FIRST_TRANSPOSED else (info.width, info.height)


def annotated_orientation(width: int, height: int, info: ImageInfo, what: str) -> int:
    """Return the EXIF orientation that turns an annotation upright; 1 if it is upright already.

    Some tools annotate the stored picture, others the upright one, and none of them says which. The size tells, unless
    the picture is square or turned by 180 degrees; then the upright picture is assumed, because people see that one.

    Args:
        width: Width in pixels of the picture that was annotated.
        height: Its height in pixels.
        info: The image's header.
        what: Name of the annotation for errors.

    Raises:
        BadImage: "annotated_size": the size is neither that of the stored nor that of the upright picture.
    """
    if (width, height) == upright_size(info):
        return 1
    if (width, height) == (info.width, info.height):
        return info.orientation
    wanted = upright_size(info)
    there = f"{wanted[0]} x {wanted[1]}"
    question = "are they the same image?"
    if what != _MASK and _have_same_shape((width, height), wanted):
        question = (
            f"if the image was resized after it was annotated, multiply the boxes by {wanted[0] / width:g} and write "
            f"{there} as their size"
        )
    raise BadImage(ANNOTATED_SIZE, f"The {what} is {width} x {height} pixels, the image {there}; {question}")


def _have_same_shape(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Return whether a picture of one size may have been resized to the other, whose sides are rounded."""
    return abs(one[0] * other[1] - one[1] * other[0]) <= max(*one, *other)


def mask_orientation(mask: MaskInfo, info: ImageInfo) -> int:
    """Return the EXIF orientation that turns a mask upright together with its image.

    Raises:
        BadImage: "annotated_size": the mask and the image differ in size.
    """
    return annotated_orientation(mask.width, mask.height, info, _MASK)


class Placed(NamedTuple):
    """The boxes of an image in the stored form.

    Attributes:
        objects: The objects, with boxes clipped to the image.
        bad_boxes: The boxes without area in the image, whose objects are dropped.
        num_clipped: Number of boxes that reached beyond the image by more than a pixel.
    """

    objects: list[dict[str, Any]]
    bad_boxes: list[BadBox]
    num_clipped: int


def place_objects(
    objects: Sequence[dict[str, Any]], annotated: tuple[int | None, int | None], info: ImageInfo
) -> Placed:
    """Convert the boxes of objects to the stored form, clipped to the image.

    Boxes of a picture of another size and the same shape are those of the image before it was resized.

    Args:
        objects: Dicts with at least `bbox` and `name`; see sources.listing.objects_field.
        annotated: Width and height in pixels that boxes refer to; (0, 0) if they are fractions of the upright image
            already, None for pixels of the upright image.
        info: The image's header.

    Raises:
        BadImage: See annotated_orientation.
    """
    width, height = annotated
    orientation, num_clipped = 1, 0
    if width is None or height is None:
        width, height = upright_size(info)
    elif (width, height) == (0, 0):
        width = height = 1
    elif not is_resized((width, height), info) or any(has_pixels(one) for one in objects):
        orientation = annotated_orientation(width, height, info, "annotated size")
    slack = tuple(_SLACK / side for side in upright_size(info))
    placed, bad_boxes = [], []
    for one in objects:
        box = _placed(one["bbox"], width, height, orientation)
        if box is None:
            corners = ", ".join(f"{value:g}" for value in one["bbox"])
            found = f"the box (ymin, xmin, ymax, xmax) = ({corners}) has no area in the image, as float32"
            bad_boxes.append(BadBox(one["name"], found))
        else:
            placed.append({**one, "bbox": list(box)})
            ymin, xmin, ymax, xmax = (side / (height, width)[at % 2] for at, side in enumerate(one["bbox"]))
            num_clipped += min(xmin, 1 - xmax) < -slack[0] or min(ymin, 1 - ymax) < -slack[1]
    return Placed(placed, bad_boxes, num_clipped)


def is_resized(annotated: tuple[int, int], info: ImageInfo) -> bool:
    """Return whether a picture of the annotated size may have been resized to the upright image: it has its shape."""
    upright, stored = upright_size(info), (info.width, info.height)
    return annotated not in (upright, stored) and _have_same_shape(annotated, upright) and upright == stored


def has_pixels(one: Mapping[str, Any]) -> bool:
    """Return whether an object has more in pixels than its box, so that it cannot follow a resized image."""
    return any(one.get(name) not in (None, "") for name in _OF_PIXELS)


def _placed(box: Sequence[float], width: int, height: int, orientation: int) -> Box | None:
    turn = _UPRIGHT[orientation]
    (y0, x0), (y1, x1) = turn(box[0] / height, box[1] / width), turn(box[2] / height, box[3] / width)
    # A box with exchanged corners has no area: its numbers are probably in another order.
    if not (box[0] < box[2] and box[1] < box[3]):
        return None
    placed = max(0.0, min(y0, y1)), max(0.0, min(x0, x1)), min(1.0, max(y0, y1)), min(1.0, max(x0, x1))
    return placed if has_area(placed) else None


def move_objects(objects: Sequence[dict[str, Any]], placement: Placement) -> tuple[list[dict[str, Any]], list[BadBox]]:
    """Move the boxes of objects into the stored picture, clipped at its edges.

    Args:
        objects: Objects with stored boxes, as `place_objects` returns them.
        placement: Where the image goes.

    Returns:
        The objects with boxes in the stored picture; and the boxes that are not in it, whose objects are dropped.
    """
    if not (placement.is_cropped or placement.is_padded):
        return list(objects), []  # fractions of the image stay what they are
    moved, outside = [], []
    for one in objects:
        box = placement.box(one["bbox"])
        if box is None or not has_area(box):
            outside.append(BadBox(one["name"], "the box is in the part of the image that `size` cuts off"))
        else:
            moved.append({**one, "bbox": list(box)})
    return moved, outside


def has_area(box: Box) -> bool:
    """Return whether a box lies within the image and is not empty; as float32, a very narrow box may be empty."""
    ymin, xmin, ymax, xmax = _FLOAT32.unpack(_FLOAT32.pack(*box))
    return bool(0 <= ymin < ymax <= 1 and 0 <= xmin < xmax <= 1)
