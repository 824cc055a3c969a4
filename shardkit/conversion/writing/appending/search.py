"""Search the dataset that images are appended to: what its examples have that new ones have, or are near to."""

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


class DatasetSearch:
    """Searches the dataset's indexes for what the new examples have, one index at a time."""

    def __init__(self, good: Rows, options: ConvertOptions) -> None:
        self._good, self._contents = good, good.lazy_column("content_sha256")
        hashes = hash64_column(good.lazy_column("key"), seed=0, purpose="key").view(np.int64)
        self._key_hashes = np.sort(hashes)  # int64[n]
        # uint64[n], sorted first words of the new contents; empty if they are not known
        known = contents_known(good)
        self._prefixes = np.sort(grouping.digest_prefixes(self._contents) if known else np.zeros(0, np.uint64))
        groups = groups_of(good, options)
        names = pa.array([], pa.string()) if groups is None else pc.unique(groups).drop_null().cast(pa.string())
        if options.splits.block is not None:
            names = pa.array([near for name in names.to_pylist() for near in (name, *neighbours(name))], pa.string())
        self._wanted_groups = names  # groups of the new examples, and the blocks next to them
        # The rule that found them in keys, if one did: it finds those of old examples without a group too.
        group_by = options.splits.group_by or ""
        self._rules = [GroupRule(group_by, options.splits.block)] if has_group(group_by) else []
        self.found: list[pa.Table] = []  # what the dataset has of these, with EARLIER_SCHEMA
        self._counts_near = counts_near(options) and known
        self._compares_pixels = compares_pixels(options, good.column_names)
        # Of the old images with a perceptual hash, index by index: the name of the split, the hashes, uint64[n, 2], the
        # first words of the contents' sha256, uint64[n], and where the images are, as rows of a source.
        self._splits, self._places = list[str](), list[pa.Table]()
        self._hashes, self._old_prefixes = list[npt.NDArray[np.uint64]](), list[npt.NDArray[np.uint64]]()

    def add(self, split: str, path: str, index: pa.Table, *, has_sizes: bool) -> None:
        """Search an index.

        Without `has_sizes`, only the sizes of images that nothing changed are those of raw files.
        """
        groups = filled_groups(index, self._rules) if len(self._wanted_groups) else index["group"]
        in_group = np.flatnonzero(pc.is_in(groups, self._wanted_groups).to_numpy(zero_copy_only=False))
        _, first = np.unique(groups.take(pa.array(in_group)).to_numpy(zero_copy_only=False), return_index=True)
        same_key = _found(index["key_hash"].to_numpy(), self._key_hashes)
        same_content = _found(grouping.digest_prefixes(index["content_sha256"]), self._prefixes)
        rows = np.unique(np.concatenate((same_key, same_content, in_group[first])))
        if len(rows):
            is_raw = True if has_sizes else pc.equal(index["changes"].cast(pa.string()), "")
            sizes = pc.if_else(is_raw, index["source_bytes"], None)
            columns = {"split": pa.repeat(split, len(index)), "source_bytes": sizes, "group": groups}
            table = pa.table({name: columns[name] if name in columns else index[name] for name in EARLIER_SCHEMA.names})
            self.found.append(table.take(pa.array(rows)).cast(EARLIER_SCHEMA))
        known, words = hash_words(index[PERCEPTUAL_HASH.name])
        if self._counts_near and len(known):
            old = index.take(pa.array(known))
            self._splits.append(split)
            self._hashes.append(words)
            self._old_prefixes.append(grouping.digest_prefixes(old["content_sha256"]))
            if self._compares_pixels:
                start = pc.add(pc.add(old["offset"], HEADER_BYTES), old["image_start"])
                place = {"key": pa.repeat(path, len(old)), OFFSET.name: start, "source_bytes": old["image_bytes"]}
                self._places.append(pa.table(place))

    def near(self, root: Folder, thumbnails: Thumbnails | None) -> tuple[dict[bytes, set[str]], frozenset[bytes]]:
        """Return the contents of new images that are near-identical to old ones, with the splits of these, and copies.

        Copies are images whose pixels are those of an old one.
        """
        if not self._hashes:
            return {}, frozenset()
        rows, hashes = first_hashes(self._good, grouping.duplicate_codes(self._contents))
        prefixes, old_hashes = np.concatenate(self._old_prefixes), np.concatenate(self._hashes)
        is_new = ~np.isin(grouping.digest_prefixes(self._contents)[rows], prefixes)
        rows, hashes = rows[is_new], hashes[is_new]
        # A content of several old examples is one image, and has the splits of all.
        _, first, number_of = np.unique(prefixes, return_index=True, return_inverse=True)
        codes = similar_sets(np.concatenate((hashes, old_hashes[first]))).codes
        new_codes, old_codes = codes[: len(rows)], codes[len(rows) :][number_of]
        split_of = np.repeat(np.arange(len(self._splits)), [len(words) for words in self._hashes])
        splits_of: dict[int, set[str]] = {}
        for at in np.flatnonzero(np.isin(old_codes, new_codes[new_codes >= 0])).tolist():
            splits_of.setdefault(int(old_codes[at]), set()).add(self._splits[split_of[at]])
        near = [at for at, code in enumerate(new_codes.tolist()) if code in splits_of]
        found = self._contents.take(rows[near]).to_pylist()
        splits = {content: splits_of[int(new_codes[at])] for content, at in zip(found, near, strict=True)}
        if thumbnails is None or not self._compares_pixels:
            return splits, frozenset()
        pictures = thumbnails.of(self._good.take(rows[near]))
        places, of_dataset, copies = pa.concat_tables(self._places), Thumbnails(root), set[bytes]()
        for at, content, picture in zip(near, found, pictures, strict=True):
            old = np.flatnonzero(old_codes == new_codes[at])
            close = old[distances(old_hashes[old], hashes[at]) <= RADIUS]
            if any(show_copies(one, picture) for one in of_dataset.of(places.take(pa.array(close)))):
                copies.add(content)
        return splits, frozenset(copies)


def _found(values: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Return the rows whose value is among sorted ones."""
    if not len(wanted):
        return np.zeros(0, np.intp)
    at = np.minimum(np.searchsorted(wanted, values), len(wanted) - 1)
    return np.flatnonzero(wanted[at] == values)
