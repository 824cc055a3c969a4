"""`monitor`: how long each step of a trainer waited for its input."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

import tensorflow as tf

from shardkit.errors import CallError
from shardkit.naming import counted
from shardkit.reader.arguments.checks import refused

Element = TypeVar("Element")

RECENT_STEPS = 1000  # waits that `last` keeps one by one
# The rest is a histogram on a log scale, of a fixed size however long the training is: 16 bins from one power of two to
# the next keep a percentile within 2.2 % of the true one.
BINS_PER_OCTAVE = 16
LEAST_OCTAVE, NUM_OCTAVES = -20, 40  # from 1 µs to 12 days; what lies outside counts in the bin at that end


@dataclass(frozen=True, slots=True)
class WaitingSummary:
    """Where the time of a loop went.

    The first step of each pass is told apart and enters neither the times nor the percentiles: its wait holds the
    opening of the input and the filling of its buffers, and what follows is the tracing and compiling of the trainer's
    step. From the call for a pass's second batch on, every moment is counted, either as waited or as between, up to the
    last call of `next`, or its return.

    Attributes:
        num_steps: batches that were given, first ones included.
        num_passes: of these, first ones: how often the loop began to iterate and got a batch.
        seconds_first_batches: spent opening the input and waiting for the first batch, over all passes.
        seconds_waited: spent in `next`, first batches apart.
        seconds_between: spent in the trainer's own step, from the return of one `next` to the call of the following.
        p50_seconds: half of the waits were shorter, first batches apart; within 2.2 %, for waits from 1 µs up.
        p95_seconds: 95 % of the waits were shorter; as above.
        max_seconds: the longest wait, first batches apart; exact.
        max_step: the step of that wait, counted from 0 when the monitor was made; None if all were first ones.
    """

    num_steps: int
    num_passes: int
    seconds_first_batches: float
    seconds_waited: float
    seconds_between: float
    p50_seconds: float
    p95_seconds: float
    max_seconds: float
    max_step: int | None

    @property
    def share_waiting(self) -> float:
        """Of the time, 0 to 1; 0 as long as there were only first batches."""
        measured = self.seconds_waited + self.seconds_between
        return self.seconds_waited / measured if measured else 0.0

    def __str__(self) -> str:
        steps = counted(self.num_steps, "step")
        passes = "first batch" if self.num_passes == 1 else f"first batches of {self.num_passes:,} passes"
        first = f"{passes} {_duration(self.seconds_first_batches)}" if self.num_passes else ""
        if self.max_step is None:
            return f"{steps}: {first}" if first else steps
        line = (
            f"{steps}: waited for input {self.share_waiting:.1%} of the time (p50 {_duration(self.p50_seconds)}, "
            f"p95 {_duration(self.p95_seconds)}, max {_duration(self.max_seconds)} at step {self.max_step:,})"
        )
        return f"{line}; {first}" if first else line


class Monitor(Generic[Element]):
    """Iterates over what it was made of, element by element the same, and measures; see `monitor`."""

    def __init__(self, dataset: Iterable[Element], clock: Callable[[], float]) -> None:
        self._dataset, self._clock = dataset, clock
        self._next_step = 0
        self.reset()

    def reset(self) -> None:
        """Forget the figures, not the place in the data: the loop goes on, and so does the counting of `max_step`."""
        self._last: deque[float] = deque(maxlen=RECENT_STEPS)
        self._bins = [0] * (BINS_PER_OCTAVE * NUM_OCTAVES)
        self._num_passes = self._num_later = 0
        self._first = self._waited = self._between = 0.0
        self._max = 0.0
        self._max_step: int | None = None

    def __iter__(self) -> Iterator[Element]:
        """Open the input anew; the figures go on."""
        _check_python()  # a `for` in a tf.function would be unrolled, without an end where the data has none
        return _MonitoredIterator(self, self._dataset, self._clock)

    @property
    def last(self) -> tuple[float, ...]:
        """Seconds that each of the last steps, 1,000 at most, waited in `next`; the latest last, first batches too."""
        return tuple(self._last)

    def summary(self) -> WaitingSummary:
        """The figures since the monitor was made or `reset`, without the step that is under way."""
        return WaitingSummary(
            num_steps=self._num_passes + self._num_later,
            num_passes=self._num_passes,
            seconds_first_batches=self._first,
            seconds_waited=self._waited,
            seconds_between=self._between,
            p50_seconds=self._percentile(50),
            p95_seconds=self._percentile(95),
            max_seconds=self._max,
            max_step=self._max_step,
        )

    def __str__(self) -> str:
        return str(self.summary())

    def _add_first(self, seconds: float) -> None:
        self._next_step += 1
        self._last.append(seconds)
        self._num_passes += 1
        self._first += seconds

    def _add(self, waited: float) -> None:
        self._last.append(waited)
        self._num_later += 1
        self._waited += waited
        self._bins[_bin(waited)] += 1
        if self._max_step is None or waited > self._max:
            self._max, self._max_step = waited, self._next_step
        self._next_step += 1

    def _add_between(self, seconds: float) -> None:
        self._between += seconds

    def _percentile(self, percent: int) -> float:
        """The middle, on the log scale, of the bin that holds the wait of rank ceil(percent / 100 * number of them)."""
        rank, seen = -(-percent * self._num_later // 100), 0
        for index, count in enumerate(self._bins):
            seen += count
            if seen >= rank and count:
                # The longest wait is known, and no percentile may look longer.
                return min(self._max, math.pow(2, LEAST_OCTAVE + (index + 0.5) / BINS_PER_OCTAVE))
        return 0.0


def monitor(dataset: Iterable[Element], *, clock: Callable[[], float] = time.perf_counter) -> Monitor[Element]:
    """Tell how long each step of a loop waited for its input.

        batches = reader.monitor(strategy.distribute_datasets_from_function(train_fn))
        for images, labels in batches:
            ...
        print(batches)

    prints `1,000 steps: waited for input 3.1% of the time (p50 0.2 ms, p95 4.0 ms, max 120 ms at step 713); first batch
    1.9 s`. `summary()` has the figures by name, `last` the waits of the last 1,000 steps, `reset()` begins new figures,
    for instance after each report. Each `iter` opens the input anew and the figures go on over all passes. They take a
    fixed amount of memory, and about a microsecond a step. For one loop in one thread at a time.

    What is measured is the time of that thread. Where the step's work is asynchronous, as on a GPU and with JAX, a step
    returns before the device is done: the loop is back for the next batch early, and may wait for it while the device
    still has work. Then `share_waiting` is the most that the input can have cost, and need not have cost anything. To
    know what it did cost, let each step that is measured wait for the device (`float(loss)`,
    `jax.block_until_ready`). A low share means a fast input either way.

    `keras.Model.fit` fetches its batches inside its own compiled step. Neither this nor a Keras callback sees that:
    from `on_train_batch_begin` to `on_train_batch_end` is both, waiting and step. Keras (3.15) refuses what `monitor`
    returns as "Unrecognized data type". To measure the input of a Keras model, loop for some steps oneself:
    `model.train_on_batch(images, labels)`, or, with the batches of a strategy, `model.make_train_function()` and for
    each `model.train_function(iter([batch]))`.

    Args:
        dataset: a `tf.data.Dataset`, a distributed dataset, a NumPy iterator, anything to loop over. An iterator goes
            on where it is; for the rest, every `iter` starts at the beginning.
        clock: seconds, never running backwards.

    Raises:
        CallError: on iterating inside a `tf.function`, which runs Python only while it is traced.
    """
    if not isinstance(dataset, Iterable):
        raise refused("dataset", "something to iterate over", dataset)
    return Monitor(dataset, clock)


class _MonitoredIterator(Iterator[Element]):
    """One pass. What it gets, exceptions included, it gives; what raised is no step."""

    def __init__(self, figures: Monitor[Element], dataset: Iterable[Element], clock: Callable[[], float]) -> None:
        start = clock()
        self._source = iter(dataset)
        self._opening: float | None = clock() - start  # None once the first batch was given
        self._figures, self._clock = figures, clock
        self._measured_from: float | None = None  # the end of the last wait, where the time since is the trainer's step

    def __next__(self) -> Element:
        _check_python()
        called, since = self._clock(), self._measured_from
        self._measured_from = None  # if the source raises, the time up to the following call is nobody's
        if since is not None:
            self._figures._add_between(called - since)  # noqa: SLF001 - the other half of one thing
        element = next(self._source)
        returned = self._clock()
        if self._opening is None:
            self._figures._add(returned - called)  # noqa: SLF001 - as above
            self._measured_from = returned
        else:
            self._figures._add_first(self._opening + returned - called)  # noqa: SLF001 - as above
            self._opening = None
        return element


def _check_python() -> None:
    if not tf.executing_eagerly():
        msg = (
            "a monitored dataset was iterated inside a tf.function, where no clock can be read; "
            "loop in Python and give each batch to the tf.function"
        )
        raise CallError(msg)


def _bin(seconds: float) -> int:
    if seconds <= 0:
        return 0
    index = int((math.log2(seconds) - LEAST_OCTAVE) * BINS_PER_OCTAVE)
    return min(max(index, 0), BINS_PER_OCTAVE * NUM_OCTAVES - 1)


def _duration(seconds: float) -> str:
    """In the unit that reads best: 45 µs, 4.0 ms, 120 ms, 1.9 s, 1,200 s."""
    if seconds < 0.0001:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 0.9995:
        milliseconds = seconds * 1000
        return f"{milliseconds:.1f} ms" if milliseconds < 9.95 else f"{milliseconds:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 99.95 else f"{seconds:,.0f} s"
