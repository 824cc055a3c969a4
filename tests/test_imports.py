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


def test_the_command_line_answers_ctrl_c_before_it_loads_anything():
    names = ["shardkit.software", "shardkit.errors", "shardkit.api", "importlib.metadata", "dataclasses", "click"]
    assert loaded("import shardkit.__main__", names) == []


@pytest.mark.parametrize("option", ["--help", "-h", "--version"])
def test_help_loads_nothing_heavy(option):
    assert loaded(HELP.format(arguments=[option]), HEAVY) == []


# What all of them together do not load, none of them loads.
def test_the_help_of_a_command_loads_nothing_heavy():
    commands = ["convert", "plan", "verify", "info", "doctor", "preview", "show", "extract", "report", "bench"]
    commands += ["diff", "export"]
    assert loaded("".join(HELP.format(arguments=[command, "--help"]) for command in commands), HEAVY) == []


def test_what_workers_run_loads_neither_tensorflow_nor_beam():
    modules = "shardkit.writing.shard, shardkit.verification.shards, shardkit.writing.conversion"
    more = "shardkit.sources.opening, shardkit.doctor.look_job, shardkit.adoption.adopting, shardkit.parallel.threads"
    assert loaded(f"import {modules}, {more}", ["tensorflow", "keras", "apache_beam"]) == []


def test_the_pipelines_load_no_tensorflow():
    found = loaded("import shardkit.pipelines.executor", ["tensorflow", "keras", "apache_beam"])
    assert found == ["apache_beam"]


def test_the_reader_loads_no_beam_and_no_keras_whose_backend_may_not_be_there():
    statement = "import os; os.environ['KERAS_BACKEND'] = 'torch'; from shardkit import reader; reader.make_dataset_fn"
    others = ["keras", "torch", "apache_beam", "shardkit.pipelines"]
    assert loaded(statement, ["tensorflow", *others]) == ["tensorflow"]


def test_reading_a_manifest_loads_neither_tensorflow_nor_beam():
    assert loaded("import shardkit.dataset.manifest", ["tensorflow", "keras", "apache_beam"]) == []
