"""Make a sampler from a call of `shardkit.sampler`: check the arguments, and choose the order that they describe."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np

from shardkit.arguments.checks import one_of, optional, text, weights, whole_number
from shardkit.dataset.features import CLASS_LABEL, LABEL
from shardkit.dataset.manifest import Manifest, read_manifest
from shardkit.errors import CallError, DataError
from shardkit.hashing import MAX_SEED
from shardkit.order.batches import MAX_BATCH, MAX_STEP, check_worker_index
from shardkit.order.sampling import sampling_by_name
from shardkit.order.training import (
    BlockOrder,
    BlockwiseOrder,
    FullOrder,
    Order,
    SampledOrder,
    check_blocks,
    check_order,
    no_class_to_sample,
    sampling_in_blocks,
)
from shardkit.records.sampler import Sampler, check_step
from shardkit.records.sequence import Examples

OrderName: TypeAlias = Literal["full", "block"] | BlockOrder
Sampling: TypeAlias = Literal["natural", "class_balanced"] | Mapping[str, float]

_CHECKS = {
    "split": text,
    "global_batch_size": whole_number(1, MAX_BATCH),
    "num_workers": whole_number(),
    "worker_index": optional(whole_number()),
    "seed": whole_number(0, MAX_SEED),
    "start_step": check_step,
    "num_steps": optional(whole_number(1, MAX_STEP)),
    "sampling": weights("'natural', 'class_balanced' or weights by class", "natural", "class_balanced"),
    "where": optional(text),
}


def make_sampler(dataset: str, **given: Any) -> Sampler:
    """Make the sampler of one worker; see `shardkit.sampler`."""
    call = {name: check(name, given[name]) for name, check in _CHECKS.items()}
    call["worker_index"] = check_worker_index(call["num_workers"], call["worker_index"])
    blocks = _block_order(given["order"])
    manifest = read_manifest(dataset)
    call = {
        "dataset": f"{manifest.root.url}@sha256:{manifest.digest}",
        "split": manifest.split_name(call.pop("split")),
        **call,
        "order": given["order"],
    }
    return Sampler(_make_order(dataset, manifest, call, blocks), call)


def _block_order(found: Any) -> BlockOrder | None:
    if isinstance(found, BlockOrder):
        return found
    return BlockOrder() if one_of("full", "block")("order", found) == "block" else None


def _make_order(dataset: str, manifest: Manifest, call: Mapping[str, Any], blocks: BlockOrder | None) -> Order:
    sampling, seed, global_batch_size = call["sampling"], call["seed"], call["global_batch_size"]
    has_class = manifest.features.get(LABEL) == CLASS_LABEL
    if sampling != "natural" and not has_class:
        raise no_class_to_sample()
    if sampling != "natural" and blocks is not None:
        raise sampling_in_blocks()
    counts = [shard.num_examples for shard in manifest.split(call["split"]).shards]
    examples = None
    # The order of all examples follows from the manifest, and no index is read.
    if call["where"] is not None or sampling != "natural":
        examples = Examples(dataset, call["split"], call["where"], columns=["label"])
        counts = examples.shard_counts
    num_examples = sum(counts)
    if not num_examples:
        if call["where"] is None:
            raise DataError(f"{manifest.root.url}: split {call['split']!r} has no examples")
        raise CallError(f"where={call['where']!r} is met by none of the examples of the split")
    order: Order
    if examples is not None and sampling != "natural":
        labels = examples.index["label"].fill_null(-1).to_numpy()
        order = SampledOrder(sampling_by_name(labels, manifest.classes, sampling, seed), seed)
    elif blocks is not None:
        check_blocks(global_batch_size, blocks)
        starts = np.concatenate(([0], np.cumsum([count for count in counts if count]))).astype(np.int64)
        order = BlockwiseOrder(blocks.layout(starts), seed, global_batch_size)
    else:
        order = FullOrder(num_examples, seed)
    check_order(order, num_examples, global_batch_size, is_selected=call["where"] is not None)
    return order
