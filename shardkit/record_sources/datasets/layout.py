"""A dataset that shardkit wrote, as a source: `shardkit convert OLD NEW` reads its records in place.

Everything that planning needs of an image is in the index of its shard, so nothing is decoded and, for images with one
class each, no record is read before it is written. Other annotations are in the records: these are read once more.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.archives.tar_members import buffered
from shardkit.dataset import example
from shardkit.dataset.conditions import CONDITION_COLUMNS, Condition
from shardkit.dataset.features import MASK, Feature
from shardkit.dataset.index.file import are_unlabelled
from shardkit.dataset.index.shards import read_columns
from shardkit.dataset.manifest import find_dataset
from shardkit.dataset.manifest.readopting import made_again
from shardkit.dataset.stored_names import names_in_records, with_own_names
from shardkit.dataset.tfrecord import OVERHEAD_BYTES, record_data
from shardkit.errors import RecordError, SourceChangedError
from shardkit.hashing import canonical_json, sha256_hex
from shardkit.layouts import LAYOUTS
from shardkit.options.words import convert_again, named
from shardkit.record_sources.datasets import columns
from shardkit.record_sources.datasets.members import DatasetPart, Member, shard_files
from shardkit.record_sources.datasets.removed import removed_from
from shardkit.record_sources.datasets.several import keys_of
from shardkit.reject_reasons import BAD_ANNOTATION, DAMAGED
from shardkit.sources.columns import (
    ANNOTATED_HEIGHT,
    ANNOTATED_WIDTH,
    CONTENT_SHA256,
    FORMAT,
    GROUP,
    HAS_GPS,
    IS_UNLABELLED,
    OFFSET,
    PATH,
    PERCEPTUAL_HASH,
)
from shardkit.sources.listing import Listing, Source
from shardkit.storage import Folder, open_folder, os_errors_as

_INDEX_COLUMNS = [
    *("offset", "length", "key", "label", "label_name", "labels", "height", "width", "format", "image_start"),
    *("image_bytes", "group", "source_bytes", "content_sha256", "perceptual_hash", "changes"),
]
# Kinds of skipped examples; they are stored in the manifest, so they are the same however the user calls.
REMOVED, LEFT_OUT = "removed by `drop`", "left out by `where`"  # see options.words.shown
REMOVED_BEFORE = "removed from one of the datasets before"


@dataclass(frozen=True, slots=True)
class ShardkitDataset(Source):
    """A dataset, or several datasets with the same features, as a source."""

    folder: Folder  # the dataset's, or one that all datasets are in
    members: tuple[Member, ...]
    features: dict[str, Feature]
    class_names: tuple[str, ...]  # in label order: the first dataset's, then the others' new ones
    shards: tuple[DatasetPart, ...]
    has_made_splits: bool  # by `splits`, or there is only "train": they may be divided anew
    keeps_splits: bool = True  # as they are listed
    keeps_groups: bool = True  # of the indexes
    where: str | None = None  # condition on the columns of the indexes; None for all examples
    new_labels: tuple[str, ...] = ()  # the labels of corrected examples; see RowChanges
    readmits: bool = False  # what one dataset has is taken from the others' lists of removed examples

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        with_adopted = any(member.is_adopted for member in self.members)
        return columns.listing_schema(
            self.features,
            with_groups=self.keeps_groups,
            with_adopted=with_adopted,
            with_unlabelled=any(member.has_unlabelled for member in self.members),
            where=self.folder.url,
        )

    @property
    def classes(self) -> tuple[str, ...] | None:
        """See Source; numbers of classes stay as they are."""
        return self.class_names or None

    @property
    def is_checked(self) -> bool:
        """See Source."""
        return all(member.has_decoded for member in self.members)

    @property
    def origin(self) -> str:
        """See Source."""
        return sha256_hex(canonical_json(["shardkit", *(member.digest for member in self.members)]))

    @property
    def removed_before(self) -> tuple[str, ...]:
        """See Source; read from the indexes of the shards that have such examples."""
        parts = [part for part in self.shards if part.changes.withdrawn]
        found = list[str]()
        for part, keys in zip(parts, keys_of(self.folder, parts, self.members), strict=True):
            rows = ~part.changes.kept(len(keys)) & ~part.changes.are_dropped(len(keys))
            found += keys.filter(pa.array(rows)).to_pylist()
        return tuple(sorted(found))

    layout = LAYOUTS["shardkit"].title

    def describe(self) -> str:
        """See Source."""
        counts: dict[str, int] = {}
        for part in self.shards:
            counts[part.split] = counts.get(part.split, 0) + part.shard.num_examples
        splits = ", ".join(f"{count:,} of {split}" for split, count in counts.items())
        urls = ", ".join(member.url for member in self.members)
        what = "a shardkit dataset" if len(self.members) == 1 else f"{len(self.members)} shardkit datasets"
        unchecked = [one.url for one in self.members if not (one.has_decoded or one.is_adopted)]
        note = (
            f"; images of {', '.join(unchecked)} are not decoded yet (made with {named('check', 'header')})"
            if unchecked
            else ""
        )
        adopted = [one.url for one in self.members if one.is_adopted]
        note += f"; records of {', '.join(adopted)} are adopted TFRecords" if adopted else ""
        return f"{urls}: read as {what} ({splits}){note}"

    def parts(self) -> list[DatasetPart]:
        """Return one part for each shard."""
        return list(self.shards)

    def undivided(self) -> Source:
        """See Source; splits that the first source had itself are kept."""
        return dataclasses.replace(self, keeps_splits=False) if self.has_made_splits else self

    def refuse_changed(self) -> None:
        """See Source."""
        for member in self.members:
            found = find_dataset(member.url)
            if found is None or member.digest not in {found.digest, *(one.previous for one in found.generations)}:
                msg = f"{member.url}: the dataset was replaced while it was read; {convert_again()}"
                raise SourceChangedError(msg)
        # An append changes none of the shards that are read.
        mtimes = {path: mtime_ns for path, _, mtime_ns in shard_files(self.folder, [one.shard for one in self.shards])}
        changed = next((one for one in self.shards if mtimes[one.shard.path] != one.mtime_ns), None)
        if changed is not None:
            where = f"{self.folder.url}/{changed.shard.path}"
            again = made_again(open_folder(self.members[changed.member].url))
            msg = f"{where}: the shard was written while it was read; {again}"
            raise SourceChangedError(msg)

    def withdrawn(self) -> pa.Table | None:
        """See Source."""
        return removed_from(self.folder, self.shards, self.members, readmits=self.readmits)

    def list_part(self, part: DatasetPart, batch_rows: int) -> Iterator[Listing]:
        """See Source; examples in the order of the shard."""
        index = self._corrected(part, read_columns(self.folder, part.shard, _INDEX_COLUMNS))
        kept = part.changes.kept(len(index))
        removed = part.changes.are_dropped(len(index))
        skipped = {
            REMOVED: int(np.count_nonzero(removed)),
            REMOVED_BEFORE: int(np.count_nonzero(~kept & ~removed)),
        }
        if self.where is not None:
            meeting = Condition(self.where).mask(index.select(CONDITION_COLUMNS)).to_numpy(zero_copy_only=False)
            skipped[LEFT_OUT] = int(np.count_nonzero(kept & ~meeting))
            kept &= meeting
        table = self._listed(part, index.filter(pa.array(kept)))
        last = Listing(self.schema, skipped={kind: count for kind, count in skipped.items() if count})
        if not columns.is_in_index(self.features):
            yield from self._with_annotations(part, table, batch_rows)
        else:
            for start in range(0, len(table), batch_rows):
                yield Listing(self.schema, columns=table.slice(start, batch_rows))
        if last.skipped:
            yield last

    def _corrected(self, part: DatasetPart, index: pa.Table) -> pa.Table:
        """Return an index whose texts are plain, and whose keys and labels are those of the whole source."""
        member = self.members[part.member]
        for name in ("label_name", "format", "changes"):
            at = index.schema.get_field_index(name)
            index = index.set_column(at, name, index[name].cast(pa.string()))
        if member.key_prefix:
            keys = pc.binary_join_element_wise(member.key_prefix, index["key"], "")
            index = index.set_column(index.schema.get_field_index("key"), "key", keys)
        if member.class_names != self.class_names[: len(member.class_names)]:
            index = self._renumbered(index, member)
        rows = list(part.changes.corrections())
        if not rows:
            return index
        names, labels = index["label_name"].to_pylist(), index["label"].to_pylist()
        number_of = {name: number for number, name in enumerate(self.class_names)}
        for row, label in rows:
            names[row] = self.new_labels[label]
            labels[row] = number_of.get(names[row])  # None for a class that only classes names
        for name, values in (("label_name", names), ("label", labels)):
            at = index.schema.get_field_index(name)
            index = index.set_column(at, name, pa.array(values, index.schema.field(at).type))
        return index

    def _renumbered(self, index: pa.Table, member: Member) -> pa.Table:
        """Return an index with the source's numbers of classes in place of its dataset's."""
        number_of = pa.array([self.class_names.index(name) for name in member.class_names], pa.int32())
        labels = _taken(number_of, index["label"])
        index = index.set_column(index.schema.get_field_index("label"), "label", labels)
        several = index["labels"].combine_chunks()
        values = _taken(number_of, several.values)
        renumbered = pa.ListArray.from_arrays(several.offsets, values, mask=several.is_null())
        return index.set_column(index.schema.get_field_index("labels"), "labels", renumbered)

    def _listed(self, part: DatasetPart, index: pa.Table) -> pa.Table:
        """Return the rows of a listing; what only records have is null."""
        num, member = len(index), self.members[part.member]
        has_gps = None
        if part.shard.num_with_gps in {0, part.shard.num_examples}:  # otherwise the images tell
            has_gps = part.shard.num_with_gps > 0
        known: dict[str, Any] = {
            "key": index["key"],
            "split": pa.repeat(part.split if self.keeps_splits else None, num),
            "label_name": index["label_name"],
            "source_bytes": index["image_bytes"],
            "mtime_ns": pa.repeat(part.mtime_ns, num),
            PATH.name: pa.repeat(part.shard.path, num),
            OFFSET.name: index["offset"],
            columns.RECORD_BYTES.name: index["length"],
            columns.IMAGE_START.name: index["image_start"],
            columns.KEY_PREFIX.name: pa.repeat(len(member.key_prefix), num),
            columns.RAW_CHANGES.name: index["changes"],
            GROUP.name: index["group"],
            IS_UNLABELLED.name: pa.array(are_unlabelled(index)),
            (CONTENT_SHA256 if member.has_decoded else columns.RAW_SHA256).name: index["content_sha256"],
        }
        if member.is_adopted:
            key = names_in_records("key", member.stored_as)
            known[columns.STORED_KEY.name] = pa.repeat(key[0] if key else "", num)
            known[columns.STORED_MASK.name] = pa.repeat(names_in_records(MASK, member.stored_as)[0], num)
            # Boxes of others are of the picture as it is stored, which may lie on its side; see `_annotate`.
            known |= {ANNOTATED_WIDTH.name: index["width"], ANNOTATED_HEIGHT.name: index["height"]}
        if member.has_decoded:
            known |= {name: index[name] for name in (FORMAT.name, "width", "height", PERCEPTUAL_HASH.name)}
            known |= {
                "orientation": pa.repeat(1, num),
                "changes": pa.repeat("", num),
                HAS_GPS.name: pa.repeat(has_gps, num),
            }
        schema = self.schema
        arrays = [known[one.name].cast(one.type) if one.name in known else pa.nulls(num, one.type) for one in schema]
        return pa.Table.from_arrays(arrays, schema=schema)

    def _with_annotations(self, part: DatasetPart, table: pa.Table, batch_rows: int) -> Iterator[Listing]:
        """Yield the rows with the annotations of their records."""
        url = f"{self.folder.url}/{part.shard.path}"
        with os_errors_as("read the dataset", url), self.folder.open(part.shard.path) as raw:
            file = buffered(raw)
            for start in range(0, len(table), batch_rows):
                rows = table.slice(start, batch_rows).to_pylist()
                for row in rows:
                    self._annotate(file, part, row)
                yield Listing(self.schema, columns=pa.Table.from_pylist(rows, self.schema))

    def _annotate(self, file: BinaryIO, part: DatasetPart, row: dict[str, Any]) -> None:
        """Fill in the annotations of a row; reject it if its record is damaged."""
        path, member = part.shard.path, self.members[part.member]
        offset, num_bytes = row[OFFSET.name], row[columns.RECORD_BYTES.name]
        file.seek(offset)
        try:
            values = example.decode(record_data(file.read(num_bytes + OVERHEAD_BYTES), path, offset, num_bytes))
        except RecordError as error:
            row |= {"reason": DAMAGED, "message": f"{error}; restore the dataset {member.url} from a copy"}
            return
        try:
            own = with_own_names(values, member.stored_as, self.features)
            row |= columns.annotations(own, self.features, member.class_names, row["key"], _annotated_size(row))
        except RecordError as error:
            row |= {"reason": BAD_ANNOTATION, "message": f"{path}: record at byte {offset}: {error}; restore the file"}
        except (KeyError, IndexError, ValueError) as error:
            message = f"{path}: record at byte {offset}: its features are not those of the manifest ({error!r})"
            row |= {"reason": BAD_ANNOTATION, "message": f"{message}; run `shardkit verify` on {member.url}"}


def _taken(number_of: pa.Array, labels: Any) -> Any:
    """Return the new number of each label; NO_LABEL has no other."""
    is_class = pc.greater_equal(labels, 0)
    return pc.if_else(is_class, number_of.take(pc.if_else(is_class, labels, None)), labels)


def _annotated_size(row: Mapping[str, Any]) -> tuple[int, int]:
    """Return the width and height that the boxes of a row become pixels of; (0, 0) if they stay fractions."""
    return row.get(ANNOTATED_WIDTH.name) or 0, row.get(ANNOTATED_HEIGHT.name) or 0
