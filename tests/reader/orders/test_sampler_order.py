"""`shardkit.sampler` gives the examples of the reader's `batch_keys`, in their order."""

import itertools

import pytest

import shardkit
from shardkit.reader import BlockOrder, make_dataset_fn


@pytest.mark.parametrize(
    "options",
    [
        {"seed": 3},
        {"order": "block"},
        {"order": BlockOrder(block_records=8, window_blocks=2, lanes=4), "where": "label_name != 'bee'"},
        {"sampling": "class_balanced"},
        {"sampling": {"ant": 1, "cat": 3}, "where": "height >= 4", "seed": 9},
    ],
    ids=str,
)
def test_the_sampler_lists_the_examples_of_the_reader(noise, options):
    options = {"global_batch_size": 16, **options}
    wanted = make_dataset_fn(noise, "train", **options)
    keys = shardkit.open(noise, "train", where=options.get("where")).index["key"].to_pylist()
    assert shardkit.sampler(noise, "train", **options).steps_per_epoch == wanted.steps_per_epoch
    for num_workers, start_step in [(1, 0), (2, 19), (4, 1_000_003)]:
        division = {"num_workers": num_workers, "start_step": start_step}
        parts = [
            iter(shardkit.sampler(noise, "train", worker_index=worker, **division, **options).batches)
            for worker in range(num_workers)
        ]
        for step in range(start_step, start_step + 25):
            batch = [keys[number] for number in itertools.chain(*map(next, parts))]
            assert batch == wanted.batch_keys(step)
