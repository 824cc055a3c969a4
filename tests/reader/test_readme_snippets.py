"""Every Python snippet of README.md, run as it stands beside OUT, a converted sample_data/shapes, and a copy, OTHER.

A comment before a snippet names it, and what it needs: `<!-- run: NAME -->`, `<!-- run: NAME, devices=2 -->` (logical
CPU devices in place of GPUs) or `<!-- run: NAME, workers=2 -->` (processes, each with its TF_CONFIG).
"""

import os
import re
import shutil

import pytest

from shardkit import read_manifest
from shardkit.manifest import digest_of

from .training_fixtures import CHECKOUT, cluster, environment, run_all, shapes  # noqa: F401 - a fixture

README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
SNIPPET = re.compile(
    r"<!-- run: (?P<name>[\w-]+)(?P<needs>(?:, \w+=\d+)*) -->\n```python\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)
SNIPPETS = {found["name"]: found for found in SNIPPET.finditer(README)}

# MirroredStrategy() takes all GPUs; here logical CPU devices stand for them.
DEVICES = """
import functools
import tensorflow as tf
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * {devices}
)
tf.distribute.MirroredStrategy = functools.partial(
    tf.distribute.MirroredStrategy, [f"CPU:{{i}}" for i in range({devices})]
)
"""

# What must hold once a snippet has run: that it did what the text around it says.
HOLDS = {
    "keras-fit": "strategy.num_replicas_in_sync == 2 and model.optimizer.iterations.numpy() == 9",
    "mirrored-loop": "strategy.num_replicas_in_sync == 2 and optimizer.iterations.numpy() == 6 and loss.numpy() > 0",
    "one-device": "loss.numpy() > 0",
    "multiworker": "strategy.num_replicas_in_sync == 2 and loss.numpy() > 0 and weights.numpy().any()",
    "evaluation": "strategy.num_replicas_in_sync == 2 and 0 <= accuracy <= 1",
    "resume": "int(step) == int(train_fn.start_step) + 10",
    "keras-resume": "model.optimizer.iterations.numpy() == 9",
    "numpy": "images.shape == (32, 64, 64, 3)",
    "jax": "images.shape == (64, 64, 64, 3)",
    "monitor": "batches.summary().num_steps == 100",
    "service": "images.shape == (64, 64, 64, 3)",
    "mixture": "train_fn.steps_per_epoch == 6",
    "features": "batch['image'].shape == (64, 64, 64, 3)",
}


def test_every_python_snippet_is_run_by_this_test():
    assert len(re.findall(r"^```python$", README, re.MULTILINE)) == len(SNIPPETS)
    assert set(SNIPPETS) == set(HOLDS)


def run_snippet(name, shapes, folder):  # noqa: F811 - the fixture's value
    """Run a snippet in a folder; what its processes printed."""
    needs = dict(need.split("=") for need in SNIPPETS[name]["needs"].split(", ")[1:])
    prelude = DEVICES.format(devices=needs["devices"]) if "devices" in needs else ""
    script = folder / "snippet.py"
    script.write_text(f"{prelude}{SNIPPETS[name]['code']}\nassert {HOLDS[name]}\n", encoding="utf-8")
    if not (folder / "OUT").exists():
        os.symlink(shapes, folder / "OUT")
    if "OTHER" in SNIPPETS[name]["code"]:
        renamed = read_manifest(str(shapes)).model_copy(update={"name": "other"})
        renamed = renamed.model_copy(update={"digest": digest_of(renamed)})
        shutil.copytree(shapes, folder / "OTHER")
        (folder / "OTHER" / "manifest.json").write_text(renamed.model_dump_json(), encoding="utf-8")
    environments = [environment()]
    if "workers" in needs:
        environments = [environment(TF_CONFIG=config) for config in cluster(int(needs["workers"]))]
    return run_all([[str(script)]] * len(environments), environments, cwd=folder)


@pytest.mark.parametrize("name", sorted(HOLDS.keys() - {"resume"}))
def test_a_snippet_of_the_readme_runs_as_it_stands(name, shapes, tmp_path):  # noqa: F811 - a fixture
    assert name in SNIPPETS, "README.md has no such snippet"
    run_snippet(name, shapes, tmp_path)


def test_the_snippet_that_resumes_goes_on_where_it_ended(shapes, tmp_path):  # noqa: F811 - a fixture
    for last_step in (10, 20):
        run_snippet("resume", shapes, tmp_path)
        assert (tmp_path / "checkpoints" / f"ckpt-{last_step // 5}.index").exists()
