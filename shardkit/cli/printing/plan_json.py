"""The JSON of `plan --json`; shardkit/dataset/README.md documents its fields."""

from typing import Any

from shardkit.conversion.planning.plan import Plan

REJECTED_LISTED = 100


def plan_json(plan: Plan, *, would_stop: bool) -> dict[str, Any]:
    """Return one JSON object.

    Args:
        plan: The plan.
        would_stop: Whether `convert` would stop because of too many rejected images.
    """
    reasons: dict[str, int] = {}
    for reason in plan.rejected["reason"].to_pylist():
        reasons[reason] = reasons.get(reason, 0) + 1
    found: dict[str, Any] = {
        "source": plan.source.model_dump(mode="json"),
        "classes": plan.classes,
        "splits": {
            split.name: {
                "num_examples": split.num_examples,
                "source_bytes": split.num_bytes,
                "class_counts": split.class_counts,
                "num_unlabelled": split.num_unlabelled,
                "num_shards": split.num_shards,
                "shard_counts": split.shard_counts,
                "balance": split.balance.model_dump(mode="json"),
                "reasons": list(split.reasons),
            }
            for split in plan.splits
        },
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
