"""The plan: split, shard and position of every key, decided before a record is written.

A pure function of the sorted inventory, the options and the versions; numpy and Arrow only.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit import software
from shardkit.dataset.features import CLASS_LABEL, LABEL
from shardkit.errors import DataError
from shardkit.hashing import canonical_json, hash64_column, sha256_hex
from shardkit.inventory.columns import features_of
from shardkit.inventory.inventory import INVENTORY_SCHEMA, Reject, fingerprint
from shardkit.inventory.table import plain_type
from shardkit.planning.assign_splits import assign_splits, tie_notes, ties_of
from shardkit.planning.balance import Balance, measure_balance
from shardkit.planning.dealing import deal_sorted, sort_by
from shardkit.planning.duplicates import REJECTED_SCHEMA, without_duplicates, without_repeats
from shardkit.planning.labelling import Labels, labels_of
from shardkit.planning.options import ConvertOptions
from shardkit.planning.rows import Rows
from shardkit.planning.sizing import choose_num_shards
from shardkit.planning.unsplit import without_unsplit
from shardkit.sources.listing import GROUP, LINE

PLAN_VERSION = 2

# An inventory in memory has narrower types, which depend on its values.
_TYPE_OF = {field.name: field for field in INVENTORY_SCHEMA}
_NOT_PLANNED = {"split", "label_name", "mtime_ns", "reason", "message", LINE.name, GROUP.name}


def plan_schema(inventory_schema: pa.Schema, *, with_groups: bool = False) -> pa.Schema:
    """One row an example, in the order written: by split, shard and position.

    The shard follows from SplitPlan.shard_counts. `label` is there where an example has one class.
    """
    fields = [
        _TYPE_OF.get(field.name, field.with_type(plain_type(field.type)))
        for field in inventory_schema
        if field.name not in _NOT_PLANNED
    ]
    if with_groups:
        fields.append(GROUP)
    if features_of(pa.schema(fields)).get(LABEL) == CLASS_LABEL:
        fields.append(pa.field("label", pa.int32(), nullable=False))
    return pa.schema(fields)


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """One split of a plan; ``num_bytes`` are of the raw files, ``class_counts`` in label order."""

    name: str
    num_bytes: int
    class_counts: list[int]
    shard_counts: list[int]
    balance: Balance
    reasons: tuple[str, ...]

    @property
    def num_examples(self) -> int:
        """Examples of the split."""
        return sum(self.shard_counts)

    @property
    def num_shards(self) -> int:
        """Shards of the split."""
        return len(self.shard_counts)


@dataclass(frozen=True, slots=True)
class Facts:
    """What the plan says of the source, for the manifest."""

    layout: str
    num_files: int
    num_bytes: int
    skipped: dict[str, int]
    groups: int | None
    duplicates: int | None
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole plan.

    Attributes:
        schema: of its rows; see plan_schema.
        examples: all rows of the inventory, rejected ones too, and a label where they have one; plan_schema's columns.
        order: [num_examples], rows of `examples` in the order written.
        splits: in the order written.
        classes: names in label order.
        rejected: REJECTED_SCHEMA, sorted by key.
        source: what the manifest says of the source.
        options: as the user gave them.
        notes: what the user should know.
    """

    schema: pa.Schema
    examples: pa.Table
    order: npt.NDArray[np.integer[Any]]
    splits: list[SplitPlan]
    classes: list[str]
    rejected: pa.Table
    source: Facts
    options: ConvertOptions
    notes: tuple[str, ...] = field(default=())

    @property
    def num_examples(self) -> int:
        """Examples of all splits."""
        return len(self.order)

    def rows(self, start: int, count: int) -> pa.Table:
        """Rows [start, start + count) in the order written: gathered when they are asked for, not all at once."""
        return self.examples.take(pa.array(self.order[start : start + count])).cast(self.schema)

    @property
    def num_shards(self) -> int:
        """Shards of all splits."""
        return sum(split.num_shards for split in self.splits)

    def description(self) -> dict[str, Any]:
        """Return what makes this conversion the one it is; equal descriptions give equal bytes."""
        known = known_description(self.options, self.source.layout, None)
        return {**known, "source": self.source.fingerprint, "classes": self.classes}

    @property
    def digest(self) -> str:
        """sha256 of the canonical JSON of the description: equal for all runs of the same conversion."""
        return sha256_hex(canonical_json(self.description()))

    def with_late(self, late: Iterable[Reject]) -> pa.Table:
        """Rejects of the plan and of the writers together, sorted by key."""
        rows = [one._asdict() for one in late]
        table = pa.concat_tables([self.rejected, pa.Table.from_pylist(rows, REJECTED_SCHEMA)])
        return table.take(pc.sort_indices(table, [("key", "ascending")]))


def known_description(options: ConvertOptions, layout: str, classes: list[str] | None) -> dict[str, Any]:
    """Return the part of Plan.description() that is known before the source is listed; `classes` only if they are."""
    known = {
        "plan_version": PLAN_VERSION,
        "name": options.name,
        "layout": layout,
        "options": options.as_json(),
        "software": software.versions(),
    }
    return known if classes is None else {**known, "classes": classes}


def make_plan(
    inventory: pa.Table,
    options: ConvertOptions,
    *,
    layout: str,
    skipped: Mapping[str, int],
    classes: Sequence[str] | None = None,
) -> Plan:
    """Decide split, shard and position of every good file.

    Args:
        inventory: INVENTORY_SCHEMA and the layout's own columns, sorted by key.
        options: as the user gave them.
        layout: name of the source's layout.
        skipped: files that are no images, counted by ending.
        classes: names in label order, where the source's format says them; None to sort the names found.

    Raises:
        DataError: no good image is left.
        CallError: the options do not fit the source.
    """
    inventory = without_repeats(inventory)
    if options.splits is None:  # else the source must not have splits at all
        inventory = without_unsplit(inventory)
    bad = pc.is_valid(inventory["reason"])
    rejected = inventory.select(REJECTED_SCHEMA.names).filter(bad).cast(REJECTED_SCHEMA)
    good = Rows(inventory).kept(pc.invert(bad).to_numpy())
    del bad
    if not len(good):
        raise nothing_left(rejected, skipped)
    ties = ties_of(good, options)
    num_duplicates = ties.num_duplicates
    if options.dedupe == "drop":
        good, rejected = without_duplicates(good, rejected, ties)
        ties = ties_of(good, options)
    labels = labels_of(inventory, good, options, classes)
    split_of, names = assign_splits(good, labels, ties, options)
    options.check_split_names(names)
    notes = (*_notes(good, labels), *tie_notes(good, labels, ties, split_of))
    groups, num_groups = ties.groups, ties.num_groups
    del ties
    # Each of the following has a row an example, and is gigabytes: nothing stays longer than it is needed.
    hashes = hash64_column(good.gathered("key"), seed=options.seed, purpose="position")
    order = np.argsort(split_of, kind="stable").astype(np.uint32 if len(good) < 1 << 32 else np.uint64)
    ends = np.cumsum(np.bincount(split_of, minlength=len(names))).tolist()
    del split_of
    splits = []
    for name, start, end in zip(names, [0, *ends], ends, strict=False):
        splits.append(_plan_split(name, order[start:end], good, labels, hashes, options))
    del hashes
    examples = inventory.append_column("label", pa.array(good.spread(labels.dealt_by)))
    if groups is not None:
        examples = examples.drop_columns([name for name in (GROUP.name,) if name in examples.column_names])
        examples = examples.append_column(GROUP.name, good.spread_column(groups))
    if good.numbers is not None:
        order = good.numbers[order]
    schema = plan_schema(inventory.schema, with_groups=groups is not None)
    return Plan(
        schema=schema,
        examples=examples.select(schema.names),
        order=order,
        splits=splits,
        classes=labels.classes,
        rejected=rejected,
        source=Facts(
            layout=layout,
            num_files=len(inventory),
            num_bytes=int(pc.sum(inventory["source_bytes"]).as_py() or 0),
            skipped=dict(skipped),
            groups=num_groups,
            duplicates=num_duplicates,
            fingerprint=fingerprint(inventory),
        ),
        options=options,
        notes=notes,
    )


def _plan_split(
    name: str,
    rows: npt.NDArray[np.unsignedinteger],
    good: Rows,
    labels: Labels,
    hashes: npt.NDArray[np.uint64],
    options: ConvertOptions,
) -> SplitPlan:
    """Deal the examples of one split, and bring its rows, in place, into the order written."""
    # Sorted by class, in a class by hash: so dealing needs no copies in another order.
    sort_by(rows, labels.dealt_by[rows], hashes)
    dealt_by, sizes = labels.dealt_by[rows], good["source_bytes"].to_numpy()[rows]
    num_bytes = int(sizes.sum(dtype=np.int64))
    chosen = choose_num_shards(
        split=name,
        num_examples=len(rows),
        num_bytes=num_bytes,
        target_bytes=options.shard_bytes,
        pipelines=options.pipelines,
        requested=options.requested_shards(name),
    )
    shards = deal_sorted(dealt_by, sizes, chosen.num_shards)
    balance = measure_balance(dealt_by, sizes, shards, chosen.num_shards)
    del dealt_by, sizes
    planned = SplitPlan(
        name=name,
        num_bytes=num_bytes,
        class_counts=labels.counts(rows),
        shard_counts=np.bincount(shards, minlength=chosen.num_shards).tolist(),
        balance=balance,
        reasons=chosen.reasons,
    )
    sort_by(rows, shards, hashes)
    return planned


def _notes(good: Rows, labels: Labels) -> tuple[str, ...]:
    classes = labels.classes
    alike: dict[str, list[str]] = {}
    for name in classes:
        alike.setdefault("".join(name.casefold().split()), []).append(name)
    notes = [
        f"classes {', '.join(map(repr, names))} differ only by case or blanks; are they meant to be one?"
        for names in alike.values()
        if len(names) > 1
    ]
    missing = [name for name, count in zip(classes, labels.counts(np.arange(len(good))), strict=True) if not count]
    if missing:
        notes.append(f"no good image in {len(missing)} of {len(classes)} classes: {', '.join(map(repr, missing[:5]))}")
    if len(good) and len(classes) == 1:
        notes.append(f"there is only one class, {classes[0]!r}; is SOURCE the folder that holds the label folders?")
    return tuple(notes)


def nothing_left(rejected: pa.Table, skipped: Mapping[str, int]) -> DataError:
    """Return the error for a source without a good image."""
    if len(rejected):
        first = rejected.slice(0, 1).to_pylist()[0]
        return DataError(f"none of the {len(rejected)} images is good; the first, {first['key']}: {first['message']}")
    if skipped:
        kinds = ", ".join(f"{count} {kind}" for kind, count in skipped.items())
        return DataError(f"there are no images to convert in the source; skipped: {kinds}")
    return DataError("there are no images in the source; its folders are empty")
