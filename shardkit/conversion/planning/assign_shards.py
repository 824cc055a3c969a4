"""Assign every example of a split to a shard, and measure how even that is.

Shards are balanced (counts within one), stratified (each class within one) and of nearly equal bytes, because a
training job waits for its slowest shard and every shard should be a sample of the whole.

A lap gives one example to every shard.

1. Whole laps: `num_shards` examples of one class, consecutive in hash order, the largest to the lightest shard.
2. Shared laps: the remaining examples of all classes. If a class continues in the next lap, its examples there go to
   shards that got none of it in the previous lap.
3. Swaps between heavy and light shards, which keep every count, until bytes are within 0.1 %.

Laps alone leave bytes 0.2-5 % apart, plain round robin by class 4-13 % (simulated, log-normal sizes).
"""

import itertools
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shardkit.conversion.planning.rows import run_starts
from shardkit.dataset.manifest import Balance
from shardkit.errors import CallError

Codes = npt.NDArray[np.signedinteger[Any]]  # classes, of any integer type
Sizes = npt.NDArray[np.integer[Any]]  # bytes, of any integer type
_Ints = npt.NDArray[np.int64]

# Swapping stops at max / min - 1 <= 1 / 1000: a tenth of the promised 1 %, and too little to change a reading time.
_INVERSE_TOLERANCE = 1000
_MAX_ROUNDS = 200  # log-normal sizes need up to 6; all are used only if one example outweighs a shard
_MAX_PARTNERS = 16  # consecutive rounds in which the heaviest or lightest shard finds nothing to swap
_BLOCK_ROWS = 1 << 20  # rows whose whole laps are sorted, or whose classes are counted, at once
_MAX_CANDIDATES = 4096  # examples of the light shard tried for one swap; the best of these is close enough


def assign_shards(labels: Codes, sizes: Sizes, num_shards: int) -> npt.NDArray[np.int32]:
    """Assign the examples of a split to its shards.

    The numbers of examples in the shards differ by at most 1, and so do those of every class. Bytes differ by at most
    1 % from about 1,000 examples per shard on, unless one example outweighs all others.

    Args:
        labels: int[n], ascending; -1 (unlabelled) is a class of its own. Sort the examples of a class by a uniform
            hash.
        sizes: int[n], source bytes of each example, 0 or more.
        num_shards: Number of shards, at least 1.

    Returns:
        int32[n], in [0, num_shards). Memory is linear in n.
    """
    if num_shards < 1:
        raise CallError(f"the number of shards is {num_shards}: it must be at least 1.")
    if num_shards == 1 or not len(labels):
        return np.zeros(len(labels), np.int32)
    starts = run_starts(labels)
    counts = np.diff(starts, append=len(labels))
    max_bytes = int(sizes.max())
    if max(len(labels), int(labels[-1]) + 1) * (2 * max_bytes + 1) >= 1 << 63:
        raise CallError(
            f"{len(labels):,} examples of up to {max_bytes:,} bytes overflow a sum of 64 bits: check the sizes."
        )

    # The first rows of every class are its whole laps.
    lap_counts = counts // num_shards * num_shards
    shards = np.empty(len(labels), np.int32)
    loads = np.zeros(num_shards, np.int64)
    for at in np.flatnonzero(lap_counts):
        _assign_whole_laps(slice(starts[at], starts[at] + lap_counts[at]), sizes, shards, loads)
    rest = counts - lap_counts
    ends = np.cumsum(rest)
    _assign_shared_laps(
        np.arange(ends[-1]) + np.repeat(starts + lap_counts - ends + rest, rest), labels, sizes, shards, loads
    )
    _swap(labels, sizes, shards, loads)
    return shards


def sort_by(
    rows: npt.NDArray[np.unsignedinteger], codes: npt.NDArray[np.int32], hashes: npt.NDArray[np.uint64]
) -> None:
    """Sort rows in place by code, and by hash within a code.

    `codes` is in the order of `rows`; `hashes` has every row by its number.
    """
    rows[:] = rows[np.lexsort((hashes[rows], codes))]


def _lightest_first(loads: _Ints) -> npt.NDArray[np.intp]:
    return np.argsort(loads, kind="stable")


def _assign_whole_laps(rows: slice, sizes: Sizes, shards: npt.NDArray[np.int32], loads: _Ints) -> None:
    """Assign the whole laps of one class; update shards and loads in place."""
    num_shards = len(loads)
    block = max(1, _BLOCK_ROWS // num_shards) * num_shards
    for start in range(rows.start, rows.stop, block):
        part = slice(start, min(start + block, rows.stop))
        lap_sizes = sizes[part].reshape(-1, num_shards).astype(np.int64)
        assigned = shards[part].reshape(-1, num_shards)
        largest_first = np.argsort(-lap_sizes, axis=1, kind="stable")
        lap_sizes = np.take_along_axis(lap_sizes, largest_first, 1)
        for lap, order, lap_size in zip(assigned, largest_first, lap_sizes, strict=True):
            targets = _lightest_first(loads)
            lap[order] = targets
            loads[targets] += lap_size


def _assign_shared_laps(rows: _Ints, classes: Codes, sizes: Sizes, shards: npt.NDArray[np.int32], loads: _Ints) -> None:
    """Assign rows sorted by class, fewer than num_shards of each class; update shards and loads in place.

    Every lap but the last uses each shard once, so counts stay within one. A class spans at most two laps.
    """
    num_shards = len(loads)
    for start in range(0, len(rows), num_shards):
        lap = rows[start : start + num_shards]
        split_class = classes[lap[0]]
        before = rows[max(0, start - num_shards) : start]
        taken = np.zeros(num_shards, np.bool_)
        taken[shards[before[classes[before] == split_class]]] = True
        head = lap[classes[lap] == split_class]
        targets = _lightest_first(loads)
        head_targets = targets[~taken[targets]][: len(head)]
        taken[:] = False
        taken[head_targets] = True
        tail_targets = targets[~taken[targets]][: len(lap) - len(head)]
        for part, part_targets in ((head, head_targets), (lap[len(head) :], tail_targets)):
            part_sorted = part[np.argsort(-sizes[part].astype(np.int64), kind="stable")]
            shards[part_sorted] = part_targets
            loads[part_targets] += sizes[part_sorted]


class _Exchange(NamedTuple):
    """A swap of two examples: their positions in the heavy and the light shard, and the bytes that move."""

    heavy_at: int
    light_at: int
    moved: int


def _swap(classes: Codes, sizes: Sizes, shards: npt.NDArray[np.int32], loads: _Ints) -> None:
    """Swap examples between shards until bytes are within the tolerance; update shards and loads in place.

    In each round the i-th heaviest shard is paired with the i-th lightest, or with a later one after a round in which
    the extreme shards found nothing to swap.
    """
    if _within_tolerance(loads):
        return
    # One number for class and size, class first. The span is so wide that two numbers of different classes differ by
    # more than any size.
    span = 2 * int(sizes.max()) + 1
    rows = np.argsort(shards, kind="stable").astype(np.int32 if len(shards) < 1 << 31 else np.int64)
    ends = np.cumsum(np.bincount(shards, minlength=len(loads)))[:-1]
    rows_of = np.split(rows, ends)  # views, sorted by code in each shard

    def codes_of(shard: np.intp) -> _Ints:
        # Computed again for each swap: those of all shards would take 8 bytes a row.
        numbers = rows_of[shard]
        return classes[numbers].astype(np.int64) * span + sizes[numbers]

    for shard in np.arange(len(loads)):
        rows_of[shard][:] = rows_of[shard][np.argsort(codes_of(shard), kind="stable")]

    num_pairs, offset = len(loads) // 2, 0
    for _ in range(_MAX_ROUNDS):
        ranked = _lightest_first(loads)
        lightest, heaviest = ranked[:num_pairs], ranked[::-1][:num_pairs]
        partners = np.roll(lightest, -offset)
        stuck = False
        for heavy, light in zip(heaviest, partners, strict=True):
            gap = int(loads[heavy] - loads[light])
            if gap * _INVERSE_TOLERANCE <= loads[light]:
                continue
            good_enough = int(loads[light]) // _INVERSE_TOLERANCE
            heavy_codes, light_codes = codes_of(heavy), codes_of(light)
            exchange = _best_exchange(heavy_codes, light_codes, gap, span, good_enough)
            if exchange is None:
                stuck |= heavy == heaviest[0] or light == lightest[0]
                continue
            heavy_code, heavy_row = heavy_codes[exchange.heavy_at], rows_of[heavy][exchange.heavy_at]
            light_code, light_row = light_codes[exchange.light_at], rows_of[light][exchange.light_at]
            _replace(heavy_codes, rows_of[heavy], exchange.heavy_at, light_code, light_row)
            _replace(light_codes, rows_of[light], exchange.light_at, heavy_code, heavy_row)
            loads[heavy] -= exchange.moved
            loads[light] += exchange.moved
        offset = offset + 1 if stuck else 0
        if _within_tolerance(loads) or offset >= min(num_pairs, _MAX_PARTNERS):
            break
    for number, part in enumerate(rows_of):
        shards[part] = number


def _within_tolerance(loads: _Ints) -> bool:
    lightest = int(loads.min())
    return (int(loads.max()) - lightest) * _INVERSE_TOLERANCE <= lightest


def _best_exchange(heavy: _Ints, light: _Ints, gap: int, span: int, good_enough: int) -> _Exchange | None:
    """Return the swap that comes closest to halving the gap; None if no swap narrows it.

    `heavy` and `light` are the codes of the shards' examples, ascending; `span` is the factor of the class in a code. A
    remaining gap of `good_enough` bytes needs no better swap.
    """
    if not len(light):
        return None
    max_bytes = span // 2
    tried = np.arange(0, len(light), -(-len(light) // _MAX_CANDIDATES))
    best = _nearest_to_half(heavy, light[tried], gap, max_bytes)
    if best is not None:
        best = best._replace(light_at=int(tried[best.light_at]))
        if abs(gap - 2 * best.moved) <= good_enough:
            return best
    # Examples of two classes can be swapped too if one class is in the heavy shard only and the other in the light
    # shard only: then no shard has more than one example of either class, before or after.
    heavy_at, light_at = _lacking(heavy // span, light // span), _lacking(light // span, heavy // span)
    heavy_at = heavy_at[np.argsort(heavy[heavy_at] % span, kind="stable")]
    lone = _nearest_to_half(heavy[heavy_at] % span, light[light_at] % span, gap, max_bytes)
    if lone is None or (best is not None and abs(gap - 2 * best.moved) <= abs(gap - 2 * lone.moved)):
        return best
    return _Exchange(int(heavy_at[lone.heavy_at]), int(light_at[lone.light_at]), lone.moved)


def _lacking(these: _Ints, those: _Ints) -> npt.NDArray[np.intp]:
    """Return the positions of the elements of `these` that are not in `those`; both ascending, `those` not empty."""
    at = np.minimum(np.searchsorted(those, these), len(those) - 1)
    return np.flatnonzero(those[at] != these)


def _nearest_to_half(heavy: _Ints, light: _Ints, gap: int, max_bytes: int) -> _Exchange | None:
    """Return the pair whose difference, in (0, gap) and at most max_bytes, is nearest to half the gap."""
    if not len(heavy) or not len(light):
        return None
    above = np.searchsorted(heavy, light + min(gap // 2, max_bytes))
    best: _Exchange | None = None
    for at in (np.maximum(above - 1, 0), np.minimum(above, len(heavy) - 1)):
        moved = heavy[at] - light
        allowed = (moved > 0) & (moved < gap) & (moved <= max_bytes)
        misses = np.where(allowed, np.abs(2 * moved - gap), gap)
        light_at = int(misses.argmin())
        if misses[light_at] < (gap if best is None else abs(2 * best.moved - gap)):
            best = _Exchange(int(at[light_at]), light_at, int(moved[light_at]))
    return best


def _replace(codes: _Ints, rows: npt.NDArray[np.intp], at: int, code: np.int64, row: np.intp) -> None:
    """Replace one example of a shard by another, in place, keeping the codes ascending."""
    to = int(np.searchsorted(codes, code))
    if to > at:
        to -= 1
    for column, value in ((codes, code), (rows, row)):
        if to > at:
            column[at:to] = column[at + 1 : to + 1]
        else:
            column[to + 1 : at + 1] = column[to:at]
        column[to] = value


def measure_balance(labels: Codes, sizes: Sizes, shards: npt.NDArray[np.int32], num_shards: int) -> Balance:
    """Measure the balance of a split, in memory linear in n (without a table of class by shard).

    `labels`, `sizes` and `shards` are int[n]. Without examples all is zero; bytes_spread is infinite if a shard has no
    bytes but others have some.
    """
    if not len(labels):
        return Balance(count_spread=0, class_spread=0, bytes_spread=0.0)
    counts = np.bincount(shards, minlength=num_shards)
    loads = np.zeros(num_shards, np.int64)
    np.add.at(loads, shards, sizes)
    lightest, heaviest = int(loads.min()), int(loads.max())
    ratio = heaviest / lightest - 1 if lightest else float("inf") if heaviest else 0.0
    return Balance(
        count_spread=int(counts.max() - counts.min()),
        class_spread=_class_spread(labels, shards, num_shards),
        bytes_spread=ratio,
    )


def _class_spread(labels: Codes, shards: npt.NDArray[np.int32], num_shards: int) -> int:
    if (labels[1:] < labels[:-1]).any():
        order = np.argsort(labels, kind="stable")
        labels, shards = labels[order], shards[order]
    starts = run_starts(labels)
    spread = 0
    # Large classes one by one and small ones together, because a table of all cells may be larger than the examples.
    blocks = starts[run_starts(starts // _BLOCK_ROWS)].tolist()
    for start, end in itertools.pairwise([*blocks, len(labels)]):
        cells = (labels[start:end].astype(np.int64) - labels[start]) * num_shards + shards[start:end]
        occupied, in_cell = np.unique(cells, return_counts=True)
        first = run_starts(occupied // num_shards)
        in_all_shards = np.diff(first, append=len(occupied)) == num_shards
        least = np.where(in_all_shards, np.minimum.reduceat(in_cell, first), 0)
        spread = max(spread, int((np.maximum.reduceat(in_cell, first) - least).max()))
    return spread
