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

from shardkit.testing import write_class_folders

from ..cli.calling import call
from ..pages import CHECKOUT
from ..reader.processes import PIPE, Process
from ..reader.training_fixtures import environment
from ..records.environments import python_with_torch

PAGE = CHECKOUT / "shardkit" / "programs" / "README.md"
SPLITS = ("--splits", "train=0.8,validation=0.2")
# A source of each kind, its options, and the epochs that show a falling loss.
KINDS = {
    "class": ("shapes", SPLITS, 12),
    "classes": ("multilabel.jsonl", SPLITS, 8),
    "numbers": ("regression.parquet", SPLITS, 12),
    "boxes": ("coco", (), 60),
    "masks": ("masks", (), 30),
}
# The programs, the options that print them, and the kinds that they are for.
LABELS = ("class", "classes", "numbers")
PROGRAMS = {
    "fit": ((), KINDS),
    "loop": (("--style", "loop"), LABELS),
    "jax": (("--for", "jax"), LABELS),
    "torch": (("--for", "torch"), LABELS),
}
each_program = pytest.mark.parametrize("program", PROGRAMS)
each_kind = pytest.mark.parametrize(
    ("program", "kind"), [(program, kind) for program, (_, kinds) in PROGRAMS.items() for kind in kinds]
)
# A test process has no PyTorch; the programs for the other libraries start in processes that have imported TensorFlow.
each_quick_program = pytest.mark.parametrize(
    ("program", "kind"), [("fit", "class"), ("fit", "boxes"), ("fit", "masks"), ("loop", "class"), ("jax", "class")]
)


@pytest.fixture(scope="session")
def datasets(made_once):
    """A dataset of each kind, by name; not to be changed."""

    def make(folder):
        for kind, (source, options, _) in KINDS.items():
            made = call("convert", str(CHECKOUT / "sample_data" / source), str(folder / kind), *options)
            assert made.exit_code == 0, made.stderr

    return made_once("datasets-for-programs", make)


@pytest.fixture(scope="module")
def python_of(request):
    """The interpreter that runs a program."""

    def find(program):
        if program != "torch":
            return sys.executable
        return python_with_torch(request.config.cache.mkdir("torch-and-grain"))

    return find


def printed(dataset, program="fit", **values):
    """The program for a dataset, with other values at its head."""
    result = call("script", str(dataset), *PROGRAMS[program][0])
    assert result.exit_code == 0, result.stderr
    if values and program == "torch":
        values.setdefault("PROCESSES", 1)
    text = result.stdout
    for name, value in values.items():
        text, count = re.subn(rf"(?m)^{name}(: [^=]+)? = .*?(?=  #|$)", f"{name} = {value!r}", text)
        assert count == 1, name
    return text


def start(text, folder, *flags, **variables):
    """Start a program as a user does, in a process that has imported TensorFlow."""
    (folder / "train.py").write_text(text)
    return Process(["train.py", *flags], environment(**variables), cwd=folder, stdout=PIPE, stderr=PIPE)


def run(text, folder, *flags, **variables):
    """Run a program; its exit code and what it wrote on standard output and error."""
    process = start(text, folder, *flags, **variables)
    said, error = process.communicate(timeout=300)
    return process.returncode, said, error


def values_of(text):
    """The values at the head of a program."""
    head = re.search(r"(?m)^# Values of the dataset: (.+)\.\n((?:.+\n)+)", text)
    lines = [(node, getattr(node, "target", None) or node.targets[0]) for node in ast.parse(head[2]).body]
    return {"facts": head[1]} | {target.id: ast.literal_eval(node.value) for node, target in lines}


@each_kind
def test_a_program_needs_nothing_of_shardkit_but_its_public_names(datasets, program, kind):
    text = printed(datasets / kind, program)
    modules = [node.module for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    assert {one for one in modules if one.startswith("shardkit.")} == {"shardkit.errors"}
    assert ("tensorflow" in text) == (program != "torch")


def test_the_values_at_the_head_are_those_of_the_dataset(datasets):
    values = values_of(printed(datasets / "numbers", "torch"))
    [mean], [deviation] = values.pop("MEANS"), values.pop("DEVIATIONS")
    assert 0.4 < mean < 0.6
    assert 0.1 < deviation < 0.3
    assert values == {
        "facts": "64 examples in train, 16 examples in validation",
        "DATASET": str(datasets / "numbers"),
        "TRAIN": "train",
        "VALIDATION": "validation",
        "FOLD": None,
        "WHERE": None,
        "LABELS": "numbers",
        "IMAGE_SIZE": (64, 64),
        "CROP_SCALE": (0.8, 1.0),
        "PHOTOGRAPHS": False,
        "DROPOUT": 0.0,
        "BATCH_SIZE": 16,
        "EPOCHS": 100,
    }


def test_a_dataset_s_name_is_written_as_a_literal(tmp_path):
    dataset = tmp_path / """it's a "dataset" \\ # 1"""
    assert call("convert", str(CHECKOUT / "sample_data" / "shapes"), dataset, *SPLITS).exit_code == 0
    assert values_of(printed(dataset))["DATASET"] == str(dataset)


def test_programs_are_as_tidy_as_the_project(datasets, tmp_path):
    for program, (_, kinds) in PROGRAMS.items():
        for kind in kinds:
            text = printed(datasets / kind, program).replace(f'"{datasets / kind}"', '"OUT"')
            (tmp_path / f"{program}_{kind}.py").write_text(text)
    ruff = [sys.executable, "-m", "ruff"]
    config = ("--config", str(CHECKOUT / "pyproject.toml"))
    for command in (["check", "--ignore", "T201,I001"], ["format", "--check"]):
        done = subprocess.run([*ruff, *command, *config, str(tmp_path)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_what_programs_have_in_common_is_the_same_in_all():
    sources = [path.read_text(encoding="utf-8") for path in PAGE.parent.glob("*_*.py")]
    for name, count in {"positive": 6, "make_backbone": 3}.items():
        found = [re.search(rf"(?ms)^def {name}\(.*?\n\n\n", source) for source in sources]
        texts = [match[0] for match in found if match]
        assert (len(texts), len(set(texts))) == (count, 1), name


def test_of_a_dataset_without_validation_a_tenth_is_kept_back(tmp_path):
    dataset = str(tmp_path / "OUT")
    assert call("convert", str(CHECKOUT / "sample_data" / "shapes"), dataset).exit_code == 0
    for program in PROGRAMS:
        values = values_of(printed(dataset, program))
        assert (values["VALIDATION"], values["FOLD"]) == ("train", (0, 10))


@pytest.mark.parametrize("program", ["loop", "jax", "torch"])
@pytest.mark.parametrize("kind", ["boxes", "masks"])
def test_boxes_and_masks_are_trained_by_fit_only(datasets, program, kind):
    refused = call("script", datasets / kind, *PROGRAMS[program][0])
    assert refused.exit_code == 2
    command = shlex.split(re.search("`shardkit (.*?)`", refused.stderr)[1])
    assert call(*command).stdout == printed(datasets / kind)


def test_images_without_labels_have_no_program_and_none_is_advised(tmp_path):
    converted = call("convert", str(CHECKOUT / "sample_data" / "shapes"), tmp_path / "OUT", "--unlabelled")
    assert converted.exit_code == 0
    assert "script" not in converted.stdout
    refused = call("script", tmp_path / "OUT")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "no labels to train on" in refused.stderr


@each_quick_program
def test_a_program_has_flags_and_stops_at_the_checkpoints_of_another_training(datasets, tmp_path, program, kind):
    text = printed(datasets / kind, program)
    code, said, error = run(text, tmp_path, "--help")
    assert (code, error) == (0, "")
    epochs = values_of(text)["EPOCHS"]
    assert re.search(rf"--epochs EPOCHS\s+passes over the training examples \(default:\s+{epochs}\)", said)
    flags = re.findall(r"^\| `(--[a-z-]+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [flag for flag in flags if flag not in said] == (["--weights"] if kind == "masks" else [])
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "training.json").write_text('{"classes": ["wasp"], "seed": 0}')
    code, said, error = run(text, tmp_path)
    assert (code, said) == (1, "")
    assert error.startswith("train.py: checkpoints: the checkpoints are from another training: classes wasp, now ")
    assert f"program None, now {'Keras' if program in {'fit', 'loop'} else 'JAX'} " in error
    assert len(error.splitlines()) == 1


def test_a_wrong_flag_is_named_by_a_program(datasets, tmp_path):
    code, _, error = run(printed(datasets / "class"), tmp_path, "--batch-size", "0")
    assert (code, error.splitlines()[-1]) == (2, "train.py: error: argument --batch-size: invalid positive value: '0'")


def test_weights_that_cannot_be_downloaded_are_a_sentence_that_names_the_flag(datasets, tmp_path):
    text = printed(datasets / "class", PHOTOGRAPHS=True)
    offline = {"https_proxy": "http://localhost:9", "KERAS_HOME": str(tmp_path / "keras")}
    code, _, error = run(text, tmp_path, **offline)
    assert code == 1
    assert re.fullmatch(r"cannot get the weights 'imagenet': URL fetch failure .*: --weights none\n", error), error


# How a program saves a checkpoint, how its weights are read after the last one, its values and its epochs.
INTERRUPTED = {
    "fit": (
        "keras.callbacks.BackupAndRestore.on_epoch_end",
        "keras.saving.load_model('checkpoints/model.keras', compile=False).get_weights()",
        {},
        2,
    ),
    "loop": (
        "tf.train.CheckpointManager.save",
        "keras.saving.load_model('checkpoints/model.keras').get_weights()",
        {"STEPS_PER_CHECKPOINT": 2},
        1,
    ),
    "torch": (
        "os.replace",
        "[one.numpy() for one in torch.load('checkpoints/last.pt')['network'].values()]",
        {"STEPS_PER_CHECKPOINT": 2},
        1,
    ),
    "jax": (
        "ocp.CheckpointManager.save",
        (
            "[one for one in jax.tree.leaves(ocp.CheckpointManager(os.path.abspath('checkpoints/steps')).restore(3, "
            "args=ocp.args.StandardRestore())) if jnp.issubdtype(one.dtype, jnp.floating)]"
        ),
        {"STEPS_PER_CHECKPOINT": 2},
        1,
    ),
}


def twice(text, program, epochs):
    """A program that trains in one folder at once, in another one with an interruption and then once more."""
    name, weights, *_ = INTERRUPTED[program]
    runs = f"""
import numpy as np

class Interruption(Exception):
    pass

def stopping(*args, **options):
    save(*args, **options)
    if interrupts and "training.json" not in str(args):  # which torch's os.replace writes too
        {"args[0].wait_until_finished()" if program == "jax" else "pass"}
        raise Interruption

def written():
    return {{entry.name: entry.stat().st_mtime_ns for entry in os.scandir("checkpoints")}}

save = {name}
{name} = stopping
for folder, interrupts in (("at-once", False), ("twice", True), ("twice", False)):
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    try:
        main(["--epochs", "{epochs}", "--batch-size", "64"])
    except Interruption:
        print("interrupted")
    else:
        np.savez("../" + folder + ".npz", *map(np.asarray, {weights}))
    os.chdir("..")
os.chdir("twice")
before = written()
main(["--epochs", "{epochs}", "--batch-size", "64"])
assert written() == before
"""
    # A quarter of the time of a short training.
    quick = "tf.config.optimizer.set_experimental_options({'disable_meta_optimizer': True})\n"
    runs = runs if program == "torch" else f"import tensorflow as tf\n{quick}{runs}"
    return text.partition('if __name__ == "__main__":\n')[0] + runs


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "program", ["fit", *(pytest.param(one, marks=pytest.mark.slow) for one in PROGRAMS if one != "fit")]
)
def test_an_interrupted_program_goes_on_to_the_same_weights(datasets, tmp_path, program, python_of):
    *_, values, epochs = INTERRUPTED[program]
    text = twice(printed(datasets / "class", program, IMAGE_SIZE=(32, 32), **values), program, epochs)
    if program == "fit":
        text = text.replace("(32, 64, 128)", "(8, 16)")  # two convolutions less, for the time of a test
    if program == "torch":
        code, said, error = run_by(python_of(program), text, tmp_path)
    else:
        code, said, error = run(text, tmp_path)
    assert code == 0, error
    assert re.findall("from step . to 3|interrupted|Epoch [12]/2|epoch 1 of 1: loss|already.*", said) == (
        ["Epoch 1/2", "Epoch 2/2", "Epoch 1/2", "interrupted", "Epoch 2/2", "already trained: 2 of 2 epochs"]
        if program == "fit"
        else [
            *("from step 0 to 3", "epoch 1 of 1: loss"),
            *("from step 0 to 3", "interrupted"),
            *("from step 2 to 3", "epoch 1 of 1: loss"),
            "already trained: 1 of 1 epochs",
        ]
    )
    at_once, again = (np.load(tmp_path / f"{name}.npz") for name in ("at-once", "twice"))
    assert len(at_once) == len(again) > 20
    for name in at_once:
        np.testing.assert_allclose(at_once[name], again[name], rtol=1e-4, atol=1e-5)


def start_by(python, text, folder, *flags, launcher=(), **variables):
    """Start a program in an interpreter."""
    (folder / "train.py").write_text(text)
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT), **variables}
    command = [python, *launcher, "train.py", *flags]
    return subprocess.Popen(command, cwd=folder, env=env, stdout=PIPE, stderr=PIPE, text=True)


def run_by(python, text, folder, *flags, **variables):
    """Run a program in an interpreter; its exit code and what it wrote on standard output and error."""
    process = start_by(python, text, folder, *flags, **variables)
    said, error = process.communicate(timeout=1200)
    return process.returncode, said, error


def losses(said):
    """The training losses of the epochs that a program prints."""
    return [
        float(loss) for loss in re.findall(r"(?m)^(?:epoch \d+ of \d+|\d+/\d+ - .*?(?<= -)):? loss:? ([\d.e+-]+)", said)
    ]


def free_port():
    """A port of this machine that nothing listens at."""
    with socket.socket() as found:
        found.bind(("localhost", 0))
        return found.getsockname()[1]


@pytest.mark.slow
@pytest.mark.timeout(1200)
@each_kind
def test_the_loss_falls(datasets, tmp_path, program, kind, python_of):
    text = printed(datasets / kind, program, IMAGE_SIZE=(32, 32))
    code, said, error = run_by(python_of(program), text, tmp_path, "--epochs", str(KINDS[kind][2]))
    assert code == 0, error
    found = losses(said)
    assert len(found) == KINDS[kind][2]
    assert found[-1] < 0.75 * found[0]


@pytest.mark.slow
@pytest.mark.timeout(1200)
@each_program
def test_photographs_are_trained_by_a_larger_network(tmp_path, program, python_of):
    write_class_folders(tmp_path / "in", {"ant": 10, "bee": 10}, width=240, height=240)
    assert call("convert", str(tmp_path / "in"), str(tmp_path / "OUT"), *SPLITS).exit_code == 0
    text = printed(tmp_path / "OUT", program, IMAGE_SIZE=(64, 64))
    assert values_of(text)["PHOTOGRAPHS"]
    for epochs in ("1", "2"):  # the second time it goes on
        flags = ("--epochs", epochs, "--batch-size", "8", "--weights", "none")
        code, said, error = run_by(python_of(program), text, tmp_path, *flags)
        assert code == 0, error
        assert len(losses(said)) == 1


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("program", ["loop", "jax", "torch"])
def test_two_processes_train_together(datasets, tmp_path, program, python_of):
    ports = [free_port(), free_port()]
    text = printed(datasets / "class", program, IMAGE_SIZE=(32, 32))
    workers = {"worker": [f"localhost:{port}" for port in ports]}
    launcher, environments = (), [{}]
    if program == "loop":
        configs = [{"cluster": workers, "task": {"type": "worker", "index": index}} for index in range(2)]
        environments = [{"TF_CONFIG": json.dumps(config)} for config in configs]
    elif program == "jax":
        together = {"COORDINATOR": workers["worker"][0], "NUM_PROCESSES": "2"}
        environments = [{**together, "PROCESS_ID": str(index)} for index in range(2)]
    else:
        launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    for wanted in (2, 0):  # the second time all is trained
        processes = [
            start_by(python_of(program), text, tmp_path, "--epochs", "2", launcher=launcher, **variables)
            for variables in environments
        ]
        outputs = [process.communicate(timeout=1200) for process in processes]
        assert [process.returncode for process in processes] == [0] * len(processes), outputs
        assert [len(losses(said)) for said, _ in outputs] == [wanted, 0][: len(outputs)]  # the first one prints
        assert ("already trained: 2 of 2 epochs" in outputs[0][0]) == (not wanted)
