"""The plan: the split, shard and position of every key, decided before a record is written.

It is a pure function of the inventory, the options and the versions of libraries.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit import software
from shardkit.conversion.inventory.columns import INVENTORY_SCHEMA, features_of
from shardkit.conversion.inventory.parts import Inventory
from shardkit.conversion.inventory.table import Column, decisive_columns, fingerprint, plain_type, rows_digest
from shardkit.conversion.planning.assign_shards import assign_shards, measure_balance, sort_by
from shardkit.conversion.planning.checks.all_checks import check_relations, collect_findings
from shardkit.conversion.planning.checks.finding import Finding
from shardkit.conversion.planning.checks.losses import sample_range
from shardkit.conversion.planning.choosing import choose_examples
from shardkit.conversion.planning.earlier_examples import EarlierExamples, num_shared
from shardkit.conversion.planning.labels import ExampleLabels
from shardkit.conversion.planning.rows import Rows
from shardkit.conversion.planning.rules import PLAN_VERSION_KEY
from shardkit.conversion.planning.sizing import choose_num_shards
from shardkit.dataset.features import CLASS_LABEL, LABEL
from shardkit.dataset.manifest import Balance, Source
from shardkit.errors import CallError
from shardkit.hashing import canonical_json, hash64_column, sha256_hex
from shardkit.options.groups import ConvertOptions
from shardkit.options.values import AUTO_SCALE
from shardkit.options.words import named
from shardkit.sources.claim import Claim, UsedFile
from shardkit.sources.columns import GROUP, IS_UNLABELLED, LAST_CLASS, LINE, NUM_CLIPPED, TRAITS
from shardkit.sources.readings.text import to_data

PLAN_VERSION = 3

# A compacted inventory has narrower types, which depend on its values.
_TYPE_OF = {field.name: field for field in INVENTORY_SCHEMA}
_NOT_PLANNED = {
    *("split", "label_name", "mtime_ns", "reason", "message"),
    *(field.name for field in (IS_UNLABELLED, LINE, GROUP, LAST_CLASS, NUM_CLIPPED, *TRAITS)),
}


def plan_schema(inventory_schema: pa.Schema, *, with_groups: bool = False) -> pa.Schema:
    """Return the columns of a plan: a row for each example, sorted by split, shard (see SplitPlan) and position."""
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
    """One split of a plan.

    Attributes:
        name: Name of the split.
        num_bytes: Size of the raw files in bytes.
        class_counts: Number of examples of each class, in label order.
        num_unlabelled: Number of images that have no label on purpose.
        shard_counts: Number of examples of each shard.
        balance: Balance of the shards, in examples and source bytes.
        reasons: Sentences that explain the number of shards.
    """

    name: str
    num_bytes: int
    class_counts: list[int]
    num_unlabelled: int
    shard_counts: list[int]
    balance: Balance
    reasons: tuple[str, ...]

    @property
    def num_examples(self) -> int:
        return sum(self.shard_counts)

    @property
    def num_shards(self) -> int:
        return len(self.shard_counts)


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole plan.

    Attributes:
        schema: Columns of the plan; see plan_schema.
        examples: All rows of the inventory, including rejected ones, with these columns.
        order: uint[num_examples], rows of `examples` in the order in which they are written.
        splits: The splits, in the order in which they are written.
        classes: Class names in label order.
        rejected: Rejected rows, with REJECTED_SCHEMA, sorted by key.
        source: The source, as the manifest describes it.
        options: Options of the conversion.
        examples_digest: The `rows_digest` of the examples.
        findings: Facts about the source that the user should check; see `shardkit.conversion.planning.checks`.
        claims: What the files in the source that name images say about them.
        used_files: Files, besides the images, that the source is read with.
        layout_reasons: Why the source's layout was chosen, and files that say something else; () if nobody asked.
    """

    schema: pa.Schema
    examples: pa.Table
    order: npt.NDArray[np.integer[Any]]
    splits: list[SplitPlan]
    classes: list[str]
    rejected: pa.Table
    source: Source
    options: ConvertOptions
    examples_digest: str
    findings: tuple[Finding, ...] = field(default=())
    claims: tuple[Claim, ...] = ()
    used_files: tuple[UsedFile, ...] = ()
    layout_reasons: tuple[str, ...] = ()

    @property
    def num_examples(self) -> int:
        return len(self.order)

    def rows(self, start: int, count: int) -> pa.Table:
        """Return rows [start, start + count) in the order in which they are written."""
        return self.examples.take(pa.array(self.order[start : start + count])).cast(self.schema)

    @property
    def num_shards(self) -> int:
        return sum(split.num_shards for split in self.splits)

    def description(self) -> dict[str, Any]:
        """Return everything that decides the bytes of this conversion: equal descriptions give equal bytes.

        A conversion continues only what has the same description.
        """
        known = known_description(self.options, self.source.layout, None)
        return {**known, "source": self.source.fingerprint, "classes": self.classes}

    @property
    def digest(self) -> str:
        """A sha256 of what decides the bytes of the shards and their indexes, which repeat it.

        It is equal for sources that have the same examples in another layout, such as the rows of a PCollection, and
        does not depend on what is rejected.
        """
        decides = {**self.description(), "source": self.examples_digest}
        del decides["layout"]
        return sha256_hex(canonical_json(decides))


def known_description(options: ConvertOptions, layout: str, classes: list[str] | None) -> dict[str, Any]:
    """Return the part of Plan.description() that is known before the source is listed."""
    known = {
        PLAN_VERSION_KEY: PLAN_VERSION,
        "name": options.name,
        "layout": layout,
        "options": options.as_json(),
        "software": software.versions(),
    }
    return known if classes is None else {**known, "classes": classes}


def make_plan(
    inventory: Inventory,
    options: ConvertOptions,
    earlier: EarlierExamples | None = None,
    *,
    is_explicit: bool = False,
) -> Plan:
    """Decide the split, shard and position of every good file; `is_explicit`: no reading is refused as wrong."""
    rules, options = options, options.applied()
    chosen = choose_examples(inventory, options, earlier)
    table, good, rejected, labels = chosen.table, chosen.good, chosen.rejected, chosen.labels
    split_of, names = chosen.split_of, chosen.names
    if options.stored.has_open_scale:
        found = sample_range(good)
        if found is None:
            msg = f"{named('bit_depth', AUTO_SCALE)} has no effect: no image has 16 bits a channel; leave it out"
            raise CallError(msg)
        scale = {"bit_depth": f"scale={found[0]}:{found[1]}"}
        rules, options = rules.changed(scale), options.changed(scale)
    if earlier is None:
        options.shards.check_split_names(names)
    repeated = check_relations(chosen, options, earlier)
    groups, num_groups = chosen.relations.groups, chosen.relations.num_groups
    if earlier is not None and groups is not None and num_groups is not None:
        num_groups -= num_shared(groups, earlier.rows["group"])
    num_duplicates, left_out = chosen.num_duplicates, chosen.left_out
    del chosen
    # Each of the following has a row for each example and takes gigabytes, so it is freed as soon as possible.
    hashes = hash64_column(good.lazy_column("key"), seed=options.seed, purpose="position")
    order = np.argsort(split_of, kind="stable").astype(np.uint32 if len(good) < 1 << 32 else np.uint64)
    ends = np.cumsum(np.bincount(split_of, minlength=len(names))).tolist()
    del split_of
    splits = []
    for name, start, end in zip(names, [0, *ends], ends, strict=False):
        splits.append(_plan_split(name, order[start:end], good, labels, hashes, options))
    del hashes
    class_counts = {split.name: split.class_counts for split in splits}
    findings = collect_findings(
        inventory, good, rejected, labels, class_counts, repeated, options, earlier, is_explicit=is_explicit
    )
    examples = table.append_column("label", pa.array(good.scatter(labels.strata)))
    if groups is not None:
        examples = examples.drop_columns([name for name in (GROUP.name,) if name in examples.column_names])
        examples = examples.append_column(GROUP.name, good.scatter_column(groups))
    if good.numbers is not None:
        order = good.numbers[order]
    schema = plan_schema(table.schema, with_groups=groups is not None)
    return Plan(
        schema=schema,
        examples=examples.select(schema.names),
        order=order,
        splits=splits,
        classes=labels.classes,
        rejected=rejected,
        source=Source(
            layout=inventory.layout,
            reading=None if inventory.reading is None else to_data(inventory.reading),
            num_files=len(table) - left_out.num_rows,
            num_bytes=int(pc.sum(table["source_bytes"]).as_py() or 0) - left_out.num_bytes,
            skipped={**inventory.skipped, **left_out.counts},
            groups=num_groups,
            duplicates=num_duplicates,
            fingerprint=fingerprint(table, inventory.origin),
        ),
        options=rules,
        examples_digest=_examples_digest(good, groups),
        findings=findings,
        claims=inventory.claims,
        used_files=inventory.used_files,
    )


def _examples_digest(good: Rows, groups: pa.ChunkedArray | None) -> str:
    columns: dict[str, Column] = {name: good.lazy_column(name) for name in decisive_columns(good.table)}
    if groups is None:
        columns.pop(GROUP.name, None)
    else:
        columns[GROUP.name] = groups
    return rows_digest(good.table.schema, columns)


def _plan_split(
    name: str,
    rows: npt.NDArray[np.unsignedinteger],
    good: Rows,
    labels: ExampleLabels,
    hashes: npt.NDArray[np.uint64],
    options: ConvertOptions,
) -> SplitPlan:
    """Assign the examples of one split to shards, and sort its rows in place into the order of writing."""
    # Sorted by class and hash, so that assigning needs no copies in another order.
    sort_by(rows, labels.strata[rows], hashes)
    strata, sizes = labels.strata[rows], good["source_bytes"].to_numpy()[rows]
    num_bytes = int(sizes.sum(dtype=np.int64))
    chosen = choose_num_shards(
        split=name,
        num_examples=len(rows),
        num_bytes=num_bytes,
        target_bytes=options.shards.shard_size,
        pipelines=options.shards.input_pipelines,
        requested=options.shards.of_split(name),
    )
    shards = assign_shards(strata, sizes, chosen.num_shards)
    balance = measure_balance(strata, sizes, shards, chosen.num_shards)
    del strata, sizes
    planned = SplitPlan(
        name=name,
        num_bytes=num_bytes,
        class_counts=labels.counts(rows),
        num_unlabelled=labels.num_unlabelled(rows),
        shard_counts=np.bincount(shards, minlength=chosen.num_shards).tolist(),
        balance=balance,
        reasons=chosen.reasons,
    )
    sort_by(rows, shards, hashes)
    return planned
