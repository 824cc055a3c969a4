"""Search the dataset that images are appended to: what its examples have that new ones have, or are near to."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.inventory.source_files import Thumbnails
from shardkit.conversion.planning.duplicates import compares_pixels, counts_near, first_hashes, show_copies
from shardkit.conversion.planning.earlier_examples import EARLIER_SCHEMA
from shardkit.conversion.planning.rows import Rows
from shardkit.conversion.planning.splits import grouping
from shardkit.conversion.planning.splits.assign_splits import contents_known, groups_of, neighbours
from shardkit.dataset.index.groups import GroupRule, filled_groups, has_group
from shardkit.dataset.index.perceptual_hashes import hash_words
from shardkit.dataset.tfrecord import HEADER_BYTES
from shardkit.hashing import hash64_column
from shardkit.images.similar.near_pairs import RADIUS, distances
from shardkit.images.similar.similar_sets import similar_sets
from shardkit.options.groups import ConvertOptions
from shardkit.sources.columns import OFFSET, PERCEPTUAL_HASH
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
    places: list[pa.Table] = field(default_factory=list)  # where the images of each index are, as rows of a source

    def add(self, split: str, path: str, index: pa.Table) -> None:
        """Add the examples of a shard's index, which has the columns of contents and perceptual hashes and `PLACE`."""
        known, words = hash_words(index[PERCEPTUAL_HASH.name])
        if len(known):
            rows = index.take(pa.array(known))
            self.hashes.append(words)
            self.prefixes.append(grouping.digest_prefixes(rows["content_sha256"]))
            self.splits.append(split)
            if self.compares_pixels:
                start = pc.add(pc.add(rows["offset"], HEADER_BYTES), rows["image_start"])
                place = {"key": pa.repeat(path, len(rows)), OFFSET.name: start, "source_bytes": rows["image_bytes"]}
                self.places.append(pa.table(place))

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
        pictures = thumbnails.of(good.take(rows[near]))
        old_hashes, places, of_dataset = np.concatenate(self.hashes), pa.concat_tables(self.places), Thumbnails(root)
        copies = set[bytes]()
        for at, content, picture in zip(near, found, pictures, strict=True):
            old = np.flatnonzero(old_codes == new_codes[at])
            close = old[distances(old_hashes[old], hashes[at]) <= RADIUS]
            if any(show_copies(one, picture) for one in of_dataset.of(places.take(pa.array(close)))):
                copies.add(content)
        return splits, frozenset(copies)


@dataclass(frozen=True, slots=True)
class DatasetSearch:
    """Searches the dataset's indexes for what the new examples have, one index at a time."""

    key_hashes: npt.NDArray[np.int64]  # int64[n], sorted hashes of the new keys
    prefixes: npt.NDArray[np.uint64]  # uint64[n], sorted first words of the new contents; empty if they are not known
    wanted_groups: pa.Array  # groups of the new examples, and the blocks next to them
    # The rule that found them in keys, if one did: it finds those of old examples without a group too.
    rules: list[GroupRule]
    old_images: OldImages  # the perceptual hashes of the dataset
    found: list[pa.Table] = field(default_factory=list)  # what the dataset has of these, with EARLIER_SCHEMA

    @classmethod
    def of(cls, good: Rows, options: ConvertOptions) -> "DatasetSearch":
        hashes = hash64_column(good.lazy_column("key"), seed=0, purpose="key").view(np.int64)
        contents = good.lazy_column("content_sha256")
        prefixes = grouping.digest_prefixes(contents) if contents_known(good) else np.zeros(0, np.uint64)
        groups = groups_of(good, options)
        names = pa.array([], pa.string()) if groups is None else pc.unique(groups).drop_null().cast(pa.string())
        if options.splits.block is not None:
            names = pa.array([near for name in names.to_pylist() for near in (name, *neighbours(name))], pa.string())
        rules = (
            [GroupRule(options.splits.group_by or "", options.splits.block)]
            if has_group(options.splits.group_by or "")
            else []
        )
        old_images = OldImages(compares_pixels(options, good.column_names))
        return cls(np.sort(hashes), np.sort(prefixes), names, rules, old_images)

    def add(self, split: str, path: str, index: pa.Table, *, has_sizes: bool) -> None:
        """Search an index.

        Without `has_sizes`, only the sizes of images that nothing changed are those of raw files.
        """
        groups = filled_groups(index, self.rules) if len(self.wanted_groups) else index["group"]
        in_group = np.flatnonzero(pc.is_in(groups, self.wanted_groups).to_numpy(zero_copy_only=False))
        _, first = np.unique(groups.take(pa.array(in_group)).to_numpy(zero_copy_only=False), return_index=True)
        same_key = _found(index["key_hash"].to_numpy(), self.key_hashes)
        same_content = _found(grouping.digest_prefixes(index["content_sha256"]), self.prefixes)
        rows = np.unique(np.concatenate((same_key, same_content, in_group[first])))
        if len(rows):
            is_raw = True if has_sizes else pc.equal(index["changes"].cast(pa.string()), "")
            sizes = pc.if_else(is_raw, index["source_bytes"], None)
            columns = {"split": pa.repeat(split, len(index)), "source_bytes": sizes, "group": groups}
            table = pa.table({name: columns[name] if name in columns else index[name] for name in EARLIER_SCHEMA.names})
            self.found.append(table.take(pa.array(rows)).cast(EARLIER_SCHEMA))
        self.old_images.add(split, path, index)


def _found(values: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Return the rows whose value is among sorted ones."""
    if not len(wanted):
        return np.zeros(0, np.intp)
    at = np.minimum(np.searchsorted(wanted, values), len(wanted) - 1)
    return np.flatnonzero(wanted[at] == values)
