"""`shardkit.open` and `shardkit.sampler` in real PyTorch and Grain; see `environments`."""

import functools
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import shardkit
from shardkit.testing import convert_without_beam, write_class_folders

from ..cli.calling import call
from ..pages import CHECKOUT, marked_with
from .environments import python_with_torch

# Making the environment takes minutes, and PyTorch's launchers start several processes each.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

PROGRAMS = Path(__file__).parent / "programs"
TIMEOUT_SECONDS = 600
START, STEPS = 11, 6


@pytest.fixture(scope="module")
def python(request):
    """The interpreter of an environment with PyTorch and Grain."""
    return python_with_torch(request.config.cache.mkdir("torch-and-grain"))


@pytest.fixture(scope="module")
def dataset(made_once):
    """The folder of 107 images in 3 shards; not to be changed."""

    def make(folder):
        write_class_folders(folder / "in", {"ant": 60, "bee": 47})
        convert_without_beam(str(folder / "in"), str(folder / "out"), shards=3)

    return str(made_once("for-torch", make) / "out")


def run(command, cwd=None):
    """The last line that a command prints."""
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return (done.stdout.strip().splitlines() or [""])[-1]


@functools.cache
def wanted(dataset, start_step, steps):
    """The keys of some global batches, by the tests' own environment."""
    keys = shardkit.open(dataset, "train").index["key"].to_pylist()
    sampler = shardkit.sampler(dataset, "train", global_batch_size=16, seed=3)
    return [[keys[number] for number in sampler.batch(step)] for step in range(start_step, start_step + steps)]


def ranks(python, dataset, num_ranks, start_step, steps, processes=2, method="fork"):
    """The keys of the global batches of some ranks of torch.distributed."""
    launcher = (python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", num_ranks)
    return json.loads(run([*launcher, PROGRAMS / "torch_ranks.py", dataset, start_step, steps, processes, method]))


@pytest.mark.parametrize(
    ("num_ranks", "processes", "method"), [(1, 2, "spawn"), (2, 2, "fork"), (4, 1, "fork"), (2, 0, "fork")]
)
def test_ranks_of_pytorch_share_the_global_batches_of_the_reader(python, dataset, num_ranks, processes, method):
    assert ranks(python, dataset, num_ranks, START, STEPS, processes, method) == wanted(dataset, START, STEPS)


def test_pytorch_resumes_in_the_middle_of_an_epoch_with_another_number_of_ranks(python, dataset):
    together = [
        *ranks(python, dataset, 2, 0, 3),
        *ranks(python, dataset, 4, 3, 2),
        *ranks(python, dataset, 1, 5, 9),
    ]
    assert together == wanted(dataset, 0, 14)  # two epochs of 107 examples


def test_a_dataloader_takes_the_sequence_as_it_is(python, dataset):
    found = json.loads(run([python, PROGRAMS / "torch_loader.py", dataset]))
    examples = shardkit.open(dataset, "train")
    assert found["by_sampler"] == wanted(dataset, 0, 5)
    assert found["is_sized"] == 5
    assert found["shuffled"] == sorted(examples.index["key"].to_pylist())
    first = examples[:4]
    assert found["default"]["labels"] == [example["label"] for example in first]
    assert found["default"]["keys"] == [example.key for example in first]
    assert found["default"]["bytes"] == [len(example["image"]) for example in first]
    assert found["pickled"] < 1000


@pytest.mark.parametrize(
    ("num_ranks", "workers", "api"), [(1, 0, "loader"), (2, 3, "loader"), (4, 0, "map"), (2, 2, "map")]
)
def test_grain_gives_the_global_batches_of_the_reader_and_its_checkpoints_resume(
    python, dataset, num_ranks, workers, api
):
    parts = [
        json.loads(run([python, PROGRAMS / "grain_ranks.py", dataset, num_ranks, rank, START, STEPS, workers, api]))
        for rank in range(num_ranks)
    ]
    steps = [[key for part in parts for key in part["batches"][step][0]] for step in range(STEPS)]
    assert steps == wanted(dataset, START, STEPS)
    for part in parts:
        assert part["resumed"] == [keys for keys, _ in part["batches"]][part["half"] :]
    # The random numbers of a record do not depend on the number of ranks, workers and the API.
    numbers = [number for part in parts for number in part["batches"][0][1]]
    assert numbers == _random_numbers(python, dataset)
    assert len(set(numbers)) > 14


def test_a_checkpoint_of_grain_is_refused_after_an_append_and_goes_on_with_the_pinned_dataset(
    python, dataset, tmp_path
):
    grown = shutil.copytree(dataset, tmp_path / "grown")
    pinned = f"{grown}@sha256:{shardkit.read_manifest(str(grown)).digest}"

    def batch(place, action):
        return json.loads(run([python, PROGRAMS / "grain_checkpoint.py", place, tmp_path / "checkpoint", action]))

    wanted = batch(grown, "write")
    assert batch(grown, "restore") == wanted
    new = write_class_folders(tmp_path / "new", {"ant/new": 3, "bee/new": 6}, width=9)
    call("append", grown, new, "--quiet")
    assert "refused: Sampler in checkpoint" in batch(grown, "restore")
    assert batch(pinned, "restore") == wanted


@functools.cache
def _random_numbers(python, dataset):
    alone = json.loads(run([python, PROGRAMS / "grain_ranks.py", dataset, 1, 0, START, 2, 0, "loader"]))
    return alone["batches"][0][1]


PRINTED = {"pytorch": "1009 torch.Size([64, 3, 96, 96])", "grain": "(64, 96, 96, 3)"}


@pytest.mark.parametrize("name", marked_with("torch and grain: "))
def test_the_snippets_of_the_page_run(python, dataset, name, tmp_path):
    (tmp_path / "OUT").symlink_to(dataset)
    (tmp_path / "snippet.py").write_text(marked_with("torch and grain: ")[name].code)
    assert run([python, tmp_path / "snippet.py"], cwd=tmp_path) == PRINTED[name]
