"""Stratified splitting of examples that must stay together, or have several labels each.

Shares within one example of the ratios, as `splitting.split_stratified` gives them for every class, are out of reach
there; a greedy rule comes near. Units are taken from the largest, which fit worst, to the smallest, which still mend
what the others left. Each goes to the split that lags most behind its shares of the unit's labels, counted over what
was taken so far. Iterative stratification (Sechidis, Tsoumakas and Vlahavas, ECML PKDD 2011) looks at one label at a
time and at what is wanted in the end, so that the largest split is served first; lagging in all labels at once came
nearer to the ratios in every trial of the tests.
"""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shardkit.planning.labelling import Labels
from shardkit.planning.splitting import share_out, split_stratified

_Ints = npt.NDArray[np.int64]


def split_units(
    hashes: npt.NDArray[np.uint64], labels: Labels, ratios: Mapping[str, Fraction], units: _Ints | None
) -> npt.NDArray[np.int32]:
    """Split so that units stay whole and every label is shared out as its ratios want, as nearly as that allows.

    Examples of one label that are alone fill up what the units leave, exactly.

    Args:
        hashes: uint64[n]; of equals the smaller comes first. Those of a unit need not be equal.
        labels: of the examples.
        ratios: of each split, above 0, adding to 1.
        units: int64[n]; -1 for an example that is alone; None where all are.

    Returns:
        int32[n], indices into the ratios' order; independent of the order of the rows.
    """
    if labels.flat is None or labels.starts is None:
        if units is None or (units < 0).all():
            return split_stratified(hashes, labels.dealt_by, ratios)
        return _single(hashes, labels.dealt_by, ratios, units)
    num_labels = len(labels.classes) + 1
    counts = np.diff(labels.starts)
    rows = np.repeat(np.arange(len(hashes)), counts)
    # An example without a label has the label "none": those are shared out too.
    rows = np.concatenate((rows, np.flatnonzero(counts == 0)))
    flat = np.concatenate((labels.flat, np.full(len(rows) - len(labels.flat), num_labels - 1, np.int32)))
    # Examples that are alone are units of one.
    units = np.full(len(hashes), -1, np.int64) if units is None else units
    numbers = np.where(units >= 0, units, int(units.max(initial=-1)) + 1 + np.cumsum(units < 0) - 1)
    totals = np.bincount(flat, minlength=num_labels)
    wanted = totals[:, None] * np.array([float(share) for share in ratios.values()])
    return _greedy(hashes, rows, flat, numbers, wanted)[numbers]


def _single(
    hashes: npt.NDArray[np.uint64], labels: npt.NDArray[np.int32], ratios: Mapping[str, Fraction], units: _Ints
) -> npt.NDArray[np.int32]:
    dense = np.unique(labels, return_inverse=True)[1].ravel().astype(np.int32)
    quotas = share_out(hashes, dense, ratios)
    tied = np.flatnonzero(units >= 0)
    split_of = np.empty(len(labels), np.int32)
    placed = _greedy(hashes[tied], np.arange(len(tied)), dense[tied], units[tied], quotas.astype(float))
    split_of[tied] = placed[units[tied]]
    used = np.zeros_like(quotas)
    np.add.at(used, (dense[tied], split_of[tied]), 1)
    alone = np.flatnonzero(units < 0)
    alone = alone[np.lexsort((hashes[alone], dense[alone]))]
    room = _fitted(quotas - used, np.bincount(dense[alone], minlength=len(quotas)))
    split_of[alone] = np.repeat(np.tile(np.arange(len(ratios), dtype=np.int32), len(room)), room.ravel())
    return split_of


def _fitted(room: _Ints, totals: _Ints) -> _Ints:
    """Room for the examples that are alone, none of it negative, rows adding to their totals.

    Where units took more than a split's quota, the others have less: the largest room gives first.
    """
    room = np.maximum(room, 0)
    for label in np.flatnonzero(room.sum(axis=1) > totals):
        for _ in range(int(room[label].sum() - totals[label])):
            room[label, room[label].argmax()] -= 1
    return room


def _greedy(
    hashes: npt.NDArray[np.uint64],
    rows: npt.NDArray[np.intp],
    labels: npt.NDArray[np.integer],
    units: _Ints,
    wanted: npt.NDArray[np.float64],
) -> npt.NDArray[np.int32]:
    """The split of every unit by its number.

    Args:
        hashes: uint64[n] of the examples.
        rows: int[m], the example of each of their labels.
        labels: int[m].
        units: int64[n], of each example, 0 or more.
        wanted: float64[num_labels, num_splits], examples of each label in each split.
    """
    num_units = int(units.max(initial=-1)) + 1
    ratios = (wanted / np.maximum(wanted.sum(axis=1, keepdims=True), 1)).tolist()
    cells, in_cell = np.unique(units[rows] * len(wanted) + labels, return_counts=True)
    cell_units, cell_labels = np.divmod(cells, len(wanted))
    least_hash = np.full(num_units, np.iinfo(np.uint64).max, np.uint64)
    np.minimum.at(least_hash, units, hashes)
    sizes = np.bincount(cell_units, weights=in_cell, minlength=num_units)
    starts = np.searchsorted(cell_units, np.arange(num_units + 1)).tolist()
    label_of, count_of = cell_labels.tolist(), in_cell.tolist()
    # Plain lists: a unit has few labels, and an array's overhead is that of fifty of them.
    splits = range(wanted.shape[1])
    lags = [[0.0] * wanted.shape[1] for _ in ratios]
    placed = np.zeros(num_units, np.int32)
    for unit in np.lexsort((least_hash, -sizes)).tolist():
        scores = [0.0] * len(splits)
        cells_of_unit = range(starts[unit], starts[unit + 1])
        for at in cells_of_unit:
            count, lag, ratio = count_of[at], lags[label_of[at]], ratios[label_of[at]]
            for split in splits:
                lag[split] += ratio[split] * count
                scores[split] += lag[split] * count
        best = scores.index(max(scores))
        placed[unit] = best
        for at in cells_of_unit:
            lags[label_of[at]][best] -= count_of[at]
    return placed
