"""Find the pairs of 128-bit hashes that differ in few bits, without comparing all pairs.

This is multi-index hashing (Norouzi, Punjani and Fleet, "Fast Search in Hamming Space with Multi-Index Hashing", CVPR
2012): hashes that differ in few bits are equal, but for one bit, in one of several bands of their bits. Each band is a
table sorted by its bits, in which a hash looks up its own value and those with one bit flipped. The bands are cut from
six different orders of the bits, so that a pair that differs in a bad place of one order is found by another: of pairs
within RADIUS, the tables find 98 % or more (tests/benchmarks/bench_near_duplicates.py).

Whether a pair is found depends on its two hashes alone, so a plan, a check and an append agree about it. The exception
are crowded tables, see MOST_IN_BUCKET.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from shardkit.hashing import hash64

RADIUS = 23  # bits of 128 in which the hashes of copies differ at most
_HASH_BITS, _WORD_BITS = 128, 64
_ORDERS, _BANDS, _BAND_BITS = 6, 5, 24
# A hash is compared with so many of the hashes that agree with it in a band: 24 bits of ten million hashes are shared
# by a few, unless all of these images look alike.
MOST_IN_BUCKET = 256
# More pairs than this for each hash are no copies: the images look alike by nature.
_PAIRS_PER_HASH, _FEW_PAIRS = 5, 20_000
_QUERIES, _CANDIDATES = 1 << 18, 1 << 22  # that are held at once
_DIRECT_TABLE = 1 << 19  # hashes from which on a table of all values of a band is faster than binary search

_Words = npt.NDArray[np.uint64]
_Ints = npt.NDArray[np.int64]


def near_pairs(hashes: _Words) -> _Ints | None:
    """Return the pairs of hashes that differ in at most RADIUS bits.

    Args:
        hashes: uint64[n, 2], different ones, n < 2**32. They are copied unless both columns are contiguous.

    Returns:
        int64[m, 2], pairs of rows, the smaller first, ascending. None if there are too many pairs for copies.
    """
    num = len(hashes)
    limit = max(_PAIRS_PER_HASH * num, _FEW_PAIRS)
    found = np.zeros(0, np.uint64)
    words = np.ascontiguousarray(hashes.T)
    for bits in _bands() if num > 1 else ():
        new = [found]
        num_new = 0
        for block in _Table(words, bits).pairs():  # without a name, which would keep it while the next one is made
            num_new += len(block)
            if num_new > limit:
                return None
            new.append(block)
        if num_new:
            found = np.unique(np.concatenate(new))
        if len(found) > limit:
            return None
    return np.stack((found >> np.uint64(32), found & np.uint64(0xFFFFFFFF)), axis=1).astype(np.int64)


def distances(one: _Words, other: _Words) -> npt.NDArray[np.uint8]:
    """Return uint8[n], the number of different bits of the hashes one[i] and other[i], uint64[n, 2]."""
    bits: npt.NDArray[np.uint8] = np.bitwise_count(one ^ other).sum(axis=-1, dtype=np.uint8)
    return bits


def _bands() -> Iterator[list[int]]:
    """Yield the bits of each band. The orders come from a hash, so they never change."""
    names = [str(bit) for bit in range(_HASH_BITS)]
    for number in range(_ORDERS):
        order = np.argsort(hash64(names, seed=number, purpose="bands")).tolist()
        for start in range(0, _BANDS * _BAND_BITS, _BAND_BITS):
            yield order[start : start + _BAND_BITS]


class _Table:
    """All hashes, sorted by the bits of one band."""

    def __init__(self, words: _Words, bits: list[int]) -> None:
        """Sort.

        Args:
            words: uint64[2, n].
            bits: The bits of the band.
        """
        keys = _band_values(words, bits)
        keys <<= np.uint64(32)
        keys |= np.arange(len(keys), dtype=np.uint64)
        keys.sort()
        self._order = (keys & np.uint64(0xFFFFFFFF)).astype(np.uint32)
        self._values = (keys >> np.uint64(32)).astype(np.uint32)
        del keys
        self._words = words[:, self._order]
        self._ranges = _Ranges(self._values)

    def pairs(self) -> Iterator[_Words]:
        """Yield the pairs that the band finds, each once: the smaller row in the high 32 bits, the other in the low."""
        for start in range(0, len(self._values), _QUERIES):
            values = self._values[start : start + _QUERIES]
            rows = np.arange(start, start + len(values))
            starts, counts = self._ranges.find(values)
            behind = starts + counts - rows - 1
            own = behind > 0
            yield from self._compare(rows[own], rows[own] + 1, behind[own])
            for bit in range(_BAND_BITS):
                flipped = np.uint32(1 << bit)
                # From the side without the bit only: the pair is the same from the other side.
                without = np.flatnonzero((values & flipped) == 0)
                wanted = values[without] | flipped
                known = self._ranges.known(wanted)
                yield from self._compare(without[known] + start, *self._ranges.find(wanted[known]))

    def _compare(self, rows: _Ints, starts: _Ints, counts: _Ints) -> Iterator[_Words]:
        """Yield the pairs of each row with the rows near it among the first of `counts` rows from a start."""
        counts = np.minimum(counts, MOST_IN_BUCKET)
        upto = np.cumsum(counts)
        first = 0
        while first < len(rows):
            done = int(upto[first - 1]) if first else 0
            last = max(first + 1, int(np.searchsorted(upto, done + _CANDIDATES, side="right")))
            some, before = counts[first:last], upto[first:last] - counts[first:last] - done
            ones = np.repeat(rows[first:last], some)
            others = np.arange(len(ones)) + np.repeat(starts[first:last] - before, some)
            # One half first: it rules out nearly all.
            bits = np.bitwise_count(self._words[0][ones] ^ self._words[0][others])
            near = np.flatnonzero(bits <= RADIUS)
            ones, others = ones[near], others[near]
            bits = bits[near] + np.bitwise_count(self._words[1][ones] ^ self._words[1][others])
            is_near = bits <= RADIUS
            one, other = (self._order[found[is_near]].astype(np.uint64) for found in (ones, others))
            yield (np.minimum(one, other) << np.uint64(32)) | np.maximum(one, other)
            first = last


def _band_values(words: _Words, bits: list[int]) -> _Words:
    """Return uint64[n], the bits of a band of each hash."""
    values = np.zeros(words.shape[1], np.uint64)
    for start in range(0, len(values), _QUERIES):  # blocks that fit into the processor's cache
        block = values[start : start + _QUERIES]
        for at, bit in enumerate(bits):
            word = words[bit // _WORD_BITS, start : start + _QUERIES]
            block |= ((word >> np.uint64(bit % _WORD_BITS)) & np.uint64(1)) << np.uint64(at)
    return values


class _Ranges:
    """The ranges of rows that have each value of a band."""

    def __init__(self, values: npt.NDArray[np.uint32]) -> None:
        """Prepare for the sorted values of a band."""
        self._values = values
        self._direct = len(values) >= _DIRECT_TABLE
        if self._direct:
            self._counts = np.bincount(values, minlength=1 << _BAND_BITS).astype(np.uint32)
            self._starts = np.cumsum(self._counts, dtype=np.uint32)
            self._starts -= self._counts

    def known(self, wanted: npt.NDArray[np.uint32]) -> _Ints:
        """Return the positions of the wanted values that a row has."""
        if self._direct:
            return np.flatnonzero(self._counts[wanted])
        at = np.minimum(np.searchsorted(self._values, wanted), len(self._values) - 1)
        return np.flatnonzero(self._values[at] == wanted)

    def find(self, wanted: npt.NDArray[np.uint32]) -> tuple[_Ints, _Ints]:
        """Return the first row of each value, and the number of its rows."""
        if self._direct:
            return self._starts[wanted].astype(np.int64), self._counts[wanted].astype(np.int64)
        starts = np.searchsorted(self._values, wanted)
        return starts, np.searchsorted(self._values, wanted, side="right") - starts
