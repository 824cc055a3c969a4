"""Class names in label order, and the labels of every example: stored ones, and the one that it is dealt by."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.dataset.features import LABEL
from shardkit.errors import CallError
from shardkit.hashing import COLUMN_BLOCK
from shardkit.inventory.columns import LABEL_NAMES, OBJECTS, TARGET, features_of
from shardkit.planning.options import ConvertOptions
from shardkit.planning.rows import Rows

_WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]*")  # as one is written: '007' is a name
TARGET_BINS = 10  # of a number to regress on: deciles are dealt, and stratified, as classes are


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels of n examples.

    Attributes:
        classes: names in label order; empty where there are none.
        dealt_by: int32[n], what shards and strata are balanced by: the label; of several the one that is rarest in the
            source, len(classes) for none; of a number its decile; 0 where there is nothing to go by.
        flat: int32[m], the distinct labels of all examples end to end; None without lists of labels.
        starts: int64[n + 1], where each example's begin.
    """

    classes: list[str]
    dealt_by: npt.NDArray[np.int32]
    flat: npt.NDArray[np.int32] | None = None
    starts: npt.NDArray[np.int64] | None = None

    def counts(self, members: npt.NDArray[np.integer[Any]]) -> list[int]:
        """How many of some examples have each class."""
        counts = np.zeros(len(self.classes), np.int64)
        # NumPy counts int64 only: of all at once it would make a copy.
        for start in range(0, len(members) if self.classes else 0, COLUMN_BLOCK):
            some = members[start : start + COLUMN_BLOCK]
            if self.flat is None or self.starts is None:
                labels = self.dealt_by[some]
            else:
                labels = self.flat[_ranges(self.starts[some], self.starts[some + 1])]
            counts += np.bincount(labels, minlength=len(counts))
        found: list[int] = counts.tolist()
        return found

    def differ(self, rows: npt.NDArray[np.intp], others: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
        """Whether the labels of an example are not those of another one, pair by pair."""
        if self.flat is None or self.starts is None:
            differ: npt.NDArray[np.bool_] = self.dealt_by[rows] != self.dealt_by[others]
            return differ
        flat, starts = self.flat, self.starts
        return np.array(
            [
                flat[starts[one] : starts[one + 1]].tolist() != flat[starts[other] : starts[other + 1]].tolist()
                for one, other in zip(rows.tolist(), others.tolist(), strict=True)
            ],
            np.bool_,
        )


def _ranges(starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """All numbers of [starts[i], ends[i]), end to end."""
    lengths = ends - starts
    before = np.cumsum(lengths) - lengths
    ranges: npt.NDArray[np.int64] = np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
    return ranges


def labels_of(inventory: pa.Table, good: Rows, options: ConvertOptions, given: Sequence[str] | None) -> Labels:
    """The labels of the good rows of an inventory.

    Args:
        inventory: all of it: a class keeps its label when its last good image goes bad.
        good: those of its rows that are planned.
        options: `classes` counts before all else.
        given: class names in label order as the source's format says them; None to sort the names found.

    Raises:
        CallError: a label that `--classes` does not name.
    """
    names = inventory.schema.names
    if OBJECTS in names or LABEL_NAMES in names:
        classes = _classes(label_names(inventory), options, given)
        return _of_lists(good, classes)
    if TARGET in names:
        return Labels([], _deciles(good[TARGET]))
    if features_of(inventory.schema).get(LABEL) is None:
        # Which classes a mask holds is in its pixels; nothing is counted.
        nothing = np.zeros(0, np.int32), np.zeros(len(good) + 1, np.int64)
        return Labels(list(options.classes or given or ()), np.zeros(len(good), np.int32), *nothing)
    classes = _classes(label_names(inventory), options, given)
    return Labels(classes, _label_of_each(good["label_name"], classes))


def _label_of_each(names: pa.ChunkedArray, classes: list[str]) -> npt.NDArray[np.int32]:
    # By the dictionary's codes: as text, the names of a hundred million rows take gigabytes.
    names = (names if pa.types.is_dictionary(names.type) else names.dictionary_encode()).unify_dictionaries()
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in names.chunks])
    label_of = pc.index_in(names.chunk(0).dictionary, pa.array(classes, pa.string())).to_numpy()
    labels: npt.NDArray[np.int32] = label_of.astype(np.int32)[codes]
    return labels


def _classes(values: pa.ChunkedArray | pa.Array, options: ConvertOptions, given: Sequence[str] | None) -> list[str]:
    found = sorted_names(name for name in pc.unique(values).to_pylist() if name is not None)
    return classes_of(found, options, given)


def classes_of(found: Sequence[str], options: ConvertOptions, given: Sequence[str] | None) -> list[str]:
    """Return the classes in label order, given the label names found, sorted.

    Raises:
        CallError: a label that `--classes`, or the source's own list, does not name.
    """
    if options.classes is None and given is None:
        return list(found)
    wanted = list(dict.fromkeys(options.classes or given or ()))
    known = set(wanted)
    unknown = [name for name in found if name not in known]
    if unknown:
        some = ", ".join(map(repr, unknown[:10]))
        what, where = ("--classes", " to the file") if options.classes is not None else ("its own list of classes", "")
        msg = f"the source has {len(unknown)} labels that {what} does not name: {some}; add them{where}"
        raise CallError(msg)
    return wanted


def sorted_names(names: Iterable[str]) -> list[str]:
    """Class names in label order: whole numbers by value, 2 before 10, where all are; as text otherwise."""
    found = list(names)
    return sorted(found, key=int if all(map(_WHOLE_NUMBER.fullmatch, found)) else None)


def fixed_classes(schema: pa.Schema, options: ConvertOptions, given: Sequence[str] | None) -> list[str] | None:
    """Return the classes in label order if they are known before the source is listed, else None."""
    wanted = () if TARGET in schema.names else options.classes or given
    return None if wanted is None else list(dict.fromkeys(wanted))


def label_names(table: pa.Table) -> pa.Array | pa.ChunkedArray:
    """Return the label names of all rows of an inventory or a listing, end to end, with repetitions and nulls."""
    is_list = OBJECTS in table.column_names or LABEL_NAMES in table.column_names
    return _list_values(table)[0] if is_list else table["label_name"]


def _list_values(table: pa.Table | Rows) -> tuple[pa.Array, npt.NDArray[np.int64]]:
    """Label names of all rows end to end, and int64[n + 1] where each row's begin."""
    is_objects = OBJECTS in table.column_names
    column = pa.chunked_array(table[OBJECTS if is_objects else LABEL_NAMES]).combine_chunks()
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    values = column.flatten()
    starts = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    return (pc.struct_field(values, "label_name") if is_objects else values), starts


def _of_lists(good: Rows, classes: list[str]) -> Labels:
    values, starts = _list_values(good)
    labels = pc.index_in(values, pa.array(classes, pa.string())).to_numpy(zero_copy_only=False).astype(np.int64)
    row_of = np.repeat(np.arange(len(good)), np.diff(starts))
    distinct = np.unique(row_of * max(1, len(classes)) + labels)
    rows, flat = np.divmod(distinct, max(1, len(classes)))
    num_distinct = np.bincount(rows, minlength=len(good))
    # A class's commonness, ties by label, so that the rarest of a row is one minimum.
    rank = np.empty(len(classes), np.int64)
    rank[np.lexsort((np.arange(len(classes)), np.bincount(flat, minlength=len(classes))))] = np.arange(len(classes))
    rarest = np.full(len(good), len(classes), np.int64)
    np.minimum.at(rarest, rows, rank[flat])
    by_rank = np.append(np.argsort(rank), len(classes))
    return Labels(
        classes,
        by_rank[rarest].astype(np.int32),
        flat.astype(np.int32),
        np.concatenate(([0], np.cumsum(num_distinct, dtype=np.int64))),
    )


def _deciles(column: pa.ChunkedArray) -> npt.NDArray[np.int32]:
    values = pc.list_element(column, 0).to_numpy().astype(np.float64)
    rank = np.empty(len(values), np.int64)
    rank[np.argsort(values, kind="stable")] = np.arange(len(values))
    return (rank * TARGET_BINS // max(1, len(values))).astype(np.int32)
