"""Run NumPy functions on tensors: what `shardkit.order` and `shardkit.fetch` compute, as operations of a graph.

NumPy passes its operators and functions on to the class of their arguments (NEP 13 and NEP 18).
"""

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from shardkit.order.permutation import cycle_walk

_OPERATORS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: tf.add,
    np.bitwise_and: tf.bitwise.bitwise_and,
    np.bitwise_xor: tf.bitwise.bitwise_xor,
    np.divide: tf.divide,
    np.equal: tf.equal,
    np.floor: tf.floor,
    np.floor_divide: tf.math.floordiv,
    np.greater: tf.greater,
    np.greater_equal: tf.greater_equal,
    np.less: tf.less,
    np.less_equal: tf.less_equal,
    np.maximum: tf.maximum,
    np.minimum: tf.minimum,
    np.multiply: tf.multiply,
    np.negative: tf.negative,
    np.remainder: tf.math.floormod,
    np.right_shift: tf.bitwise.right_shift,
    np.sqrt: tf.sqrt,
    np.subtract: tf.subtract,
}


class GraphArray(np.lib.mixins.NDArrayOperatorsMixin):
    """A tensor in place of a NumPy array."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    @property
    def dtype(self) -> Any:
        """The dtype as NumPy's."""
        return np.dtype(self.tensor.dtype.as_numpy_dtype)

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The sides, as far as they are known."""
        return tuple(self.tensor.shape)

    @property
    def T(self) -> "GraphArray":  # noqa: N802 - as NumPy's
        """The transposed matrix."""
        return GraphArray(tf.transpose(self.tensor))

    def __len__(self) -> int:
        return int(self.tensor.shape[0])

    def __getitem__(self, index: Any) -> "GraphArray":
        index = index if isinstance(index, tuple) else (index,)
        # At most one is an array; before it stand only slices of all.
        for axis, one in enumerate(index):
            if isinstance(one, GraphArray):
                others = (*index[:axis], slice(None), *index[axis + 1 :])
                return GraphArray(tf.gather(self.tensor[others], one.tensor, axis=axis))
        return GraphArray(self.tensor[index])

    def astype(self, dtype: Any) -> "GraphArray":
        """Return the values in another dtype."""
        return GraphArray(tf.cast(self.tensor, dtype))

    def reshape(self, *shape: int) -> "GraphArray":
        """Return the values in another shape."""
        return GraphArray(tf.reshape(self.tensor, shape))

    def __array_ufunc__(self, function: np.ufunc, method: str, *inputs: Any, **_: Any) -> "GraphArray":
        # As in NumPy: Python's numbers take the dtype of the arrays.
        dtype = np.result_type(*(one if isinstance(one, int | float) else one.dtype for one in inputs))
        tensors = [tf.cast(one.tensor if isinstance(one, GraphArray) else one, dtype) for one in inputs]
        is_logical = dtype == np.bool_ and function is np.bitwise_and
        return GraphArray((tf.logical_and if is_logical else _OPERATORS[function])(*tensors))

    def __array_function__(self, function: Any, _: Any, args: Any, kwargs: Any) -> Any:
        unwrapped = tf.nest.map_structure(lambda one: one.tensor if isinstance(one, GraphArray) else one, args)
        return tf.nest.map_structure(GraphArray, _FUNCTIONS[function](*unwrapped, **kwargs))


def _take_along_axis(array: Any, indices: Any, axis: int) -> Any:
    if array.shape[1] == 1:
        return tf.gather(array[:, axis], indices)
    return tf.transpose(tf.gather(tf.transpose(array), tf.transpose(indices), batch_dims=1))


_FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.any: tf.reduce_any,
    np.argmax: lambda values, axis: tf.argmax(tf.cast(values, tf.int8), axis),
    np.clip: tf.clip_by_value,
    np.round: tf.round,
    np.searchsorted: lambda keys, values, side="left": tf.searchsorted(keys, values, side, tf.int64),
    np.stack: tf.stack,
    np.take_along_axis: _take_along_axis,
    np.unique: lambda values, return_inverse: tuple(tf.unique(values, tf.int64)),
    np.where: tf.where,
    np.zeros_like: tf.zeros_like,
}


@cycle_walk.register(GraphArray)
def _cycle_walk_in_graph(ids: GraphArray, encipher: Any, is_outside: Any) -> GraphArray:
    everywhere = slice(None)

    def walk(ids: Any, walking: Any) -> tuple[Any, Any]:
        moved = tf.where(walking, encipher(GraphArray(ids), everywhere).tensor, ids)
        return moved, is_outside(GraphArray(moved), everywhere).tensor

    start = ids.tensor, tf.ones_like(ids.tensor, tf.bool)
    return GraphArray(tf.while_loop(lambda _, walking: tf.reduce_any(walking), walk, start)[0])


def in_graph(value: Any) -> Any:
    """Return a copy of an object whose arrays of numbers are tensors, also those of the values inside."""
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        with tf.device("CPU:0"):
            return GraphArray(tf.constant(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {one.name: in_graph(getattr(value, one.name)) for one in dataclasses.fields(value)}
        return dataclasses.replace(value, **fields)
    if type(value).__module__.startswith("shardkit."):
        copied = copy.copy(value)
        vars(copied).update({name: in_graph(one) for name, one in vars(value).items()})
        return copied
    return value
