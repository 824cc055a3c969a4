"""Assign every example to a split: the source's own, or by ratio; and find the examples that must share one."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit import naming
from shardkit.errors import CallError
from shardkit.hashing import hash64_column
from shardkit.planning.labels import ExampleLabels
from shardkit.planning.options import ConvertOptions
from shardkit.planning.rows import Rows
from shardkit.planning.splits import grouping
from shardkit.planning.splits.splitting import split_by_hash
from shardkit.planning.splits.stratifying import split_atomic_groups
from shardkit.sources.listing import GROUP


@dataclass(frozen=True, slots=True)
class Relations:
    """Groups and exact duplicates among n examples.

    Attributes:
        groups: Group names, null for an example without a group; None if the source has no groups.
        group_codes: int64[n], see grouping; None without groups.
        duplicate_codes: int64[n], see grouping; None if contents are not known.
    """

    groups: pa.ChunkedArray | None
    group_codes: npt.NDArray[np.int64] | None
    duplicate_codes: npt.NDArray[np.int64] | None

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

        Args:
            with_duplicates: Whether exact duplicates must share a split too.

        Returns:
            int64[n], or None if no example belongs to one.
        """
        groups, duplicates = self.group_codes, self.duplicate_codes if with_duplicates else None
        if groups is None or duplicates is None:
            return duplicates if groups is None else groups
        return grouping.merge_atomic_groups(groups, duplicates)


def contents_known(good: Rows) -> bool:
    """Return whether every file was read before planning."""
    return not good.lazy_column("content_sha256").has_nulls


def find_relations(good: Rows, options: ConvertOptions) -> Relations:
    """Find groups and exact duplicates among the good rows of an inventory.

    Args:
        good: The rows.
        options: Options of the conversion.

    Raises:
        CallError: `--group-by` is neither a column nor a regular expression that matches a key.
    """
    groups = good[GROUP.name] if GROUP.name in good.column_names else None
    if groups is not None and groups.null_count == len(groups):
        groups = None
    if groups is None and options.group_by is not None:
        groups = grouping.groups_by_pattern(good["key"], options.group_by)
    group_codes = None if groups is None else grouping.group_codes(groups)
    contents = good.lazy_column("content_sha256")
    return Relations(groups, group_codes, grouping.duplicate_codes(contents) if contents_known(good) else None)


def refuse_own_splits(given: list[str]) -> None:
    """Refuse `--splits` for a source that has splits of its own.

    Args:
        given: Names of the source's splits.

    Raises:
        CallError: There are such splits; the message names them.
    """
    if given:
        msg = f"the source has its own splits ({', '.join(given)}); leave out --splits, or convert one of its folders"
        raise CallError(msg)


def assign_splits(
    good: Rows, labels: ExampleLabels, relations: Relations, options: ConvertOptions
) -> tuple[npt.NDArray[np.int32], list[str]]:
    """Assign every good row to a split.

    Args:
        good: The rows.
        labels: Labels of the rows.
        relations: Groups and duplicates among the rows.
        options: Options of the conversion.

    Returns:
        int32[n], index of each row's split; and the names of the splits.

    Raises:
        CallError: The source has splits and `--splits` is given, or a split would be empty.
    """
    given = sorted({name for name in pc.unique(good["split"]).to_pylist() if name is not None})
    if options.splits is None:
        names = naming.split_order(set(given)) or ["train"]
        if not given:
            return np.zeros(len(good), np.int32), names
        return pc.index_in(good["split"], pa.array(names)).to_numpy().astype(np.int32), names
    refuse_own_splits(given)
    # A fixed order, not the user's: the plan's description has no order, and equal descriptions must give equal plans.
    names = naming.split_order(set(options.splits))
    ratios = {name: options.splits[name] for name in names}
    group_duplicates = options.dedupe != "ignore"
    atomic_groups = relations.atomic_groups(with_duplicates=group_duplicates)
    if options.split_by == "hash":
        tokens = good.lazy_column("content_sha256" if contents_known(good) and group_duplicates else "key")
        hashes = grouping.atomic_group_hashes(atomic_groups, tokens, relations.groups, seed=options.seed)
        split_of = split_by_hash(hashes, ratios)
    else:
        hashes = hash64_column(good.lazy_column("key"), seed=options.seed, purpose="split")
        split_of = split_atomic_groups(hashes, labels, ratios, atomic_groups)
    counts = np.bincount(split_of, minlength=len(names))
    if not counts.all():
        empty = names[int(np.argmin(counts))]
        remedy = "leave that split out" if options.group_by is None else "leave out --group-by"
        remedy = "use --split-by stratified" if options.split_by == "hash" else remedy
        msg = f"split {empty!r} would get none of the {len(good)} examples; raise its share, or {remedy}"
        raise CallError(msg)
    return split_of, names


def relation_notes(
    good: Rows, labels: ExampleLabels, relations: Relations, split_of: npt.NDArray[np.int32]
) -> list[str]:
    """Return notes for the user: groups and duplicates in several splits, and duplicates with different labels.

    Args:
        good: The rows.
        labels: Labels of the rows.
        relations: Groups and duplicates among the rows.
        split_of: int32[n], index of each row's split.
    """
    notes = []
    for codes, what, remedy in (
        (relations.group_codes, "groups", "do not use the source's splits, or correct them"),
        (relations.duplicate_codes, "exact duplicates", "drop all but the first with --dedupe drop"),
    ):
        leaking = np.zeros(0, np.int64) if codes is None else grouping.groups_in_several_splits(codes, split_of)
        if codes is not None and len(leaking):
            rows = np.flatnonzero(codes == leaking[0])
            one, other = rows[0], rows[split_of[rows] != split_of[rows[0]]][0]
            keys = f"{good['key'][int(one)]} and {good['key'][int(other)]}"
            notes.append(f"{what} in more than one split: {len(leaking)}, first {keys}; {remedy}")
    if relations.duplicate_codes is not None:
        conflict = _find_label_conflict(relations.duplicate_codes, labels)
        if conflict is not None:
            keys = f"{good['key'][conflict.row]} and {good['key'][conflict.other_row]}"
            notes.append(f"exact duplicates with different labels: {conflict.num_sets}, first {keys}; which is right?")
    return notes


class _LabelConflict(NamedTuple):
    num_sets: int  # sets of duplicates with different labels
    row: int  # two rows of the first set
    other_row: int


def _find_label_conflict(codes: npt.NDArray[np.int64], labels: ExampleLabels) -> _LabelConflict | None:
    rows = np.flatnonzero(codes >= 0)
    if not len(rows):
        return None
    order = rows[np.argsort(codes[rows], kind="stable")]
    is_first = np.concatenate(([True], codes[order[1:]] != codes[order[:-1]]))
    first_of = order[is_first][np.cumsum(is_first) - 1]
    differs = labels.differ(order, first_of)
    if not differs.any():
        return None
    at = int(np.flatnonzero(differs)[0])
    return _LabelConflict(len(np.unique(codes[order[differs]])), int(first_of[at]), int(order[at]))
