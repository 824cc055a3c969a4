"""Call Python methods from a graph: without keeping their objects alive after it, and not while the interpreter exits.

The threads of tf.data run on while the interpreter exits. One that then calls Python never returns, and the interpreter
waits for it: the process would hang. So calls are stopped before, and those that are under way are waited for.
"""

import atexit
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from shardkit.fetch.memory import aligned

_CALLABLE, _STOPPED = 0, 1
# From the graph's look at the memory until Python is entered; microseconds, if the interpreter is free.
_GRACE_SECONDS = 0.05
_MAX_WAIT_SECONDS = 30.0
Function = TypeVar("Function", bound=Callable[..., Any])


class _Memory(np.ndarray[Any, np.dtype[np.int64]]):
    """Memory that TensorFlow borrows; its owner lives as long."""

    owner: Any


class _Calls:
    """All calls of this process: the memories that their graphs look at, and the number of those under way."""

    def __init__(self) -> None:
        self._memories: list[weakref.ref[_Memory]] = []
        self._num_running = 0
        self._changed = threading.Condition()

    def add(self, memory: _Memory) -> None:
        with self._changed:
            self._memories = [one for one in self._memories if one() is not None] + [weakref.ref(memory)]

    def __enter__(self) -> None:
        with self._changed:
            self._num_running += 1

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._num_running -= 1
            self._changed.notify_all()

    def stop(self) -> None:
        """Let no graph call Python any more, and wait for the calls that are under way."""
        memories = [memory for one in self._memories if (memory := one()) is not None]
        for memory in memories:
            memory[0] = _STOPPED
        if memories:
            time.sleep(_GRACE_SECONDS)
            with self._changed:
                self._changed.wait_for(lambda: not self._num_running, _MAX_WAIT_SECONDS)


_calls = _Calls()
atexit.register(_calls.stop)


def callable_in_graph(owner: Any, function: Callable[..., Any], types: list[tf.DType]) -> Callable[..., Any]:
    """Return a graph function that calls a function with its owner and tensors, and returns tensors of those types.

    TensorFlow keeps the function that `tf.numpy_function` is given until the process ends, so neither it nor what it
    refers to must refer to the owner: here a table of 36 MB for a million examples, for each input function. It gets a
    weak reference, and a variable that the graph reads for the call keeps the owner alive.
    """
    # The owner must not refer to the function returned here: Python cannot collect a cycle through TensorFlow.
    memory = aligned(8).view(np.int64).view(_Memory)
    memory[0], memory.owner = _CALLABLE, owner
    _calls.add(memory)
    borrowed = _borrowed(memory)
    weak = weakref.ref(owner)

    def call(_: npt.NDArray[np.int64], *values: Any) -> Any:
        with _calls:
            found = weak()
            assert found is not None  # noqa: S101 - the first argument keeps it
            return function(found, *values)

    def in_graph(*tensors: Any) -> list[Any]:
        state = tf.reshape(tf.raw_ops.ReadVariableOp(resource=borrowed, dtype=tf.int64), [])
        is_callable = tf.raw_ops.Assert(condition=tf.equal(state, _CALLABLE), data=["the interpreter exits"])
        with tf.control_dependencies([is_callable]):
            results = tf.numpy_function(call, [state, *tensors], types)
        # In eager execution, as in tf.data's debug mode, a single result is not in a list.
        return list(tf.nest.flatten(results))

    return in_graph


def without_autograph(function: Function) -> Function:
    """Return a function that AutoGraph does not convert.

    AutoGraph is for users' functions. Converting the reader's own ones takes nine tenths of the time to trace them, and
    replaces the errors that they raise by AutoGraph's.
    """
    unconverted: Function = tf.autograph.experimental.do_not_convert(function)
    return unconverted


# TensorFlow's name for a variable that exists as long as something refers to it (ResourceHandle::ANONYMOUS_NAME).
ANONYMOUS = "cd2c89b7-88b7-44c8-ad83-06c2a9158347"


def _borrowed(memory: npt.NDArray[np.int64]) -> Any:
    """Return the handle of a variable whose value is what the memory holds at the time; it keeps the memory alive.

    For each iterator, tf.data copies the tensors of a pipeline, because it rewrites its graph, but not variables. A
    tf.Variable would be mirrored by a strategy on each of its devices.
    """
    with tf.device("CPU:0"):
        variable = tf.raw_ops.VarHandleOp(dtype=tf.int64, shape=memory.shape, shared_name=ANONYMOUS)
        tensor = tf.experimental.dlpack.from_dlpack(memory.__dlpack__())
        tf.raw_ops.AssignVariableOp(resource=variable, value=tensor)
        return variable
