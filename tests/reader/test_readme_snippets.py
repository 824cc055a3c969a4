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
import subprocess
import sys
from subprocess import PIPE

import numpy as np
import pytest
import tensorflow as tf

from shardkit import read_manifest
from shardkit.dataset.manifest import digest_of
from shardkit.reader import make_dataset

from ..pages import CHECKOUT, runnable
from .training_fixtures import SHAPES, cluster, command, environment, free_port, run_all, shapes  # noqa: F401

SNIPPETS = runnable("python")
# What must hold once a snippet has run: that it did what the text around it says.
HOLDS = {
    "keras-fit": "strategy.num_replicas_in_sync == 2 and history['loss'][-1] < history['loss'][0] / 3"
    " and history['val_accuracy'][-1] > 0.8",
    "describe": "train_fn.class_counts == {'circle': 48, 'square': 48, 'star': 48, 'triangle': 48}",
    "mirrored-loop": "strategy.num_replicas_in_sync == 2 and optimizer.iterations.numpy() == 6 and loss.numpy() > 0",
    "multiworker": "int(step) == int(train_fn.start_step) + 6 and loss.numpy() > 0",
    "keras-evaluation": "strategy.num_replicas_in_sync == 2 and list(predictions) == validation_fn.keys()",
    "exact-loss": "strategy.num_replicas_in_sync == 2 and abs(results['loss'] / results['exact_loss'] - 0.75) < 1e-3",
    "resume": "int(step) == int(train_fn.start_step) + 10",
    "keras-resume": "model.optimizer.iterations.numpy() == 9",
    "folds": "len(accuracies) == 3 and train_fn.num_examples == held_out_fn.num_examples * 2 == 128",
    "balance": "weights.shape == (64,) and equal_fn.num_examples == 192 and chosen_fn.num_examples == 96",
    "memory": "validation_fn.held_bytes == 48 * 64 * 64 * 3 * 4",
    "input-options": "strategy.num_replicas_in_sync == 2 and labels.values[1].shape == (32,)",
    "tpu": "replicas == 2 and model.optimizer.iterations.numpy() == 2 * train_fn.steps_per_epoch == 24",
    "accumulation": "optimizer.iterations == 6 and train_fn.steps_per_epoch == 12",
    "data-parallel": "len(jax.devices()) == 2 and len(history['loss']) == 2",
    "slow-storage": "next(iter(block_fn()))[0].shape == next(iter(cached_fn()))[0].shape == (64, 64, 64, 3)",
    "model-parallel": "images.shape == (64, 64, 64, 3) and mesh.devices.shape == (2, 2) and part['num_workers'] == 1",
    "weighted-loop": "strategy.num_replicas_in_sync == 2 and totals[2] == 48 and 0 < accuracy <= 1",
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
    "read-images": "len(shardkit.open('LARGE', 'validation')) == 48",
    "read-source": "os.path.exists('SAME/manifest.json')",
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
    "read-images": "192",
    "read-source": "True",
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
        words = shlex.split(runnable("sh")["first-command"].code.splitlines()[0].rpartition("&& ")[2])
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
    of_jax = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    run_all(commands, [environment(**of_jax)] * len(commands))


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


MODEL_PARALLEL = """
layout_map = keras.distribution.LayoutMap(
    keras.distribution.DeviceMesh((1, 2), ("batch", "model"), keras.distribution.list_devices())
)
layout_map[".*dense/kernel"] = (None, "model")
keras.distribution.set_distribution(keras.distribution.ModelParallel(layout_map=layout_map, auto_shard_dataset=False))
"""


@pytest.mark.slow  # processes of JAX and Keras are tested with their own input functions
def test_keras_with_jax_learns_the_same_in_one_process_in_two_and_with_a_divided_model(shapes, tmp_path):  # noqa: F811
    script = prepared(DATA_PARALLEL, shapes, tmp_path / DATA_PARALLEL) / "snippet.py"
    printed = [text for count in (1, 2) for text in run_with_jax(script, count, num_devices=2)]
    lines = script.read_text().splitlines()
    (line,) = [number for number, text in enumerate(lines) if "DataParallel(" in text]
    lines[line] = MODEL_PARALLEL
    check = "assert model.layers[-1].kernel.value.sharding.spec[1] == 'model', model.layers[-1].kernel.path"
    script.write_text("\n".join([*lines, check]))
    printed += run_with_jax(script, 1, num_devices=2)
    losses = [re.search(r"loss \S+", text)[0] for text in printed]
    assert len(losses) == 4
    assert len(set(losses)) == 1


@pytest.mark.slow  # as above
@pytest.mark.parametrize("devices", [".reshape(-1, 2)", ".reshape(2, -1).T"], ids=["within", "across"])
def test_processes_that_divide_a_model_read_what_one_process_reads(devices, shapes, tmp_path):  # noqa: F811
    """Each copy of the model is within a process, or each process has a part of every copy."""
    script = prepared("model-parallel", shapes, tmp_path / "model-parallel") / "snippet.py"
    text = script.read_text().replace(".reshape(-1, 2)", devices).partition("\nimport os\nassert")[0]
    (alone,) = run_with_jax(script, 1, num_devices=4)
    join = "jax.distributed.initialize(os.environ['ADDRESS'], 2, int(os.environ['KERAS_DISTRIBUTION_PROCESS_ID']))"
    script.write_text(f"import os\nimport jax\n{join}\n{text}")
    both = run_with_jax(script, 2, num_devices=4)
    means = [re.findall(r"\S+e\+06", text) for text in (alone, *both)]  # Gloo prints into the same lines
    assert len(means[0]) == 3
    assert means == [means[0]] * 3


def run_with_jax(script, count, num_devices):
    """Run a program in some processes that have so many devices together; return what each printed."""
    address = f"127.0.0.1:{free_port()}"
    of_jax = {
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={num_devices // count}",
        "ADDRESS": address,
        "KERAS_DISTRIBUTION_JOB_ADDRESSES": ",".join([address, *["127.0.0.1:1"] * (count - 1)]),
        "KERAS_DISTRIBUTION_NUM_PROCESSES": str(count),
    }
    if count == 1:
        del of_jax["KERAS_DISTRIBUTION_JOB_ADDRESSES"]
    environments = [environment(**of_jax, KERAS_DISTRIBUTION_PROCESS_ID=str(index)) for index in range(count)]
    started = [  # not forked from a process that has imported Keras
        subprocess.Popen([sys.executable, script], env=one, cwd=script.parent, stdout=PIPE, stderr=PIPE, text=True)
        for one in environments
    ]
    printed = []
    for process in started:
        output, error = process.communicate(timeout=200)
        assert process.returncode == 0, error[-2000:]
        printed.append(output)
    return printed


def test_workers_resume_at_one_number_also_if_there_are_fewer(shapes, tmp_path):  # noqa: F811 - a fixture
    script = prepared("multiworker", shapes, tmp_path / "multiworker") / "snippet.py"
    for num_workers in (SNIPPETS["multiworker"].num_workers, 1):
        environments = [environment(TF_CONFIG=config) for config in cluster(num_workers)]
        run_all([[str(script)]] * num_workers, environments, cwd=script.parent)
    read = tf.train.load_checkpoint(str(script.parent / "checkpoints"))
    assert read.get_tensor("step/.ATTRIBUTES/VARIABLE_VALUE") == 12
    # The same training on one device, without an interruption.
    weights = np.zeros([64 * 64 * 3, 4], np.float32)
    data = make_dataset(str(shapes), "train", global_batch_size=64, image_size=(64, 64))
    for images, labels in data.take(12).as_numpy_iterator():
        pixels = images.reshape(64, -1)
        error = tf.nn.softmax(pixels @ weights).numpy() - np.eye(4, dtype=np.float32)[labels]
        weights -= 1e-6 * pixels.T @ error / 64
    np.testing.assert_allclose(read.get_tensor("weights/.ATTRIBUTES/VARIABLE_VALUE"), weights, rtol=1e-3, atol=1e-8)
