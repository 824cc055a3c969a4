"""`monitor`: measure how long each step of a training loop waits for its input."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import tensorflow as tf

from shardkit.arguments.checks import refused
from shardkit.arguments.suggestions import suggest_arguments
from shardkit.errors import CallError
from shardkit.naming import counted

Element = TypeVar("Element")

RECENT_STEPS = 1000  # steps whose waits are kept, for the percentiles: memory stays the same however long a training is


@dataclass(slots=True)
class WaitingSummary:
    """How a loop spent its time.

    The first step of each pass is counted separately, and is not part of the other times and percentiles: its wait
    includes opening the input and filling its buffers, and it is followed by the tracing and compiling of the training
    step. From the call for a pass's second batch on, all time counts as either waited or between, up to the last call
    of `next` or its return.

    Attributes:
        num_steps: Number of batches, first ones included.
        num_passes: Number of first batches: how often the loop began to iterate and received a batch.
        seconds_first_batches: Time spent opening the input and waiting for the first batch, over all passes.
        seconds_waited: Time spent in `next`, without first batches.
        seconds_between: Time spent in the training step, from the return of one `next` to the next call.
        p50_seconds: Median of the latest 1,000 waits, without first batches.
        p95_seconds: 95th percentile of the latest 1,000 waits, without first batches.
        max_seconds: Longest of all waits, without first batches.
        max_step: Step of that wait, counted from 0 when the monitor was made; None if there were only first batches.
    """

    num_steps: int = 0
    num_passes: int = 0
    seconds_first_batches: float = 0.0
    seconds_waited: float = 0.0
    seconds_between: float = 0.0
    p50_seconds: float = 0.0
    p95_seconds: float = 0.0
    max_seconds: float = 0.0
    max_step: int | None = None

    @property
    def share_waiting(self) -> float:
        """Share of the time spent waiting, 0 to 1; 0 if there were only first batches."""
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
    """An iterable that yields the elements of a dataset unchanged and measures the waits; see `monitor`."""

    def __init__(self, dataset: Iterable[Element], clock: Callable[[], float]) -> None:
        self._dataset, self._clock, self._next_step = dataset, clock, 0
        self.reset()

    def reset(self) -> None:
        """Set all figures to zero. The loop continues where it is, and so does the numbering of `max_step`."""
        self._last: deque[float] = deque(maxlen=RECENT_STEPS)
        self._figures = WaitingSummary()

    @property
    def last(self) -> tuple[float, ...]:
        """The latest waits in seconds, 1,000 at most and in order, without first batches."""
        return tuple(self._last)

    def summary(self) -> WaitingSummary:
        """Return the figures since the monitor was made or `reset`, without the current step."""
        waits = sorted(self._last) or [0.0]
        p50, p95 = (waits[-(-percent * len(waits) // 100) - 1] for percent in (50, 95))  # by nearest rank
        return replace(self._figures, p50_seconds=p50, p95_seconds=p95)

    def __str__(self) -> str:
        return str(self.summary())

    def __iter__(self) -> "_Pass[Element]":
        """Open the input again; the figures continue."""
        _check_python()  # tf.function would unroll a `for`, endlessly if the data is endless
        start = self._clock()
        return _Pass(self, iter(self._dataset), self._clock() - start)

    def _next(self, current: "_Pass[Element]") -> Element:
        """Return the next element of a pass; a call that raises is not a step."""
        _check_python()
        called, since = self._clock(), current.measured_from
        current.measured_from = None  # if the source raises, the time until the next call does not count
        if since is not None:
            self._figures.seconds_between += called - since
        element = next(current.source)
        returned, figures, step = self._clock(), self._figures, self._next_step
        waited, self._next_step = returned - called, step + 1
        figures.num_steps += 1
        if current.opening is not None:
            figures.num_passes += 1
            figures.seconds_first_batches += current.opening + waited
            current.opening = None
            return element
        self._last.append(waited)
        figures.seconds_waited += waited
        if figures.max_step is None or waited > figures.max_seconds:
            figures.max_seconds, figures.max_step = waited, step
        current.measured_from = returned
        return element


@dataclass(slots=True)
class _Pass(Iterator[Element]):
    """One pass over a dataset."""

    monitor: Monitor[Element]
    source: Iterator[Element]
    opening: float | None  # seconds that it took to open the source; None after the first batch
    measured_from: float | None = None  # end of the last wait, if the training step follows it

    def __next__(self) -> Element:
        return self.monitor._next(self)  # noqa: SLF001 - this class is half of Monitor


@suggest_arguments(example="reader.monitor(train_fn())")
def monitor(dataset: Iterable[Element], *, clock: Callable[[], float] = time.perf_counter) -> Monitor[Element]:
    """Measure how long each step of a loop waits for its input.

        batches = reader.monitor(strategy.distribute_datasets_from_function(train_fn))
        for images, labels in batches:
            ...
        print(batches)

    prints `1,000 steps: waited for input 3.1% of the time (p50 0.2 ms, p95 4.0 ms, max 120 ms at step 713); first batch
    1.9 s`. `summary()` returns the figures by name, `last` holds the latest 1,000 waits, and `reset()` starts new
    figures. Each `iter` opens the input again, and the figures continue over all passes. They take a fixed amount of
    memory, and about a microsecond a step. Only one thread may loop at a time.

    An asynchronous step, as on a GPU or with JAX, returns before the device has finished: the loop may wait for a batch
    while the device is busy, and `share_waiting` is an upper bound of what the input costs. To measure the cost itself,
    let each step wait for the device (`float(loss)`, `jax.block_until_ready`). For `keras.Model.fit`, which refuses
    the result of `monitor`, use the callback `InputMonitor`.

    Args:
        dataset: A `tf.data.Dataset`, a distributed dataset, a NumPy iterator or any other iterable. An iterator
            continues where it is; with the others, every `iter` starts at the beginning.
        clock: Function that returns seconds and never runs backwards.

    Raises:
        CallError: The dataset is not iterable; or, when iterating, the loop is inside a `tf.function`, which runs
            Python only while it is traced.
    """
    if not isinstance(dataset, Iterable):
        raise refused("dataset", "something to iterate over", dataset)
    return Monitor(dataset, clock)


def _check_python() -> None:
    if not tf.executing_eagerly():
        raise CallError(
            "a monitored dataset was iterated inside a tf.function, which cannot read a clock; loop in Python and pass "
            "each batch to the tf.function"
        )


def _duration(seconds: float) -> str:
    """Return a duration in a readable unit: 45 µs, 4.0 ms, 120 ms, 1.9 s, 1,200 s."""
    if seconds < 0.0001:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 0.9995:
        milliseconds = seconds * 1000
        return f"{milliseconds:.1f} ms" if milliseconds < 9.95 else f"{milliseconds:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 99.95 else f"{seconds:,.0f} s"
