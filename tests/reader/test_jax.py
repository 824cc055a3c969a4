"""JAX over several devices, in one process and in two that make up a cluster: real JAX, on the CPU."""

import itertools
import json
import socket

import numpy as np
import pytest

from shardkit import reader

from .training_fixtures import command, environment, run_all, shapes  # noqa: F401 - a fixture

GLOBAL_BATCH_SIZE = 36  # divides over 4 devices; no divisor of 192 and 48
NUM_STEPS = 12  # two epochs and a quarter
NUM_DEVICES = 4
IMAGES = reader.Images((8, 8), augment="imagenet", mean=(127,) * 3, std=(127,) * 3)
OPTIONS = {"global_batch_size": GLOBAL_BATCH_SIZE, "images": IMAGES}


def facts_of_processes(dataset, folder, num_processes):
    """Facts of every process; together they have 4 devices."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    results = [folder / f"{index}-of-{num_processes}" for index in range(num_processes)]
    numbers = (GLOBAL_BATCH_SIZE, NUM_STEPS)
    words = [
        command("jax_batches.py", dataset, path, *numbers, index, num_processes, address)
        for index, path in enumerate(results)
    ]
    devices = f"--xla_force_host_platform_device_count={NUM_DEVICES // num_processes}"
    run_all(words, [environment(XLA_FLAGS=devices, JAX_PLATFORMS="cpu")] * num_processes)
    return [json.loads(path.read_text()) for path in results]


@pytest.fixture(scope="module")
def all_facts(shapes, found_once):  # noqa: F811 - a fixture
    """Return the facts of every process, by number of processes."""
    return lambda count: found_once(f"jax-{count}", lambda folder: facts_of_processes(shapes, folder, count))


@pytest.fixture(params=[pytest.param(1, marks=pytest.mark.slow), 2], ids=["one-process", "two-processes"])
def processes(request, all_facts):
    return all_facts(request.param)


@pytest.fixture(scope="module")
def alone(shapes):  # noqa: F811 - a fixture
    """(images, labels) of each step as a single reader gets them, without JAX."""
    return list(reader.make_dataset(str(shapes), "train", **OPTIONS).take(NUM_STEPS).as_numpy_iterator())


@pytest.fixture(scope="module")
def evaluated_alone(shapes):  # noqa: F811 - a fixture
    made = reader.make_dataset(str(shapes), "validation", training=False, **OPTIONS)
    return list(made.as_numpy_iterator())


def device_parts(processes, step, name):
    """[first row, rows] of every device of all processes."""
    return list(itertools.chain(*(facts["steps"][step][name] for facts in processes)))


def test_all_devices_are_in_use(processes):
    count = len(processes)
    assert [facts["devices"] for facts in processes] == [[NUM_DEVICES, NUM_DEVICES // count, count]] * count


@pytest.mark.parametrize("name", ["images", "labels"])
def test_the_devices_of_all_processes_hold_the_parts_of_each_global_batch_in_order(processes, alone, name):
    size = GLOBAL_BATCH_SIZE // NUM_DEVICES
    for step, (images, labels) in enumerate(alone):
        parts = device_parts(processes, step, name)
        assert [start for start, _ in parts] == list(range(0, GLOBAL_BATCH_SIZE, size))
        held = np.concatenate([np.array(rows) for _, rows in parts])
        np.testing.assert_array_equal(held, {"images": images, "labels": labels}[name])


def test_every_process_sees_the_whole_global_shape(processes):
    assert {tuple(step["shape"]) for facts in processes for step in facts["steps"]} == {(GLOBAL_BATCH_SIZE, 8, 8, 3)}


@pytest.mark.parametrize("reduction", ["label_sum", "psum"])
def test_sums_over_all_devices_are_those_of_the_global_batch(processes, alone, reduction):
    wanted = [int(labels.sum()) for _, labels in alone]
    assert len(set(wanted)) > 1
    for facts in processes:
        assert [step[reduction] for step in facts["steps"]] == wanted


def test_training_takes_the_same_course_on_all_processes(processes):
    losses = [step["loss"] for step in processes[0]["steps"]]
    assert losses[0] == pytest.approx(np.log(4))  # weights of 0 hold all 4 classes for equally likely
    assert losses[-1] < losses[0]
    for facts in processes:
        assert [step["loss"] for step in facts["steps"]] == pytest.approx(losses, rel=1e-4)


@pytest.mark.slow
def test_training_takes_the_same_course_on_two_processes_as_on_one(all_facts):
    one, two = ([step["loss"] for step in all_facts(count)[0]["steps"]] for count in (1, 2))
    assert one == pytest.approx(two, rel=1e-4)


def test_evaluation_ends_on_every_process_and_weighs_every_example_once(processes, evaluated_alone):
    wanted = [(weights.sum(), images[weights > 0].sum()) for images, _, weights in evaluated_alone]
    assert sum(count for count, _ in wanted) == 48
    for facts in processes:
        np.testing.assert_allclose(facts["evaluated"], wanted, rtol=1e-3)
