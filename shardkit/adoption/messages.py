"""What the scans of all files found, and the lines that say it to the user."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from shardkit.adoption.class_names import ClassNames, Labels, range_line
from shardkit.adoption.features import AdoptedFeatures
from shardkit.adoption.keys import KeyChoice
from shardkit.dataset.foreign.record_layout import RecordLayout
from shardkit.naming import counted, printable


class Merged(NamedTuple):
    """What the scans of all files found."""

    adopted: AdoptedFeatures
    keys: KeyChoice
    labels: Labels
    num_zero: int
    texts: Mapping[int, str]
    num_rotated: int
    num_bad_boxes: int
    num_without_labels: int
    sha256: Sequence[str]


def layout_lines(layout: RecordLayout, split_line: str) -> list[str]:
    """Return lines about what the first records and the names of the files say."""
    shown = dataclasses.replace(layout, key=None, columns=(), left_out=())
    return [f"records of {layout.family}", *shown.describe(), f"splits    {split_line}"]


def found_lines(merged: Merged, classes: ClassNames, layout: RecordLayout) -> list[str]:
    """Return lines about what all records say: labels, classes, keys, features, and facts to know before training."""
    lines = []
    if classes.names:
        lines += [
            f"labels    {range_line(merged.labels, classes.names, merged.num_zero)}",
            f"classes   {classes.origin}",
        ]
    key = merged.keys
    if key.feature is not None:
        lines.append(f"key       {printable(key.feature)}")
    else:
        lines.append("key       file and record number" + (f", because {key.why_numbered}" if key.why_numbered else ""))
    others = sorted(name for name in merged.adopted.features if name in {column.name for column in layout.columns})
    if others:
        lines.append(f"stored    {', '.join(map(printable, others))}")
    for why in dict.fromkeys(why for _, why in merged.adopted.left_out):
        names = ", ".join(printable(name) for name, reason in merged.adopted.left_out if reason == why)
        lines.append(f"left out  {names}: {why}")
    if merged.num_rotated:
        lines.append(
            f"note      {counted(merged.num_rotated, 'image')} with an EXIF orientation: pixels are given as "
            "stored, as tf.io.decode_image does"
        )
    if merged.num_without_labels:
        what = "objects" if layout.label.kind == "objects" else "classes"
        lines.append(
            f"note      {counted(merged.num_without_labels, 'record')} without {printable(layout.label.name)}: images "
            f"without {what}, as for the reader"
        )
    if merged.num_bad_boxes:
        lines.append(f"note      {counted(merged.num_bad_boxes, 'box')} without area or beyond the image's edges")
    return lines
