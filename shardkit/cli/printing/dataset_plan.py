"""What `plan` prints for a dataset that shardkit wrote: how its conversion was planned."""

import json
import shlex
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from rich.console import Group

from shardkit.cli.printing.dataset_summary import rejected_line, ties_lines
from shardkit.cli.printing.lines import Paragraph
from shardkit.cli.printing.splits_table import balance_lines, rows_of, splits_table
from shardkit.dataset.manifest import Manifest
from shardkit.planning.options import ConvertOptions
from shardkit.planning.sizing import choose_num_shards
from shardkit.statistics.indexes import index_statistics

_FLAGS = {"shard_bytes": "--shard-size", "pipelines": "--input-pipelines"}  # others are named like their options
_PLAN_VERSION = "plan_version"  # not an option, though the manifest lists it with them


def dataset_plan_summary(manifest: Manifest, *, explain: bool) -> Group:
    """Return what is printed: options that are not the default, splits, and the reasons for the number of shards."""
    options = {name: value for name, value in manifest.options.items() if name != _PLAN_VERSION}
    default = ConvertOptions().as_json()
    said = " ".join(_option(name, value) for name, value in options.items() if value != default.get(name))
    rows = rows_of(manifest)
    lines = [*balance_lines(rows, manifest.features), rejected_line(manifest)]
    lines += ties_lines(manifest.source.groups, manifest.source.duplicates)
    lines += [f"options: {said or 'the defaults'}"]
    if explain:
        lines += ["", "Number of shards, step by step:"]
        reasons = _reasons(manifest, index_statistics(manifest).source_bytes)
        lines += [f"  {'  ' * bool(i)}{reason}" for one in reasons.values() for i, reason in enumerate(one)]
    head = (
        f"{manifest.root.url} is a dataset, made from {manifest.source.layout}. It was planned like this; to plan "
        "another conversion, give the folder of its images."
    )
    return Group(Paragraph(head), "", splits_table(rows, "bytes"), "", *map(Paragraph, lines))


def dataset_plan_json(manifest: Manifest) -> str:
    """Return the JSON of `plan --json` for a dataset: the same fields, as far as the dataset has them."""
    source_bytes = index_statistics(manifest).source_bytes
    reasons = _reasons(manifest, source_bytes)
    found: dict[str, Any] = {
        "source": manifest.source.model_dump(mode="json"),
        "classes": manifest.classes,
        "splits": {
            name: {
                "num_examples": split.num_examples,
                "source_bytes": source_bytes[name],
                "class_counts": split.class_counts,
                "num_shards": len(split.shards),
                "shard_counts": [shard.num_examples for shard in split.shards],
                "balance": split.balance.model_dump(mode="json"),
                "reasons": list(reasons[name]),
            }
            for name, split in manifest.splits.items()
        },
        "rejected": manifest.rejected.model_dump(mode="json"),
        "options": {name: value for name, value in manifest.options.items() if name != _PLAN_VERSION},
        "plan_digest": manifest.plan_digest,
    }
    return json.dumps(found, indent=1, ensure_ascii=False)


def _reasons(manifest: Manifest, source_bytes: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """Return the reasons for the number of shards of each split, from the options that the manifest has."""
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


def _option(name: str, value: Any) -> str:
    flag = _FLAGS.get(name) or "--" + name.replace("_", "-")
    return flag if value is True else f"{flag} {shlex.quote(_as_text(value))}"


def _as_text(value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{name}={_share(one)}" for name, one in value.items())
    return str(value)


def _share(value: Any) -> str:
    """Return a share of a split, which the manifest has as a fraction, as the user wrote it: 4/5 is 0.8."""
    return f"{float(Fraction(value)):g}" if isinstance(value, str) else str(value)
