"""Waits of a loop, on a clock that only the tests move."""

import collections
import dataclasses
import itertools
import tracemalloc

import keras
import numpy as np
import pytest
import tensorflow as tf

from shardkit import reader
from shardkit.errors import CallError
from shardkit.reader.monitoring import RECENT_STEPS, WaitingSummary


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now

    def pass_by(self, seconds):
        self.now += seconds


class Source:
    """A dataset whose batches, numbered from 0, take the given seconds; opening it takes half a second."""

    def __init__(self, clock, waits):
        self.clock, self.waits, self.opened = clock, waits, 0

    def __iter__(self):
        self.clock.pass_by(0.5)
        self.opened += 1
        return self.batches()

    def batches(self):
        for number, seconds in enumerate(self.waits):
            self.clock.pass_by(seconds)
            yield number


def loop(waits, betweens):
    """Return a monitor after a loop over batches that took `waits`, with steps that took `betweens`."""
    clock = Clock()
    monitored = reader.monitor(Source(clock, waits), clock=clock)
    for _, seconds in zip(monitored, betweens, strict=True):
        clock.pass_by(seconds)
    return monitored


def test_a_slow_source_counts_as_waiting():
    summary = loop([2.0] + [0.09] * 99, [5.0] + [0.01] * 99).summary()
    assert (summary.num_steps, summary.num_passes, summary.max_step) == (100, 1, 1)
    assert summary.seconds_waited == pytest.approx(0.09 * 99)
    assert summary.seconds_between == pytest.approx(0.01 * 99)
    assert summary.share_waiting == pytest.approx(0.9)
    assert summary.p50_seconds == pytest.approx(0.09)
    assert summary.p95_seconds == pytest.approx(0.09)
    assert summary.max_seconds == pytest.approx(0.09)


def test_a_slow_step_does_not_count_as_waiting():
    summary = loop([2.0] + [0.001] * 99, [5.0] + [0.999] * 99).summary()
    assert summary.share_waiting == pytest.approx(0.001)
    assert summary.seconds_between == pytest.approx(0.999 * 99)


def test_the_first_batch_with_opening_and_tracing_counts_separately():
    monitored = loop([2.0, 0.25, 0.25], [60.0, 0.75, 0.75])
    summary = monitored.summary()
    assert summary.seconds_first_batches == pytest.approx(2.5)  # half a second of it is `iter`
    assert (summary.seconds_waited, summary.seconds_between) == pytest.approx((0.5, 1.5))
    assert monitored.last == pytest.approx((0.25, 0.25))


def test_the_longest_wait_has_its_step_and_does_not_move_the_percentiles():
    summary = loop([1.0] + [0.002] * 700 + [0.12] + [0.002] * 98, [0.1] * 800).summary()
    assert (summary.max_step, summary.max_seconds) == (701, pytest.approx(0.12))
    assert summary.p95_seconds == pytest.approx(0.002)


def test_percentiles_are_those_of_the_latest_waits_by_nearest_rank():
    """All in binary fractions, so that the clock adds nothing."""
    waits = [number / 1024 for number in range(1, RECENT_STEPS + 8)]
    summary = loop([0.0, *reversed(waits)], [0.0] * (len(waits) + 1)).summary()
    assert (summary.p50_seconds, summary.p95_seconds) == (500 / 1024, 950 / 1024)
    assert summary.max_seconds == waits[-1]  # of all
    assert loop([0.0, 0.25], [0.0] * 2).summary().p95_seconds == 0.25


def test_last_has_the_waits_of_the_last_steps_the_latest_last():
    waits = [number / 1024 for number in range(RECENT_STEPS + 7)]  # exact in binary
    last = loop([9.0, *waits], [0.0] * (len(waits) + 1)).last
    assert last == tuple(waits[7:])


def test_a_second_pass_opens_the_source_again_and_the_figures_go_on():
    clock = Clock()
    source = Source(clock, [2.0, 0.5, 0.5])
    monitored = reader.monitor(source, clock=clock)
    assert [list(monitored), list(monitored)] == [[0, 1, 2]] * 2
    summary = monitored.summary()
    assert (source.opened, summary.num_steps, summary.num_passes, summary.max_step) == (2, 6, 2, 1)
    assert (summary.seconds_first_batches, summary.seconds_waited) == pytest.approx((5.0, 2.0))


def test_time_between_two_passes_does_not_count():
    clock = Clock()
    monitored = reader.monitor(Source(clock, [0.1] * 3), clock=clock)
    for _ in range(2):
        list(monitored)
        clock.pass_by(3600)
    assert monitored.summary().seconds_between == 0


def test_reset_forgets_the_figures_and_neither_the_place_nor_the_steps_number():
    clock = Clock()
    batches = iter(monitored := reader.monitor(Source(clock, [2.0, 0.001, 0.1, 0.3, 0.1]), clock=clock))
    assert [next(batches), next(batches)] == [0, 1]
    monitored.reset()
    assert monitored.summary() == WaitingSummary(0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, None)
    assert list(batches) == [2, 3, 4]
    summary = monitored.summary()
    assert (summary.num_steps, summary.num_passes, summary.max_step) == (3, 0, 3)
    assert summary.seconds_waited == pytest.approx(0.5)
    assert summary.p95_seconds == pytest.approx(0.3)
    assert len(monitored.last) == 3


def test_an_exception_passes_through_and_is_no_step():
    clock = Clock()

    def damaged():
        yield 0
        clock.pass_by(7)
        raise ValueError("record 17")

    monitored = reader.monitor(damaged(), clock=clock)
    batches = iter(monitored)
    assert next(batches) == 0
    with pytest.raises(ValueError, match="record 17"):
        next(batches)
    assert monitored.summary() == dataclasses.replace(monitored.summary(), num_steps=1, seconds_waited=0.0)
    with pytest.raises(StopIteration):
        next(batches)


def test_the_time_that_a_source_took_to_fail_is_not_the_steps():
    clock = Clock()

    class Recovering:
        """Fails at its third batch, and goes on."""

        calls = itertools.count()

        def __iter__(self):
            return self

        def __next__(self):
            clock.pass_by(0.5)
            if (call := next(self.calls)) == 2:
                clock.pass_by(100)
                raise OSError
            return call

    batches = iter(monitored := reader.monitor(Recovering(), clock=clock))
    given_ = [next(batches), next(batches)]
    with pytest.raises(OSError):  # noqa: PT011 - ours, from above
        next(batches)
    given_ += [next(batches), next(batches)]
    assert given_ == [0, 1, 3, 4]
    summary = monitored.summary()
    assert (summary.seconds_waited, summary.seconds_between) == pytest.approx((1.5, 0.0))


def test_an_empty_source_has_no_steps():
    monitored = loop([], [])
    assert (monitored.summary().num_steps, monitored.summary().share_waiting, str(monitored)) == (0, 0.0, "0 steps")


def test_memory_does_not_grow_with_the_number_of_steps():
    monitored = reader.monitor(itertools.repeat(None))
    batches = iter(monitored)

    def run(steps):
        collections.deque(itertools.islice(batches, steps), maxlen=0)

    run(5000)  # `last` is full
    tracemalloc.start()
    try:
        run(1)
        before = tracemalloc.get_traced_memory()[0]
        run(100_000)
        # `last` holds 1,000 floats of 24 bytes and their counterparts are freed; a list of all would have 800 kB.
        assert tracemalloc.get_traced_memory()[0] - before < 64 << 10  # 64 KiB
    finally:
        tracemalloc.stop()
    assert monitored.summary().num_steps == 105_001
    assert len(monitored.last) == RECENT_STEPS


LINES = [
    (
        (1000, 1, 1.9, 3.1, 96.9, 0.0002, 0.004, 0.12, 713),
        (
            "1,000 steps: waited for input 3.1% of the time (p50 0.2 ms, p95 4.0 ms, max 120 ms at step 713); "
            "first batch 1.9 s"
        ),
    ),
    ((1, 1, 1.9, 0.0, 0.0, 0.0, 0.0, 0.0, None), "1 step: first batch 1.9 s"),
    (
        (20, 2, 0.25, 1.0, 1.0, 0.00002, 0.7, 1234.5, 3),
        (
            "20 steps: waited for input 50.0% of the time (p50 20 µs, p95 700 ms, max 1,234 s at step 3); "
            "first batches of 2 passes 250 ms"
        ),
    ),
    (  # after reset() no first batch is left; and what rounds to 1000 ms is 1 s
        (2, 0, 0.0, 1.0, 3.0, 0.5, 0.5, 0.9996, 7_000_000),
        "2 steps: waited for input 25.0% of the time (p50 500 ms, p95 500 ms, max 1.0 s at step 7,000,000)",
    ),
    ((0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, None), "0 steps"),
]


@pytest.mark.parametrize(("figures", "line"), LINES)
def test_a_summary_reads_as_one_line(figures, line):
    assert str(WaitingSummary(*figures)) == line


def test_a_distributed_dataset_gives_its_batches_and_its_waits_count(noise):
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    train_fn = reader.make_dataset_fn(noise, "train", global_batch_size=8)
    distributed = strategy.distribute_datasets_from_function(lambda context: train_fn(context).take(12))
    clock = Clock()

    def slowly():
        # The strategy's threads read ahead at moments of their own, so time passes where it is waited for.
        for batch in distributed:
            clock.pass_by(1)
            yield batch["key"]

    monitored = reader.monitor(slowly(), clock=clock)
    for step, keys in enumerate(monitored):
        clock.pass_by(3)
        parts = strategy.experimental_local_results(keys)
        assert [key.decode() for part in parts for key in part.numpy()] == train_fn.batch_keys(step)
    summary = monitored.summary()
    assert summary.num_steps == 6  # a step takes an element for each of two replicas
    assert (summary.seconds_waited, summary.seconds_between) == pytest.approx((5, 15))
    directly = reader.monitor(distributed)
    assert len(list(directly)) == directly.summary().num_steps == 6


def test_a_finite_dataset_and_its_numpy_iterator_end_as_they_do_unmonitored(noise):
    evaluation = reader.make_dataset(noise, "train", global_batch_size=64, training=False)
    monitored = reader.monitor(evaluation)
    assert len(list(monitored)) == len(list(monitored)) == 5
    assert monitored.summary().num_passes == 2
    as_numpy = reader.monitor(evaluation.as_numpy_iterator())
    wanted = [batch["key"].tolist() for batch in evaluation.as_numpy_iterator()]
    assert [batch["key"].tolist() for batch in as_numpy] == wanted


def test_a_loop_inside_a_tf_function_is_refused_because_tracing_would_unroll_it():
    monitored = reader.monitor(tf.data.Dataset.range(3))

    @tf.function
    def whole_loop():
        for _ in monitored:
            pass

    with pytest.raises(Exception, match=r"CallError: .*loop in Python"):  # in an error of AutoGraph's own
        whole_loop()


def test_a_batch_fetched_inside_a_tf_function_is_refused_because_only_tracing_would_be_seen():
    batches = iter(reader.monitor(tf.data.Dataset.range(3)))
    with pytest.raises(CallError, match="loop in Python"):
        tf.function(lambda: next(batches), autograph=False)()


class TestKeras:
    """What the docstring says of Keras."""

    @pytest.fixture
    def strategy(self):
        return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

    @pytest.fixture
    def model(self, strategy):
        with strategy.scope():
            model = keras.Sequential([keras.Input([8, 8, 3]), keras.layers.Flatten(), keras.layers.Dense(3)])
            model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        return model

    @pytest.fixture
    def distributed(self, strategy, noise):
        train_fn = reader.make_dataset_fn(noise, "train", global_batch_size=8, image_size=(8, 8))
        return strategy.distribute_datasets_from_function(train_fn)

    def test_fit_refuses_what_is_monitored_rather_than_train_on_something_else(self, model, distributed):
        with pytest.raises(ValueError, match="Unrecognized data type"):
            model.fit(reader.monitor(distributed), steps_per_epoch=1, verbose=0)

    def test_the_compiled_step_of_a_model_takes_the_batches_of_a_strategy(self, model, distributed):
        monitored = reader.monitor(distributed)
        model.make_train_function()
        for batch in itertools.islice(monitored, 4):
            assert np.isfinite(model.train_function(iter([batch]))["loss"])
        assert (int(model.optimizer.iterations.numpy()), monitored.summary().num_steps) == (4, 4)

    def test_train_on_batch_takes_the_batches_of_a_plain_dataset(self, noise):
        model = keras.Sequential([keras.Input([8, 8, 3]), keras.layers.Flatten(), keras.layers.Dense(3)])
        model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        monitored = reader.monitor(reader.make_dataset(noise, "train", global_batch_size=8, image_size=(8, 8)))
        for images, labels in itertools.islice(monitored, 4):
            model.train_on_batch(images, labels)
        assert (int(model.optimizer.iterations.numpy()), monitored.summary().num_steps) == (4, 4)
