"""A dataset as the subject of a report: its indexes, and records of chosen examples."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.planning.checks.finding import Finding
from shardkit.conversion.planning.rules import options_text
from shardkit.conversion.planning.splits.grouping import digest_prefixes
from shardkit.dataset.features import NO_LABEL
from shardkit.dataset.index.perceptual_hashes import hash_words
from shardkit.dataset.index.shards import parse_columns, read_columns, read_indexes, shard_errors
from shardkit.dataset.manifest import Manifest, Shard
from shardkit.dataset.manifest.parts import GenerationSplit
from shardkit.dataset.rejected_list import read_rejected
from shardkit.dataset.tfrecord import HEADER_BYTES as FRAME_HEADER_BYTES
from shardkit.errors import DataError
from shardkit.options.groups import ConvertOptions
from shardkit.options.words import shell_command
from shardkit.records.example import Example, read_example
from shardkit.records.rejected_pictures import opened_file
from shardkit.report.collection import (
    HEADER_BYTES,
    Batch,
    Header,
    Member,
    Numbers,
    Origin,
    Picture,
    Rejects,
    Split,
)
from shardkit.report.columns import counts_of, first_rejected, group_hashes
from shardkit.statistics.indexes import annotations_location, read_annotations
from shardkit.statistics.repeated import labels_of
from shardkit.storage import Folder
from shardkit.storage.concurrent_reads import read_many

if TYPE_CHECKING:
    from PIL.Image import Image

_COLUMNS = [
    *("key_hash", "label", "labels", "width", "height", "image_bytes", "content_sha256", "perceptual_hash", "format"),
    "changes",
]
_LOCATING = ["key", "offset", "length", "image_start", "image_bytes", "width", "height", "label", "labels"]


class _Row(NamedTuple):
    """The place of an example."""

    shard: Shard
    split: str
    record: int
    key: str
    offset: int
    length: int
    image_start: int
    image_bytes: int
    width: int
    height: int
    label: int | None
    labels: list[int] | None


class DatasetCollection:
    """A dataset; see Collection."""

    is_dataset = True
    findings: Sequence[Finding] = ()

    def __init__(self, manifest: Manifest, source: Folder | None = None) -> None:
        """Describe a dataset.

        Args:
            manifest: The manifest, read from the dataset's folder.
            source: The folder that the dataset was made from, for pictures of rejected files; None if it is not known.
        """
        self._manifest, self._source = manifest, source
        self.title, self.place = title_of(manifest.name, manifest.root.url), manifest.root.url
        self.classes, self.features = manifest.classes, manifest.features
        self.splits = [
            Split(
                name,
                np.array(split.class_counts, np.int64),
                np.array([shard.num_examples for shard in split.shards], np.int64),
                np.array([shard.num_bytes for shard in split.shards], np.int64),
                split.num_bytes,
                split.balance,
                parts_of(manifest, name),
                split.num_unlabelled,
            )
            for name, split in manifest.splits.items()
        ]
        self._shards = [*manifest.shards()]
        self._starts = np.concatenate(([0], np.cumsum([shard.num_examples for _, shard in self._shards]))).astype(int)
        self.origin = _origin(manifest)

    def batches(self) -> Iterator[Batch]:
        """Yield one batch for each index."""
        root, names = self._manifest.root, [split.name for split in self.splits]
        has_groups = self._manifest.source.groups is not None
        columns = [*_COLUMNS, *(["group"] if has_groups else [])]
        indexes = read_indexes(root, [shard for _, shard in self._shards])
        for (split, shard), start, raw in zip(self._shards, self._starts.tolist(), indexes, strict=False):
            table = parse_columns(root, shard, raw, columns)
            yield _batch(table, names.index(split), start, has_groups=has_groups)

    def _rows(self, numbers: Numbers) -> list[_Row]:
        """Return the places of examples, in the order of the numbers. Each index is read once."""
        found: dict[int, _Row] = {}
        shard_of = np.searchsorted(self._starts, numbers, side="right") - 1
        for at in np.unique(shard_of).tolist():
            split, shard = self._shards[at]
            table = read_columns(self._manifest.root, shard, _LOCATING)
            records = np.unique(numbers[shard_of == at] - self._starts[at])
            for record, row in zip(records.tolist(), table.take(pa.array(records)).to_pylist(), strict=True):
                found[int(self._starts[at]) + record] = _Row(shard, split, record, **row)
        return [found[number] for number in numbers.tolist()]

    def pictures(self, numbers: Numbers, side: int) -> Iterator[Picture]:
        """Yield examples as pictures; one that cannot be read says why."""

        def picture(row: _Row) -> Picture:
            try:
                found = read_example(self._manifest, row.shard, row.record, row.offset, row.length, row.key)
                drawn = found.drawn(side)
            except DataError as error:
                return Picture(row.key, row.split, "", (row.width, row.height), None, str(error))
            return Picture(row.key, row.split, _labels_text(found), (row.width, row.height), drawn)

        yield from read_many(picture, self._rows(numbers))

    def numbers_of(self, keys: Sequence[str]) -> dict[str, int]:
        """Return the number of the example of each key that there is."""
        found: dict[str, int] = {}
        wanted = pa.array(keys, pa.string())
        indexes = read_indexes(self._manifest.root, [shard for _, shard in self._shards]) if keys else ()
        for (_, shard), start, raw in zip(self._shards, self._starts.tolist(), indexes, strict=False):
            column = parse_columns(self._manifest.root, shard, raw, ["key"])["key"]
            at = pc.fill_null(pc.index_in(column, wanted), -1).to_numpy()
            rows = np.flatnonzero(at >= 0)
            found |= {keys[key]: start + row for key, row in zip(at[rows].tolist(), rows.tolist(), strict=True)}
        return found

    def members(self, numbers: Numbers) -> list[Member]:
        """Return the key, the split and the labels of examples, in the order of the numbers."""
        return [Member(row.key, row.split, self._labels(row)) for row in self._rows(numbers)]

    def _labels(self, row: _Row) -> tuple[str, ...]:
        labels = (row.labels or ()) if row.label is None else (row.label,)
        return tuple(dict.fromkeys(self.classes[label] for label in labels if label != NO_LABEL))

    def annotations(self, numbers: Numbers, feature: str) -> Iterator[dict[str, Any]]:
        """Yield the features behind the images of examples."""
        places = []
        for row in self._rows(numbers):
            behind, is_adopted = row.image_start + row.image_bytes, self._manifest.is_adopted
            places.append(annotations_location(row.shard.path, row.offset, row.length, behind, is_adopted=is_adopted))
        yield from read_annotations(self._manifest, places, feature)

    def headers(self, numbers: Numbers) -> Iterator[Header]:
        """Yield the headers of the encoded images of examples."""
        root = self._manifest.root

        def header(row: _Row) -> Header:
            start = row.offset + FRAME_HEADER_BYTES + row.image_start
            with shard_errors(root, row.shard.path):
                return Header(bytes(root.read_range(row.shard.path, start, min(HEADER_BYTES, row.image_bytes))))

        yield from read_many(header, self._rows(numbers))

    def rejects(self, per_reason: int) -> Rejects:
        """Return what the conversion rejected."""
        rejected = self._manifest.rejected
        if not rejected.num_examples:
            return Rejects({}, (), self._manifest.source.num_files)
        return Rejects(
            rejected.by_reason,
            first_rejected(read_rejected(self._manifest), per_reason),
            self._manifest.source.num_files,
        )

    def rejected_picture(self, key: str, side: int) -> "Image | None":
        """Return the picture of a rejected file, if the source is known."""
        return None if self._source is None else opened_file(self._source, key, side)


def title_of(name: str, place: str) -> str:
    """Return the title of a page: the name, or the last part of the place if nobody chose a name."""
    return place.rstrip("/").rpartition("/")[2] or place if name == ConvertOptions().name else name


def _labels_text(example: Example) -> str:
    return ", ".join(dict.fromkeys(example.label_names)) or ", ".join(f"{value:.6g}" for value in example.targets)


def _origin(manifest: Manifest) -> Origin:
    source, options = manifest.source, manifest.options
    rows = [
        ("Name", manifest.name),
        ("Layout of the source", source.layout),
        ("Files of the source", f"{source.num_files:,}"),
        ("Manifest digest", manifest.digest),
        ("Plan digest", manifest.plan_digest),
        ("Source fingerprint", source.fingerprint),
    ]
    return Origin(
        commands(manifest),
        rows,
        [*manifest.software.items()],
        hosts=options.get("pipelines", 1),
        split_by=options.get("split_by", "") if options.get("splits") else "own",
        skipped=source.skipped,
        num_groups=source.groups,
        num_duplicates=source.duplicates,
        num_gps=manifest.num_with_gps or None,  # 0: nobody counted, or there are none
        leaks_listing=shell_command("verify", manifest.root.url, leaks=True, json=True),
    )


def _batch(table: pa.Table, split: int, start: int, *, has_groups: bool) -> Batch:
    labels, num_labels = labels_of(table["label"], table["labels"])
    return Batch(
        split=split,
        start=start,
        key_hash=table["key_hash"].to_numpy(),
        labels=labels,
        num_labels=num_labels,
        width=table["width"].to_numpy(),
        height=table["height"].to_numpy(),
        image_bytes=table["image_bytes"].to_numpy(),
        contents=digest_prefixes(table["content_sha256"]),
        hashed=hash_words(table["perceptual_hash"]),
        groups=group_hashes(table["group"]) if has_groups else None,
        targets=None,
        formats=counts_of(table["format"]),
        changes=counts_of(table["changes"]),
    )


def parts_of(manifest: Manifest, split: str) -> list[tuple[str, GenerationSplit]]:
    """Return the folder of each generation, '' for the first, and its part of a split; nothing for a single one."""
    return [(one.folder or "", one.splits[split]) for one in manifest.generations if split in one.splits]


def commands(manifest: Manifest) -> str:
    """Return the commands that write such a dataset, one a line, with the options that are not the defaults."""
    if manifest.is_adopted:
        return "shardkit adopt FILES"
    lines = [f"shardkit convert SOURCE OUT {options_text(manifest.options)}"]
    for generation in manifest.history[1:]:
        changed = {name: value for name, value in generation.options.items() if manifest.options.get(name) != value}
        lines.append(f"shardkit append OUT SOURCE_{len(lines) + 1} {options_text(changed)}")
    return "\n".join(line.strip() for line in lines)
