"""A tf.data service of a dispatcher and two workers, in separate processes, returns each global batch exactly once."""

import contextlib
import itertools
import socket

import numpy as np
import pytest
import tensorflow as tf

from shardkit import read_manifest, reader
from shardkit.dataset.index.shards import read_columns
from shardkit.errors import CallError, MachineError
from shardkit.reader import pipeline_spec
from shardkit.reader import remote as service

from ..conftest import global_batches, texts
from ..processes import DEVNULL, PIPE, Process
from ..training_fixtures import command, environment, free_port

BATCH = 12
STEPS_PER_BLOCK = 4  # what a worker receives at a time


@contextlib.contextmanager
def started(*words):
    # The processes of a service must not inherit shardkit.
    program = command("data_service.py", *words)
    process = Process(program, environment(), stdout=PIPE, stderr=DEVNULL, modules=("tensorflow",))
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def cluster(*folder):
    """Yield the dispatcher's address, and two workers by their start arguments."""
    port = free_port()
    with contextlib.ExitStack() as stack:
        stack.enter_context(started("dispatcher", port, *folder))
        all_words = [("worker", f"127.0.0.1:{port}", free_port()) for _ in range(2)]
        yield f"grpc://127.0.0.1:{port}", {words: stack.enter_context(started(*words)) for words in all_words}


@pytest.fixture(scope="module")
def address():
    with cluster() as (address, _):
        yield address


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """With these, 307 examples are enough blocks for both workers."""
    monkeypatch.setattr(pipeline_spec, "BLOCK_EXAMPLES", STEPS_PER_BLOCK * BATCH)


def with_key(features, _seed):
    return features["image"], features["label"], features["key"]


def make(dataset, split="train", **options):
    return reader.make_dataset_fn(dataset, split, global_batch_size=BATCH, **options)


class StepOf(dict):
    """The step of each batch by the batch's keys; steps are listed as far as they are asked for."""

    def __init__(self, dataset_fn, steps):
        super().__init__()
        self._dataset_fn, self._steps = dataset_fn, iter(steps)

    def __missing__(self, wanted):
        for step in self._steps:
            keys = tuple(self._dataset_fn.batch_keys(step))
            assert keys not in self
            self[keys] = step
            if keys == wanted:
                return step
        raise KeyError(wanted)


def until_all_seen(dataset, known, wanted):
    """Read until all wanted steps have come, none of them twice; return the batches by step."""
    seen = {}
    for *parts, keys in dataset.as_numpy_iterator():
        step = known[tuple(texts(keys))]
        assert step not in seen
        seen[step] = parts
        if seen.keys() >= wanted:
            return seen
    raise AssertionError


@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"sampling": "class_balanced"}, marks=pytest.mark.slow),
    ],
    ids=["full", "class_balanced"],
)
def test_each_global_batch_comes_once_and_is_what_it_is_without_the_service(options, noise, address):
    options = options | {"image_size": (8, 8), "map_fn": with_key, "start_step": 7}
    served, local = make(noise, service=address, **options), make(noise, **options)
    first = range(7, 7 + 10 * STEPS_PER_BLOCK)
    seen = until_all_seen(served(), StepOf(local, range(7, 7 + 400 * STEPS_PER_BLOCK)), set(first))
    for step, batch in zip(first, global_batches(local, len(first)), strict=True):
        for part, own in zip(seen[step], batch[:-1], strict=True):
            np.testing.assert_array_equal(part, own)


@pytest.mark.parametrize(("training", "replicas", "image_size"), [(True, 1, None), (False, 2, (8, 8))])
def test_the_element_is_the_same_as_without_the_service(training, replicas, image_size, noise, address):
    context = tf.distribute.InputContext(1, 0, replicas)
    options = {"image_size": image_size, "training": training}
    served, local = make(noise, service=address, **options)(context), make(noise, **options)(context)
    assert served.element_spec == local.element_spec
    assert int(served.cardinality()) == int(local.cardinality())


def test_an_evaluation_reads_every_example_exactly_once(noise, address):
    evaluation_fn = make(noise, training=False, map_fn=with_key, service=address)
    known = StepOf(evaluation_fn, range(evaluation_fn.steps_per_epoch))
    for _ in range(2):  # another pass is another job
        seen = []
        for _, _, keys, weights in evaluation_fn().as_numpy_iterator():
            seen.append(known[tuple(np.asarray(texts(keys))[weights > 0].tolist())])
        assert sorted(seen) == list(range(evaluation_fn.steps_per_epoch))


def test_each_tpu_host_reads_its_part_of_each_global_batch_once_in_static_shapes(noise, address):
    options = {"global_batch_size": 32, "training": False, "images": reader.Images((8, 8), dtype="bfloat16")}
    served, local = (reader.make_dataset_fn(noise, "train", **options, **more) for more in ({"service": address}, {}))
    for host in range(2):
        context = tf.distribute.InputContext(2, host, 16)
        dataset = served(context)
        assert dataset.element_spec == (
            tf.TensorSpec([2, 8, 8, 3], tf.bfloat16),
            tf.TensorSpec([2], tf.int32),
            tf.TensorSpec([2], tf.float32),
        )
        steps, expected = (_parts_of_steps(one, 8) for one in (dataset, local(context)))
        assert len(expected) == served.steps_per_epoch == 10
        assert sorted(steps) == sorted(expected)  # not in their order


def _parts_of_steps(dataset, replicas):
    """The bytes of what all replicas of a host get in each step."""
    parts = [b"".join(np.asarray(one).tobytes() for one in element) for element in dataset.as_numpy_iterator()]
    return [b"".join(parts[start : start + replicas]) for start in range(0, len(parts), replicas)]


@pytest.mark.slow  # the parts of 16 replicas: test_each_tpu_host…
def test_replicas_get_the_parts_of_one_global_batch_in_order(noise, address):
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    dataset_fn = make(noise, map_fn=with_key, service=address)
    known = StepOf(dataset_fn, range(400))
    seen = []
    for _, _, keys in itertools.islice(strategy.distribute_datasets_from_function(dataset_fn), 40):
        parts = [texts(part.numpy()) for part in strategy.experimental_local_results(keys)]
        assert [len(part) for part in parts] == [BATCH // 2] * 2
        seen.append(known[tuple(itertools.chain(*parts))])
    assert len(set(seen)) == 40


def test_trainers_that_name_one_job_divide_its_batches(noise, address):
    options = {"map_fn": with_key, "service": reader.Service(address, "shared")}
    known = StepOf(make(noise), range(400))
    iterators = [make(noise, **options)().as_numpy_iterator() for _ in range(2)]
    seen = [known[tuple(texts(next(iterator)[2]))] for _ in range(15) for iterator in iterators]
    assert len(set(seen)) == 30


@pytest.mark.slow
def test_batches_are_mixed_as_without_the_service(noise, address):
    def doubled(element, seed):
        return element[0] * 2, element[1], element[2], tf.repeat(seed[tf.newaxis], BATCH, axis=0)

    options = {"image_size": (8, 8), "map_fn": with_key, "batch_map_fn": doubled}
    known = StepOf(make(noise), range(400))
    seen = {}
    for batch in itertools.islice(make(noise, service=address, **options)().as_numpy_iterator(), 20):
        seen[known[tuple(texts(batch[2]))]] = batch
    compared = 0
    for step, own in enumerate(global_batches(make(noise, **options), 40)):
        if step in seen:
            compared += 1
            for part, expected in zip(seen[step], own, strict=True):
                np.testing.assert_array_equal(part, expected)
    assert compared >= 10


def test_a_start_step_is_used_if_assigned_before_the_input_is_made_and_refused_if_after(noise, address):
    dataset_fn = make(noise, map_fn=with_key, service=address)
    dataset_fn.start_step.assign(1000)
    dataset = dataset_fn()
    # Two workers divide the blocks, of 85 steps each: any of them may be the first to answer, so the order is not kept.
    assert StepOf(dataset_fn, range(1000, 4000))[tuple(texts(next(iter(dataset))[2].numpy()))] >= 1000
    dataset_fn.start_step.assign(1001)
    with pytest.raises(tf.errors.InvalidArgumentError, match="start_step was moved from 1000 to 1001"):
        next(iter(dataset))


def test_a_damaged_record_stops_the_reading_and_is_named_by_file_and_offset(copied, address):
    manifest = read_manifest(str(copied))
    shard = manifest.splits["train"].shards[1]
    row = read_columns(manifest.root, shard).to_pylist()[3]
    path = copied / shard.path
    raw = bytearray(path.read_bytes())
    raw[row["offset"] + 20] ^= 1
    path.write_bytes(raw)
    found = f"{shard.path}: the record at byte {row['offset']} is damaged"
    with pytest.raises(tf.errors.InvalidArgumentError, match=found):
        list(make(str(copied), training=False, image_size=(8, 8), service=address)())


@pytest.mark.parametrize("is_silent", [False, True])
def test_an_address_where_no_dispatcher_answers_is_refused_with_it(noise, is_silent, monkeypatch):
    monkeypatch.setattr(service, "WAIT_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as other:
        found = f"grpc://127.0.0.1:{other.getsockname()[1] if is_silent else free_port()}"
        with pytest.raises(MachineError, match=rf"{found}.* within 0.3 seconds \(.*(refused|timed out)\); start"):
            make(noise, service=found)()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"service": "localhost:5000"}, "service must be the dispatcher's address"),
        # Each worker would have its own count of damaged records.
        ({"service": "grpc://localhost:1", "on_corrupt": "skip"}, "on_corrupt='skip' counts damaged records in this"),
        ({"service": "grpc://localhost:1", "cache": "here"}, "cache= is a folder or the memory of this host"),
        ({"service": "grpc://localhost:1", "independent_workers": True}, "leave one out"),
        ({"independent_workers": True, "training": False}, "independent_workers is for training"),
        ({"independent_workers": True, "start_step": 3}, "leave out start_step=3"),
        ({"independent_workers": True, "on_corrupt": "skip"}, "with independent_workers= others read them"),
    ],
)
def test_arguments_that_other_processes_cannot_honour_are_refused(options, message, noise):
    with pytest.raises(CallError, match=message):
        make(noise, **options)


def test_an_index_too_large_for_a_message_is_refused(noise, monkeypatch):
    monkeypatch.setattr(service, "MAX_TABLE_BYTES", 307 * 36 - 1)
    with pytest.raises(CallError, match="the index of 307 examples takes 0 MiB of the graph"):
        make(noise, service="grpc://localhost:1")()


@pytest.mark.parametrize("fault_tolerant", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_training_continues_after_the_loss_of_a_worker_and_repeats_nothing(fault_tolerant, noise, tmp_path):
    with cluster(*[tmp_path] * fault_tolerant) as (address, workers):
        dataset_fn = make(noise, map_fn=with_key, service=address)
        known = StepOf(dataset_fn, range(2000))
        seen = []
        for _, _, keys in itertools.islice(dataset_fn().as_numpy_iterator(), 400):
            seen.append(known[tuple(texts(keys))])
            if len(seen) == 50:
                next(iter(workers.values())).kill()
        assert len(set(seen)) == 400  # TensorFlow guarantees only at most once; service.py has figures


def test_an_evaluation_that_lost_a_worker_ends_with_an_error_and_not_with_fewer_examples(noise, monkeypatch):
    monkeypatch.setattr(pipeline_spec, "BLOCK_EXAMPLES", 2)
    with cluster() as (address, workers), contextlib.ExitStack() as stack:
        # Over a hundred blocks, more than both workers read ahead.
        options = {"training": False, "image_size": (8, 8), "service": address}
        batches = iter(reader.make_dataset_fn(noise, "train", global_batch_size=2, **options)())
        next(batches)
        # Both are killed: on a busy machine, one of them may not have started, and then nothing is lost.
        for words, worker in workers.items():
            worker.kill()
            worker.wait()
            stack.enter_context(started(*words))  # until one answers at this address, the evaluation waits
        with pytest.raises(tf.errors.FailedPreconditionError, match="expected to contain 154 elements but contained"):
            for _ in batches:
                pass
