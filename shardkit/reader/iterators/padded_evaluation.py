"""Find calls of Keras that count the padding of an evaluation: its metrics and its loss are then wrong.

The padding has weight 0. Keras (3.15) applies weights only to `weighted_metrics`: plain `metrics` count the padding as
examples, and the loss is divided by the number of rows, so it is too small. For 20 examples in batches of 16, Keras
reported an accuracy of 0.31 instead of 0.50, and 20/32 of the loss.

The data of a call is recognised by the datasets that it is derived from, so a custom loop is never taken for Keras'.
"""

from collections.abc import Iterator
from types import FrameType
from typing import Any, NamedTuple

import tensorflow as tf

from shardkit.order import BatchLayout

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
    if any(not _is_keras(getattr(type(model), name)) for name in ("test_step", "compute_metrics", "compute_loss")):
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
        return _given(metrics._user_metrics), _given(metrics._user_weighted_metrics)  # noqa: SLF001 - as above
    except AttributeError:
        return None


def _given(metrics: Any) -> bool:
    return any(metric is not None for metric in tf.nest.flatten(metrics))


def _is_keras(function: Any) -> bool:
    return str(function.__module__).partition(".")[0] == "keras"


def _padding_of(data: Any) -> _Padding | None:
    """Return the padding of the evaluation that data is derived from; None if it is other data."""
    # Of a distributed dataset, the datasets of its workers.
    for part in getattr(data, "_datasets", None) or getattr(data, "_cloned_datasets", None) or [data]:
        for dataset in _sources(part):
            padding: _Padding | None = getattr(dataset, _MARK, None)
            # A user who removes the padding, by `unbatch` and `filter` or in `map`, gets batches of unknown size.
            if padding is not None and all(spec.shape[:1].is_fully_defined() for spec in _specs(part)):
                return padding
    return None


def _sources(dataset: Any) -> Iterator[Any]:
    """Yield a dataset and those that it is made of."""
    if isinstance(dataset, tf.data.Dataset):
        yield dataset
        for source in dataset._inputs():  # noqa: SLF001 - TensorFlow has no public name for it
            yield from _sources(source)


def _specs(dataset: Any) -> list[Any]:
    return [one for one in tf.nest.flatten(dataset.element_spec) if isinstance(one, tf.TensorSpec)]
