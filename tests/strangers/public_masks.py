"""Images with masks of public datasets, after MMSegmentation's pages, Zenodo and starter notebooks of Kaggle."""

import json

import numpy as np

from .masks import classes, coloured, grey
from .tree import HEIGHT, WIDTH, folder


def pairs(tree, image, mask, count, own=None, *, start=0, two=False):
    """Add images and their masks, by number in place of ``{}``."""
    for number in range(start, start + count):
        values = classes(number, 2 if two else 3)
        tree.image(image.format(number), split=own, mask=values)
        tree.drawing(mask.format(number), grey(values) if two else values)


@folder("masks in labels/train as PNG, images in images/train")
def _(tree):
    for split, own, start in (("train", "train", 0), ("val", "validation", 10), ("test", "test", 20)):
        pairs(tree, f"images/{split}/img_{{}}.jpg", f"labels/{split}/img_{{}}.png", 3, own, start=start)


@folder("train_set and val_set, with images/ and annotations/ each, and lists")
def _(tree):
    for split, own, start in (("train", "train", 0), ("val", "validation", 10)):
        pairs(tree, f"{split}_set/images/{{}}.jpg", f"{split}_set/annotations/{{}}.png", 3, own, start=start)
        tree.text(f"{split}_list.txt", "".join(f"{number}\n" for number in range(start, start + 3)))


@folder("train/images and train/masks, val, test")
def _(tree):
    for split, own, start in (("train", "train", 0), ("val", "validation", 10), ("test", "test", 20)):
        pairs(tree, f"{split}/images/{{}}.png", f"{split}/masks/{{}}.png", 3, own, start=start, two=True)


@folder("train_imgs/train and train_mask/train, val")
def _(tree):
    for split, own, start in (("train", "train", 0), ("val", "validation", 10)):
        pairs(tree, f"{split}_imgs/{split}/{{}}.jpg", f"{split}_mask/{split}/{{}}.png", 3, own, start=start)


@folder("LoveDA: Rural and Urban with images_png and masks_png")
def _(tree):
    for split, own, start in (("Train", "train", 0), ("Val", "validation", 20)):
        for scene, more in (("Rural", 0), ("Urban", 10)):
            below = f"{split}/{scene}"
            image, mask = f"{below}/images_png/{{}}.png", f"{below}/masks_png/{{}}.png"
            pairs(tree, image, mask, 2, own, start=start + more)


@folder("Pascal Context: JPEGImages and SegmentationClassContext with its lists")
def _(tree):
    below = "VOCdevkit/VOC2010"
    for split, own, start in (("train", "train", 0), ("val", "validation", 10)):
        image, mask = f"{below}/JPEGImages/2008_{{:06}}.jpg", f"{below}/SegmentationClassContext/2008_{{:06}}.png"
        pairs(tree, image, mask, 3, own, start=start)
        rows = "".join(f"2008_{number:06}\n" for number in range(start, start + 3))
        tree.text(f"{below}/ImageSets/SegmentationContext/{split}.txt", rows)


@folder("CHASE_DB1: two observers' masks beside each image", "advised")
def _(tree):
    for number in range(3):
        for side in "LR":
            values = classes(2 * number + (side == "R"), 2)
            stem = f"CHASEDB1/Image_{number + 1:02}{side}"
            tree.image(f"{stem}.jpg", mask=values)
            tree.drawing(f"{stem}_1stHO.png", grey(values))
            tree.drawing(f"{stem}_2ndHO.png", grey(1 - values))


@folder("DRIVE: 1st_manual and masks of the field of view", "advised")
def _(tree):
    for number in range(21, 25):
        values = classes(number, 2)
        tree.image(f"DRIVE/training/images/{number}_training.tif", split="train", mask=values)
        tree.drawing(f"DRIVE/training/1st_manual/{number}_manual1.gif", grey(values))
        tree.drawing(f"DRIVE/training/mask/{number}_training_mask.gif", grey(classes(number + 50, 2)))
    for number in range(1, 3):
        tree.unlearnt(f"DRIVE/test/images/{number:02}_test.tif")
        tree.drawing(f"DRIVE/test/mask/{number:02}_test_mask.gif", grey(classes(number + 50, 2)))


@folder("ISIC 2018: Training_Input and Training_GroundTruth, *_segmentation.png")
def _(tree):
    image = "ISIC2018_Task1-2_Training_Input/ISIC_{:07}.jpg"
    pairs(tree, image, "ISIC2018_Task1_Training_GroundTruth/ISIC_{:07}_segmentation.png", 4, "train", two=True)
    tree.text("ISIC2018_Task1-2_Training_Input/ATTRIBUTION.txt", "ISIC\n")
    tree.text("ISIC2018_Task1-2_Training_Input/LICENSE.txt", "CC-0\n")


@folder("CelebAMask-HQ: a drawing for each part of each face", "advised")
def _(tree):
    for number in range(3):
        tree.image(f"CelebAMask-HQ/CelebA-HQ-img/{number}.jpg")
        for part in ("hair", "nose", "skin"):
            values = grey(classes(number * 7 + len(part), 2))
            tree.drawing(f"CelebAMask-HQ/CelebAMask-HQ-mask-anno/0/{number:05}_{part}.png", coloured(values // 255))


@folder("Oxford pets with trimaps: labels in names, or masks")
def _(tree):
    for name in ("Abyssinian", "beagle"):
        for number in range(1, 4):
            values = classes(number + len(name)) + 1
            tree.image(f"images/{name}_{number}.jpg", mask=values)
            tree.drawing(f"annotations/trimaps/{name}_{number}.png", values)
            tree.text(f"annotations/trimaps/._{name}_{number}.png", "Mac OS X")


@folder("BUSI: class folders with masks beside the images, some with two", "advised")
def _(tree):
    for name in ("benign", "malignant", "normal"):
        for number in range(1, 4):
            stem = f"Dataset_BUSI_with_GT/{name}/{name} ({number})"
            tree.image(f"{stem}.png", name)
            tree.drawing(f"{stem}_mask.png", grey(classes(number, 2)))
            if number == 3:
                tree.drawing(f"{stem}_mask_1.png", grey(classes(number + 9, 2)))


@folder("brain MRI: a folder for each patient with *_mask.tif, and data.csv")
def _(tree):
    for place, patient in enumerate(("TCGA_CS_4941_19960909", "TCGA_DU_5849_19950405")):
        stem = f"kaggle_3m/{patient}/{patient}_{{}}"
        pairs(tree, f"{stem}.tif", f"{stem}_mask.tif", 3, start=1 + 10 * place, two=True)
    tree.text("kaggle_3m/data.csv", "Patient,RNASeqCluster,age\nTCGA_CS_4941,2,67\nTCGA_DU_5849,1,50\n")


@folder("semantic drones: label images, and the same in colours one wrapper deeper")
def _(tree):
    for number in range(4):
        values = classes(number)
        tree.image(f"dataset/semantic_drone_dataset/original_images/{number:03}.jpg", mask=values)
        tree.drawing(f"dataset/semantic_drone_dataset/label_images_semantic/{number:03}.png", values)
        colours = (values[..., None] * (60, 30, 90)).astype("uint8")
        tree.drawing(f"RGB_color_image_masks/RGB_color_image_masks/{number:03}.png", colours)
    tree.text("class_dict_seg.csv", "name, r, g, b\nunlabeled, 0, 0, 0\npaved-area, 60, 30, 90\ndirt, 120, 60, 180\n")


@folder("video frames: images/video1 and annotations/video1")
def _(tree):
    for place, video in enumerate(("video1", "video2")):
        image, mask = f"images/{video}/{{:05}}.jpg", f"annotations/{video}/{{:05}}.png"
        pairs(tree, image, mask, 3, start=10 * place)


@folder("Mapillary Vistas: v1.2 and v2.0 with labels, instances and panoptic, names in config_v2.0.json")
def _(tree):
    names = [{"name": f"a--{name}", "readable": name, "color": [9, 9, 9]} for name in ("sky", "road", "car")]
    for split, own in (("training", "train"), ("validation", "validation")):
        for number in range(3):
            values = classes(number + 10 * (split == "validation"))
            tree.image(f"{split}/images/{split}{number}.jpg", split=own, mask=values)
            for version, drawn in (("v1.2", 2 - values), ("v2.0", values)):
                tree.drawing(f"{split}/{version}/labels/{split}{number}.png", drawn)
                tree.drawing(f"{split}/{version}/instances/{split}{number}.png", drawn.astype(np.uint16) * 256)
                tree.drawing(f"{split}/{version}/panoptic/{split}{number}.png", np.dstack([drawn * 50] * 3))
    tree.unlearnt("testing/images/testing0.jpg")
    tree.text("config_v2.0.json", json.dumps({"labels": names, "version": "2.0"}))


@folder("COCO panoptic: PNG of segment numbers and a JSON of their categories")
def _(tree):
    annotations, images = [], []
    for number in range(4):
        name = f"{number:012}"
        values = classes(number)
        tree.image(f"val2017/{name}.jpg", split="validation", mask=values)
        red = values * 40 + 3
        tree.drawing(f"annotations/panoptic_val2017/{name}.png", np.dstack([red, red * 0, red * 0]))
        segments = [{"id": one * 40 + 3, "category_id": one, "iscrowd": 0, "area": 9} for one in range(3)]
        annotations.append({"image_id": number, "file_name": f"{name}.png", "segments_info": segments})
        images.append({"id": number, "file_name": f"{name}.jpg", "width": WIDTH, "height": HEIGHT})
    categories = [{"id": one, "name": name, "isthing": 1} for one, name in enumerate(("sky", "road", "car"))]
    content = {"images": images, "annotations": annotations, "categories": categories}
    tree.text("annotations/panoptic_val2017.json", json.dumps(content))
