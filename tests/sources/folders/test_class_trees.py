import re
import time

import numpy as np
import pytest
from PIL import Image

from shardkit.errors import CallError, DataError
from shardkit.sources.opening import open_source
from shardkit.sources.options import SourceOptions
from shardkit.sources.recognising.folders.class_folders import ClassFolders
from shardkit.sources.recognising.folders.class_tree import read_tree
from shardkit.sources.recognising.folders.source_place import SourcePlace
from shardkit.sources.recognising.folders.split_folders import splits_of
from shardkit.storage import Entry, WrappedFolder, open_folder
from shardkit.testing import encoded, upload
from shardkit.testing.refusals import command_text

from .tree_sources import KINDS, commands_in, made, read

CLASS_FOLDERS, SPLITS, NAMES = "class folders", "split and class folders", "file names"
DOGS = [f"{word}.{i}.jpg" for word in ("cat", "dog") for i in range(2)]
VERDICTS = ["OK-20230101-0815.bmp", "NG-20230101-0816.bmp", "OK-20230101-0817.bmp"]

# The paths of a source; its layout, (split, label) by key, and what is skipped.
READ = {
    "words next to the split": (
        ["Train_set/cat/1.jpg", "Train_set/dog/2.jpg", "Test_set/cat/3.jpg"],
        SPLITS,
        {
            "Train_set/cat/1.jpg": ("train", "cat"),
            "Train_set/dog/2.jpg": ("train", "dog"),
            "Test_set/cat/3.jpg": ("test", "cat"),
        },
        {},
    ),
    "folders of a network disk": (
        ["cat/1.jpg", "cat/@eaDir/1.jpg/SYNOPHOTO_THUMB_XL.jpg", "dog/2.jpg", "#recycle/3.jpg", "$RECYCLE.BIN/4.jpg"],
        "class folders",
        {"cat/1.jpg": (None, "cat"), "dog/2.jpg": (None, "dog")},
        {},
    ),
    "a split in a folder of the same split": (
        ["train/training_split/cat/1.jpg", "train/training_split/dog/2.jpg", "test/cat/3.jpg"],
        SPLITS,
        {
            "train/training_split/cat/1.jpg": ("train", "cat"),
            "train/training_split/dog/2.jpg": ("train", "dog"),
            "test/cat/3.jpg": ("test", "cat"),
        },
        {},
    ),
    "one split": (
        ["training_data/cat/1.jpg", "training_data/dog/2.jpg"],
        SPLITS,
        {"training_data/cat/1.jpg": ("train", "cat"), "training_data/dog/2.jpg": ("train", "dog")},
        {},
    ),
    "an unlabelled folder beside splits": (
        ["train/cat/1.jpg", "train/dog/1.jpg", "test/cat/2.jpg", "predict/3.jpg", "predict/deep/4.jpg"],
        SPLITS,
        {
            "train/cat/1.jpg": ("train", "cat"),
            "train/dog/1.jpg": ("train", "dog"),
            "test/cat/2.jpg": ("test", "cat"),
        },
        {"excluded by /predict/": 2},
    ),
    # https://www.kaggle.com/datasets/puneet6060/intel-image-classification
    "Intel images": (
        ["seg_train/seg_train/sea/1.jpg", "seg_test/seg_test/sea/2.jpg", "seg_pred/seg_pred/3.jpg"],
        SPLITS,
        {"seg_train/seg_train/sea/1.jpg": ("train", "sea"), "seg_test/seg_test/sea/2.jpg": ("test", "sea")},
        {"excluded by /seg_pred/": 1},
    ),
    # https://www.kaggle.com/competitions/dogs-vs-cats/data
    "Dogs vs Cats": (
        [*(f"train/{name}" for name in DOGS), "test1/1.jpg", "test1/2.jpg"],
        NAMES,
        {f"train/{name}": ("train", name[:3]) for name in DOGS},
        {"excluded by /test1/": 2},
    ),
    "Dogs vs Cats, as unpacked by hand": (
        [*(f"dogs-vs-cats/train/train/{name}" for name in DOGS), "dogs-vs-cats/test1/test1/1.jpg"],
        NAMES,
        {f"train/train/{name}": ("train", name[:3]) for name in DOGS},
        {"excluded by /test1/test1/": 1},
    ),
    "labels in names, in one folder": (DOGS, NAMES, {name: (None, name[:3]) for name in DOGS}, {}),
    "verdicts in names, in one folder": (
        VERDICTS,
        NAMES,
        {name: (None, name.split("-")[0]) for name in VERDICTS},
        {},
    ),
    "verdicts in names, in folders of days": (
        [f"2023010{day}/{name}" for day in (1, 2) for name in VERDICTS],
        NAMES,
        {f"2023010{day}/{name}": (None, name.split("-")[0]) for day in (1, 2) for name in VERDICTS},
        {},
    ),
    "samples of each material": (
        [f"{name}/sample_{sample}/{name}.jpg" for name in ("cork", "wool") for sample in "ab"],
        CLASS_FOLDERS,
        {f"{name}/sample_{sample}/{name}.jpg": (None, name) for name in ("cork", "wool") for sample in "ab"},
        {},
    ),
    "folders around classes": (
        ["a/b/c/cat/1.jpg", "a/b/c/dog/2.jpg", "a/README.md"],
        CLASS_FOLDERS,
        {"cat/1.jpg": (None, "cat"), "dog/2.jpg": (None, "dog")},
        {},
    ),
    "a folder around splits": (
        ["dataset/train/cat/1.jpg", "dataset/train/dog/1.jpg", "dataset/valid/cat/2.jpg"],
        SPLITS,
        {
            "train/cat/1.jpg": ("train", "cat"),
            "train/dog/1.jpg": ("train", "dog"),
            "valid/cat/2.jpg": ("validation", "cat"),
        },
        {},
    ),
    "a folder of images around classes": (
        ["images/cat/1.jpg", "images/dog/2.jpg"],
        CLASS_FOLDERS,
        {"cat/1.jpg": (None, "cat"), "dog/2.jpg": (None, "dog")},
        {},
    ),
    # https://www.kaggle.com/competitions/imagenet-object-localization-challenge/data, without annotations
    "ImageNet's pictures": (
        [f"ILSVRC/Data/CLS-LOC/{path}.JPEG" for path in ("train/n01/1", "train/n02/2", "val/3", "test/4")],
        SPLITS,
        {"train/n01/1.JPEG": ("train", "n01"), "train/n02/2.JPEG": ("train", "n02")},
        {"excluded by /val/": 1, "excluded by /test/": 1},
    ),
    "classes whose names begin like splits": (
        ["train_station/1.jpg", "test_tube/2.jpg", "trainers/3.jpg", "bus/4.jpg"],
        CLASS_FOLDERS,
        {
            "train_station/1.jpg": (None, "train_station"),
            "test_tube/2.jpg": (None, "test_tube"),
            "trainers/3.jpg": (None, "trainers"),
            "bus/4.jpg": (None, "bus"),
        },
        {},
    ),
    "a class called train": (
        ["train/1.jpg", "bus/2.jpg", "car/3.jpg"],
        CLASS_FOLDERS,
        {"train/1.jpg": (None, "train"), "bus/2.jpg": (None, "bus"), "car/3.jpg": (None, "car")},
        {},
    ),
    "classes in days": (
        ["2024-05-06/cat/1.jpg", "2024-05-06/dog/1.jpg", "2024-05-07/cat/1.jpg", "2024-05-07/dog/1.jpg"],
        CLASS_FOLDERS,
        {f"2024-05-0{day}/{name}/1.jpg": (None, name) for day in (6, 7) for name in ("cat", "dog")},
        {},
    ),
    "test images in numbered parts": (
        ["train/cat/1.jpg", "train/dog/2.jpg", "test/part0/3.jpg", "test/part1/4.jpg"],
        SPLITS,
        {"train/cat/1.jpg": ("train", "cat"), "train/dog/2.jpg": ("train", "dog")},
        {"excluded by /test/": 2},
    ),
    "test images of a stage": (
        ["train/cat/1.jpg", "train/dog/2.jpg", "test_stg1/3.jpg"],
        SPLITS,
        {"train/cat/1.jpg": ("train", "cat"), "train/dog/2.jpg": ("train", "dog")},
        {"excluded by /test_stg1/": 1},
    ),
    "test images without labels": (
        ["train/cat/1.jpg", "train/dog/2.jpg", "test/3.jpg"],
        SPLITS,
        {"train/cat/1.jpg": ("train", "cat"), "train/dog/2.jpg": ("train", "dog")},
        {"excluded by /test/": 1},
    ),
    "test images in a folder for Keras": (
        ["train/cat/1.jpg", "train/dog/2.jpg", "test/unknown/3.jpg"],
        SPLITS,
        {"train/cat/1.jpg": ("train", "cat"), "train/dog/2.jpg": ("train", "dog")},
        {"excluded by /test/unknown/": 1},
    ),
    # https://cs.stanford.edu/~acoates/stl10/, as PNG files
    "STL-10": (
        ["train_images/a/1.png", "train_images/b/1.png", "test_images/a/1.png", "unlabeled_images/1.png"],
        SPLITS,
        {
            "train_images/a/1.png": ("train", "a"),
            "train_images/b/1.png": ("train", "b"),
            "test_images/a/1.png": ("test", "a"),
        },
        {"excluded by /unlabeled_images/": 1},
    ),
    "an unlabelled folder in a split": (
        ["train/pos/1.jpg", "train/neg/2.jpg", "train/unsup/3.jpg", "test/pos/4.jpg", "test/neg/5.jpg"],
        SPLITS,
        {
            "train/pos/1.jpg": ("train", "pos"),
            "train/neg/2.jpg": ("train", "neg"),
            "test/pos/4.jpg": ("test", "pos"),
            "test/neg/5.jpg": ("test", "neg"),
        },
        {"excluded by /train/unsup/": 1},
    ),
    "an unlabelled folder among classes": (
        ["cat/1.jpg", "dog/2.jpg", "unlabelled/3.jpg"],
        CLASS_FOLDERS,
        {"cat/1.jpg": (None, "cat"), "dog/2.jpg": (None, "dog")},
        {"excluded by /unlabelled/": 1},
    ),
    "a folder without images beside splits": (
        ["train/cat/1.jpg", "train/dog/2.jpg", "docs/readme.txt"],
        SPLITS,
        {"train/cat/1.jpg": ("train", "cat"), "train/dog/2.jpg": ("train", "dog")},
        {".txt": 1},
    ),
    "splits in classes": (
        ["cat/train/1.jpg", "cat/test/2.jpg", "dog/train/3.jpg", "dog/test/4.jpg"],
        SPLITS,
        {
            "cat/train/1.jpg": ("train", "cat"),
            "cat/test/2.jpg": ("test", "cat"),
            "dog/train/3.jpg": ("train", "dog"),
            "dog/test/4.jpg": ("test", "dog"),
        },
        {},
    ),
    "splits and classes in one name": (
        ["cats_train/1.jpg", "cats_test/2.jpg", "dogs_train/3.jpg", "dogs_test/4.jpg"],
        SPLITS,
        {
            "cats_train/1.jpg": ("train", "cats"),
            "cats_test/2.jpg": ("test", "cats"),
            "dogs_train/3.jpg": ("train", "dogs"),
            "dogs_test/4.jpg": ("test", "dogs"),
        },
        {},
    ),
    # https://www.kaggle.com/datasets/mohamedhanyyy/chest-ctscan-images
    "longer names of several classes in one split": (
        [
            *("train/cat_of_farms/1.jpg", "train/dog.T1/2.jpg", "train/fox/3.jpg"),
            *("test/cat/4.jpg", "test/dog/5.jpg", "test/fox/6.jpg"),
        ],
        SPLITS,
        {
            "train/cat_of_farms/1.jpg": ("train", "cat"),
            "train/dog.T1/2.jpg": ("train", "dog"),
            "train/fox/3.jpg": ("train", "fox"),
            "test/cat/4.jpg": ("test", "cat"),
            "test/dog/5.jpg": ("test", "dog"),
            "test/fox/6.jpg": ("test", "fox"),
        },
        {},
    ),
    # https://www.tensorflow.org/datasets/catalog/rock_paper_scissors
    "a split next to the classes that it is of": (
        ["pets/cat/1.jpg", "pets/dog/2.jpg", "pets_testset/cat/3.jpg", "pets_testset/dog/4.jpg"],
        SPLITS,
        {
            "pets/cat/1.jpg": ("train", "cat"),
            "pets/dog/2.jpg": ("train", "dog"),
            "pets_testset/cat/3.jpg": ("test", "cat"),
            "pets_testset/dog/4.jpg": ("test", "dog"),
        },
        {},
    ),
    "a test set without labels beside classes": (
        ["pets/cat/1.jpg", "pets/dog/2.jpg", "pets_testset/cat_3.jpg"],
        CLASS_FOLDERS,
        {"cat/1.jpg": (None, "cat"), "dog/2.jpg": (None, "dog")},
        {"image in pets_testset/ which is not read": 1},
    ),
    # https://www.kaggle.com/datasets/paultimothymooney/blood-cells
    "two test sets": (
        [f"{part}/{name}_{part[-1]}.jpg" for part in ("TRAIN", "TEST", "TEST_SIMPLE") for name in ("cat/1", "dog/2")],
        SPLITS,
        {
            "TRAIN/cat/1_N.jpg": ("train", "cat"),
            "TRAIN/dog/2_N.jpg": ("train", "dog"),
            "TEST/cat/1_T.jpg": ("test", "cat"),
            "TEST/dog/2_T.jpg": ("test", "dog"),
            "TEST_SIMPLE/cat/1_E.jpg": ("test", "cat"),
            "TEST_SIMPLE/dog/2_E.jpg": ("test", "dog"),
        },
        {},
    ),
    "data in a project": (
        ["data/cat/1.jpg", "data/dog/2.jpg", "docs/figure.png"],
        CLASS_FOLDERS,
        {"cat/1.jpg": (None, "cat"), "dog/2.jpg": (None, "dog")},
        {"image in docs/ which is not read": 1},
    ),
    "charts next to classes": (
        ["cat/1.jpg", "cat/2.jpg", "dog/3.jpg", "confusion.png", "loss.png"],
        CLASS_FOLDERS,
        {"cat/1.jpg": (None, "cat"), "cat/2.jpg": (None, "cat"), "dog/3.jpg": (None, "dog")},
        {"ignored by /confusion.png": 1, "ignored by /loss.png": 1},
    ),
    "test images beside classes": (
        ["cat/1.jpg", "dog/2.jpg", "bus/3.jpg", "test/4.jpg"],
        CLASS_FOLDERS,
        {"cat/1.jpg": (None, "cat"), "dog/2.jpg": (None, "dog"), "bus/3.jpg": (None, "bus")},
        {"ignored by /test/": 1},
    ),
    # https://iciar2018-challenge.grand-challenge.org/Dataset/
    "thumbnails of slides next to photos": (
        ["Photos/tumour/1.jpg", "Photos/stroma/2.jpg", "WSI/gt_thumbnails/3.jpg"],
        CLASS_FOLDERS,
        {"tumour/1.jpg": (None, "tumour"), "stroma/2.jpg": (None, "stroma")},
        {"image in WSI/ which is not read": 1},
    ),
    # https://www.kaggle.com/datasets/andradaolteanu/gtzan-dataset-music-genre-classification
    "sounds next to their spectra": (
        [
            f"{above}/{name}/1.{kind}"
            for above, kind in (("images", "png"), ("sounds", "wav"))
            for name in ("jazz", "pop")
        ],
        CLASS_FOLDERS,
        {"jazz/1.png": (None, "jazz"), "pop/1.png": (None, "pop")},
        {},
    ),
    # https://www.kaggle.com/datasets/vipoooool/new-plant-diseases-dataset
    "a dataset twice, and its test images": (
        [
            *(f"{above}/train/{name}/1.jpg" for above in ("plants", "plants_2") for name in ("rust", "scab")),
            *(f"{above}/valid/{name}/2.jpg" for above in ("plants", "plants_2") for name in ("rust", "scab")),
            "test/test/3.jpg",
        ],
        SPLITS,
        {
            **{f"train/{name}/1.jpg": ("train", name) for name in ("rust", "scab")},
            **{f"valid/{name}/2.jpg": ("validation", name) for name in ("rust", "scab")},
        },
        {"images in plants_2/ which is not read": 4, "image in test/ which is not read": 1},
    ),
    # https://github.com/jfilter/split-folders
    "what split-folders was given, and what it wrote": (
        [f"{above}/{path}" for above in ("pets", "output/train") for path in ("cat/1.jpg", "dog/2.jpg")]
        + [f"{above}/{path}" for above in ("pets", "output/val") for path in ("cat/3.jpg", "dog/4.jpg")],
        SPLITS,
        {
            "train/cat/1.jpg": ("train", "cat"),
            "train/dog/2.jpg": ("train", "dog"),
            "val/cat/3.jpg": ("validation", "cat"),
            "val/dog/4.jpg": ("validation", "dog"),
        },
        {"images in pets/ which is not read": 4},
    ),
    "batches of classes": (
        ["ok_batch1/1.jpg", "ok_batch2/2.jpg", "crack_batch1/3.jpg"],
        CLASS_FOLDERS,
        {"ok_batch1/1.jpg": (None, "ok"), "ok_batch2/2.jpg": (None, "ok"), "crack_batch1/3.jpg": (None, "crack")},
        {},
    ),
    "days and a verdict": (
        ["2024-03-05 good/1.jpg", "2024-03-05 bad/2.jpg", "2024-03-06 good/3.jpg"],
        CLASS_FOLDERS,
        {
            "2024-03-05 good/1.jpg": (None, "good"),
            "2024-03-05 bad/2.jpg": (None, "bad"),
            "2024-03-06 good/3.jpg": (None, "good"),
        },
        {},
    ),
    "folds of classes": (
        [f"fold{i}/{name}/{i}.jpg" for i in (1, 2) for name in ("cat", "dog")],
        CLASS_FOLDERS,
        {f"fold{i}/{name}/{i}.jpg": (None, name) for i in (1, 2) for name in ("cat", "dog")},
        {},
    ),
    # https://vision.princeton.edu/projects/2010/SUN/
    "classes below their first letters": (
        ["a/abbey/1.jpg", "a/airfield/2.jpg", "b/barn/3.jpg"],
        CLASS_FOLDERS,
        {"a/abbey/1.jpg": (None, "abbey"), "a/airfield/2.jpg": (None, "airfield"), "b/barn/3.jpg": (None, "barn")},
        {},
    ),
    "splits in a folder called train": (
        ["train/train/cat/1.jpg", "train/test/cat/2.jpg"],
        SPLITS,
        {"train/cat/1.jpg": ("train", "cat"), "test/cat/2.jpg": ("test", "cat")},
        {},
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("files", "layout", "wanted", "skipped"), READ.values(), ids=READ.keys())
def test_a_tree_is_read_as_its_owner_means_it(files, layout, wanted, skipped, kind, tmp_path):
    found = read(made(tmp_path, kind, files))
    assert found == (layout, wanted, {}, skipped)


UNLABELLED, FORCED = "SOURCE OUT --unlabelled", "SOURCE OUT --layout class-folders"
# The paths of a source, what the refusal says about it, and its commands.
REFUSED = {
    "images without labels": (["1.jpg", "2.jpg"], "only images such as 1.jpg and 2.jpg", [UNLABELLED]),
    "labels in names": (
        ["cat_1.jpg", "cat_2.jpg", "dog_1.jpg", "dog_2.jpg"],
        "only images such as cat_1.jpg",
        [r"SOURCE OUT --label-pattern '^(.+)_[0-9]+\.'", UNLABELLED],
    ),
    "numbered photographs": (["IMG.1.jpg", "IMG.2.jpg", "DSC.1.jpg", "DSC.2.jpg"], "DSC.1.jpg", [UNLABELLED]),
    "one class": (["cats/1.jpg", "cats/2.jpg"], "in cats/", [UNLABELLED, FORCED]),
    "one class with folders": (["cats/1.jpg", "cats/more/2.jpg"], "in cats/", [UNLABELLED, FORCED]),
    "splits without labels": (["train/1.jpg", "test/2.jpg"], "in test/ and train/", [UNLABELLED]),
    "labels in the names of one split": (
        ["train/cat_1.jpg", "train/cat_2.jpg", "train/dog_1.jpg", "train/dog_2.jpg", "test/7.jpg"],
        "no label folders",
        [r"SOURCE OUT --label-pattern '^(.+)_[0-9]+\.' --ignore /test/", UNLABELLED],
    ),
    "training images without labels": (
        ["train/1.jpg", "test/cat/2.jpg", "test/dog/3.jpg"],
        "train/ has images and no label folders, unlike test/",
        ["SOURCE OUT --ignore /train/", UNLABELLED],
    ),
    "images beside splits": (
        ["train/cat/1.jpg", "train/dog/2.jpg", "test/cat/2.jpg", "extra/3.jpg"],
        "test/, train/ may be splits or classes: extra/ is next to them",
        ["SOURCE OUT --ignore /extra/"],
    ),
    "splits in one class only": (
        ["cat/train/1.jpg", "cat/test/2.jpg", "dog/3.jpg"],
        "cat/ contains split folders (test/, train/), but other class folders do not",
        ["SOURCE/cat OUT"],
    ),
    "a split or a class": (
        ["train/steam/1.jpg", "train/diesel/2.jpg", "bus/3.jpg"],
        "train/ may be splits or classes: bus/ is next to them",
        ["SOURCE OUT --ignore /bus/"],
    ),
    "the classes may be one level lower": (
        ["anna/cat/1.jpg", "anna/dog/2.jpg", "ben/cat/3.jpg", "ben/dog/4.jpg"],
        "anna/, ben/ hold folders such as cat/, dog/; either of the two levels may be the class",
        ["SOURCE OUT --class-level 2", FORCED, "SOURCE/anna OUT", "SOURCE/ben OUT"],
    ),
    "a dataset with splits next to one without": (
        [f"part1/part1/{split}/{name}/1.jpg" for split in ("train", "test") for name in ("cat", "dog")]
        + ["part2/part2/cat/3.jpg", "part2/part2/dog/4.jpg"],
        "part1/ has the splits test/, train/ in it, so part1/, part2/ are no classes, but a dataset each",
        ["SOURCE/part1 OUT", "SOURCE/part2 OUT"],
    ),
    "datasets with splits": (
        [
            f"{part}/{split}/{n}/{part}.jpg"
            for part in ("part1", "part2")
            for split in ("train", "test")
            for n in ("a", "b")
        ],
        "part1/ has the splits test/, train/, and each has a/, b/, so part1/, part2/ may be a dataset each",
        ["SOURCE/part1 OUT", "SOURCE/part2 OUT"],
    ),
    "the classes may be one level lower in the splits": (
        [
            "train/anna/cat/1.jpg",
            "train/anna/dog/2.jpg",
            "train/ben/cat/3.jpg",
            "train/ben/dog/4.jpg",
            "test/eve/cat/5.jpg",
        ],
        "train/anna/, train/ben/ hold folders such as cat/, dog/; either of the two levels may be the class",
        ["SOURCE OUT --class-level 2", FORCED],
    ),
    "images beside the folder around everything": (
        ["logo.png", "photo.JPG", "data/cat/1.jpg", "data/dog/2.jpg"],
        "there are images next to the only folder, data/",
        ["SOURCE OUT --ignore '/*.JPG' --ignore '/*.png'", UNLABELLED],
    ),
    "images beside one class": (
        ["1.jpg", "cats/2.jpg"],
        "only images such as 1.jpg and 2.jpg in the top folder and cats/",
        [UNLABELLED],
    ),
    "splits in a split, and other images": (
        ["train/train/cat/1.jpg", "train/train/dog/2.jpg", "train/test/cat/3.jpg", "predict/4.jpg"],
        "train/ itself contains split folders: test/, train/",
        ["SOURCE/train OUT"],
    ),
    "other names one level lower": (
        ["animals/cat/1.jpg", "animals/dog/2.jpg", "plants/rose/3.jpg"],
        "animals/, plants/ hold folders such as cat/, dog/, rose/; either of the two levels may be the class",
        ["SOURCE OUT --class-level 2", FORCED, "SOURCE/animals OUT"],
    ),
    # https://faculty.cc.gatech.edu/~judy/domainadapt/
    "a level between that says nothing": (
        [f"{domain}/images/{name}/{domain}.jpg" for domain in ("amazon", "dslr") for name in ("bike", "mug")],
        "amazon/, dslr/ hold folders such as bike/, mug/; either of the two levels may be the class",
        ["SOURCE OUT --class-level 3", FORCED],
    ),
    "the tree unpacked into itself, with other files": (
        ["cells/yes/1.jpg", "cells/no/2.jpg", "cells/cells/yes/1.jpg", "cells/cells/no/3.jpg"],
        "cells/ may be a copy of what is next to it, with other files",
        ["SOURCE OUT --ignore /cells/cells/"],
    ),
    "years": (["2019/1.jpg", "2020/2.jpg"], "look like camera folders or dates", [UNLABELLED]),
    "labels in the names of files in folders of days": (
        [f"2023010{day}/{state}_2023010{day}_0815{i}.bmp" for day in (1, 2) for state in ("OK", "NG") for i in (1, 2)],
        "20230101/, 20230102/ look like camera folders or dates, not like classes",
        [
            f"SOURCE OUT --label-pattern '{pattern}'"
            for pattern in (r"^(.+?)(?:_[0-9]+){2,}\.", "^[^_]*_([^_]+)_[^_]*$", r"^[^_]*_[^_]*_([^_.]+)\.[^_]*$")
        ]
        + [UNLABELLED],
    ),
    "words of cameras in the names of files in folders of days": (
        [f"2023010{day}/{name}_0815{i}.jpg" for day in (1, 2) for i, name in enumerate(("HDR", "PANO") * 2)],
        "20230101/, 20230102/ look like camera folders or dates, not like classes",
        [r"SOURCE OUT --label-pattern '^(.+)_[0-9]+\.'", UNLABELLED],
    ),
    "samples below folders that say what they hold": (
        [f"{name}/sample_{sample}/{name}.jpg" for name in ("GoodImages", "BadImages") for sample in "ab"],
        "BadImages/, GoodImages/ hold folders such as sample_a/, sample_b/; either of the two levels may be the class",
        ["SOURCE OUT --class-level 2", FORCED, "SOURCE/BadImages OUT", "SOURCE/GoodImages OUT"],
    ),
    "samples with numbers": (
        [f"{name}/Sample00{sample}/{name}.jpg" for name in ("cork", "wool") for sample in (1, 2)],
        "cork/, wool/ hold folders such as Sample001/, Sample002/; either of the two levels may be the class",
        ["SOURCE OUT --class-level 2", FORCED, "SOURCE/cork OUT", "SOURCE/wool OUT"],
    ),
    "masks in a folder of each class with its name": (
        [f"{name}/{name}{part}/1.png" for name in ("bream", "trout") for part in ("", " GT")],
        "found a folder bream GT/ in bream/",
        ["SOURCE OUT --ignore '* GT/'"],
    ),
    # https://github.com/NVlabs/ffhq-dataset
    "ranges of numbers": (
        ["00000/00001.png", "01000/01001.png", "02000/02001.png"],
        "look like ranges of numbers, not like classes",
        [UNLABELLED],
    ),
    # https://github.com/cvdfoundation/google-landmark
    "first characters of names": (
        ["0/a/0a1.jpg", "1/f/1f2.jpg", "1/e/1e3.jpg"],
        "0/a/ and the like look like the first characters of the files' names",
        [UNLABELLED],
    ),
    "folders of a project": (
        ["cat/1.jpg", "dog/2.jpg", "docs/figure.png", "src/train.py"],
        "docs/ next to cat/, dog/ does not look like a class",
        ["SOURCE OUT --ignore /docs/ --ignore /src/", FORCED],
    ),
    "what a system left behind": (
        ["cat/1.jpg", "dog/2.jpg", "thumbnails/3.jpg"],
        "thumbnails/ next to cat/, dog/ does not look like a class",
        ["SOURCE OUT --ignore /thumbnails/", FORCED],
    ),
    "images without labels next to a tree": (
        ["digits/train/0/1.jpg", "digits/train/1/2.jpg", "digits/test/0/3.jpg", "unlabeled/4.jpg"],
        "unlabeled/ next to the only other folder, digits/, has no labels",
        ["SOURCE OUT --ignore /unlabeled/", FORCED],
    ),
    "codes in the names of each folder's images": (
        [f"s{person}/s{person}_{i:04}_{i % 2}_{i % 3}_{i // 6}.png" for person in (1, 2) for i in range(12)],
        "begin with the folder's name and go on with 3 codes, such as s1_0000_0_0_0.png",
        [
            *(
                f"SOURCE OUT --label-pattern '{pattern}'"
                for pattern in (
                    "^[^_]*_[^_]*_([^_]+)_[^_]*_[^_]*$",
                    "^[^_]*_[^_]*_[^_]*_([^_]+)_[^_]*$",
                    r"^[^_]*_[^_]*_[^_]*_[^_]*_([^_.]+)\.[^_]*$",
                )
            ),
            FORCED,
        ],
    ),
    "a camera's folders": (
        ["DCIM/100APPLE/1.jpg", "DCIM/101APPLE/2.jpg"],
        "100APPLE/, 101APPLE/ look like camera folders or dates, not like classes",
        [UNLABELLED],
    ),
    "Market-1501": (
        [f"bounding_box_train/000{i}_c{i % 2}_{i}.jpg" for i in (2, 3)]
        + [f"{name}/000{i}_c{i % 2}_7{i}.jpg" for name in ("bounding_box_test", "query") for i in (4, 5)],
        "there are no label folders, only images such as",
        [
            "SOURCE OUT --label-pattern '^[^_]*_([^_]+)_[^_]*$'",
            "SOURCE OUT --unlabelled",
        ],
    ),
    "masks next to their images (BUSI)": (
        ["benign/1.png", "benign/1_mask.png", "benign/1_mask_1.png", "malignant/2.png", "malignant/2_mask.png"],
        "1_mask.png in benign/ is a mask",
        ["SOURCE OUT --ignore '*_mask*'"],
    ),
    "masks next to the images of a split": (
        ["train/a/1.png", "train/a/1_mask.png", "train/b/2.png", "test/a/3.png"],
        "1_mask.png in train/a/ is a mask",
        ["SOURCE OUT --ignore '*_mask*'"],
    ),
    "plates": (
        ["Plate1/1.jpg", "Plate1/2.jpg", "Plate2/3.jpg"],
        "Plate1/, Plate2/ are numbered parts of the data",
        [UNLABELLED, FORCED],
    ),
    "plates with a folder in each": (
        ["Plate1/images/1.jpg", "Plate1/images/2.jpg", "Plate2/images/3.jpg"],
        "Plate1/, Plate2/ are numbered parts of the data",
        [UNLABELLED, FORCED],
    ),
    "plates with letters": (
        ["PlateA/1.jpg", "PlateA/2.jpg", "PlateB/3.jpg"],
        "PlateA/, PlateB/ are numbered parts of the data",
        [UNLABELLED, FORCED],
    ),
    "subjects": (
        ["sub-01/1.jpg", "sub-01/2.jpg", "sub-02/3.jpg"],
        "sub-01/, sub-02/ are numbered parts of the data",
        [UNLABELLED, FORCED],
    ),
    "patients of a split": (
        ["train/patient_01/1.jpg", "train/patient_02/2.jpg", "test/patient_03/3.jpg", "test/patient_04/4.jpg"],
        "patient_03/, patient_04/ are numbered parts of the data",
        [UNLABELLED, FORCED],
    ),
    "thumbnails next to their classes": (
        ["cat/1.jpg", "cat - thumbnail/1.jpg", "dog/2.jpg"],
        "the images of cat - thumbnail/ have the names of those of cat/",
        ["SOURCE OUT --ignore '/cat - thumbnail/'"],
    ),
    "small pictures in a split": (
        ["train/cat/1.jpg", "train/small_cat/1.png", "train/dog/2.jpg", "test/cat/3.jpg"],
        "the images of small_cat/ have the names of those of cat/",
        ["SOURCE OUT --ignore /train/small_cat/"],
    ),
    "longer names in one split": (
        ["train/cat_of_farms/1.jpg", "train/dog/2.jpg", "test/cat/3.jpg", "test/dog/4.jpg"],
        "test/cat/ and train/cat_of_farms/ may be one class under two names",
        [],
    ),
    "masks next to images without labels (DeepGlobe)": (
        ["1_sat.jpg", "1_mask.png", "2_sat.jpg", "2_mask.png"],
        "1_mask.png is a mask by its name",
        ["SOURCE OUT --ignore '*_mask*' --unlabelled", UNLABELLED],
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("files", "sentence", "commands"), REFUSED.values(), ids=REFUSED.keys())
def test_what_can_be_read_in_two_ways_is_refused_with_the_commands(files, sentence, commands, kind, tmp_path):
    if kind == "zip":  # no path leads to a folder in it
        commands = [re.sub(r"^SOURCE/\w+ OUT --", "SOURCE OUT --", command) for command in commands]
        pairs = (
            ("part1", "part2"),
            ("part2", "part1"),
            ("scene1", "scene2"),
            ("scene2", "scene1"),
            ("anna", "ben"),
            ("ben", "anna"),
            ("cork", "wool"),
            ("wool", "cork"),
            ("BadImages", "GoodImages"),
            ("GoodImages", "BadImages"),
        )
        others = {f"SOURCE/{one} OUT": f"SOURCE OUT --ignore /{other}/" for one, other in pairs}
        others["SOURCE/animals OUT"] = "SOURCE OUT --ignore /plants/"
        others["SOURCE/cat OUT"] = "SOURCE OUT --ignore /dog/"
        commands = [others.get(command, command) for command in commands]
        commands = [command for command in commands if not command.startswith("SOURCE/")]
    url = made(tmp_path, kind, files)
    with pytest.raises(CallError, match=re.escape(sentence)) as caught:
        open_source(url)
    assert commands_in(command_text(caught.value).replace(url, "SOURCE")) == commands


@pytest.mark.parametrize(
    "names",
    [
        ("class1", "class2"),
        ("type_1", "type_2"),
        ("c0", "c1"),
        ("stage1", "stage2"),
        ("cat", "cat small"),  # with other images
        ("cat", "cat wild", "dog", "dog wild"),
    ],
)
def test_numbered_classes_and_classes_of_classes_are_read(names, tmp_path):
    files = {f"{name}/{i}{name.count('small')}.jpg": b"x" for name in names for i in range(3)}
    assert {label for _, label in read(made(tmp_path, "folder", files))[1].values()} == {*names}


def test_versions_of_images_are_seen_whatever_their_folders_are_called(tmp_path):
    files = {}
    for seed, name in enumerate(("cat", "dog")):
        files[f"{name}/1.png"] = encoded(grain(seed, 64), "PNG")
        files[f"{name} (web)/1.png"] = encoded(grain(seed, 64).resize((16, 16)), "PNG")
    with pytest.raises(CallError, match=r"the images of cat \(web\)/ have the names of those of cat/"):
        open_source(made(tmp_path, "folder", files))


def test_views_of_a_camera_in_folders_of_scenes_are_no_classes(tmp_path):
    paths = [f"scene{i}/{eye}/{j}.png" for i in (1, 2) for eye in ("left", "right") for j in range(3)]
    views = {path: encoded(grain(int(path[5]) * 10 + int(path[-5]), 64 + path.count("left")), "PNG") for path in paths}
    with pytest.raises(CallError, match="scene1/, scene2/ hold folders such as left/, right/"):
        open_source(made(tmp_path / "views", "folder", views))
    others = {f"2024-05-0{path[5:]}": encoded(grain(i, 64), "PNG") for i, path in enumerate(paths)}
    assert read(made(tmp_path / "days", "folder", others))[1]["2024-05-01/left/0.png"] == (None, "left")
    numbered = {path.replace("scene", "patient"): encoded(grain(i, 64), "PNG") for i, path in enumerate(paths)}
    with pytest.raises(CallError, match="patient1/, patient2/ hold folders such as left/, right/"):
        open_source(made(tmp_path / "numbered", "folder", numbered))


def grain(seed, side):
    pixels = np.random.default_rng(seed).integers(0, 256, (8, 8), np.uint8)
    return Image.fromarray(pixels).resize((side, side))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("files", "labels"),
    [
        (["cats/1.jpg", "cats/more/2.jpg"], {"cats"}),
        (["train/1.jpg", "test/2.jpg"], {"train", "test"}),
        (["part1/cat/1.jpg", "part2/cat/2.jpg"], {"part1", "part2"}),
        (["cat/1.jpg", "unlabelled/2.jpg"], {"cat", "unlabelled"}),
        (["flowers/rose/1.jpg", "flowers/tulip/2.jpg"], {"flowers"}),
    ],
)
def test_forced_class_folders_are_what_the_command_says(files, labels, kind, tmp_path):
    layout, good, bad, _ = read(made(tmp_path, kind, files), layout="class-folders")
    if kind == "zip" and labels == {"flowers"}:  # the only top folder of an archive is no class
        labels = {"rose", "tulip"}
    assert (layout, {label for _, label in good.values()}, bad) == (CLASS_FOLDERS, labels, {})


def test_commands_repeat_the_globs_that_were_given(tmp_path):
    files = ["d/train/cat/1.jpg", "d/test/cat/2.jpg", "d/a/3.jpg", "d/b/4.jpg", "d/c/5.jpg", "d/e/6.jpg", "d/f/7.jpg"]
    url = made(tmp_path, "folder", files)
    with pytest.raises(CallError) as caught:
        open_source(url, SourceOptions(ignore=("/d/f/", "e")))
    first, second = commands_in(command_text(caught.value).replace(url, "SOURCE"))
    assert first == "SOURCE OUT --ignore /d/f/ --ignore e --ignore /d/a/ --ignore /d/b/ --ignore /d/c/"
    assert second == "SOURCE OUT --ignore /d/f/ --ignore e --ignore /d/test/ --ignore /d/train/"
    _, good, bad, skipped = read(url, ignore=("/d/f/", "e", "/d/a/", "/d/b/", "/d/c/"))
    assert good == {"train/cat/1.jpg": ("train", "cat"), "test/cat/2.jpg": ("test", "cat")}
    assert (bad, sum(skipped.values())) == ({}, 5)


def test_folders_in_classes_are_pointed_out(tmp_path):
    url = made(tmp_path, "folder", ["cat/tabby/1.jpg", "cat/tabby/2.jpg", "bus/red/3.jpg"])
    assert "; note: folders in a class, such as bus/red/, are parts of it" in open_source(url).describe()


@pytest.mark.parametrize(
    ("files", "kept", "note"),
    [
        (
            ["cells/yes/1.jpg", "cells/no/2.jpg", "cells/cells/yes/1.jpg", "cells/cells/no/2.jpg"],
            {"yes/1.jpg": (None, "yes"), "no/2.jpg": (None, "no")},
            "cells/cells/",
        ),
        (
            ["x/train/cat/1.jpg", "x/test/cat/2.jpg", "x/x/train/cat/1.jpg", "x/x/test/cat/2.jpg"],
            {"train/cat/1.jpg": ("train", "cat"), "test/cat/2.jpg": ("test", "cat")},
            "x/x/",
        ),
        (
            ["cat/1.jpg", "dog/2.jpg", "cat - Copy/1.jpg", "dog (1)/2.jpg"],
            {"cat/1.jpg": (None, "cat"), "dog/2.jpg": (None, "dog")},
            "cat - Copy/, dog (1)/",
        ),
        (
            ["train/cat/1.jpg", "train/dog/2.jpg", "train/cat (1)/1.jpg", "train/dog - Copy/2.jpg", "test/cat/3.jpg"],
            {
                "train/cat/1.jpg": ("train", "cat"),
                "train/dog/2.jpg": ("train", "dog"),
                "test/cat/3.jpg": ("test", "cat"),
            },
            "train/cat (1)/, train/dog - Copy/",
        ),
        (
            [f"{pets}/{path}" for pets in ("pets", "pets_backup") for path in ("cat/1.jpg", "dog/2.jpg")],
            {"cat/1.jpg": (None, "cat"), "dog/2.jpg": (None, "dog")},
            "pets_backup/",
        ),
    ],
    ids=["unpacked into itself", "beside splits", "by a file manager", "in a split", "a backup"],
)
@pytest.mark.parametrize("kind", KINDS)
def test_copies_are_not_read(kind, files, kept, note, tmp_path):
    url = made(tmp_path, kind, files)
    _, good, bad, skipped = read(url)
    assert (good, bad) == (kept, {})
    assert sum(skipped.values()) == len(files) - len(kept)
    assert f"; note: {note} repeat" in open_source(url).describe()


def test_an_object_store_is_read_the_same(s3_bucket):
    paths = ["data/Train_set/cat/1.jpg", "data/Train_set/dog/2.jpg", "data/Test_set/cat/3.jpg", "data/predict/4.jpg"]
    upload(f"{s3_bucket}/source", [*paths, "data/extra/5.jpg", "data/Train_set/cat/6.webp"])
    layout, good, bad, skipped = read(f"{s3_bucket}/source", ignore=("/data/extra", "*.webp"))
    assert (layout, bad) == (SPLITS, {})
    assert good == {
        "Train_set/cat/1.jpg": ("train", "cat"),
        "Train_set/dog/2.jpg": ("train", "dog"),
        "Test_set/cat/3.jpg": ("test", "cat"),
    }
    assert skipped == {
        "excluded by /predict/": 1,
        "ignored by /data/extra": 1,
        "ignored by *.webp": 1,
    }


def test_a_tree_without_images_is_refused(tmp_path):
    (tmp_path / "source").mkdir()
    with pytest.raises(DataError, match="no images found, "):
        open_source(str(tmp_path / "source"))


def test_pictures_in_other_formats_count_as_rejected_among_labelled_images(tmp_path):
    files = ["cat/1.jpg", "cat/2.CR2", "dog/3.mp4", "dog/4.heic", "dog/5.svg", "dog/Thumbs.db", "dog/a.txt", "a.pdf"]
    _, good, bad, skipped = read(made(tmp_path, "folder", files))
    assert good.keys() == {"cat/1.jpg", "dog/4.heic"}
    assert bad == dict.fromkeys(("cat/2.CR2", "dog/5.svg"), "unsupported_format")
    assert skipped == {".mp4": 1, ".txt": 1, ".pdf": 1}


def test_videos_are_skipped_next_to_as_many_images_and_rejected_next_to_fewer(tmp_path):
    files = ["cat/0.mp4", "cat/1.jpg", "cat/2.jpg", "cat/old/3.avi", "dog/1.jpg", "dog/2.MP4", "dog/3.mp4", "fox/1.mov"]
    _, good, bad, skipped = read(made(tmp_path, "folder", files))
    assert good.keys() == {"cat/1.jpg", "cat/2.jpg", "dog/1.jpg"}
    assert bad == dict.fromkeys(("dog/2.MP4", "dog/3.mp4", "fox/1.mov"), "unsupported_format")
    assert skipped == {".avi": 1, ".mp4": 1}


def test_files_that_an_image_was_made_from_are_counted(tmp_path):
    files = ["cat/1.CR2", "cat/1.jpg", "cat/1.psd", "cat/10.CR2", "cat/2.jpg", "dog/3.MOV", "dog/3.heic", "dog/3.pdf"]
    _, good, bad, skipped = read(made(tmp_path, "folder", files))
    assert good.keys() == {"cat/1.jpg", "cat/2.jpg", "dog/3.heic"}
    assert bad == {"cat/10.CR2": "unsupported_format"}
    assert sum(skipped.values()) == 4
    assert all("of the same name as an image" in kind for kind in skipped)


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (["Train", "VAL"], {"Train": "train", "VAL": "validation"}),
        (["trainset", "valset"], {"trainset": "train", "valset": "validation"}),
        (["TrainSet_224x224", "Val-224"], {"TrainSet_224x224": "train", "Val-224": "validation"}),
        (["cars_train", "cars_test"], {"cars_train": "train", "cars_test": "test"}),
        (["cars_train", "dogs_test"], {}),  # they differ by more than the split
        (["cars_train"], {}),
        (["box_train", "box_test", "query"], {"box_train": "train", "box_test": "test", "query": "test"}),
        (["train", "train_station"], {"train": "train"}),
        (["train_test"], {}),  # two splits
        (["constrain", "contest", "valley"], {}),  # words in words
    ],
)
def test_names_mean_splits_by_their_words_and_by_the_names_beside_them(names, wanted):
    assert splits_of(names) == wanted


class ManyClasses(WrappedFolder):
    """A folder of 20,000 classes of an image, which is nowhere on the disk."""

    def scan(self, path=""):
        if path:
            return [Entry("1.jpg", is_folder=False, num_bytes=1, mtime_ns=1)]
        return [Entry(f"class_{i:05}", is_folder=True, num_bytes=0, mtime_ns=1) for i in range(20_000)]

    def stat(self, path):
        return Entry(path, is_folder=True, num_bytes=0, mtime_ns=1) if "/" not in path else None


def test_the_time_to_recognise_classes_grows_with_their_number_and_not_with_its_square():
    started = time.process_time()
    found = read_tree(ManyClasses(open_folder("nowhere")), None, SourcePlace("nowhere"))
    assert isinstance(found, ClassFolders)
    assert time.process_time() - started < 4  # 0.3 s; the square took 12 s
