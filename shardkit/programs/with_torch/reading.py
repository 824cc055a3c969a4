"""Read batches of tensors in the processes of a DataLoader."""

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

import shardkit
from shardkit.programs.parts.settings import DATASET, GLOBAL_BATCH_SIZE, SEED, TRAIN, VALIDATION
from shardkit.programs.with_torch.classification import prepare

PROCESSES = 4  # that read and decode, for each GPU; 0: the training process itself


class Prepared(Dataset[Any]):
    """Tensors of the examples of a split; an index is the number of an example, and a step of the training."""

    def __init__(self, split: str, *, training: bool) -> None:
        """Open the split."""
        self.examples, self.training = shardkit.open(DATASET, split), training

    def __getitem__(self, place: tuple[int, int]) -> Any:
        """Return the tensors; their random numbers depend on the place alone, not on the process or the machine."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(hash((SEED, *place)))
            return prepare(self.examples[place[0]], training=self.training)


def loader_of(dataset: Dataset[Any], places: Any) -> Any:
    """Return the batches at some lists of places."""
    pin = torch.cuda.is_available()
    return DataLoader(dataset, batch_sampler=places, num_workers=PROCESSES, pin_memory=pin)


def train_batches(rank: int, num_ranks: int, start_step: int) -> Any:
    """Return this rank's part of each global batch; the batches are the same for any number of ranks."""
    sampler = shardkit.sampler(
        DATASET,
        TRAIN,
        global_batch_size=GLOBAL_BATCH_SIZE,
        num_workers=num_ranks,
        worker_index=rank,
        seed=SEED,
        start_step=start_step,
    )

    def places() -> Iterator[list[tuple[int, int]]]:
        for step, numbers in enumerate(sampler.batches, start_step):
            yield [(number, step) for number in numbers]

    return loader_of(Prepared(TRAIN, training=True), places())


def validation_batches(rank: int, num_ranks: int) -> Iterator[tuple[Any, float]]:
    """Yield this rank's part of the examples, each exactly once, and 1; one example and 0 if there is none left."""
    dataset, size = Prepared(VALIDATION, training=False), GLOBAL_BATCH_SIZE // num_ranks
    numbers = [*range(rank, len(dataset.examples), num_ranks)]
    places = [(number, 0) for number in numbers or [0]]
    for batch in loader_of(dataset, [places[at : at + size] for at in range(0, len(places), size)]):
        yield batch, float(bool(numbers))
