"""The perceptual hashes of the dataset that images are appended to: which of its splits have near-identical images."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shardkit.conversion.planning.near_duplicates import counts_near, first_hashes
from shardkit.conversion.planning.options import ConvertOptions
from shardkit.conversion.planning.rows import Rows
from shardkit.conversion.planning.splits import grouping
from shardkit.conversion.planning.splits.assign_splits import contents_known
from shardkit.dataset.index.perceptual_hashes import hash_words
from shardkit.images.similar.similar_sets import similar_sets
from shardkit.sources.columns import PERCEPTUAL_HASH


@dataclass(frozen=True, slots=True)
class OldImages:
    """The hashes of the dataset's examples that have one, index by index.

    Attributes:
        hashes: uint64[n, 2] of each index.
        prefixes: uint64[n], the first words of the contents' sha256.
        splits: Name of the split of each index.
    """

    hashes: list[npt.NDArray[np.uint64]] = field(default_factory=list)
    prefixes: list[npt.NDArray[np.uint64]] = field(default_factory=list)
    splits: list[str] = field(default_factory=list)

    def add(self, split: str, index: pa.Table) -> None:
        """Add the examples of an index, which has the columns of contents and perceptual hashes."""
        known, words = hash_words(index[PERCEPTUAL_HASH.name])
        if len(known):
            self.hashes.append(words)
            self.prefixes.append(grouping.digest_prefixes(index["content_sha256"].take(pa.array(known))))
            self.splits.append(split)

    def splits_near(self, good: Rows, options: ConvertOptions) -> dict[bytes, set[str]]:
        """Return the contents of new images that are nearly identical to old ones, with the splits of these.

        Args:
            good: The rows of the new images.
            options: Options of the conversion.
        """
        if not counts_near(options) or not contents_known(good) or not self.hashes:
            return {}
        contents = good.lazy_column("content_sha256")
        rows, hashes = first_hashes(good, grouping.duplicate_codes(contents))
        prefixes = np.concatenate(self.prefixes)
        is_new = ~np.isin(grouping.digest_prefixes(contents)[rows], prefixes)
        rows, hashes = rows[is_new], hashes[is_new]
        # A content of several old examples is one image, and has the splits of all.
        _, first, number_of = np.unique(prefixes, return_index=True, return_inverse=True)
        codes = similar_sets(np.concatenate((hashes, np.concatenate(self.hashes)[first]))).codes
        new_codes, old_codes = codes[: len(rows)], codes[len(rows) :][number_of]
        split_of = np.repeat(np.arange(len(self.splits)), [len(words) for words in self.hashes])
        splits_of: dict[int, set[str]] = {}
        for at in np.flatnonzero(np.isin(old_codes, new_codes[new_codes >= 0])).tolist():
            splits_of.setdefault(int(old_codes[at]), set()).add(self.splits[split_of[at]])
        near = [at for at, code in enumerate(new_codes.tolist()) if code in splits_of]
        found = contents.take(rows[near]).to_pylist()
        return {content: splits_of[int(new_codes[at])] for content, at in zip(found, near, strict=True)}
