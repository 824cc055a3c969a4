"""Exports of labelling tools, gathered by somebody who had not read the code that reads folders."""

import json

from .boxes import some, voc, yolo
from .packed import packed, zipped
from .tree import HEIGHT, WIDTH, folder

SPLITS = (("train", "train"), ("val", "validation"), ("test", "test"))
PETS = ("cat", "dog")


@folder("CVAT's ImageNet: a zip of a folder for each label")
def _(tree):
    """docs.cvat.ai, ImageNet export with images."""
    for name in ("bolt", "nut", "washer"):
        tree.images(f"export/{name}/{name}_frame_00000{{}}.jpg", 3, name)
    tree.files["task_parts-2024_05_06_10_11_12-imagenet 1.0.zip"] = packed(tree, "export/", zipped, len("export/"))


@folder("CVAT's Ultralytics YOLO: a zip with data.yaml that names train.txt, images/train, labels/train")
def _(tree):
    """docs.cvat.ai, Ultralytics YOLO export: path ./, train: train.txt, names by number."""
    lines = ""
    for number in range(6):
        tree.image(f"export/images/train/frame_00000{number}.jpg", boxes=some(number))
        tree.text(f"export/labels/train/frame_00000{number}.txt", yolo(some(number)))
        lines += f"images/train/frame_00000{number}.jpg\n"
    tree.text("export/train.txt", lines)
    tree.text("export/data.yaml", "names:\n  0: cat\n  1: dog\npath: ./\ntrain: train.txt\n")
    tree.files["task_7.zip"] = packed(tree, "export/", zipped, len("export/"))
    tree.sources = ["task_7.zip"]


@folder(
    "Label Studio's CSV: choice and /data/upload/1/0a1b2c3d-IMG_0001.jpg, the photographs with their own names",
)
def _(tree):
    """labelstud.io/guide/export, CSV of a classification: an upload gets eight digits and a hyphen in front."""
    rows = "annotation_id,annotator,choice,created_at,id,image,lead_time,updated_at\n"
    for number in range(1, 9):
        choice, time = ("Ripe", "Unripe")[number % 2], "2024-05-06T10:11:12.013Z"
        tree.image(f"photos/IMG_000{number}.jpg", choice)
        upload = f"/data/upload/1/{0x0A1B2C3D * number % 16**8:08x}-IMG_000{number}.jpg"
        rows += f"{number},1,{choice},{time},{100 + number},{upload},3.{number}1,{time}\n"
    tree.text("project-1-at-2024-05-06-10-12-abcdef01.csv", rows)


@folder("Label Studio's JSON: rectanglelabels in percent, its media folder upload/1 beside", "advised")
def _(tree):
    """labelstud.io/guide/export, JSON; labelstud.io/tags/rectanglelabels."""
    tasks = []
    for number in range(1, 7):
        path = tree.image(f"upload/1/0a1b2c3{number}-IMG_000{number}.jpg", boxes=some(number))
        result = []
        for a, b, c, d, label in some(number):
            box = {"x": 100 * a / WIDTH, "y": 100 * b / HEIGHT, "rotation": 0, "rectanglelabels": [label]}
            box |= {"width": 100 * (c - a) / WIDTH, "height": 100 * (d - b) / HEIGHT}
            names = {"id": f"r{number}", "type": "rectanglelabels", "from_name": "label", "to_name": "image"}
            result.append(names | {"value": box, "original_width": WIDTH, "original_height": HEIGHT})
        answer = {"id": number, "completed_by": 1, "was_cancelled": False, "result": result}
        tasks.append({"id": number, "annotations": [answer], "predictions": [], "data": {"image": f"/data/{path}"}})
    tree.text("project-2.json", json.dumps(tasks))


@folder(
    "Labelbox: an .ndjson of data rows with a radio answer, the photographs by their external ids",
)
def _(tree):
    """docs.labelbox.com, image export: projects, labels, annotations, classifications, radio_answer."""
    lines = ""
    for number in range(8):
        name = ("Intact", "Broken")[number % 2]
        tree.image(f"images/glass_{number:03}.jpg", name)
        answer = {"name": "State", "value": "state", "radio_answer": {"name": name, "value": name.lower()}}
        label = {"label_kind": "Default", "annotations": {"objects": [], "classifications": [answer]}}
        row = {"id": f"clh{number}", "external_id": f"glass_{number:03}.jpg", "row_data": "https://storage/x"}
        project = {"name": "Glass", "labels": [label], "project_details": {"workflow_status": "DONE"}}
        size = {"height": HEIGHT, "width": WIDTH, "mime_type": "image/jpeg"}
        lines += json.dumps({"data_row": row, "media_attributes": size, "projects": {"clp1": project}}) + "\n"
    tree.text("Export v2 project - Glass - 5_6_2024.ndjson", lines)


@folder("Supervisely: meta.json of tags, a tag of each image in ds0/ann")
def _(tree):
    """developer.supervisely.com, annotation format: tags with no value."""
    for number in range(6):
        name = PETS[number % 2]
        tree.image(f"pets/ds0/img/IMG_{number}.jpg", name)
        tag = {"id": number, "tagId": 1, "name": name, "value": None, "labelerLogin": "anna"}
        notes = {"description": "", "tags": [tag], "size": {"height": HEIGHT, "width": WIDTH}, "objects": []}
        tree.text(f"pets/ds0/ann/IMG_{number}.jpg.json", json.dumps(notes))
    tags = [{"name": name, "value_type": "none", "color": "#0F8A4C"} for name in PETS]
    tree.text("pets/meta.json", json.dumps({"classes": [], "tags": tags, "projectType": "images"}))


@folder("Roboflow's Pascal VOC: .jpg and .xml side by side in train, valid and test, two READMEs")
def _(tree):
    """docs.roboflow.com, Pascal VOC XML."""
    for part, split, start, count in (("train", "train", 0, 4), ("valid", "validation", 4, 2), ("test", "test", 6, 2)):
        for number in range(start, start + count):
            stem = f"IMG_{number}_jpg.rf.0a1b2c3d4e5f60718293a4b5c6d7e8f{number}"
            tree.image(f"{part}/{stem}.jpg", split=split, boxes=some(number))
            tree.text(f"{part}/{stem}.xml", voc(f"{stem}.jpg", some(number), ""))
    tree.text("README.roboflow.txt", "Pets - v1\nThe dataset includes 8 images.\n")
    tree.text("README.dataset.txt", "# Pets > 2024-05-06\nhttps://universe.roboflow.com/x\n")


@folder("Azure's AutoML: train_annotations.jsonl and validation_annotations.jsonl over class folders")
def _(tree):
    """learn.microsoft.com, AutoML's JSONL for images; azureml-examples' fridgeObjects."""
    store = "azureml://subscriptions/0/resourcegroups/r/workspaces/w/datastores/d/paths/LocalUpload/0a1b"
    lines = {"train": "", "validation": ""}
    for name in ("carton", "milk_bottle", "water_bottle"):
        for number in range(5):
            split = "validation" if number == 4 else "train"
            path = tree.image(f"fridgeObjects/{name}/{len(tree.truth) + 1}.jpg", name, split)
            lines[split] += json.dumps({"image_url": f"{store}/{path}", "label": name}) + "\n"
    for split, content in lines.items():
        tree.text(
            f"{split}ing-mltable-folder/{split}_annotations.jsonl".replace("validationing", "validation"), content
        )


@folder("Azure's AutoML: boxes as fractions topX to bottomY in train_annotations.jsonl")
def _(tree):
    """learn.microsoft.com, AutoML's JSONL for images: object detection."""
    store = "azureml://subscriptions/0/resourcegroups/r/workspaces/w/datastores/d/paths/image_data"
    for split, start, count in (("train", 0, 5), ("validation", 5, 3)):
        lines = ""
        for number in range(start, start + count):
            tree.image(f"image_data/Image_0{number}.jpg", split=split, boxes=some(number))
            labels = [
                {"label": label, "topX": a / WIDTH, "topY": b / HEIGHT, "bottomX": c / WIDTH, "bottomY": d / HEIGHT}
                for a, b, c, d, label in some(number)
            ]
            size = {"format": "jpg", "width": f"{WIDTH}px", "height": f"{HEIGHT}px"}
            labels = [label | {"isCrowd": 0} for label in labels]
            row = {"image_url": f"{store}/Image_0{number}.jpg", "image_details": size, "label": labels}
            lines += json.dumps(row) + "\n"
        tree.text(f"{split}_annotations.jsonl", lines)


@folder("Vertex AI: CSV of training, gs:// and a class, the bucket's folder beside")
def _(tree):
    """cloud.google.com/vertex-ai/docs/image-data/classification/prepare-data: [ML_USE],GCS_FILE_PATH,[LABEL]."""
    rows = ""
    for number in range(9):
        use, split = (("training", "train"), ("validation", "validation"), ("test", "test"))[max(0, number // 2 - 2)]
        name = ("daisy", "rose", "tulip")[number % 3]
        tree.image(f"flowers/img/{number}.jpg", name, split)
        rows += f"{use},gs://our-bucket/flowers/img/{number}.jpg,{name}\n"
    tree.text("import.csv", rows)


@folder(
    "AutoML Vision: CSV of TRAIN, gs://, a class and two corners as fractions among empty columns",
    "advised",
)
def _(tree):
    """cloud.google.com/vision/automl/object-detection/docs/csv-format."""
    rows = ""
    for number in range(9):
        split = SPLITS[max(0, number // 2 - 2)][1]
        boxes = some(number) if number != 3 else ()
        tree.image(f"img/im{number}.png", split=split, boxes=boxes)
        for a, b, c, d, label in boxes:
            corners = f"{a / WIDTH:.6f},{b / HEIGHT:.6f},,,{c / WIDTH:.6f},{d / HEIGHT:.6f},,"
            rows += f"{split.upper()},gs://our-bucket/img/im{number}.png,{label},{corners}\n"
        if not boxes:
            rows += f"{split.upper()},gs://our-bucket/img/im{number}.png,,,,,,,,,\n"
    tree.text("all_data.csv", rows)


@folder(
    "Teachable Machine: Ripe-samples.zip, Unripe-samples.zip, and the model in converted_keras.zip",
    "advised",
)
def _(tree):
    """teachablemachine.withgoogle.com: the samples of a class, and the exported model with labels.txt."""
    for name in ("Ripe", "Unripe"):
        tree.images(f"{name}/{{}}.jpg", 4, f"{name}-samples")
        tree.files[f"{name}-samples.zip"] = packed(tree, f"{name}/", zipped, len(name) + 1)
    tree.files["converted_keras.zip"] = zipped({"keras_model.h5": b"\x89HDF", "labels.txt": b"0 Ripe\n1 Unripe\n"})


@folder("labelme's flags: one of three is true in the .json of each image, no shapes")
def _(tree):
    """github.com/wkentaro/labelme, examples/classification: labelme --flags flags.txt."""
    names = ("__ignore__", "cat", "dog")
    for number in range(6):
        label = names[1 + number % 2]
        tree.image(f"data_annotated/{number:04}.jpg", label)
        flags = {name: name == label for name in names}
        notes = {"version": "5.4.1", "flags": flags, "shapes": [], "imagePath": f"{number:04}.jpg", "imageData": None}
        notes |= {"imageHeight": HEIGHT, "imageWidth": WIDTH}
        tree.text(f"data_annotated/{number:04}.json", json.dumps(notes))
    tree.text("flags.txt", "".join(f"{name}\n" for name in names))


@folder("FiftyOneDataset: metadata.json, samples.json with ground_truth and predictions, data/", "advised")
def _(tree):
    """docs.voxel51.com, exporting: fiftyone.types.FiftyOneDataset."""
    samples = []
    for number in range(6):
        path = tree.image(f"data/{number:06}.jpg", PETS[number % 2])
        truth, guess = ({"_cls": "Classification", "label": PETS[(number + add) % 2]} for add in (0, number == 3))
        samples.append(
            {"filepath": path, "tags": [], "ground_truth": truth, "predictions": guess | {"confidence": 0.9}}
        )
    tree.text("samples.json", json.dumps({"samples": samples}))
    tree.text("metadata.json", json.dumps({"name": "pets", "version": "0.23.0", "classes": {}, "default_classes": []}))


@folder(
    "V7 Darwin: images, and annotations/*.json of item, slots and bounding_box in releases/latest",
)
def _(tree):
    """docs.v7labs.com/reference/darwin-json, version 2.0."""
    for number in range(6):
        name = f"image-{number}.jpg"
        tree.image(f"images/{name}", boxes=some(number))
        slot = {
            "type": "image",
            "slot_name": "0",
            "width": WIDTH,
            "height": HEIGHT,
            "source_files": [{"file_name": name}],
        }
        found = [
            {
                "id": f"a{a}",
                "name": label,
                "bounding_box": {"x": a, "y": b, "w": c - a, "h": d - b},
                "slot_names": ["0"],
            }
            for a, b, c, d, label in some(number)
        ]
        notes = {"version": "2.0", "item": {"name": name, "path": "/", "slots": [slot]}, "annotations": found}
        tree.text(f"releases/latest/annotations/image-{number}.json", json.dumps(notes))
