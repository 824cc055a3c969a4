"""Choose the order of training for a table."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from shardkit.errors import CallError
from shardkit.fetch.table.records import RecordTable
from shardkit.order.sampling import class_weighted, sampling_by_name
from shardkit.order.training import (
    BlockOrder,
    BlockwiseOrder,
    FullOrder,
    Order,
    SampledOrder,
    check_blocks,
    no_class_to_sample,
    sampling_in_blocks,
)


def make_order(
    table: RecordTable,
    classes: Sequence[str],
    *,
    training: bool,
    seed: int,
    global_batch_size: int,
    shares: tuple[npt.NDArray[np.int64], Sequence[float]] | None,
    blocks: BlockOrder | None,
    sampling: str | Mapping[str, float],
) -> Order | None:
    """Return the order of training; None for evaluation, which reads in file order."""
    if shares is not None and (blocks is not None or sampling != "natural"):
        raise CallError("a mixture of datasets has its own order; leave out order and sampling")
    if not training:
        if sampling != "natural":
            raise CallError("sampling must be left out of evaluation, which reads every example once")
        return None
    if shares is not None:
        numbers, weights = shares
        mixed = class_weighted(numbers, dict(enumerate(weights)), num_classes=len(weights), seed=seed)
        return SampledOrder(mixed, seed)
    if sampling != "natural":
        if blocks is not None:
            raise sampling_in_blocks()
        if not table.has_class:
            raise no_class_to_sample()
        return SampledOrder(sampling_by_name(table.label, classes, sampling, seed), seed)
    # In a selection, the first example of each shard, without the shards that have none.
    starts = table.starts if table.record is None else np.unique(np.searchsorted(table.record, table.starts))
    return natural_order(starts, seed=seed, global_batch_size=global_batch_size, blocks=blocks)


def natural_order(
    starts: npt.NDArray[np.int64], *, seed: int, global_batch_size: int, blocks: BlockOrder | None
) -> Order:
    """Return the order that reads every example once per epoch."""
    if blocks is None:
        return FullOrder(int(starts[-1]), seed)
    check_blocks(global_batch_size, blocks)
    return BlockwiseOrder(blocks.layout(starts), seed, global_batch_size)
