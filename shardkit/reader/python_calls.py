"""Call Python methods from a graph without keeping their objects alive after it."""

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from shardkit.reader.table.column_lookup import column_lookup
from shardkit.reader.table.records import aligned


class _Memory(np.ndarray[Any, np.dtype[np.int64]]):
    """Memory that TensorFlow borrows; its owner lives as long."""

    owner: Any


def callable_in_graph(method: Callable[..., Any], types: list[tf.DType]) -> Callable[..., Any]:
    """Return a graph function that calls a bound method with tensors and returns tensors of those types.

    TensorFlow keeps the function that `tf.numpy_function` is given until the process ends, and with a bound method its
    object: here a table of 36 MB for a million examples, for each input function. So it is given a weak reference, and
    a variable that the graph reads for the call keeps the object alive.
    """
    # The object must not refer to the function returned here: Python cannot collect a cycle through TensorFlow.
    memory = aligned(1, np.int64).view(_Memory)
    memory[0], memory.owner = 0, method.__self__  # type: ignore[attr-defined]
    alive = column_lookup(memory, remote=False)
    weak = weakref.WeakMethod(method)

    def call(_: npt.NDArray[np.int64], *values: Any) -> Any:
        found = weak()
        assert found is not None  # noqa: S101 - the first argument keeps it
        return found(*values)

    def in_graph(*tensors: Any) -> list[Any]:
        results = tf.numpy_function(call, [alive(tf.constant(0, tf.int64)), *tensors], types)
        # In eager execution, as in tf.data's debug mode, a single result is not in a list.
        return list(tf.nest.flatten(results))

    return in_graph
