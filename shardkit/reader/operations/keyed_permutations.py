"""TensorFlow ops of `shardkit.order.keyed_permutations`, with the names of that reference."""

from typing import Any

import tensorflow as tf

from shardkit.reader.operations.permutation import add_hash, key_words, mix32, swap_first_two


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
