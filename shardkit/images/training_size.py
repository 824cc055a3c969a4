"""The size of images in training, as `bench` and `report` are told, and the size to store that fits it."""

import re

from shardkit.errors import CallError

MAX_SIDE = 1 << 14  # pixels


def parse_training_size(text: str, option: str) -> tuple[int, int]:
    """Parse ``224`` or ``240x320``: height and width in pixels.

    Args:
        text: The option's value.
        option: Name of the option, for errors.

    Raises:
        CallError: It is neither, or a side is out of range.
    """
    found = re.fullmatch(r"([0-9]{1,6})(?:[x×]([0-9]{1,6}))?", text.strip())
    if found is None:
        msg = f"{option} is a number of pixels such as 224, or HEIGHTxWIDTH such as 240x320; found {text!r}"
        raise CallError(msg)
    height, width = int(found[1]), int(found[2] or found[1])
    for side in (height, width):
        if not 1 <= side <= MAX_SIDE:
            msg = f"{option} must have sides from 1 to {MAX_SIDE} pixels; found {side}"
            raise CallError(msg)
    return height, width


def shorter_side_for(height: int, width: int) -> int:
    """Return the value of `resize` that fits random crops of a training size.

    8/7 of it, as in 256 for 224: an evaluation cuts the centre of 7/8 out.
    """
    return -(-max(height, width) * 8 // 7)
