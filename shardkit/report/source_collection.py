"""A source and its plan as the subject of a report, before the conversion."""

import contextlib
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit import images
from shardkit.conversion.inventory import columns
from shardkit.conversion.inventory.columns import annotated_size, features_of
from shardkit.conversion.inventory.source_files import ReadImage, SourceFiles, image_path, image_start
from shardkit.conversion.planning.checks.finding import listing_of
from shardkit.conversion.planning.plan import Plan
from shardkit.conversion.planning.splits.grouping import digest_prefixes
from shardkit.dataset.features import LABEL, MASK, NO_LABEL, OBJECT_LABELS, OBJECTS
from shardkit.dataset.index.file import key_hashes
from shardkit.dataset.index.perceptual_hashes import hash_words
from shardkit.errors import DataError
from shardkit.images.boxes import mask_orientation, place_objects
from shardkit.images.info import FIRST_TRANSPOSED
from shardkit.images.masks import check_mask, mask_values, normalise_mask
from shardkit.images.stored.placement import place
from shardkit.options.call import Call
from shardkit.options.groups import Stored
from shardkit.records.drawing import Annotations, draw
from shardkit.records.rejected_pictures import opened_file
from shardkit.report.collection import HEADER_BYTES, Batch, Header, Member, Numbers, Origin, Picture, Rejects, Split
from shardkit.report.columns import counts_of, first_rejected, group_hashes
from shardkit.report.dataset_collection import title_of
from shardkit.software import versions
from shardkit.sources import Source
from shardkit.sources.columns import GROUP, HAS_GPS, MASK_COLOURS
from shardkit.sources.columns import OBJECTS as LISTED_OBJECTS
from shardkit.statistics.repeated import labels_of
from shardkit.storage.concurrent_reads import read_many

if TYPE_CHECKING:
    from PIL.Image import Image

_BATCH_ROWS = 1 << 16


class SourceCollection:
    """A source and its plan; see Collection."""

    is_dataset = False

    def __init__(self, source: Source, plan: Plan, call: Call) -> None:
        """Describe a source.

        Args:
            source: The source, open.
            plan: Its plan.
            call: The user's call.
        """
        self._source, self._plan, self._files = source, plan, SourceFiles(source.folder)
        self.title, self.place = title_of(plan.options.name, call.sources[0]), call.sources[0]
        self.classes, self.features = plan.classes, features_of(plan.schema)
        self.findings = plan.findings
        self._label_of = {name: label for label, name in enumerate(plan.classes)}
        self.splits = [
            Split(
                split.name,
                np.array(split.class_counts, np.int64),
                np.array(split.shard_counts, np.int64),
                None,
                split.num_bytes,
                split.balance,
                num_unlabelled=split.num_unlabelled,
            )
            for split in plan.splits
        ]
        self._starts = np.concatenate(([0], np.cumsum([split.num_examples for split in plan.splits]))).astype(int)
        self.origin = Origin(
            replace(call, command="convert").line,
            [
                ("Layout of the source", plan.source.layout),
                ("Files of the source", f"{plan.source.num_files:,}"),
                ("Source fingerprint", plan.source.fingerprint),
            ],
            [*versions().items()],
            hosts=plan.options.shards.input_pipelines,
            is_resized=not plan.options.stored.keeps_sizes,
            split_by="own" if plan.options.splits.splits is None else plan.options.splits.split_by,
            skipped=plan.source.skipped,
            num_groups=plan.source.groups,
            num_duplicates=plan.source.duplicates,
            num_gps=_num_gps(plan),
            leaks_listing=listing_of(call),
        )

    def batches(self) -> Iterator[Batch]:
        """Yield the examples in the order in which they would be written."""
        for split in range(len(self.splits)):
            for start in range(self._starts[split], self._starts[split + 1], _BATCH_ROWS):
                count = min(_BATCH_ROWS, self._starts[split + 1] - start)
                yield self._batch(self._plan.rows(start, count), split, start)

    def _batch(self, table: pa.Table, split: int, start: int) -> Batch:
        names, nothing = table.column_names, np.zeros(len(table), np.int32)
        is_checked = not table["content_sha256"].null_count
        labels, num_labels = self._labels(table)
        return Batch(
            split=split,
            start=start,
            key_hash=key_hashes(table["key"].to_pylist()),
            labels=labels,
            num_labels=num_labels,
            width=_upright(table, "width", "height") if is_checked else nothing,
            height=_upright(table, "height", "width") if is_checked else nothing,
            image_bytes=table["source_bytes"].to_numpy(),
            contents=digest_prefixes(table["content_sha256"]) if is_checked else None,
            hashed=hash_words(table["perceptual_hash"]),
            groups=group_hashes(table[GROUP.name]) if GROUP.name in names else None,
            targets=_target_hashes(table[columns.TARGET]) if columns.TARGET in names else None,
            formats=counts_of(table["format"]) if is_checked else {},
            changes=counts_of(table["changes"]) if is_checked else {},
        )

    def _labels(self, table: pa.Table) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        names = table.column_names
        nothing = np.zeros(0, np.int32), np.zeros(len(table), np.int64)
        if LISTED_OBJECTS in names:
            lists = [[one["label_name"] for one in row] for row in table[LISTED_OBJECTS].to_pylist()]
        elif columns.LABEL_NAMES in names:
            lists = table[columns.LABEL_NAMES].to_pylist()
        elif "label" in names:
            return labels_of(table["label"], None)
        else:
            return nothing
        several = [sorted({self._label_of[name] for name in row or ()}) for row in lists]
        return np.array([one for row in several for one in row], np.int32), np.array([*map(len, several)], np.int64)

    def _rows(self, numbers: Numbers) -> list[tuple[str, dict[str, Any]]]:
        """Return the split and the columns of examples, in the order of the numbers."""
        plan = self._plan
        table = plan.examples.take(pa.array(plan.order[numbers])).cast(plan.schema)
        split_of = np.searchsorted(self._starts, numbers, side="right") - 1
        return [(self.splits[split].name, row) for split, row in zip(split_of.tolist(), table.to_pylist(), strict=True)]

    def pictures(self, numbers: Numbers, side: int) -> Iterator[Picture]:
        """Yield examples upright, in their own size; one that cannot be read says why."""

        def picture(found: tuple[str, dict[str, Any]]) -> Picture:
            split, row = found
            size = (row["width"] or 0, row["height"] or 0)
            try:
                image, annotations, text = self._decoded(row)
            except (images.BadImage, DataError, OSError) as error:
                return Picture(row["key"], split, "", size, None, str(error))
            return Picture(row["key"], split, text, image.size, draw(image, annotations, side))

        yield from read_many(picture, self._rows(numbers))

    def members(self, numbers: Numbers) -> list[Member]:
        """Return the key, the split and the labels of examples, in the order of the numbers."""
        return [Member(row["key"], split, self._label_names(row)) for split, row in self._rows(numbers)]

    def _label_names(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        if LISTED_OBJECTS in row:
            return tuple(dict.fromkeys(one["label_name"] for one in row[LISTED_OBJECTS]))
        if columns.LABEL_NAMES in row:
            return tuple(row[columns.LABEL_NAMES] or ())
        if columns.TARGET in row:
            return tuple(f"{value:.6g}" for value in row[columns.TARGET])
        return () if row.get("label") in {None, NO_LABEL} else (self.classes[row["label"]],)

    def _decoded(self, row: Mapping[str, Any]) -> tuple["Image", Annotations, str]:
        """Return the upright picture, its boxes or mask, and its labels as text."""
        from shardkit.images.pillow import open_image

        raw = self._files.image(row)
        info = images.check(raw.data)
        stored = images.normalise(raw.data, info, Stored())
        image = open_image(stored.data, images.inspect(stored.data).format)
        image.load()
        label = ", ".join(self._label_names(row))
        if LISTED_OBJECTS in row:
            objects = self._placed(row, info)
            boxes = np.array([one["bbox"] for one in objects], np.float32).reshape(-1, 4)
            labels = [self._label_of[one["label_name"]] for one in objects]
            return image, Annotations(self.classes, boxes, labels), label
        if columns.MASK_PATH in row:
            mask = mask_values(self._mask(row, raw, info)).astype(np.int32)
            return image, Annotations(self.classes, mask=mask), ""
        return image, Annotations(self.classes), label

    def _placed(self, row: Mapping[str, Any], info: images.ImageInfo | None) -> list[dict[str, Any]]:
        """Return objects with boxes as fractions of the upright image; a checked row has them already."""
        if row["content_sha256"] is not None:
            return list(row[LISTED_OBJECTS])
        if info is None:
            info = images.inspect(self._files.image(row).data)
        return place_objects(row[LISTED_OBJECTS], annotated_size(dict(row)), info).objects

    def _mask(self, row: Mapping[str, Any], image: ReadImage, info: images.ImageInfo) -> bytes:
        data, colours = self._files.mask(row, image) or b"", row.get(MASK_COLOURS.name)
        orientation = mask_orientation(check_mask(data, colours), info)
        return normalise_mask(data, orientation=orientation, form=Stored(), colours=colours).data

    def annotations(self, numbers: Numbers, feature: str) -> Iterator[dict[str, Any]]:
        """Yield annotations in the form of records. Examples whose annotations cannot be read are left out."""
        for _, row in self._rows(numbers):
            with contextlib.suppress(images.BadImage, DataError, OSError):
                yield self._annotations(row, feature)

    def _annotations(self, row: Mapping[str, Any], feature: str) -> dict[str, Any]:
        if feature == OBJECT_LABELS:
            objects = self._placed(row, None)
            return {
                OBJECT_LABELS: [self._label_of[one["label_name"]] for one in objects],
                f"{OBJECTS}bbox": [side for one in objects for side in one["bbox"]],
            }
        if feature == MASK:
            image = self._files.image(row)
            return {MASK: [self._mask(row, image, images.inspect(image.data))]}
        return {LABEL: row[columns.TARGET]}

    def headers(self, numbers: Numbers) -> Iterator[Header]:
        """Yield the headers of the files of examples; unreadable files are left out."""
        folder, form = self._source.folder, self._plan.options.stored

        def header(found: tuple[str, dict[str, Any]]) -> Header:
            row = found[1]
            try:
                num_bytes = min(HEADER_BYTES, row["source_bytes"])
                data = bytes(folder.read_range(image_path(row), image_start(row), num_bytes))
            except OSError:
                return Header(b"")
            return Header(data, is_stored=not (row["changes"] or _is_scaled(row, form)))

        yield from (one for one in read_many(header, self._rows(numbers)) if one.data)

    def rejects(self, per_reason: int) -> Rejects:
        """Return what the conversion would reject."""
        table = self._plan.rejected
        return Rejects(counts_of(table["reason"]), first_rejected(table, per_reason), self._plan.source.num_files)

    def rejected_picture(self, key: str, side: int) -> "Image | None":
        """Return the picture of a rejected file; None if it does not open."""
        return opened_file(self._source.folder, key, side)


def _is_scaled(row: Mapping[str, Any], form: Stored) -> bool:
    if not row["width"]:  # not known with check none
        return False
    width, height = row["width"], row["height"]
    return bool(place(*((height, width) if row["orientation"] >= FIRST_TRANSPOSED else (width, height)), form).changes)


def _num_gps(plan: Plan) -> int | None:
    if HAS_GPS.name not in plan.examples.column_names:
        return None
    found = plan.examples[HAS_GPS.name].take(pa.array(plan.order))
    return None if found.null_count else int(pc.sum(found).as_py() or 0)


def _upright(table: pa.Table, side: str, other: str) -> npt.NDArray[np.int32]:
    """Return a side of each image after EXIF's orientation."""
    is_turned = pc.greater_equal(table["orientation"], FIRST_TRANSPOSED)
    sides: npt.NDArray[np.int32] = pc.if_else(is_turned, table[other], table[side]).to_numpy().astype(np.int32)
    return sides


def _target_hashes(targets: pa.ChunkedArray) -> npt.NDArray[np.uint64]:
    values = pc.list_flatten(targets).to_numpy().astype("<f4").reshape(len(targets), -1)
    digests = [hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in values]
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64, copy=False)
