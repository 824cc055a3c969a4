"""Refuse a call by its options, its output and the listing of its source, before any image is decoded.

Decoding can take hours; listing takes minutes. `make_plan` and `output_folder.refuse_different` repeat these
checks on the whole inventory, with the same functions and messages. They would refuse every call that is refused here,
with one exception: a label that `classes` lacks and that only boxes outside their image have.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.inventory.columns import MASK_PATH
from shardkit.conversion.planning.checks.classes import find_wrong_reading
from shardkit.conversion.planning.checks.finding import refuse_stopping, with_accepted
from shardkit.conversion.planning.checks.split_classes import (
    LabelPlaces,
    check_class_numbers,
    check_split_classes,
    joined_places,
    label_places,
)
from shardkit.conversion.planning.earlier_examples import LEFT_OUT
from shardkit.conversion.planning.labels import classes_of, fixed_classes, sorted_names
from shardkit.conversion.planning.plan import known_description
from shardkit.conversion.planning.sizing import check_requested
from shardkit.conversion.planning.splits.grouping import compile_pattern, no_groups, pattern_not_found
from shardkit.conversion.planning.splits.own_splits import check_splits, groups_refusal, written_splits
from shardkit.conversion.writing.output import output_folder as outputs
from shardkit.dataset.manifest import Manifest
from shardkit.errors import CallError, DataError, ShardkitError
from shardkit.options.groups import ConvertOptions
from shardkit.options.words import named, shown
from shardkit.reject_reasons import BAD_BOX
from shardkit.sources.columns import GROUP, UNLABELLED
from shardkit.sources.listing import Source
from shardkit.sources.readings.flags import origin_text
from shardkit.sources.readings.values import Annotation, Reading
from shardkit.storage import Folder


class ListingSummary(NamedTuple):
    """The summary of a part of a listing."""

    num_rows: int  # number of rows, including those with a reason
    # Number of rows without a reason, by split; the key None is for rows without a split.
    split_counts: dict[str | None, int]
    labels: LabelPlaces  # classes of each split; see `LabelPlaces`
    example: str  # a key; empty if there are no rows
    is_grouped: bool  # whether a row has a group, or a key contains the pattern of `group_by`
    skipped: Mapping[str, int] = {}  # number of files that are no images, by ending or reason
    problem: str = ""  # key and message of the first rejected row; '' if there is none

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for _, name in self.labels)


@dataclass(frozen=True, slots=True)
class ExistingDataset:
    """The finished dataset in the output, which a listing of the same source must match."""

    url: str  # the output folder
    num_files: int  # rows of its inventory
    num_bad_boxes: int  # maximum number of these rows that decoding added
    classes: frozenset[str] | None  # its classes; None if there may be others, of rejected files only

    @classmethod
    def of(cls, manifest: Manifest) -> "ExistingDataset":
        first = manifest.history[0]  # what was appended later came from other sources
        num_bad_boxes = first.rejected.by_reason.get(BAD_BOX, 0)
        classes = None if first.rejected.by_reason else frozenset(manifest.classes[: first.num_classes])
        num_left_out = sum(first.source.skipped.get(kind, 0) for kind in LEFT_OUT)
        return cls(manifest.root.url, first.source.num_files + num_left_out, num_bad_boxes, classes)

    def refuse(self, listed: "ListingSummary") -> None:
        listed_before = range(self.num_files - self.num_bad_boxes, self.num_files + 1)
        if listed.num_rows not in listed_before or (self.classes is not None and not listed.names <= self.classes):
            raise outputs.converted_differently(self.url, outputs.SOURCE_CHANGED)


def refuse_output(output: Folder, source: Source, options: ConvertOptions) -> ExistingDataset | None:
    """Refuse another conversion's output before the source is listed; return the finished dataset in it, or None."""
    is_new = options.appended_to is None  # otherwise the dataset's classes come first
    classes = fixed_classes(source.schema, options, source.classes) if is_new else None
    there = outputs.refuse_different(output, known_description(options, source.layout, classes))
    return None if there is None else ExistingDataset.of(there)


@dataclass(frozen=True, slots=True)
class ListingCheck:
    """The checks of a listing; small and pickled into the pipeline's graph."""

    source: Source
    options: ConvertOptions  # options of the conversion
    # The dataset in the output that must not be replaced; None if there is none.
    existing: ExistingDataset | None = None
    # Whether the user chose how the source is read: then a reading that looks wrong is not refused.
    is_explicit: bool = False

    def check_options(self) -> None:
        """Check the options that need no listing."""
        names, stored, splits = self.source.schema.names, self.options.stored, self.options.splits
        if self.source.reading is not None:
            _refuse_several_kinds(self.source.reading)
        if stored.fit == "pad" and MASK_PATH in names and stored.mask_padding is None:
            raise CallError(
                f"{named('fit', 'pad')} adds a border to masks, and only you know its class number: add "
                f"{named('mask_padding', 255)} if 255 means 'no class' (as in VOC and Cityscapes), or "
                f"{named('mask_padding', 0)} for the background"
            )
        if stored.mask_padding is not None and MASK_PATH not in names:
            raise CallError(f"{named('mask_padding')} has no effect on images without masks; leave it out")
        if self.options.classes is not None and UNLABELLED.name in names:
            raise CallError(f"{named('classes')} has no effect on images without labels; leave it out")
        if splits.block is not None and splits.group_by is None and GROUP.name not in names:
            raise no_groups(splits.block)
        if splits.group_by is not None and GROUP.name not in names:
            try:
                compile_pattern(splits.group_by)
            except CallError as error:
                raise groups_refusal(error, self.options) from None

    def summary(self, table: pa.Table, skipped: Mapping[str, int] | None = None) -> ListingSummary:
        """Summarise a part of the listing, given its rows and counts."""
        splits = pc.value_counts(table.filter(pc.is_null(table["reason"]))["split"]).to_pylist()
        first = table.filter(pc.is_valid(table["reason"])).slice(0, 1).select(("key", "message")).to_pylist()
        return ListingSummary(
            num_rows=len(table),
            split_counts={split["values"]: split["counts"] for split in splits},
            labels=label_places(table),
            example=table["key"][0].as_py() if len(table) else "",
            is_grouped=self._is_grouped(table),
            skipped=skipped or {},
            problem="".join(f"{row['key']}: {shown(row['message'])}" for row in first),
        )

    def _is_grouped(self, table: pa.Table) -> bool:
        if GROUP.name in table.column_names and table[GROUP.name].null_count < len(table):
            return True
        if self.options.splits.group_by is None:
            return False
        try:
            search = compile_pattern(self.options.splits.group_by).search
        except CallError:  # the name of the source's group column, which has no values in this part
            return False
        return any(search(key) for key in table["key"].to_pylist())

    def refuse(self, parts: Iterable[ListingSummary]) -> None:
        whole = merge_summaries(list(parts))
        self.source.check_accounts(whole.skipped)
        own = sorted(name for name in whole.split_counts if name is not None)
        total = sum(whole.split_counts.values())
        if not total:
            self._refuse_all_rejected(whole)
            return  # nothing to convert: make_plan reports it
        check_splits(own, self.options)
        # A split that is divided off may get all images.
        splits = self.options.splits
        divided = sum(whole.split_counts[name] for name in splits.splits_of) if splits.splits_of else total
        names = written_splits(own, self.options)
        made = splits.splits or (() if own else names)
        counts = {name: divided if name in made else whole.split_counts[name] for name in names}
        self.options.shards.check_split_names(names)
        for name, count in counts.items():
            if (requested := self.options.shards.of_split(name)) is not None:
                check_requested(name, count, requested)
        if whole.labels:
            classes = classes_of(sorted_names(whole.names), self.options, self.source.classes)
            try:
                self._refuse_reading(classes, own, whole.example)
            except ShardkitError as refused:
                raise self.source.misfit(refused) from None
            if self.options.appended_to is None:  # else the classes of the dataset count
                found = [*check_split_classes(whole.labels, classes, reading=self.source.reading)]
                found += check_class_numbers(whole.labels, self.source.classes, self.source.layout)
                refuse_stopping(with_accepted(found, self.options.accept))
        if self.existing is not None:
            self.existing.refuse(whole)
        if splits.group_by is not None and not whole.is_grouped:
            compile_pattern(splits.group_by)
            error = pattern_not_found(splits.group_by, whole.num_rows, whole.example)
            raise groups_refusal(error, self.options)

    def _refuse_all_rejected(self, whole: ListingSummary) -> None:
        """Refuse a source without a good record, if a dataset remembers the reading; else make_plan reports it."""
        if whole.problem:
            none_good = DataError(f"none of the {whole.num_rows} images is good; the first, {whole.problem}")
            if (misfit := self.source.misfit(none_good)) is not none_good:
                raise misfit

    def _refuse_reading(self, classes: list[str], own_splits: list[str], example: str) -> None:
        schema, layout, is_explicit = self.source.schema, self.source.layout, self.is_explicit
        found = find_wrong_reading(
            schema, classes, layout=layout, splits=own_splits, example=example, is_explicit=is_explicit
        )
        # A dataset may grow by one class at a time.
        is_fine = found is None or (found.code == "one_class" and self.options.appended_to is not None)
        refuse_stopping(() if found is None or is_fine else with_accepted((found,), self.options.accept))


def _refuse_several_kinds(reading: Reading) -> None:
    label = reading.label.origin if reading.label else None
    origins = {"boxes": reading.boxes, "mask": reading.mask, "label": None if isinstance(label, Annotation) else label}
    found = {name: f"{name} from {origin_text(origin)}" for name, origin in origins.items() if origin is not None}
    if len(found) > 1:
        one = f"a dataset stores one of class, boxes and mask so far; leave out {' or '.join(map(named, found))}"
        raise CallError(f"the reading has {' and '.join(found.values())}, and {one}")


def merge_summaries(parts: Sequence[ListingSummary]) -> ListingSummary:
    """Return the summary of several parts."""
    counts, skipped = Counter[str | None](), Counter[str]()
    for part in parts:
        counts.update(part.split_counts)
        skipped.update(part.skipped)
    return ListingSummary(
        num_rows=sum(part.num_rows for part in parts),
        split_counts=counts,
        labels=joined_places([part.labels for part in parts]),
        example=min((part.example for part in parts if part.num_rows), default=""),
        is_grouped=any(part.is_grouped for part in parts),
        skipped=skipped,
        problem=min((part.problem for part in parts if part.problem), default=""),
    )
