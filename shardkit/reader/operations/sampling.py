"""TensorFlow ops of the orders of training, with the names of their definitions in `shardkit.order`."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from shardkit.order.keyed_permutations import derived_seed
from shardkit.order.sampling import CLASSES_PURPOSE, ClassSampling
from shardkit.order.schedule import PERIOD, SHARED, Schedule
from shardkit.order.training import FullOrder, Order, SampledOrder
from shardkit.reader.operations.keyed_permutations import permute_ranges
from shardkit.reader.operations.permutation import permute


def draw_in_graph(order: Order) -> Callable[[Any], tuple[Any, Any]]:
    """Return a graph function from positions to examples and their epochs, int64[n] each; see `Order.draw`."""
    if isinstance(order, SampledOrder):
        return Sampler(order.sampling, order.seed)
    assert isinstance(order, FullOrder)  # noqa: S101 - block order is refused where other processes read
    return lambda positions: permute(positions, num_examples=order.num_examples, seed=order.seed)


class ClassSchedule:
    """The class that each position draws from, and the number of earlier positions that drew from it.

    The datasets of a mixture are drawn like classes. The tables become tensors here, once: made inside a graph they
    would be constants, which are copied with every graph.
    """

    def __init__(self, schedule: Schedule) -> None:
        with tf.device("CPU:0"):
            self._slots = tf.constant(schedule.slots)
            self._shared_slots = tf.constant(schedule.shared_slots, tf.int64)
            self._own = tf.constant(schedule.own)
            self._own_keys = tf.constant(schedule.own_keys, tf.int64)
            self._own_starts = tf.constant(schedule.own_starts)
            self._points = tf.constant(schedule.points)
            self._point_keys = tf.constant(schedule.point_keys, tf.int64)
            self._point_starts = tf.constant(schedule.point_starts)
        self._num_shared, self._num_points = schedule.num_shared, len(schedule.points)

    def __call__(self, positions: Any) -> tuple[Any, Any]:
        """Return classes and counts, int64[n], of int64[n] positions."""
        periods, slot = positions // PERIOD, positions % PERIOD
        own = tf.gather(self._slots, slot)
        shared = periods * self._num_shared + _search(self._shared_slots, slot)
        turns, point = shared // self._num_points, shared % self._num_points
        classes = tf.where(tf.equal(own, SHARED), tf.gather(self._points, point), own)
        slots_before = _search(self._own_keys, classes * PERIOD + slot) - tf.gather(self._own_starts, classes)
        first, stop = tf.gather(self._point_starts, classes), tf.gather(self._point_starts, classes + 1)
        points_before = _search(self._point_keys, classes * self._num_points + point) - first
        return classes, periods * tf.gather(self._own, classes) + slots_before + turns * (stop - first) + points_before


class Sampler:
    """The examples that a class sampling draws."""

    def __init__(self, sampling: ClassSampling, seed: int) -> None:
        self._schedule = ClassSchedule(sampling.schedule)
        self._seed, self._rounds = derived_seed(seed, CLASSES_PURPOSE), sampling.rounds
        with tf.device("CPU:0"):
            self._members, self._starts = tf.constant(sampling.members), tf.constant(sampling.starts)

    def __call__(self, positions: Any) -> tuple[Any, Any]:
        """Return ids, and how often each was drawn before, int64[n], of int64[n] positions; see sampling.sample."""
        classes, drawn = self._schedule(positions)
        first = tf.gather(self._starts, classes)
        sizes = tf.gather(self._starts, classes + 1) - first
        epochs = drawn // sizes
        within = permute_ranges(drawn % sizes, sizes, epochs, classes, seed=self._seed, rounds=self._rounds)
        return tf.gather(self._members, first + within), epochs


def _search(keys: Any, values: Any) -> Any:
    return tf.searchsorted(keys, values, out_type=tf.int64)
