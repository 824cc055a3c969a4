"""Go on at the right example after Keras has restored a model."""

from typing import Any

import keras

from shardkit.reader.dataset_fn import DatasetFn


class ResumeCallback(keras.callbacks.Callback):  # type: ignore[misc] # Keras is untyped
    """Starts the input at the step that the model is at. Stands behind `BackupAndRestore` in the list of callbacks.

    `BackupAndRestore` restores weights and optimizer; what the model has seen is the number of steps that the optimizer
    has taken, and the input function is told that number before the first batch is asked for.
    """

    def __init__(self, dataset_fn: DatasetFn) -> None:
        super().__init__()
        self._dataset_fn = dataset_fn

    def on_train_begin(self, logs: Any = None) -> None:
        """Keras makes the iterator after this."""
        self._dataset_fn.start_step.assign(int(self.model.optimizer.iterations))
