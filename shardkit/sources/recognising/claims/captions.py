"""Tell a caption of an image from its label or its boxes."""

import re

_FOUR_NUMBERS = re.compile(r"(?:[-+]?[0-9.]+[,;\s]+){3}[-+]?[0-9.]")  # of a box
_NUM_WORDS = 3  # the name of a class has fewer


def is_caption(text: str) -> bool:
    """Return whether a text has several words and no four numbers in a row, as a sentence about one image has."""
    return len(text.split()) >= _NUM_WORDS and _FOUR_NUMBERS.search(text) is None
