"""The searchable table of classes: its data as JSON, within a total size."""

import json
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from shardkit.naming import printable
from shardkit.report.collection import Split, total_class_counts
from shardkit.report.page.parts import class_link, percent

MAX_TABLE_BYTES = 5 << 18  # 1.25 MiB, of the page's 5 MB
ROWS_SHOWN = 20  # before searching or unfolding
_NAME_LENGTHS = (200, 60, 24)  # long names are cut if the table gets too large


class ClassTable(NamedTuple):
    """The table of classes.

    Attributes:
        split_names: Names of the splits, one column each.
        num_classes: Number of classes in the table.
        num_all: Number of classes of the dataset.
        json: All rows: ``[label, name, count of each split …]``, largest first.
        rows: The first rows as text, for readers without scripts: label, name, total and share, and of each split.
    """

    split_names: Sequence[str]
    num_classes: int
    num_all: int
    json: str
    rows: Sequence[Sequence[str]]


def class_table(classes: Sequence[str], splits: Sequence[Split], with_pictures: Collection[int] = ()) -> ClassTable:
    """Return the table, largest classes first.

    Args:
        classes: Class names in label order.
        splits: The splits.
        with_pictures: Labels of the classes whose pictures are on the page.
    """
    totals = total_class_counts(splits)
    order = np.argsort(-totals, kind="stable")
    counts = np.stack([split.class_counts for split in splits])[:, order].T.tolist()
    examples = [max(1, split.num_examples) for split in splits]
    labels = order.tolist()
    text = ""
    for length in _NAME_LENGTHS:
        rows = [
            [label, _cut(printable(classes[label]), length), *row] for label, row in zip(labels, counts, strict=True)
        ]
        text = _json(examples, rows)
        if len(text.encode()) <= MAX_TABLE_BYTES:
            break
    while (num_bytes := len(text.encode())) > MAX_TABLE_BYTES:
        rows = rows[: len(rows) * MAX_TABLE_BYTES // num_bytes - 1]
        text = _json(examples, rows)
    total = sum(split.num_examples for split in splits) or 1
    shown = []
    for label, name, *row in rows[:ROWS_SHOWN]:
        cells = [f"{sum(row):,}", percent(sum(row) / total)]
        if len(splits) > 1:
            for count, num in zip(row, examples, strict=True):
                cells += [f"{count:,}", percent(count / num)]
        shown.append([f"{label}", class_link(str(name), int(str(label)), with_pictures), *cells])
    return ClassTable([split.name for split in splits], len(rows), len(classes), text, shown)


def _json(examples: Sequence[int], rows: Sequence[Sequence[object]]) -> str:
    """Return JSON that can be written into a script element: it has no `<`, so it cannot end the element."""
    text = json.dumps({"examples": examples, "rows": rows}, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _cut(name: str, length: int) -> str:
    return name if len(name) <= length else f"{name[: length - 1]}…"
