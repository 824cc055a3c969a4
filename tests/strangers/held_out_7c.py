"""Boxes, public, of labelling tools and of a tutorial, gathered by somebody who had not read the code."""

import json

from .boxes import coco, some, voc, yolo
from .held_out_boxes import named
from .packed import packed, zipped
from .tree import HEIGHT, WIDTH, folder


def one_class(number, name):
    """The boxes of an image, all of one class."""
    return named(number, name, name)


# --- public
@folder("potholes: annotated-images of .jpg and .xml, splits.json of the names of .xml for train and test")
def _(tree):
    """kaggle.com/datasets/chitholian/annotated-potholes-dataset."""
    for number in range(1, 9):
        boxes = one_class(number, "pothole")
        tree.image(f"annotated-images/img-{number}.jpg", split="test" if number in (3, 7) else "train", boxes=boxes)
        tree.text(f"annotated-images/img-{number}.xml", voc(f"img-{number}.jpg", boxes, "annotated-images"))
    train = [f"img-{number}.xml" for number in range(1, 9) if number not in (3, 7)]
    tree.text("splits.json", json.dumps({"train": train, "test": ["img-3.xml", "img-7.xml"]}))


@folder("drones: dataset_xml_format twice of .jpg and .xml, drone_dataset_yolo/dataset_txt of the same with .txt")
def _(tree):
    """kaggle.com/datasets/dasmehdixtr/drone-dataset-uav: the same photographs and boxes in two formats."""
    for number in range(1, 8):
        boxes = one_class(number, "drone")
        path = tree.image(f"dataset_xml_format/dataset_xml_format/000{number}.jpg", boxes=boxes)
        tree.text(f"dataset_xml_format/dataset_xml_format/000{number}.xml", voc(f"000{number}.jpg", boxes, "drone"))
        tree.files[f"drone_dataset_yolo/dataset_txt/000{number}.jpg"] = tree.files[path]
        tree.text(f"drone_dataset_yolo/dataset_txt/000{number}.txt", yolo(boxes, ("drone",)))


@folder(
    "self-driving cars: images, labels_train.csv and labels_val.csv of frame, xmin, xmax, ymin, ymax, class_id, "
    "labels_trainval.csv of both",
    "advised",
)
def _(tree):
    """kaggle.com/datasets/alincijov/self-driving-cars: nothing in the folder names the classes 1 to 5."""
    tables = {"train": "frame,xmin,xmax,ymin,ymax,class_id\n"}
    tables |= {"val": tables["train"], "trainval": tables["train"]}
    for number in range(9):
        part, own = ("val", "validation") if number % 4 == 3 else ("train", "train")
        boxes = named(number, "1", "3")
        tree.image(f"images/147801995268{number}311006.jpg", split=own, boxes=boxes)
        for a, b, c, d, name in boxes:
            row = f"147801995268{number}311006.jpg,{a},{c},{b},{d},{name}\n"
            tables[part] += row
            tables["trainval"] += row
    for part, rows in tables.items():
        tree.text(f"labels_{part}.csv", rows)


@folder(
    "African wildlife: a folder for each animal of 001.jpg and 001.txt, YOLO's numbers without names",
    "advised",
)
def _(tree):
    """kaggle.com/datasets/biancaferreira/african-wildlife: 0 is buffalo, 1 elephant, 2 rhino, 3 zebra."""
    names = ("buffalo", "elephant", "rhino", "zebra")
    for name in names:
        for number in range(1, 5):
            boxes = one_class(number, name)
            tree.image(f"{name}/00{number}.jpg", boxes=boxes)
            tree.text(f"{name}/00{number}.txt", yolo(boxes, names))


@folder("a Hugging Face repository of Roboflow's zips: data/train.zip, valid.zip, test.zip, valid-mini.zip")
def _(tree):
    """huggingface.co/datasets/keremberke/license-plate-object-detection: the small one is of images of valid."""
    for part, own, count in (("train", "train", 6), ("valid", "validation", 3), ("test", "test", 3)):
        images = []
        for number in range(count):
            name = f"{part}{number}ab12_jpg.rf.0a1b2c3d4e5f60718293a4b5c6d7e8f{number}.jpg"
            boxes = one_class(number, "license_plate")
            tree.image(f"{part}/{name}", split=own, boxes=boxes)
            images.append((name, boxes))
        names = ("license-plates", "license_plate")
        tree.text(f"{part}/_annotations.coco.json", coco(images, names))
        if part == "valid":
            few = {name: tree.files[f"valid/{name}"] for name, _ in images[:2]}
            few["_annotations.coco.json"] = coco(images[:2], names).encode()
            tree.files["data/valid-mini.zip"] = zipped(few)
        tree.files[f"data/{part}.zip"] = packed(tree, f"{part}/", zipped, len(part) + 1)
    tree.text("README.md", "---\ntask_categories:\n- object-detection\ntags:\n- roboflow\n---\n")
    tree.text("README.dataset.txt", "# License Plate Recognition > 2022\nLicense: CC BY 4.0\n")
    tree.text("README.roboflow.txt", "The dataset includes 12 images.\n")
    tree.text("split_name_to_num_samples.json", json.dumps({"train": 6, "valid": 3, "test": 3}))
    tree.text("license-plate-object-detection.py", "import datasets\n")


# --- labelling tools
@folder("CVAT's COCO 1.0: annotations/instances_default.json with attributes, images/default")
def _(tree):
    """docs.cvat.ai, COCO export with images of a task without a subset."""
    images = [(f"frame_{number:06}.jpg", some(number)) for number in range(7)]
    for name, boxes in images:
        tree.image(f"images/default/{name}", boxes=boxes)
    notes = json.loads(coco(images))
    for one in notes["annotations"]:
        one |= {"segmentation": [], "attributes": {"occluded": False, "rotation": 0.0}}
    for one in notes["images"]:
        one |= {"license": 0, "flickr_url": "", "coco_url": "", "date_captured": 0}
    empty = {"contributor": "", "date_created": "", "description": "", "url": "", "version": "", "year": ""}
    notes = {"licenses": [{"name": "", "id": 0, "url": ""}], "info": empty} | notes
    tree.text("annotations/instances_default.json", json.dumps(notes))


@folder("CVAT's Pascal VOC 1.1: Annotations, JPEGImages, ImageSets/Main/default.txt, labelmap.txt")
def _(tree):
    """docs.cvat.ai, Pascal VOC export with images: corners with two digits, attributes in each object."""
    for number in range(7):
        tree.image(f"JPEGImages/img_{number:03}.jpg", boxes=some(number))
        text = voc(f"img_{number:03}.jpg", [(a + 0.0, b + 0.0, c + 0.0, d + 0.0, e) for a, b, c, d, e in some(number)])
        more = "<truncated>0</truncated><difficult>0</difficult><occluded>0</occluded>"
        more += "<attributes><attribute><name>rotation</name><value>0.0</value></attribute></attributes></object>"
        tree.text(f"Annotations/img_{number:03}.xml", text.replace("</object>", more))
    tree.text("ImageSets/Main/default.txt", "".join(f"img_{number:03}\n" for number in range(7)))
    tree.text(
        "labelmap.txt",
        "# label:color_rgb:parts:actions\nbackground:0,0,0::\ncat:255,53,94::\ndog:52,209,183::\n",
    )


@folder("Label Studio's Pascal VOC: Annotations and images, names in the XML files without an ending")
def _(tree):
    """github.com/HumanSignal/label-studio-converter, convert_to_voc: <filename> is the image's stem."""
    for number in range(7):
        stem = f"0a1b2c{number}d-IMG_30{number}1"
        tree.image(f"images/{stem}.jpg", boxes=some(number))
        tree.text(f"Annotations/{stem}.xml", f'<?xml version="1.0" encoding="utf-8"?>\n{voc(stem, some(number))}')


@folder("Roboflow's TensorFlow CSV: _annotations.csv with a header in train, valid and test, two READMEs")
def _(tree):
    """roboflow.com/formats/tensorflow-object-detection-csv."""
    for part, own, count in (("train", "train", 6), ("valid", "validation", 2), ("test", "test", 2)):
        rows = "filename,width,height,class,xmin,ymin,xmax,ymax\n"
        for number in range(count):
            name = f"{part}_{number}_jpg.rf.0f1e2d3c4b5a69788796a5b4c3d2e1f{number}.jpg"
            tree.image(f"{part}/{name}", split=own, boxes=some(number))
            for a, b, c, d, label in some(number):
                rows += f"{name},{WIDTH},{HEIGHT},{label},{a},{b},{c},{d}\n"
        tree.text(f"{part}/_annotations.csv", rows)
    tree.text("README.dataset.txt", "# pets > 2025-02-03 10:11am\nProvided by a Roboflow user\n")
    tree.text("README.roboflow.txt", "pets - v1 2025-02-03 10:11am\n")


@folder("labelme2coco: JPEGImages, Visualization of the same names, annotations.json with a background")
def _(tree):
    """github.com/wkentaro/labelme, examples/instance_segmentation: ids begin with 0, polygons beside the boxes."""
    below = "data_dataset_coco"
    images = [(f"JPEGImages/2011_00000{number}.jpg", some(number)) for number in range(7)]
    for name, boxes in images:
        tree.image(f"{below}/{name}", boxes=boxes)
        tree.unlearnt(f"{below}/{name.replace('JPEGImages', 'Visualization')}")
    notes = json.loads(coco(images, ("cat", "dog")))
    for one in notes["annotations"]:
        a, b, width, height = map(float, one["bbox"])
        corners = [a, b, a + width, b, a + width, b + height, a, b + height]
        one |= {"id": one["id"] - 1, "image_id": one["image_id"] - 1, "segmentation": [corners]}
        one |= {"bbox": [a, b, width, height], "area": width * height}
    for one in notes["images"]:
        one |= {"id": one["id"] - 1, "license": 0, "url": None, "date_captured": None}
    names = ("_background_", "cat", "dog")
    notes["categories"] = [{"supercategory": None, "id": ident, "name": name} for ident, name in enumerate(names)]
    info = {"description": None, "url": None, "version": None, "year": 2025, "contributor": None}
    notes |= {"info": info, "licenses": [{"url": None, "id": 0, "name": None}], "type": "instances"}
    tree.text(f"{below}/annotations.json", json.dumps(notes))


@folder("X-AnyLabeling: a .json beside each photograph, rectangles of four points")
def _(tree):
    """github.com/CVHub520/X-AnyLabeling: since version 2.2 a rectangle has its four corners."""
    for number in range(7):
        tree.image(f"shelf/DSC0{number}012.jpg", boxes=some(number))
        shapes = []
        for a, b, c, d, label in some(number):
            corners = [[float(a), float(b)], [float(c), float(b)], [float(c), float(d)], [float(a), float(d)]]
            shape = {"label": label, "score": None, "points": corners, "group_id": None, "description": ""}
            shape |= {"difficult": False, "shape_type": "rectangle", "flags": {}, "attributes": {}, "kie_linking": []}
            shapes.append(shape)
        notes = {"version": "3.2.1", "flags": {}, "shapes": shapes, "imagePath": f"DSC0{number}012.jpg"}
        notes |= {"imageData": None, "imageHeight": HEIGHT, "imageWidth": WIDTH}
        tree.text(f"shelf/DSC0{number}012.json", json.dumps(notes))


@folder("makesense's VOC: labels_my-project-name_ and a date of .xml, the photographs in a folder beside")
def _(tree):
    """github.com/SkalskiP/make-sense: a zip of one .xml for each image, the folder's name is the project's."""
    for number in range(7):
        tree.image(f"photos/IMG_54{number}9.JPG", boxes=some(number))
        text = voc(f"IMG_54{number}9.JPG", some(number), "my-project-name")
        tree.text(f"labels_my-project-name_2025-02-03-10-11-12/IMG_54{number}9.xml", text)


# --- people's own disks
@folder("YOLO from a tutorial: dataset, custom_data.yaml of a Windows disk, yolov8n.pt, runs with pictures, caches")
def _(tree):
    """docs.ultralytics.com/modes/train: training writes labels.cache, and its pictures below runs."""
    for part, own, count in (("train", "train", 6), ("val", "validation", 3)):
        for number in range(count):
            tree.image(f"dataset/images/{part}/{part}_{number}.jpg", split=own, boxes=some(number))
            tree.text(f"dataset/labels/{part}/{part}_{number}.txt", yolo(some(number)))
        tree.files[f"dataset/labels/{part}.cache"] = b"\x93NUMPY\x01\x00" + bytes(24)
    text = "path: C:\\Users\\Kim\\yolo\\dataset\ntrain: images/train\nval: images/val\n\nnames:\n  0: cat\n  1: dog\n"
    tree.text("custom_data.yaml", text)
    tree.files["yolov8n.pt"] = b"PK\x03\x04" + bytes(24)
    for name in ("confusion_matrix.png", "results.png", "train_batch0.jpg", "val_batch0_pred.jpg"):
        tree.unlearnt(f"runs/detect/train/{name}")
    tree.text("runs/detect/train/args.yaml", "task: detect\nmode: train\ndata: custom_data.yaml\n")
    tree.text("runs/detect/train/results.csv", "epoch,train/box_loss,metrics/mAP50(B)\n1,1.23,0.41\n")
    tree.files["runs/detect/train/weights/best.pt"] = b"PK\x03\x04" + bytes(24)
    tree.text("train.py", "from ultralytics import YOLO\nYOLO('yolov8n.pt').train(data='custom_data.yaml')\n")
