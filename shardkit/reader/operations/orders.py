"""TensorFlow ops of the orders of training, and of random numbers, with the names of `shardkit.order` and its modules.

All numbers are int64 and every product is below 2**63, for the reason given in `shardkit.order.permutation`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from shardkit.fetch.places import WEYL
from shardkit.order import permutation
from shardkit.order.keyed_permutations import derived_seed
from shardkit.order.sampling import CLASSES_PURPOSE, ClassSampling
from shardkit.order.schedule import PERIOD, SHARED, Schedule
from shardkit.order.training import FullOrder, Order, SampledOrder


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


_LOW = permutation.LOW_32
_BITS = tf.bitwise
_COLLECTION = "shardkit_hash_constants"


def permute(positions: Any, *, num_examples: int, seed: int) -> tuple[Any, Any]:
    """Return ids and epochs, int64[n], of int64[n] positions close to each other.

    The key words are computed once for every epoch between the first and the last position, not for every position.
    """
    rows, columns = permutation.rectangle(num_examples)
    rounds = permutation.num_rounds(num_examples)
    epochs = positions // num_examples
    first_epoch = tf.reduce_min(epochs)
    words = key_words(tf.range(first_epoch, tf.reduce_max(epochs) + 1), seed, rounds + 1)
    words = tf.gather(words, epochs - first_epoch, axis=1)
    keys = tf.reshape(words[:-2], [rounds // 2, 4, -1])

    # Loops, although unrolled rounds would run a little faster: tracing and optimising a thousand more nodes takes
    # seconds for every pipeline, before its first batch.
    def two_rounds(i: Any, row: Any, column: Any) -> Any:
        key = keys[i]
        row = add_hash(row, rows, column, key[0], key[1])
        return i + 1, row, add_hash(column, columns, row, key[2], key[3])

    def encipher(index: Any) -> Any:
        halves = (0, index // columns, index % columns)
        _, row, column = tf.while_loop(lambda i, *_: i < rounds // 2, two_rounds, halves)
        return row * columns + column

    def walk(ids: Any, walking: Any) -> tuple[Any, Any]:
        ids = tf.where(walking, encipher(ids), ids)
        return ids, ids >= num_examples

    start = (positions % num_examples, tf.ones_like(positions, tf.bool))
    ids, _ = tf.while_loop(lambda _, walking: tf.reduce_any(walking), walk, start)
    return swap_first_two(ids, words[-2], num_examples), epochs


def uniforms(key_hashes: Any, epochs: Any, seed: int, count: int) -> Any:
    """Return float32[count, n] in [0, 1) with 24 random bits each, which depend only on key, epoch and seed."""
    first, second = (int(word) for word in permutation.seed_words(seed, 1)[:, 0, 0])
    state = mix32(low_32(key_hashes) ^ first)
    state = mix32(state ^ low_32(shift_right(key_hashes, 32)))
    state = mix32(state ^ low_32(epochs) ^ second)
    state = mix32(state ^ shift_right(epochs, 32))
    steps = np.arange(1, count + 1, dtype=np.int64).reshape(-1, 1) * WEYL
    return tf.cast(shift_right(mix32(low_32(state + steps)), 8), tf.float32) * np.float32(2**-24)


def seeds(key_hashes: Any, epochs: Any, seed: int) -> Any:
    """Return a seed for stateless ops for each example in its epoch, int32[n, 2]."""
    first, second = (int(word) for word in permutation.seed_words(seed, 1)[:, 0, 1])
    words = []
    for start in (first, second):
        state = mix32(low_32(key_hashes) ^ start)
        state = mix32(state ^ low_32(shift_right(key_hashes, 32)))
        state = mix32(state ^ low_32(epochs))
        words.append(mix32(state ^ shift_right(epochs, 32)) - (1 << 31))
    return tf.cast(tf.stack(words, axis=1), tf.int32)


def mix32(x: Any) -> Any:
    """Mix 32 bits; see permutation.mix32."""
    x = low_32((x ^ shift_right(x, permutation.SHIFT_1)) * _constant(permutation.MULTIPLIER_1))
    x = low_32((x ^ shift_right(x, permutation.SHIFT_2)) * _constant(permutation.MULTIPLIER_2))
    return x ^ shift_right(x, permutation.SHIFT_3)


def key_words(epochs: Any, seed: int, rounds: int) -> Any:
    """Return int64[2 * rounds, m], the transpose of permutation.key_words: one row for each word."""
    first, second = (word.reshape(-1, 1) for word in permutation.seed_words(seed, rounds))
    return mix32(mix32(low_32(epochs) ^ first) ^ second ^ shift_right(epochs, 32))


def swap_first_two(ids: Any, words: Any, sizes: Any) -> Any:
    """Swap ids 0 and 1 where a word says so; see permutation.swap_first_two."""
    is_swapped = (ids < 2) & (sizes > 1) & tf.cast(_BITS.bitwise_and(words, tf.constant(1, tf.int64)), tf.bool)
    return tf.where(is_swapped, 1 - ids, ids)


def add_hash(half: Any, size: Any, other: Any, word: Any, next_word: Any) -> Any:
    """Do half a round of the network: add the keyed hash of the other half to a half, modulo its size."""
    x = other ^ word
    x = low_32((x ^ shift_right(x, permutation.SHIFT_1)) * _constant(permutation.MULTIPLIER_1))
    x = x ^ next_word
    x = low_32((x ^ shift_right(x, permutation.SHIFT_2)) * _constant(permutation.MULTIPLIER_2))
    total = half + shift_right(x * size, 32)
    return tf.where(total >= size, total - size, total)


def low_32(x: Any) -> Any:
    """Return the low 32 bits of int64."""
    return _BITS.bitwise_and(x, _constant(_LOW))


def shift_right(x: Any, bits: int) -> Any:
    """Return int64 shifted to the right."""
    return _BITS.right_shift(x, _constant(bits))


def _constant(value: int) -> Any:
    """Return an int64 constant, one for each graph: hashes have as many constants as operations otherwise.

    Each node takes a third of a millisecond to trace and about as much to optimise, for each pipeline.
    """
    if tf.executing_eagerly():
        return tf.constant(value, tf.int64)
    graph = tf.compat.v1.get_default_graph()
    made = graph.get_collection_ref(_COLLECTION)
    for known, constant in made:
        if known == value and constant.graph is graph:  # a new graph begins with the collections of its outer one
            return constant
    constant = tf.constant(value, tf.int64)
    made.append((value, constant))
    return constant


def permute_ranges(index: Any, sizes: Any, epochs: Any, streams: Any, *, seed: int, rounds: int) -> Any:
    """Return each index permuted within its own [0, size), int64[n]; see the reference for arguments."""
    rows = tf.cast(tf.sqrt(tf.cast(sizes - 1, tf.float64)), tf.int64) + 1
    columns = -(-sizes // rows)
    words = mix32(tf.bitwise.bitwise_xor(key_words(epochs, seed, rounds + 1), streams))
    keys = tf.reshape(words[:-2], [rounds // 2, 4, -1])

    # Loops, for the reason given in permutation.permute.
    def two_rounds(i: Any, row: Any, column: Any) -> Any:
        key = keys[i]
        row = add_hash(row, rows, column, key[0], key[1])
        return i + 1, row, add_hash(column, columns, row, key[2], key[3])

    def walk(made: Any, walking: Any) -> tuple[Any, Any]:
        halves = (0, made // columns, made % columns)
        _, row, column = tf.while_loop(lambda i, *_: i < rounds // 2, two_rounds, halves)
        made = tf.where(walking, row * columns + column, made)
        return made, made >= sizes

    made, _ = tf.while_loop(lambda _, walking: tf.reduce_any(walking), walk, (index, tf.ones_like(index, tf.bool)))
    return swap_first_two(made, words[-2], sizes)
