"""Boxes, tables and lists of public datasets, after Ultralytics, MMPretrain, Hugging Face and Kaggle."""

import json

from .boxes import coco, some, voc, yolo
from .tree import HEIGHT, WIDTH, folder

NAMES = ("cat", "dog")


@folder("YOLO's polygons: the boxes around them")
def _(tree):
    for split, own in (("train", "train"), ("val", "validation")):
        for number in range(3):
            tree.image(f"images/{split}/{split}{number}.jpg", split=own, boxes=some(number))
            rows = ""
            for a, b, c, d, label in some(number):
                corners = ((a, b), (c, b), (c, d), (a, d), (a, (b + d) / 2))
                points = " ".join(f"{x / WIDTH:.6f} {y / HEIGHT:.6f}" for x, y in corners)
                rows += f"{NAMES.index(label)} {points}\n"
            tree.text(f"labels/{split}/{split}{number}.txt", rows)
    tree.text("data.yaml", "train: images/train\nval: images/val\nnames:\n  0: cat\n  1: dog\n")


@folder("SKU-110K: images with the split in their names, tables without a header")
def _(tree):
    for split, own in (("train", "train"), ("val", "validation"), ("test", "test")):
        rows = ""
        for number in range(3):
            boxes = [(a, b, c, d, "object") for a, b, c, d, _ in some(number)]
            tree.image(f"SKU110K_fixed/images/{split}_{number}.jpg", split=own, boxes=boxes)
            for a, b, c, d, _ in boxes:
                rows += f"{split}_{number}.jpg,{a},{b},{c},{d},object,{WIDTH},{HEIGHT}\n"
        tree.text(f"SKU110K_fixed/annotations/annotations_{split}.csv", rows)


@folder("WIDER FACE: images by event, one text of boxes for all")
def _(tree):
    rows = ""
    for event in ("0--Parade", "1--Handshaking"):
        for number in range(3):
            name = f"{event}/{event[0]}_{event[3:]}_{number}.jpg"
            tree.image(f"WIDER_train/images/{name}", split="train", boxes=[(2, 3, 10, 12, "face")])
            rows += f"{name}\n1\n2 3 8 9 0 0 0 0 0 0 \n"
    tree.text("wider_face_split/wider_face_train_bbx_gt.txt", rows)


@folder("MMPretrain: meta/train.txt with numbers, names in classes.txt")
def _(tree):
    for split, own in (("train", "train"), ("val", "validation")):
        rows = ""
        for number in range(4):
            tree.image(f"data/{split}/{split}{number}.jpg", NAMES[number % 2], own)
            rows += f"{split}{number}.jpg {number % 2}\n"
        tree.text(f"data/meta/{split}.txt", rows)
    tree.text("data/meta/classes.txt", "cat\ndog\n")


@folder("Hugging Face: metadata.csv with file_name and label in train/ and test/")
def _(tree):
    for split in ("train", "test"):
        rows = "file_name,label\n"
        for number in range(4):
            tree.image(f"data/{split}/{number}.png", NAMES[number % 2], split)
            rows += f"{number}.png,{NAMES[number % 2]}\n"
        tree.text(f"data/{split}/metadata.csv", rows)


@folder("FiftyOne's COCO: data/ and labels.json in each split")
def _(tree):
    for split, own in (("train", "train"), ("validation", "validation")):
        images = []
        for number in range(3):
            tree.image(f"coco-2017/{split}/data/{split}{number}.jpg", split=own, boxes=some(number))
            images.append((f"{split}{number}.jpg", some(number)))
        tree.text(f"coco-2017/{split}/labels.json", coco(images))


@folder("VOC 2007: ImageSets/Main with splits and lists of each class")
def _(tree):
    below = "VOCdevkit/VOC2007"
    lists = {"train": "", "val": ""}
    for number in range(6):
        own = "train" if number < 4 else "val"
        boxes = [(a - 1, b - 1, c, d, label) for a, b, c, d, label in some(number)]
        tree.image(f"{below}/JPEGImages/{number:06}.jpg", split={"val": "validation"}.get(own, own), boxes=some(number))
        shown = [(a + 1, b + 1, c, d, label) for a, b, c, d, label in boxes]
        tree.text(f"{below}/Annotations/{number:06}.xml", voc(f"{number:06}.jpg", shown, "VOC2007"))
        lists[own] += f"{number:06}\n"
    for own, text in lists.items():
        tree.text(f"{below}/ImageSets/Main/{own}.txt", text)
        for name in NAMES:
            tree.text(f"{below}/ImageSets/Main/{name}_{own}.txt", text.replace("\n", "  1\n"))
    tree.text(f"{below}/ImageSets/Main/trainval.txt", lists["train"] + lists["val"])


@folder("the raccoon dataset: images/, annotations/ and a table of the same")
def _(tree):
    rows = "filename,width,height,class,xmin,ymin,xmax,ymax\n"
    for number in range(1, 6):
        tree.image(f"images/raccoon-{number}.jpg", boxes=some(number))
        tree.text(f"annotations/raccoon-{number}.xml", voc(f"raccoon-{number}.jpg", some(number)))
        for a, b, c, d, label in some(number):
            rows += f"raccoon-{number}.jpg,{WIDTH},{HEIGHT},{label},{a},{b},{c},{d}\n"
    tree.text("data/raccoon_labels.csv", rows)
    tree.text("xml_to_csv.py", "import os\n")


@folder("fashion products: styles.csv with many columns", "advised")
def _(tree):
    rows = "id,gender,masterCategory,subCategory,season,year\n"
    for number in range(6):
        kind = ("Apparel", "Footwear")[number % 2]
        tree.image(f"images/{1163 + number}.jpg", kind)
        rows += f"{1163 + number},{('Men', 'Women')[number // 3]},{kind},{kind} {number % 2},Fall,201{number % 3}\n"
    tree.text("styles.csv", rows)


@folder("plant pathology: labels of several words in one column", "advised")
def _(tree):
    rows = "image,labels\n"
    for number in range(6):
        labels = (("healthy",), ("scab", "frog_eye_leaf_spot"), ("scab",))[number % 3]
        tree.image(f"train_images/80{number}f.jpg", labels, "train")
        rows += f"80{number}f.jpg,{' '.join(labels)}\n"
    tree.text("train.csv", rows)
    tree.unlearnt("test_images/85f8.jpg")
    tree.text("sample_submission.csv", "image,labels\n85f8.jpg,healthy\n")


@folder("humpback whales: train.csv with Image and Id, most whales once")
def _(tree):
    rows = "Image,Id\n"
    for number in range(6):
        name = ("new_whale", "w_f48451c", "w_c3d896a")[number % 3]
        tree.image(f"train/0000e88{number}.jpg", name, "train")
        rows += f"0000e88{number}.jpg,{name}\n"
    tree.text("train.csv", rows)
    tree.unlearnt("test/00028a005.jpg")
    tree.text("sample_submission.csv", "Image,Id\n00028a005.jpg,new_whale w_23a388d\n")


@folder("histopathologic cancer: train_labels.csv with ids, .tif")
def _(tree):
    rows = "id,label\n"
    for number in range(6):
        tree.image(f"train/f38a6374{number}.tif", str(number % 2), "train")
        rows += f"f38a6374{number},{number % 2}\n"
    tree.text("train_labels.csv", rows)
    tree.unlearnt("test/00006537328c33e2.tif")
    tree.text("sample_submission.csv", "id,label\n00006537328c33e2,0\n")


@folder("a text with the class beside each image", "refused")
def _(tree):
    for number in range(5):
        tree.unlearnt(f"samples/{number}.jpg")
        tree.text(f"samples/{number}.txt", f"{NAMES[number % 2]}\n")


@folder("half-finished YOLO: some images without a label yet, predefined_classes.txt", "advised")
def _(tree):
    for number in range(6):
        tree.image(f"images/{number}.jpg", boxes=some(number) if number < 4 else [])
        if number < 4:
            tree.text(f"labels/{number}.txt", yolo(some(number)))
    tree.text("predefined_classes.txt", "cat\ndog\n")


@folder("Hugging Face: metadata.jsonl with objects of boxes and categories")
def _(tree):
    rows = ""
    for number in range(4):
        boxes = [(a, b, c, d, str(NAMES.index(label))) for a, b, c, d, label in some(number)]
        tree.image(f"train/{number}.png", split="train", boxes=boxes)
        objects = {
            "bbox": [[a, b, c - a, d - b] for a, b, c, d, _ in boxes],
            "categories": [int(label) for *_, label in boxes],
        }
        rows += json.dumps({"file_name": f"{number}.png", "objects": objects}) + "\n"
    tree.text("train/metadata.jsonl", rows)


@folder("labels.txt of names and classes beside a flat folder")
def _(tree):
    rows = ""
    for number in range(6):
        tree.image(f"flat/img_{number}.jpg", NAMES[number % 2])
        rows += f"img_{number}.jpg {NAMES[number % 2]}\n"
    tree.text("labels.txt", rows)
