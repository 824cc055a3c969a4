"""Folders of strangers are read as they should be, or at least as well as they were."""

import zlib

import pytest

from shardkit.refusals import AS_RECOGNISED

from . import all_folders  # noqa: F401 - it registers them
from .outcomes import outcomes
from .reading import read
from .tree import FOLDERS

OUTCOMES = outcomes()
SEEN = 4  # of the printed commands, the first

# How the names begin of folders for which a printed command mixes or loses something without a word. Most such commands
# take folders or a column for the classes, where images have boxes or masks, or are in two of the folders.
_LOSING = """
a folder and its backup; a project: data/raw; a zip for each class, and a zip of the test images; aerial cactus; African
wildlife; APPA-REAL; augmented copies in a folder beside; BACH; best artworks; bone age; Bosch traffic lights; brain
MRI: yes and no; breast histopathology; BUSI; casting products; CelebAMask-HQ; cell tracking; cervical cancer;
chest_xray; clothing: images.csv of names without endings; CVAT for images: annotations.xml and images/; CVC-ClinicDB;
DAGM; dataset_v1 and dataset_v2 of the same classes; DeepGlobe roads; DFC2022; diabetic retinopathy resized; DIOR:
JPEGImages-trainval; DRIVE; drones; DSB2018; ExDark; FAIR1M; FairFace; fast.ai's PASCAL 2007; FGVC Aircraft;
FlickrLogos-32; flowers recognition; fresh and rotten fruit; fruits-360; GC10-DET; global wheat 2021;
google_images_download; GTSRB on Kaggle; half-finished labels; Herbarium 2022; IDRiD grading; ImageNet of
Kaggle; inspection; ISIC 2016; Kather; labelme2coco; labelme2yolo; labels of boxes in a text for each image, whose
images are in hundreds of folders; larch casebearer; leaf classification; leapGestRecog; LEGO minifigures; LISA signs;
LISA traffic lights; LogoDet-3K; malaria: cell_images with a copy of itself and Thumbs.db; Market-1501; MOT17; MVTec AD;
natural images; NEU-DET; new plant diseases; NEXET; NWPU VHR-10; Objects365; ODIR-5K; OIDv4_ToolKit; paddy diseases; PCB
defects; PlantDoc; PlantVillage; Prodigy; RDD2022; real and fake faces; ReforesTree; RVL-CDIP; self-driving cars;
Shopee; skin cancer; split-folders; Stanford 40; Stanford Cars as on Kaggle; The Simpsons; Tiny ImageNet; two
copies of a class; two folders of COCO, and lists of names next to them; UA-DETRAC; UECFOOD100; vine leaves; VisA;
VisDA-2017; waste classification; WIDER FACE; xView
"""
LOSING = tuple(_LOSING.replace("\n", " ").strip().split("; "))

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
    """Every tenth folder, and those that have shown a fault; the others are slow, and as quick.

    All of them: `pytest -n 3 -m "slow or not slow" tests/strangers/test_strangers.py`.
    """
    for number, folder in enumerate(FOLDERS):
        is_kept = folder.name.partition(":")[0] in ONCE_WRONG or zlib.crc32(folder.name.encode()) % 10 == 0
        yield pytest.param(number, id=folder.name, marks=() if is_kept else pytest.mark.slow)


@pytest.mark.parametrize("number", _folders())
def test_a_folder_of_a_stranger(number, tmp_path):
    folder = FOLDERS[number]
    reading = read(folder.make(), tmp_path)
    assert (reading.outcome, reading.number) == OUTCOMES[folder.name], (folder.name, reading.wrong, reading.said)
    assert not any(one.startswith(AS_RECOGNISED) for one in [*reading.meanings.values()][1:]), reading.said
    # A printed command that mixes or loses something gives a dataset that looks good.
    found = reading.losses(folder.make())
    assert bool(found) == folder.name.startswith(LOSING), (found, reading.said)


def test_most_are_read_right():
    assert [*OUTCOMES] == [folder.name for folder in FOLDERS]
    assert len(OUTCOMES) > 700
    assert {one.outcome for one in OUTCOMES.values()} == {"right", "advised", "refused"}, "none is wrong"
    readable = [OUTCOMES[folder.name] for folder in FOLDERS if folder.reading != "refused"]
    is_read = [one.outcome == "right" or 1 <= one.number <= SEEN for one in readable]
    assert sum(is_read) >= 0.85 * len(readable)
