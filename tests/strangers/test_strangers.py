"""Folders of strangers are read as they should be, or at least as well as they were."""

import collections

import pytest

from . import all_folders  # noqa: F401 - it registers them
from .judging import defects
from .reading import read
from .tree import FOLDERS

# Folders that are read wrong with exit code 0. None may be: the newest folders show what is to be mended.
WRONG = 0

# Folders for which a printed command still mixes or loses something: none may.
LOSING = {
    "DRIVE",
    "Prodigy",
    "cervical cancer",
    "clothing",
    "diabetic retinopathy resized",
}


def _folders():
    for number, folder in enumerate(FOLDERS):
        yield pytest.param(number, id=folder.name)


@pytest.mark.parametrize("number", _folders())
def test_a_folder_of_a_stranger(number, tmp_path):
    folder = FOLDERS[number]
    reading = read(folder.make(), tmp_path)
    assert reading.outcome == folder.today, (folder.name, reading.wrong, reading.said)
    # A printed command that mixes or loses something gives a dataset that looks good.
    found = [
        (command, what)
        for command, wrong in reading.wrong.items()
        for what in defects(command, reading.meanings.get(command, ""), wrong, folder.make())
    ]
    assert bool(found) == (folder.name.partition(":")[0] in LOSING), (found, reading.said)


def test_most_are_read_right():
    counts = collections.Counter(folder.today for folder in FOLDERS)
    assert len({folder.name for folder in FOLDERS}) == len(FOLDERS) > 450
    assert counts["wrong"] == WRONG
    assert counts["right"] + counts["advised"] >= 0.7 * len(FOLDERS)
