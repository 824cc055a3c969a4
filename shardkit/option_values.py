"""The permitted values of the conversion's options that are words, for type checkers and for messages."""

import difflib
from typing import Literal, get_args

from shardkit.errors import CallError

Layout = Literal[
    "class-folders",
    "file-names",
    "table",
    "metadata",
    "coco",
    "voc",
    "yolo",
    "masks",
    "webdataset",
    "hf-parquet",
    "unlabelled",
]
LabelType = Literal["auto", "class", "number"]
SplitBy = Literal["hash", "stratified"]
Dedupe = Literal["group", "drop", "ignore"]
Check = Literal["decode", "header"]

# By the names of the arguments of `shardkit.convert`.
CHOICES: dict[str, tuple[str, ...]] = {
    "layout": get_args(Layout),
    "label_type": get_args(LabelType),
    "split_by": get_args(SplitBy),
    "dedupe": get_args(Dedupe),
    "check": get_args(Check),
}


def check_choice(argument: str, value: str | None) -> None:
    """Check that a value is permitted, or None.

    Raises:
        CallError: It is not; the message suggests the nearest permitted value.
    """
    choices = CHOICES[argument]
    if value is None or value in choices:
        return
    close = difflib.get_close_matches(str(value), choices, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    msg = f"{argument} must be one of {', '.join(map(repr, choices))}; found {value!r}{hint}"
    raise CallError(msg)
