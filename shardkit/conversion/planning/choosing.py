"""Choose the examples of a plan among the rows of an inventory, with their labels and splits."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.inventory.columns import LABEL_NAMES, REJECTED_SCHEMA
from shardkit.conversion.inventory.parts import Inventory
from shardkit.conversion.planning.duplicates import (
    NearDuplicates,
    compares_pixels,
    copy_messages,
    find_near_duplicates,
    near_messages,
    reject_repeated_keys,
    with_texts,
)
from shardkit.conversion.planning.earlier_examples import (
    EarlierExamples,
    LeftOut,
    leak_messages,
    leave_out,
    num_shared,
    reject_rows,
    twin_messages,
)
from shardkit.conversion.planning.labels import ExampleLabels, encode_labels
from shardkit.conversion.planning.rows import Rows
from shardkit.conversion.planning.splits.assign_splits import (
    Relations,
    assign_splits,
    between_blocks,
    find_relations,
    margin_of,
)
from shardkit.errors import DataError
from shardkit.naming import first_of
from shardkit.options.groups import ConvertOptions
from shardkit.options.words import named, shown
from shardkit.parallel.for_each import JobEnd
from shardkit.reject_reasons import BAD_SPLIT, BETWEEN_BLOCKS, DUPLICATE, NO_LABEL
from shardkit.sources.columns import IS_UNLABELLED

_KINDS_SHOWN = 12  # of skipped files in a message; each class folder without an image is a kind
_MESSAGE = (
    "it has no split, but other images of the source have one, such as {split!r}; move it into a file or folder that "
    "is named like a split, or convert it separately"
)


@dataclass(frozen=True, slots=True)
class ChosenExamples:
    """The n examples of a plan."""

    table: pa.Table  # the `planned_table` of the inventory
    good: Rows  # their rows of it
    rejected: pa.Table  # the rejected rows, sorted by key
    relations: Relations  # groups and exact duplicates among them
    labels: ExampleLabels  # their labels
    split_of: npt.NDArray[np.int32]  # int32[n], index of each one's split
    names: list[str]  # names of the splits
    near: NearDuplicates | None  # the near-identical images of the source; None if they are not known or do not count
    # Number of good rows with the same bytes as another one, also of those that are left out; None if contents are not
    # known.
    num_duplicates: int | None
    left_out: LeftOut  # what is neither planned nor rejected, because the dataset has it or had it


class NothingNewError(JobEnd):
    """A dataset has, or had, everything good in the source that is appended to it.

    Its facts: `left_out` is what it has or had, by kind; `rejected` are the rejected rows, with exact duplicates;
    `has_written` says whether writing has found it, so that there are shards without an example.
    """

    @classmethod
    def of(cls, left_out: dict[str, int], rejected: pa.Table, *, has_written: bool = False) -> "NothingNewError":
        return cls({"left_out": left_out, "rejected": rejected.to_pylist(), "has_written": has_written})

    @property
    def rejected(self) -> pa.Table:
        return pa.Table.from_pylist(self.facts["rejected"], REJECTED_SCHEMA)


def planned_table(inventory: Inventory, options: ConvertOptions) -> pa.Table:
    """Return the rows of an inventory, with a reason for those that planning rejects."""
    table = _reject_unmarked(reject_repeated_keys(inventory.table))
    if (
        options.splits.splits is None or options.splits.splits_of
    ):  # with `splits` alone, the source must have no splits at all
        table = reject_unsplit(table)
    return table


def choose_examples(inventory: Inventory, options: ConvertOptions, earlier: EarlierExamples | None) -> ChosenExamples:
    """Choose the examples; raise NothingNewError if the dataset that they are appended to has or had all of them."""
    table = planned_table(inventory, options)
    is_bad = pc.is_valid(table["reason"])
    rejected = table.select(REJECTED_SCHEMA.names).filter(is_bad).cast(REJECTED_SCHEMA)
    good = Rows(table).filter(pc.invert(is_bad).to_numpy())
    del is_bad

    def assigned() -> tuple[Relations, ExampleLabels, npt.NDArray[np.int32], list[str]]:
        found = find_relations(good, options)
        if near is not None:
            found = replace(found, near_codes=near.codes_of(good))
        labels = encode_labels(table, good, options, inventory.classes, earlier)
        if not labels.classes and IS_UNLABELLED.name in table.column_names:
            unlabelled = named("unlabelled", True)
            raise DataError(f"no image has a label: `images: unlabelled` marks all; for these images give {unlabelled}")
        return found, labels, *assign_splits(good, labels, found, options, earlier)

    def refuse_nothing() -> None:
        if len(good):
            return
        if left_out.counts or (earlier is not None and DUPLICATE in rejected["reason"].to_pylist()):
            raise NothingNewError.of(left_out.counts, rejected)
        raise nothing_left(rejected, inventory.skipped)

    def reject(messages: Mapping[int, str], reason: str = DUPLICATE) -> None:
        nonlocal good, rejected
        good, rejected = reject_rows(good, rejected, messages, reason)
        refuse_nothing()

    left_out = LeftOut({}, 0)
    if earlier is not None:
        good, rejected, left_out = leave_out(good, rejected, earlier)
    refuse_nothing()
    relations = find_relations(good, options)
    num_duplicates = relations.num_duplicates
    near = find_near_duplicates(good, relations.duplicate_codes, options)
    if earlier is not None and num_duplicates is not None:
        num_duplicates += num_shared(good["content_sha256"], earlier.rows["content_sha256"])
    if earlier is not None and options.dedupe == "drop":
        reject(twin_messages(good, earlier))
        relations = find_relations(good, options)
    if options.dedupe == "drop":
        reject(copy_messages(good, relations))
        if inventory.thumbnails is not None and compares_pixels(options, good.column_names):
            reject(near_messages(good, near, earlier, inventory.thumbnails))
    relations, labels, split_of, names = assigned()
    if (
        earlier is not None
        and options.dedupe in {"group", "identical"}
        and (leaks := leak_messages(good, earlier, split_of, names))
    ):
        reject(leaks)
        relations, labels, split_of, names = assigned()
    block = options.splits.block
    if block is not None and options.splits.splits is not None and relations.groups is not None:
        near_border = between_blocks(good, relations, split_of, names, options, earlier)
        message = f"its `block` of `group_by` is next to one of another split, within {margin_of(block)} numbers"
        reject(dict.fromkeys(np.flatnonzero(near_border).tolist(), message), BETWEEN_BLOCKS)
        rows = np.flatnonzero(~near_border)
        relations, labels, split_of = relations.take(rows), labels.take(rows), split_of[rows]
    return ChosenExamples(table, good, rejected, relations, labels, split_of, names, near, num_duplicates, left_out)


def nothing_left(rejected: pa.Table, skipped: Mapping[str, int]) -> DataError:
    """Return the error for a source without a good image."""
    if len(rejected):
        first = rejected.slice(0, 1).to_pylist()[0]
        return DataError(
            f"none of the {len(rejected)} images is good; the first, {first['key']}: {shown(first['message'])}"
        )
    if skipped:
        kinds = [f"{count} {shown(kind)}" for kind, count in skipped.items()]
        found = first_of(kinds, _KINDS_SHOWN, more="more kinds")
        return DataError(f"there are no images to convert in the source; skipped: {found}")
    return DataError("there are no images in the source; its folders are empty")


def _reject_unmarked(inventory: pa.Table) -> pa.Table:
    """Return the inventory with good rows without a label rejected, unless they have none on purpose."""
    if IS_UNLABELLED.name not in inventory.column_names:
        return inventory  # a source of its own rejects them
    name = LABEL_NAMES if LABEL_NAMES in inventory.column_names else "label_name"
    is_marked = inventory[IS_UNLABELLED.name].cast(IS_UNLABELLED.type).fill_null(False)  # noqa: FBT003
    lacks = pc.and_(pc.is_null(inventory[name]), pc.and_(pc.is_null(inventory["reason"]), pc.invert(is_marked)))
    return _rejected(inventory, lacks, NO_LABEL, "it has no label; give it one, or leave it out")


def _rejected(inventory: pa.Table, rows: pa.ChunkedArray, reason: str, message: str) -> pa.Table:
    """Return the inventory with some rows rejected."""
    texts = {"reason": reason, "message": message}
    return with_texts(
        inventory, {name: pc.if_else(rows, text, inventory[name].cast(pa.string())) for name, text in texts.items()}
    )


def reject_unsplit(inventory: pa.Table) -> pa.Table:
    """Return the inventory with good rows without a split rejected as ``bad_split``, if other good rows have one."""
    good = pc.is_null(inventory["reason"])
    unsplit = pc.and_(good, pc.is_null(inventory["split"]))
    given = pc.drop_null(pc.unique(inventory["split"].filter(good))).to_pylist()
    if not given or not pc.any(unsplit).as_py():
        return inventory
    return _rejected(inventory, unsplit, BAD_SPLIT, _MESSAGE.format(split=min(given)))
