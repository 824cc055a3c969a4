"""`shardkit script` prints programs that a user reads, runs, interrupts and runs again."""

import ast
import importlib.util
import json
import os
import re
import socket
import subprocess
import sys

import numpy as np
import pytest

from shardkit.programs.assembling import assemble, literal

from ..cli.calling import call
from ..pages import CHECKOUT

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
        ("--unlabelled",),
        "Train a network on images without labels, by two views of each (SimCLR)",
        8,
    ),
}
each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="session")
def datasets(made_once):
    """A dataset of each kind, by name; not to be changed."""

    def make(folder):
        for kind, (source, options, _, _) in KINDS.items():
            made = call("convert", str(CHECKOUT / "sample_data" / source), str(folder / kind), *options)
            assert made.exit_code == 0, made.stderr

    return made_once("datasets-for-programs", make)


def printed(dataset, **numbers):
    """The program for a dataset, with other numbers in its first block."""
    program = call("script", str(dataset))
    assert program.exit_code == 0, program.stderr
    text = program.stdout
    for name, value in numbers.items():
        text, count = re.subn(rf"(?m)^{name}(: [^=]+)? = .*?(?=  #|$)", f"{name} = {literal(value)}", text)
        assert count == 1, name
    return text


@each_kind
def test_a_program_needs_nothing_but_the_reader(datasets, kind):
    text = printed(datasets / kind)
    assert text.startswith(f'"""{KINDS[kind][2]}.\n')
    modules = [node.module for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    assert [one for one in modules if one.startswith("shardkit.")] == []
    numbers, _, functions = text.partition("\n\n\n")
    assert "\nDATASET = " in numbers
    assert re.findall(r"(?m)^[A-Z_]+(?:: [^=]+)? = (?!{)", functions) == []


def test_programs_are_as_tidy_as_the_project(datasets, tmp_path):
    for kind in KINDS:
        (tmp_path / f"{kind.replace('-', '_')}.py").write_text(printed(datasets / kind, DATASET="OUT"))
    ruff = [sys.executable, "-m", "ruff"]
    config = ("--config", str(CHECKOUT / "pyproject.toml"))
    for command in (["check", "--ignore", "T201,I001"], ["format", "--check"]):
        done = subprocess.run([*ruff, *command, *config, str(tmp_path)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_a_dataset_without_validation_keeps_a_tenth_back(datasets):
    text = printed(datasets / "no-labels")
    assert 'VALIDATION = "train"\nFOLD: tuple[int, int] | None = (0, 10)  #' in text


def test_a_value_of_a_constant_that_no_part_has_is_a_mistake():
    with pytest.raises(KeyError, match="NOWHERE"):
        assemble("with_keras.training", "A program", {"NOWHERE": 1}, {})


class InterruptionError(Exception):
    """Instead of Ctrl-C, which pytest would take."""


def train(text, folder, monkeypatch, saves=None):
    """Run a program in a folder, to its end or until it has saved some checkpoints; return the weights."""
    import tensorflow as tf

    save, count = tf.train.CheckpointManager.save, 0

    def interrupted(*args, **options):
        nonlocal count
        saved = save(*args, **options)
        count += 1
        if count == saves:
            raise InterruptionError
        return saved

    folder.mkdir(exist_ok=True)
    (folder / "train.py").write_text(text)
    spec = importlib.util.spec_from_file_location("train_program", folder / "train.py")
    program = importlib.util.module_from_spec(spec)
    with monkeypatch.context() as changed:
        changed.chdir(folder)
        changed.setattr(tf.train.CheckpointManager, "save", interrupted)
        spec.loader.exec_module(program)
        program.main()
        import keras

        return keras.saving.load_model(folder / "model.keras").get_weights()


def test_an_interrupted_program_goes_on_to_the_same_weights(datasets, tmp_path, monkeypatch, capsys):
    numbers = {"EPOCHS": 1, "STEPS_PER_CHECKPOINT": 2, "GLOBAL_BATCH_SIZE": 64, "IMAGE_SIZE": (32, 32)}
    text = printed(datasets / "classes", **numbers)
    at_once = train(text, tmp_path / "at-once", monkeypatch)
    with pytest.raises(InterruptionError):
        train(text, tmp_path / "twice", monkeypatch, saves=1)
    capsys.readouterr()
    twice = train(text, tmp_path / "twice", monkeypatch)
    said = capsys.readouterr().out
    assert "from step 2 to" in said
    assert "epoch 1 of 1: loss" in said
    assert len(at_once) == len(twice)
    for one, other in zip(at_once, twice, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def run(text, folder, **environment):
    """Start a program as a user does."""
    (folder / "train.py").write_text(text)
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT), "TF_CPP_MIN_LOG_LEVEL": "3", **environment}
    return subprocess.Popen(
        [sys.executable, "train.py"], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def losses(process):
    """The training losses of the epochs that a program prints."""
    said, error = process.communicate(timeout=1200)
    assert process.returncode == 0, error
    return [float(found) for found in re.findall(r"(?m)^epoch \d+ of \d+: loss ([\d.e-]+);", said)]


@pytest.mark.slow
@pytest.mark.timeout(1200)
@each_kind
def test_the_loss_falls(datasets, tmp_path, kind):
    found = losses(run(printed(datasets / kind, EPOCHS=KINDS[kind][3]), tmp_path))
    assert found[-1] < 0.75 * found[0]


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_photographs_are_trained_by_a_network_of_keras_applications(datasets, tmp_path):
    dataset = tmp_path / "OUT"
    made = call("convert", str(CHECKOUT / "sample_data" / "shapes"), str(dataset), *SPLITS, "--resize", "240")
    assert made.exit_code == 0
    text = printed(dataset, EPOCHS=2, WEIGHTS=None, GLOBAL_BATCH_SIZE=16)
    if "EfficientNet" not in text:
        pytest.skip("the images are not enlarged")
    assert len(losses(run(text, tmp_path))) == 2


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_two_machines_train_together(datasets, tmp_path):
    ports = []
    for _ in range(2):
        with socket.socket() as found:
            found.bind(("localhost", 0))
            ports.append(found.getsockname()[1])
    workers = {"worker": [f"localhost:{port}" for port in ports]}
    text = printed(datasets / "classes", EPOCHS=2)
    configs = [json.dumps({"cluster": workers, "task": {"type": "worker", "index": index}}) for index in range(2)]
    machines = [run(text, tmp_path, TF_CONFIG=config) for config in configs]
    assert [len(losses(one)) for one in machines] == [2, 0]  # the first one prints
