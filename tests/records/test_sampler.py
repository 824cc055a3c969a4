"""`shardkit.sampler` without TensorFlow; `tests/reader/golden` compares it with the reader."""

import itertools
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest

import shardkit
import shardkit.fetch
from shardkit.errors import CallError, DataError, MissingExtraError, RecordError
from shardkit.order import BlockOrder, permutation
from shardkit.testing import convert_without_beam, write_class_folders

from ..cli.calling import environment
from ..fetch.damaging import flip_bits

COUNTS = {"ant": 40, "bee": 31, "cat": 18}
NUM_EXAMPLES = sum(COUNTS.values())


@pytest.fixture(scope="session")
def dataset(made_once):
    """The folder of 89 examples of three classes in 5 shards; not to be changed."""

    def make(folder):
        write_class_folders(folder / "in", COUNTS)
        convert_without_beam(str(folder / "in"), str(folder / "out"), shards=5)

    return str(made_once("sampled", make) / "out")


def part(dataset, steps, num_workers=1, worker_index=0, start_step=0, **options):
    """The first batches of one worker."""
    options = {"global_batch_size": 16} | options
    division = {"num_workers": num_workers, "worker_index": worker_index, "start_step": start_step}
    return [*itertools.islice(shardkit.sampler(dataset, "train", **division, **options).batches, steps)]


def global_batches(dataset, steps, num_workers, **options):
    """The parts of all workers put together, step by step."""
    parts = [part(dataset, steps, num_workers, worker, **options) for worker in range(num_workers)]
    return [[number for one in step for number in one] for step in zip(*parts, strict=True)]


def test_the_full_order_is_the_permutation_of_the_positions(dataset):
    found = [*itertools.islice(shardkit.sampler(dataset, "train", global_batch_size=16, seed=7), 3 * NUM_EXAMPLES)]
    positions = np.arange(3 * NUM_EXAMPLES)
    assert found == permutation.permute(positions, num_examples=NUM_EXAMPLES, seed=7).tolist()
    for epoch in range(3):
        assert sorted(found[epoch * NUM_EXAMPLES : (epoch + 1) * NUM_EXAMPLES]) == [*range(NUM_EXAMPLES)]
    assert {type(number) for number in found} == {int}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"order": "block", "seed": 1},
        {"order": BlockOrder(block_records=4, window_blocks=2, lanes=4)},
        {"sampling": "class_balanced"},
        {"sampling": {"bee": 3, "cat": 1}},
        {"where": "label_name != 'bee'"},
        {"order": "block", "where": "label_name != 'bee'"},
    ],
    ids=str,
)
def test_any_number_of_workers_has_the_same_global_batches_from_any_step_on(dataset, options):
    alone = part(dataset, 12, **options)
    for num_workers in (2, 4):
        assert global_batches(dataset, 12, num_workers, **options) == alone
        assert global_batches(dataset, 5, num_workers, start_step=7, **options) == alone[7:]
    examples = shardkit.open(dataset, "train", where=options.get("where"))
    assert {number for batch in alone for number in batch} <= {*range(len(examples))}
    shares = options.get("sampling")
    if isinstance(shares, dict):
        names = [examples[number].label_names[0] for batch in alone for number in batch]
        assert {name: names.count(name) / len(names) for name in set(names)} == {"bee": 0.75, "cat": 0.25}


def test_a_late_step_costs_no_more_than_the_first(dataset):
    sampler = shardkit.sampler(dataset, "train", global_batch_size=16, start_step=10_000_000_000)
    assert next(iter(sampler.batches)) == sampler.batch(10_000_000_000)
    assert sampler.batch(3) == part(dataset, 4)[3]


def test_an_iteration_of_some_steps_has_a_length_and_starts_where_it_is_told(dataset):
    sampler = shardkit.sampler(dataset, "train", global_batch_size=16, num_workers=2, worker_index=1, num_steps=6)
    assert (sampler.steps_per_epoch, sampler.batch_size, sampler.num_examples) == (6, 8, NUM_EXAMPLES)
    first = [*sampler.batches]
    assert (len(sampler.batches), len(sampler), len(first), len([*sampler])) == (6, 48, 6, 48)
    assert [*sampler] == [number for batch in first for number in batch]
    assert [sampler[number] for number in range(48)] == [*sampler]
    for number in (-1, 48):
        with pytest.raises(IndexError, match=str(number)):
            sampler[number]
    sampler.start_step = 6
    assert sampler[9] == [*sampler][9]
    assert [*sampler.batches] == part(dataset, 6, 2, 1, 6) != first
    endless = shardkit.sampler(dataset, "train", global_batch_size=16)
    for sized in (endless, endless.batches):
        with pytest.raises(TypeError, match="num_steps"):
            len(sized)


def test_without_a_condition_the_manifest_is_enough(dataset, tmp_path):
    shutil.copy(f"{dataset}/manifest.json", tmp_path)
    assert part(tmp_path, 2) == part(dataset, 2)
    with pytest.raises(DataError):
        part(tmp_path, 2, where="height > 1")


def _batches(sampler):
    return [*itertools.islice(sampler.batches, 3)]


# A process of its own: gRPC, if a test before has loaded it, may abort in a fork that then runs Python.
FORKING = """
import itertools, multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
import shardkit

def batches(sampler):
    return [*itertools.islice(sampler.batches, 3)]

if __name__ == "__main__":
    sampler = shardkit.sampler(sys.argv[1], "train", global_batch_size=16, start_step=5)
    for method in ("fork", "spawn"):
        with ProcessPoolExecutor(1, multiprocessing.get_context(method)) as pool:
            assert pool.submit(batches, sampler).result() == batches(sampler), method
    print(len(batches(sampler)))
"""


def test_a_sampler_works_in_forked_and_spawned_processes(dataset, tmp_path):
    (tmp_path / "forking.py").write_text(FORKING)  # a spawned process imports it
    command = [sys.executable, str(tmp_path / "forking.py"), dataset]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr


def test_a_sampler_is_pickled_small(dataset):
    sampler = shardkit.sampler(dataset, "train", global_batch_size=16, start_step=5)
    wanted = _batches(sampler)
    assert len(pickle.dumps(sampler)) < 1000
    copy = pickle.loads(pickle.dumps(sampler))  # noqa: S301 - our own bytes
    assert _batches(copy) == wanted
    assert repr(copy) == repr(sampler)
    assert "start_step=5" in repr(sampler)
    assert f"@sha256:{shardkit.read_manifest(dataset).digest}'" in repr(sampler)  # an append changes it, and the order


def test_grain_is_asked_for_where_it_is_missing(dataset, monkeypatch):
    monkeypatch.setitem(sys.modules, "grain", None)
    with pytest.raises(MissingExtraError, match="pip install grain"):
        shardkit.sampler(dataset, "train", global_batch_size=16).grain()


LOADED = """
import shardkit, sys
for options in {}, {"fold": (1, 3), "take": 20, "where": "height > 1"}:
    sampler = shardkit.sampler(sys.argv[1], "train", global_batch_size=16, **options)
    example = shardkit.open(sys.argv[1], "train", on_corrupt="skip", **options)[next(iter(sampler))]
    example["label"]
print([name for name in ("tensorflow", "keras", "apache_beam", "PIL", "torch") if name in sys.modules])
"""


def test_sequence_and_sampler_load_no_tensorflow_and_no_beam(dataset):
    done = subprocess.run([sys.executable, "-c", LOADED, dataset], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("found", ["skp", 3, None])
def test_another_word_for_on_corrupt_is_refused(dataset, found):
    with pytest.raises(CallError, match=r"on_corrupt must be 'error', 'skip' or a shardkit.fetch.Skip"):
        shardkit.open(dataset, "train", on_corrupt=found)


def test_a_pickled_sequence_keeps_its_selection_and_what_it_does_about_damage(dataset, tmp_path):
    damaged = shutil.copytree(dataset, tmp_path / "damaged")
    options = {"fold": (1, 3), "training": False, "take": 9}
    place = shardkit.open(str(damaged), "train", **options)[4].location
    flip_bits(damaged / place.shard, place.offset + 30, 1)
    examples = shardkit.open(str(damaged), "train", **options, on_corrupt=shardkit.fetch.Skip(1), seed=5)
    copy = pickle.loads(pickle.dumps(examples))  # noqa: S301 - our own bytes
    keys = examples.index["key"].to_pylist()
    for one in (examples, copy):
        found = [example.key for example in one]
        assert [at for at in range(9) if found[at] != keys[at]] == [4]
        assert found[4] == examples[4].key == one[4].key
        assert found[4] in keys
    with pytest.raises(RecordError, match="0 are allowed"):
        shardkit.open(str(damaged), "train", **options, on_corrupt=shardkit.fetch.Skip(0))[4]
