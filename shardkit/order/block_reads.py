"""What a reader of ``block`` order does step by step: which positions and which blocks a worker needs.

The workers divide the slots of `shardkit.order.blocks`, so each reads its own part of the data and no other, and any
number of workers that divides the lanes makes the same global batches.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shardkit.errors import CallError
from shardkit.order.batches import check_divisible, worker_part
from shardkit.order.blocks import BlockLayout, Epochs, windows_of

_Ints = npt.NDArray[np.int64]


class Piece(NamedTuple):
    """Records that are read together: a block, or the part of it that belongs to a lane.

    Attributes:
        epoch: in which it is wanted.
        slot: in [0, L), of the positions t that it serves, t mod L.
        window: number of its window in the epoch's lane.
        start, stop: the ids [start, stop), of one shard.
    """

    epoch: int
    slot: int
    window: int
    start: int
    stop: int


def blocks_of_step(
    step: int,
    *,
    layout: BlockLayout,
    seed: int,
    global_batch_size: int,
    num_workers: int = 1,
    worker_index: int = 0,
) -> list[Piece]:
    """What a worker must have in memory to make its part of a global batch.

    A piece is wanted over consecutive steps and never again in its epoch, so a reader fetches those that are new at
    steps to come and drops those that no longer occur.

    Raises:
        CallError: the batch is no multiple of the lanes, or the lanes none of the workers.
    """
    check_lanes(layout.lanes, global_batch_size, num_workers)
    start, stop = worker_part(step, global_batch_size, num_workers, worker_index)
    positions = lane_positions(np.arange(start, stop), global_batch_size=global_batch_size, lanes=layout.lanes)
    epochs = Epochs.over(layout, positions // layout.num_examples, seed)
    window = windows_of(layout, epochs, positions)
    keys = np.stack([positions // layout.num_examples, positions % layout.lanes, window.number])
    _, chosen = np.unique(keys, axis=1, return_index=True)
    pieces: list[Piece] = []
    for i in chosen:
        epoch, slot, number = (int(key) for key in keys[:, i])
        blocks = np.arange(window.first_block[i], window.stop_block[i])
        rows = np.full_like(blocks, window.row[i])
        first = np.maximum(epochs.records_before(rows, blocks), window.start[i])
        last = np.minimum(epochs.records_before(rows, blocks + 1), window.stop[i]) - 1
        ids = zip(epochs.ids(rows, first), epochs.ids(rows, last), strict=True)
        pieces.extend(Piece(epoch, slot, number, int(a), int(z) + 1) for a, z in ids)
    return pieces


def lane_positions(places: _Ints, *, global_batch_size: int, lanes: int) -> _Ints:
    """The position of the order that stands at each place of the global batches, lane by lane.

    Place j of batch k is k * G + j. Workers take contiguous parts of a batch (`batches`), which must hold whole slots:
    so the batch's positions stand in it slot after slot, j = slot * (G / L) + i for position k * G + i * L + slot.

    Raises:
        CallError: global_batch_size is no multiple of lanes.
    """
    check_lanes(lanes, global_batch_size)
    steps, within = places // global_batch_size, places % global_batch_size
    per_lane = global_batch_size // lanes
    return np.asarray(steps * global_batch_size + within % per_lane * lanes + within // per_lane, np.int64)


def check_lanes(lanes: int, global_batch_size: int, num_workers: int = 1) -> None:
    """Refuse a batch that does not deal evenly over the lanes, and workers that would share one.

    Raises:
        CallError: with the numbers, and what would do.
    """
    check_divisible(global_batch_size, lanes, "lanes")
    if lanes % num_workers:
        raise CallError(
            f"{num_workers} workers cannot share {lanes} lanes; use a number of workers that divides it, or "
            f"lanes={-(-lanes // num_workers) * num_workers} (other lanes make other batches)"
        )
