"""Which positions belong to a step, a worker and a replica. Half-open ranges, the same for every order.

Global batch k is the positions [k * G, (k + 1) * G). Each of W workers takes one contiguous part of it, and each
replica of a worker one contiguous part of that:

    positions      0 . . . . . . . G . . . . . . . 2G          G = 8, two workers of two replicas
    step           |------ 0 ------|------ 1 ------|
    worker_index   |-- 0 --|-- 1 --|-- 0 --|-- 1 --|
    replica        |-0-|-1-|-0-|-1-|-0-|-1-|-0-|-1-|

So the content of a global batch depends only on G and the step, and training can resume with another number of
workers. All parts have the same size: with unequal parts MultiWorkerMirroredStrategy feeds batches of size 0 or aborts,
and static shapes silently lose the last batch.
"""

from dataclasses import dataclass

from shardkit.errors import CallError

MAX_STEP = 1 << 40
MAX_BATCH = 1 << 22  # so that no position reaches 2**62, where the orders end


@dataclass(frozen=True, slots=True)
class BatchLayout:
    """The division of a global batch among workers and replicas, as seen by one worker.

    Attributes:
        global_batch_size: Examples per step over all workers; a multiple of num_workers * replicas_per_worker.
        num_workers: Processes that each read their own part.
        worker_index: This process, in [0, num_workers).
        replicas_per_worker: Devices that this process feeds.

    Raises:
        CallError: A number is out of range, or the batch cannot be divided evenly.
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
        """Examples per step for this worker."""
        return self.global_batch_size // self.num_workers

    @property
    def per_replica_batch_size(self) -> int:
        """Examples per step for one replica."""
        return self.per_worker_batch_size // self.replicas_per_worker

    @property
    def slots(self) -> range:
        """This worker's slots of every global batch, a part of [0, global_batch_size).

        Over all workers these ranges are contiguous, disjoint, of equal size and in the order of worker_index.
        """
        start = self.worker_index * self.per_worker_batch_size
        return range(start, start + self.per_worker_batch_size)


def steps_per_epoch(num_examples: int, global_batch_size: int) -> int:
    """Return ceil(N / G), for training and for evaluation.

    In evaluation these steps are one padded pass. Training is endless and its batches cross epoch borders, so an epoch
    of Keras' ``fit`` is a run of this many steps: it has at least N and fewer than N + G positions, and after E such
    epochs every example was seen at least E times. If the number were rounded down, up to G - 1 examples would be
    unseen after the first epoch.

    Raises:
        CallError: A number is below 1.
    """
    if num_examples < 1:
        raise CallError(f"there are {num_examples} examples; an epoch needs at least 1")
    _check_batch_size(global_batch_size)
    return -(-num_examples // global_batch_size)


def check_enough(
    num_examples: int, global_batch_size: int, *, source: str = "the split has", otherwise: str = ""
) -> None:
    """Check that training has as many examples as a global batch: with fewer, every batch would repeat some.

    Args:
        num_examples: Number of examples that training returns.
        global_batch_size: Examples of a step over all workers and replicas.
        source: What has these examples, for the message.
        otherwise: Another remedy, for the message.

    Raises:
        CallError: There are fewer.
    """
    if num_examples < global_batch_size:
        raise CallError(
            f"{source} {num_examples:,} examples, fewer than {global_batch_size=}, so a batch would repeat "
            f"examples; use a global_batch_size of at most {num_examples:,}{otherwise}"
        )


def check_divisible(global_batch_size: int, parts: int, what: str) -> None:
    """Check that a global batch can be divided evenly.

    Args:
        global_batch_size: Examples per step over all workers.
        parts: Number of equal parts.
        what: Name of the parts, in the plural.

    Raises:
        CallError: It cannot; the message has the numbers and the nearest batch sizes that can.
    """
    if global_batch_size % parts == 0:
        return
    below = global_batch_size // parts * parts
    nearest = f"{below} or {below + parts}" if below else f"{parts}"
    raise CallError(
        f"global_batch_size {global_batch_size} cannot be divided evenly among {parts} {what}; use {nearest}, "
        f"or another multiple of {parts}"
    )


def check_worker_index(num_workers: int, worker_index: int | None) -> int:
    """Return the number of a worker that was given, or 0 for the only one.

    It has no default above one worker: all processes would read the same part of each batch, and nobody the others.

    Args:
        num_workers: Processes that each read their own part.
        worker_index: This process; None if it was not given.

    Raises:
        CallError: It was not given, and there are several workers; or it was given without their number.
    """
    if worker_index is None:
        if num_workers > 1:
            raise CallError(
                f"num_workers={num_workers} needs worker_index, the number of this process, from 0 to "
                f"{num_workers - 1}: give worker_index=0 in the first process, worker_index=1 in the next"
            )
        return 0
    if num_workers == 1 and worker_index > 0:
        raise CallError(
            f"worker_index={worker_index} needs num_workers, the number of processes that read a part each: give at "
            f"least num_workers={worker_index + 1}"
        )
    return worker_index


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
