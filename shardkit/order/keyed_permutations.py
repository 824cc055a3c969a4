"""Keyed permutations of many ranges at once, used for the windows of ``block`` order and for classes.

The network is the one of :mod:`shardkit.order.permutation`. Here each element has its own range and key, because
neighbouring positions belong to different windows or classes. The key of an element is (seed, epoch, stream): the key
words of `permute` for the epoch, with the number of the window or class mixed into every word.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from shardkit.hashing import hash64
from shardkit.order import permutation

MAX_STREAMS = 1 << 32


def derived_seed(seed: int, purpose: str) -> int:
    """Derive a 63-bit seed that is independent of the given seed and of those for other purposes.

    Args:
        seed: 0 to 2**63 - 1.
        purpose: Up to 16 ASCII characters.

    Raises:
        CallError: The seed is out of range.
    """
    permutation.check_seed(seed)
    return int(hash64(["seed"], seed=seed, purpose=purpose)[0] >> np.uint64(1))


def permute_ranges(
    index: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.int64],
    epochs: npt.NDArray[np.int64],
    streams: npt.NDArray[np.int64],
    *,
    seed: int,
    rounds: int,
) -> npt.NDArray[np.int64]:
    """Permute each index within its own range. Elements with the same size, epoch and stream share a permutation.

    Args:
        index: int64[n], index[i] in [0, sizes[i]).
        sizes: int64[n], 1 to 2**40.
        epochs: int64[n], 0 or more.
        streams: int64[n], in [0, 2**32).
        seed: 0 to 2**63 - 1.
        rounds: Rounds of the network, even; `permutation.num_rounds` of a typical size.

    Returns:
        int64[n], element i in [0, sizes[i]): a bijection for each (size, epoch, stream).
    """
    rows = side(sizes)
    columns = -(-sizes // rows)
    keys = permutation.Keys(seed, epochs, rounds)

    def encipher(ids: Any, walking: Any) -> Any:
        height, width, stream = rows[walking], columns[walking], streams[walking]
        row, column = ids // width, ids % width
        for r in range(0, rounds, 2):
            words = keys.of(r, walking)
            words = [permutation.mix32(words[number] ^ stream) for number in range(4)]
            row = permutation.add_hash(row, height, column, words[0], words[1])
            column = permutation.add_hash(column, width, row, words[2], words[3])
        return row * width + column

    made = permutation.cycle_walk(index, encipher, lambda ids, walking: ids >= sizes[walking])
    return permutation.swap_first_two(made, permutation.mix32(keys.swap ^ streams), sizes)


def side(sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return ceil(sqrt(size)) as `permutation.rectangle` does; IEEE square roots are exact enough below 2**50."""
    return np.sqrt((sizes - 1).astype(np.float64)).astype(np.int64) + 1
