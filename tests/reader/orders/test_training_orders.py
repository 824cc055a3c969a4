"""Orders of training through the whole reader; `tests/order` holds the functions themselves to their promises."""

from collections import Counter

import numpy as np
import pytest
import tensorflow as tf

from shardkit.reader import BlockOrder, make_dataset_fn

from ..conftest import COUNTS, datasets_of_workers, global_batches, joined_batches, texts

NUM_EXAMPLES = sum(COUNTS.values())
BLOCKS = {"order": BlockOrder(block_records=8, window_blocks=2, lanes=8)}
ORDERS = {
    "block": BLOCKS,
    "class_balanced": {"sampling": "class_balanced"},
    "weights": {"sampling": {"ant": 1, "cat": 3}},
}

# Its input function takes seconds to make; tests/reader/records/test_block_reader.py has some.
SLOW_BLOCK = pytest.param("block", marks=pytest.mark.slow)


def read(noise, options, steps, num_workers=1, **more):
    """The keys of some global batches, in their order, by reading the records."""
    dataset_fn = make_dataset_fn(noise, "train", global_batch_size=16, **(options | more))
    return [texts(batch["key"]) for batch in global_batches(dataset_fn, steps, num_workers)]


def listed(noise, options, steps, **more):
    """The same, from the index alone."""
    dataset_fn = make_dataset_fn(noise, "train", global_batch_size=16, **(options | more))
    return [dataset_fn.batch_keys(step) for step in steps]


def class_of(key):
    return key.partition("/")[0]


# Blocks on 1, 2 and 4 workers: see tests/reader/records/test_block_reader.py.
@pytest.mark.parametrize(
    ("name", "num_workers"),
    [
        ("class_balanced", 2),
        pytest.param("weights", 2, marks=pytest.mark.slow),
        pytest.param("block", 8, marks=pytest.mark.slow),
        pytest.param("class_balanced", 8, marks=pytest.mark.slow),
        pytest.param("weights", 8, marks=pytest.mark.slow),
    ],
)
def test_what_is_read_is_what_is_listed_for_any_number_of_workers(name, num_workers, noise):
    options = ORDERS[name]
    assert read(noise, options, 25, num_workers, seed=3) == listed(noise, options, range(25), seed=3)


@pytest.mark.parametrize("name", [SLOW_BLOCK, "class_balanced", "weights"])
def test_any_step_is_begun_at(name, noise):
    dataset_fn = make_dataset_fn(noise, "train", global_batch_size=16, start_step=10_000_000, **ORDERS[name])
    datasets = datasets_of_workers(dataset_fn)
    for start in (10_000_000, 20):
        dataset_fn.start_step.assign(start)
        found = [texts(batch["key"]) for batch in joined_batches(datasets, 3)]
        assert found == [dataset_fn.batch_keys(start + i) for i in range(3)]


@pytest.mark.parametrize("options", ORDERS.values(), ids=ORDERS.keys())
def test_another_seed_is_another_order(options, noise):
    assert listed(noise, options, range(3), seed=1) != listed(noise, options, range(3), seed=2)


@pytest.mark.parametrize("more", [{}, {"where": "label_name <> 'bee'"}, {"fold": (0, 3)}, {"take": 100}])
def test_blocks_bring_every_example_once_an_epoch(more, noise):
    num_examples = make_dataset_fn(noise, "train", global_batch_size=1, **more).num_examples
    batches = listed(noise, BLOCKS, range(-(-3 * num_examples // 16)), **more)
    counts = Counter()
    for step, batch in enumerate(batches):
        counts.update(batch)
        # The batch of an epoch's border holds the end of one and the beginning of the next.
        epochs_done, within = divmod(16 * (step + 1), num_examples)
        assert max(counts.values()) <= epochs_done + (within > 0)
        assert sum(count >= epochs_done for count in counts.values()) == num_examples or not epochs_done
    assert len(counts) == num_examples


@pytest.mark.slow  # of a condition in place of a fold: test_block_reader
def test_blocks_of_a_fold_are_read_as_they_are_listed(noise):
    assert read(noise, BLOCKS, 38, fold=(0, 3)) == listed(noise, BLOCKS, range(38), fold=(0, 3))


def test_a_class_has_its_share_and_its_examples_come_in_turn(noise):
    keys = [key for batch in read(noise, {"sampling": "class_balanced"}, 63) for key in batch][:1000]
    assert set(Counter(map(class_of, keys)).values()) <= {333, 334}
    for name, count in COUNTS.items():
        own = [key for key in keys if class_of(key) == name]
        assert all(len(set(own[lap : lap + count])) == len(own[lap : lap + count]) for lap in range(0, len(own), count))


def test_weights_are_shares_and_classes_without_one_are_left_out(noise):
    keys = [key for batch in listed(noise, {"sampling": {"ant": 1, "cat": 3}}, range(63)) for key in batch][:1000]
    assert Counter(map(class_of, keys)) == {"ant": 250, "cat": 750}


def test_sampling_is_of_what_was_selected(noise):
    more = {"where": "label_name <> 'bee'"}
    keys = [key for batch in read(noise, {"sampling": "class_balanced"}, 20, **more) for key in batch]
    counts = Counter(map(class_of, keys))
    assert set(counts) == {"ant", "cat"}
    assert abs(counts["ant"] - counts["cat"]) <= 2


@pytest.mark.parametrize("name", [SLOW_BLOCK, "class_balanced"])
def test_an_example_that_comes_back_is_augmented_anew(name, noise):
    dataset_fn = make_dataset_fn(
        noise, "train", global_batch_size=16, map_fn=lambda features, seed: (features["key"], seed), **ORDERS[name]
    )
    seen = {}
    for keys, seeds in global_batches(dataset_fn, 60):
        for key, seed in zip(keys, seeds, strict=True):
            seen.setdefault(key, []).append(tuple(seed))
    assert max(map(len, seen.values())) > 2
    assert all(len(set(seeds)) == len(seeds) for seeds in seen.values())


@pytest.mark.parametrize("name", [SLOW_BLOCK, "class_balanced"])
def test_orders_serve_replicas_under_a_strategy(name, noise):
    strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(4)])
    dataset_fn = make_dataset_fn(noise, "train", global_batch_size=16, **ORDERS[name])
    iterator = iter(strategy.distribute_datasets_from_function(dataset_fn))
    for step in range(3):
        parts = strategy.experimental_local_results(next(iterator)["key"])
        assert texts(np.concatenate([np.asarray(part) for part in parts])) == dataset_fn.batch_keys(step)


def test_what_sampling_never_draws_is_not_counted(noise):
    dataset_fn = make_dataset_fn(noise, "train", global_batch_size=16, sampling={"ant": 1, "bee": 0, "cat": 3})
    assert (dataset_fn.num_examples, dataset_fn.steps_per_epoch) == (COUNTS["ant"] + COUNTS["cat"], 14)
    balanced = make_dataset_fn(noise, "train", global_batch_size=16, sampling="class_balanced")
    assert balanced.num_examples == NUM_EXAMPLES


def test_a_class_of_fewer_examples_than_its_share_of_a_batch_is_balanced_all_the_same(noise):
    dataset_fn = make_dataset_fn(noise, "train", global_batch_size=240, sampling="class_balanced")
    counts = Counter(map(class_of, dataset_fn.batch_keys(0)))
    assert counts["cat"] > COUNTS["cat"]
    assert max(counts.values()) - min(counts.values()) <= 2
