"""What belongs together: groups that the source names, exact duplicates, and the units that both tie together.

A unit is numbered from 0; -1 is an example that belongs to nobody.
"""

import re
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.errors import CallError
from shardkit.hashing import COLUMN_BLOCK, hash64_column
from shardkit.planning.rows import Gathered

_Ints = npt.NDArray[np.int64]
DIGEST_WORDS = 4  # of 64 bits in a sha256


def groups_by_pattern(keys: pa.ChunkedArray, pattern: str) -> pa.ChunkedArray:
    """Return the first group of a regular expression in every key; null where it is not found.

    Raises:
        CallError: the expression cannot be compiled, has no group, or is found in no key.
    """
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
    return CallError(f"--group-by {pattern!r} is found in none of the {num_keys} keys, such as {example!r}")


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile the regular expression of `--group-by`.

    Raises:
        CallError: it cannot be compiled or has no group.
    """
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        msg = f"--group-by {pattern!r} is no column of the source, nor a regular expression: {error}"
        raise CallError(msg) from None
    if not compiled.groups:
        msg = f"--group-by {pattern!r} is no column of the source, and as a regular expression over keys has no (group)"
        raise CallError(msg)
    return compiled


def _blocks(column: pa.ChunkedArray) -> Iterator[list[str]]:
    return (column.slice(start, COLUMN_BLOCK).to_pylist() for start in range(0, len(column), COLUMN_BLOCK))


def group_codes(groups: pa.ChunkedArray) -> _Ints:
    """int64[n], the number of every example's group, by first appearance; -1 for none."""
    encoded = groups.dictionary_encode().unify_dictionaries()
    codes = [pc.fill_null(chunk.indices, -1).to_numpy().astype(np.int64) for chunk in encoded.chunks]
    return np.concatenate(codes) if codes else np.zeros(0, np.int64)


def digest_words(contents: pa.ChunkedArray) -> npt.NDArray[np.uint64]:
    """Return sha256 digests, none null, as uint64[n, DIGEST_WORDS]."""
    return np.concatenate([np.zeros((0, DIGEST_WORDS), np.uint64), *map(_words, contents.chunks)])


def digest_prefixes(contents: pa.ChunkedArray | Gathered) -> npt.NDArray[np.uint64]:
    """Return uint64[n], the first word of sha256 digests, none null."""
    prefixes = np.empty(len(contents), np.uint64)
    for start in range(0, len(contents), COLUMN_BLOCK):
        words = digest_words(contents.slice(start, COLUMN_BLOCK))
        prefixes[start : start + len(words)] = words[:, 0]
    return prefixes


def _words(chunk: pa.FixedSizeBinaryArray) -> npt.NDArray[np.uint64]:
    if not len(chunk):
        return np.zeros((0, DIGEST_WORDS), np.uint64)
    words: npt.NDArray[np.uint64] = np.frombuffer(chunk.buffers()[1], "<u8").reshape(-1, DIGEST_WORDS)
    return words[chunk.offset : chunk.offset + len(chunk)]


def duplicate_codes(contents: pa.ChunkedArray | Gathered) -> _Ints:
    """Return int64[n], the number of every set of equal contents, by first row; -1 where a content is the only one.

    Args:
        contents: sha256 digests, none null.
    """
    return repeated_codes(digest_prefixes(contents), lambda rows: digest_words(contents.take(rows)))


def repeated_codes(prefixes: npt.NDArray[np.uint64], digests_of: Callable[[_Ints], npt.NDArray[np.uint64]]) -> _Ints:
    """Return what `duplicate_codes` does, without holding all digests.

    The first 64 bits of the digests sort out nearly all rows in a quarter of the memory; the few that share them with
    another row are compared whole.

    Args:
        prefixes: uint64[n], first word of every digest.
        digests_of: Returns the whole digests of some rows, ascending, as `digest_words` does.
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
    """Rows whose value another row has too, ascending."""
    ordered = np.sort(values)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    del ordered
    found = [np.zeros(0, np.int64)]
    for start in range(0, len(values) if len(repeated) else 0, COLUMN_BLOCK):
        block = values[start : start + COLUMN_BLOCK]
        at = np.minimum(np.searchsorted(repeated, block), len(repeated) - 1)
        found.append(np.flatnonzero(repeated[at] == block) + start)
    return np.concatenate(found)


def units_of(groups: _Ints, duplicates: _Ints) -> _Ints:
    """int64[n], connected components of examples that share a group or a content; -1 where an example shares neither.

    Args:
        groups: see group_codes.
        duplicates: see duplicate_codes.
    """
    num_groups = int(groups.max(initial=-1)) + 1
    units = np.where(groups >= 0, groups, np.where(duplicates >= 0, duplicates + num_groups, -1))
    tied = (groups >= 0) & (duplicates >= 0)
    pairs = np.unique(np.stack([groups[tied], duplicates[tied] + num_groups], axis=1), axis=0)
    if not len(pairs):
        return units
    # Union by the smaller number, with path halving (Tarjan): only duplicates that have a group come here.
    parent = list(range(num_groups + int(duplicates.max()) + 1))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for group, duplicate in pairs.tolist():
        one, other = sorted((root(group), root(duplicate)))
        parent[other] = one
    roots = np.array([root(node) for node in range(len(parent))], np.int64)
    return np.where(units >= 0, roots[units], -1)


def unit_hashes(
    units: _Ints | None,
    tokens: pa.ChunkedArray | Gathered,
    groups: pa.ChunkedArray | None,
    *,
    seed: int,
) -> npt.NDArray[np.uint64]:
    """uint64[n], the hash that decides an example's split, the same for all of a unit.

    That of its group, else of its token. Where a duplicate ties several groups together, or groups and examples
    without one, the least hash of the groups counts: so an old example changes its split only when a new one ties its
    unit to another.

    Args:
        units: see units_of; None where every example is alone.
        tokens: contents where they are known, else keys.
        groups: names; None where there are none.
        seed: of the conversion.
    """
    hashes = hash64_column(tokens, seed=seed, purpose="split")
    if groups is None or units is None:
        return hashes  # equal contents have equal hashes
    named = groups.is_valid().to_numpy()
    hashes[named] = hash64_column(groups.drop_null(), seed=seed, purpose="split")
    least = np.full(int(units.max(initial=-1)) + 1, np.iinfo(np.uint64).max, np.uint64)
    np.minimum.at(least, units[named], hashes[named])
    anyhow = least.copy()
    np.minimum.at(anyhow, units[units >= 0], hashes[units >= 0])
    has_group = np.zeros(len(least), np.bool_)
    has_group[units[named]] = True
    of_unit = np.where(has_group, least, anyhow)
    hashes[units >= 0] = of_unit[units[units >= 0]]
    return hashes


def straddling(codes: _Ints, split_of: npt.NDArray[np.int32]) -> _Ints:
    """Numbers of the groups, or sets of duplicates, that stand in more than one split."""
    some = codes >= 0
    least = np.full(int(codes.max(initial=-1)) + 1, np.iinfo(np.int32).max, np.int32)
    most = np.full(len(least), -1, np.int32)
    np.minimum.at(least, codes[some], split_of[some])
    np.maximum.at(most, codes[some], split_of[some])
    return np.flatnonzero(most > least)
