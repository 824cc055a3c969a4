"""Folders of strangers are read as they should be, or at least as well as they were."""

import collections
import zlib

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

# Folders that were read wrong with exit code 0 before they were mended.
ONCE_WRONG = {
    "a microscope's plates",
    "a notebook's train.csv and val.csv",
    "Adience",
    "an intern's folders",
    "Azure",
    "cassava",
    "CelebAMask-HQ",
    "Chars74K",
    "chest CT",
    "cracks",
    "CVAT's CamVid",
    "DAGM",
    "doccano",
    "DRIVE",
    "EuroSAT",
    "fast.ai's MNIST_SAMPLE",
    "Flickr Material Database",
    "FloodNet",
    "folders of a day and a verdict",
    "GC10-DET",
    "Google Landmarks",
    "Google Takeout",
    "google_images_download",
    "half-finished labels",
    "Happywhale",
    "Hotel-ID",
    "Kather",
    "Label Studio's brush",
    "Label Studio's CSV of several choices",
    "labelme2yolo",
    "LEVIR-CD",
    "LoveDA",
    "magnetic tiles",
    "MIT Indoor 67",
    "MRL eyes",
    "NWPU VHR-10",
    "NYU depth",
    "PaddleSeg",
    "Pascal Context",
    "plant pathology",
    "potholes",
    "RDD2022",
    "style_val.csv",
    "StyleGAN's dataset.json",
    "Supervisely",
    "Supervisely's masks",
    "TrashNet",
    "UA-DETRAC",
    "UECFOOD100",
    "V7's tags",
    "VireoFood-172",
    "VisDA-2017",
    "WikiArt",
}


def _folders():
    """Every fourth folder, and those that have shown a fault; the others are slow, and as quick.

    All of them: `pytest -n 3 -m "slow or not slow" tests/strangers/test_strangers.py`.
    """
    for number, folder in enumerate(FOLDERS):
        is_kept = folder.name.partition(":")[0] in LOSING | ONCE_WRONG or zlib.crc32(folder.name.encode()) % 4 == 0
        yield pytest.param(number, id=folder.name, marks=() if is_kept else pytest.mark.slow)


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
