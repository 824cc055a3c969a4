"""Find splits that divide what file names show to belong together, and a way to divide it that was tried."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.planning.checks.finding import Finding
from shardkit.conversion.planning.checks.repeated import first_pairs
from shardkit.conversion.planning.choosing import ChosenExamples
from shardkit.conversion.planning.splits import grouping
from shardkit.conversion.planning.splits.assign_splits import assign_splits, between_blocks
from shardkit.conversion.planning.splits.name_groups import NameGroups, find_name_groups
from shardkit.dataset.index.groups import block_names, last_numbers
from shardkit.errors import CallError
from shardkit.naming import counted
from shardkit.options.call import Change
from shardkit.options.groups import ConvertOptions

_BLOCKS = (1000, 500, 200, 100, 50, 20, 10)  # numbers; the largest block that divides well
_MAX_LEFT_OUT = 0.15  # of the images
_FACTOR = 2  # a split has at most so many times the images that it should have, and at least the inverse


def check_name_groups(chosen: ChosenExamples, options: ConvertOptions) -> Iterator[Finding]:
    """Yield a finding about groups that file names show and that the splits of shardkit divide."""
    if options.splits.splits is None or chosen.relations.groups is not None or options.appended_to is not None:
        return
    found = find_name_groups(chosen.good.lazy_column("key"), chosen.labels.strata)
    if found is None:
        return
    leaking = grouping.groups_in_several_splits(found.codes, chosen.split_of)
    if not len(leaking):
        return
    each = f"{counted(found.num_groups, 'group')} of images, such as {found.example!r}, and {len(leaking):,} of them"
    one = f"that the images are of one recording, {found.example!r}: parts of it"
    change = _dividing(chosen, options, found)
    yield Finding(
        "name_groups_in_several_splits",
        "warns",
        f"file names show {each if found.num_groups > 1 else one} are in several splits (a leak, if the images of a "
        "recording, patient, day or scene look alike)",
        first_pairs(chosen.good, found.codes, chosen.split_of),
        remedy=""
        if change
        else "there are too few to divide them by these shares: convert images of other groups as another split",
        changes=(change,) if change else (),
    )


def _dividing(chosen: ChosenExamples, options: ConvertOptions, found: NameGroups) -> Change | None:
    """Return the change that gives every split about its share, without dividing groups or at least their blocks."""
    good, wanted = chosen.good, np.bincount(chosen.split_of)
    groups = found.groups(good["key"])
    by_name = options.changed({"group_by": found.pattern})
    if _fits(_tried(chosen, by_name, groups)[0], wanted):
        return Change(f"each of the {found.num_groups:,} groups is in one split", {"group_by": found.pattern})
    numbers = pc.fill_null(last_numbers(good["key"]), 0).to_numpy()
    for block in _BLOCKS:
        num_blocks = len(np.unique(found.codes * (int(numbers.max()) // block + 1) + numbers // block))
        if num_blocks * wanted.min() < _FACTOR * len(good):  # too few for the smallest split
            continue
        in_blocks = by_name.changed({"block": block})
        counts, num_left_out = _tried(chosen, in_blocks, block_names(groups, good["key"], block))
        if _fits(counts, wanted) and num_left_out <= _MAX_LEFT_OUT * len(good):
            meaning = f"blocks of {block} numbers are in one split; {counted(num_left_out, 'image')} between blocks of "
            return Change(f"{meaning}different splits are left out", {"group_by": found.pattern, "block": block})
    return None


def _tried(
    chosen: ChosenExamples, options: ConvertOptions, groups: pa.ChunkedArray
) -> tuple[npt.NDArray[np.int64], int]:
    """Return the number of images of each split that groups give, none if they give none; and of those left out."""
    good, grouped = chosen.good, replace(chosen.relations, groups=groups, group_codes=grouping.group_codes(groups))
    try:
        split_of, names = assign_splits(good, chosen.labels, grouped, options)
    except CallError:
        return np.zeros(0, np.int64), 0
    left_out = between_blocks(good, grouped, split_of, names, options, None)
    return np.bincount(split_of[~left_out], minlength=len(names)), int(left_out.sum())


def _fits(counts: npt.NDArray[np.int64], wanted: npt.NDArray[np.int64]) -> bool:
    is_near = len(counts) == len(wanted) and (counts <= _FACTOR * wanted) & (_FACTOR * counts >= wanted)
    return bool(np.all(is_near))
