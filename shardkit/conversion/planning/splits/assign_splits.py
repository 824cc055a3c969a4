"""Assign every example to a split: the source's own, or by ratio; and find the examples that must share one.

`dataset.index.groups.block_names` divides groups into blocks, which get their splits like groups. The images between
blocks of different splits are left out, so that no two neighbours of a recording are divided.

    rec07/12            rec07/13            rec07/14         blocks of 100 numbers
    1200 … 1299         1300 … 1399         1400 … 1499
    train               train               validation
                                     1395…1399 1400…1404     left out: a twentieth of a block on both sides
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.planning.earlier_examples import EarlierExamples, forced_splits
from shardkit.conversion.planning.labels import ExampleLabels
from shardkit.conversion.planning.rows import Rows
from shardkit.conversion.planning.splits import grouping
from shardkit.conversion.planning.splits.own_splits import check_splits, written_splits
from shardkit.conversion.planning.splits.splitting import split_by_hash
from shardkit.conversion.planning.splits.stratifying import split_atomic_groups
from shardkit.dataset.index.groups import block_names, last_numbers
from shardkit.hashing import hash64_column
from shardkit.naming import split_order
from shardkit.options.call import Change
from shardkit.options.groups import ConvertOptions
from shardkit.refusals import RefusalError
from shardkit.sources.columns import GROUP

_MARGIN = 20  # a block has so many margins


@dataclass(frozen=True, slots=True)
class Relations:
    """Groups and exact duplicates among n examples."""

    groups: pa.ChunkedArray | None  # group names, null for an example without a group; None if the source has no groups
    group_codes: npt.NDArray[np.int64] | None  # int64[n], see grouping; None without groups
    duplicate_codes: npt.NDArray[np.int64] | None  # int64[n], see grouping; None if contents are not known
    # int64[n], sets of near-identical images, as in grouping; None if they are not to share a split.
    near_codes: npt.NDArray[np.int64] | None = None

    @property
    def num_groups(self) -> int | None:
        """Number of groups; None without groups."""
        return None if self.group_codes is None else int(self.group_codes.max(initial=-1)) + 1

    @property
    def num_duplicates(self) -> int | None:
        """Number of examples with the same bytes as an earlier one; None if contents are not known."""
        codes = self.duplicate_codes
        return None if codes is None else int((codes >= 0).sum()) - (int(codes.max(initial=-1)) + 1)

    def atomic_groups(self, *, with_duplicates: bool) -> npt.NDArray[np.int64] | None:
        """Return the atomic group of every example; see grouping.merge_atomic_groups.

        Return None if no example belongs to one. `with_duplicates` says whether copies must share a split too.
        """
        merged = self.group_codes
        for codes in (self.duplicate_codes, self.near_codes) if with_duplicates else ():
            if codes is not None:
                merged = codes if merged is None else grouping.merge_atomic_groups(merged, codes)
        return merged

    def take(self, rows: npt.NDArray[np.intp]) -> "Relations":
        """Return the relations among some of the examples, as if there were no others."""
        duplicates, near = (
            None if codes is None else grouping.without_singles(codes[rows])
            for codes in (self.duplicate_codes, self.near_codes)
        )
        groups = None if self.groups is None else self.groups.take(pa.array(rows))
        if groups is None or self.group_codes is None or groups.null_count == len(groups):
            return Relations(None, None, duplicates, near)
        return Relations(groups, self.group_codes[rows], duplicates, near)


def contents_known(good: Rows) -> bool:
    """Return whether every file was read before planning."""
    return not good.lazy_column("content_sha256").has_nulls


def find_relations(good: Rows, options: ConvertOptions) -> Relations:
    """Find groups and exact duplicates among the good rows of an inventory."""
    groups = groups_of(good, options)
    group_codes = None if groups is None else grouping.group_codes(groups)
    contents = good.lazy_column("content_sha256")
    return Relations(groups, group_codes, grouping.duplicate_codes(contents) if contents_known(good) else None)


def groups_of(good: Rows, options: ConvertOptions) -> pa.ChunkedArray | None:
    """Return the group of every row, null for a row without one; None if no row has one."""
    groups = good[GROUP.name] if GROUP.name in good.column_names else None
    if groups is not None and groups.null_count == len(groups):
        groups = None
    if groups is None and options.splits.group_by is not None:
        groups = grouping.groups_by_pattern(good["key"], options.splits.group_by)
    if options.splits.block is not None:
        if groups is None:
            raise grouping.no_groups(options.splits.block)
        groups = block_names(groups.cast(pa.string()), good["key"], options.splits.block)
    return groups


def assign_splits(
    good: Rows,
    labels: ExampleLabels,
    relations: Relations,
    options: ConvertOptions,
    earlier: EarlierExamples | None = None,
) -> tuple[npt.NDArray[np.int32], list[str]]:
    """Assign every good row to a split.

    Return int32[n], the index of each row's split, and the names of the splits. Appended examples need not be in every
    split: names without an example are left out.
    """
    if earlier is None:
        return _assign(good, labels, relations, options, may_be_empty=False)
    split_of, names = _assign(good, labels, relations, options, may_be_empty=True)
    return _with_earlier(good, relations, options, earlier, split_of, names)


def _with_earlier(
    good: Rows,
    relations: Relations,
    options: ConvertOptions,
    earlier: EarlierExamples,
    split_of: npt.NDArray[np.int32],
    names: list[str],
) -> tuple[npt.NDArray[np.int32], list[str]]:
    """Move rows to the split of their group or twin in the dataset, unless the source has decided their split."""
    group_duplicates = options.dedupe != "ignore" and contents_known(good)
    atomic_groups = relations.atomic_groups(with_duplicates=group_duplicates)
    forced = forced_splits(good, earlier, relations.groups, atomic_groups, with_duplicates=group_duplicates)
    if own_splits(good):
        given = good["split"].cast(pa.string())
        divided = set(
            np.flatnonzero(pc.is_in(given, pa.array(options.splits.splits_of, pa.string())).to_numpy()).tolist()
        )
        forced = {row: name for row, name in forced.items() if row in divided}
    every = split_order({*names, *forced.values()})
    moved = np.array([every.index(name) for name in names], np.int32)[split_of]
    if forced:
        moved[list(forced)] = [every.index(name) for name in forced.values()]
    used = np.unique(moved)
    return np.searchsorted(used, moved).astype(np.int32), [every[number] for number in used.tolist()]


def _assign(
    good: Rows,
    labels: ExampleLabels,
    relations: Relations,
    options: ConvertOptions,
    *,
    may_be_empty: bool,
) -> tuple[npt.NDArray[np.int32], list[str]]:
    own = own_splits(good)
    check_splits(own, options)
    names = written_splits(own, options)
    if options.splits.splits is None:
        if not own:
            return np.zeros(len(good), np.int32), names
        return pc.index_in(good["split"], pa.array(names)).to_numpy().astype(np.int32), names
    if not options.splits.splits_of:
        return _divide(good, labels, relations, options, may_be_empty=may_be_empty), names
    given = good["split"].cast(pa.string())
    is_divided = pc.is_in(given, pa.array(options.splits.splits_of)).to_numpy()
    split_of = pc.fill_null(pc.index_in(given, pa.array(names)), 0).to_numpy().astype(np.int32)
    rows = np.flatnonzero(is_divided)
    # Only the divided rows decide, so the result is that of a source without the other splits.
    divided = _divide(
        good.filter(is_divided), labels.take(rows), relations.take(rows), options, may_be_empty=may_be_empty
    )
    split_of[rows] = np.array([names.index(name) for name in split_order(set(options.splits.splits))], np.int32)[
        divided
    ]
    return split_of, names


def own_splits(good: Rows) -> list[str]:
    """Return the names of the splits that the rows have, sorted."""
    return sorted({name for name in pc.unique(good["split"]).to_pylist() if name is not None})


def _divide(
    good: Rows,
    labels: ExampleLabels,
    relations: Relations,
    options: ConvertOptions,
    *,
    may_be_empty: bool,
) -> npt.NDArray[np.int32]:
    """Return int32[n], each row's index into the wanted splits in their usual order."""
    wanted = options.splits.splits or {}
    # A fixed order, not the user's: the plan's description has no order, and equal descriptions must give equal plans.
    names = split_order(set(wanted))
    ratios = {name: wanted[name] for name in names}
    group_duplicates = options.dedupe != "ignore"
    atomic_groups = relations.atomic_groups(with_duplicates=group_duplicates)
    if options.splits.split_by == "hash":
        tokens = good.lazy_column("content_sha256" if contents_known(good) and group_duplicates else "key")
        hashes = grouping.atomic_group_hashes(atomic_groups, tokens, relations.groups, seed=options.seed)
        split_of = split_by_hash(hashes, ratios)
    else:
        hashes = hash64_column(good.lazy_column("key"), seed=options.seed, purpose="split")
        split_of = split_atomic_groups(hashes, labels, ratios, atomic_groups)
    counts = np.bincount(split_of, minlength=len(names))
    if not counts.all() and not may_be_empty:
        empty = names[int(np.argmin(counts))]
        problem = f"split {empty!r} would get none of the {len(good)} examples"
        changes = []
        if options.splits.split_by == "hash":
            changes.append(Change("every split gets its share", {"split_by": "stratified"}))
        elif options.splits.group_by is not None:
            changes.append(Change("groups are divided", {"group_by": None}))
        raise RefusalError(problem, changes, remedy="raise its share or leave this split out")
    return split_of


def margin_of(block: int) -> int:
    """Return how many numbers are left out on both sides of a border between splits.

    At least one on both sides: the numbers of the images that are left then differ by three or more.
    """
    return max(1, block // _MARGIN)


def neighbours(name: str) -> tuple[str, ...]:
    """Return the names of the blocks before and after a block; () for a group without numbers."""
    group, _, number = name.rpartition("/")
    return (f"{group}/{int(number) - 1}", f"{group}/{int(number) + 1}") if number.isdecimal() else ()


def between_blocks(
    good: Rows,
    relations: Relations,
    split_of: npt.NDArray[np.int32],
    names: Sequence[str],
    options: ConvertOptions,
    earlier: EarlierExamples | None,
) -> npt.NDArray[np.bool_]:
    """Return bool[n], whether an image is next to a block of another split, and its own split is not the source's."""
    found = np.zeros(len(good), np.bool_)
    groups, codes, block = relations.groups, relations.group_codes, options.splits.block
    if groups is None or codes is None or block is None:
        return found
    rows = np.flatnonzero(codes >= 0)
    pairs, first, pair_of = np.unique(codes[rows] * len(names) + split_of[rows], return_index=True, return_inverse=True)
    blocks = groups.take(pa.array(rows[first])).to_pylist()
    own = [names[at] for at in (pairs % len(names)).tolist()]
    old = () if earlier is None else (earlier.rows[column].to_pylist() for column in ("group", "split"))
    splits_of: dict[str | None, set[str]] = {}
    for name, split in itertools.chain(zip(blocks, own, strict=True), zip(*old, strict=True)):
        splits_of.setdefault(name, set()).add(split)
    is_border = np.zeros((len(pairs), 2), np.bool_)
    for at, (name, split) in enumerate(zip(blocks, own, strict=True)):
        is_border[at] = [bool(splits_of.get(near, {split}) - {split}) for near in neighbours(name)] or False
    number = last_numbers(good["key"]).fill_null(0).to_numpy()[rows] % block
    is_at_start, is_at_end = number < margin_of(block), number >= block - margin_of(block)
    found[rows] = (is_at_start & is_border[pair_of, 0]) | (is_at_end & is_border[pair_of, 1])
    if options.splits.splits_of:
        found &= pc.is_in(good["split"].cast(pa.string()), pa.array(options.splits.splits_of)).to_numpy()
    return found
