"""Look into the examples of a step that failed, in Python, outside any graph."""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from shardkit.reader.python_calls import callable_in_graph
from shardkit.reader.records.instructions import ReadInstructions
from shardkit.reader.records.recovery import RecordRecovery

_NOTHING: np.int64 = np.int64(0)


class StepInspector:
    """Finds the images of a step that do not decode.

    The places are computed eagerly when a step has failed: traced into every graph, as the batches are, they would
    take a quarter of a second more before the first batch.
    """

    def __init__(self, places: ReadInstructions, recovery: RecordRecovery) -> None:
        """Make one.

        Args:
            places: The places of the pipeline.
            recovery: Knows the images that do not decode.
        """
        self._places, self._rereader = places, recovery

    def in_graph(self) -> Callable[[Any], Any]:
        """Return a graph function from a step, int64[], to the number of its images that do not decode, int64[]."""
        look_into = callable_in_graph(self._look_into, [tf.int64])
        return lambda step: tf.reshape(look_into(step)[0], [])

    def _look_into(self, step: np.int64) -> np.int64:
        self._rereader.check_sources()
        with tf.device("CPU:0"):
            place, _ = self._places.of_steps(tf.constant(step), 1)
        if "window" not in place:
            return _NOTHING  # no image is decoded
        found: np.int64 = np.int64(self._rereader.look_into(place["id"].numpy(), place["window"].numpy()))
        return found
