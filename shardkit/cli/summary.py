"""The tables and lines that `convert`, `plan` and `info` print."""

import shlex
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from shardkit.dataset.index import read_index
from shardkit.dataset.manifest import Manifest
from shardkit.errors import DataError
from shardkit.hashing import sha256_hex
from shardkit.naming import REJECTED, counted, printable
from shardkit.planning.plan import Plan
from shardkit.planning.sizing import format_size
from shardkit.writing.reject_limit import REJECTED_SHOWN, RejectLimit

if TYPE_CHECKING:
    from shardkit.writing.conversion import Outcome

CLASSES_SHOWN = 6  # in one line
CLASSES_LISTED = 40  # in a table


def _line(text: str) -> Text:
    return Text(printable(text))


def table(*columns: str) -> Table:
    """Return an empty table: the first column is text, the others are numbers."""
    made = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True, header_style="bold")
    for i, column in enumerate(columns):
        made.add_column(column, justify="left" if i == 0 else "right", no_wrap=True)
    return made


def splits_table(manifest: Manifest) -> Table:
    """Return a table with one row per split."""
    made = _splits_table("bytes")
    for name, split in manifest.splits.items():
        shard_counts = [shard.num_examples for shard in split.shards]
        balance = split.balance
        _add_split(
            made, name, split.class_counts, shard_counts, split.num_bytes, balance.class_spread, balance.bytes_spread
        )
    return made


def _splits_table(num_bytes: str) -> Table:
    return table(
        "split", "classes", "shards", "examples", num_bytes, "examples\na shard", "a class\na shard", "bytes\napart"
    )


def _add_split(
    made: Table,
    name: str,
    class_counts: list[int],
    shard_counts: list[int],
    num_bytes: int,
    class_spread: int,
    bytes_spread: float,
) -> None:
    made.add_row(
        name,
        f"{sum(map(bool, class_counts)):,}",
        f"{len(shard_counts):,}",
        f"{sum(shard_counts):,}",
        format_size(num_bytes),
        _span(shard_counts),
        _within(class_spread),
        f"{bytes_spread:.2%}",
    )


def _span(counts: list[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _within(spread: int) -> str:
    return "equal" if spread == 0 else f"within {spread}"


def rejected_line(manifest: Manifest) -> str:
    """Return a line with the number of rejected images by reason, and of skipped files by type."""
    by_reason = ", ".join(f"{count:,} {reason}" for reason, count in manifest.rejected.by_reason.items())
    line = f"rejected: {by_reason} (listed by `shardkit info --rejected`)" if by_reason else "rejected: none"
    return line + _skipped(manifest.source.skipped)


def _skipped(skipped: Mapping[str, int]) -> str:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in skipped.items())
    return f"; skipped: {kinds}" if kinds else ""


def rejected_rows(manifest: Manifest) -> list[dict[str, Any]]:
    """Return everything that was left out: key, reason, message and source_bytes of each.

    Raises:
        DataError: the list is missing or no longer what was written.
    """
    where = f"{manifest.root.url}/{REJECTED}"
    (wanted,) = (file.sha256 for file in manifest.files if file.path == REJECTED)
    try:
        raw = manifest.root.read(REJECTED)
    except FileNotFoundError:
        msg = f"{where}: the list is missing; restore it or convert again"
        raise DataError(msg) from None
    if sha256_hex(raw) != wanted:
        msg = f"{where}: the list is not the one that the manifest names; restore it or convert again"
        raise DataError(msg)
    rows: list[dict[str, Any]] = pq.read_table(pa.BufferReader(raw)).to_pylist()
    return rows


def rejected_line_of(row: dict[str, Any]) -> str:
    """Return the line that `info --rejected` prints for a rejected image."""
    return printable(f"{row['key']}: {row['reason']}: {row['message']}")


def classes_line(classes: list[str]) -> str:
    """Return a line with the classes in label order; the middle of a long list is omitted."""
    if not classes:
        return "no classes"
    shown = [repr(name) for name in classes]
    if len(shown) > CLASSES_SHOWN:
        shown = [*shown[: CLASSES_SHOWN - 1], "…", shown[-1]]
    return f"{counted(len(classes), 'class')}: {', '.join(shown)}"


def conversion_summary(outcome: "Outcome", output: str) -> Group:
    """Return what `convert` prints."""
    manifest = outcome.manifest
    num_examples = sum(split.num_examples for split in manifest.splits.values())
    lines = ["", classes_line(manifest.classes), rejected_line(manifest)]
    if not outcome.unchanged:
        bytes_per_second = format_size(int(manifest.source.num_bytes / outcome.seconds))
        rates = f"{num_examples / outcome.seconds:,.0f} images/s, {bytes_per_second}/s"
        # No rates after a resume: the shards of earlier runs took no time of this one.
        before = f"{counted(outcome.finished_before, 'shard')} finished before"
        lines.append(f"{outcome.seconds:.1f} s, {before if outcome.finished_before else rates}")
    first = next(iter(manifest.splits))
    lines += [
        "",
        "Next:",
        f"  shardkit verify {shlex.quote(output)} --deep",
        f"  shardkit info {shlex.quote(output)}",
        f"  python: reader.make_dataset_fn({output!r}, {first!r}, global_batch_size=…, image_size=(224, 224))",
    ]
    return Group("", splits_table(manifest), *map(_line, lines))


def plan_summary(plan: Plan, limit: RejectLimit) -> Group:
    """Return what `plan` prints: the splits and the reasons for the number of shards."""
    made = _splits_table("source\nbytes")
    for split in plan.splits:
        balance = split.balance
        _add_split(
            made,
            split.name,
            split.class_counts,
            split.shard_counts,
            split.num_bytes,
            balance.class_spread,
            balance.bytes_spread,
        )
    # The first reason names the split; the others are indented below it.
    reasons = [f"{'  ' * bool(i)}{reason}" for split in plan.splits for i, reason in enumerate(split.reasons)]
    by_reason = Counter(plan.rejected["reason"].to_pylist())
    rejected = ", ".join(f"{count:,} {reason}" for reason, count in by_reason.most_common()) or "none"
    lines = ["", classes_line(plan.classes), f"rejected: {rejected}{_skipped(plan.source.skipped)}"]
    lines += [
        f"  {printable(row['key'])}: {row['message']}" for row in plan.rejected.slice(0, REJECTED_SHOWN).to_pylist()
    ]
    if len(plan.rejected) > REJECTED_SHOWN:
        lines.append(f"  … and {len(plan.rejected) - REJECTED_SHOWN} more")
    if not limit.allows(len(plan.rejected), plan.source.num_files):
        lines.append(f"more than --max-rejected {limit.text} allows: `convert` would stop here")
    lines += _ties_lines(plan.source.groups, plan.source.duplicates)
    why = ["", "Why so many shards:", *(f"  {reason}" for reason in reasons)]
    shares: list[Table | str] = ["", shares_table(plan)] if len(plan.splits) > 1 else []
    return Group("", made, *shares, *map(_line, [*why, *lines]))


def shares_table(plan: Plan) -> Table:
    """Return a table with the share of each class in each split, next to the requested share."""
    wanted = plan.options.splits or {}
    heads = [f"{split.name}\n{float(wanted[split.name]):.1%}" if wanted else split.name for split in plan.splits]
    made = table("share of" if not wanted else "share of\nwanted", *heads, "examples")
    rows = [("all", [split.num_examples for split in plan.splits])]
    rows += [
        (repr(name), [split.class_counts[label] for split in plan.splits]) for label, name in enumerate(plan.classes)
    ]
    for name, counts in rows[: CLASSES_LISTED + 1]:
        total = sum(counts)
        made.add_row(name, *(f"{part / total:.1%}" if total else "" for part in counts), f"{total:,}")
    if len(rows) > CLASSES_LISTED + 1:
        made.add_row(f"… {len(rows) - CLASSES_LISTED - 1:,} more")
    return made


def info_summary(manifest: Manifest) -> Group:
    """Return what `info` prints."""
    source, index = manifest.source, _indexes(manifest)
    head = f"{manifest.root.url}: dataset {manifest.name!r}, format {manifest.format_version}, from {source.layout}"
    by_class = table("class", *manifest.splits)
    for label, name in list(enumerate(manifest.classes))[:CLASSES_LISTED]:
        by_class.add_row(repr(name), *(f"{split.class_counts[label]:,}" for split in manifest.splits.values()))
    if len(manifest.classes) > CLASSES_LISTED:
        by_class.add_row(f"… {len(manifest.classes) - CLASSES_LISTED:,} more")
    sizes = table("pixels", "smallest", "median", "largest")
    for side, (low, middle, high) in _sides(index).items():
        sizes.add_row(side, f"{low:,}", f"{middle:,}", f"{high:,}")
    lines = [_changes_line(index), rejected_line(manifest)]
    lines += _ties_lines(source.groups, source.duplicates)
    classes: list[Table | str] = [by_class, ""] if manifest.classes else []
    return Group(_line(head), "", splits_table(manifest), "", *classes, sizes, "", *map(_line, lines))


def _ties_lines(groups: int | None, duplicates: int | None) -> list[str]:
    lines = [] if groups is None else [f"groups: {groups:,}"]
    return lines + (
        [f"exact duplicates: {counted(duplicates, 'image')} of the same bytes as another"] if duplicates else []
    )


def _indexes(manifest: Manifest) -> pa.Table:
    columns = ["width", "height", "changes"]
    tables = [read_index(manifest.root, shard.index.path, columns) for _, shard in manifest.shards()]
    return pa.concat_tables(tables).unify_dictionaries()


def _changes_line(index: pa.Table) -> str:
    by_change = Counter[str]()
    for value in pc.value_counts(index["changes"].cast(pa.string())).to_pylist():
        by_change.update({change: value["counts"] for change in value["values"].split(",") if change})
    changes = ", ".join(f"{number:,} {change}" for change, number in sorted(by_change.items()))
    return f"normalised: {changes}" if changes else "normalised: none, all images are stored unchanged"


def _sides(index: pa.Table) -> dict[str, tuple[int, int, int]]:
    sides = {side: index[side].to_numpy() for side in ("width", "height")}
    # The lower of the two middle values, because it occurs in the data.
    return {
        side: (int(all_.min()), int(np.percentile(all_, 50, method="lower")), int(all_.max()))
        for side, all_ in sides.items()
        if len(all_)
    }
