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

from shardkit import naming, software
from shardkit.columns import features_of
from shardkit.errors import CallError, DataError
from shardkit.features import CLASS_LABEL, LABEL
from shardkit.hashing import hash64_column
from shardkit.inventory import Reject, fingerprint
from shardkit.planning.dealing import Balance, deal, measure_balance, positions
from shardkit.planning.labelling import Labels, labels_of
from shardkit.planning.options import ConvertOptions
from shardkit.planning.sizing import choose_num_shards
from shardkit.planning.splitting import split_by_hash, split_stratified
from shardkit.sources.listing import LINE

PLAN_VERSION = 2

_NOT_PLANNED = {"split", "label_name", "mtime_ns", "reason", "message", LINE.name}


def plan_schema(inventory_schema: pa.Schema) -> pa.Schema:
    """One row an example, in the order written: by split, shard and position.

    The shard follows from SplitPlan.shard_counts. `label` is there where an example has one class.
    """
    fields = [field for field in inventory_schema if field.name not in _NOT_PLANNED]
    if features_of(inventory_schema).get(LABEL) == CLASS_LABEL:
        fields.append(pa.field("label", pa.int32(), nullable=False))
    return pa.schema(fields)


REJECTED_SCHEMA = pa.schema(
    [
        pa.field("key", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("message", pa.string(), nullable=False),
        pa.field("source_bytes", pa.int64(), nullable=False),
    ]
)


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
    duplicates: int | None
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole plan.

    Attributes:
        schema: of its rows; see plan_schema.
        examples: the good rows of the inventory, and a label where they have one; plan_schema's columns.
        order: int64[num_examples], rows of `examples` in the order written.
        splits: in the order written.
        classes: names in label order.
        rejected: REJECTED_SCHEMA, sorted by key.
        source: what the manifest says of the source.
        options: as the user gave them.
        notes: what the user should know.
    """

    schema: pa.Schema
    examples: pa.Table
    order: npt.NDArray[np.int64]
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
    inventory = _without_repeats(inventory)
    bad = pc.is_valid(inventory["reason"])
    rejected = inventory.filter(bad).select(REJECTED_SCHEMA.names).cast(REJECTED_SCHEMA)
    good = inventory.filter(pc.invert(bad)) if len(rejected) else inventory
    if not len(good):
        raise DataError(_nothing_left(rejected, skipped))
    labels = labels_of(inventory, good, options, classes)
    split_of, names = _split(good, labels.dealt_by, options)
    order_hashes = hash64_column(good["key"], seed=options.seed, purpose="position")
    sizes = good["source_bytes"].to_numpy()
    splits, pieces = [], []
    _check_shard_names(options, names)
    for split_index, name in enumerate(names):
        members = np.flatnonzero(split_of == split_index)
        planned, order = _plan_split(
            name,
            labels.dealt_by[members],
            sizes[members],
            order_hashes[members],
            labels.counts(members),
            options,
        )
        splits.append(planned)
        pieces.append(members[order])
    schema = plan_schema(inventory.schema)
    return Plan(
        schema=schema,
        examples=good.append_column("label", pa.array(labels.dealt_by)).select(schema.names),
        order=np.concatenate(pieces),
        splits=splits,
        classes=labels.classes,
        rejected=rejected,
        source=Facts(
            layout=layout,
            num_files=len(inventory),
            num_bytes=int(pc.sum(inventory["source_bytes"]).as_py() or 0),
            skipped=dict(skipped),
            duplicates=_count_duplicates(good, options),
            fingerprint=fingerprint(inventory),
        ),
        options=options,
        notes=_notes(good, labels),
    )


def _without_repeats(inventory: pa.Table) -> pa.Table:
    """The inventory with all rows of a key but the first rejected; only layouts with lines can repeat one."""
    if LINE.name not in inventory.column_names or len(inventory) < 2:
        return inventory
    keys, lines = inventory["key"].combine_chunks(), inventory[LINE.name].combine_chunks()
    same = pc.and_(pc.equal(keys[1:], keys[:-1]), pc.is_null(inventory["reason"][1:]))
    again = np.flatnonzero(pc.fill_null(same, False).to_numpy(zero_copy_only=False)) + 1
    if not len(again):
        return inventory
    messages = inventory["message"].to_pylist()
    reasons = inventory["reason"].to_pylist()
    for i in again.tolist():
        reasons[i] = "duplicate_key"
        messages[i] = f"record {lines[i]} names it again after record {lines[i - 1]}; keep one of them"
    for name, values in (("reason", reasons), ("message", messages)):
        at = inventory.schema.get_field_index(name)
        inventory = inventory.set_column(at, inventory.schema.field(at), pa.array(values, pa.string()))
    return inventory


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
    order = np.lexsort((positions(shards, hashes), shards))
    return SplitPlan(
        name=name,
        num_bytes=num_bytes,
        class_counts=class_counts,
        shard_counts=np.bincount(shards, minlength=chosen.num_shards).tolist(),
        balance=measure_balance(labels, sizes, shards, chosen.num_shards),
        reasons=chosen.reasons,
    ), order


def _split(
    good: pa.Table, labels: npt.NDArray[np.int32], options: ConvertOptions
) -> tuple[npt.NDArray[np.int32], list[str]]:
    given = sorted({name for name in pc.unique(good["split"]).to_pylist() if name is not None})
    if options.splits is None:
        names = naming.split_order(set(given)) or ["train"]
        if not given:
            return np.zeros(len(good), np.int32), names
        return pc.index_in(good["split"], pa.array(names)).to_numpy().astype(np.int32), names
    if given:
        msg = f"the source has its own splits ({', '.join(given)}); leave out --splits, or convert one of its folders"
        raise CallError(msg)
    # By content where it is known, so that exact duplicates share a split; else by key.
    known = good["content_sha256"].null_count == 0
    hashes = hash64_column(good["content_sha256" if known else "key"], seed=options.seed, purpose="split")
    # In one order, whatever the user's: the description, which must tell two conversions apart, has none.
    names = naming.split_order(set(options.splits))
    ratios = {name: options.splits[name] for name in names}
    by_hash = options.split_by == "hash"
    split_of = split_by_hash(hashes, ratios) if by_hash else split_stratified(hashes, labels, ratios)
    counts = np.bincount(split_of, minlength=len(names))
    if not counts.all():
        empty = names[int(np.argmin(counts))]
        msg = (
            f"split {empty!r} would get none of the {len(good)} examples; raise its share, or use --split-by stratified"
        )
        raise CallError(msg)
    return split_of, names


def _check_shard_names(options: ConvertOptions, names: list[str]) -> None:
    unknown = sorted(set(options.shards) - set(names)) if isinstance(options.shards, dict) else []
    if unknown:
        msg = f"--shards names the split {unknown[0]!r}; the conversion writes {', '.join(names)}"
        raise CallError(msg)


def _count_duplicates(good: pa.Table, options: ConvertOptions) -> int | None:
    if options.check != "decode":
        return None
    return len(good) - int(pc.count_distinct(good["content_sha256"]).as_py())


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
    missing = [
        name for name, count in zip(classes, labels.counts(np.arange(len(good))), strict=True) if not count
    ]
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
        return f"there are no images in the source, only other files ({kinds})"
    return "there are no images in the source; its folders are empty"
