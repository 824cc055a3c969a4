"""Training processes, killed by SIGKILL at random steps and restarted from a checkpoint, lose and repeat nothing."""

import itertools
import json
import signal
import tempfile
import time
import zlib
from collections import deque

import numpy as np
import pytest

from shardkit import reader

from .processes import PIPE, Process
from .training_fixtures import command, environment, shapes  # noqa: F401 - a fixture

GLOBAL_BATCH_SIZE = 36  # 192 examples are no multiple of it: most epochs end within a batch
SAVE_EVERY = 2
# Number of workers of each start, killed but for the last. Each worker is a process, which makes many workers dear.
NUM_WORKERS = {
    3: [1, 2, 1, 1],
    20: [1, 2, 1, 1, 1, 4, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1],
}
# Processes that import TensorFlow while others train; they open neither dataset nor checkpoint before their turn.
STANDING_BY = 2


class Processes:
    """Training processes of `train_loop.py`, on both ends of their pipes."""

    def __init__(self, num_processes, *arguments):
        self._left, self._arguments = num_processes, arguments
        self._standing_by, self.started = deque(), []

    def take(self, num_workers):
        """So many processes that wait for their turn; others are started meanwhile."""
        self._start(num_workers + STANDING_BY)
        return [self._standing_by.popleft() for _ in range(num_workers)]

    def _start(self, num_wanted):
        while self._left and len(self._standing_by) < num_wanted:
            errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed at the end
            words = command("train_loop.py", *self._arguments)
            process = Process(words, environment(), stdin=PIPE, stdout=PIPE, stderr=errors)
            process.errors = errors
            self.started.append(process)
            self._standing_by.append(process)
            self._left -= 1


def hear(process):
    line = process.stdout.readline()
    if not line:
        process.errors.seek(0)
        pytest.fail(f"a worker ended by itself, with exit code {process.wait()}\n{process.errors.read()[-4000:]}")
    return json.loads(line)


def tell(process, line):
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def train(workers, seen, *, stop_step=None, num_steps=None, delay=0.0):
    """Train up to stop_step, or num_steps and kill all workers `delay` seconds into the next one.

    Args:
        workers: processes that wait for their turn.
        seen: global batches by step, to which those of this start are added.

    Returns:
        The step and the model at the end, or the first step.
    """
    for index, worker in enumerate(workers):
        assert hear(worker) == "ready"
        tell(worker, f"{len(workers)} {index}")
    first = None
    while True:
        parts = [hear(worker) for worker in workers]
        (step,) = {part["step"] for part in parts}
        first = step if first is None else first
        batch = [list(itertools.chain.from_iterable(part[name] for part in parts)) for name in ("keys", "pixels")]
        if step in seen:
            assert batch == seen[step], f"step {step} was another one before the kill"
        if step == stop_step:
            break
        seen[step] = batch
        for worker in workers:
            tell(worker, sum(batch[1]))
        if num_steps is not None and step - first + 1 == num_steps:
            time.sleep(delay)
            for worker in workers:
                worker.send_signal(signal.SIGKILL)
            assert {worker.wait() for worker in workers} == {-signal.SIGKILL}
            return first
    for worker in workers:
        tell(worker, "stop")
    (end,) = {tuple(hear(worker).values()) for worker in workers}
    assert {worker.wait() for worker in workers} == {0}
    return end


@pytest.fixture(scope="module", params=[3, pytest.param(20, marks=pytest.mark.slow)])
def num_kills(request):
    return request.param


@pytest.fixture(scope="module")
def killed(shapes, found_once, num_kills):  # noqa: F811 - a fixture
    """Of a run killed again and again: global batches by step, (steps, model) at its end, first step of each start."""
    numbers = NUM_WORKERS[num_kills]
    batches, end, firsts = found_once(f"killed-{num_kills}", lambda folder: train_and_kill(shapes, folder, numbers))
    return dict(batches), tuple(end), firsts


def train_and_kill(shapes, folder, numbers):  # noqa: F811 - the fixture's value
    """The same; batches as (step, batch)."""
    random = np.random.default_rng(20)
    processes = Processes(sum(numbers), shapes, folder, GLOBAL_BATCH_SIZE, SAVE_EVERY)
    seen, firsts = {}, []
    try:
        for num_workers in numbers[:-1]:
            # Within 30 ms lie the training step, the checkpoint, and the reading of the next batch.
            num_steps, delay = int(random.integers(SAVE_EVERY + 1, 9)), random.uniform(0, 0.03)
            firsts.append(train(processes.take(num_workers), seen, num_steps=num_steps, delay=delay))
        end = train(processes.take(numbers[-1]), seen, stop_step=max(seen) + 4)
    finally:
        for process in processes.started:
            process.kill()
            process.communicate()
            process.errors.close()
    return list(seen.items()), end, firsts


@pytest.fixture(scope="module")
def undisturbed(shapes, killed):  # noqa: F811 - a fixture
    """The same of one run that nothing disturbs, in this process: global batches by step, and (steps, model)."""
    num_steps, model, seen = len(killed[0]), 0, {}
    batches = reader.make_dataset(
        str(shapes),
        "train",
        global_batch_size=GLOBAL_BATCH_SIZE,
        images=reader.Images((16, 16), dtype="uint8"),
        map_fn=lambda features, seed: (features["image"], features["key"]),
    )
    for step, (images, keys) in enumerate(batches.take(num_steps).as_numpy_iterator()):
        pixels = [zlib.crc32(image.tobytes()) for image in images]
        seen[step] = [[key.decode() for key in keys], pixels]
        model = (model * 31 + sum(pixels)) % (1 << 31)
    return seen, (num_steps, model)


def test_after_many_kills_the_global_batches_are_those_of_an_undisturbed_run(killed, undisturbed):
    assert list(killed[0]) == list(range(len(undisturbed[0])))
    for step, batch in undisturbed[0].items():
        assert killed[0][step] == batch, f"keys or pixels of step {step}"


def test_the_model_has_learnt_the_same(killed, undisturbed):
    assert killed[1] == undisturbed[1]


def test_the_undisturbed_run_is_what_batch_keys_lists(undisturbed, shapes):  # noqa: F811 - a fixture
    train_fn = reader.make_dataset_fn(str(shapes), "train", global_batch_size=GLOBAL_BATCH_SIZE)
    for step, (keys, _) in undisturbed[0].items():
        assert keys == train_fn.batch_keys(step)


def test_the_kills_were_real_ones(killed, num_kills):
    # On different numbers of workers, at steps all over; each start went on from a checkpoint, not from the beginning.
    firsts = killed[2]
    assert len(firsts) == num_kills == len(NUM_WORKERS[num_kills]) - 1
    assert set(NUM_WORKERS[num_kills]) == ({1, 2} if num_kills == 3 else {1, 2, 4})
    assert firsts[0] == 0
    assert all(later > earlier for earlier, later in itertools.pairwise(firsts))
    assert all(first % SAVE_EVERY == 0 for first in firsts)
