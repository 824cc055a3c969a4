"""Which positions a step, a worker and a replica take: half-open arithmetic, the same for every order.

Global batch k is the positions [k * G, (k + 1) * G). Each of W workers takes one contiguous part of it, and each
replica of a worker one contiguous part of that:

    positions      0 . . . . . . . G . . . . . . . 2G          G = 8, two workers of two replicas
    step           |------ 0 ------|------ 1 ------|
    worker_index   |-- 0 --|-- 1 --|-- 0 --|-- 1 --|
    replica        |-0-|-1-|-0-|-1-|-0-|-1-|-0-|-1-|

So what a global batch holds depends on G and the step alone, and another number of workers resumes where the last
left off. Every part must be whole: unequal ones feed batches of size 0, abort, or silently lose data.
"""

from dataclasses import dataclass

from shardkit.errors import CallError


@dataclass(frozen=True, slots=True)
class BatchLayout:
    """How one global batch is dealt to workers and replicas, and which of the workers this is.

    Attributes:
        global_batch_size: examples a step over all workers; a multiple of num_workers * replicas_per_worker.
        num_workers: processes that each read their own part.
        worker_index: this process, in [0, num_workers).
        replicas_per_worker: devices that this process feeds.

    Raises:
        CallError: when a number is out of range or the batch cannot be dealt evenly.
    """

    global_batch_size: int
    num_workers: int = 1
    worker_index: int = 0
    replicas_per_worker: int = 1

    def __post_init__(self) -> None:
        _check_worker(self.global_batch_size, self.num_workers, self.worker_index)
        if self.replicas_per_worker < 1:
            raise CallError(f"replicas_per_worker is {self.replicas_per_worker}; it must be at least 1")
        check_divisible(
            self.global_batch_size,
            self.num_workers * self.replicas_per_worker,
            f"replicas ({_count(self.num_workers, 'worker')} of {self.replicas_per_worker})",
        )

    @property
    def per_worker_batch_size(self) -> int:
        """Examples a step for this worker."""
        return self.global_batch_size // self.num_workers

    @property
    def per_replica_batch_size(self) -> int:
        """Examples a step for one replica."""
        return self.per_worker_batch_size // self.replicas_per_worker

    def part(self, step: int) -> tuple[int, int]:
        """This worker's [start, stop) of positions at a step."""
        return worker_part(step, self.global_batch_size, self.num_workers, self.worker_index)


def worker_part(step: int, global_batch_size: int, num_workers: int, worker_index: int) -> tuple[int, int]:
    """The positions [start, stop) that a worker takes at a step.

    Over all workers the parts of a step are contiguous, disjoint, of equal size and in the order of worker_index, and
    together they are [step * global_batch_size, (step + 1) * global_batch_size).

    Raises:
        CallError: when the step is negative, the worker does not exist or the batch is no multiple of num_workers.
    """
    if step < 0:
        raise CallError(f"step {step} is negative; steps count from 0")
    _check_worker(global_batch_size, num_workers, worker_index)
    size = global_batch_size // num_workers
    start = step * global_batch_size + worker_index * size
    return start, start + size


def steps_per_epoch(num_examples: int, global_batch_size: int) -> int:
    """ceil(N / G), for training and for evaluation.

    In evaluation these steps are one padded pass. Training is endless and its batches cross the borders of the data's
    epochs, so an epoch of Keras' ``fit`` is only a stretch of this many steps: it holds at least N and fewer than N + G
    positions, and after E of them every example has been seen at least E times. Rounded down, up to G - 1 examples
    would still be unseen after the first ``epoch``.

    Raises:
        CallError: when a number is below 1.
    """
    if num_examples < 1:
        raise CallError(f"there are {num_examples} examples; an epoch needs at least 1")
    _check_batch_size(global_batch_size)
    return -(-num_examples // global_batch_size)


def check_divisible(global_batch_size: int, parts: int, what: str) -> None:
    """Refuse a global batch that does not deal evenly over so many parts; ``what`` names them, in the plural.

    Raises:
        CallError: with the numbers and the nearest batch sizes that would do.
    """
    if global_batch_size % parts == 0:
        return
    below = global_batch_size // parts * parts
    nearest = f"{below} or {below + parts}" if below else f"{parts}"
    raise CallError(
        f"global_batch_size {global_batch_size} cannot be dealt evenly to {parts} {what}; use {nearest}, "
        f"or another multiple of {parts}"
    )


def _check_worker(global_batch_size: int, num_workers: int, worker_index: int) -> None:
    _check_batch_size(global_batch_size)
    if num_workers < 1:
        raise CallError(f"num_workers is {num_workers}; it must be at least 1")
    if not 0 <= worker_index < num_workers:
        raise CallError(
            f"worker_index {worker_index} does not exist; with {_count(num_workers, 'worker')} "
            f"it must be from 0 to {num_workers - 1}"
        )
    check_divisible(global_batch_size, num_workers, "workers")


def _check_batch_size(global_batch_size: int) -> None:
    if global_batch_size < 1:
        raise CallError(f"global_batch_size is {global_batch_size}; it must be at least 1")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
