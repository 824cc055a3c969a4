"""`shardkit.sampler`: check the arguments of a call, and choose the order that they describe."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np

from shardkit.arguments.checks import folder, one_of, optional, text, weights, whole_number
from shardkit.arguments.suggestions import suggest_arguments
from shardkit.dataset.manifest import Manifest, read_manifest
from shardkit.fetch.orders import make_order, natural_order
from shardkit.fetch.table.records import load_table
from shardkit.fetch.table.selection import SELECTION_CHECKS, select_labelled
from shardkit.hashing import MAX_SEED
from shardkit.order.batches import MAX_BATCH, MAX_STEP, check_worker_index
from shardkit.order.training import BlockOrder, Order, check_order
from shardkit.records.sampler import Sampler, check_step

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
    **SELECTION_CHECKS,
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
    return Sampler(_make_order(manifest, call, blocks), call)


def _block_order(found: Any) -> BlockOrder | None:
    if isinstance(found, BlockOrder):
        return found
    return BlockOrder() if one_of("full", "block")("order", found) == "block" else None


def _make_order(manifest: Manifest, call: Mapping[str, Any], blocks: BlockOrder | None) -> Order:
    batch: dict[str, Any] = {name: call[name] for name in ("seed", "global_batch_size")}
    selection = {name: call[name] for name in ("where", "fold", "take")}
    is_selected = any(value is not None for value in selection.values())
    split = manifest.split(call["split"])
    counts = [shard.num_examples for shard in split.shards if shard.num_examples]
    if counts and not (is_selected or split.num_unlabelled) and call["sampling"] == "natural":
        # The order of all examples follows from the manifest, and no index is read.
        num_examples, order = sum(counts), natural_order(np.cumsum([0, *counts]), blocks=blocks, **batch)
    else:
        table = select_labelled(load_table(manifest, call["split"]), training=True, **selection)
        num_examples, sampling = table.num_examples, call["sampling"]
        made = make_order(
            table, manifest.classes, training=True, shares=None, blocks=blocks, sampling=sampling, **batch
        )
        assert made is not None  # noqa: S101 - in training there is one
        order = made
    check_order(order, num_examples, call["global_batch_size"], is_selected=is_selected)
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
    fold: tuple[int, int] | None = None,
    take: int | None = None,
) -> Sampler:
    """Return the order of training as indices of the sequence of ``shardkit.open``, without TensorFlow.

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
        where: A condition on the index; give it, `fold` and `take` to ``shardkit.open``, too.
        fold: (index, count): the examples of all folds but one, for cross-validation; see ``shardkit.open``.
        take: Number of examples to keep, always the same ones.

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
        fold=fold,
        take=take,
    )
