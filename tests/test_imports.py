import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from importlib.util import find_spec
from pathlib import Path

import pytest

import shardkit

HEAVY = ["tensorflow", "keras", "apache_beam", "pyarrow", "numpy", "PIL", "pydantic", "pandas"]
PROBE = """
import atexit, runpy, sys
atexit.register(lambda: print("loaded:", *[name for name in {names!r} if name in sys.modules]))
{statement}
"""
HELP = """
sys.argv = ["shardkit", *{arguments!r}]
runpy.run_module("shardkit", run_name="__main__")
"""


def probe(statement, names):
    """A new process that ran a statement and printed which of these modules it has loaded then."""
    script = PROBE.format(statement=statement, names=names)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def loaded(statement, names):
    """Which of these modules a new process has loaded after a statement."""
    return probe(statement, names).stdout.rpartition("loaded:")[2].split()


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
    commands += ["diff", "export", "view"]
    assert loaded("".join(HELP.format(arguments=[command, "--help"]) for command in commands), HEAVY) == []


def test_no_command_loads_pandas_which_pyarrow_does_for_each_column_that_becomes_an_array():
    assert find_spec("pandas")
    assert loaded("import pyarrow as pa; pa.chunked_array([[1]]).to_numpy()", ["pandas"]) == ["pandas"]
    shapes = str(Path(__file__).parents[1] / "sample_data" / "shapes")
    assert loaded(HELP.format(arguments=["plan", shapes, "--quiet"]), ["pyarrow", "pandas"]) == ["pyarrow"]


# As above, what all of them together do not load.
def test_what_workers_run_and_what_fetches_examples_loads_neither_tensorflow_nor_beam():
    modules = "shardkit.conversion.writing.shard, shardkit.verification.shards, shardkit.conversion.writing.conversion"
    more = "shardkit.sources.opening, shardkit.doctor.workers, shardkit.adoption.adopting, shardkit.parallel.threads"
    fetching = "shardkit.dataset.manifest, shardkit.fetch.fetcher, shardkit.fetch.orders"
    assert loaded(f"import {modules}, {more}, {fetching}", ["tensorflow", "keras", "apache_beam"]) == []


def test_the_pipelines_load_no_tensorflow_and_their_former_name_answers_and_names_the_present_one():
    names = ["tensorflow", "keras", "apache_beam"]
    program = "from shardkit.pipelines import ConvertImages as former\nfrom shardkit.beam import ConvertImages\n"
    program += "import shardkit.beam.conversion\nimport shardkit.pipelines.yaml_transforms as yaml\n"
    done = probe(f"{program}print(former is ConvertImages, yaml.write_dataset)", names)
    assert done.stdout == "True <class 'shardkit.beam.write_dataset.WriteDataset'>\nloaded: apache_beam\n"
    assert "shardkit.pipelines is now shardkit.beam" in done.stderr


def test_the_reader_loads_no_beam_and_no_keras_whose_backend_may_not_be_there():
    statement = "import os; os.environ['KERAS_BACKEND'] = 'torch'; from shardkit import reader; reader.make_dataset_fn"
    others = ["keras", "torch", "apache_beam", "shardkit.beam"]
    assert loaded(statement, ["tensorflow", *others]) == ["tensorflow"]


# Imports inside a function that close a circle, each for its reason.
CLOSED_INSIDE_FUNCTIONS = {
    ("shardkit.options.words", "shardkit.options.groups"),  # messages of the groups' own modules name options, too
    ("shardkit.options.words", "shardkit.options.definition"),
    ("shardkit.__main__", "shardkit.cli.main"),  # the program answers Ctrl-C before it loads the command line
    # A dataset reads what was removed from the datasets that it is part of.
    ("shardkit.record_sources.datasets.layout", "shardkit.record_sources.datasets.removed"),
}


def imports_in(statements):
    """The import statements among some statements and in those inside of them, but for those of type checkers."""
    for node in statements:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
            continue
        is_for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        yield from imports_in([] if is_for_types else getattr(node, "body", []))
        for name in ("orelse", "handlers", "finalbody", "cases"):
            yield from imports_in(getattr(node, name, []))


def imports_of_modules():
    """For each module its imports by others than type checkers, with those inside of functions."""
    root = Path(shardkit.__file__).parent
    names = {path: ".".join(path.relative_to(root.parent).with_suffix("").parts) for path in root.rglob("*.py")}
    names = {path: name.removesuffix(".__init__") for path, name in names.items()}
    modules = set(names.values())
    for path, name in names.items():
        found = set()
        for node in imports_in(ast.parse(path.read_text()).body):
            if isinstance(node, ast.Import):
                found |= {one.name for one in node.names}
            else:
                whole = {f"{node.module}.{one.name}" for one in node.names}
                found |= whole & modules or {node.module}
        yield name, (found & modules) - {name}


def test_no_circles_of_imports():
    graph = {name: {one for one in found if (name, one) not in CLOSED_INSIDE_FUNCTIONS}
             for name, found in imports_of_modules()}  # fmt: skip
    assert len(graph) > 500
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle
