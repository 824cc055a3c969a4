"""``full`` order: a keyed permutation of all examples, another one each epoch, in O(1) memory.

Position ``t`` belongs to epoch ``e = t // N``; its example is ``P(seed, e)(t % N)``, where each ``P(seed, e)`` is a
bijection of [0, N). NumPy is the definition, and golden files hold it: for a given seed it never changes.

The permutation is an alternating Feistel network over a rectangle ``a x b`` that just covers N (Black & Rogaway,
"Ciphers with Arbitrary Finite Domains", 2002): an index is split into a row in [0, a) and a column in [0, b), and in
each of 12 or 24 rounds a keyed hash of the column is added to the row (mod a) or one of the row to the column (mod b).
Each round is invertible, so the network is a bijection of the rectangle. An image outside [0, N) is permuted again
until it is inside (cycle walking), which makes it a bijection of [0, N). The rectangle exceeds N by less than its
longer side, so at most about one index in sqrt(N) needs a second pass; with a power of two as the domain, up to half of
them would.

Finally, one more bit of the key decides whether examples 0 and 1 are swapped. If both sides of the rectangle are odd,
adding to one coordinate is an even permutation for every key. Without the swap, half of all orders of 9, 25 or 49
examples could never occur, and half of those of 24, which use the rectangle of 25, hardly ever.

TensorFlow's ``index_shuffle`` is one kernel and faster, but it is not used here: it is experimental and TensorFlow may
change its numbers, while these must never change; it permutes well only with hashed key words and 8 or more rounds; and
without TensorFlow nothing could list the examples of a step. A graph must give the same numbers as NumPy (see
`shardkit.reader.operations`), so only operations that are exact in int64 everywhere are used. Every product stays below
2**63, so nothing depends on overflow, on unsigned kernels (TensorFlow has few on CPU) or on shifting a negative number.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from shardkit.errors import CallError
from shardkit.hashing import MAX_SEED, hash64

ROUNDS = 12
FEW_EXAMPLES, ROUNDS_IF_FEW = 1 << 10, 24
"""Rounds for each size. On a rectangle as small as 3 x 2 a round changes little: the 720 orders of 6 examples differ in
frequency by 8 % (root mean square) after 12 rounds, and not measurably after 24. From 8 examples on 12 rounds suffice;
the threshold is far above that."""

MAX_NUM_EXAMPLES = 1 << 40
"""Keeps the sides of the rectangle at or below 2**20, well within what a 32-bit hash can spread evenly."""

# As arrays of no dimension, with which NumPy computes in two thirds of the time that a Python number takes.
LOW_32 = np.array((1 << 32) - 1)
_HALF = np.array(32)
# The finaliser of splitmix32, from skeeto/hash-prospector's search for two-round functions with the least bias. Both
# multipliers are below 2**31, so the product with a 32-bit value stays below 2**63.
SHIFT_1, MULTIPLIER_1 = np.array(16), np.array(0x21F0AAAD)
SHIFT_2, MULTIPLIER_2 = np.array(15), np.array(0x735A2D97)
SHIFT_3 = np.array(15)

_PURPOSE = "order/full"
_Size = npt.NDArray[np.int64]  # of no dimension, or one for each element


def permute(positions: npt.NDArray[np.int64], *, num_examples: int, seed: int) -> npt.NDArray[np.int64]:
    """Map positions of endless training to example ids.

    Args:
        positions: int64[n], positions of endless training in any order, each 0 or more and below 2**62.
        num_examples: Number of examples N, 1 to 2**40.
        seed: Seed of the order, 0 to 2**63 - 1.

    Returns:
        int64[n] of ids in [0, N). Every id occurs exactly once in the positions [e * N, (e + 1) * N) of any epoch e.

    Raises:
        CallError: num_examples, seed or a position is out of range.
    """
    rows, columns = rectangle(num_examples)
    positions = checked_positions(positions)
    keys = Keys(seed, positions // num_examples, num_rounds(num_examples))
    ids: npt.NDArray[np.int64] = cycle_walk(
        positions % num_examples,
        lambda ids, walking: _encipher(ids, keys, walking, rows, columns),
        lambda ids, _: ids >= num_examples,
    )
    return swap_first_two(ids, keys.swap, num_examples)


@functools.singledispatch
def cycle_walk(ids: Any, encipher: Callable[[Any, Any], Any], is_outside: Callable[[Any, Any], Any]) -> Any:
    """Encipher ids, int64[n], until each is inside its range; both functions also get their places in the array."""
    ids, walking = ids.copy(), np.arange(len(ids))
    while walking.size:
        ids[walking] = encipher(ids[walking], walking)
        walking = walking[is_outside(ids[walking], walking)]
    return ids


def invert(
    ids: npt.NDArray[np.int64], epochs: npt.NDArray[np.int64], *, num_examples: int, seed: int
) -> npt.NDArray[np.int64]:
    """Return the place of each example in an epoch, the inverse of `permute`.

    Args:
        ids: int64[n], example ids in [0, N).
        epochs: int64[n], epochs, each 0 or more.
        num_examples: Number of examples N, 1 to 2**40.
        seed: Seed of the order, 0 to 2**63 - 1.

    Returns:
        int64[n] of places in [0, N); the position of an example is epoch * N + place.

    Raises:
        CallError: num_examples, seed or an id is out of range.
    """
    rows, columns = rectangle(num_examples)
    places = np.array(ids, dtype=np.int64)
    if places.size and not 0 <= places.min() <= places.max() < num_examples:
        raise CallError(f"found ids from {places.min()} to {places.max()}; they must be from 0 to {num_examples - 1}")
    keys = Keys(seed, epochs, num_rounds(num_examples))
    found: npt.NDArray[np.int64] = cycle_walk(
        swap_first_two(places, keys.swap, num_examples),
        lambda places, walking: _decipher(places, keys, walking, rows, columns),
        lambda places, _: places >= num_examples,
    )
    return found


def checked_positions(positions: Any) -> Any:
    """Return positions as int64.

    Raises:
        CallError: A position is negative.
    """
    if not isinstance(positions, np.ndarray):  # of a graph, whose positions are a range from 0 or more
        return positions
    positions = np.asarray(positions, dtype=np.int64)
    if positions.size and positions.min() < 0:
        raise CallError(f"position {positions.min()} is negative; positions count from 0")
    return positions


def check_seed(seed: int) -> None:
    """Check that a seed is in [0, 2**63 - 1].

    Raises:
        CallError: It is not.
    """
    if not 0 <= seed <= MAX_SEED:
        raise CallError(f"seed {seed} is out of range; it must be from 0 to {MAX_SEED}")


def rectangle(num_examples: int) -> tuple[_Size, _Size]:
    """Return (rows, columns) of the rectangle that covers N examples: rows = ceil(sqrt(N)), columns = ceil(N / rows).

    Raises:
        CallError: num_examples is not in [1, 2**40].
    """
    if not 1 <= num_examples <= MAX_NUM_EXAMPLES:
        raise CallError(f"cannot order {num_examples:,} examples; the number must be from 1 to {MAX_NUM_EXAMPLES:,}")
    rows = math.isqrt(num_examples - 1) + 1
    return np.array(rows), np.array(-(-num_examples // rows))


def num_rounds(num_examples: int) -> int:
    """Return the number of rounds for this many examples, an even number."""
    return ROUNDS_IF_FEW if num_examples < FEW_EXAMPLES else ROUNDS


@functools.lru_cache  # each plan of some hundred examples asks for them
def seed_words(seed: int, rounds: int) -> npt.NDArray[np.int64]:
    """Return int64[2, rounds, 2] of 32-bit words, hashed from the seed alone; a graph stores them as a constant.

    BLAKE2b makes the words of neighbouring seeds, and of (seed, epoch) (0, 1) and (1, 0), independent.

    Raises:
        CallError: The seed is not in [0, 2**63 - 1].
    """
    check_seed(seed)
    names = [f"{r}.{w}" for r in range(rounds) for w in range(2)]
    wide = hash64(names, seed=seed, purpose=_PURPOSE).reshape(rounds, 2)
    return np.stack([wide & np.uint64(LOW_32), wide >> np.uint64(32)]).astype(np.int64)


def key_words(seed: int, epochs: npt.NDArray[np.int64], rounds: int) -> npt.NDArray[np.int64]:
    """Return int64[rounds, 2, m] of 32-bit words: two for each round of each epoch, int64[m].

    The low and the high 32 bits of the epoch are added one after the other, each followed by a full mix.
    """
    first, second = seed_words(seed, rounds)[..., np.newaxis]
    return mix32(mix32(first ^ (epochs & LOW_32)) ^ second ^ (epochs >> _HALF))


class Keys:
    """The key words of elements: those of their epochs."""

    def __init__(self, seed: int, epochs: npt.NDArray[np.int64], rounds: int) -> None:
        """Make the words of the epoch of each element, int64[n]."""
        self.rounds = rounds
        self._which: Any = None
        # As nearly always: then no word is copied for each element.
        is_one_epoch = isinstance(epochs, np.ndarray) and len(epochs) > 0 and bool((epochs == epochs[0]).all())
        if is_one_epoch:
            epochs = epochs[:1]
        else:
            epochs, which = np.unique(epochs, return_inverse=True)
            self._which = which.reshape(-1)
        # One round more than the network has: its first word decides the swap of `swap_first_two`.
        self._words = key_words(seed, epochs, rounds + 1)

    def of(self, first: int, walking: Any) -> Any:
        """Return the four words of the rounds `first` and `first + 1`, for the elements at some places."""
        # Two rounds at a time: one after the other takes longer, and all at once 200 MB for a million elements.
        words = self._words[first : first + 2].reshape(4, -1)
        if self._which is None:
            return [words[number, 0, ...] for number in range(4)]
        return words[:, self._which[walking]]

    @property
    def swap(self) -> Any:
        """The word of each element that decides its swap."""
        words = self._words[-1, 0]
        return words if self._which is None else words[self._which]


def mix32(x: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Mix 32-bit words held in int64: a bijection in which each input bit flips each output bit half of the time."""
    x = x ^ (x >> SHIFT_1)  # a new array, changed in place from here on
    x *= MULTIPLIER_1
    x &= LOW_32
    x ^= x >> SHIFT_2
    x *= MULTIPLIER_2
    x &= LOW_32
    x ^= x >> SHIFT_3
    return x


def swap_first_two(
    ids: npt.NDArray[np.int64], words: npt.NDArray[np.int64], sizes: int | npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Swap the ids 0 and 1 if the word is odd, which is its own inverse.

    Args:
        ids: int64[n], example ids.
        words: int64[n], the key word of each id's permutation.
        sizes: Number of examples of each permutation; with a single example nothing is swapped.
    """
    swapped: npt.NDArray[np.int64] = ids ^ (words & (ids < 2) & (sizes > 1))
    return swapped


def _encipher(
    index: npt.NDArray[np.int64], keys: Keys, walking: Any, rows: _Size, columns: _Size
) -> npt.NDArray[np.int64]:
    """Permute the rectangle once, with the keys of the elements at some places."""
    row, column = index // columns, index % columns
    for r in range(0, keys.rounds, 2):
        words = keys.of(r, walking)
        row = add_hash(row, rows, column, words[0], words[1])
        column = add_hash(column, columns, row, words[2], words[3])
    return row * columns + column


def _decipher(
    index: npt.NDArray[np.int64], keys: Keys, walking: Any, rows: _Size, columns: _Size
) -> npt.NDArray[np.int64]:
    """Invert _encipher: undo its rounds, the last one first."""
    row, column = index // columns, index % columns
    for r in range(keys.rounds - 2, -1, -2):
        words = keys.of(r, walking)
        # Subtracting a hash is adding it to the distance from the top: -(h + (size - 1 - x)) - 1 = x - h (mod size).
        column = columns - 1 - add_hash(columns - 1 - column, columns, row, words[2], words[3])
        row = rows - 1 - add_hash(rows - 1 - row, rows, column, words[0], words[1])
    return row * columns + column


def add_hash(
    half: npt.NDArray[np.int64],
    size: _Size,
    other: npt.NDArray[np.int64],
    word: npt.NDArray[np.int64],
    next_word: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Return (half + keyed hash of other, scaled to [0, size)) mod size, without a division.

    The second word is added between the multiplications: with one word alone, the hash under key k ^ d would be the
    hash under k with its inputs swapped. There is no final xor-shift, because only the top bits of the product count.
    """
    x = other ^ word  # a new array, changed in place from here on
    x ^= x >> SHIFT_1
    x *= MULTIPLIER_1
    x &= LOW_32
    x ^= next_word
    x ^= x >> SHIFT_2
    x *= MULTIPLIER_2
    x &= LOW_32
    x *= size
    x >>= _HALF
    x += half
    return np.where(x >= size, x - size, x)
