"""What the scans of all files found, and the lines that say it to the user."""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

from shardkit.adoption.class_names import ClassNames, Labels, range_line
from shardkit.adoption.converting_instead import conversion_of
from shardkit.adoption.features import AdoptedFeatures
from shardkit.adoption.keys import KeyChoice
from shardkit.adoption.records import Found
from shardkit.adoption.scanning import ScanProblem
from shardkit.dataset.foreign.record_layout import RecordLayout
from shardkit.errors import DataError
from shardkit.naming import counted, printable
from shardkit.refusals import RefusedDataError
from shardkit.storage import Folder

_PROBLEMS_SHOWN = 5


class Merged(NamedTuple):
    """What the scans of all files found."""

    adopted: AdoptedFeatures
    keys: KeyChoice
    labels: Labels
    num_zero: int
    found: Found
    sha256: Sequence[str]


def layout_lines(layout: RecordLayout, split_line: str) -> list[str]:
    """Return lines about what the first records and the names of the files say."""
    shown = dataclasses.replace(layout, key=None, columns=(), left_out=())
    return [f"records of {layout.family}", *shown.describe(), f"splits    {split_line}"]


def found_lines(merged: Merged, classes: ClassNames, layout: RecordLayout) -> list[str]:
    """Return lines about what all records say: labels, classes, keys, features, and facts to know before training."""
    lines, found = [], merged.found
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
    if found.num_rotated:
        lines.append(
            f"note      {counted(found.num_rotated, 'image')} with an EXIF orientation: pixels are given as "
            "stored, as tf.io.decode_image does"
        )
    if found.num_without_labels:
        what = "objects" if layout.label.kind == "objects" else "classes"
        lines.append(
            f"note      {counted(found.num_without_labels, 'record')} without {printable(layout.label.name)}: images "
            f"without {what}, as for the reader"
        )
    if found.num_bad_boxes:
        lines.append(f"note      {counted(found.num_bad_boxes, 'box')} without area or beyond the image's edges")
    return lines


def records_refused(
    records: Folder,
    paths: Sequence[str],
    problems: Sequence[tuple[str, ScanProblem]],
    num_problems: int,
    layout: RecordLayout,
) -> DataError:
    """Return the error for records that cannot be adopted, with the call that converts the others.

    Args:
        records: The folder of all files.
        paths: Their paths in it.
        problems: (path of the file, problem) of the first bad records of each file.
        num_problems: The number of bad records that were found.
        layout: Which feature is what.
    """
    first = problems[:_PROBLEMS_SHOWN]
    shown = "".join(f"\n  {printable(path)}, record {one.number}: {one.sentence}" for path, one in first)
    more = num_problems - len(first)
    shown += f"\n  and at least {more:,} more" if more > 0 else ""
    # Without this option a conversion stops at a file that cannot be read to its end.
    options = {"keep_truncated": True} if any(one.is_end for _, one in problems) else {}
    text = f"{records.url}: records are adopted as they are, and the reader cannot read these:{shown}\n"
    if layout.label.kind in {"masks", "none"}:  # which no conversion of others' records reads
        return DataError(f"{text}Restore the files, or write these records again")
    change = dataclasses.replace(conversion_of(records, paths, **options), meaning="converts the other records")
    return RefusedDataError(f"{text}Restore the files", [change])
