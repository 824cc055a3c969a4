"""`ResumeCallback`: continue at the right example after Keras has restored a model."""

from typing import Any

import keras

from shardkit.arguments.suggestions import suggest_arguments
from shardkit.errors import CallError
from shardkit.reader.dataset_fn import DatasetFn, input_function


@suggest_arguments(example="reader.ResumeCallback(train_fn)")
class ResumeCallback(keras.callbacks.Callback):  # type: ignore[misc] # Keras is untyped
    """Start the input of `fit` at the step of the model. Put it after `BackupAndRestore`.

        callbacks=[keras.callbacks.BackupAndRestore(folder, save_freq=1000), ResumeCallback(train_fn)]

    The step of a model is the number of steps that its optimizer has taken. The input function is told that number
    before the first batch is read, so this works however the model was restored, also by `keras.models.load_model` and
    with `fit(initial_epoch=…)`. Steps that dynamic loss scaling (`mixed_float16`) skips are not counted, so they are
    read again; with gradient accumulation, save at a multiple of its steps.

    `BackupAndRestore` with a number as `save_freq` also saves within an epoch, and Keras (3.15) cannot start there:
    `fit` runs a whole epoch from that step on. The input continues without a gap. This callback ends `fit` after
    `epochs * steps_per_epoch` steps in total, as without an interruption, so the last epoch is shorter by the part of
    the interrupted epoch that was done. It counts the epochs itself, since `BackupAndRestore` forgets them when it is
    interrupted twice within one. It also sets the counters of random layers, such as `Dropout`, which Keras does not
    save.

    `fit` stops with a CallError before its first step if it does not read the data of this input function, or began to
    read it before: the step of the model would be ignored.
    """

    def __init__(self, dataset_fn: DatasetFn) -> None:
        """Create a callback.

        Args:
            dataset_fn: The input function of the data that `fit` is given.

        Raises:
            CallError: The argument is something else.
        """
        super().__init__()
        self._dataset_fn = input_function("dataset_fn", dataset_fn)
        self._starts_before: int | None = None
        self._epoch_start: int | None = None
        self._last_step: int | None = None

    def on_train_begin(self, logs: Any = None) -> None:
        """Count epochs again if `BackupAndRestore` has restored the model."""
        self._epoch_start = self._last_step = None
        steps = self.params.get("steps")
        # Only BackupAndRestore sets it.
        restored = self.model._initial_epoch is not None  # noqa: SLF001 - Keras offers callbacks no other way
        if restored and steps:
            self.model._initial_epoch = self._steps_taken() // steps  # noqa: SLF001 - as above
            self._last_step = self.params["epochs"] * steps

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Set the start step in the first epoch: all callbacks have restored, and Keras makes the iterator next."""
        first = self._epoch_start is None
        self._epoch_start = self._steps_taken()
        # Keras (3.15) saves no state of random layers; its second number counts the steps.
        for variable in self.model.non_trainable_variables:
            if variable.path.endswith("seed_generator_state"):
                seed = keras.ops.convert_to_numpy(variable)[0]
                variable.assign([seed, self._epoch_start % 2**32])
        if first:
            self._starts_before, self._before = self._dataset_fn.watch.num_starts, int(self._dataset_fn.start_step)
            self._dataset_fn.start_step = self._epoch_start

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Check before the first step that Keras has made an iterator of this function's data.

        Raises:
            CallError: `fit` reads other data, or its iterator was made earlier, so the start step would be ignored.
        """
        if self._starts_before is None:
            return
        is_read = self._dataset_fn.watch.num_starts > self._starts_before
        self._starts_before = None
        if not is_read:
            self._dataset_fn.start_step = self._before
            raise CallError(
                f"fit does not read the data of ResumeCallback's input function ({self._dataset_fn!r}), so its input "
                "would not continue at the step of the model; give both the same function, as in fit(train_fn(), "
                "callbacks=[reader.ResumeCallback(train_fn)])"
            )

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """End where `fit` would have ended without an interruption."""
        if self._last_step is not None and self._epoch_start is not None:
            self.model.stop_training |= self._epoch_start + batch + 1 >= self._last_step

    def on_train_end(self, logs: Any = None) -> None:
        """Let the next `fit` of this model start at its own `initial_epoch`."""
        if self._last_step is not None:
            self.model._initial_epoch = None  # noqa: SLF001 - as above

    def _steps_taken(self) -> int:
        optimizer = self.model.optimizer
        # Not int(): under a strategy this is a TensorFlow variable, which int() does not take.
        iterations = int(keras.ops.convert_to_numpy(optimizer.iterations))
        return iterations * (getattr(optimizer, "gradient_accumulation_steps", None) or 1)
