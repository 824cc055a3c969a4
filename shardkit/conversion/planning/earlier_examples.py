"""What the examples of a dataset mean for the plan of the examples that are appended to it.

Old examples keep their split and their label, so the plan follows them: new classes come after the old ones, and an
image whose group or bytes are in the dataset belongs to the split that has them.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.inventory.columns import REJECTED_SCHEMA
from shardkit.conversion.planning.rows import Rows
from shardkit.errors import CallError
from shardkit.naming import split_order
from shardkit.reject_reasons import DUPLICATE

# Kinds of good images that are left out and counted, but not listed: `rejected.parquet` is for what is bad, and may not
# name what was removed.
KNOWN = "already in the dataset"
WITHDRAWN = "removed from the dataset before"
LEFT_OUT = (KNOWN, WITHDRAWN)


EARLIER_SCHEMA = pa.schema(
    [
        pa.field("key", pa.string()),
        pa.field("split", pa.string()),
        pa.field("label_name", pa.string()),  # null unless the example has exactly one class
        pa.field("content_sha256", pa.binary(32)),
        pa.field("source_bytes", pa.int64()),  # of the raw file; null if only that of the stored one is known
        pa.field("group", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class EarlierExamples:
    """The examples of a dataset that the new examples have something in common with."""

    classes: Sequence[str] = ()  # all classes of the dataset, in label order
    # Those with the key or the content of a new one, and one of each split with its group, or with a block next to it.
    rows: pa.Table = field(default_factory=EARLIER_SCHEMA.empty_table)
    withdrawn: Collection[str] = ()  # keys, also of bad images, of what was removed from the dataset and stays out
    # sha256 of new files that are nearly identical to examples of the dataset: the splits of these.
    near: Mapping[bytes, Collection[str]] = field(default_factory=dict)
    copies: Collection[bytes] = ()  # those of them whose pixels are those of an example

    def sharing(self, name: str, column: pa.ChunkedArray) -> dict[int, list[dict[str, Any]]]:
        """Return the rows of a column of new examples whose value is in that column of these, each with these."""
        of_value: dict[Any, list[dict[str, Any]]] = {}
        for row in self.rows.to_pylist():
            if row[name] is not None:
                of_value.setdefault(row[name], []).append(row)
        rows = rows_with(column, of_value)
        values = column.take(pa.array(rows)).to_pylist()
        return {int(row): of_value[value] for row, value in zip(rows, values, strict=True)}


def joined_classes(earlier: EarlierExamples, found: Sequence[str]) -> list[str]:
    """Return the dataset's classes, then the new ones in their order."""
    return list(dict.fromkeys([*earlier.classes, *found]))


def joined_mask_classes(earlier: EarlierExamples, given: Sequence[str], numbers: Sequence[str]) -> list[str]:
    """Return the classes of masks, whose pixels are class numbers.

    `numbers` are those of the new source, which stand for the names of classes that have none.
    """
    if list(earlier.classes) == [str(number) for number in range(len(earlier.classes))]:
        # Nobody named them. Masks without any number are such that planning could not name; see `numbers_of_masks`.
        known = max(earlier.classes, numbers, key=len) if earlier.classes else ()
        return [*given, *known[len(given) :]]
    if wrong := [number for number, (old, new) in enumerate(zip(earlier.classes, given, strict=False)) if old != new]:
        number = wrong[0]
        raise CallError(
            f"the pixels of masks are class numbers, and {number} is {earlier.classes[number]!r} in the dataset and "
            f"{given[number]!r} in SOURCE; renumber the masks of SOURCE, or convert it to a dataset of its own"
        )
    return joined_classes(earlier, given)


class LeftOut(NamedTuple):
    """Rows that are left out because the dataset has them, or had them."""

    counts: dict[str, int]  # their number by kind; see LEFT_OUT
    num_bytes: int  # size of their files

    @property
    def num_rows(self) -> int:
        return sum(self.counts.values())


def leave_out(good: Rows, rejected: pa.Table, earlier: EarlierExamples) -> tuple[Rows, pa.Table, LeftOut]:
    """Leave out the rows whose keys the dataset has, and good and rejected ones that were removed from it."""
    kept = np.ones(len(good), np.bool_)
    counts = {}
    for kind, keys in ((KNOWN, earlier.rows["key"].to_pylist()), (WITHDRAWN, earlier.withdrawn)):
        rows = rows_with(good["key"], keys) if keys else np.zeros(0, np.intp)
        counts[kind] = int(np.count_nonzero(kept[rows]))
        kept[rows] = False
    removed = pc.is_in(rejected["key"], pa.array(list(earlier.withdrawn), pa.string()))
    counts[WITHDRAWN] += pc.sum(removed).as_py() or 0
    sizes = [good.filter(~kept)["source_bytes"], rejected.filter(removed)["source_bytes"]]
    num_bytes = sum(pc.sum(one).as_py() or 0 for one in sizes)
    left_out = LeftOut({kind: count for kind, count in counts.items() if count}, num_bytes)
    return good.filter(kept), rejected.filter(pc.invert(removed)), left_out


def twin_messages(good: Rows, earlier: EarlierExamples) -> dict[int, str]:
    """Return the rows whose bytes the dataset has, each with the message that rejects it."""
    return {
        row: f"it has the same bytes as {min(one['key'] for one in twins)}, which is in the dataset"
        for row, twins in earlier.sharing("content_sha256", good["content_sha256"]).items()
    }


def reject_rows(
    good: Rows, rejected: pa.Table, messages: Mapping[int, str], reason: str = DUPLICATE
) -> tuple[Rows, pa.Table]:
    """Reject rows; return the rows that are left, and all rejected rows, sorted by key."""
    if not messages:
        return good, rejected
    rows = np.array(sorted(messages))
    columns = {
        "key": good["key"].take(rows).to_pylist(),
        "reason": [reason] * len(rows),
        "message": [messages[row] for row in rows.tolist()],
        "source_bytes": good["source_bytes"].take(rows).to_pylist(),
    }
    kept = np.ones(len(good), np.bool_)
    kept[rows] = False
    table = pa.concat_tables([rejected, pa.Table.from_pydict(columns, REJECTED_SCHEMA)]).sort_by("key")
    return good.filter(kept), table


def rows_with(column: pa.ChunkedArray, values: Collection[Any]) -> npt.NDArray[np.intp]:
    """Return the rows of a column that have one of some values, ascending."""
    type_ = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_null(type_):
        return np.zeros(0, np.intp)
    return np.flatnonzero(pc.is_in(column, pa.array(list(values), type_)).to_numpy())


def num_shared(column: pa.ChunkedArray, of_dataset: pa.ChunkedArray) -> int:
    """Return the number of different values of a column that the dataset has, too."""
    values = of_dataset.drop_null().to_pylist()
    return len(pc.unique(column.take(pa.array(rows_with(column, values))))) if values else 0


def forced_splits(
    good: Rows,
    earlier: EarlierExamples,
    groups: pa.ChunkedArray | None,
    atomic_groups: npt.NDArray[np.int64] | None,
    *,
    with_duplicates: bool,
) -> dict[int, str]:
    """Return the rows that belong to a split because of the dataset's examples, each with its split.

    A group decides before a content, and all rows of an atomic group follow one of them.
    """
    forced: dict[int, str] = {}
    if with_duplicates:
        contents = good["content_sha256"]
        rows = rows_with(contents, earlier.near)
        found = zip(rows, contents.take(pa.array(rows)).to_pylist(), strict=True)
        forced = {int(row): _first(earlier.near[content]) for row, content in found}
        forced |= _followed(earlier.sharing("content_sha256", contents))
    decided = {} if groups is None else _followed(earlier.sharing("group", groups))
    forced |= decided
    if atomic_groups is None or not forced:
        return forced
    split_of_group: dict[int, str] = {}
    for row in sorted(forced, key=lambda row: (row not in decided, row)):
        if atomic_groups[row] >= 0:
            split_of_group.setdefault(int(atomic_groups[row]), forced[row])
    member = np.isin(atomic_groups, np.array(list(split_of_group), np.int64))
    return forced | {int(row): split_of_group[int(atomic_groups[row])] for row in np.flatnonzero(member)}


def _followed(sharing: Mapping[int, Sequence[Mapping[str, Any]]]) -> dict[int, str]:
    """Return the split to follow of each row; see `EarlierExamples.sharing`."""
    return {row: _first({one["split"] for one in some}) for row, some in sharing.items()}


def _first(splits: Collection[str]) -> str:
    """Return the split to follow if the dataset itself has a leak: training before evaluation."""
    return split_order(set(splits))[0]


def leak_messages(
    good: Rows, earlier: EarlierExamples, split_of: npt.NDArray[np.int32], names: Sequence[str]
) -> dict[int, str]:
    """Return the rows whose bytes the dataset has in another split than theirs, each with the message that rejects it.

    The source or a group has decided their split, so that they cannot follow their twin.
    """
    messages = {}
    for row, twins in earlier.sharing("content_sha256", good["content_sha256"]).items():
        split, key = min((one["split"], one["key"]) for one in twins)
        if (name := names[split_of[row]]) not in {one["split"] for one in twins}:
            messages[row] = f"it would be in {name!r}; the dataset has the same bytes in {split!r}: {key}"
    return messages
