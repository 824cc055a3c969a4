"""Go on at the right example after Keras has restored a model."""

from typing import Any

import keras

from shardkit.reader.arguments.checks import refused
from shardkit.reader.dataset_fn import DatasetFn


class ResumeCallback(keras.callbacks.Callback):  # type: ignore[misc] # Keras is untyped
    """Starts the input of `fit` at the step that the model is at. Put it behind `BackupAndRestore`.

        callbacks=[keras.callbacks.BackupAndRestore(folder, save_freq=1000), ResumeCallback(train_fn)]

    What a model has seen is the number of steps that its optimizer has taken; the input function is told that number
    before the first batch is asked for. So it serves any way in which a model may come back, `keras.models.load_model`
    and `fit(initial_epoch=…)` too. Steps that dynamic loss scaling (`mixed_float16`) skips are not counted, hence read
    again; with gradient accumulation, save at a multiple of its steps.

    `BackupAndRestore` with a number as `save_freq` also saves in the middle of an epoch, and Keras (3.15) cannot start
    there: `fit` runs a whole epoch from that step on. The input goes on without a gap all the same; this callback sees
    to it that `fit` ends after `epochs * steps_per_epoch` steps in all, as if nothing had happened, so the last epoch
    is cut short by what had been done of the interrupted one. It counts the epochs itself, since `BackupAndRestore`
    forgets them when it is interrupted twice within one.
    """

    def __init__(self, dataset_fn: DatasetFn) -> None:
        """Make a callback.

        Args:
            dataset_fn: The input function of the data that `fit` is given.

        Raises:
            CallError: The argument is something else.
        """
        super().__init__()
        if not isinstance(dataset_fn, DatasetFn):
            raise refused("dataset_fn", "an input function, as make_dataset_fn returns", dataset_fn)
        self._dataset_fn = dataset_fn
        self._epoch_start: int | None = None
        self._last_step: int | None = None

    def on_train_begin(self, logs: Any = None) -> None:
        """Count epochs anew, if `BackupAndRestore` has restored the model."""
        self._epoch_start = self._last_step = None
        steps = self.params.get("steps")
        # Set by BackupAndRestore, and by nothing else.
        restored = self.model._initial_epoch is not None  # noqa: SLF001 - Keras offers callbacks no other way
        if restored and steps:
            self.model._initial_epoch = self._steps_taken() // steps  # noqa: SLF001 - as above
            self._last_step = self.params["epochs"] * steps

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Keras makes the iterator after the first of these, and the callbacks have restored what they restore."""
        first = self._epoch_start is None
        self._epoch_start = self._steps_taken()
        if first:
            self._dataset_fn.start_step.assign(self._epoch_start)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """End where an undisturbed `fit` would have ended."""
        if self._last_step is not None and self._epoch_start is not None:
            self.model.stop_training |= self._epoch_start + batch + 1 >= self._last_step

    def on_train_end(self, logs: Any = None) -> None:
        """Let another `fit` of this model begin where it is told to."""
        if self._last_step is not None:
            self.model._initial_epoch = None  # noqa: SLF001 - as above

    def _steps_taken(self) -> int:
        optimizer = self.model.optimizer
        # Not int(): under a strategy it is a variable of TensorFlow's, which int() does not take.
        iterations = int(keras.ops.convert_to_numpy(optimizer.iterations))
        return iterations * (getattr(optimizer, "gradient_accumulation_steps", None) or 1)
