"""The order of examples: pure functions from positions to example ids, one file per order.

``TRAINING_ORDERS`` maps the name a caller gives to its function; all have the signature of
:func:`shardkit.order.permutation.permute`. Evaluation has the one order :func:`shardkit.order.sequential.place`, which
gives weights too. Nothing here imports TensorFlow: the reader's graph is held against these functions.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

import numpy as np
import numpy.typing as npt

from shardkit.order import permutation, sequential
from shardkit.order.batches import BatchLayout, steps_per_epoch, worker_part


class TrainingOrder(Protocol):
    """An endless order."""

    def __call__(self, positions: npt.NDArray[np.int64], *, num_examples: int, seed: int) -> npt.NDArray[np.int64]:
        """Map int64[n] positions to int64[n] ids in [0, num_examples), each of them once an epoch."""


TRAINING_ORDERS: Mapping[str, TrainingOrder] = MappingProxyType({"full": permutation.permute})

__all__ = [
    "TRAINING_ORDERS",
    "BatchLayout",
    "TrainingOrder",
    "permutation",
    "sequential",
    "steps_per_epoch",
    "worker_part",
]
