"""Make sets of copies from near hashes, and notice images that look alike by nature.

Copies of a photograph come in small sets. Where hundreds of images have near hashes, they are scans of one kind, icons,
digits or the frames of one camera: their hashes say nothing about copies, and chains of near pairs would join half of
a dataset. Such sets are counted and not used; if many images are in them, no set is used.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shardkit.images.perceptual_hash import MIN_SIDE
from shardkit.images.similar.near_pairs import near_pairs
from shardkit.naming import counted

MOST_COPIES = 50  # images in a set of copies
# In a small dataset, fewer: a set is at most this share of all images.
_LARGEST_SHARE, _SMALL_SET = 20, 10  # one of 20, but ten are always allowed
# One of so many images in sets that are too large: then the small sets are not copies either.
_ALIKE_SHARE = 10

_Words = npt.NDArray[np.uint64]
_Ints = npt.NDArray[np.int64]
_Numbers = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class SimilarSets:
    """The sets of copies among n images.

    Attributes:
        codes: int64[n], the set of each image, numbered by first image; -1 for an image without a copy.
        num_alike: Number of images that look alike by nature: those in sets that are too large for copies.
        is_by_nature: Whether these are so many that no set is used.
    """

    codes: _Ints
    num_alike: int
    is_by_nature: bool


def alike_text(num_alike: int) -> str:
    """Return the sentence about images that look alike by nature, without its end."""
    return (
        f"{counted(num_alike, 'image')} look too much like many others to tell copies apart (scans, icons, frames of a "
        "camera)"
    )


def unhashed_text(num: int, total: int) -> str:
    """Return the sentence about images without a perceptual hash, without its end; '' if all images have one.

    Args:
        num: Number of images without a hash.
        total: Number of all images.
    """
    if not num:
        return ""
    which = "no image has a" if num == total else f"{num:,} of {total:,} images {'has' if num == 1 else 'have'} no"
    return f"{which} perceptual hash (not decoded, flat, or a side below {MIN_SIDE} pixels): compared by bytes only"


def similar_sets(hashes: _Words) -> SimilarSets:
    """Find the sets of copies.

    Args:
        hashes: uint64[n, 2], perceptual hashes of images with different bytes.

    Returns:
        The sets; the same for any order of the images.
    """
    num = len(hashes)
    distinct, number_of, counts = _distinct(hashes)
    pairs = near_pairs(distinct)
    if pairs is None:
        return SimilarSets(_no_codes(num), num, is_by_nature=True)
    del distinct  # 16 bytes an image
    set_of = connected(pairs, len(counts))
    sizes = np.bincount(set_of, weights=counts, minlength=len(counts)).astype(np.int64)
    size_of = sizes[set_of][number_of]
    limit = min(MOST_COPIES, max(_SMALL_SET, num // _LARGEST_SHARE))
    num_alike = int(np.count_nonzero(size_of > limit))
    if num_alike * _ALIKE_SHARE > num:
        return SimilarSets(_no_codes(num), num_alike, is_by_nature=True)
    is_copy = (size_of > 1) & (size_of <= limit)
    return SimilarSets(_numbered(set_of[number_of], is_copy), num_alike, is_by_nature=False)


def _no_codes(num: int) -> _Ints:
    return np.full(num, -1, np.int64)


def _distinct(hashes: _Words) -> tuple[_Words, _Numbers, _Numbers]:
    """Return the different hashes in ascending order, the number of each hash among them, and how often each occurs.

    The columns of the hashes are contiguous, and numbers have 32 bits: a hundred million hashes fill memory.
    """
    order = np.lexsort((hashes[:, 1], hashes[:, 0]))
    ordered = hashes[order]
    is_new = np.ones(len(ordered), np.bool_)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    number_of = np.empty(len(ordered), np.uint32)
    number_of[order] = np.cumsum(is_new, dtype=np.uint32) - np.uint32(1)
    del order
    starts = np.flatnonzero(is_new).astype(np.uint32)
    distinct = np.empty((ordered.shape[1], len(starts)), np.uint64)
    for word, column in enumerate(ordered.T):
        distinct[word] = column[starts]
    return distinct.T, number_of, np.diff(starts, append=np.uint32(len(ordered)))


def connected(pairs: _Ints, num: int) -> _Ints:
    """Return int64[num], the smallest number that pairs connect each number with, directly or not.

    Args:
        pairs: int64[m, 2].
        num: Number of numbers.
    """
    root = np.arange(num)
    while len(pairs):
        ends = root[pairs]
        differing = ends[:, 0] != ends[:, 1]
        pairs, ends = pairs[differing], ends[differing]
        np.minimum.at(root, ends.max(axis=1), ends.min(axis=1))
        while len(pairs) and not np.array_equal(shorter := root[root], root):
            root = shorter
    return root


def _numbered(codes: _Ints, has_code: npt.NDArray[np.bool_]) -> _Ints:
    """Return the codes numbered by first row; -1 where there is none."""
    numbered = np.full(len(codes), -1, np.int64)
    rows = np.flatnonzero(has_code)
    _, first, inverse = np.unique(codes[rows], return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    numbered[rows] = rank[inverse]
    return numbered
