"""How the workers share the lanes of ``block`` order.

Each worker reads its own lanes of `shardkit.order.blocks` and no others, so every number of workers that divides the
lanes makes the same global batches, and every record is read by one worker only.
"""

import numpy as np
import numpy.typing as npt

from shardkit.errors import CallError
from shardkit.order.batches import check_divisible

_Ints = npt.NDArray[np.int64]


def lane_positions(slots: _Ints, *, global_batch_size: int, lanes: int) -> _Ints:
    """Return the position of the order at each slot of the global batches.

    Slot j of batch k is k * G + j. A worker takes a contiguous part of each batch (`shardkit.order.batches`), and that
    part must be made of whole lanes. So a batch lists its positions lane by lane: slot j = lane * (G / L) + i holds
    position k * G + i * L + lane.

    Args:
        slots: int64[n], 0 or more.
        global_batch_size: G, a multiple of lanes.
        lanes: L.

    Raises:
        CallError: global_batch_size is not a multiple of lanes.
    """
    check_lanes(lanes, global_batch_size)
    steps, within = slots // global_batch_size, slots % global_batch_size
    per_lane = global_batch_size // lanes
    return np.asarray(steps * global_batch_size + within % per_lane * lanes + within // per_lane, np.int64)


def check_lanes(lanes: int, global_batch_size: int, num_workers: int = 1) -> None:
    """Check that the lanes divide the batch, and the workers divide the lanes.

    Raises:
        CallError: They do not; the message has the numbers and the nearest that work.
    """
    check_divisible(global_batch_size, lanes, "lanes")
    if lanes % num_workers:
        raise CallError(
            f"{num_workers} workers cannot share {lanes} lanes; use a number of workers that divides {lanes}, or "
            f"lanes={-(-lanes // num_workers) * num_workers} (which changes the batches)"
        )
