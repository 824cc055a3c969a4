"""Under ParameterServerStrategy each worker reads a separate endless order."""

import itertools
import json
import math
import socket

import pytest
import tensorflow as tf

from shardkit import reader
from shardkit.errors import CallError
from shardkit.reader.iterators.start_steps import RandomStart

from ..conftest import texts
from ..processes import DEVNULL, PIPE, Process
from ..training_fixtures import TIMEOUT_SECONDS, command, environment, shapes

__all__ = ["shapes"]  # a fixture
BATCH = 12


@pytest.fixture(scope="module")
def facts(shapes, tmp_path_factory):
    """The facts that the coordinator of two workers and a parameter server wrote."""
    result = tmp_path_factory.mktemp("parameter_server") / "result.json"
    tasks = [("worker", 0), ("worker", 1), ("ps", 0), ("chief", 0)]
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in tasks]
    addresses = {}
    for (kind, _), open_socket in zip(tasks, sockets, strict=True):
        addresses.setdefault(kind, []).append(f"127.0.0.1:{open_socket.getsockname()[1]}")
        open_socket.close()
    started = []
    try:
        for kind, index in tasks:
            config = json.dumps({"cluster": addresses, "task": {"type": kind, "index": index}})
            words = command("parameter_server.py", shapes, result, BATCH)
            # Only the stderr of the coordinator, which is started last, is kept.
            stderr = PIPE if kind == "chief" else DEVNULL
            started.append(Process(words, environment(TF_CONFIG=config), stderr=stderr))
        _, error = started[-1].communicate(timeout=TIMEOUT_SECONDS)
        assert started[-1].returncode == 0, error[-4000:]
    finally:
        for process in started:
            process.kill()
            process.wait()
    return json.loads(result.read_text())


def test_every_worker_reads_every_example_exactly_once_an_epoch_from_its_first_step_on(facts, shapes):
    everything = sorted(
        key
        for step in range(16)
        for key in reader.make_dataset_fn(str(shapes), "train", global_batch_size=BATCH).batch_keys(step)
    )
    assert len(set(everything)) == 192
    assert len(facts["streams"]) == 2
    for stream in facts["streams"]:
        assert len(stream) >= 32
        for first in (0, 16):
            assert sorted(itertools.chain(*stream[first : first + 16])) == everything


def test_workers_are_shuffled_independently_and_neither_as_without_a_strategy(facts, shapes):
    plain = reader.make_dataset_fn(str(shapes), "train", global_batch_size=BATCH)
    orders = [list(itertools.chain(*stream[first : first + 16])) for stream in facts["streams"] for first in (0, 16)]
    orders.append(list(itertools.chain(*map(plain.batch_keys, range(16)))))
    for one, other in itertools.combinations(orders, 2):
        # Two independent permutations agree in one place on average, and in more than 12 once in 10**10 times.
        assert sum(a == b for a, b in zip(one, other, strict=True)) <= 12


def test_scheduled_steps_learn(facts):
    losses = facts["losses"]
    assert facts["taken"] == len(losses) == 120
    assert sum(losses[-20:]) < 0.5 * sum(losses[:20])


def test_it_is_refused_without_independent_workers_because_all_would_read_the_same(facts):
    assert "give independent_workers=True" in facts["refusal"]


@pytest.mark.parametrize(("num_examples", "global_batch_size"), [(192, 12), (307, 12), (20_000_000, 1024), (2, 1)])
def test_streams_start_where_an_epoch_does_and_never_end(num_examples, global_batch_size):
    start = RandomStart(num_examples, global_batch_size)
    steps = [int(start.read_value()) for _ in range(100)]
    assert len(set(steps)) == 100
    for step in steps:
        assert step * global_batch_size % num_examples == 0
        assert 0 <= step < start.end_step // 2
    assert start.end_step * global_batch_size <= 2**61
    # The number of starts that the docstring gives.
    assert start._num_choices == (1 << 60) // math.lcm(num_examples, global_batch_size)


def test_the_coordinators_seed_does_not_set_the_start():
    start = RandomStart(192, 12)
    drawn = set()
    try:
        for _ in range(3):
            tf.random.set_seed(7)
            drawn.add(int(tf.function(start.read_value)()))
    finally:
        tf.random.set_seed(None)  # later tests must draw like programs without a seed
    assert len(drawn) == 3


def test_each_iterator_reads_a_separate_order(noise):
    dataset = reader.make_dataset_fn(noise, "train", global_batch_size=307, independent_workers=True)()
    first, second = (texts(next(iter(dataset))["key"].numpy()) for _ in range(2))
    assert sorted(first) == sorted(second)
    assert len(set(first)) == 307
    assert first != second


def test_several_input_pipelines_are_refused(noise):
    dataset_fn = reader.make_dataset_fn(noise, "train", global_batch_size=12, independent_workers=True)
    with pytest.raises(CallError, match="whose workers share one input pipeline; found 2"):
        dataset_fn(tf.distribute.InputContext(2, 0, 2))
