import subprocess
import sys

import pytest

HEAVY = ["tensorflow", "keras", "apache_beam", "pyarrow", "numpy", "PIL", "pydantic", "pandas"]
PROBE = """
import runpy, sys
{statement}
print("loaded:", *[name for name in {names!r} if name in sys.modules])
"""
HELP = """
sys.argv = ["shardkit", *{arguments!r}]
try:
    runpy.run_module("shardkit", run_name="__main__")
except SystemExit as end:
    assert not end.code, end.code
"""


def loaded(statement, names):
    """Which of these modules a new process has loaded after a statement."""
    script = PROBE.format(statement=statement, names=names)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.rpartition("loaded:")[2].split()


def test_the_probe_sees_what_is_loaded():
    assert loaded("import numpy", ["numpy", "pyarrow"]) == ["numpy"]


def test_import_shardkit_loads_nothing_heavy():
    assert (
        loaded("import shardkit; shardkit.read_manifest, shardkit.convert, shardkit.plan, shardkit.__version__", HEAVY)
        == []
    )


@pytest.mark.parametrize("option", ["--help", "-h", "--version"])
def test_help_loads_nothing_heavy(option):
    assert loaded(HELP.format(arguments=[option]), HEAVY) == []


@pytest.mark.parametrize("command", ["bench", "convert", "plan", "verify", "info"])
def test_the_help_of_a_command_loads_nothing_heavy(command):
    assert loaded(HELP.format(arguments=[command, "--help"]), HEAVY) == []


@pytest.mark.parametrize(
    "module",
    [
        "shardkit.writing.shard",
        "shardkit.verification.shards",
        "shardkit.writing.conversion",
        "shardkit.sources.opening",
    ],
)
def test_what_workers_run_loads_neither_tensorflow_nor_beam(module):
    assert loaded(f"import {module}", ["tensorflow", "keras", "apache_beam"]) == []


@pytest.mark.parametrize(
    "module",
    [
        "shardkit.pipelines.write",
        "shardkit.pipelines.inventory",
        "shardkit.pipelines.executor",
        "shardkit.pipelines.verify",
    ],
)
def test_the_pipelines_load_no_tensorflow(module):
    assert loaded(f"import {module}", ["tensorflow", "keras", "apache_beam"]) == ["apache_beam"]


def test_the_reader_leaves_keras_alone_whose_backend_may_not_be_there():
    statement = "import os; os.environ['KERAS_BACKEND'] = 'torch'; from shardkit import reader; reader.make_dataset_fn"
    assert loaded(statement, ["tensorflow", "keras", "torch", "apache_beam"]) == ["tensorflow"]


def test_reading_a_manifest_loads_neither_tensorflow_nor_beam():
    assert loaded("import shardkit.dataset.manifest", ["tensorflow", "keras", "apache_beam"]) == []
