"""The picture of a reading: what every top folder and file of labels was taken for, on at most 20 lines.

Counting is one pass over the plan in columns, so a source of 100,000 class folders costs no more than its images.
"""

import shlex
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.box import SIMPLE_HEAD
from rich.table import Table

from shardkit.conversion.planning.plan import Plan
from shardkit.dataset.features import NO_LABEL
from shardkit.naming import counted, printable
from shardkit.options.words import words_of
from shardkit.sources.columns import MASK_PATH
from shardkit.sources.engine.accounting import Accounting
from shardkit.sources.listing import NEGATIVES
from shardkit.sources.readings.given import is_said_by, options_saying
from shardkit.sources.readings.text import from_data
from shardkit.sources.readings.values import STATED

_MAX_FOLDERS = 12  # more of them are shown as the first few and their number
_FEW = 6
_MAX_FILES = 4  # files of labels
_MAX_WIDTH = 40  # columns of a folder's name; a longer one is cut
_MAX_OTHERS = 4  # phrases about files that are not read
_LABEL = "label"


def reading_picture(plan: Plan) -> Table:
    """Return a table of the top folders and files of labels: what each was taken for, and its number of images."""
    picture = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True, header_style="bold")
    picture.add_column("folder or file", overflow="ellipsis", no_wrap=True, max_width=_MAX_WIDTH)
    picture.add_column("taken for", overflow="fold")
    picture.add_column("files", justify="right", no_wrap=True)
    rows = _folders(plan)
    files = _files(plan)
    shown = rows if len(rows) + len(files) <= _MAX_FOLDERS else rows[:_FEW]
    for name, meaning, count in shown:
        picture.add_row(f"{printable(name)}/" if name else "(top)", printable(meaning), f"{count:,}")
    if others := rows[len(shown) :]:
        picture.add_row("…", f"{counted(len(others), 'more folder')}", f"{sum(row[2] for row in others):,}")
    for path, meaning in files:
        picture.add_row(printable(path), meaning, "" if "*" in path else "1")
    if len(plan.rejected):
        picture.add_row("(rejected)", "see below", f"{len(plan.rejected):,}")
    left_out = {kind: count for kind, count in plan.source.skipped.items() if kind != NEGATIVES}
    skipped = sorted(left_out.items(), key=lambda one: -one[1])
    for phrase, count in skipped[:_MAX_OTHERS]:
        picture.add_row("(not read)", printable(phrase), f"{count:,}")
    if rest := skipped[_MAX_OTHERS:]:
        picture.add_row("(not read)", "other files", f"{sum(count for _, count in rest):,}")
    return picture


def reading_lines(plan: Plan) -> list[str]:
    """Return how the source is read, as options where they can say it, and whether every file is accounted for."""
    if plan.source.reading is None:
        return []
    reading = from_data(plan.source.reading, "the plan")
    options = options_saying(reading)
    said = " ".join(shlex.join(words_of(name, value)) for name, value in options.items())
    more = "" if is_said_by(options, reading) else " and more, which `plan --write-config FILE` writes"
    lines = ["", f"read by {printable(said)}{more}"]
    if plan.source.layout == STATED:  # then files that nothing explains have stopped it
        rejected = f", {len(plan.rejected):,} rejected" if len(plan.rejected) else ""
        others = sum(plan.source.skipped.values())
        not_read = f", {others:,} not read" if others else ""
        lines.append(f"every file is accounted for: {counted(plan.num_examples, 'example')}{rejected}{not_read}")
    else:
        unread = {kind: num for kind, num in plan.source.skipped.items() if kind[:1] == "."}
        nums = [f"{num:,} {printable(kind)}" for kind, num in unread.items() if not Accounting(()).explains(f"x{kind}")]
        if nums:
            said = " and ".join(sorted(nums)[:_MAX_OTHERS])
            lines.append(f"stated so, a file that nothing explains stops; --ignore leaves it out (not read: {said})")
    return lines


def _folders(plan: Plan) -> list[tuple[str, str, int]]:
    """Return the top folders with what each was taken for and its number of files: images first, then masks."""
    names = [name for name in ("key", _LABEL, MASK_PATH.name) if name in plan.examples.schema.names]
    rows = plan.examples.select(names).take(pa.array(plan.order))
    columns = {"top": _tops(rows["key"])}
    columns["split"] = pa.array(np.repeat(np.arange(len(plan.splits)), [split.num_examples for split in plan.splits]))
    has_classes = _LABEL in rows.schema.names and pa.types.is_integer(rows.schema.field(_LABEL).type)
    columns["label"] = rows[_LABEL].cast(pa.int64()) if has_classes else pa.nulls(len(rows), pa.int64())
    has_masks = MASK_PATH.name in rows.schema.names
    counts = [("split", "count_distinct"), ("split", "min"), ("label", "count_distinct"), ("label", "min")]
    grouped = pa.table(columns).group_by("top", use_threads=False)
    found = grouped.aggregate([*counts, ("top", "count")]).sort_by("top").to_pylist()
    images = [(row["top"], _meaning(row, plan, has_masks=has_masks), row["top_count"]) for row in found]
    if not has_masks:
        return images
    masks = pc.value_counts(_tops(rows[MASK_PATH.name])).to_pylist()
    return images + [(one["values"], "masks", one["counts"]) for one in masks if one["values"] is not None]


def _files(plan: Plan) -> list[tuple[str, str]]:
    """Return the files of labels and what each was taken for; those that are not used last."""
    used = [(one.path, one.gives) for one in plan.used_files if one.gives != "masks"]  # masks have a folder's row
    claims = [one for one in plan.claims if not one.is_used]
    names = ("" if one.num_files > 1 else f"; names {counted(one.num_named, 'image')}" for one in claims)
    unused = [(one.glob.strip("/"), f"not used{named}") for one, named in zip(claims, names, strict=True)]
    files = [*used, *unused]
    if len(files) <= _MAX_FILES:
        return files
    few = [*used[: _MAX_FILES - 1 - bool(unused)], *unused[:1]]
    return [*few, ("…", counted(len(files) - len(few), "more file"))]


def _tops(paths: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the first folder of each path; '' for a file without one."""
    return pc.replace_substring_regex(paths, r"^(?:([^/]*)/)?(?s:.*)$", r"\1")


def _meaning(row: dict[str, Any], plan: Plan, *, has_masks: bool) -> str:
    parts = []
    if row["split_count_distinct"] == 1 and len(plan.splits) > 1:
        parts.append(f"split {plan.splits[row['split_min']].name}")
    if row["label_count_distinct"] == 1 and row["label_min"] == NO_LABEL:
        parts.append("images without a label")
    elif row["label_count_distinct"] == 1 and len(plan.classes) > 1:
        name = plan.classes[row["label_min"]]
        parts.append("class" if name == row["top"] else f"class {name!r}")
    elif row["label_count_distinct"]:
        has_unlabelled = row["label_min"] == NO_LABEL
        parts.append(counted(row["label_count_distinct"] - has_unlabelled, "class"))
        parts += ["some images without a label"] if has_unlabelled else []
    return ", ".join([*parts, "images with masks"] if has_masks else parts or ["images"])
