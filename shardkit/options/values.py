"""The permitted values of options that are words, for type checkers; the definitions take them from here."""

from typing import Final, Literal

from shardkit.layouts import Layout as Layout  # noqa: PLC0414 - next to the other types of options

Missing = Literal["reject", "negative", "ignore"]
LabelType = Literal["auto", "class", "number"]
Uncertain = Literal["negative", "positive", "drop"]
# How a text names an image: as its path, the end of its path, its name, or its name without ending; or several images,
# whose names or folders begin with it: 4711 names 4711-1.jpg and 4711-2.jpg.
Match = Literal["path", "end", "name", "stem", "start"]
SplitBy = Literal["stratified", "hash"]
Dedupe = Literal["group", "identical", "drop", "ignore"]
Check = Literal["decode", "header"]
Fit = Literal["crop", "pad"]
Jpeg = Literal["keep", "baseline"]
Subsampling = Literal["4:2:0", "4:2:2", "4:4:4"]

# Codes of the findings that stop a conversion until the user accepts them, with what that means. They do not change.
ACCEPTABLE: Final[dict[str, str]] = {
    "clipped_boxes": "keep the boxes, cut off at the edges of their images",
    "other_class_names": "take them as different classes",
    "class_numbers_from_one": "take the numbers as they are, from 0",
    "loss_by_class": "store the images, although a step of storing tells the classes",
    "narrow_bit_depth": "keep the high 8 of 16 bits, with these few levels of grey",
    "turned_images": "take the annotations as those of the pictures that are shown",
}

HIGH_BITS: Final = "high"  # of `bit_depth`: keep the high 8 of 16 bits
AUTO_SCALE: Final = "scale=auto"  # of `bit_depth`: planning finds the range, and the manifest has it
NO_RULE: Final = "none"  # no limit, no groups: overrules the rule of a dataset that is converted
OWN_SPLITS: Final = "own"  # the value of `splits` that keeps the source's own splits
NoRule = Literal["none"]
