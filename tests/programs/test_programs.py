"""`shardkit script` prints programs that a user reads, runs, interrupts and runs again."""

import ast
import json
import os
import re
import shlex
import socket
import subprocess
import sys

import numpy as np
import pytest

from shardkit.programs.assembling import assemble, literal
from shardkit.testing import write_class_folders

from ..cli.calling import call
from ..pages import CHECKOUT
from ..records.environments import python_with_torch

SPLITS = ("--splits", "train=0.8,validation=0.2")
# A source of each kind, its options, the first line of its program, and the epochs that show a falling loss.
KINDS = {
    "classes": ("shapes", SPLITS, "Train a classifier of 4 classes", 12),
    "several-labels": ("multilabel.jsonl", SPLITS, "Train a classifier of 5 classes, several to an image", 8),
    "numbers": ("regression.parquet", SPLITS, "Train a model that predicts numbers", 12),
    "boxes": ("coco", (), "Train a detector of 3 classes", 60),
    "masks": ("masks", (), "Train a segmentation of images into 4 classes", 30),
    "no-labels": (
        "shapes",
        ("--unlabelled", *SPLITS),
        "Train a network on images without labels, by two views of each (SimCLR)",
        8,
    ),
}
LIBRARIES = ("keras", "torch", "jax")
each_kind = pytest.mark.parametrize("kind", KINDS)
each_library = pytest.mark.parametrize("library", LIBRARIES)


@pytest.fixture(scope="session")
def datasets(made_once):
    """A dataset of each kind, by name; not to be changed."""

    def make(folder):
        for kind, (source, options, _, _) in KINDS.items():
            made = call("convert", str(CHECKOUT / "sample_data" / source), str(folder / kind), *options)
            assert made.exit_code == 0, made.stderr

    return made_once("datasets-for-programs", make)


@pytest.fixture(scope="module")
def python_of(request):
    """The interpreter that runs the programs of a library."""

    def find(library):
        if library != "torch":
            return sys.executable
        return python_with_torch(request.config.cache.mkdir("torch-and-grain"))

    return find


def printed(dataset, library="keras", **numbers):
    """The program for a dataset, with other numbers in its first block."""
    program = call("script", str(dataset), "--for", library)
    assert program.exit_code == 0, program.stderr
    if numbers and library == "torch":
        numbers.setdefault("PROCESSES", 1)
    text = program.stdout
    for name, value in numbers.items():
        text, count = re.subn(rf"(?m)^{name}(: [^=]+)? = .*?(?=  #|$)", f"{name} = {literal(value)}", text)
        assert count == 1, name
    return text


@each_library
@each_kind
def test_a_program_needs_nothing_of_shardkit_but_its_public_names(datasets, kind, library):
    text = printed(datasets / kind, library)
    assert text.startswith(f'"""{KINDS[kind][2]}.\n')
    modules = [node.module for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    assert [one for one in modules if one.startswith("shardkit.")] == []
    assert ("tensorflow" in text) == (library != "torch")
    numbers, _, functions = text.partition("\n\n\n")
    assert "\nDATASET = " in numbers
    assert re.findall(r"(?m)^[A-Z_]+(?:: [^=]+)? = (?!{)", functions) == []


def test_programs_are_as_tidy_as_the_project(datasets, tmp_path):
    for library in LIBRARIES:
        for kind in KINDS:
            name = f"{library}_{kind.replace('-', '_')}.py"
            (tmp_path / name).write_text(printed(datasets / kind, library, DATASET="OUT"))
    ruff = [sys.executable, "-m", "ruff"]
    config = ("--config", str(CHECKOUT / "pyproject.toml"))
    for command in (["check", "--ignore", "T201,I001"], ["format", "--check"]):
        done = subprocess.run([*ruff, *command, *config, str(tmp_path)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_a_dataset_without_validation_keeps_a_tenth_back_or_is_refused(tmp_path):
    dataset = str(tmp_path / "OUT")
    assert call("convert", str(CHECKOUT / "sample_data" / "shapes"), dataset, "--unlabelled").exit_code == 0
    text = printed(dataset)
    assert 'VALIDATION = "train"\n' in text
    assert "\nFOLD: tuple[int, int] | None = (0, 10)  #" in text
    refused = call("script", dataset, "--for", "torch")
    assert refused.exit_code == 2
    command = shlex.split(re.search("`shardkit (.*?)`", refused.stderr)[1].replace("NEW", str(tmp_path / "NEW")))
    assert call(*command).exit_code == 0
    printed(tmp_path / "NEW", "torch")


def test_a_value_of_a_constant_that_no_part_has_is_a_mistake():
    with pytest.raises(KeyError, match="NOWHERE"):
        assemble("with_keras.training", "A program", {"NOWHERE": 1}, {})


# How a program saves a checkpoint, and how its weights are read after the last one.
SAVES = {
    "keras": "tf.train.CheckpointManager.save",
    "torch": "os.replace",
    "jax": "ocp.CheckpointManager.save",
}
WEIGHTS = {
    "keras": "keras.saving.load_model('model.keras').get_weights()",
    "torch": "[one.numpy() for one in torch.load('checkpoints/last.pt')['network'].values()]",
    "jax": "[one for one in jax.tree.leaves(ocp.CheckpointManager(os.path.abspath('checkpoints')).restore(3, "
    "args=ocp.args.StandardRestore())) if jnp.issubdtype(one.dtype, jnp.floating)]",
}


def twice(text, library):
    """A program that trains in one folder at once, in another one with an interruption, and writes both's weights."""
    name = SAVES[library]
    runs = f"""
import os
import numpy as np

class Interruption(Exception):
    pass

def stopping(*args, **options):
    save(*args, **options)
    if interrupts:
        {"args[0].wait_until_finished()" if library == "jax" else "pass"}
        raise Interruption

save = {name}
{name} = stopping
for folder, interrupts in (("at-once", False), ("twice", True), ("twice", False)):
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    try:
        main()
    except Interruption:
        print("interrupted")
    else:
        np.savez("../" + folder + ".npz", *map(np.asarray, {WEIGHTS[library]}))
    os.chdir("..")
"""
    return text.replace('if __name__ == "__main__":\n    main()\n', runs)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("library", ["keras", *(pytest.param(name, marks=pytest.mark.slow) for name in LIBRARIES[1:])])
def test_an_interrupted_program_goes_on_to_the_same_weights(datasets, tmp_path, library, python_of):
    numbers = {"EPOCHS": 1, "STEPS_PER_CHECKPOINT": 2, "GLOBAL_BATCH_SIZE": 64, "IMAGE_SIZE": (32, 32)}
    text = printed(datasets / "classes", library, **numbers)
    said, error = (process := run(twice(text, library), tmp_path, python_of(library))).communicate(timeout=1200)
    assert process.returncode == 0, error
    assert re.findall("from step . to 3|interrupted|epoch 1 of 1: loss", said) == [
        *("from step 0 to 3", "epoch 1 of 1: loss"),
        *("from step 0 to 3", "interrupted"),
        *("from step 2 to 3", "epoch 1 of 1: loss"),
    ]
    at_once, again = (np.load(tmp_path / f"{name}.npz") for name in ("at-once", "twice"))
    assert len(at_once) == len(again) > 20
    for name in at_once:
        np.testing.assert_allclose(at_once[name], again[name], rtol=1e-4, atol=1e-5)


def run(text, folder, python=sys.executable, launcher=(), **environment):
    """Start a program as a user does."""
    (folder / "train.py").write_text(text)
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT), "TF_CPP_MIN_LOG_LEVEL": "3", **environment}
    command = [python, *launcher, "train.py"]
    return subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def losses(process):
    """The training losses of the epochs that a program prints."""
    said, error = process.communicate(timeout=1200)
    assert process.returncode == 0, error
    return [float(found) for found in re.findall(r"(?m)^epoch \d+ of \d+: loss ([\d.e-]+);", said)]


def free_port():
    """A port of this machine that nothing listens at."""
    with socket.socket() as found:
        found.bind(("localhost", 0))
        return found.getsockname()[1]


@pytest.mark.slow
@pytest.mark.timeout(1200)
@each_library
@each_kind
def test_the_loss_falls(datasets, tmp_path, kind, library, python_of):
    text = printed(datasets / kind, library, EPOCHS=KINDS[kind][3], IMAGE_SIZE=(32, 32))
    found = losses(run(text, tmp_path, python_of(library)))
    assert found[-1] < 0.75 * found[0]


@pytest.mark.slow
@pytest.mark.timeout(1200)
@each_library
def test_photographs_are_trained_by_a_larger_network(tmp_path, library, python_of):
    write_class_folders(tmp_path / "in", {"ant": 10, "bee": 10}, width=240, height=240)
    assert call("convert", str(tmp_path / "in"), str(tmp_path / "OUT"), *SPLITS).exit_code == 0
    without = {} if library == "jax" else {"WEIGHTS": None}  # others are downloaded
    size = {"IMAGE_SIZE": (64, 64), "GLOBAL_BATCH_SIZE": 8}
    text = printed(tmp_path / "OUT", library, EPOCHS=1, **size, **without)
    assert ("EfficientNet" if library == "keras" else "ResNet") in text
    assert len(losses(run(text, tmp_path, python_of(library)))) == 1


@pytest.mark.slow
@pytest.mark.timeout(1200)
@each_library
def test_two_processes_train_together(datasets, tmp_path, library, python_of):
    ports, python = [free_port(), free_port()], python_of(library)
    text = printed(datasets / "classes", library, EPOCHS=2, IMAGE_SIZE=(32, 32))
    workers = {"worker": [f"localhost:{port}" for port in ports]}
    launcher, environments = (), [{}]
    if library == "keras":
        configs = [{"cluster": workers, "task": {"type": "worker", "index": index}} for index in range(2)]
        environments = [{"TF_CONFIG": json.dumps(config)} for config in configs]
    elif library == "jax":
        together = {"COORDINATOR": workers["worker"][0], "NUM_PROCESSES": "2"}
        environments = [{**together, "PROCESS_ID": str(index)} for index in range(2)]
    else:
        launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    processes = [run(text, tmp_path, python, launcher, **environment) for environment in environments]
    found = [losses(one) for one in processes]
    assert [len(one) for one in found] == [2, 0][: len(found)]  # the first one prints
