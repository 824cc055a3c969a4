"""Compare appended examples with the dataset: groups in another split leak, duplicates with another label are wrong."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from shardkit.conversion.planning.checks.finding import Finding
from shardkit.conversion.planning.checks.repeated import correcting
from shardkit.conversion.planning.earlier_examples import EarlierExamples, rows_with, twin_rows
from shardkit.conversion.planning.rows import Rows
from shardkit.conversion.planning.splits.assign_splits import Relations
from shardkit.naming import counted


def check_earlier(
    good: Rows, relations: Relations, earlier: EarlierExamples, split_of: Sequence[str]
) -> Iterator[Finding]:
    """Yield findings about groups of the dataset in another split, and duplicates of its images with another label.

    Args:
        good: The rows.
        relations: Groups among the rows.
        earlier: The dataset.
        split_of: Name of each row's split.
    """
    yield from _other_labels(good, earlier)
    if relations.groups is None or not earlier.groups:
        return
    rows = rows_with(relations.groups, earlier.groups)
    names = relations.groups.take(pa.array(rows)).to_pylist()
    leaking = {
        name: int(row)
        for row, name in zip(rows[::-1], names[::-1], strict=True)
        if split_of[row] not in earlier.groups[name]
    }
    if leaking:
        shown = sorted(leaking.items())
        keys = good["key"]
        yield Finding(
            "group_in_several_splits",
            "warns",
            f"{counted(len(leaking), 'group')} with images of the dataset in another split",
            tuple(f"{keys[row].as_py()} in {split_of[row]}: {name}" for name, row in shown),
            "move each group into one split; otherwise evaluation results are too good",
        )


def _other_labels(good: Rows, earlier: EarlierExamples) -> Iterator[Finding]:
    twins = twin_rows(good, earlier)
    rows = sorted(twins)
    names = good["label_name"].take(pa.array(rows, pa.int64())).to_pylist()
    pairs = [
        (row, next((twin for twin in twins[row].values() if twin.label_name not in {None, name}), None))
        for row, name in zip(rows, names, strict=True)
        if name is not None
    ]
    found = [(row, twin) for row, twin in pairs if twin is not None]
    if found:
        keys = good["key"]
        yield Finding(
            "duplicate_with_other_label",
            "warns",
            f"{counted(len(found), 'image')} with the bytes of an image of the dataset that has another label",
            tuple(f"{keys[row].as_py()} and {twin.key}" for row, twin in found),
            correcting(is_single=True),
            has_fixes=True,
        )
