"""Leave out the images between blocks of different splits, so that no two neighbours of a recording are divided.

`dataset.index.groups.block_names` divides groups into blocks, which get their splits like groups.

    rec07/12            rec07/13            rec07/14         blocks of 100 numbers
    1200 … 1299         1300 … 1399         1400 … 1499
    train               train               validation
                                     1395…1399 1400…1404     left out: a twentieth of a block on both sides
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.planning.earlier_examples import EarlierExamples
from shardkit.conversion.planning.rows import Rows
from shardkit.conversion.planning.splits.assign_splits import Relations
from shardkit.dataset.index.groups import last_numbers
from shardkit.options.groups import ConvertOptions

_MARGIN = 20  # a block has so many margins


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
    splits_of = {name: set(splits) for name, splits in (earlier.groups if earlier else {}).items()}
    for name, split in zip(blocks, own, strict=True):
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
