"""Find the near-identical images of a source, which must share a split, and drop all but the first on request."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shardkit.conversion.inventory.columns import MASK_PATH, OBJECTS
from shardkit.conversion.inventory.parts import Thumbnails
from shardkit.conversion.planning.earlier_examples import EarlierExamples, reject_rows, rows_with
from shardkit.conversion.planning.rows import LazyColumn, Rows
from shardkit.conversion.planning.splits.grouping import without_singles
from shardkit.dataset.index.perceptual_hashes import hash_words
from shardkit.hashing import COLUMN_BLOCK
from shardkit.images.similar.near_pairs import RADIUS, distances
from shardkit.images.similar.similar_sets import similar_sets
from shardkit.images.thumbnails import are_copies
from shardkit.options.groups import ConvertOptions
from shardkit.sources.columns import CONTENT_SHA256, PERCEPTUAL_HASH

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NearDuplicates:
    """The near-identical images among the rows of an inventory."""

    # int64[number of rows of the inventory], the set of each image; -1 for one without a near copy. Images with the
    # same bytes as an earlier one have none: their duplicates tell.
    codes: _Ints
    num_alike: int  # number of images that look alike by nature, see `similar_sets`
    is_by_nature: bool  # whether these are so many that there are no sets

    def codes_of(self, good: Rows) -> _Ints:
        """Return int64[n], the set of each of some rows; -1 also for one whose copies are not among them."""
        return without_singles(self.codes if good.numbers is None else self.codes[good.numbers])


def counts_near(options: ConvertOptions) -> bool:
    """Return whether near-identical images share a split, or are dropped."""
    return options.dedupe in {"group", "drop"}


def compares_pixels(options: ConvertOptions, columns: Iterable[str]) -> bool:
    """Return whether images with these columns are compared in pixels before one is dropped.

    Boxes and masks are of one image and not of its copies, so there nothing is dropped.
    """
    return options.dedupe == "drop" and not {OBJECTS, MASK_PATH} & set(columns)


def find_near_duplicates(good: Rows, duplicate_codes: _Ints | None, options: ConvertOptions) -> NearDuplicates | None:
    """Find the near-identical images.

    Return None if the options count no near-identical images, or no image has a perceptual hash.
    """
    if not counts_near(options) or duplicate_codes is None:
        return None
    rows, hashes = first_hashes(good, duplicate_codes)
    if len(rows) < 2:
        return None
    found = similar_sets(hashes)
    codes = np.full(len(good.table), -1, np.int64)
    codes[rows if good.numbers is None else good.numbers[rows]] = found.codes
    return NearDuplicates(codes, found.num_alike, found.is_by_nature)


def first_hashes(good: Rows, duplicate_codes: _Ints) -> tuple[_Ints, npt.NDArray[np.uint64]]:
    """Return the first row of each content that has a perceptual hash, and the hashes, uint64[n, 2]."""
    is_first = duplicate_codes < 0
    repeated = np.flatnonzero(~is_first)
    is_first[repeated[np.unique(duplicate_codes[repeated], return_index=True)[1]]] = True
    return known_hashes(good.lazy_column(PERCEPTUAL_HASH.name), np.flatnonzero(is_first))


def known_hashes(column: LazyColumn, rows: _Ints) -> tuple[_Ints, npt.NDArray[np.uint64]]:
    """Return those of some rows that have a perceptual hash, and the hashes, uint64[n, 2]."""
    known, words = [np.zeros(0, np.int64)], [np.zeros((0, 2), np.uint64)]
    for start in range(0, len(rows), COLUMN_BLOCK):
        block = rows[start : start + COLUMN_BLOCK]
        at, found = hash_words(column.take(block))
        known.append(block[at])
        words.append(found)
    return np.concatenate(known), np.concatenate(words)


def drop_near_duplicates(
    good: Rows,
    rejected: pa.Table,
    near: NearDuplicates | None,
    earlier: EarlierExamples | None,
    thumbnails: Thumbnails,
) -> tuple[Rows, pa.Table]:
    """Keep the first key of near-identical images and reject the others; reject those that are near an old image, too.

    An image whose pixels differ from those of all that are kept is kept, and shares their split.

    Return the rows that are left, and all rejected rows, sorted by key.
    """
    messages = {}
    if earlier is not None and earlier.copies:
        for row in rows_with(good["content_sha256"], earlier.copies).tolist():
            messages[row] = "it is nearly identical to an image of the dataset"
    if near is not None:
        keys = good.lazy_column("key")
        for row, kept in _near_a_kept_one(good, near, sorted(messages), thumbnails).items():
            messages[row] = f"it is nearly identical to {keys.take(np.array([kept]))[0].as_py()}"
    return reject_rows(good, rejected, messages)


def _near_a_kept_one(
    good: Rows, near: NearDuplicates, dropped: Sequence[int], thumbnails: Thumbnails
) -> dict[int, int]:
    """Return the rows to drop, each with the earlier row that it is near to.

    None is kept for the rows in `dropped`.
    """
    codes = near.codes_of(good)
    codes[np.array(dropped, np.int64)] = -1
    rows = np.flatnonzero(codes >= 0)
    rows = rows[np.argsort(codes[rows], kind="stable")]
    hashes = known_hashes(good.lazy_column(PERCEPTUAL_HASH.name), rows)[1]
    contents = good.lazy_column(CONTENT_SHA256.name).take(rows).to_pylist()
    picture_of = thumbnails.of(contents)
    pictures = dict(zip(rows.tolist(), map(picture_of.get, contents), strict=True))
    starts = np.flatnonzero(np.diff(codes[rows], prepend=-1))
    found = {}
    for some, of_some in zip(np.split(rows, starts[1:]), np.split(hashes, starts[1:]), strict=True):
        kept: list[int] = []
        for at, row in enumerate(some.tolist()):
            close = np.flatnonzero(distances(of_some[kept], of_some[at]) <= RADIUS)
            copied = next((i for i in close.tolist() if _are_copies(pictures[int(some[kept[i]])], pictures[row])), None)
            if copied is None:
                kept.append(at)
            else:
                found[row] = int(some[kept[copied]])
    return found


def _are_copies(one: bytes | None, other: bytes | None) -> bool:
    """Return whether two pictures are of copies; an image without one is kept."""
    return one is not None and other is not None and are_copies(one, other)
