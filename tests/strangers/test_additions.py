"""What gathers in and around a folder over time makes nothing of it wrong: it is read as before, or asked about.

Each addition is tried on a few folders, and with ``-m slow`` on all that are read right, at once or when asked.
"""

import pytest

from . import all_folders  # noqa: F401 - it registers them
from .outcomes import outcomes
from .reading import read
from .tree import FOLDERS, Tree

FEW = 180  # every 180th folder
ADDITIONS = {}
OUTCOMES = outcomes()


def addition(function):
    """Register a function that adds something to a tree, and returns it or another one."""
    ADDITIONS[function.__name__] = function
    return function


@addition
def wrapper(tree):
    moved = Tree(truth=tree.truth, hidden=tree.hidden | tree.files)
    moved.files = {f"My data (1)/{path}": content for path, content in tree.files.items()}
    for source in tree.sources:
        split, equals, path = source.rpartition("=")
        moved.sources.append(source and f"{split}{equals}My data (1)/{path}")
    moved.sources.remove("")
    return moved


@addition
def texts(tree):
    folders = {path.rpartition("/")[0] for path in tree.files}
    for folder in folders:
        tree.files[f"{folder}/.DS_Store".lstrip("/")] = b"\0\0\0\1Bud1"
    tree.files.setdefault("README.md", b"# Data\nSee images/ for the 3 classes.\n")
    tree.files.setdefault("LICENSE", b"MIT\n")
    return tree


@addition
def project(tree):
    for name, content in (
        ("train.ipynb", b'{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'),
        ("model.h5", b"\x89HDF\r\n"),
        ("requirements.txt", b"tensorflow\nnumpy==1.26\n"),
        ("config.yaml", b"lr: 0.1\nepochs: 10\n"),
        ("history.csv", b"epoch,loss,accuracy\n1,2.3,0.1\n2,1.9,0.3\n3,1.2,0.6\n"),
    ):
        tree.files.setdefault(name, content)
    return tree


@addition
def predictions(tree):
    names = [path.rpartition("/")[2] for path in tree.truth]
    rows = (f"{name},{'ab'[number % 2]},0.{number % 9 + 1}\n" for number, name in enumerate(names))
    tree.text("predictions.csv", "image,prediction,score\n" + "".join(rows))
    return tree


@addition
def thumbnails(tree):
    for path in list(tree.truth):
        tree.unlearnt(f"thumbnails/{path.rpartition('/')[2]}")
    return tree


@addition
def unsorted(tree):
    for number in range(4):
        tree.unlearnt(f"unlabeled/IMG_{number:04}.jpg")
    return tree


@addition
def backup(tree):
    tree.files |= {f"backup/{path}": content for path, content in tree.files.items()}
    return tree


def _tried():
    readable = [one for one in FOLDERS if OUTCOMES[one.name].outcome == "right" or OUTCOMES[one.name].number]
    for offset, name in enumerate(ADDITIONS):
        for number, one in enumerate(readable):
            marks = () if number % FEW == offset else pytest.mark.slow
            yield pytest.param(name, one, id=f"{name}: {one.name}", marks=marks)


@pytest.mark.parametrize(("name", "folder"), _tried())
def test_what_is_added_makes_nothing_wrong(name, folder, tmp_path):
    reading = read(ADDITIONS[name](folder.make()), tmp_path)
    assert reading.outcome != "wrong", (reading.wrong, reading.said)
    if name == "texts":
        assert (reading.outcome, reading.number) == OUTCOMES[folder.name], reading.said
    if name == "project":
        # Its table and its settings may say something about the images: the question names them.
        is_read = reading.number == 1 and "files are left over: " in reading.said
        assert is_read or (reading.outcome, reading.number) == OUTCOMES[folder.name], reading.said
