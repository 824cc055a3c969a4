"""Which shard of its split an example goes to, and its place there.

Shards are balanced (counts within one), stratified (each class within one) and of nearly equal bytes, because a
training job waits for its slowest shard and a batch should look like the whole.

1. Whole laps: `num_shards` examples of one class, consecutive in hash order, one to each shard, the largest to the
   lightest shard.
2. What is left of all classes, in laps that classes share: the part of a class that runs over into the next lap goes
   to shards that had none of it in the last.
3. Swaps that keep every count, between heavy and light shards, until bytes are within 0.1 %.

The laps alone leave bytes 0.2-5 % apart, plain round robin by class 4-13 % (simulated, log-normal sizes).
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shardkit.errors import CallError
from shardkit.planning.balance import Sizes, run_starts

_Ints = npt.NDArray[np.int64]

# Swapping stops at max / min - 1 <= 1 / 1000: a tenth of what is promised, and no disk or network notices it.
_INVERSE_TOLERANCE = 1000
_MAX_ROUNDS = 200  # log-normal sizes need up to 6; all are used only where one example outweighs a shard
_MAX_PARTNERS = 16  # rounds in a row in which the heaviest or lightest shard finds nothing to swap
_BLOCK_ROWS = 1 << 20  # rows whose whole laps are sorted at a time
_MAX_CANDIDATES = 4096  # of the light shard's examples, tried for one swap; the best of so many is exact enough


def deal(
    labels: npt.NDArray[np.int32], sizes: npt.NDArray[np.int64], hashes: npt.NDArray[np.uint64], num_shards: int
) -> npt.NDArray[np.int32]:
    """Deal the examples of a split over its shards.

    Counts over shards differ by at most 1, so do those of every class, and bytes by at most 1 % from about 1,000
    examples a shard, unless one example weighs more than all others can make up for.

    Args:
        labels: int32[n]; -1, unlabelled, is a class of its own.
        sizes: int64[n], bytes of each example in the source, 0 or more.
        hashes: uint64[n], uniform. Equal ones within a class are dealt in the order given: make them differ where the
            result must not depend on it.
        num_shards: at least 1.

    Returns:
        int32[n], in [0, num_shards), whatever the order of the rows. Memory is linear in n.

    Raises:
        CallError: num_shards is below 1, or sizes too large to add in 64 bits.
    """
    order = _narrow(np.lexsort((hashes, labels)))
    dealt = np.empty(len(labels), np.int32)
    dealt[order] = deal_sorted(labels[order], sizes[order], num_shards)
    return dealt


def deal_sorted(labels: npt.NDArray[np.int32], sizes: Sizes, num_shards: int) -> npt.NDArray[np.int32]:
    """Deal examples that are sorted by label, and in a label by hash; see `deal`.

    A hundred million examples are sorted once, and nothing else is held of them.
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
            f"{len(labels):,} examples of up to {max_bytes:,} bytes are more than 64 bits can add: check the sizes."
        )

    # The rows of every class begin with its whole laps.
    lap_counts = counts // num_shards * num_shards
    shards = np.empty(len(labels), np.int32)
    loads = np.zeros(num_shards, np.int64)
    for at in np.flatnonzero(lap_counts):
        _deal_whole_laps(slice(starts[at], starts[at] + lap_counts[at]), sizes, shards, loads)
    rest = counts - lap_counts
    ends = np.cumsum(rest)
    _deal_shared_laps(
        np.arange(ends[-1]) + np.repeat(starts + lap_counts - ends + rest, rest), labels, sizes, shards, loads
    )
    _swap(labels, sizes, shards, loads)
    return shards


def sort_by(
    rows: npt.NDArray[np.unsignedinteger], codes: npt.NDArray[np.int32], hashes: npt.NDArray[np.uint64]
) -> None:
    """Sort rows, in place, by their codes, those of one code by their hashes, in half the memory of `lexsort`."""
    order = np.argsort(codes, kind="stable")
    rows[:] = rows[order]
    codes = codes[order]
    del order
    for some in np.split(rows, run_starts(codes)[1:]):
        some[:] = some[np.argsort(hashes[some], kind="stable")]


def _narrow(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.signedinteger[Any]]:
    """Numbers of rows in half the memory, where there are no more of them than 32 bits tell apart."""
    return numbers.astype(np.int32) if len(numbers) < 1 << 31 else numbers


def _lightest_first(loads: _Ints) -> npt.NDArray[np.intp]:
    return np.argsort(loads, kind="stable")


def _deal_whole_laps(rows: slice, sizes: Sizes, shards: npt.NDArray[np.int32], loads: _Ints) -> None:
    """Deal rows, whole laps of one class, updating shards and loads."""
    num_shards = len(loads)
    block = max(1, _BLOCK_ROWS // num_shards) * num_shards
    for start in range(rows.start, rows.stop, block):
        part = slice(start, min(start + block, rows.stop))
        lap_sizes = sizes[part].reshape(-1, num_shards).astype(np.int64)
        dealt = shards[part].reshape(-1, num_shards)
        largest_first = np.argsort(-lap_sizes, axis=1, kind="stable")
        lap_sizes = np.take_along_axis(lap_sizes, largest_first, 1)
        for lap, order, lap_size in zip(dealt, largest_first, lap_sizes, strict=True):
            targets = _lightest_first(loads)
            lap[order] = targets
            loads[targets] += lap_size


def _deal_shared_laps(
    rows: _Ints, classes: npt.NDArray[np.int32], sizes: Sizes, shards: npt.NDArray[np.int32], loads: _Ints
) -> None:
    """Deal rows, sorted by class and fewer than num_shards of any class, updating shards and loads.

    Every lap but the last uses each shard once, so counts stay within one; a class spans at most two laps.
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
    """A swap of two examples: where they lie in the heavy and the light shard, and the bytes that move."""

    heavy_at: int
    light_at: int
    moved: int


def _swap(classes: npt.NDArray[np.int32], sizes: Sizes, shards: npt.NDArray[np.int32], loads: _Ints) -> None:
    """Swap examples between shards, updating shards and loads, until bytes are within the tolerance.

    In each round the i-th heaviest shard meets the i-th lightest, or a further one where those found nothing.
    """
    if _within_tolerance(loads):
        return
    # One number for class and size, class first. The span is wide enough for a difference of two numbers to tell
    # whether the classes differ: it is then more than any size.
    span = 2 * int(sizes.max()) + 1
    rows = _narrow(np.argsort(shards, kind="stable"))
    codes = np.empty(len(rows), np.int64)
    ends = np.cumsum(np.bincount(shards, minlength=len(loads)))[:-1]
    codes_of, rows_of = np.split(codes, ends), np.split(rows, ends)  # views, sorted by code in each shard
    for of_shard, numbers in zip(codes_of, rows_of, strict=True):
        unsorted = classes[numbers].astype(np.int64) * span + sizes[numbers]
        by_code = np.argsort(unsorted, kind="stable")
        of_shard[:], numbers[:] = unsorted[by_code], numbers[by_code]

    num_pairs, offset = len(loads) // 2, 0
    for _ in range(_MAX_ROUNDS):
        ranked = _lightest_first(loads)
        lightest, heaviest = ranked[:num_pairs], ranked[::-1][:num_pairs]
        met = np.roll(lightest, -offset)
        stuck = False
        for heavy, light in zip(heaviest, met, strict=True):
            gap = int(loads[heavy] - loads[light])
            if gap * _INVERSE_TOLERANCE <= loads[light]:
                continue
            good_enough = int(loads[light]) // _INVERSE_TOLERANCE
            exchange = _best_exchange(codes_of[heavy], codes_of[light], gap, span, good_enough)
            if exchange is None:
                stuck |= heavy == heaviest[0] or light == lightest[0]
                continue
            heavy_code, heavy_row = codes_of[heavy][exchange.heavy_at], rows_of[heavy][exchange.heavy_at]
            light_code, light_row = codes_of[light][exchange.light_at], rows_of[light][exchange.light_at]
            _replace(codes_of[heavy], rows_of[heavy], exchange.heavy_at, light_code, light_row)
            _replace(codes_of[light], rows_of[light], exchange.light_at, heavy_code, heavy_row)
            loads[heavy] -= exchange.moved
            loads[light] += exchange.moved
        offset = offset + 1 if stuck else 0
        if _within_tolerance(loads) or offset >= min(num_pairs, _MAX_PARTNERS):
            break
    shards[rows] = np.repeat(np.arange(len(loads), dtype=np.int32), [len(part) for part in rows_of])


def _within_tolerance(loads: _Ints) -> bool:
    lightest = int(loads.min())
    return (int(loads.max()) - lightest) * _INVERSE_TOLERANCE <= lightest


def _best_exchange(heavy: _Ints, light: _Ints, gap: int, span: int, good_enough: int) -> _Exchange | None:
    """The swap that comes nearest to halving the gap, of those that narrow it; None where there is none.

    Args:
        heavy: codes of the heavy shard's examples, ascending.
        light: the same of the light shard.
        gap: bytes by which the shards differ.
        span: what the code's class counts.
        good_enough: a remaining gap that needs no better swap, bytes.
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
    # Examples of two classes may change places too, where the one class is in the heavy shard only and the other in
    # the light one only: neither then has more than one example in any shard, and neither will.
    heavy_at, light_at = _lacking(heavy // span, light // span), _lacking(light // span, heavy // span)
    heavy_at = heavy_at[np.argsort(heavy[heavy_at] % span, kind="stable")]
    lone = _nearest_to_half(heavy[heavy_at] % span, light[light_at] % span, gap, max_bytes)
    if lone is None or (best is not None and abs(gap - 2 * best.moved) <= abs(gap - 2 * lone.moved)):
        return best
    return _Exchange(int(heavy_at[lone.heavy_at]), int(light_at[lone.light_at]), lone.moved)


def _lacking(these: _Ints, those: _Ints) -> npt.NDArray[np.intp]:
    """Where these, ascending, are not among those, ascending and not empty."""
    at = np.minimum(np.searchsorted(those, these), len(those) - 1)
    return np.flatnonzero(those[at] != these)


def _nearest_to_half(heavy: _Ints, light: _Ints, gap: int, max_bytes: int) -> _Exchange | None:
    """The pair whose difference, in (0, gap) and at most max_bytes, is nearest to half the gap; heavy ascending."""
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
    """Put another example in the place of one of a shard's, in place, keeping the codes ascending."""
    to = int(np.searchsorted(codes, code))
    if to > at:
        to -= 1
    for column, value in ((codes, code), (rows, row)):
        if to > at:
            column[at:to] = column[at + 1 : to + 1]
        else:
            column[to + 1 : at + 1] = column[to:at]
        column[to] = value
