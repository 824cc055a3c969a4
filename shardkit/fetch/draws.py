"""Random numbers that depend on the key of an example, its epoch and the seed only."""

import functools

import numpy as np
import numpy.typing as npt

from shardkit.order.permutation import LOW_32, mix32, seed_words

_Ints = npt.NDArray[np.int64]
# 2**32 / golden ratio, odd: consecutive multiples differ in all bits once mixed (Weyl sequence, as in SplitMix).
WEYL = 0x9E3779B9


def uniforms(key_hashes: _Ints, epochs: _Ints, seed: int, count: int) -> npt.NDArray[np.float32]:
    """Return float32[count, n] in [0, 1) with 24 random bits each."""
    first, second = _words(seed)[:, 0]
    state = mix32(key_hashes & LOW_32 ^ first)
    state = mix32(state ^ (key_hashes >> 32 & LOW_32))
    state = mix32(state ^ (epochs & LOW_32) ^ second)
    state = mix32(state ^ (epochs >> 32))
    steps = np.arange(1, count + 1, dtype=np.int64).reshape(-1, 1) * WEYL
    drawn: npt.NDArray[np.float32] = (mix32(state + steps & LOW_32) >> 8).astype(np.float32) * np.float32(2**-24)
    return drawn


def seeds(key_hashes: _Ints, epochs: _Ints, seed: int) -> npt.NDArray[np.int32]:
    """Return a seed for stateless ops for each example in its epoch, int32[n, 2]; see `uniforms`."""
    words = []
    for start in _words(seed)[:, 1]:
        state = mix32(key_hashes & LOW_32 ^ start)
        state = mix32(state ^ (key_hashes >> 32 & LOW_32))
        state = mix32(state ^ (epochs & LOW_32))
        words.append(mix32(state ^ (epochs >> 32)) - (1 << 31))
    return np.stack(words, axis=1).astype(np.int32)


@functools.lru_cache
def _words(seed: int) -> _Ints:
    """Return int64[2, 2]: two words for `uniforms`, in the first column, and two for `seeds`."""
    return seed_words(seed, 1)[:, 0]
