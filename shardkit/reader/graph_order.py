"""The graph's twin of `shardkit.order.permutation`, and uniform numbers made the same way; held against NumPy in tests.

int64 throughout, every product below 2**63: see there for why.
"""

from typing import Any

import numpy as np
import tensorflow as tf

from shardkit.order import permutation

_LOW = permutation.LOW_32
# 2**32 / golden ratio, odd: consecutive multiples differ in all bits once mixed (Weyl sequence, as in SplitMix).
_WEYL = 0x9E3779B9
_BITS = tf.bitwise


def permute(positions: Any, *, num_examples: int, seed: int) -> tuple[Any, Any]:
    """Ids and epochs, int64[n], of int64[n] positions that lie close together.

    The key words are made once for every epoch between the least and the greatest position, not for every position.
    """
    rows, columns = permutation.rectangle(num_examples)
    rounds = permutation.num_rounds(num_examples)
    epochs = positions // num_examples
    first_epoch = tf.reduce_min(epochs)
    words = _key_words(tf.range(first_epoch, tf.reduce_max(epochs) + 1), seed, rounds)
    keys = tf.unstack(tf.gather(words, epochs - first_epoch, axis=1), num=2 * rounds)

    def encipher(index: Any) -> Any:
        row, column = index // columns, index % columns
        for r in range(0, 2 * rounds, 4):
            row = _add_hash(row, rows, column, keys[r], keys[r + 1])
            column = _add_hash(column, columns, row, keys[r + 2], keys[r + 3])
        return row * columns + column

    (ids,) = tf.while_loop(
        lambda ids: tf.reduce_any(ids >= num_examples),
        lambda ids: (tf.where(ids >= num_examples, encipher(ids), ids),),
        (encipher(positions % num_examples),),
    )
    return ids, epochs


def uniforms(key_hashes: Any, epochs: Any, seed: int, count: int) -> list[Any]:
    """`count` float32[n] in [0, 1) with 24 random bits each, which depend on key, epoch and seed only."""
    first, second = (int(word) for word in permutation.seed_words(seed, 1)[:, 0, 0])
    state = mix32(_low(key_hashes) ^ first)
    state = mix32(state ^ _low(_shift(key_hashes, 32)))
    state = mix32(state ^ _low(epochs) ^ second)
    state = mix32(state ^ _shift(epochs, 32))
    return [
        tf.cast(_shift(mix32(_low(state + (i + 1) * _WEYL)), 8), tf.float32) * np.float32(2**-24) for i in range(count)
    ]


def seeds(key_hashes: Any, epochs: Any, seed: int) -> Any:
    """int32[n, 2]: a seed for stateless ops, for each example in each epoch."""
    first, second = (int(word) for word in permutation.seed_words(seed, 1)[:, 0, 1])
    words = []
    for start in (first, second):
        state = mix32(_low(key_hashes) ^ start)
        state = mix32(state ^ _low(_shift(key_hashes, 32)))
        state = mix32(state ^ _low(epochs))
        words.append(mix32(state ^ _shift(epochs, 32)) - (1 << 31))
    return tf.cast(tf.stack(words, axis=1), tf.int32)


def mix32(x: Any) -> Any:
    """See permutation.mix32."""
    x = _low((x ^ _shift(x, permutation.SHIFT_1)) * permutation.MULTIPLIER_1)
    x = _low((x ^ _shift(x, permutation.SHIFT_2)) * permutation.MULTIPLIER_2)
    return x ^ _shift(x, permutation.SHIFT_3)


def _key_words(epochs: Any, seed: int, rounds: int) -> Any:
    """int64[2 * rounds, m]: see permutation.key_words, transposed so that one word is one row."""
    first, second = (word.reshape(-1, 1) for word in permutation.seed_words(seed, rounds))
    return mix32(mix32(_low(epochs) ^ first) ^ second ^ _shift(epochs, 32))


def _add_hash(half: Any, size: int, other: Any, word: Any, next_word: Any) -> Any:
    x = other ^ word
    x = _low((x ^ _shift(x, permutation.SHIFT_1)) * permutation.MULTIPLIER_1)
    x = x ^ next_word
    x = _low((x ^ _shift(x, permutation.SHIFT_2)) * permutation.MULTIPLIER_2)
    total = half + _shift(x * size, 32)
    return tf.where(total >= size, total - size, total)


def _low(x: Any) -> Any:
    return _BITS.bitwise_and(x, tf.constant(_LOW, tf.int64))


def _shift(x: Any, bits: int) -> Any:
    return _BITS.right_shift(x, tf.constant(bits, tf.int64))
