"""Masks, and class folders of people's disks, gathered by somebody who had not read the code."""

import base64
import io
import json
import zlib

import numpy as np
from PIL import Image

from .held_out_5 import parts
from .masks import classes, coloured, grey
from .tree import HEIGHT, WIDTH, folder

COLOURS = np.array([[0, 0, 0], [208, 2, 27], [245, 166, 35]], np.uint8)


# --- public masks
@folder("cracks: train and test of images and masks, and images and masks of both beside, JPEG, readme.txt")
def _(tree):
    """kaggle.com/datasets/lakshaymiddha/crack-segmentation-dataset: noncrack_ has black masks."""
    below = "crack_segmentation_dataset"
    for part, count in (("train", 6), ("test", 3)):
        for number in range(count):
            kind = "noncrack_noncrack_concrete_wall" if number == 2 else "CFD"
            values = classes(number + 10 * (part == "test"), 2) * (number != 2)
            name = f"{kind}_{part == 'test':d}{number}.jpg"
            path = tree.image(f"{below}/{part}/images/{name}", split=part, mask=values)
            tree.drawing(f"{below}/{part}/masks/{name}", grey(values), quality=95)
            tree.files[f"{below}/images/{name}"] = tree.files[path]
            tree.files[f"{below}/masks/{name}"] = tree.files[f"{below}/{part}/masks/{name}"]
    tree.text(f"{below}/readme.txt", "The dataset contains around 11.200 images merged from 12 datasets.\n")


@folder("forests: images/855_sat_01.jpg and masks/855_mask_01.jpg, meta_data.csv of pairs, a wrapper twice")
def _(tree):
    """kaggle.com/datasets/quadeer15sh/augmented-forest-segmentation; after DeepGlobe."""
    below, rows = "Forest Segmented/Forest Segmented", "image,mask\n"
    for number in range(7):
        values = classes(number, 2)
        tree.image(f"{below}/images/855_sat_0{number}.jpg", mask=values)
        tree.drawing(f"{below}/masks/855_mask_0{number}.jpg", coloured(values), quality=95)
        rows += f"855_sat_0{number}.jpg,855_mask_0{number}.jpg\n"
    tree.text(f"{below}/meta_data.csv", rows)


@folder("FoodSeg103: Images/img_dir and Images/ann_dir of train and test, ImageSets of names, category_id.txt")
def _(tree):
    """xiongweiwu.github.io/foodseg103.html; huggingface.co/datasets/EduardoPacheco/FoodSeg103."""
    for part, count in (("train", 6), ("test", 3)):
        for number in range(count):
            values, name = classes(number + 20 * (part == "test")), f"0000{number}{part == 'test':d}00"
            tree.image(f"FoodSeg103/Images/img_dir/{part}/{name}.jpg", split=part, mask=values)
            tree.drawing(f"FoodSeg103/Images/ann_dir/{part}/{name}.png", values)
        names = "".join(f"0000{number}{part == 'test':d}00.jpg\n" for number in range(count))
        tree.text(f"FoodSeg103/ImageSets/{part}.txt", names)
    tree.text("FoodSeg103/category_id.txt", "0\tbackground\n1\tcandy\n2\tegg tart\n")
    tree.text("FoodSeg103/test_recipe1m_id.txt", "000018c8a5.jpg\n")
    tree.text("FoodSeg103/readme.txt", "``Images'' folder, contains the raw images and masks:\n")


@folder("UW-Madison: train/case123/case123_day20/scans of slices, train.csv of run lengths by organ", "refused")
def _(tree):
    """kaggle.com/competitions/uw-madison-gi-tract-image-segmentation: most cells of segmentation are empty."""
    rows = "id,class,segmentation\n"
    for case, day in ((123, 20), (123, 22), (77, 20)):
        for number in range(1, 4):
            ident = f"case{case}_day{day}_slice_000{number}"
            tree.unlearnt(f"train/case{case}/case{case}_day{day}/scans/slice_000{number}_266_266_1.50_1.50.png")
            for name in ("large_bowel", "small_bowel", "stomach"):
                runs = f"{20 + number} 4 44 5" if name == "stomach" and number > 1 else ""
                rows += f"{ident},{name},{runs}\n"
    tree.text("train.csv", rows)
    tree.text("sample_submission.csv", "id,class,predicted\n")


# --- masks of labelling tools
@folder("Supervisely's masks: img, ann, masks_machine and masks_human in ds0, obj_class_to_machine_color.json")
def _(tree):
    """github.com/supervisely-ecosystem/export-as-masks: machine masks are grey in three channels."""
    names = ("kiwi", "lemon")
    for number in range(7):
        values = classes(number)
        tree.image(f"fruits/ds0/img/IMG_{number}0.jpeg", mask=values)
        tree.drawing(f"fruits/ds0/masks_machine/IMG_{number}0.png", np.dstack([values] * 3))
        tree.drawing(f"fruits/ds0/masks_human/IMG_{number}0.png", COLOURS[values])
        objects = []
        for value, name in enumerate(names, 1):
            out = io.BytesIO()
            Image.fromarray(values == value).save(out, "PNG")
            bitmap = {"data": base64.b64encode(zlib.compress(out.getvalue())).decode(), "origin": [0, 0]}
            one = {
                "id": 10 * number + value,
                "classTitle": name,
                "geometryType": "bitmap",
                "tags": [],
                "bitmap": bitmap,
            }
            objects.append(one | {"description": "", "labelerLogin": "kim"})
        note = {"description": "", "tags": [], "size": {"height": HEIGHT, "width": WIDTH}, "objects": objects}
        tree.text(f"fruits/ds0/ann/IMG_{number}0.jpeg.json", json.dumps(note))
    kinds = [
        {"title": name, "shape": "bitmap", "color": colour, "geometry_config": {}, "id": number}
        for number, (name, colour) in enumerate(zip(names, ("#D0021B", "#F5A623"), strict=True))
    ]
    tree.text("fruits/meta.json", json.dumps({"classes": kinds, "tags": [], "projectType": "images"}))
    machine = {name: [value] * 3 for value, name in enumerate(names, 1)}
    tree.text("fruits/obj_class_to_machine_color.json", json.dumps(machine))


@folder(
    "Segments.ai: name.jpg, name_label_ground-truth.png of objects and name_label_ground-truth_semantic.png",
)
def _(tree):
    """docs.segments.ai, Python SDK: export_dataset of a release writes below segments/<owner>_<dataset>/<release>."""
    below, samples = "segments/kim_strips/v0.1", []
    for number in range(7):
        values, name = classes(number), f"strip_{number:02}"
        tree.image(f"{below}/{name}.jpg", mask=values)
        objects = values * 2 - (np.arange(WIDTH) < WIDTH // 2) * (values > 0)
        tree.drawing(f"{below}/{name}_label_ground-truth.png", objects.astype(np.uint8))
        tree.drawing(f"{below}/{name}_label_ground-truth_semantic.png", values)
        marks = [{"id": ident, "category_id": (ident + 1) // 2} for ident in np.unique(objects).tolist() if ident]
        label = {"label_status": "LABELED", "attributes": {"annotations": marks, "format_version": "0.1"}}
        samples.append({"name": f"{name}.jpg", "attributes": {}, "labels": {"ground-truth": label}})
    kinds = [{"id": 1, "name": "strip"}, {"id": 2, "name": "hole"}]
    task = {"name": "strips", "task_type": "segmentation-bitmap", "task_attributes": {"categories": kinds}}
    tree.text("strips-v0.1.json", json.dumps({"name": "v0.1", "dataset": task | {"samples": samples}}))


@folder("FiftyOne's ImageSegmentationDirectory: data/000001.jpg and labels/000001.png")
def _(tree):
    """docs.voxel51.com, exporting: fiftyone.types.ImageSegmentationDirectory."""
    for number in range(1, 8):
        values = classes(number)
        tree.image(f"data/00000{number}.jpg", mask=values)
        tree.drawing(f"labels/00000{number}.png", values)


@folder("painted by hand: images, labels of class numbers, overlay of both for looking at, classes.txt")
def _(tree):
    """A student's ground truth of leaves; the overlays are for the thesis."""
    for number in range(1, 8):
        values = classes(number)
        tree.image(f"images/leaf_{number}.jpg", mask=values)
        tree.drawing(f"labels/leaf_{number}.png", values)
        tree.unlearnt(f"overlay/leaf_{number}.jpg")
    tree.text("classes.txt", "background\nleaf\nspot\n")


# --- class folders of a program and of people's own disks
@folder("MegaDetector's folders: animals, empty, people, vehicles and animal_person, each with the stations inside")
def _(tree):
    """github.com/agentmorris/MegaDetector, separate_detections_into_folders.py."""
    for name, count in (("animals", 4), ("empty", 4), ("people", 2), ("vehicles", 2), ("animal_person", 1)):
        for station in ("Station 1", "Station 2"):
            tree.images(f"{name}/{station}/100RECNX/RCNX0{len(name)}{{}}1.JPG", count, name)


@folder("cats and dogs of a course: two folders in a wrapper, notes.txt, .DS_Store and desktop.ini")
def _(tree):
    """Homework that went from a Mac to Windows."""
    for name in ("cats", "dogs"):
        tree.images(f"Homework 3/{name}/{name[:-1]} {{}}.jpg", 6, name)
        tree.text(f"Homework 3/{name}/desktop.ini", "[ViewState]\nMode=\nVid=\n")
    tree.files["Homework 3/.DS_Store"] = b"\x00\x00\x00\x01Bud1" + bytes(24)
    tree.text("Homework 3/notes.txt", "cat 3 is blurred\n")


@folder("train, val and test of three classes, one without an image in test, Thumbs.db")
def _(tree):
    """A script dealt the images to the parts; the smallest class got none in test."""
    counts = {("train", "train"): 4, ("val", "validation"): 2, ("test", "test"): 2}
    parts(tree, "bolts/{part}/{name}/{name}_{part}_{}.png", ("m3", "m4"), counts)
    parts(tree, "bolts/{part}/{name}/{name}_{part}_{}.png", ("m5",), {("train", "train"): 3, ("val", "validation"): 1})
    tree.files["bolts/train/m3/Thumbs.db"] = b"\xd0\xcf\x11\xe0" + bytes(24)


@folder("parts of a line: scratch-0007.png, dent-0003.png and ok-0012.png in one folder, README.txt", "advised")
def _(tree):
    """The inspector's program puts what it found in front of the number."""
    for name in ("scratch", "dent", "ok"):
        tree.images(f"{name}-00{{}}7.png", 5, name)
    tree.text("README.txt", "File names: finding, hyphen, number of the part.\n")


@folder("folders of a day and a verdict: 2024-03-05 good, 2024-03-05 bad, 2024-03-06 good")
def _(tree):
    """Each evening somebody sorts the day's pictures."""
    for day in ("2024-03-05", "2024-03-06", "2024-03-07"):
        for name in ("good", "bad"):
            if (day, name) != ("2024-03-06", "bad"):
                tree.images(f"{day} {name}/Image__{day}__10-11-{{}}0.bmp", 3, name)


@folder("a project: dataset of classes, notebooks, models, requirements.txt and figures in reports")
def _(tree):
    """After a lecture; the figures are plots."""
    for name in ("apple", "banana", "orange"):
        tree.images(f"dataset/{name}/{name}_{{}}.jpg", 5, name)
    tree.text("notebooks/01-explore.ipynb", json.dumps({"cells": [], "nbformat": 4, "nbformat_minor": 5}))
    tree.text("notebooks/02-train.ipynb", json.dumps({"cells": [], "nbformat": 4, "nbformat_minor": 5}))
    tree.files["models/best.keras"] = b"PK\x03\x04" + bytes(24)
    for name in ("confusion_matrix.png", "loss.png"):
        tree.unlearnt(f"reports/figures/{name}")
    tree.text("requirements.txt", "tensorflow==2.16.1\nmatplotlib\n")
    tree.text("README.md", "# Fruit\n\nImages are in dataset/.\n")


@folder("French: entraînement, validation and test of sain and malade")
def _(tree):
    """Leaves of vines of a French school."""
    counts = {("entraînement", "train"): 5, ("validation", "validation"): 2, ("test", "test"): 2}
    parts(tree, "vigne/{part}/{name}/feuille {}.jpg", ("sain", "malade"), counts)


@folder("Turkish: eğitim, doğrulama and test")
def _(tree):
    """Training, validation, test."""
    counts = {("eğitim", "train"): 5, ("doğrulama", "validation"): 2, ("test", "test"): 2}
    parts(tree, "veri/{part}/{name}/resim{}.jpg", ("elma", "armut"), counts)


@folder("a phone's photographs sorted by room: IMG_20240506_101112.jpg, PXL_….jpg, a video and .thumbnails")
def _(tree):
    """An estate agent's; Android keeps small pictures and .nomedia."""
    for name in ("kitchen", "bathroom", "living room"):
        tree.images(f"Pictures/{name}/IMG_20240506_10111{{}}.jpg", 3, name)
        tree.images(f"Pictures/{name}/PXL_20240507_08091{{}}123.jpg", 2, name)
    tree.files["Pictures/kitchen/VID_20240506_101530.mp4"] = b"\x00\x00\x00\x18ftypmp42" + bytes(24)
    tree.unlearnt("Pictures/.thumbnails/1234.jpg")
    tree.text("Pictures/.thumbnails/.nomedia", "")


@folder("cats_train, cats_test, dogs_train and dogs_test")
def _(tree):
    """A class for each student, and a part of it kept back."""
    for name in ("cats", "dogs"):
        for part, count in (("train", 5), ("test", 2)):
            tree.images(f"{name}_{part}/{name}{part}{{}}.jpg", count, name, part)


@folder("grades of decay: folders 0 to 4, a readme.txt that says what they mean")
def _(tree):
    """A botanist's; all folders hold photographs of one camera."""
    for grade in range(5):
        tree.images(f"wood decay/{grade}/DSC_01{grade}{{}}.JPG", 4, str(grade))
    tree.text("wood decay/readme.txt", "0 = sound\n1 = slight\n2 = moderate\n3 = severe\n4 = failure\n")


@folder("good, and bad of which half is sorted into scratch and dent", "advised")
def _(tree):
    """Somebody began to sort the bad ones; good and bad are what is to be told apart."""
    tree.images("good/part{}.png", 6, "good")
    tree.images("bad/part9{}.png", 4, "bad")
    for kind in ("scratch", "dent"):
        tree.images(f"bad/{kind}/part8{{}}{kind[0]}.png", 3, "bad")


@folder("01_ripe, 02_unripe and 03_rotten in Tomatoes 2024, a Word document and a text of the camera")
def _(tree):
    """Numbers keep the folders in order."""
    for name in ("01_ripe", "02_unripe", "03_rotten"):
        tree.images(f"Tomatoes 2024/{name}/DSCN00{{}}{name[1]}.JPG", 5, name)
    tree.files["Tomatoes 2024/Protocol.docx"] = b"PK\x03\x04" + bytes(24)
    tree.text("Tomatoes 2024/camera.txt", "Nikon Coolpix, ISO 200, no flash\n")
