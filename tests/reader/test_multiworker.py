"""MultiWorkerMirroredStrategy over the loopback device: real processes, a custom loop of more than two epochs."""

import functools
import hashlib
import itertools

import pytest

from shardkit import reader

from .training_fixtures import facts_of_cluster, shapes  # noqa: F401 - a fixture

GLOBAL_BATCH_SIZE = 36  # divides by 2 and 3; no divisor of 192 and 48
NUM_STEPS = 12  # two epochs and a quarter


@pytest.fixture(scope="module")
def clusters(shapes, found_once):  # noqa: F811 - a fixture
    """Return the facts of every worker, by number of workers."""

    def run_cluster(folder, count):
        programs = [(shapes, folder / str(index), GLOBAL_BATCH_SIZE, NUM_STEPS) for index in range(count)]
        return facts_of_cluster("multiworker_loop.py", programs)

    return lambda count: found_once(f"cluster-of-{count}", functools.partial(run_cluster, count=count))


@pytest.fixture(params=[2, pytest.param(3, marks=pytest.mark.slow)])
def workers(request, clusters):
    return clusters(request.param)


@pytest.fixture(scope="module")
def train_fn(shapes):  # noqa: F811 - a fixture
    return reader.make_dataset_fn(str(shapes), "train", global_batch_size=GLOBAL_BATCH_SIZE)


@pytest.fixture(scope="module")
def evaluation_fn(shapes):  # noqa: F811 - a fixture
    return reader.make_dataset_fn(str(shapes), "validation", global_batch_size=GLOBAL_BATCH_SIZE, training=False)


def joined(workers, name):
    """Step by step, the parts of all workers one behind the other."""
    return [list(itertools.chain(*parts)) for parts in zip(*(worker[name] for worker in workers), strict=True)]


def test_the_parts_of_all_workers_make_up_the_global_batches_in_order(workers, train_fn):
    assert {len(part) for worker in workers for part in worker["keys"]} == {GLOBAL_BATCH_SIZE // len(workers)}
    assert joined(workers, "keys") == [train_fn.batch_keys(step) for step in range(NUM_STEPS)]


def test_pixels_are_those_that_a_single_process_reads(workers, shapes):  # noqa: F811 - a fixture
    options = {"images": reader.Images((8, 8), mean=(127,) * 3, std=(127,) * 3)}
    alone = reader.make_dataset(str(shapes), "train", global_batch_size=GLOBAL_BATCH_SIZE, **options)
    wanted = [
        [hashlib.sha256(image).hexdigest() for image in images]
        for images, _ in alone.take(NUM_STEPS).as_numpy_iterator()
    ]
    assert joined(workers, "pixels") == wanted


def test_training_takes_the_same_course_on_all_workers(workers):
    assert all(worker["losses"] == workers[0]["losses"] for worker in workers)


@pytest.mark.slow
def test_training_takes_the_same_course_on_two_workers_as_on_three(clusters):
    assert clusters(2)[0]["losses"] == pytest.approx(clusters(3)[0]["losses"], rel=1e-4)


def test_evaluation_ends_on_every_worker_and_weighs_every_example_once(workers, evaluation_fn):
    steps = range(evaluation_fn.steps_per_epoch)
    seen = list(itertools.chain(*joined(workers, "evaluation_keys")))
    assert seen[: evaluation_fn.num_examples] == list(itertools.chain(*map(evaluation_fn.batch_keys, steps)))
    assert len(seen) == len(steps) * GLOBAL_BATCH_SIZE
    assert {worker["num_weighed"] for worker in workers} == {48}


@pytest.mark.slow
def test_what_is_evaluated_does_not_depend_on_the_number_of_workers(clusters):
    assert clusters(2)[0]["num_correct"] == clusters(3)[0]["num_correct"]


def test_a_dataset_of_whole_batches_is_dealt_out_without_loss_or_repetition(workers, train_fn):
    assert joined(workers, "whole_keys") == [train_fn.batch_keys(step) for step in range(NUM_STEPS // 2)]
