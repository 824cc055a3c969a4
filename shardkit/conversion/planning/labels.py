"""Class names in label order, and the labels and the stratum of every example."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.inventory.columns import LABEL_NAMES, TARGET, features_of
from shardkit.conversion.planning.earlier_examples import EarlierExamples, joined_classes, joined_mask_classes
from shardkit.conversion.planning.rows import Rows
from shardkit.dataset.features import LABEL, NO_LABEL
from shardkit.errors import CallError
from shardkit.images.masks import NO_CLASS
from shardkit.options.groups import ConvertOptions
from shardkit.options.words import named
from shardkit.sources.columns import IS_UNLABELLED, LAST_CLASS, OBJECTS

_WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]*")  # '007' is a name
TARGET_BINS = 10  # regression targets are stratified by decile, as if deciles were classes


@dataclass(frozen=True, slots=True)
class ExampleLabels:
    """Labels of n examples."""

    classes: list[str]  # class names in label order; empty without classes
    # int32[n], the stratum by which an example is split and assigned to shards: its label; of several labels the one
    # that is rarest in the source, or len(classes) for an empty list; NO_LABEL for an image without a label; of a
    # regression target its decile; 0 if there is none of these.
    strata: npt.NDArray[np.int32]
    # The distinct labels of each example as int32, ascending, NO_LABEL for an image without one; None unless examples
    # have lists of labels.
    lists: pa.LargeListArray | None = None

    @property
    def are_single(self) -> bool:
        """Whether each example has one class, which `labels` of a later conversion corrects."""
        return bool(self.classes) and self.lists is None

    def counts(self, members: npt.NDArray[np.integer[Any]]) -> list[int]:
        """Return the number of examples of each class among the given ones."""
        if not self.classes:
            return []
        labels = self.strata[members] if self.lists is None else _flat(self.lists, members)
        found: list[int] = np.bincount(labels[labels != NO_LABEL], minlength=len(self.classes)).tolist()
        return found

    def num_unlabelled(self, members: npt.NDArray[np.integer[Any]]) -> int:
        return int(np.count_nonzero(self.strata[members] == NO_LABEL))

    def differ(self, rows: npt.NDArray[np.intp], others: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
        """Return bool[m], whether the labels of rows[i] and others[i] differ; no label differs from none."""
        differ: npt.NDArray[np.bool_] = (self.strata[rows] != NO_LABEL) & (self.strata[others] != NO_LABEL)
        if self.lists is None:
            differ &= self.strata[rows] != self.strata[others]
        else:
            differ[differ] = _lists_differ(self.lists, rows[differ], others[differ])
        return differ

    def take(self, rows: npt.NDArray[np.intp]) -> "ExampleLabels":
        return ExampleLabels(
            self.classes, self.strata[rows], None if self.lists is None else self.lists.take(pa.array(rows))
        )


def _flat(lists: pa.LargeListArray, rows: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int32]:
    """Return the values of some lists end to end."""
    values: npt.NDArray[np.int32] = lists.take(pa.array(rows)).flatten().to_numpy()
    return values


def _lists_differ(
    lists: pa.LargeListArray, rows: npt.NDArray[np.intp], others: npt.NDArray[np.intp]
) -> npt.NDArray[np.bool_]:
    lengths = pc.list_value_length(lists).to_numpy()
    differ: npt.NDArray[np.bool_] = lengths[rows] != lengths[others]
    # Of the pairs with equally many labels, compare these one by one: both are sorted.
    alike = np.flatnonzero(~differ)
    is_other = _flat(lists, rows[alike]) != _flat(lists, others[alike])
    differ[np.repeat(alike, lengths[rows[alike]])[is_other]] = True
    return differ


def encode_labels(
    inventory: pa.Table,
    good: Rows,
    options: ConvertOptions,
    given: Sequence[str] | None,
    earlier: EarlierExamples | None = None,
) -> ExampleLabels:
    """Encode the labels of the good rows of an inventory as numbers.

    The whole inventory counts: a class keeps its label even if its last good image goes bad. `classes` takes precedence
    over `given`, the names of the source's format; the classes of `earlier` come first.
    """
    names = inventory.schema.names
    if TARGET in names:
        return ExampleLabels([], _deciles(good[TARGET]))
    has_lists = OBJECTS in names or LABEL_NAMES in names
    if not has_lists and features_of(inventory.schema).get(LABEL) is None:
        # The classes of a mask are in its pixels, so nothing is counted here.
        no_labels = pa.LargeListArray.from_arrays(np.zeros(len(good) + 1, np.int64), pa.array([], pa.int32()))
        numbers = numbers_of_masks(inventory, options)
        if earlier is not None:
            given = joined_mask_classes(earlier, given or (), numbers)
        return ExampleLabels(list(options.classes or given or numbers), np.zeros(len(good), np.int32), no_labels)
    classes = _classes(label_names(inventory), options, given)
    if earlier is not None:
        classes = joined_classes(earlier, classes)
    if has_lists:
        return _encode_lists(good, classes)
    return ExampleLabels(classes, _label_of_each(good["label_name"], classes))


def numbers_of_masks(inventory: pa.Table, options: ConvertOptions) -> list[str]:
    """Return names for the classes of masks that nobody named: "0", "1" and so on, up to the greatest that a pixel has.

    Return None if no mask was read, if a number has more than 8 bits, as those of instances may have, or if 0 is the
    only one: the masks may be of 0 and 255, whose 255 would have no output in a model.
    """
    last = pc.max(inventory[LAST_CLASS.name]).as_py() if LAST_CLASS.name in inventory.column_names else None
    if not last or last < 1 or last >= min(NO_CLASS):
        return []
    if options.stored.mask_padding is not None and options.stored.mask_padding not in NO_CLASS:
        last = max(last, options.stored.mask_padding)
    return [str(number) for number in range(last + 1)]


def _label_of_each(names: pa.ChunkedArray, classes: list[str]) -> npt.NDArray[np.int32]:
    if pa.types.is_null(names.type):
        return np.full(len(names), NO_LABEL, np.int32)
    # Via the dictionary's codes, because as text the names of a hundred million rows take gigabytes.
    names = (names if pa.types.is_dictionary(names.type) else names.dictionary_encode()).unify_dictionaries()
    # The code of a missing name is the last: its label is NO_LABEL.
    codes = np.concatenate([chunk.indices.fill_null(-1).to_numpy() for chunk in names.chunks])
    label_of = pc.index_in(names.chunk(0).dictionary, pa.array(classes, pa.string())).to_numpy()
    labels: npt.NDArray[np.int32] = np.append(label_of.astype(np.int32), np.int32(NO_LABEL))[codes]
    return labels


def _classes(values: pa.ChunkedArray | pa.Array, options: ConvertOptions, given: Sequence[str] | None) -> list[str]:
    found = sorted_names(name for name in pc.unique(values).to_pylist() if name is not None)
    return classes_of(found, options, given)


def classes_of(found: Sequence[str], options: ConvertOptions, given: Sequence[str] | None) -> list[str]:
    """Return the classes in label order."""
    if options.classes is None and given is None:
        return list(found)
    wanted = list(dict.fromkeys(options.classes or given or ()))
    known = set(wanted)
    unknown = [name for name in found if name not in known]
    if unknown:
        some = ", ".join(map(repr, unknown[:10]))
        what, where = (
            (named("classes"), " to the file") if options.classes is not None else ("its own list of classes", "")
        )
        raise CallError(f"the source has {len(unknown)} labels that {what} does not name: {some}; add them{where}")
    return wanted


def sorted_names(names: Iterable[str]) -> list[str]:
    """Return class names in label order: by value (2 before 10) if all are whole numbers, else as text."""
    found = list(names)
    return sorted(found, key=int if all(map(_WHOLE_NUMBER.fullmatch, found)) else None)


def fixed_classes(schema: pa.Schema, options: ConvertOptions, given: Sequence[str] | None) -> list[str] | None:
    """Return the classes in label order if they are known before the source is listed, else None."""
    wanted = () if TARGET in schema.names else options.classes or given
    return None if wanted is None else list(dict.fromkeys(wanted))


def label_names(table: pa.Table) -> pa.ChunkedArray:
    """Return the label names of all rows of an inventory or listing, end to end, with repetitions and nulls."""
    return labels_and_rows(table)[0]


def labels_and_rows(table: pa.Table) -> tuple[pa.ChunkedArray, npt.NDArray[np.int64]]:
    """Return the label names of all rows, as `label_names`, and int64[m], the row of each of them."""
    if OBJECTS not in table.column_names and LABEL_NAMES not in table.column_names:
        return table["label_name"], np.arange(len(table))
    values, starts = _list_values(table)
    return pa.chunked_array([values]), np.repeat(np.arange(len(table)), np.diff(starts))


def _list_values(table: pa.Table | Rows) -> tuple[pa.Array, npt.NDArray[np.int64]]:
    """Return the label names of all rows end to end, and int64[n + 1], the start of each row's names."""
    is_objects = OBJECTS in table.column_names
    column = pa.chunked_array(table[OBJECTS if is_objects else LABEL_NAMES]).combine_chunks()
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    values = column.flatten()
    starts = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    return (pc.struct_field(values, "label_name") if is_objects else values), starts


def _encode_lists(good: Rows, classes: list[str]) -> ExampleLabels:
    values, starts = _list_values(good)
    labels = pc.index_in(values, pa.array(classes, pa.string())).to_numpy(zero_copy_only=False).astype(np.int64)
    row_of = np.repeat(np.arange(len(good)), np.diff(starts))
    distinct = np.unique(row_of * max(1, len(classes)) + labels)
    rows, flat = np.divmod(distinct, max(1, len(classes)))
    # Rank classes by frequency, equal ones by label, so that the rarest class of a row is a minimum.
    rank = np.empty(len(classes), np.int64)
    rank[np.lexsort((np.arange(len(classes)), np.bincount(flat, minlength=len(classes))))] = np.arange(len(classes))
    rarest = np.full(len(good), len(classes), np.int64)
    np.minimum.at(rarest, rows, rank[flat])
    strata = np.append(np.argsort(rank), len(classes))[rarest].astype(np.int32)
    is_unlabelled = unlabelled_rows(good)
    if len(is_unlabelled):
        strata[is_unlabelled] = NO_LABEL
        at = np.searchsorted(rows, is_unlabelled)
        rows, flat = np.insert(rows, at, is_unlabelled), np.insert(flat, at, NO_LABEL)
    ends = np.cumsum(np.bincount(rows, minlength=len(good)), dtype=np.int64)
    lists = pa.LargeListArray.from_arrays(np.concatenate(([0], ends)), flat.astype(np.int32))
    return ExampleLabels(classes, strata, lists)


def unlabelled_rows(table: pa.Table | Rows) -> npt.NDArray[np.intp]:
    """Return the rows of an inventory whose images have no label on purpose, ascending."""
    if IS_UNLABELLED.name not in table.column_names:
        return np.zeros(0, np.intp)
    column = pa.chunked_array(table[IS_UNLABELLED.name]).cast(IS_UNLABELLED.type)
    return np.flatnonzero(column.fill_null(False).to_numpy())  # noqa: FBT003 - the value to fill in


def _deciles(column: pa.ChunkedArray) -> npt.NDArray[np.int32]:
    values = pc.list_element(column, 0).to_numpy().astype(np.float64)
    rank = np.empty(len(values), np.int64)
    rank[np.argsort(values, kind="stable")] = np.arange(len(values))
    return (rank * TARGET_BINS // max(1, len(values))).astype(np.int32)
