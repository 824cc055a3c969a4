"""Training order for `shardkit.open`: the same global batches as the reader's, for PyTorch, Grain and custom loops.

The index at a step is a function of the step: any number of workers share the same global batches, and training resumes
from one integer.
"""

import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from shardkit.arguments.checks import whole_number
from shardkit.errors import CallError, MissingExtraError
from shardkit.order.batches import MAX_STEP, BatchLayout, steps_per_epoch
from shardkit.order.training import Order

_COMPUTED_TOGETHER = 1 << 13  # positions: NumPy's cost for a call is then below a microsecond for each
check_step = whole_number(0, MAX_STEP - 1)


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
        self._call["start_step"] = check_step("start_step", step)

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
        step = check_step("step", step)
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
            raise IndexError(f"the iteration has no number {number}")
        step = self.start_step + steps
        at = step % self._steps_together * self.batch_size + within
        return self._ids_from(step // self._steps_together).item(at)

    def grain(self, worker_count: int = 1) -> "GrainSampler":
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


class GrainSampler:
    """The indices of a sampler for ``grain.python.DataLoader(sampler=…)`` or ``grain.MapDataset.source(…)``.

    Grain gives worker w of W the indices w, w + W, …, and its batch operation makes batches of the examples of one
    worker. With the plain order, a batch would hold examples of W different batches. So index j * W + w is the j-th
    example of the batches w, w + W, …, and Grain returns the batches in their order.

        index          0  1  2  3  4  5  6  7  8  9 …         W = 2, batches of 3
        worker         0  1  0  1  0  1  0  1  0  1 …
        example      0.0 1.0 0.1 1.1 0.2 1.2 2.0 3.0 …        batch.number
    """

    def __init__(self, sampler: Sampler, worker_count: int) -> None:
        """Show a sampler to Grain; see `Sampler.grain`."""
        try:
            from grain.python import RecordMetadata
        except ModuleNotFoundError as error:
            if error.name not in {"grain", "grain.python"}:
                raise
            raise MissingExtraError("Sampler.grain() needs grain, which is not installed: pip install grain") from None
        steps = sampler.num_steps
        if steps is not None and steps % worker_count:
            below = steps // worker_count * worker_count
            nearest = f"{below} or {below + worker_count}" if below else str(worker_count)
            msg = f"num_steps {steps} cannot be divided evenly among worker_count={worker_count}; use {nearest}"
            raise CallError(msg)
        self._sampler, self._worker_count, self._metadata = sampler, worker_count, RecordMetadata

    def __len__(self) -> int:
        steps = self._sampler.num_steps
        return sys.maxsize if steps is None else steps * self._sampler.batch_size

    def __getitem__(self, index: int) -> Any:
        """Return the metadata of the record at an index.

        Its generator depends on the seed and the position in training alone, not on the number of workers.
        """
        if not 0 <= index < len(self):
            raise IndexError(f"there are {len(self):,} indices; found {index}")
        size = self._sampler.batch_size
        of_worker, worker = divmod(index, self._worker_count)
        batch, within = divmod(of_worker, size)
        steps = batch * self._worker_count + worker
        position = (
            self._sampler.start_step + steps
        ) * self._sampler.layout.global_batch_size + self._sampler.layout.slots[within]
        generator = np.random.Generator(np.random.Philox(key=[self._sampler.seed, position]))
        return self._metadata(index=index, record_key=self._sampler[steps * size + within], rng=generator)

    def __repr__(self) -> str:
        """Return what determines the indices: Grain compares it with that of a checkpoint."""
        return f"{self._sampler!r}.grain(worker_count={self._worker_count})"
