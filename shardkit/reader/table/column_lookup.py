"""Columns of the record table, for graphs to look rows up in."""

from collections.abc import Callable
from typing import Any

import numpy.typing as npt
import tensorflow as tf

# The name by which TensorFlow knows a variable that lives no longer than those who refer to it.
ANONYMOUS = "cd2c89b7-88b7-44c8-ad83-06c2a9158347"


def column_lookup(column: npt.NDArray[Any], *, remote: bool) -> Callable[[Any], Any]:
    """What gives some rows of a column in a graph: int64[n] ids to [n].

    Args:
        column: aligned, see `table.aligned`. In this process the graph reads its very memory: 20 million rows of all
            columns are 700 MiB, and every copy takes a second and as much again.
        remote: the graph travels to other processes, and the column with it.
    """
    with tf.device("CPU:0"):
        # tf.constant would copy.
        tensor = tf.experimental.dlpack.from_dlpack(column.__dlpack__())
        if remote:
            return lambda ids: tf.gather(tensor, ids)
        # tf.data copies the tensors of a pipeline for each iterator, because it rewrites its graph, but no variables.
        # Not tf.Variable, which a strategy would give to each of its devices; not ResourceGather, which copies too.
        variable = tf.raw_ops.VarHandleOp(dtype=tensor.dtype, shape=tensor.shape, shared_name=ANONYMOUS)
        tf.raw_ops.AssignVariableOp(resource=variable, value=tensor)

        def rows(ids: Any) -> Any:
            values = tf.raw_ops.ReadVariableOp(resource=variable, dtype=tensor.dtype)
            values.set_shape(tensor.shape)
            return tf.gather(values, ids)

        return rows
