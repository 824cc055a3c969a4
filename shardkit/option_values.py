"""The permitted values of the conversion's options that are words, for type checkers and for messages."""

import os
from typing import Literal, get_args

from shardkit.errors import CallError
from shardkit.spelling import closest

Layout = Literal[
    "class-folders",
    "file-names",
    "list",
    "table",
    "metadata",
    "coco",
    "voc",
    "yolo",
    "box-table",
    "kitti",
    "wider-face",
    "labelme",
    "label-studio",
    "cvat",
    "masks",
    "webdataset",
    "hf-parquet",
    "shardkit",
    "tfrecord",
    "unlabelled",
]
LabelType = Literal["auto", "class", "number"]
SplitBy = Literal["hash", "stratified"]
Dedupe = Literal["group", "drop", "ignore"]
Check = Literal["decode", "header"]
Fit = Literal["crop", "pad"]
Jpeg = Literal["keep", "baseline"]
Subsampling = Literal["4:2:0", "4:2:2", "4:4:4"]

# By the names of the arguments of `shardkit.convert`.
CHOICES: dict[str, tuple[str, ...]] = {
    "layout": get_args(Layout),
    "label_type": get_args(LabelType),
    "split_by": get_args(SplitBy),
    "dedupe": get_args(Dedupe),
    "check": get_args(Check),
    "fit": get_args(Fit),
    "jpeg": get_args(Jpeg),
    "subsampling": get_args(Subsampling),
}


def check_choice(argument: str, value: str | None) -> None:
    """Check that a value is permitted, or None.

    Raises:
        CallError: It is not; the message suggests the nearest permitted value.
    """
    choices = CHOICES[argument]
    if value is None or value in choices:
        return
    close = closest(str(value), choices)
    hint = f"; did you mean {close!r}?" if close else ""
    msg = f"{argument} must be one of {', '.join(map(repr, choices))}; found {value!r}{hint}"
    raise CallError(msg)


def number_of_workers(workers: int | None) -> int:
    """Return the number of threads of this process.

    Args:
        workers: The number that the user gave; None for one per core that this process may use.

    Raises:
        CallError: It is below 1.
    """
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if workers < 1:
        msg = f"--workers must be at least 1; found {workers}"
        raise CallError(msg)
    return workers
