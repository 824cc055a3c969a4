"""The split of every example: as the source gives it, or by ratio; and what belongs together across splits."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit import naming
from shardkit.errors import CallError
from shardkit.hashing import hash64_column
from shardkit.planning import grouping
from shardkit.planning.labelling import Labels
from shardkit.planning.options import ConvertOptions
from shardkit.planning.rows import Rows
from shardkit.planning.splitting import split_by_hash
from shardkit.planning.stratifying import split_units
from shardkit.sources.listing import GROUP


@dataclass(frozen=True, slots=True)
class Ties:
    """What belongs together.

    Attributes:
        groups: names, null for none; None where the source has no groups.
        group_codes: int64[n]; see grouping; None without groups.
        duplicate_codes: int64[n]; None where contents are not known.
    """

    groups: pa.ChunkedArray | None
    group_codes: npt.NDArray[np.int64] | None
    duplicate_codes: npt.NDArray[np.int64] | None

    @property
    def num_groups(self) -> int | None:
        """How many groups there are; None without groups."""
        return None if self.group_codes is None else int(self.group_codes.max(initial=-1)) + 1

    @property
    def num_duplicates(self) -> int | None:
        """Examples of the same bytes as another one before them; None where contents are not known."""
        codes = self.duplicate_codes
        return None if codes is None else int((codes >= 0).sum()) - (int(codes.max(initial=-1)) + 1)

    def units(self, *, with_duplicates: bool) -> npt.NDArray[np.int64] | None:
        """See grouping.units_of; None where every example is alone."""
        groups, duplicates = self.group_codes, self.duplicate_codes if with_duplicates else None
        if groups is None or duplicates is None:
            return duplicates if groups is None else groups
        return grouping.units_of(groups, duplicates)


def contents_known(good: Rows) -> bool:
    """Whether every file was read before it is planned."""
    return not good.gathered("content_sha256").has_nulls


def ties_of(good: Rows, options: ConvertOptions) -> Ties:
    """What belongs together among the good rows of an inventory.

    Raises:
        CallError: `--group-by` is neither a column nor a regular expression that fits.
    """
    groups = good[GROUP.name] if GROUP.name in good.column_names else None
    if groups is not None and groups.null_count == len(groups):
        groups = None
    if groups is None and options.group_by is not None:
        groups = grouping.groups_by_pattern(good["key"], options.group_by)
    codes = None if groups is None else grouping.group_codes(groups)
    return Ties(
        groups, codes, grouping.duplicate_codes(good.gathered("content_sha256")) if contents_known(good) else None
    )


def refuse_own_splits(given: list[str]) -> None:
    """Refuse `--splits` for a source that has splits of its own.

    Raises:
        CallError: there are such splits; the message names them.
    """
    if given:
        msg = f"the source has its own splits ({', '.join(given)}); leave out --splits, or convert one of its folders"
        raise CallError(msg)


def assign_splits(
    good: Rows, labels: Labels, ties: Ties, options: ConvertOptions
) -> tuple[npt.NDArray[np.int32], list[str]]:
    """The split of every good row, as an index into the names.

    Raises:
        CallError: the source has splits and `--splits` is given, or a split would be empty.
    """
    given = sorted({name for name in pc.unique(good["split"]).to_pylist() if name is not None})
    if options.splits is None:
        names = naming.split_order(set(given)) or ["train"]
        if not given:
            return np.zeros(len(good), np.int32), names
        return pc.index_in(good["split"], pa.array(names)).to_numpy().astype(np.int32), names
    refuse_own_splits(given)
    # In one order, whatever the user's: the description, which must tell two conversions apart, has none.
    names = naming.split_order(set(options.splits))
    ratios = {name: options.splits[name] for name in names}
    units = ties.units(with_duplicates=options.dedupe != "ignore")
    if options.split_by == "hash":
        tokens = good.gathered("content_sha256" if contents_known(good) and options.dedupe != "ignore" else "key")
        split_of = split_by_hash(grouping.unit_hashes(units, tokens, ties.groups, seed=options.seed), ratios)
    else:
        split_of = split_units(
            hash64_column(good.gathered("key"), seed=options.seed, purpose="split"), labels, ratios, units
        )
    counts = np.bincount(split_of, minlength=len(names))
    if not counts.all():
        empty = names[int(np.argmin(counts))]
        what = "leave that split out" if options.group_by is None else "leave out --group-by"
        what = "use --split-by stratified" if options.split_by == "hash" else what
        msg = f"split {empty!r} would get none of the {len(good)} examples; raise its share, or {what}"
        raise CallError(msg)
    return split_of, names


def tie_notes(good: Rows, labels: Labels, ties: Ties, split_of: npt.NDArray[np.int32]) -> list[str]:
    """What the user should know of groups and duplicates: those that the source's own splits part, unlike labels."""
    notes = []
    for codes, what, remedy in (
        (ties.group_codes, "groups", "leave the source's splits out, or mend them"),
        (ties.duplicate_codes, "exact duplicates", "leave all but the first out with --dedupe drop"),
    ):
        parted = np.zeros(0, np.int64) if codes is None else grouping.straddling(codes, split_of)
        if codes is not None and len(parted):
            rows = np.flatnonzero(codes == parted[0])
            one, other = rows[0], rows[split_of[rows] != split_of[rows[0]]][0]
            keys = f"{good['key'][int(one)]} and {good['key'][int(other)]}"
            notes.append(f"{what} that stand in more than one split: {len(parted)}, first {keys}; {remedy}")
    if ties.duplicate_codes is not None and (pair := _disagreement(ties.duplicate_codes, labels)) is not None:
        number, one, other = pair
        keys = f"{good['key'][one]} and {good['key'][other]}"
        notes.append(f"exact duplicates with different labels: {number}, first {keys}; which one is right?")
    return notes


def _disagreement(codes: npt.NDArray[np.int64], labels: Labels) -> tuple[int, int, int] | None:
    """How many sets of duplicates have different labels, and two rows of the first; None for none."""
    rows = np.flatnonzero(codes >= 0)
    if not len(rows):
        return None
    order = rows[np.argsort(codes[rows], kind="stable")]
    first = np.concatenate(([True], codes[order[1:]] != codes[order[:-1]]))
    first_of = order[first][np.cumsum(first) - 1]
    differs = labels.differ(order, first_of)
    if not differs.any():
        return None
    number = len(np.unique(codes[order[differs]]))
    at = int(np.flatnonzero(differs)[0])
    return number, int(first_of[at]), int(order[at])
