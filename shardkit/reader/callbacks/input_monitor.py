"""`InputMonitor`: measure in `keras.Model.fit` how long training waits for its input."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from shardkit.arguments.suggestions import suggest_arguments
from shardkit.errors import CallError
from shardkit.options.words import shell_command
from shardkit.reader.dataset_fn import training_dataset

SHARE_LOG = "waiting_for_input"
RATE_LOG = "images_per_second"
# The first step traces and compiles, and TensorBoard writes the graph after it; the input fills its buffers meanwhile.
UNMEASURED_BATCHES = 2
_BACKENDS = ("tensorflow", "jax")
WORTH_A_LOOK = 0.1  # share of waiting from which a faster input is worth an effort: training gets 1.1 times faster


@suggest_arguments(example="reader.InputMonitor()")
class InputMonitor(keras.callbacks.Callback):  # type: ignore[misc] # Keras is untyped
    """Log the share of time that training waits for input, and print one sentence of advice at the end.

        model.fit(train_fn(), steps_per_epoch=…, callbacks=[reader.InputMonitor(), keras.callbacks.TensorBoard("logs")])

    Every epoch gets two values in `logs`, for History, CSVLogger, TensorBoard (`epoch_waiting_for_input`) and the
    progress bar: `waiting_for_input`, the share of time, 0 to 1, and `images_per_second`. Put this callback before
    those that write `logs`: Keras calls them in the order of the list. An epoch is measured from the start of its
    second step to its last batch: the first step traces the model, opens the input and fills its buffers. Validation
    does not count, and epochs of fewer than three steps have no values.

    How it measures: `fit` fetches a batch inside its compiled step, where no callback sees it, so while `fit` runs,
    this callback fetches the batches itself and gives each to the same compiled step. After each step it reads one
    metric, which waits for the device. Without that, a GPU's step would return early, and the time in which the input
    works while the device is busy would count as waiting. The numbers that the model learns do not change. What
    changes:

    - the host does not prepare the next step while the device is busy;
    - `steps_per_execution` has no effect: steps run one at a time, and the callback says so. If steps are short, or on
      a TPU, that makes training slower; then use the callback for a short run only.

    On several machines each measures and prints its own waits. It works with the TensorFlow and JAX backends of Keras,
    and with strategies.

    Attributes:
        times: The times of all epochs since `fit` began.
    """

    def __init__(self, *, clock: Callable[[], float] = time.perf_counter) -> None:
        """Create a callback.

        Args:
            clock: Function that returns seconds and never runs backwards.
        """
        super().__init__()
        self._clock = clock
        self.times = StepTimes()
        self._epoch = StepTimes()
        self._num_fetched = 0  # in this epoch
        self._returned = 0.0  # end of the last wait

    @property
    def advice(self) -> str:
        """One sentence on what was measured since `fit` began; it is printed when `fit` ends."""
        return self.times.advice(training_dataset())

    def on_train_begin(self, logs: Any = None) -> None:
        """Take over the fetching of batches.

        Raises:
            CallError: The backend of Keras is neither TensorFlow nor JAX.
        """
        if keras.backend.backend() not in _BACKENDS:
            raise CallError(
                f"InputMonitor works with the backends tensorflow and jax of Keras; found {keras.backend.backend()}; "
                "set KERAS_BACKEND, or write a training loop over `reader.monitor`"
            )
        self.times, self._num_fetched = StepTimes(), 0
        model = self.model
        if model.steps_per_execution > 1:
            self._say(
                f"InputMonitor: steps run one at a time, although steps_per_execution is {model.steps_per_execution}"
            )
        function = model.train_function
        # Left by a `fit` that ended with an exception: it does not call on_train_end.
        function = function.train_function if isinstance(function, _MonitoredSteps) else function
        model.train_function = _MonitoredSteps(function, model, self.fetch)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Begin to count."""
        self._epoch, self._num_fetched = StepTimes(), 0

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Add the epoch's values to `logs`."""
        self.times += self._epoch
        if logs is not None and not self._epoch.is_empty:
            logs[SHARE_LOG] = self._epoch.share_waiting
            logs[RATE_LOG] = self._epoch.images_per_second

    def on_train_end(self, logs: Any = None) -> None:
        """Give the fetching of batches back to Keras and print the advice."""
        if isinstance(self.model.train_function, _MonitoredSteps):
            self.model.train_function = self.model.train_function.train_function
        if self._num_fetched:  # not if the model was trained already
            self._say(self.advice)

    def fetch(self, batches: Iterator[Any]) -> Any:
        """Return the next batch and measure the wait; `_MonitoredSteps` calls this.

        Raises:
            StopIteration: The data has ended; that is not a wait.
        """
        called = self._clock()
        batch = next(batches)
        returned = self._clock()
        self._num_fetched += 1
        if self._num_fetched > UNMEASURED_BATCHES:
            self._epoch += StepTimes(_num_images(batch), returned - self._returned, returned - called)
        self._returned = returned
        return batch

    @staticmethod
    def _say(text: str) -> None:
        # After the progress bar, which Keras prints on standard output too.
        print(text, flush=True)  # noqa: T201 - what a callback of Keras is for


class _MonitoredSteps:
    """A model's `train_function` that gets its batches from an InputMonitor, one for each call of the original."""

    def __init__(self, train_function: Callable[..., Any], model: Any, fetch: Callable[[Iterator[Any]], Any]) -> None:
        self.train_function, self._fetch = train_function, fetch
        # Not the callback's `model`: with JAX, each access to it copies the state back, whose buffers the step donates.
        self._model = model

    def __call__(self, *arguments: Any) -> Any:
        """Run as many steps as `steps_per_execution` says, or until the data ends after at least one."""
        *state, batches = arguments
        result: Any = None
        for number in range(self._model.steps_per_execution):
            try:
                batch = self._fetch(batches)
            except StopIteration:
                if not number:
                    raise
                break
            # An iterator that is not tf.data's is read in Python by Keras, up to its end.
            result = self.train_function(*state, iter([batch]))
            logs = result[0] if state else result
            state = [result[1]] if state else []
            for value in keras.tree.flatten(logs)[:1]:
                np.asarray(value)  # waits for the device
        return result


def _num_images(batch: Any) -> int:
    """Return the number of examples in a batch of any structure, over all replicas of this process."""
    first = keras.tree.flatten(batch)[0]
    parts = first.values if isinstance(first, tf.distribute.DistributedValues) else [first]
    return sum(int(part.shape[0]) for part in parts)


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Waits of steps that follow each other, from the return of one batch to the return of a later one."""

    num_images: int = 0
    seconds: float = 0.0  # waits included
    seconds_waited: float = 0.0

    def __add__(self, other: "StepTimes") -> "StepTimes":
        return StepTimes(
            self.num_images + other.num_images,
            self.seconds + other.seconds,
            self.seconds_waited + other.seconds_waited,
        )

    @property
    def is_empty(self) -> bool:
        """Whether nothing was measured."""
        return not self.seconds

    @property
    def share_waiting(self) -> float:
        """Share of the time spent waiting, 0 to 1."""
        return self.seconds_waited / self.seconds if self.seconds else 0.0

    @property
    def images_per_second(self) -> float:
        """Images per second, waits included."""
        return self.num_images / self.seconds if self.seconds else 0.0

    @property
    def step_images_per_second(self) -> float:
        """Images per second of the training steps alone, as with an input that never has to be waited for."""
        between = self.seconds - self.seconds_waited
        return self.num_images / between if between > 0 else float("inf")

    def advice(self, dataset: str) -> str:
        """Return one sentence: what was measured, and what to do."""
        if self.is_empty:
            return "InputMonitor measured nothing: it needs epochs of at least three steps."
        waited = f"{self.share_waiting:.0%}" if self.share_waiting >= WORTH_A_LOOK else f"{self.share_waiting:.1%}"
        line = f"Training waited for input {waited} of the time ({self.images_per_second:,.0f} images/s)"
        if self.share_waiting < WORTH_A_LOOK:
            return f"{line}; the input is fast enough."
        if self.step_images_per_second == float("inf"):
            return f"{line}; run `{shell_command('bench', dataset)}` to see what would help."
        return (
            f"{line}; without waiting it would be {self.step_images_per_second:,.0f} images/s. "
            f"Run `{shell_command('bench', dataset, target=round(self.step_images_per_second))}` to see what "
            "would help."
        )
