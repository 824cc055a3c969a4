"""Find the examples that must share a split: groups that the source names, exact duplicates, and atomic groups.

An atomic group is a set of examples that groups and duplicates connect, directly or through other examples. In all
arrays here groups are numbered from 0, and -1 is an example without one.
"""

import re
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.planning.rows import LazyColumn
from shardkit.dataset.index.perceptual_hashes import words_of
from shardkit.errors import CallError
from shardkit.hashing import COLUMN_BLOCK, hash64_column
from shardkit.images.similar.similar_sets import connected
from shardkit.options.words import named

_Ints = npt.NDArray[np.int64]
DIGEST_WORDS = 4  # 64-bit words of a sha256


def groups_by_pattern(keys: pa.ChunkedArray, pattern: str) -> pa.ChunkedArray:
    """Return the first group of a regular expression in every key; null if a key does not match."""
    search = compile_pattern(pattern).search
    found = pa.chunked_array(
        [
            pa.array([match[1] if (match := search(key)) else None for key in block], pa.string())
            for block in _blocks(keys)
        ],
        pa.string(),
    )
    if found.null_count == len(found):
        raise pattern_not_found(pattern, len(found), keys[0].as_py())
    return found


def pattern_not_found(pattern: str, num_keys: int, example: str) -> CallError:
    """Return the error for a pattern that no key contains."""
    return CallError(f"{named('group_by', pattern)} is found in none of the {num_keys} keys, such as {example!r}")


def no_groups(block: int) -> CallError:
    """Return the error for groups that are divided into blocks, of a source without groups."""
    return CallError(f"{named('block', block)} divides groups, and there are none; add {named('group_by')}")


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile the regular expression of `group_by`."""
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        msg = f"{named('group_by', pattern)} is neither a column of the source nor a regular expression: {error}"
        raise CallError(msg) from None
    if not compiled.groups:
        raise CallError(
            f"{named('group_by', pattern)} is no column of the source, and as a regular expression for keys it has "
            "no (group)"
        )
    return compiled


def _blocks(column: pa.ChunkedArray) -> Iterator[list[str]]:
    return (column.slice(start, COLUMN_BLOCK).to_pylist() for start in range(0, len(column), COLUMN_BLOCK))


def group_codes(groups: pa.ChunkedArray) -> _Ints:
    """Return int64[n], every example's group, numbered by first appearance; -1 without one."""
    encoded = groups.dictionary_encode().unify_dictionaries()
    codes = [pc.fill_null(chunk.indices, -1).to_numpy().astype(np.int64) for chunk in encoded.chunks]
    return np.concatenate(codes) if codes else np.zeros(0, np.int64)


def digest_words(contents: pa.ChunkedArray) -> npt.NDArray[np.uint64]:
    """Return sha256 digests without nulls as uint64[n, DIGEST_WORDS]."""
    return np.concatenate([np.zeros((0, DIGEST_WORDS), np.uint64), *(words_of(one) for one in contents.chunks)])


def digest_prefixes(contents: pa.ChunkedArray | LazyColumn) -> npt.NDArray[np.uint64]:
    """Return uint64[n], the first word of sha256 digests without nulls."""
    prefixes = np.empty(len(contents), np.uint64)
    for start in range(0, len(contents), COLUMN_BLOCK):
        words = digest_words(contents.slice(start, COLUMN_BLOCK))
        prefixes[start : start + len(words)] = words[:, 0]
    return prefixes


def duplicate_codes(contents: pa.ChunkedArray | LazyColumn) -> _Ints:
    """Return int64[n], every example's set of equal contents, numbered by first row; -1 if its content is unique."""
    return repeated_codes(digest_prefixes(contents), lambda rows: digest_words(contents.take(rows)))


def repeated_codes(prefixes: npt.NDArray[np.uint64], digests_of: Callable[[_Ints], npt.NDArray[np.uint64]]) -> _Ints:
    """Return the same as `duplicate_codes` without holding all digests.

    The first 64 bits of the digests rule out nearly all rows in a quarter of the memory. The few rows that share them
    with another row are compared by their full digests.

    `digests_of` returns the full digests of ascending rows, as from `digest_words`.
    """
    codes = np.full(len(prefixes), -1, np.int64)
    rows = _repeated(prefixes)
    if not len(rows):
        return codes
    _, inverse, counts = np.unique(digests_of(rows), axis=0, return_inverse=True, return_counts=True)
    is_set = counts[inverse.ravel()] > 1
    _, first, numbered = np.unique(inverse.ravel()[is_set], return_index=True, return_inverse=True)
    by_first = np.empty(len(first), np.int64)
    by_first[np.argsort(first)] = np.arange(len(first))
    codes[rows[is_set]] = by_first[numbered.ravel()]
    return codes


def _repeated(values: npt.NDArray[np.uint64]) -> _Ints:
    """Return the rows whose value is not unique, ascending."""
    ordered = np.sort(values)
    return np.flatnonzero(np.isin(values, ordered[1:][ordered[1:] == ordered[:-1]]))


def without_singles(codes: _Ints) -> _Ints:
    """Return the codes of some examples, with -1 for a set of which only one is left."""
    counts = np.bincount(codes + 1, minlength=1)
    return np.where(counts[codes + 1] > 1, codes, -1)


def merge_atomic_groups(groups: _Ints, duplicates: _Ints) -> _Ints:
    """Return int64[n], the connected components of examples that share a group or a content.

    An example that shares neither with another one has -1.
    """
    num_groups = int(groups.max(initial=-1)) + 1
    atomic_groups = np.where(groups >= 0, groups, np.where(duplicates >= 0, duplicates + num_groups, -1))
    has_both = (groups >= 0) & (duplicates >= 0)
    pairs = np.unique(np.stack([groups[has_both], duplicates[has_both] + num_groups], axis=1), axis=0)
    if not len(pairs):
        return atomic_groups
    roots = connected(pairs, num_groups + int(duplicates.max()) + 1)
    return np.where(atomic_groups >= 0, roots[atomic_groups], -1)


def atomic_group_hashes(
    atomic_groups: _Ints | None,
    tokens: pa.ChunkedArray | LazyColumn,
    groups: pa.ChunkedArray | None,
    *,
    seed: int,
) -> npt.NDArray[np.uint64]:
    """Return uint64[n], the hash that decides an example's split: the same for a whole atomic group.

    It is the hash of the example's group, or else of its token; of near-identical images, the smallest. If duplicates
    connect several groups, or groups and examples without one, it is the smallest hash of the groups. An old example
    therefore changes its split only if a new one connects its atomic group to another.

    `tokens` are contents if they are known, else keys.
    """
    hashes = hash64_column(tokens, seed=seed, purpose="split")
    if atomic_groups is None:
        return hashes
    named = np.zeros(len(hashes), np.bool_) if groups is None else groups.is_valid().to_numpy()
    if groups is not None:
        hashes[named] = hash64_column(groups.drop_null(), seed=seed, purpose="split")
    least = np.full(int(atomic_groups.max(initial=-1)) + 1, np.iinfo(np.uint64).max, np.uint64)
    np.minimum.at(least, atomic_groups[named], hashes[named])
    least_of_all = least.copy()
    np.minimum.at(least_of_all, atomic_groups[atomic_groups >= 0], hashes[atomic_groups >= 0])
    has_group = np.zeros(len(least), np.bool_)
    has_group[atomic_groups[named]] = True
    hash_of = np.where(has_group, least, least_of_all)
    hashes[atomic_groups >= 0] = hash_of[atomic_groups[atomic_groups >= 0]]
    return hashes


def groups_in_several_splits(codes: _Ints, split_of: npt.NDArray[np.int32]) -> _Ints:
    """Return the numbers of the groups, or sets of duplicates, that are in more than one split."""
    has_group = codes >= 0
    least = np.full(int(codes.max(initial=-1)) + 1, np.iinfo(np.int32).max, np.int32)
    most = np.full(len(least), -1, np.int32)
    np.minimum.at(least, codes[has_group], split_of[has_group])
    np.maximum.at(most, codes[has_group], split_of[has_group])
    return np.flatnonzero(most > least)
