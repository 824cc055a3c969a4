"""The tables that `convert`, `plan` and `info` print."""

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from shardkit.manifest import Manifest

CLASSES_SHOWN = 6


def size(num_bytes: float) -> str:
    """Bytes as people read them, in powers of 1,000 as disks and networks count."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if num_bytes < 1000 or unit == "TB":
            return f"{num_bytes:.0f} {unit}" if unit == "B" else f"{num_bytes:.1f} {unit}"
        num_bytes /= 1000
    raise AssertionError


def table(*columns: str) -> Table:
    """An empty table whose first column is text and whose others are numbers."""
    made = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for i, column in enumerate(columns):
        made.add_column(column, justify="left" if i == 0 else "right", no_wrap=True)
    return made


def splits_table(manifest: Manifest) -> Table:
    """One row a split."""
    made = table(
        "split", "classes", "shards", "examples", "bytes", "examples a shard", "a class a shard", "bytes apart"
    )
    for name, split in manifest.splits.items():
        made.add_row(
            name,
            f"{sum(map(bool, split.class_counts)):,}",
            f"{len(split.shards):,}",
            f"{split.num_examples:,}",
            size(split.num_bytes),
            _span([shard.num_examples for shard in split.shards]),
            _within(split.balance.class_spread),
            f"{split.balance.bytes_spread:.2%}",
        )
    return made


def _span(counts: list[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _within(spread: int) -> str:
    return "equal" if spread == 0 else f"within {spread}"


def rejected_line(manifest: Manifest) -> str:
    """What was left out, by reason, and what was passed over."""
    by_reason = ", ".join(f"{count:,} {reason}" for reason, count in manifest.rejected.by_reason.items())
    line = f"rejected: {by_reason} (see rejected.parquet)" if by_reason else "rejected: none"
    skipped = manifest.source.skipped
    if skipped:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in skipped.items())
        line += f"; skipped, no images by name: {kinds}"
    return line


def classes_line(classes: list[str]) -> str:
    """The classes in label order, the middle left out where there are many."""
    shown = [repr(name) for name in classes]
    if len(shown) > CLASSES_SHOWN:
        shown = [*shown[: CLASSES_SHOWN - 1], "…", shown[-1]]
    return f"{len(classes):,} {'class' if len(classes) == 1 else 'classes'}: {', '.join(shown)}"


def conversion_summary(outcome: Any, output: str) -> Group:
    """What a finished conversion prints."""
    manifest: Manifest = outcome.manifest
    num_examples = sum(split.num_examples for split in manifest.splits.values())
    parts: list[Any] = ["", splits_table(manifest), "", classes_line(manifest.classes), rejected_line(manifest)]
    if not outcome.unchanged:
        rate = num_examples / outcome.seconds
        speed = f"{outcome.seconds:.1f} s, {rate:,.0f} images/s, {manifest.source.num_bytes / outcome.seconds / 1e6:,.1f} MB/s"
        parts.append(speed)
    first = next(iter(manifest.splits))
    return Group(
        *(Text(part) if isinstance(part, str) else part for part in parts),
        Text(""),
        Text("Next:"),
        Text(f"  shardkit verify {output} --deep"),
        Text(f"  shardkit info {output}"),
        Text(f'  python: reader.make_dataset_fn("{output}", "{first}", global_batch_size=…, image_size=(224, 224))'),
    )
