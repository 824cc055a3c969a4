"""TensorFlow ops of `shardkit.order.keyed_permutations`, with the names of that reference."""

from typing import Any

import tensorflow as tf

from shardkit.order import permutation
from shardkit.reader.orders.permutation import add_hash, key_words, mix32, swap_first_two


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


def invert(ids: Any, epochs: Any, *, num_examples: int, seed: int) -> Any:
    """Return the position of each id in its epoch, int64[n]; see permutation.invert."""
    rows, columns = permutation.rectangle(num_examples)
    rounds = permutation.num_rounds(num_examples)
    words = key_words(epochs, seed, rounds + 1)
    ids = swap_first_two(ids, words[-2], num_examples)
    keys = tf.reshape(words[:-2], [rounds // 2, 4, -1])

    def two_rounds(i: Any, row: Any, column: Any) -> Any:
        key = keys[i]
        column = columns - 1 - add_hash(columns - 1 - column, columns, row, key[2], key[3])
        return i - 1, rows - 1 - add_hash(rows - 1 - row, rows, column, key[0], key[1]), column

    def walk(positions: Any, walking: Any) -> tuple[Any, Any]:
        halves = (rounds // 2 - 1, positions // columns, positions % columns)
        _, row, column = tf.while_loop(lambda i, *_: i >= 0, two_rounds, halves)
        positions = tf.where(walking, row * columns + column, positions)
        return positions, positions >= num_examples

    positions, _ = tf.while_loop(lambda _, walking: tf.reduce_any(walking), walk, (ids, tf.ones_like(ids, tf.bool)))
    return positions
