"""Images with boxes, in the formats of detectors and of annotation programs."""

import json

from .tree import HEIGHT, WIDTH, folder

CAT, DOG = (2, 3, 10, 12, "cat"), (8, 4, 20, 18, "dog")


def some(number):
    """The boxes of an image."""
    return ([CAT], [DOG], [CAT, DOG])[number % 3]


def voc(name, boxes, folder_name="images"):
    """An XML file of Pascal VOC."""
    objects = "".join(
        f"<object><name>{label}</name><bndbox><xmin>{a}</xmin><ymin>{b}</ymin><xmax>{c}</xmax><ymax>{d}</ymax></bndbox></object>"
        for a, b, c, d, label in boxes
    )
    size = f"<size><width>{WIDTH}</width><height>{HEIGHT}</height><depth>3</depth></size>"
    return f"<annotation><folder>{folder_name}</folder><filename>{name}</filename>{size}{objects}</annotation>"


def yolo(boxes, names=("cat", "dog")):
    """Lines of YOLO."""
    lines = ""
    for a, b, c, d, label in boxes:
        x, y, width, height = (a + c) / 2 / WIDTH, (b + d) / 2 / HEIGHT, (c - a) / WIDTH, (d - b) / HEIGHT
        lines += f"{names.index(label)} {x:.6f} {y:.6f} {width:.6f} {height:.6f}\n"
    return lines


def coco(images, names=("cat", "dog")):
    """COCO's JSON of (file name, boxes)."""
    annotations = []
    for number, (_, boxes) in enumerate(images, 1):
        for a, b, c, d, label in boxes:
            box = {"bbox": [a, b, c - a, d - b], "area": (c - a) * (d - b), "iscrowd": 0}
            ids = {"id": len(annotations) + 1, "image_id": number, "category_id": names.index(label) + 1}
            annotations.append(ids | box)
    return json.dumps(
        {
            "images": [
                {"id": number, "file_name": name, "width": WIDTH, "height": HEIGHT}
                for number, (name, _) in enumerate(images, 1)
            ],
            "annotations": annotations,
            "categories": [{"id": number, "name": name} for number, name in enumerate(names, 1)],
        }
    )


@folder("COCO: train2017, val2017, annotations/")
def _(tree):
    for split, own in (("train2017", "train"), ("val2017", "validation")):
        images = []
        for number in range(4 if own == "train" else 2):
            tree.image(f"coco/{split}/{number:012}.jpg", split=own, boxes=some(number))
            images.append((f"{number:012}.jpg", some(number)))
        tree.text(f"coco/annotations/instances_{split}.json", coco(images))


@folder("COCO with images/ and annotations.json of another name")
def _(tree):
    images = []
    for number in range(5):
        tree.image(f"images/{number}.jpg", boxes=some(number))
        images.append((f"{number}.jpg", some(number)))
    tree.text("result.json", coco(images))


@folder("Label Studio's COCO: images\\ with a prefix of numbers")
def _(tree):
    images = []
    for number in range(5):
        tree.image(f"project-1/images/ab12{number}-photo.jpg", boxes=some(number))
        images.append((f"images\\ab12{number}-photo.jpg", some(number)))
    tree.text("project-1/result.json", coco(images))


@folder("Roboflow COCO: train, valid, test with _annotations.coco.json")
def _(tree):
    for split, own in (("train", "train"), ("valid", "validation"), ("test", "test")):
        images = []
        for number in range(3):
            tree.image(f"{split}/{split}{number}_jpg.rf.0a1b.jpg", split=own, boxes=some(number))
            images.append((f"{split}{number}_jpg.rf.0a1b.jpg", some(number)))
        tree.text(f"{split}/_annotations.coco.json", coco(images))
    tree.text("README.roboflow.txt", "pets\n")


@folder("labelImg: .jpg and .xml in one folder")
def _(tree):
    for number in range(5):
        tree.image(f"photos/{number}.jpg", boxes=some(number))
        tree.text(f"photos/{number}.xml", voc(f"{number}.jpg", some(number)))


@folder("train_zip/train and test_zip/test of .jpg and .xml")
def _(tree):
    for split in ("train", "test"):
        for number in range(4 if split == "train" else 2):
            stem = f"{split}_zip/{split}/{split}_{number}"
            tree.image(f"{stem}.jpg", split=split, boxes=some(number))
            tree.text(f"{stem}.xml", voc(f"{split}_{number}.jpg", some(number)))


@folder("fruit images: images/ and annotations/ of VOC")
def _(tree):
    for number in range(5):
        tree.image(f"images/road{number}.png", boxes=some(number))
        tree.text(f"annotations/road{number}.xml", voc(f"road{number}.png", some(number)))


@folder("labelImg's YOLO: .jpg, .txt and classes.txt in one folder")
def _(tree):
    for number in range(5):
        tree.image(f"data/{number}.jpg", boxes=some(number))
        tree.text(f"data/{number}.txt", yolo(some(number)))
    tree.text("data/classes.txt", "cat\ndog\n")


@folder("Ultralytics: images/train, labels/train and data.yaml")
def _(tree):
    for split, own in (("train", "train"), ("val", "validation")):
        for number in range(4 if split == "train" else 2):
            tree.image(f"pets/images/{split}/{split}{number}.jpg", split=own, boxes=some(number))
            tree.text(f"pets/labels/{split}/{split}{number}.txt", yolo(some(number)))
    tree.text(
        "pets/data.yaml", "path: ../datasets/pets\ntrain: images/train\nval: images/val\nnames:\n  0: cat\n  1: dog\n"
    )


@folder("Roboflow YOLO: train/images, train/labels, data.yaml with ../")
def _(tree):
    for split, own in (("train", "train"), ("valid", "validation")):
        for number in range(4 if split == "train" else 2):
            tree.image(f"{split}/images/{split}{number}.jpg", split=own, boxes=some(number))
            tree.text(f"{split}/labels/{split}{number}.txt", yolo(some(number)))
    tree.text("data.yaml", "train: ../train/images\nval: ../valid/images\n\nnc: 2\nnames: ['cat', 'dog']\n")


@folder("YOLO without names", "advised")
def _(tree):
    for number in range(5):
        boxes = [(a, b, c, d, str(("cat", "dog").index(label))) for a, b, c, d, label in some(number)]
        tree.image(f"images/{number}.jpg", boxes=boxes)
        tree.text(f"labels/{number}.txt", yolo(some(number)))


@folder("YOLO export of Label Studio: classes.txt and notes.json")
def _(tree):
    for number in range(5):
        tree.image(f"images/x-{number}.jpg", boxes=some(number))
        tree.text(f"labels/x-{number}.txt", yolo(some(number)))
    tree.text("classes.txt", "cat\ndog\n")
    notes = {"categories": [{"id": 0, "name": "cat"}, {"id": 1, "name": "dog"}], "info": {"year": 2024}}
    tree.text("notes.json", json.dumps(notes))


@folder("Darknet: obj.data, obj.names and train.txt of another machine")
def _(tree):
    lines = ""
    for number in range(5):
        tree.image(f"obj_train_data/{number}.jpg", split="train", boxes=some(number))
        tree.text(f"obj_train_data/{number}.txt", yolo(some(number)))
        lines += f"data/obj_train_data/{number}.jpg\n"
    tree.text("obj.data", "classes = 2\ntrain = data/train.txt\nnames = data/obj.names\nbackup = backup/\n")
    tree.text("obj.names", "cat\ndog\n")
    tree.text("train.txt", lines)


@folder("a complete COCO in train/ and in test/: annotations/ and images/ in each")
def _(tree):
    exports_of_coco(tree, "train", "test")


@folder("two exports of COCO, given with their splits")
def _(tree):
    exports_of_coco(tree, "task-1", "task-2")
    tree.sources = ["train=task-1", "test=task-2"]


def exports_of_coco(tree, *names):
    """Folders with an export of COCO each, of the same file names; the first is to train."""
    for name, split in zip(names, ("train", "test"), strict=True):
        images = []
        for number in range(4 if split == "train" else 2):
            tree.image(f"{name}/images/{number}.jpg", split=split, boxes=some(number))
            images.append((f"{number}.jpg", some(number)))
        tree.text(f"{name}/annotations/instances_default.json", coco(images))


@folder("YOLO in train/ and test/, each with classes.txt, in another order", "refused")
def _(tree):
    for split, names in (("train", ("cat", "dog")), ("test", ("dog", "cat"))):
        for number in range(3):
            tree.image(f"{split}/images/{number}.jpg", split=split, boxes=some(number))
            tree.text(f"{split}/labels/{number}.txt", yolo(some(number), names))
        tree.text(f"{split}/classes.txt", "\n".join(names) + "\n")


@folder("Stanford Cars as on Kaggle: car_data/car_data/train and anno_train.csv one folder up")
def _(tree):
    names = ("Audi TT", "BMW M3")
    for split in ("train", "test"):
        rows = ""
        for number in range(4 if split == "train" else 2):
            name = names[number % 2]
            tree.image(
                f"car_data/car_data/{split}/{name}/{split}{number}.jpg",
                split=split,
                boxes=[(2, 3, 20, 16, str(1 + number % 2))],
            )
            rows += f"{split}{number}.jpg,2,3,20,16,{1 + number % 2}\n"
        tree.text(f"anno_{split}.csv", rows)
    tree.text("names.csv", "\n".join(names) + "\n")


@folder("boxes in a table: filename,width,height,class,xmin,ymin,xmax,ymax")
def _(tree):
    for split in ("train", "test"):
        rows = "filename,width,height,class,xmin,ymin,xmax,ymax\n"
        for number in range(4 if split == "train" else 2):
            tree.image(f"images/{split}/{split}{number}.jpg", split=split, boxes=some(number))
            rows += "".join(
                f"{split}{number}.jpg,{WIDTH},{HEIGHT},{e},{a},{b},{c},{d}\n" for a, b, c, d, e in some(number)
            )
        tree.text(f"{split}_labels.csv", rows)


@folder("global wheat: train.csv with a column bbox of [x, y, w, h], no classes, test/ without rows")
def _(tree):
    rows = "image_id,width,height,bbox,source\n"
    for number in range(5):
        boxes = [(a, b, c, d, "object") for a, b, c, d, _ in some(number)]
        tree.image(f"train/{number:08x}.jpg", split="train", boxes=boxes)
        for a, b, c, d, _ in boxes:
            values = f"[{float(a)}, {float(b)}, {float(c - a)}, {float(d - b)}]"
            rows += f'{number:08x},{WIDTH},{HEIGHT},"{values}",usask_1\n'
    for number in range(90, 92):
        tree.unlearnt(f"test/{number:08x}.jpg")
    tree.text("train.csv", rows)
    tree.text("sample_submission.csv", "image_id,PredictionString\n0000005a,1.0 0 0 5 5\n0000005b,1.0 0 0 5 5\n")


@folder("VisDrone: images/ and annotations/ of eight numbers a line")
def _(tree):
    names = [
        "pedestrian",
        "people",
        "bicycle",
        "car",
        "van",
        "truck",
        "tricycle",
        "awning-tricycle",
        "bus",
        "motor",
        "others",
    ]
    for split, own in (("train", "train"), ("val", "validation")):
        root = f"VisDrone2019-DET-{split}"
        for number in range(4 if split == "train" else 2):
            boxes = [(a, b, c, d, "car" if label == "cat" else "bus") for a, b, c, d, label in some(number)]
            tree.image(f"{root}/images/0000{number}_{split}.jpg", split=own, boxes=boxes)
            lines = [f"{a},{b},{c - a},{d - b},1,{1 + names.index(label)},0,0\n" for a, b, c, d, label in boxes]
            tree.text(f"{root}/annotations/0000{number}_{split}.txt", "".join(lines) + "0,0,5,5,0,0,0,0\n")


@folder("DOTA: images/ and labelTxt/ of oriented boxes")
def _(tree):
    for number in range(5):
        boxes = some(number)
        tree.image(f"images/P{number:04}.png", boxes=boxes)
        lines = [f"{a}.0 {b}.0 {c}.0 {b}.0 {c}.0 {d}.0 {a}.0 {d}.0 {label} 0\n" for a, b, c, d, label in boxes]
        tree.text(f"labelTxt/P{number:04}.txt", "imagesource:GoogleEarth\ngsd:0.15\n" + "".join(lines))


@folder("BDD100K: one JSON of labels with box2d")
def _(tree):
    records = []
    for number in range(5):
        tree.image(f"images/100k/train/{number:08x}.jpg", split="train", boxes=some(number))
        labels = [
            {
                "category": label,
                "box2d": {"x1": float(a), "y1": float(b), "x2": float(c), "y2": float(d)},
                "id": str(place),
            }
            for place, (a, b, c, d, label) in enumerate(some(number))
        ]
        labels.append({"category": "lane", "poly2d": [{"vertices": [[0, 0], [5, 5]], "types": "LL", "closed": False}]})
        records.append({"name": f"{number:08x}.jpg", "attributes": {"weather": "clear"}, "labels": labels})
    tree.text("labels/det_20/det_train.json", json.dumps(records))


@folder("VIA: a JSON of regions beside the images")
def _(tree):
    records = {}
    for number in range(5):
        name = f"{number}.jpg"
        data = tree.files[tree.image(f"train/{name}", split="train", boxes=some(number))]
        regions = [
            {
                "shape_attributes": {"name": "rect", "x": a, "y": b, "width": c - a, "height": d - b},
                "region_attributes": {"class": label},
            }
            for a, b, c, d, label in some(number)
        ]
        records[f"{name}{len(data)}"] = {"filename": name, "size": len(data), "regions": regions, "file_attributes": {}}
    tree.text("train/via_region_data.json", json.dumps(records))


@folder("CrowdHuman: .odgt")
def _(tree):
    lines = ""
    for number in range(4):
        boxes = [(a, b, c, d, "person") for a, b, c, d, _ in some(number)]
        tree.image(f"Images/27332{number},1b2c.jpg", split="train", boxes=boxes)
        found = [
            {"tag": "person", "fbox": [a, b, c - a, d - b], "vbox": [a, b, 1, 1], "hbox": [a, b, 1, 1]}
            for a, b, c, d, _ in boxes
        ]
        found.append({"tag": "mask", "fbox": [0, 0, 3, 3], "vbox": [0, 0, 3, 3], "extra": {"ignore": 1}})
        lines += json.dumps({"ID": f"27332{number},1b2c", "gtboxes": found}) + "\n"
    tree.text("annotation_train.odgt", lines)


@folder("SageMaker: output.manifest of boxes")
def _(tree):
    lines = ""
    for number in range(4):
        tree.image(f"images/{number}.jpg", boxes=some(number))
        found = [
            {"class_id": ("cat", "dog").index(label), "left": a, "top": b, "width": c - a, "height": d - b}
            for a, b, c, d, label in some(number)
        ]
        record = {
            "source-ref": f"s3://bucket/pets/images/{number}.jpg",
            "pets": {"image_size": [{"width": WIDTH, "height": HEIGHT, "depth": 3}], "annotations": found},
            "pets-metadata": {"class-map": {"0": "cat", "1": "dog"}, "type": "groundtruth/object-detection"},
        }
        lines += json.dumps(record) + "\n"
    tree.text("output.manifest", lines)


@folder("Rekognition Custom Labels: a manifest of classes")
def _(tree):
    lines = ""
    for number in range(6):
        name = ("cat", "dog")[number % 2]
        tree.image(f"assets/{number}.jpg", name)
        record = {
            "source-ref": f"s3://bucket/assets/{number}.jpg",
            "pets_BB": number % 2,
            "pets_BB-metadata": {"class-name": name, "confidence": 1, "type": "groundtruth/image-classification"},
        }
        lines += json.dumps(record) + "\n"
    tree.text("train.manifest", lines)


@folder("Azure: COCO with boxes between 0 and 1 and file names of a datastore", "refused")
def _(tree):
    images = []
    for number in range(4):
        tree.image(f"images/{number}.jpg", boxes=some(number))
        images.append(
            (
                f"images/{number}.jpg",
                [(a / WIDTH, b / HEIGHT, c / WIDTH, d / HEIGHT, e) for a, b, c, d, e in some(number)],
            )
        )
    tree.text("labels_coco.json", coco(images))


@folder("VoTT: vott-json-export beside the images, one folder up")
def _(tree):
    assets = {}
    for number in range(4):
        tree.image(f"project/{number}.jpg", boxes=some(number))
        regions = [
            {
                "type": "RECTANGLE",
                "tags": [label],
                "boundingBox": {"left": a, "top": b, "width": c - a, "height": d - b},
            }
            for a, b, c, d, label in some(number)
        ]
        asset = {
            "name": f"{number}.jpg",
            "path": f"file:/home/anna/project/{number}.jpg",
            "size": {"width": WIDTH, "height": HEIGHT},
        }
        assets[f"{number:032x}"] = {"asset": asset, "regions": regions, "version": "2.2.0"}
    tags = [{"name": "cat", "color": "#f00"}, {"name": "dog", "color": "#0f0"}]
    tree.text("project/vott-json-export/pets-export.json", json.dumps({"name": "pets", "tags": tags, "assets": assets}))


@folder("Labelme: a .json for each image")
def _(tree):
    for number in range(5):
        tree.image(f"pets/{number}.jpg", boxes=some(number))
        shapes = [
            {"label": label, "points": [[a, b], [c, d]], "shape_type": "rectangle", "group_id": None, "flags": {}}
            for a, b, c, d, label in some(number)
        ]
        data = {"version": "5.0.1", "flags": {}, "shapes": shapes, "imagePath": f"{number}.jpg", "imageData": None}
        tree.text(f"pets/{number}.json", json.dumps(data | {"imageHeight": HEIGHT, "imageWidth": WIDTH}))


@folder("KITTI: training/image_2 and training/label_2")
def _(tree):
    for number in range(5):
        tree.image(f"training/image_2/{number:06}.png", split="train", boxes=some(number))
        lines = [f"{e} 0.00 0 -1.5 {a} {b} {c} {d} 1 1 1 1 1 1 0\n" for a, b, c, d, e in some(number)]
        tree.text(f"training/label_2/{number:06}.txt", "".join(lines))
    for number in range(90, 92):
        tree.unlearnt(f"testing/image_2/{number:06}.png")


@folder("Open Images: boxes as fractions and class names as codes")
def _(tree):
    rows = "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded\n"
    codes = {"cat": "/m/01yrx", "dog": "/m/0bt9lr"}
    for number in range(5):
        tree.image(
            f"train/{number:016x}.jpg", split="train", boxes=[(a, b, c, d, codes[e]) for a, b, c, d, e in some(number)]
        )
        for a, b, c, d, e in some(number):
            rows += f"{number:016x},xclick,{codes[e]},1,{a / WIDTH},{c / WIDTH},{b / HEIGHT},{d / HEIGHT},0\n"
    tree.text("train-annotations-bbox.csv", rows)
