"""`shardkit.sampler`: check the arguments of a call, and choose the order that they describe."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np

from shardkit.arguments.checks import folder, one_of, optional, text, weights, whole_number
from shardkit.arguments.suggestions import suggest_arguments
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


def _make_sampler(dataset: str, **given: Any) -> Sampler:
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


@suggest_arguments(
    other_words={
        "batch_size": "global_batch_size= is the number of examples of a step over all workers",
        "rank": "worker_index= is the rank, num_workers= the number of ranks",
        "num_replicas": "num_workers= is the number of ranks, worker_index= the rank",
        "world_size": "num_workers= is the number of ranks, worker_index= the rank",
        "shuffle": "each epoch is another permutation; without shuffling, no sampler is needed",
        "drop_last": "batches are always whole, and continue in the next epoch",
        "epoch": "start_step= is the step to start at",
    },
    example="shardkit.sampler('OUT', 'train', global_batch_size=64)",
)
def sampler(
    dataset: str,
    split: str,
    *,
    global_batch_size: int,
    num_workers: int = 1,
    worker_index: int | None = None,
    seed: int = 0,
    start_step: int = 0,
    num_steps: int | None = None,
    order: OrderName = "full",
    sampling: Sampling = "natural",
    where: str | None = None,
) -> Sampler:
    """Return the order of training as indices of ``shardkit.open(dataset, split, where=where)``, without TensorFlow.

    The global batches are those of ``shardkit.reader.make_dataset_fn`` with the same arguments, for any number of
    workers. For PyTorch it is a ``sampler``, its ``batches`` a ``batch_sampler``; ``grain()`` gives Grain's.

    Args:
        dataset: The dataset's folder, local or s3:// or gs://, or its ``manifest.json``.
        split: Name of the split.
        global_batch_size: Examples of a step over all workers; a multiple of `num_workers`.
        num_workers: Number of training processes (ranks) that each read their own part of every batch. The worker
            processes of a ``DataLoader`` do not count.
        worker_index: Number of this process, from 0; required with several workers.
        seed: Seed of the order, 0 to 2**63 - 1.
        start_step: Global step to start at, which resumes a training.
        num_steps: Number of steps of an iteration; None for an endless one. ``steps_per_epoch`` is the number that
            returns every example at least once.
        order: "full" is a permutation of all examples, a new one each epoch. "block", or a
            ``shardkit.order.BlockOrder``, permutes blocks of consecutive records and shuffles a bounded number of them
            together.
        sampling: "natural" returns every example once per epoch, "class_balanced" every class equally often; or weights
            by class name.
        where: A condition on the index; the indices are those of the sequence with the same condition.

    Raises:
        shardkit.errors.DataError: The dataset or an index is missing or damaged.
        shardkit.errors.UnknownNameError: There is no such split or class.
        shardkit.errors.CallError: An argument is wrong, arguments do not go together, or the split cannot fill a batch.
    """
    return _make_sampler(
        folder("dataset", dataset),
        split=split,
        global_batch_size=global_batch_size,
        num_workers=num_workers,
        worker_index=worker_index,
        seed=seed,
        start_step=start_step,
        num_steps=num_steps,
        order=order,
        sampling=sampling,
        where=where,
    )
