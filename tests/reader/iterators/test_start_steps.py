"""An iterator begins at the step that `start_step` holds at `iter()`, and no checkpoint restores it to another."""

import numpy as np
import pytest
import tensorflow as tf

from shardkit.errors import CallError
from shardkit.reader import BlockOrder, make_dataset_fn

from ..conftest import texts

BATCH = 16  # 20 steps of 307 examples


def with_key(features, _seed):
    return {"image": features["image"], "key": features["key"]}


KINDS = {
    "features": {},
    "images": {"image_size": (4, 4), "map_fn": with_key},
    "blocks": {"image_size": (4, 4), "map_fn": with_key, "order": BlockOrder(lanes=4, block_records=16)},
    "skip": {"image_size": (4, 4), "map_fn": with_key, "on_corrupt": "skip"},
}
WAYS = {
    "plain": lambda dataset_fn: dataset_fn(),
    "derived": lambda dataset_fn: dataset_fn().map(lambda batch: batch).prefetch(2).take(100),
    "distributed": lambda dataset_fn: tf.distribute.MirroredStrategy(["CPU:0"]).distribute_datasets_from_function(
        dataset_fn
    ),
}


def keys(batch):
    return texts(batch["key"][batch["weight"] > 0].numpy() if "weight" in batch else batch["key"].numpy())


@pytest.mark.parametrize(
    ("kind", "training", "way"),
    [
        pytest.param("features", True, "plain", marks=pytest.mark.slow),
        pytest.param("features", False, "derived", marks=pytest.mark.slow),
        ("images", True, "distributed"),
        ("images", False, "plain"),
    ],
)
def test_an_iterator_begins_at_the_value_at_iter(noise, kind, training, way):
    dataset_fn = make_dataset_fn(noise, "train", global_batch_size=BATCH, training=training, **KINDS[kind])
    dataset_fn.start_step = 1
    dataset = WAYS[way](dataset_fn)
    dataset_fn.start_step = np.int64(18)
    iterator = iter(dataset)
    dataset_fn.start_step.assign(5)  # the same
    assert [keys(next(iterator)) for _ in range(2)] == [dataset_fn.batch_keys(18), dataset_fn.batch_keys(19)]
    if not training:
        assert not list(iterator)
    assert keys(next(iter(dataset))) == dataset_fn.batch_keys(5)


def test_an_evaluation_says_how_many_steps_are_left(noise):
    dataset_fn = make_dataset_fn(noise, "train", global_batch_size=BATCH, training=False, start_step=2)
    dataset = dataset_fn(tf.distribute.InputContext(1, 0, 2))
    assert len(dataset) == 18  # of Keras: a step for both replicas
    assert len(dataset.prefetch(1)) == 36
    dataset_fn.start_step.assign(15)
    assert len(dataset) == 5
    assert len(list(dataset)) == 10


@pytest.mark.parametrize("found", [-1, 1 << 40, True, 5.0, "5", None, tf.constant(5)])
def test_what_is_assigned_is_checked_as_the_argument_is(noise, found):
    dataset_fn = make_dataset_fn(noise, "train", global_batch_size=BATCH)
    with pytest.raises(CallError) as as_argument:
        make_dataset_fn(noise, "train", global_batch_size=BATCH, start_step=found)
    with pytest.raises(CallError) as assigned:
        dataset_fn.start_step = found
    assert str(assigned.value) == str(as_argument.value)
    assert int(dataset_fn.start_step) == 0


def test_a_step_that_an_evaluation_or_independent_workers_do_not_have_is_refused_when_it_is_assigned(noise, caplog):
    evaluation = make_dataset_fn(noise, "train", global_batch_size=BATCH, training=False)
    with pytest.raises(CallError):
        evaluation.start_step = 20
    evaluation.start_step = 2
    assert "skips the first 2 of its 20 steps" in caplog.text
    independent = make_dataset_fn(noise, "train", global_batch_size=BATCH, independent_workers=True)
    with pytest.raises(CallError, match="leave out start_step=5"):
        independent.start_step = 5


@pytest.mark.parametrize("name", ["seed", "num_examples", "steps_per_epoch", "global_batch_size"])
def test_nothing_else_can_be_assigned_because_it_would_be_ignored(noise, name):
    dataset_fn = make_dataset_fn(noise, "train", global_batch_size=BATCH)
    with pytest.raises(AttributeError, match=f"^{name} of an input function cannot be assigned, only start_step can"):
        setattr(dataset_fn, name, 5)


@pytest.mark.parametrize(("training", "last"), [(True, 1099511627776), (False, 20)])
def test_a_step_that_does_not_exist_is_refused_by_iter(noise, training, last):
    dataset_fn = make_dataset_fn(noise, "train", global_batch_size=BATCH, training=training)
    dataset = dataset_fn()
    for found in (last, -1):
        dataset_fn.start_step.assign(found)
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"start_step .*{found}"):
            iter(dataset)


@pytest.mark.parametrize(
    ("kind", "policy"),
    [("skip", "WARN"), *(pytest.param(kind, None, marks=pytest.mark.slow) for kind in ("features", "blocks"))],
)
def test_a_restored_iterator_stops_and_names_start_step(noise, tmp_path, kind, policy):
    dataset_fn = make_dataset_fn(noise, "train", global_batch_size=BATCH, start_step=3, **KINDS[kind])
    dataset = dataset_fn().prefetch(1)
    if policy is not None:
        options = tf.data.Options()
        options.experimental_external_state_policy = tf.data.experimental.ExternalStatePolicy[policy]
        dataset = dataset.with_options(options)
    iterator = iter(dataset)
    for _ in range(4):
        next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / "checkpoint"))
    assert keys(next(iterator)) == dataset_fn.batch_keys(7)  # saving changes nothing
    for restored in (iterator, iter(dataset)):
        tf.train.Checkpoint(iterator=restored).read(path).assert_consumed()
        given = []
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"start_step=.* of step ") as caught:
            given.extend(keys(batch) for batch in restored)  # of what was read ahead, which is in the checkpoint
        assert given == [dataset_fn.batch_keys(7 + i) for i in range(len(given))]
        assert f"of step {7 + len(given)}" in str(caught.value)
        assert len(given) < 30
