"""Notice in Python that an iterator of an input function is made, and the mistakes of the call of Keras that makes it.

A callback of Keras sees neither the data of `fit` nor its iterators. But each iterator calls Python when it reads its
start step: so it is known whether `fit` reads the data of a function, under any strategy, and whether it was told where
an epoch of endless data ends.

The padding of an evaluation has weight 0, and Keras (3.15) applies weights only to `weighted_metrics`: for 20 examples
in batches of 16, it reported an accuracy of 0.31 instead of 0.50, and 20/32 of the loss. The data of a call is
recognised by the datasets that it is derived from, so a custom loop is never taken for Keras'.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NamedTuple

import tensorflow as tf

from shardkit.order import BatchLayout


class IteratorWatch:
    """What is known of the iterators of one input function."""

    def __init__(self, steps_per_epoch: int | None, *, lacks_labels: bool = False) -> None:
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

    def note(self) -> str:
        """Count a start, and warn once of each mistake in a call of Keras that iterates over this data.

        Return why Keras must not read the data, or "".
        """
        self.num_starts += 1
        calls = list(_calls_of_keras())
        for find in list(self._warnings):
            for frame, caller in calls:
                if message := find(frame):
                    self._warnings.remove(find)
                    warnings.warn_explicit(message, UserWarning, caller.f_code.co_filename, caller.f_lineno)
                    break
        refusals = (padding_mistake(frame, stops=True) for frame, _ in calls)
        return next(filter(None, refusals), "")


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


WEIGHTED_PARTS = 3  # of an element (images, labels, weights)
_MARK = "shardkit_padding"
# The argument with the data of an evaluation. `fit` has it before it trains, and evaluates after an epoch.
_EVALUATIONS = {"evaluate": "x", "fit": "validation_data"}


class _Padding(NamedTuple):
    """The rows of weight 0 at the end of an evaluation, and the number of processes that evaluate."""

    num_rows: int
    num_workers: int

    def describe(self, mistake: str) -> str:
        # Without quotes, which TensorFlow prints with backslashes.
        short = "set last_batch to short, or " if self.num_workers == 1 else ""
        return (
            f"the last {self.num_rows:,} rows of this evaluation are padding of weight 0, and {mistake}: {short}give "
            "compile() all metrics, and the loss as a metric, as weighted_metrics"
        )


def mark_padding(dataset: Any, num_rows: int, layout: BatchLayout) -> None:
    """Mark the dataset of an evaluation so that `padding_mistake` recognises what is derived from it."""
    if num_rows:
        setattr(dataset, _MARK, _Padding(num_rows, layout.num_workers))


def padding_mistake(frame: FrameType, *, stops: bool) -> str | None:
    """Return what is wrong with an evaluation by Keras that counts padding; None if nothing is known to be."""
    model: Any = frame.f_locals.get("self")
    data: Any = frame.f_locals.get(_EVALUATIONS.get(frame.f_code.co_name, ""))
    padding = _padding_of(data)
    if padding is None:
        return None
    compiled = _compiled_metrics(model)
    if compiled is None:
        mistake = "Keras counts them in all metrics but weighted_metrics, and in the loss (val_loss)"
        return None if stops else padding.describe(mistake)
    methods = (getattr(type(model), name) for name in ("test_step", "compute_metrics", "compute_loss"))
    if any(str(method.__module__).partition(".")[0] != "keras" for method in methods):
        return None  # a step of the user's, which may apply the weights
    if isinstance(data.element_spec, tuple) and len(data.element_spec) < WEIGHTED_PARTS:
        mistake = "the data has lost its third part, the weights, so everything that Keras reports is wrong"
        return padding.describe(mistake) if stops else None
    has_plain, has_weighted = compiled
    if has_plain:
        mistake = "Keras counts them in compile(metrics=...) and in the mean loss, so val_loss is wrong too"
        return padding.describe(mistake) if stops else None
    if has_weighted or stops or model.loss is None:
        return None
    return padding.describe("Keras counts them in the mean loss, so loss and val_loss are too small")


def _compiled_metrics(model: Any) -> tuple[bool, bool] | None:
    """Return whether a model has metrics without weights and with them; None if that cannot be seen, as in tf_keras."""
    try:
        metrics = model._compile_metrics  # noqa: SLF001 - Keras has no public name for what compile() was given
        if metrics is None:
            return False, False
        both = metrics._user_metrics, metrics._user_weighted_metrics  # noqa: SLF001 - as above
    except AttributeError:
        return None
    has_plain, has_weighted = (any(metric is not None for metric in tf.nest.flatten(one)) for one in both)
    return has_plain, has_weighted


def _padding_of(data: Any) -> _Padding | None:
    """Return the padding of the evaluation that data is derived from; None if it is other data."""
    # Of a distributed dataset, the datasets of its workers.
    for part in getattr(data, "_datasets", None) or getattr(data, "_cloned_datasets", None) or [data]:
        for dataset in _sources(part):
            padding: _Padding | None = getattr(dataset, _MARK, None)
            # A user who removes the padding, by `unbatch` and `filter` or in `map`, gets batches of unknown size.
            specs = (one for one in tf.nest.flatten(part.element_spec) if isinstance(one, tf.TensorSpec))
            if padding is not None and all(spec.shape[:1].is_fully_defined() for spec in specs):
                return padding
    return None


def _sources(dataset: Any) -> Iterator[Any]:
    """Yield a dataset and those that it is made of."""
    if isinstance(dataset, tf.data.Dataset):
        yield dataset
        for source in dataset._inputs():  # noqa: SLF001 - TensorFlow has no public name for it
            yield from _sources(source)
