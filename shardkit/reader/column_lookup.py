"""Look up rows of the record table in a graph."""

from collections.abc import Callable
from typing import Any

import numpy.typing as npt
import tensorflow as tf

# TensorFlow's name for a variable that exists as long as something refers to it (ResourceHandle::ANONYMOUS_NAME).
ANONYMOUS = "cd2c89b7-88b7-44c8-ad83-06c2a9158347"


def column_lookup(column: npt.NDArray[Any], *, remote: bool) -> Callable[[Any], Any]:
    """Return a graph function that looks up values of a column by id: int64[n] to [n]."""
    with tf.device("CPU:0"):
        # tf.constant would copy: 20 million rows of all columns are 700 MiB. The column is aligned for this.
        tensor = tf.experimental.dlpack.from_dlpack(column.__dlpack__())
        if remote:
            return lambda ids: tf.gather(tensor, ids)
        # For each iterator, tf.data copies the tensors of a pipeline, because it rewrites its graph, but not variables.
        # A tf.Variable would be mirrored by a strategy on each of its devices; ResourceGather would copy, too.
        variable = tf.raw_ops.VarHandleOp(dtype=tensor.dtype, shape=tensor.shape, shared_name=ANONYMOUS)
        tf.raw_ops.AssignVariableOp(resource=variable, value=tensor)

        def rows(ids: Any) -> Any:
            values = tf.raw_ops.ReadVariableOp(resource=variable, dtype=tensor.dtype)
            values.set_shape(tensor.shape)
            return tf.gather(values, ids)

        return rows
