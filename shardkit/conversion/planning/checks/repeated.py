"""Check groups and exact duplicates: in several splits they leak, with several labels some of them are wrong."""

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.inventory.columns import TARGET
from shardkit.conversion.planning.checks.finding import Finding, Keys
from shardkit.conversion.planning.labels import ExampleLabels
from shardkit.conversion.planning.rows import Rows
from shardkit.conversion.planning.splits import grouping
from shardkit.conversion.planning.splits.assign_splits import Relations
from shardkit.naming import counted
from shardkit.options.call import Change
from shardkit.options.groups import ConvertOptions
from shardkit.options.words import named

_Ints = npt.NDArray[np.int64]


def check_repeated(
    good: Rows,
    labels: ExampleLabels,
    relations: Relations,
    split_of: npt.NDArray[np.int32],
    options: ConvertOptions,
) -> Iterator[Finding]:
    """Yield findings about groups and duplicates.

    Args:
        good: The rows.
        labels: Labels of the rows.
        relations: Groups and duplicates among the rows.
        split_of: int32[n], index of each row's split.
        options: Options of the conversion.
    """
    if relations.group_codes is not None:
        leaking = grouping.groups_in_several_splits(relations.group_codes, split_of)
        if len(leaking):
            yield Finding(
                "group_in_several_splits",
                "warns",
                f"{counted(len(leaking), 'group')} with images in more than one split",
                first_pairs(good, relations.group_codes, split_of),
                "move each group into one split; otherwise evaluation results are too good",
            )
    codes = relations.duplicate_codes
    if codes is None:
        return
    yield from copies_findings(good, codes, labels, split_of, options, "exact duplicates")


def copies_findings(
    good: Rows,
    codes: _Ints,
    labels: ExampleLabels,
    split_of: npt.NDArray[np.int32],
    options: ConvertOptions,
    what: Literal["exact duplicates", "near-identical images"],
) -> Iterator[Finding]:
    """Yield findings about copies in several splits and copies with different labels.

    Args:
        good: The rows.
        codes: int64[n], the set of copies of each row; negative for none.
        labels: Labels of the rows.
        split_of: int32[n], index of each row's split.
        options: Options of the conversion.
        what: What the copies are.
    """
    is_exact = what == "exact duplicates"
    code = "duplicate" if is_exact else "near_duplicate"
    leaking = grouping.groups_in_several_splits(codes, split_of)
    if len(leaking):
        # The source's own splits keep their images: only `drop` helps there.
        fixed = options.dedupe == "drop" or options.appended_to is not None
        changes = [] if fixed else [Change("keep the first of each", {"dedupe": "drop"})]
        is_apart = is_exact and options.dedupe == "ignore"
        if is_apart and options.splits.splits is not None and not options.splits.splits_of and not fixed:
            changes.append(Change("keep them in one split", {"dedupe": "group"}))
        yield Finding(
            f"{code}_in_several_splits",
            "warns",
            f"{counted(len(leaking), 'image')} with {what} in another split (a leak)",
            first_pairs(good, codes, split_of),
            changes=tuple(changes),
        )
    rows, others = label_conflicts(good, codes, labels)
    if len(rows):
        yield Finding(
            f"{code}_with_other_label",
            "warns",
            f"{counted(len(rows), 'image')} with {what} that have different labels",
            Keys(good.lazy_column("key"), rows, others),
            correcting(is_single=labels.are_single),
            has_fixes=labels.are_single,
        )


def correcting(*, is_single: bool) -> str:
    """Return how labels of a dataset are corrected.

    Args:
        is_single: Whether each image has one class.
    """
    labels = f", {named('labels')} corrects labels" if is_single else ""
    return f"convert with {named('drop')} removes images of a dataset{labels}"


def first_pairs(good: Rows, codes: _Ints, split_of: npt.NDArray[np.int32]) -> Keys:
    """Return the first two keys, of different splits, of each group or set of duplicates in several splits."""
    rows, others = _first_differing(codes, lambda order, first: split_of[order] != split_of[first])
    return Keys(good.lazy_column("key"), rows, others)


def label_conflicts(good: Rows, codes: _Ints, labels: ExampleLabels) -> tuple[_Ints, _Ints]:
    """Return the first row of each set of duplicates with different labels, and the first row with another label."""
    if TARGET not in good.column_names:
        return _first_differing(codes, labels.differ)
    targets = good.lazy_column(TARGET)  # numbers: the strata are only deciles of them
    return _first_differing(
        codes, lambda order, first: (_numbers(targets.take(order)) != _numbers(targets.take(first))).any(axis=1)
    )


def _first_differing(codes: _Ints, differ: Callable[[_Ints, _Ints], npt.NDArray[np.bool_]]) -> tuple[_Ints, _Ints]:
    """Return the first row of each set in which rows differ, and the first row that differs from it.

    Args:
        codes: int64[n], the set of each row; negative for none.
        differ: Function of two arrays of rows: whether they differ.
    """
    rows = np.flatnonzero(codes >= 0)
    if not len(rows):
        return rows, rows
    order = rows[np.argsort(codes[rows], kind="stable")]
    is_first = np.concatenate(([True], codes[order[1:]] != codes[order[:-1]]))
    first_of = order[is_first][np.cumsum(is_first) - 1]
    differing = np.flatnonzero(differ(order, first_of))
    _, at = np.unique(codes[order[differing]], return_index=True)
    return first_of[differing[at]], order[differing[at]]


def _numbers(targets: pa.ChunkedArray) -> npt.NDArray[np.float32]:
    """Return float32[n, number of targets]."""
    values: npt.NDArray[np.float32] = pc.list_flatten(targets).to_numpy()
    return values.reshape(len(targets), -1)
