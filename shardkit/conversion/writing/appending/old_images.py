"""The perceptual hashes of the dataset that images are appended to: which of its images are near to new ones."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shardkit import images
from shardkit.conversion.inventory.parts import Thumbnails
from shardkit.conversion.planning.duplicates import counts_near, first_hashes
from shardkit.conversion.planning.rows import Rows
from shardkit.conversion.planning.splits import grouping
from shardkit.conversion.planning.splits.assign_splits import contents_known
from shardkit.dataset.index.perceptual_hashes import hash_words
from shardkit.dataset.index.shards import shard_errors
from shardkit.dataset.tfrecord import HEADER_BYTES
from shardkit.images.similar.near_pairs import RADIUS, distances
from shardkit.images.similar.similar_sets import similar_sets
from shardkit.images.thumbnails import are_copies
from shardkit.options.groups import ConvertOptions
from shardkit.sources.columns import PERCEPTUAL_HASH
from shardkit.storage import Folder

PLACE = ["offset", "image_start", "image_bytes"]


@dataclass(frozen=True, slots=True)
class OldImages:
    """The hashes of the dataset's examples that have one, index by index."""

    compares_pixels: bool = False  # whether the old images are decoded that are near to new ones
    hashes: list[npt.NDArray[np.uint64]] = field(default_factory=list)  # uint64[n, 2] of each index
    # uint64[n], the first words of the contents' sha256.
    prefixes: list[npt.NDArray[np.uint64]] = field(default_factory=list)
    splits: list[str] = field(default_factory=list)  # name of the split of each index
    # Path of the shard, and the columns `PLACE` of the index, of each index.
    places: list[tuple[str, pa.Table]] = field(default_factory=list)

    def add(self, split: str, path: str, index: pa.Table) -> None:
        """Add the examples of a shard's index, which has the columns of contents and perceptual hashes and `PLACE`."""
        known, words = hash_words(index[PERCEPTUAL_HASH.name])
        if len(known):
            self.hashes.append(words)
            self.prefixes.append(grouping.digest_prefixes(index["content_sha256"].take(pa.array(known))))
            self.splits.append(split)
            if self.compares_pixels:
                self.places.append((path, index.select(PLACE).take(pa.array(known))))

    def near(
        self, good: Rows, options: ConvertOptions, root: Folder, thumbnails: Thumbnails | None
    ) -> tuple[dict[bytes, set[str]], frozenset[bytes]]:
        """Return the contents of new images that are near-identical to old ones, with the splits of these, and copies.

        Copies are images whose pixels are those of an old one.
        """
        if not counts_near(options) or not contents_known(good) or not self.hashes:
            return {}, frozenset()
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
        splits = {content: splits_of[int(new_codes[at])] for content, at in zip(found, near, strict=True)}
        if thumbnails is None or not self.compares_pixels:
            return splits, frozenset()
        picture_of = thumbnails.of(found)
        old_hashes = np.concatenate(self.hashes)
        copies = set[bytes]()
        for at, content in zip(near, found, strict=True):
            old = np.flatnonzero(old_codes == new_codes[at])
            close = old[distances(old_hashes[old], hashes[at]) <= RADIUS].tolist()
            picture = picture_of.get(content)
            if picture is not None and any(are_copies(self._thumbnail(one, root), picture) for one in close):
                copies.add(content)
        return splits, frozenset(copies)

    def _thumbnail(self, number: int, root: Folder) -> bytes:
        """Decode an old image, given its number among the hashes."""
        ends = np.cumsum([len(words) for words in self.hashes])
        at = int(np.searchsorted(ends, number, side="right"))
        path, places = self.places[at]
        (row,) = places.slice(number - int(ends[at]) + len(self.hashes[at]), 1).to_pylist()
        start = row["offset"] + HEADER_BYTES + row["image_start"]
        with shard_errors(root, path):
            data = bytes(root.read_range(path, start, row["image_bytes"]))
        return images.thumbnail(data, images.inspect(data))
