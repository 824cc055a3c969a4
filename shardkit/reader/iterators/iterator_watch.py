"""Notice in Python that an iterator of an input function is made, and the mistakes of the call of Keras that makes it.

A callback of Keras sees neither the data of `fit` nor its iterators. But each iterator reads its start step in the
graph of its pipeline, once it is made, and calls Python there: so it is known whether `fit` reads the data of a
function, under any strategy, and whether it was told where an epoch of endless data ends.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import tensorflow as tf

from shardkit.reader.iterators.padded_evaluation import padding_mistake
from shardkit.reader.iterators.start_steps import StartStep
from shardkit.reader.python_calls import callable_in_graph


class IteratorWatch:
    """What is known of the iterators of one input function."""

    def __init__(self, steps_per_epoch: int | None, *, lacks_labels: bool = False) -> None:
        """Begin to watch."""
        self.num_starts = 0
        self._warnings: list[Callable[[FrameType], str | None]] = []
        if steps_per_epoch is not None:
            endless = (
                "Keras has endless data and no number of steps, so its first epoch never ends: give fit "
                f"steps_per_epoch=train_fn.steps_per_epoch, which is {steps_per_epoch:,}; for validation or evaluate "
                "make the data with training=False"
            )
            self._warnings.append(lambda frame: endless if _is_endless(frame.f_locals.get("self")) else None)
        if lacks_labels:
            unlabelled = (
                "the dataset has no labels, so the model's loss has nothing to compare with: give the input function a "
                "map_fn that returns (image, target), such as lambda features, seed: (features['image'], "
                "features['image']) for an autoencoder; or convert the images with labels"
            )
            self._warnings.append(lambda frame: unlabelled if _compares(frame) else None)
        self._warnings.append(lambda frame: padding_mistake(frame, stops=False))

    def note(self, step: Any) -> tuple[Any, bytes]:
        """Count this start, and warn once of each mistake in a call of Keras that iterates over this data."""
        self.num_starts += 1
        calls = list(_calls_of_keras())
        for find in list(self._warnings):
            for frame, caller in calls:
                if message := find(frame):
                    self._warnings.remove(find)
                    warnings.warn_explicit(message, UserWarning, caller.f_code.co_filename, caller.f_lineno)
                    break
        refusals = (padding_mistake(frame, stops=True) for frame, _ in calls)
        return step, next(filter(None, refusals), "").encode()


class WatchedStart(StartStep):
    """A start step that tells an `IteratorWatch` when it is read."""

    def __init__(self, variable: Any, num_steps: int | None, watch: IteratorWatch) -> None:
        """Wrap a variable; see `StartStep`."""
        super().__init__(variable, num_steps)
        self._note = callable_in_graph(watch.note, [tf.int64, tf.string])

    def read_value(self) -> Any:
        """Return the current value, as an op that fails if Keras must not read the data."""
        step, refusal = self._note(super().read_value())
        with tf.control_dependencies([tf.debugging.Assert(tf.equal(refusal, ""), [refusal])]):
            return tf.ensure_shape(tf.identity(step), [])


def _calls_of_keras() -> Iterator[tuple[FrameType, FrameType]]:
    """Yield the frames of Keras in all threads, each with the frame that called Keras."""
    # TensorFlow calls Python in a thread of its own, so the loop of Keras may be in any of them.
    for innermost in sys._current_frames().values():  # noqa: SLF001 - the documented name
        frames = list(_stack(innermost))
        for number, frame in enumerate(frames):
            if _package(frame) in {"keras", "tf_keras"}:
                inside = {"keras", "tf_keras", "tensorflow"}
                yield frame, next((caller for caller in frames[number:] if _package(caller) not in inside), frame)


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _is_endless(owner: Any) -> bool:
    """Return whether this is Keras' iterator over the epochs of a dataset that never ends, without a number of steps.

    Keras has no public name for it; what is not found there is not endless.
    """
    if not any(kind.__name__ == "EpochIterator" for kind in type(owner).__mro__):
        return False
    cardinality = getattr(getattr(getattr(owner, "data_adapter", None), "_dataset", None), "cardinality", None)
    if getattr(owner, "steps_per_epoch", 0) is not None or cardinality is None:
        return False
    # A method of datasets, and a number of distributed ones.
    return bool(int(cardinality() if callable(cardinality) else cardinality) == tf.data.INFINITE_CARDINALITY)


def _compares(frame: FrameType) -> bool:
    """Return whether this frame trains or evaluates a model with a loss of targets. Some compute theirs themselves."""
    return frame.f_code.co_name in {"fit", "evaluate"} and getattr(frame.f_locals.get("self"), "loss", None) is not None
