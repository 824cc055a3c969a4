"""`shardkit.sampler` and `shardkit.open` give the golden batches of the reader without TensorFlow."""

import numpy as np
import pytest

import shardkit
from shardkit.errors import RecordError

from .configurations import BATCH, CONFIGURATIONS, DATASETS, GOLDEN, STEPS, batches_of, dataset_fn
from .make_golden import digest

SELECTION = ("where", "fold", "take")
TRAINING = [name for name, one in CONFIGURATIONS.items() if one.options.get("training", True) and name != "mixture"]


def opened(configuration, names=(*SELECTION, "training", "on_corrupt", "seed")):
    options = {name: value for name, value in configuration.options.items() if name in names}
    return shardkit.open(str(DATASETS / configuration.dataset), configuration.split, **options)


def sampled(configuration, worker, **options):
    names = ("seed", "order", "sampling", "start_step", *SELECTION)
    options = {name: value for name, value in configuration.options.items() if name in names} | options
    division = {"num_workers": configuration.workers, "worker_index": worker, "global_batch_size": BATCH}
    return shardkit.sampler(str(DATASETS / configuration.dataset), configuration.split, **division, **options)


@pytest.mark.parametrize("name", TRAINING)
def test_the_sampler_numbers_the_examples_of_the_golden_batches(name):
    configuration, golden = CONFIGURATIONS[name], np.load(GOLDEN / f"{name}.npz")
    keys = opened(configuration, SELECTION).index["key"].to_pylist()
    for worker in range(configuration.workers):
        planned = golden[f"plan {worker} key"].tolist()
        sampler = sampled(configuration, worker, num_steps=STEPS)
        assert [keys[number] for number in sampler] == planned
        middle = sampled(configuration, worker, start_step=sampler.start_step + 17, num_steps=3)
        assert [keys[number] for number in middle] == planned[17 * sampler.batch_size : 20 * sampler.batch_size]


@pytest.mark.parametrize("name", ["padded", "short"])
def test_the_sequence_has_the_examples_of_a_golden_evaluation(name):
    configuration, golden = CONFIGURATIONS[name], np.load(GOLDEN / f"{name}.npz")
    keys = golden["plan 0 key"][golden["plan 0 weight"] > 0].tolist()
    start = configuration.options.get("start_step", 0) * BATCH
    assert opened(configuration).index["key"].to_pylist()[start:] == keys


def assert_golden(golden, place, examples, rows):
    """Keys and encoded images of some rows are those of an element: the reader's replacements, too."""
    read = examples.__getitems__(rows)
    for part, values in (("key", [one.key.encode() for one in read]), ("image", [one["image"] for one in read])):
        assert digest(np.array(values, object)) == golden[f"{place} {part}. digest"], place


def test_the_records_of_the_golden_batches_are_read():
    configuration, golden = CONFIGURATIONS["encoded"], np.load(GOLDEN / "encoded.npz")
    for step, batch in enumerate(sampled(configuration, 0, num_steps=STEPS).batches):
        assert_golden(golden, f"{step} 0", opened(configuration), batch)


def test_a_golden_evaluation_of_damaged_records_has_the_same_ones_in_their_place():
    configuration, golden = CONFIGURATIONS["damaged_pass"], np.load(GOLDEN / "damaged_pass.npz")
    examples, size = opened(configuration), BATCH // configuration.workers
    for step in range(len(examples) // BATCH):
        for worker in range(configuration.workers):
            first = step * BATCH + worker * size
            assert_golden(golden, f"{step} {worker}", examples, range(first, first + size))


@pytest.mark.parametrize("seed", [0, 3])
def test_in_training_a_damaged_record_is_replaced_as_in_the_reader_by_every_worker(seed, caplog):
    configuration = CONFIGURATIONS["damaged"]._replace(options={"on_corrupt": "skip", "seed": seed})
    read = [keys for (element,) in batches_of(dataset_fn(configuration), configuration) for keys in [element["key"]]]
    caplog.clear()
    for workers in (1, 2):
        division = configuration._replace(workers=workers)
        parts = [sampled(division, worker, num_steps=STEPS).batches for worker in range(workers)]
        readers = [opened(division) for _ in range(workers)]  # each is a process of its own
        for keys, *batches in zip(read, *parts, strict=True):
            found = [
                one.key.encode() for own, batch in zip(readers, batches, strict=True) for one in own.__getitems__(batch)
            ]
            assert found == keys.tolist()
    assert "another example replaces it" in caplog.text
    damaged = [*range(len(opened(configuration)))]
    with pytest.raises(RecordError, match=r"record \d+ \(\w+/\d+\.\w+\): the CRC"):
        opened(configuration, ()).__getitems__(damaged)
