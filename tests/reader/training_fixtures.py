"""A converted copy of sample_data/shapes, and programs that read it in processes of their own."""

import json
import os
import socket
from pathlib import Path

import pytest

import shardkit

from ..cli.calling import run_forked
from .processes import PIPE, Process

CHECKOUT = Path(__file__).parents[2]
INSTALLED = Path(shardkit.__file__).parent.parent
SHAPES = Path(__file__).parent.parent.parent / "sample_data" / "shapes"
PROGRAMS = Path(__file__).parent / "programs"
TIMEOUT_SECONDS = 300  # what runs longer hangs


@pytest.fixture(scope="session")
def shapes(made_once):
    """The dataset's folder: 192 examples of training and 48 of validation, in three shards each; not to be changed.

    Each module that imports this fixture has its own; they share the folder.
    """

    def convert(folder):
        options = ["--splits", "train=0.8,validation=0.2", "--split-by", "stratified", "--shards", "3", "--quiet"]
        done = run_forked("convert", SHAPES, folder, *options)
        assert done.returncode == 0, done.stderr

    return made_once("shapes", convert)


def environment(**changed):
    """shardkit and the programs importable, TensorFlow silent, nothing left over of another cluster."""
    kept = {name: value for name, value in os.environ.items() if name != "TF_CONFIG"}
    # PYTHONPATH also where PYTHONSAFEPATH keeps a program's own folder from sys.path.
    importable = os.pathsep.join(map(str, (INSTALLED, PROGRAMS)))
    return kept | {"PYTHONPATH": importable, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"} | changed


def command(name, *arguments):
    return [str(PROGRAMS / name), *map(str, arguments)]


def run_all(all_words, environments, *, cwd=None):
    """Run programs side by side, each in its environment; return what each printed. Each must exit with 0."""
    started = [
        Process(words, variables, cwd=cwd, stdout=PIPE, stderr=PIPE)
        for words, variables in zip(all_words, environments, strict=True)
    ]
    try:
        outputs = [process.communicate(timeout=TIMEOUT_SECONDS) for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
    codes = [process.returncode for process in started]
    assert not any(codes), f"exit codes {codes}\n" + "\n".join(error[-4000:] for _, error in outputs)
    return [output for output, _ in outputs]


def facts_of_all(name, argument_lists):
    """Run a program, whose second argument is the path of its JSON result, with several lists; the results."""
    run_all([command(name, *arguments) for arguments in argument_lists], [environment()] * len(argument_lists))
    return [json.loads(Path(arguments[1]).read_text()) for arguments in argument_lists]


def facts_of_cluster(name, argument_lists):
    """The same as one cluster: the i-th list is that of worker i."""
    environments = [environment(TF_CONFIG=config) for config in cluster(len(argument_lists))]
    run_all([command(name, *arguments) for arguments in argument_lists], environments)
    return [json.loads(Path(arguments[1]).read_text()) for arguments in argument_lists]


def cluster(num_workers):
    """TF_CONFIG of every worker, on free ports of the loopback device."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(num_workers)]
    addresses = [f"127.0.0.1:{open_socket.getsockname()[1]}" for open_socket in sockets]
    for open_socket in sockets:
        open_socket.close()
    return [
        json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker", "index": worker_index}})
        for worker_index in range(num_workers)
    ]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]
