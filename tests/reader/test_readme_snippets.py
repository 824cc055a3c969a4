"""Every Python snippet of every page, run unchanged; see tests/pages.py.

OUT is the converted sample_data/shapes, OTHER a copy with another name, `photos` the source. On the first page OUT is
what its first command makes. Two processes, side by
side, run all snippets but those for clusters.
"""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from subprocess import PIPE

import pytest

from shardkit import read_manifest
from shardkit.dataset.manifest import digest_of

from ..pages import CHECKOUT, runnable
from .training_fixtures import SHAPES, cluster, command, environment, run_all, shapes  # noqa: F401 - a fixture

SNIPPETS = runnable("python")
# What must hold once a snippet has run: that it did what the text around it says.
HOLDS = {
    "keras-fit": "strategy.num_replicas_in_sync == 2 and history['loss'][-1] < history['loss'][0] / 3"
    " and history['val_accuracy'][-1] > 0.8",
    "describe": "train_fn.class_counts == {'circle': 48, 'square': 48, 'star': 48, 'triangle': 48}",
    "mirrored-loop": "strategy.num_replicas_in_sync == 2 and optimizer.iterations.numpy() == 6 and loss.numpy() > 0",
    "multiworker": "strategy.num_replicas_in_sync == 2 and loss.numpy() > 0 and weights.numpy().any()",
    "evaluation": "strategy.num_replicas_in_sync == 2 and 0 <= accuracy <= 1",
    "keras-evaluation": "strategy.num_replicas_in_sync == 2 and list(predictions) == validation_fn.keys()",
    "exact-loss": "strategy.num_replicas_in_sync == 2 and abs(results['loss'] / results['exact_loss'] - 0.75) < 1e-3",
    "resume": "int(step) == int(train_fn.start_step) + 10",
    "keras-resume": "model.optimizer.iterations.numpy() == 9",
    "balance": "weights.shape == (64,) and equal_fn.num_examples == 192 and chosen_fn.num_examples == 96",
    "memory": "validation_fn.held_bytes == 48 * 64 * 64 * 3 * 4",
    "input-options": "strategy.num_replicas_in_sync == 2 and labels.values[1].shape == (32,)",
    "tpu": "replicas == 2 and model.optimizer.iterations.numpy() == 2 * train_fn.steps_per_epoch == 24",
    "accumulation": "optimizer.iterations == 6 and train_fn.steps_per_epoch == 12",
    "data-parallel": "len(jax.devices()) == 2 and len(history['loss']) == 2",
    "slow-storage": "next(iter(block_fn()))[0].shape == next(iter(cached_fn()))[0].shape == (64, 64, 64, 3)",
    "jax": "images.shape == (64, 64, 64, 3)",
    "preview": "os.path.getsize('batch.png') > 10_000",
    "monitor": "batches.summary().num_steps == 100",
    "input-monitor": "all(0 < share < 1 for share in history.history['waiting_for_input'])",
    "profile": "any(operation.startswith('Decode') for operation in milliseconds)",
    "service": "images.shape == (64, 64, 64, 3)",
    "mixture": "train_fn.steps_per_epoch == 6",
    "features": "batch['image'].shape == (64, 64, 64, 3)",
    "arrays": "[len(batch) for _, batch in dataset] == [32] * 6",
    "from-directory": "len(before.class_names) == 4",
    "from-tfds": "len(list(pathlib.Path('EXPORTED').glob('*/*/*.jpg'))) == 240",
    "convert-in-python": "not outcome.unchanged and outcome.manifest.splits['train'].num_examples > 150",
    "write-dataset": "len(shardkit.open('WRITTEN', 'validation')) == 48",
    "write-records": "shardkit.read_manifest('FROM_RECORDS').classes == ['circle', 'square', 'star', 'triangle']",
    "from-bigquery": "len(shardkit.open('FROM_TABLE', 'validation')) == 24",
    "convert-images": "os.path.exists('CONVERTED/manifest.json')",
    "read-dataset": "len(open('embeddings-00000-of-00001').readlines()) == 48",
    "manifest": "len(manifest.classes) == 4",
    "sampler": "step == 1002 and len(batch) == 32",
    "check-checkpoints": "os.path.exists('checkpoints/training.json')",
    "diff": "found.equal and found.num_same == 240",
    "adopt-in-python": "shardkit.open('ADOPTED', 'train')[0]['image'] == shardkit.open('OUT', 'train')[0]['image']",
    "open": "example.label_names == ['star'] and by_key['image'] == example['image']",
    "without-shardkit": "row['label_name'] in {'circle', 'square', 'star', 'triangle'}",
}
# What the comments say is printed.
PRINTED = {
    "write-dataset": "192",
    "write-records": "192",
    "from-bigquery": "['circle', 'star']",
    "exact-loss": "0.75",
    "keras-evaluation": "48",
    "convert-in-python": "240 4",
    "describe": "train: 192 examples, 3 steps of 64, 4 classes, full order",
    "manifest": "192 3",
    "diff": "True 240 0",
    "adopt-in-python": "../OUT 192",
    "without-shardkit": "192",
    "jax": "(64, 64, 64, 3)",
    "monitor": "100 steps: waited for input ",
    "input-monitor": "Training waited for input ",
    "keras-fit": "loss from 1.4 to 0.",
}
DATA_PARALLEL = "data-parallel"  # its Keras has another backend, so it needs processes of its own
RESUMED = "resume-again"  # the snippet `resume` a second time, where the first one ended


def prepared(name, shapes, folder):  # noqa: F811 - the fixture's value
    """Put a snippet into a folder, with what it reads and what must hold after it."""
    folder.mkdir(exist_ok=True)
    code = SNIPPETS[name].code
    (folder / "snippet.py").write_text(f"{code}\nimport os\nassert {HOLDS[name]}\n", encoding="utf-8")
    if SNIPPETS[name].page == "README.md":
        words = shlex.split(runnable("sh")["first-command"].code.rpartition("&& ")[2])
        subprocess.run([sys.executable, "-m", *words[:3], folder / words[3], *words[4:]], cwd=CHECKOUT, check=True)
    else:
        os.symlink(shapes, folder / "OUT")
    os.symlink(SHAPES, folder / "photos")
    if "OTHER" in code:
        renamed = read_manifest(str(shapes)).model_copy(update={"name": "other"})
        renamed = renamed.model_copy(update={"digest": digest_of(renamed)})
        shutil.copytree(shapes, folder / "OTHER")
        (folder / "OTHER" / "manifest.json").write_text(renamed.model_dump_json(), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def outcomes(shapes, made_once):  # noqa: F811 - a fixture
    """What each snippet for one process printed, and its error; by name."""
    root = made_once("snippets", lambda folder: run_snippets(folder, shapes))
    read = (json.loads((root / result).read_text(encoding="utf-8")) for result in ("keras.json", "others.json"))
    return {"root": root} | {name: outcome for half in read for name, outcome in half.items()}


def run_snippets(root, shapes):  # noqa: F811 - the fixture's value
    """Run all snippets for one process, each in its folder below root."""
    names = [name for name, block in SNIPPETS.items() if block.num_workers == 1 and name != DATA_PARALLEL]
    folders = [prepared(name, shapes, root / name) for name in names]
    again = root / RESUMED
    again.symlink_to(root / "resume")
    halves = {"keras.json": [], "others.json": []}
    for folder in [*folders, again]:
        uses_keras = "import keras" in (folder / "snippet.py").read_text(encoding="utf-8")
        halves["keras.json" if uses_keras else "others.json"].append(folder)
    commands = [command("run_snippets.py", root / result, *half) for result, half in halves.items()]
    run_all(commands, [environment()] * len(commands))


def test_every_python_snippet_is_run_by_this_test():
    assert set(SNIPPETS) == set(HOLDS)
    assert [name for name, text in PRINTED.items() if f"# {text}" not in SNIPPETS[name].code] == []


@pytest.mark.parametrize("name", [*(name for name in HOLDS if name not in {"multiworker", DATA_PARALLEL}), RESUMED])
def test_a_snippet_of_a_page_runs_as_it_stands(name, outcomes):
    assert outcomes[name]["error"] == ""
    assert PRINTED.get(name, "") in outcomes[name]["printed"]


def test_the_snippet_that_resumes_goes_on_where_it_ended(outcomes):
    checkpoints = outcomes["root"] / "resume" / "checkpoints"
    assert {path.stem for path in checkpoints.glob("*.index")} == {"ckpt-2", "ckpt-3", "ckpt-4"}


@pytest.mark.slow  # two processes of JAX and Keras each are tested with their own input functions
def test_keras_with_jax_learns_the_same_in_one_process_and_in_two(shapes, tmp_path):  # noqa: F811 - a fixture
    script = prepared(DATA_PARALLEL, shapes, tmp_path / DATA_PARALLEL) / "snippet.py"
    printed = []
    for count in (1, 2):
        addresses = ",".join(f"127.0.0.1:{free_port()}" for _ in range(count))
        of_jax = {
            "JAX_PLATFORMS": "cpu",
            "XLA_FLAGS": f"--xla_force_host_platform_device_count={2 // count}",
            "KERAS_DISTRIBUTION_JOB_ADDRESSES": addresses,
            "KERAS_DISTRIBUTION_NUM_PROCESSES": str(count),
        }
        if count == 1:
            del of_jax["KERAS_DISTRIBUTION_JOB_ADDRESSES"]
        environments = [environment(**of_jax, KERAS_DISTRIBUTION_PROCESS_ID=str(index)) for index in range(count)]
        started = [  # not forked from a process that has imported Keras
            subprocess.Popen([sys.executable, script], env=one, cwd=script.parent, stdout=PIPE, stderr=PIPE, text=True)
            for one in environments
        ]
        for process in started:
            output, error = process.communicate(timeout=200)
            assert process.returncode == 0, error[-2000:]
            printed.append(output)
    losses = [re.search(r"loss \S+", text)[0] for text in printed]
    assert len(losses) == 3
    assert len(set(losses)) == 1


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


@pytest.mark.parametrize("name", [name for name, block in SNIPPETS.items() if block.num_workers > 1])
def test_a_snippet_for_several_machines_runs_as_it_stands(name, shapes, tmp_path):  # noqa: F811 - a fixture
    script = prepared(name, shapes, tmp_path / name) / "snippet.py"
    environments = [environment(TF_CONFIG=config) for config in cluster(SNIPPETS[name].num_workers)]
    run_all([[str(script)]] * len(environments), environments, cwd=script.parent)
