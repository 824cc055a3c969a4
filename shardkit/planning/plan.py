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
from shardkit.columns import features_of
from shardkit.errors import CallError, DataError
from shardkit.features import CLASS_LABEL, LABEL
from shardkit.hashing import canonical_json, hash64_column, sha256_hex
from shardkit.inventory import Reject, fingerprint
from shardkit.planning.assigning import assign_splits, tie_notes, ties_of
from shardkit.planning.dealing import Balance, deal, measure_balance
from shardkit.planning.labelling import Labels, labels_of
from shardkit.planning.options import ConvertOptions
from shardkit.planning.repeats import REJECTED_SCHEMA, without_duplicates, without_repeats
from shardkit.planning.sizing import choose_num_shards
from shardkit.sources.listing import GROUP, LINE

PLAN_VERSION = 2

_NOT_PLANNED = {"split", "label_name", "mtime_ns", "reason", "message", LINE.name, GROUP.name}


def plan_schema(inventory_schema: pa.Schema, *, with_groups: bool = False) -> pa.Schema:
    """One row an example, in the order written: by split, shard and position.

    The shard follows from SplitPlan.shard_counts. `label` is there where an example has one class.
    """
    fields = [field for field in inventory_schema if field.name not in _NOT_PLANNED]
    if with_groups:
        fields.append(GROUP)
    if features_of(inventory_schema).get(LABEL) == CLASS_LABEL:
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
        examples: the good rows of the inventory, and a label where they have one; plan_schema's columns.
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
        """What makes this conversion the one it is; equal descriptions give equal bytes."""
        return {
            "plan_version": PLAN_VERSION,
            "name": self.options.name,
            "source": self.source.fingerprint,
            "layout": self.source.layout,
            "classes": self.classes,
            "options": self.options.as_json(),
            "software": software.versions(),
        }

    @property
    def digest(self) -> str:
        """sha256 of the canonical JSON of the description: equal for all runs of the same conversion."""
        return sha256_hex(canonical_json(self.description()))

    def with_late(self, late: Iterable[Reject]) -> pa.Table:
        """Rejects of the plan and of the writers together, sorted by key."""
        rows = [one._asdict() for one in late]
        table = pa.concat_tables([self.rejected, pa.Table.from_pylist(rows, REJECTED_SCHEMA)])
        return table.take(pc.sort_indices(table, [("key", "ascending")]))


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
    bad = pc.is_valid(inventory["reason"])
    rejected = inventory.filter(bad).select(REJECTED_SCHEMA.names).cast(REJECTED_SCHEMA)
    good = inventory.filter(pc.invert(bad)) if len(rejected) else inventory
    if not len(good):
        raise DataError(_nothing_left(rejected, skipped))
    ties = ties_of(good, options)
    num_duplicates = ties.num_duplicates
    if options.dedupe == "drop":
        good, rejected = without_duplicates(good, rejected, ties)
        ties = ties_of(good, options)
    labels = labels_of(inventory, good, options, classes)
    split_of, names = assign_splits(good, labels, ties, options)
    _check_shard_names(options, names)
    notes = (*_notes(good, labels), *tie_notes(good, labels, ties, split_of))
    hashes = hash64_column(good["key"], seed=options.seed, purpose="position")
    sizes, dealt_by = good["source_bytes"].to_numpy(), labels.dealt_by
    # Each of these has a row an example: in order of the splits, a split's are views, not further gigabytes.
    order = np.argsort(split_of, kind="stable").astype(np.uint32 if len(good) < 1 << 32 else np.uint64)
    if len(names) > 1:
        hashes, sizes, dealt_by = hashes[order], sizes[order], dealt_by[order]
    ends = np.cumsum(np.bincount(split_of, minlength=len(names))).tolist()
    splits = []
    for name, start, end in zip(names, [0, *ends], ends, strict=False):
        part = slice(start, end)
        counts = labels.counts(order[part])
        planned, within = _plan_split(name, dealt_by[part], sizes[part], hashes[part], counts, options)
        order[part] = order[part][within]
        splits.append(planned)
    del hashes, sizes, split_of
    examples = good.append_column("label", pa.array(labels.dealt_by))
    if ties.groups is not None:
        examples = examples.drop_columns([name for name in (GROUP.name,) if name in examples.column_names])
        examples = examples.append_column(GROUP, ties.groups)
    schema = plan_schema(inventory.schema, with_groups=ties.groups is not None)
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
            groups=ties.num_groups,
            duplicates=num_duplicates,
            fingerprint=fingerprint(inventory),
        ),
        options=options,
        notes=notes,
    )


def _plan_split(
    name: str,
    labels: npt.NDArray[np.int32],
    sizes: npt.NDArray[np.int64],
    hashes: npt.NDArray[np.uint64],
    class_counts: list[int],
    options: ConvertOptions,
) -> tuple[SplitPlan, npt.NDArray[np.intp]]:
    num_bytes = int(sizes.sum())
    requested = options.shards.get(name) if isinstance(options.shards, dict) else options.shards
    chosen = choose_num_shards(
        split=name,
        num_examples=len(labels),
        num_bytes=num_bytes,
        target_bytes=options.shard_bytes,
        pipelines=options.pipelines,
        requested=requested,
    )
    shards = deal(labels, sizes, hashes, chosen.num_shards)
    order = np.lexsort((hashes, shards))
    return SplitPlan(
        name=name,
        num_bytes=num_bytes,
        class_counts=class_counts,
        shard_counts=np.bincount(shards, minlength=chosen.num_shards).tolist(),
        balance=measure_balance(labels, sizes, shards, chosen.num_shards),
        reasons=chosen.reasons,
    ), order


def _check_shard_names(options: ConvertOptions, names: list[str]) -> None:
    unknown = sorted(set(options.shards) - set(names)) if isinstance(options.shards, dict) else []
    if unknown:
        msg = f"--shards names the split {unknown[0]!r}; the conversion writes {', '.join(names)}"
        raise CallError(msg)


def _notes(good: pa.Table, labels: Labels) -> tuple[str, ...]:
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


def _nothing_left(rejected: pa.Table, skipped: Mapping[str, int]) -> str:
    if len(rejected):
        first = rejected.slice(0, 1).to_pylist()[0]
        return f"none of the {len(rejected)} images is good; the first, {first['key']}: {first['message']}"
    if skipped:
        kinds = ", ".join(f"{count} {kind}" for kind, count in skipped.items())
        return f"there are no images to convert in the source; skipped: {kinds}"
    return "there are no images in the source; its folders are empty"
