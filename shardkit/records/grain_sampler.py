"""A sampler as Grain wants it: random access to the metadata of records."""

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from shardkit.errors import CallError, MissingExtraError

if TYPE_CHECKING:
    from shardkit.records.sampler import Sampler


class GrainSampler:
    """The indices of a sampler for ``grain.python.DataLoader(sampler=…)`` or ``grain.MapDataset.source(…)``.

    Grain gives worker w of W the indices w, w + W, …, and its batch operation makes batches of the examples of one
    worker. With the plain order, a batch would hold examples of W different batches. So index j * W + w is the j-th
    example of the batches w, w + W, …, and Grain returns the batches in their order.

        index          0  1  2  3  4  5  6  7  8  9 …         W = 2, batches of 3
        worker         0  1  0  1  0  1  0  1  0  1 …
        example      0.0 1.0 0.1 1.1 0.2 1.2 2.0 3.0 …        batch.number
    """

    def __init__(self, sampler: "Sampler", worker_count: int) -> None:
        """Show a sampler to Grain; see `Sampler.grain`."""
        try:
            from grain.python import RecordMetadata
        except ModuleNotFoundError as error:
            if error.name not in {"grain", "grain.python"}:
                raise
            msg = "Sampler.grain() needs grain, which is not installed: pip install grain"
            raise MissingExtraError(msg) from None
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
            msg = f"there are {len(self):,} indices; found {index}"
            raise IndexError(msg)
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
