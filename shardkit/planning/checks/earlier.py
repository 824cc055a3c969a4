"""Check the groups of appended examples: a group of the dataset in another split leaks."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from shardkit.naming import counted
from shardkit.planning.checks.finding import EXAMPLES_SHOWN, Finding
from shardkit.planning.earlier_examples import EarlierExamples, rows_with
from shardkit.planning.rows import Rows
from shardkit.planning.splits.assign_splits import Relations


def check_earlier(
    good: Rows, relations: Relations, earlier: EarlierExamples, split_of: Sequence[str]
) -> Iterator[Finding]:
    """Yield the finding about groups of the dataset that the source puts into another split.

    Args:
        good: The rows.
        relations: Groups among the rows.
        earlier: The dataset.
        split_of: Name of each row's split.
    """
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
        shown = sorted(leaking.items())[:EXAMPLES_SHOWN]
        keys = good["key"]
        yield Finding(
            "group_in_several_splits",
            "warns",
            f"{counted(len(leaking), 'group')} with images of the dataset in another split",
            tuple(f"{keys[row].as_py()} in {split_of[row]}: {name}" for name, row in shown),
            "move each group into one split; otherwise evaluation results are too good",
        )
