"""Reject repeated keys; find near-identical images, which share a split; on request drop all but the first copy."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.inventory.columns import LABEL_NAMES, MASK_PATH, TARGET
from shardkit.conversion.inventory.source_files import Thumbnails
from shardkit.conversion.planning.earlier_examples import EarlierExamples, rows_with
from shardkit.conversion.planning.rows import LazyColumn, Rows
from shardkit.conversion.planning.splits.assign_splits import Relations
from shardkit.conversion.planning.splits.grouping import without_singles
from shardkit.dataset.index.perceptual_hashes import hash_words
from shardkit.hashing import COLUMN_BLOCK
from shardkit.images.similar.near_pairs import RADIUS, distances
from shardkit.images.similar.similar_sets import similar_sets
from shardkit.images.thumbnails import are_copies
from shardkit.options.groups import ConvertOptions
from shardkit.reject_reasons import DUPLICATE_KEY
from shardkit.sources.columns import LINE, OBJECTS, PERCEPTUAL_HASH

_Ints = npt.NDArray[np.int64]
_OF_SEVERAL = "several label files are about this image; keep one of them"


@dataclass(frozen=True, slots=True)
class NearDuplicates:
    """The near-identical images among the rows of an inventory."""

    # int64[number of rows of the inventory], the set of each image; -1 for one without a near copy. Images with the
    # same bytes as an earlier one have none: their duplicates tell.
    codes: _Ints
    num_alike: int  # number of images that look alike by nature, see `similar_sets`
    is_by_nature: bool  # whether these are so many that there are no sets

    def codes_of(self, good: Rows) -> _Ints:
        """Return int64[n], the set of each of some rows; -1 also for one whose copies are not among them."""
        return without_singles(self.codes if good.numbers is None else self.codes[good.numbers])


def counts_near(options: ConvertOptions) -> bool:
    """Return whether near-identical images share a split, or are dropped."""
    return options.dedupe in {"group", "drop"}


def compares_pixels(options: ConvertOptions, columns: Iterable[str]) -> bool:
    """Return whether images with these columns are compared in pixels before one is dropped.

    Boxes and masks are of one image and not of its copies, so there nothing is dropped.
    """
    return options.dedupe == "drop" and not {OBJECTS, MASK_PATH} & set(columns)


def find_near_duplicates(good: Rows, duplicate_codes: _Ints | None, options: ConvertOptions) -> NearDuplicates | None:
    """Find the near-identical images; None if they do not count, or no image has a perceptual hash."""
    if not counts_near(options) or duplicate_codes is None:
        return None
    rows, hashes = first_hashes(good, duplicate_codes)
    if len(rows) < 2:
        return None
    found = similar_sets(hashes)
    codes = np.full(len(good.table), -1, np.int64)
    codes[rows if good.numbers is None else good.numbers[rows]] = found.codes
    return NearDuplicates(codes, found.num_alike, found.is_by_nature)


def first_hashes(good: Rows, duplicate_codes: _Ints) -> tuple[_Ints, npt.NDArray[np.uint64]]:
    """Return the first row of each content that has a perceptual hash, and the hashes, uint64[n, 2]."""
    is_first = duplicate_codes < 0
    repeated = np.flatnonzero(~is_first)
    is_first[repeated[np.unique(duplicate_codes[repeated], return_index=True)[1]]] = True
    return known_hashes(good.lazy_column(PERCEPTUAL_HASH.name), np.flatnonzero(is_first))


def known_hashes(column: LazyColumn, rows: _Ints) -> tuple[_Ints, npt.NDArray[np.uint64]]:
    """Return those of some rows that have a perceptual hash, and the hashes, uint64[n, 2]."""
    known, words = [np.zeros(0, np.int64)], [np.zeros((0, 2), np.uint64)]
    for start in range(0, len(rows), COLUMN_BLOCK):
        block = rows[start : start + COLUMN_BLOCK]
        at, found = hash_words(column.take(block))
        known.append(block[at])
        words.append(found)
    return np.concatenate(known), np.concatenate(words)


def near_messages(
    good: Rows, near: NearDuplicates | None, earlier: EarlierExamples | None, thumbnails: Thumbnails
) -> dict[int, str]:
    """Return all near-identical images but the first keys, and those near an old one; each with what rejects it.

    An image whose pixels differ from those of all that are kept is kept, and shares their split.
    """
    messages = {}
    if earlier is not None and earlier.copies:
        for row in rows_with(good["content_sha256"], earlier.copies).tolist():
            messages[row] = "it is nearly identical to an image of the dataset"
    if near is not None:
        keys = good.lazy_column("key")
        for row, kept in _near_a_kept_one(good, near, sorted(messages), thumbnails).items():
            messages[row] = f"it is nearly identical to {keys.take(np.array([kept]))[0].as_py()}"
    return messages


def _near_a_kept_one(
    good: Rows, near: NearDuplicates, dropped: Sequence[int], thumbnails: Thumbnails
) -> dict[int, int]:
    """Return the rows to drop, each with the earlier row that it is near to; no row in `dropped` is kept."""
    codes = near.codes_of(good)
    codes[np.array(dropped, np.int64)] = -1
    rows = np.flatnonzero(codes >= 0)
    rows = rows[np.argsort(codes[rows], kind="stable")]
    hashes = known_hashes(good.lazy_column(PERCEPTUAL_HASH.name), rows)[1]
    pictures = dict(zip(rows.tolist(), thumbnails.of(good.take(rows)), strict=True))
    starts = np.flatnonzero(np.diff(codes[rows], prepend=-1))
    found = {}
    for some, of_some in zip(np.split(rows, starts[1:]), np.split(hashes, starts[1:]), strict=True):
        kept: list[int] = []
        for at, row in enumerate(some.tolist()):
            close = np.flatnonzero(distances(of_some[kept], of_some[at]) <= RADIUS)
            copied = next((i for i in close.tolist() if show_copies(pictures[int(some[kept[i]])], pictures[row])), None)
            if copied is None:
                kept.append(at)
            else:
                found[row] = int(some[kept[copied]])
    return found


def show_copies(one: bytes | None, other: bytes | None) -> bool:
    """Return whether two pictures are of copies; an image without one is kept."""
    return one is not None and other is not None and are_copies(one, other)


def copy_messages(good: Rows, relations: Relations) -> dict[int, str]:
    """Return all rows but the first key of every content, which must be known; each with what rejects it."""
    codes = relations.duplicate_codes
    if codes is None:
        raise AssertionError
    rows = np.flatnonzero(codes >= 0)
    _, first = np.unique(codes[rows], return_index=True)
    dropped = np.delete(rows, first)
    keys = good["key"]
    first_keys = (keys[int(rows[first[codes[row]]])] for row in dropped)
    return {row: f"it has the same bytes as {key}" for row, key in zip(dropped.tolist(), first_keys, strict=True)}


def reject_repeated_keys(inventory: pa.Table) -> pa.Table:
    """Return the inventory with every row but the first of a key rejected.

    If the rows of a key have different labels, or are of different files, all of them are rejected: nothing tells which
    is right.
    """
    if len(inventory) < 2:
        return inventory
    keys = inventory["key"].combine_chunks()
    has_lines = LINE.name in inventory.column_names
    lines = inventory[LINE.name].combine_chunks() if has_lines else pa.nulls(len(inventory))
    is_same = pc.fill_null(pc.equal(keys[1:], keys[:-1]), fill_value=False).to_numpy(zero_copy_only=False)
    repeated = np.flatnonzero(is_same) + 1
    if not len(repeated):
        return inventory
    messages = inventory["message"].to_pylist()
    reasons = inventory["reason"].to_pylist()
    labels = _labels_of(inventory, np.union1d(repeated, repeated - 1))
    for run in np.split(repeated, np.flatnonzero(np.diff(repeated) > 1) + 1):
        rows = [int(run[0]) - 1, *run.tolist()]  # all of a key
        usable = [row for row in rows if not reasons[row]]
        if not has_lines and len(usable) < 2:
            continue
        said = _different_labels(usable, lines, labels) if has_lines else _OF_SEVERAL
        for i in usable if said else [row for row in usable if row != rows[0]]:
            reasons[i] = DUPLICATE_KEY
            messages[i] = said or f"record {lines[i]} repeats the key of record {lines[i - 1]}; keep one of them"
    return with_texts(inventory, {"reason": pa.array(reasons, pa.string()), "message": pa.array(messages, pa.string())})


def with_texts(inventory: pa.Table, columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> pa.Table:
    """Return an inventory with other columns of texts; a compacted column of nulls has no type."""
    for name, values in columns.items():
        inventory = inventory.set_column(inventory.schema.get_field_index(name), name, values)
    return inventory


def _labels_of(inventory: pa.Table, rows: npt.NDArray[np.int64]) -> dict[int, Any]:
    """Return the label of each row: a name, a list of names, or a list of numbers; empty if rows have no label."""
    name = next((one for one in (LABEL_NAMES, TARGET, "label_name") if one in inventory.column_names), None)
    return (
        {} if name is None else dict(zip(rows.tolist(), inventory[name].take(pa.array(rows)).to_pylist(), strict=True))
    )


def _different_labels(rows: list[int], lines: pa.Array, labels: Mapping[int, Any]) -> str:
    """Return the sentence about records of one image that have different labels; '' if they have the same.

    `rows` are those of one key that are not rejected yet, in the order of their records.
    """
    if not rows:
        return ""
    first = rows[0]
    label = _comparable(labels.get(first))
    other = next((row for row in rows if _comparable(labels.get(row)) != label), None)
    if other is None:
        return ""
    said = (
        f"records {lines[first]} and {lines[other]} of this image have different labels, {_shown(labels[first])} and "
        f"{_shown(labels[other])}; keep the right one"
    )
    is_class = isinstance(labels[first], str) and isinstance(labels[other], str)
    several = "write all labels of an image into one record, such as 'cat;dog', with `label_separator=;`"
    return f"{said}, or {several}" if is_class else said


def _comparable(label: Any) -> Any:
    """Return the same value for the same classes in any order; numbers have an order."""
    return frozenset(label) if isinstance(label, list) and all(isinstance(one, str) for one in label) else label


def _shown(label: Any) -> str:
    if label is None:
        return "none"
    return ", ".join(map(str, label)) if isinstance(label, list) else repr(label)
