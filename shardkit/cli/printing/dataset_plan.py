"""What `plan` prints for a dataset that shardkit wrote: how its conversion was planned."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group

from shardkit.cli.printing.dataset_summary import rejected_line, ties_lines
from shardkit.cli.printing.lines import Paragraph
from shardkit.cli.printing.splits_table import Row, balance_lines, reasons_lines, rows_of, splits_table
from shardkit.conversion.planning.rules import PLAN_VERSION_KEY, option_text, options_text, reads_written_options
from shardkit.conversion.planning.sizing import choose_num_shards
from shardkit.dataset.manifest import Manifest
from shardkit.options.groups import OPTIONS
from shardkit.statistics.indexes import index_statistics

if TYPE_CHECKING:
    from shardkit.conversion.planning.plan import Plan

REJECTED_LISTED = 100


def dataset_plan_summary(manifest: Manifest, *, explain: bool) -> Group:
    """Return what is printed: options that are not the default, splits, and the reasons for the number of shards."""
    rows = rows_of(manifest)
    lines = [
        *balance_lines(rows, manifest.features, manifest.generations, manifest.root.url),
        rejected_line(manifest, manifest.root.url),
    ]
    lines += ties_lines(manifest.source.groups, manifest.source.duplicates)
    lines += [f"options: {options_text(manifest.options) or 'the defaults'}"]
    if "kept_splits" in manifest.options:
        rule = option_text("splits", OPTIONS["splits"].form.from_json(manifest.options["splits"]))
        lines.append(f"splits: those of the source dataset; appended images are divided by {rule}")
    if explain:
        lines += reasons_lines(_reasons(manifest, index_statistics(manifest).source_bytes).values())
    head = (
        f"{manifest.root.url} is a dataset, made from {manifest.source.layout}. It was planned like this; to plan "
        "another conversion of it, add options such as --splits or --shards."
    )
    return Group(Paragraph(head), "", splits_table(rows, "bytes"), "", *map(Paragraph, lines))


def dataset_plan_json(manifest: Manifest) -> dict[str, Any]:
    """Return the JSON of `plan --json` for a dataset: the same fields, as far as the dataset has them."""
    source_bytes = index_statistics(manifest).source_bytes
    reasons = _reasons(manifest, source_bytes)
    found: dict[str, Any] = {
        "source": manifest.source.model_dump(mode="json"),
        "classes": manifest.classes,
        "splits": {row.name: _split_json(row, source_bytes[row.name], reasons[row.name]) for row in rows_of(manifest)},
        "rejected": manifest.rejected.model_dump(mode="json"),
        "options": {name: value for name, value in manifest.options.items() if name != PLAN_VERSION_KEY},
        "plan_digest": manifest.plan_digest,
    }
    return found


def _split_json(row: Row, source_bytes: int, reasons: Sequence[str]) -> dict[str, Any]:
    return {
        "num_examples": row.num_examples,
        "source_bytes": source_bytes,
        "class_counts": row.class_counts,
        "num_unlabelled": row.num_unlabelled,
        "num_shards": len(row.shard_counts),
        "shard_counts": row.shard_counts,
        "balance": row.balance.model_dump(mode="json"),
        "reasons": list(reasons),
    }


@reads_written_options
def _reasons(manifest: Manifest, source_bytes: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """Return the reasons for the number of shards of each split, from the options that the manifest has."""
    if manifest.generations:
        return {name: (_generations_sentence(manifest, name),) for name in manifest.splits}
    options, shards = manifest.options, manifest.options["shards"]
    return {
        name: choose_num_shards(
            split=name,
            num_examples=split.num_examples,
            num_bytes=source_bytes[name],
            target_bytes=options["shard_bytes"],
            pipelines=options["pipelines"],
            requested=shards.get(name) if isinstance(shards, dict) else shards,
        ).reasons
        for name, split in manifest.splits.items()
    }


def _generations_sentence(manifest: Manifest, split: str) -> str:
    numbers = ", ".join(
        f"{one.splits[split].num_shards:,} of {one.folder or 'the first conversion'}"
        for one in manifest.generations
        if split in one.splits
    )
    return f"{split} has the shards of its generations: {numbers}."


def plan_json(plan: "Plan", *, would_stop: bool) -> dict[str, Any]:
    """Return one JSON object; `would_stop` says that `convert` would stop because of too many rejected images."""
    reasons: dict[str, int] = {}
    for reason in plan.rejected["reason"].to_pylist():
        reasons[reason] = reasons.get(reason, 0) + 1
    found: dict[str, Any] = {
        "source": plan.source.model_dump(mode="json"),
        "classes": plan.classes,
        "splits": {split.name: _split_json(split, split.num_bytes, split.reasons) for split in plan.splits},
        "rejected": {
            "num_examples": len(plan.rejected),
            "by_reason": dict(sorted(reasons.items())),
            "first": plan.rejected.select(["key", "reason", "message"]).slice(0, REJECTED_LISTED).to_pylist(),
            "would_stop": would_stop,
        },
        "findings": [finding.as_json() for finding in plan.findings],
        "options": plan.options.as_json(),
        "plan_digest": plan.digest,
        **({"layout_reasons": list(plan.layout_reasons)} if plan.layout_reasons else {}),
    }
    return found
