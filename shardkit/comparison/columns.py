"""Find differences in the columns of paired index rows, without reading records."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.dataset.features import NO_LABEL
from shardkit.errors import DataError

Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]


def differs(a: pa.Table, b: pa.Table, column: str) -> Mask:
    """Return bool[n]: whether a column differs; two nulls are equal.

    Args:
        a: n rows of A.
        b: The paired rows of B.
        column: Name of a column of numbers, strings or bytes.
    """
    one, other = _plain(a[column]), _plain(b[column])
    unequal = pc.fill_null(pc.not_equal(one, other), False)  # noqa: FBT003 - Arrow's signature
    only_one = pc.xor(pc.is_null(one), pc.is_null(other))
    return _mask(pc.or_(unequal, only_one))


def is_empty(rows: pa.Table, column: str) -> Mask:
    """Return bool[n]: whether a column of strings is ''."""
    return _mask(pc.equal(_plain(rows[column]), ""))


def _plain(values: Any) -> Any:
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def _mask(values: Any) -> Mask:
    mask: Mask = values.to_numpy(zero_copy_only=False) if isinstance(values, pa.Array) else values.to_numpy()
    return mask.astype(bool)


def label_differs(a: pa.Table, b: pa.Table, numbers: Numbers, num_classes: int) -> Mask:
    """Return bool[n]: whether the examples have other classes, compared by name; the order of several does not count.

    Args:
        a: n rows of A.
        b: The paired rows of B.
        numbers: int64[number of classes of B], the number in A of each class of B.
        num_classes: Number of classes of A.

    Raises:
        DataError: A label is none of the classes.
    """
    rows_a, labels_a = _labels(a)
    rows_b, labels_b = _labels(b)
    for side, labels, number in (("A", labels_a, num_classes), ("B", labels_b, len(numbers))):
        if len(outside := labels[(labels < NO_LABEL) | (labels >= number)]):
            msg = f"an index of {side} has the label {outside[0]}, which is none of its {number} classes; "
            raise DataError(msg + "run `shardkit verify` on the dataset")
    in_a = np.append(numbers, NO_LABEL)[labels_b]  # NO_LABEL takes the last one
    return unequal_sets(rows_a, labels_a - NO_LABEL, rows_b, in_a - NO_LABEL, len(a))


def _labels(rows: pa.Table) -> tuple[Numbers, Numbers]:
    """Return the row and the number of every label, from the column that has it."""
    single = rows["label"]
    has_one = np.flatnonzero(_mask(pc.is_valid(single)))
    several = rows["labels"].combine_chunks()
    # `labels` is null where `label` is not, so no label counts twice.
    labels = [single.drop_null().to_numpy(), pc.list_flatten(several).to_numpy(zero_copy_only=False)]
    rows_of = [has_one, pc.list_parent_indices(several).to_numpy(zero_copy_only=False)]
    return np.concatenate(rows_of).astype(np.int64), np.concatenate(labels).astype(np.int64)


def unequal_sets(rows_a: Numbers, values_a: Numbers, rows_b: Numbers, values_b: Numbers, num_rows: int) -> Mask:
    """Return bool[num_rows]: whether the values of a row are another set in A than in B.

    Args:
        rows_a: int64[m], the row of each value of A, in [0, num_rows).
        values_a: int64[m], the values, 0 or more.
        rows_b: int64[k], the same for B.
        values_b: int64[k].
        num_rows: Number of rows.
    """
    width = 1 + max(values_a.max(initial=0), values_b.max(initial=0))
    # One number for each pair of row and value.
    only_one = np.setxor1d(rows_a * width + values_a, rows_b * width + values_b)
    unequal = np.zeros(num_rows, bool)
    unequal[only_one // width] = True
    return unequal
