"""Training order for `shardkit.open`: the same global batches as the reader's, for PyTorch, Grain and custom loops.

The index at a step is a function of the step: any number of workers share the same global batches, and training resumes
from one integer.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from shardkit.arguments.checks import one_of, optional, text, weights, whole_number
from shardkit.dataset.features import CLASS_LABEL, LABEL
from shardkit.dataset.manifest import Manifest, read_manifest
from shardkit.errors import CallError, DataError
from shardkit.hashing import MAX_SEED
from shardkit.order.batches import MAX_BATCH, MAX_STEP, BatchLayout, check_enough, check_worker_index, steps_per_epoch
from shardkit.order.sampling import sampling_by_name
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
from shardkit.records.grain_sampler import GrainSampler
from shardkit.records.sequence import Examples

OrderName: TypeAlias = Literal["full", "block"] | BlockOrder
Sampling: TypeAlias = Literal["natural", "class_balanced"] | Mapping[str, float]

_COMPUTED_TOGETHER = 1 << 13  # positions: NumPy's cost for a call is then below a microsecond for each
_CHECKS = {
    "split": text,
    "global_batch_size": whole_number(1, MAX_BATCH),
    "num_workers": whole_number(),
    "worker_index": optional(whole_number()),
    "seed": whole_number(0, MAX_SEED),
    "start_step": whole_number(0, MAX_STEP - 1),
    "num_steps": optional(whole_number(1, MAX_STEP)),
    "sampling": weights("'natural', 'class_balanced' or weights by class", "natural", "class_balanced"),
    "where": optional(text),
}


class Sampler(Iterable[int]):
    """Indices of one worker's examples, step after step; endless unless `num_steps` is given.

    Pass it to PyTorch's ``DataLoader`` as ``sampler=``, or its `batches` as ``batch_sampler=``.

    Attributes:
        layout: The division of a global batch among the workers.
        num_examples: Number of different examples in the order.
        num_steps: Number of steps of an iteration; None for an endless one.
    """

    def __init__(self, order: Order, call: Mapping[str, Any]) -> None:
        """Make the sampler of one worker.

        Args:
            order: The order of training.
            call: The checked arguments of `shardkit.sampler`.

        Raises:
            CallError: The workers cannot divide the global batch, or cannot share the order.
        """
        self._order, self._call = order, dict(call)
        self.layout = BatchLayout(call["global_batch_size"], call["num_workers"], call["worker_index"])
        order.check_workers(self.layout.num_workers)
        self.num_examples = order.num_examples
        self.num_steps: int | None = call["num_steps"]
        self._computed: tuple[int, npt.NDArray[np.int64]] = -1, np.zeros(0, np.int64)

    @property
    def start_step(self) -> int:
        """Global step at which an iteration starts; assign another one before the next iteration."""
        return int(self._call["start_step"])

    @start_step.setter
    def start_step(self, step: int) -> None:
        self._call["start_step"] = _CHECKS["start_step"]("start_step", step)

    @property
    def seed(self) -> int:
        """Seed of the order."""
        return int(self._call["seed"])

    @property
    def batch_size(self) -> int:
        """Examples of a step for this worker."""
        return self.layout.per_worker_batch_size

    @property
    def steps_per_epoch(self) -> int:
        """ceil(num_examples / global_batch_size): the steps that return every example at least once."""
        return steps_per_epoch(self.num_examples, self.layout.global_batch_size)

    def __iter__(self) -> Iterator[int]:
        return itertools.chain.from_iterable(self.batches)

    def __len__(self) -> int:
        """Return the number of indices of an iteration.

        Raises:
            TypeError: The sampler is endless.
        """
        return self.batch_size * len(self.batches)

    @property
    def batches(self) -> "Batches":
        """The batches of this worker: a batch sampler for PyTorch, one list of indices for each step."""
        return Batches(self)

    def batch(self, step: int) -> list[int]:
        """Return the indices of this worker at a step.

        Raises:
            CallError: The step is negative or no whole number.
        """
        step = whole_number(0, MAX_STEP - 1)("step", step)
        at = step % self._steps_together * self.batch_size
        found: list[int] = self._ids_from(step // self._steps_together)[at : at + self.batch_size].tolist()
        return found

    def __getitem__(self, number: int) -> int:
        """Return the index at a number of the iteration, from 0.

        Raises:
            IndexError: The number is below 0, or the iteration ends before it.
        """
        steps, within = divmod(number, self.batch_size)
        if not 0 <= steps < (MAX_STEP if self.num_steps is None else self.num_steps):
            msg = f"the iteration has no number {number}"
            raise IndexError(msg)
        step = self.start_step + steps
        at = step % self._steps_together * self.batch_size + within
        return self._ids_from(step // self._steps_together).item(at)

    def grain(self, worker_count: int = 1) -> GrainSampler:
        """Return a sampler for Grain: elements are ``grain.python.RecordMetadata`` with index, record_key and rng.

        Args:
            worker_count: The `worker_count` of Grain's ``DataLoader``, whose batch operation runs in each worker; 1
                for `worker_count=0` and for ``grain.MapDataset``.

        Raises:
            MissingExtraError: Grain is not installed.
            CallError: `worker_count` does not divide `num_steps`.
        """
        return GrainSampler(self, whole_number(1)("worker_count", worker_count))

    @property
    def _steps_together(self) -> int:
        return max(1, _COMPUTED_TOGETHER // self.batch_size)

    def _ids_from(self, number: int) -> npt.NDArray[np.int64]:
        """Return the ids of a group of consecutive steps, those that were computed last if they are the same."""
        computed = self._computed
        if computed[0] != number:
            steps = np.arange(number * self._steps_together, (number + 1) * self._steps_together)
            slots = np.asarray(self.layout.slots)
            positions = (steps[:, None] * self.layout.global_batch_size + slots).ravel()
            self._computed = computed = number, self._order.ids(positions)
        return computed[1]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_computed": (-1, np.zeros(0, np.int64))}

    def __repr__(self) -> str:
        """Return the call that makes this sampler. Grain compares it with that of a checkpoint.

        With the digest, as the order of a dataset that has grown is another one.
        """
        dataset, split, *named = [(name, repr(value)) for name, value in self._call.items()]
        return f"shardkit.sampler({', '.join([dataset[1], split[1], *map('='.join, named)])})"


class Batches(Iterable[list[int]]):
    """The batches of a sampler, from its `start_step` on."""

    def __init__(self, sampler: Sampler) -> None:
        """Give the batches of a sampler."""
        self._sampler = sampler

    def __iter__(self) -> Iterator[list[int]]:
        first, count = self._sampler.start_step, self._sampler.num_steps
        steps = itertools.count(first) if count is None else range(first, first + count)
        return map(self._sampler.batch, steps)

    def __len__(self) -> int:
        """Return the number of steps.

        Raises:
            TypeError: The sampler is endless.
        """
        if self._sampler.num_steps is None:
            msg = "training does not end; give shardkit.sampler a num_steps, such as the steps_per_epoch of the sampler"
            raise TypeError(msg)
        return self._sampler.num_steps


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
            msg = f"{manifest.root.url}: split {call['split']!r} has no examples"
            raise DataError(msg)
        msg = f"where={call['where']!r} is met by none of the examples of the split"
        raise CallError(msg)
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
    source = "the split has" if call["where"] is None else "the part of the split that is selected has"
    if order.num_examples < num_examples:
        source = "the classes that sampling draws have"
    check_enough(order.num_examples, global_batch_size, source=source)
    return order
