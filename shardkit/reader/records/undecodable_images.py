"""Find the images of a failed step that do not decode, in Python, outside of any graph."""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from shardkit.reader.python_calls import callable_in_graph
from shardkit.reader.records.instructions import ReadInstructions
from shardkit.reader.records.recovery import RecordRecovery

_NONE: np.int64 = np.int64(0)


def find_undecodable_images(instructions: ReadInstructions, recovery: RecordRecovery) -> Callable[[Any], Any]:
    """Return a graph function from a step, int64[], to the number of its images that do not decode, int64[].

    Args:
        instructions: Read instructions of the pipeline.
        recovery: Decodes the images again, and remembers those that do not decode.
    """
    find = callable_in_graph(_Finder(instructions, recovery).find, [tf.int64])
    return lambda step: tf.reshape(find(step)[0], [])


class _Finder:
    """The object that a graph keeps for its calls.

    The instructions are computed eagerly after a step has failed. Traced into every graph, as those of the batches are,
    they would take a quarter of a second more before the first batch.
    """

    def __init__(self, instructions: ReadInstructions, recovery: RecordRecovery) -> None:
        self._instructions, self._recovery = instructions, recovery

    def find(self, step: np.int64) -> np.int64:
        self._recovery.check_sources()
        with tf.device("CPU:0"):
            columns, _ = self._instructions.of_steps(tf.constant(step), 1)
        if "window" not in columns:
            return _NONE  # no image is decoded
        found: np.int64 = np.int64(self._recovery.find_undecodable(columns["id"].numpy(), columns["window"].numpy()))
        return found
