"""Split examples by ratio: by hash, or stratified by class.

By hash, an example's split depends only on its own hash, and ratios hold on average. Stratified, ratios hold within one
example for every class and for the whole, but examples may change split when data is added.
"""

import itertools
import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shardkit.conversion.planning.rows import run_starts
from shardkit.errors import CallError
from shardkit.options.parsing import MAX_RATIO_DECIMALS, MAX_RATIO_DENOMINATOR

# 2**64 / golden ratio: multiplying by it mod 2**64 spreads similar numbers (Knuth, TAOCP vol. 3, 6.4).
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def split_by_hash(hashes: npt.NDArray[np.uint64], ratios: Mapping[str, Fraction]) -> npt.NDArray[np.int32]:
    """Split each example by its own hash alone.

    Split k gets the hashes h with cumulative ratio k-1 <= h / 2**64 < cumulative ratio k, without rounding, so an
    example keeps its split when other examples are added or removed.

    Args:
        hashes: uint64[n], uniform; equal hashes share a split.
        ratios: Ratio of each split, above 0, adding to 1.

    Returns:
        int32[n], indices into the ratios' order.
    """
    denominator, upto = _cumulative(ratios)
    # The last hash of each split but the last: inclusive, because an exclusive end may be 2**64, which does not fit.
    last = [math.ceil(Fraction(end << 64, denominator)) - 1 for end in upto[1:-1]]
    return np.searchsorted(np.array(last, np.uint64), hashes, side="left").astype(np.int32)


def split_stratified(
    hashes: npt.NDArray[np.uint64], labels: npt.NDArray[np.int32], ratios: Mapping[str, Fraction]
) -> npt.NDArray[np.int32]:
    """Split so that every class, and the whole, is within one example of its ratios.

    With E = ratio * count, each class gives each split floor(E) or ceil(E) examples, and so do all classes together.
    Rounding each class separately cannot do that: at 0.8 and 0.2, all of 250 classes of one image would be in train. So
    the classes of equal count are rounded together, by systematic sampling with evenly distributed starting points in
    the order of their hashes: each split gets about its ratio of their remainders. Remaining differences of the totals
    are moved between splits along augmenting paths, from the largest classes, within floor(E) and ceil(E). Such a
    rounding always exists, by the theorem of controlled rounding (Causey, Cox and Ernst, Journal of the American
    Statistical Association 80, 1985).

    One more example changes the starting points of the classes with the old and the new count only, by less than one
    class each, so additions move few examples to another split.

    Args:
        hashes: uint64[n]; a class's examples go to the splits in hash order, equal hashes in the order given.
        labels: int32[n]; -1 (unlabelled) is a class of its own.
        ratios: Ratio of each split, above 0, adding to 1.

    Returns:
        int32[n], indices into the ratios' order; independent of the order of the rows and of how classes are numbered.
    """
    order = np.lexsort((hashes, labels))
    shares = stratified_counts(hashes, labels, order, ratios)
    splits = np.empty(len(hashes), np.int32)
    splits[order] = np.repeat(np.tile(np.arange(len(ratios), dtype=np.int32), len(shares)), shares.ravel())
    return splits


def stratified_counts(
    hashes: npt.NDArray[np.uint64],
    labels: npt.NDArray[np.int32],
    order: npt.NDArray[np.intp],
    ratios: Mapping[str, Fraction],
) -> npt.NDArray[np.int64]:
    """Return int64[different labels, ascending; splits], the number of examples of each; see split_stratified.

    `order` sorts the examples by label and hash.
    """
    denominator, upto = _cumulative(ratios)
    if not len(hashes):
        return np.empty((0, len(ratios)), np.int64)
    ordered = labels[order]
    starts = run_starts(ordered)
    counts = np.diff(starts, append=len(hashes))
    by_count = np.lexsort((hashes[order[starts]], counts))
    shares = np.empty((len(counts), len(ratios)), np.int64)
    offsets = _starting_points(counts[by_count], hashes[order[starts]][by_count], denominator)
    shares[by_count] = _controlled_rounding(counts[by_count], offsets, np.array(upto, np.int64), denominator)
    return shares


def _starting_points(
    counts: npt.NDArray[np.int64], hashes: npt.NDArray[np.uint64], denominator: int
) -> npt.NDArray[np.int64]:
    """Return int64[num_classes], a number in [0, denominator) for each class, evenly distributed among equal counts.

    Counts are ascending, and so are the least hashes of the classes of one count.
    """
    _, first, inverse, num_equal = np.unique(counts, return_index=True, return_inverse=True, return_counts=True)
    ranks = (np.arange(len(counts)) - first[inverse]).astype(np.uint64)
    # The class's own hash decides within its interval, so that a count that only one class has is rounded by chance.
    within = (hashes * GOLDEN) >> np.uint64(32)
    steps = ((ranks << np.uint64(32)) + within) // num_equal[inverse].astype(np.uint64)
    offsets: npt.NDArray[np.int64] = ((steps * np.uint64(denominator)) >> np.uint64(32)).astype(np.int64)
    return offsets


def _cumulative(ratios: Mapping[str, Fraction]) -> tuple[int, list[int]]:
    """Return the common denominator of the ratios, and their cumulative numerators from 0 to the denominator."""
    denominator = math.lcm(*(ratio.denominator for ratio in ratios.values()))
    upto = [0, *itertools.accumulate(int(ratio * denominator) for ratio in ratios.values())]
    if upto[-1] != denominator or min(ratios.values()) <= 0 or denominator > MAX_RATIO_DENOMINATOR:
        found = ", ".join(f"{name}={ratio}" for name, ratio in ratios.items())
        raise CallError(f"the ratios {found} must be above 0, add to 1 and have at most {MAX_RATIO_DECIMALS} decimals.")
    return denominator, upto


def _controlled_rounding(
    counts: npt.NDArray[np.int64], offsets: npt.NDArray[np.int64], upto: npt.NDArray[np.int64], denominator: int
) -> npt.NDArray[np.int64]:
    """Round ratio * count to int64[class, split]; rows add to counts, cells and totals are floors or ceilings."""
    numerators = np.diff(upto)
    # Systematic sampling: lay a class's n examples end to end, split after split, and mark offset, offset + 1, offset +
    # 2 …; each split gets the marks in its interval. ceil((end - offset) / denominator) marks lie before an end.
    shares = np.diff(-((offsets[:, None] - counts[:, None] * upto) // denominator), axis=1)
    floors, remainder = np.divmod(counts[:, None] * numerators, denominator)
    raised = shares > floors

    low, remainders = np.divmod(int(counts.sum()) * numerators, denominator)
    high = low + (remainders > 0)
    # By largest remainder. With many splits that may be impossible; floors and ceilings are always possible.
    nearest = low.copy()
    nearest[np.argsort(-remainders, kind="stable")[: int(counts.sum() - low.sum())]] += 1
    for lower, upper in ((low, high), (nearest, nearest)):
        _settle_totals(raised, remainder > 0, floors.sum(axis=0), lower, upper)
    rounded: npt.NDArray[np.int64] = floors + raised
    return rounded


def _settle_totals(
    raised: npt.NDArray[np.bool_],
    raisable: npt.NDArray[np.bool_],
    base: npt.NDArray[np.int64],
    lower: npt.NDArray[np.int64],
    upper: npt.NDArray[np.int64],
) -> None:
    """Move raised cells along their rows, in place, until base + their column totals lie in [lower, upper]."""
    while True:
        totals = base + raised.sum(axis=0)
        bound = upper if (totals > upper).any() else lower
        unraised = raisable & ~raised
        movable = raised.T.astype(np.int64) @ unraised  # [from split, to split]: number of classes that can move
        path = _shortest_path(movable > 0, sources=totals > bound, sinks=totals < bound)
        if not path:
            return
        steps = list(itertools.pairwise(path))
        amount = min(
            int(totals[path[0]] - bound[path[0]]),
            int(bound[path[-1]] - totals[path[-1]]),
            *(int(movable[step]) for step in steps),
        )
        for source, sink in steps:
            # The last rows are the largest classes, for which one example matters least.
            rows = np.flatnonzero(raised[:, source] & unraised[:, sink])[-amount:]
            raised[rows, source] = False
            raised[rows, sink] = True


def _shortest_path(
    edges: npt.NDArray[np.bool_], *, sources: npt.NDArray[np.bool_], sinks: npt.NDArray[np.bool_]
) -> list[int]:
    """Return the shortest path from a source to a sink, by breadth-first search; empty if there is none."""
    paths = [[int(source)] for source in np.flatnonzero(sources)]
    seen = sources.copy()
    for path in paths:  # grows while it is read
        if sinks[path[-1]]:
            return path
        for node in np.flatnonzero(edges[path[-1]] & ~seen):
            seen[node] = True
            paths.append([*path, int(node)])
    return []
