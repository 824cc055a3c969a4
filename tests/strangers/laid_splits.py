"""Lists and tables of splits next to annotations that say nothing about splits."""

import json

from .boxes import coco, some, voc, yolo
from .masks import classes
from .tree import HEIGHT, WIDTH, folder

SPLITS = {"train": "train", "val": "validation", "test": "test"}
OWN = ("train", "train", "val", "test")


def parts(count=8):
    """The parts of images, by their numbers."""
    return enumerate(OWN[number % 4] for number in range(count))


def write_lists(tree, names, pattern="{}.txt"):
    """Write a list of names for each part."""
    for own in SPLITS:
        tree.text(pattern.format(own), "".join(f"{name}\n" for name, part in names.items() if part == own))


@folder("masks: lists of stems next to images and masks")
def _(tree):
    for number, own in parts():
        tree.image(f"images/{number:04}.jpg", split=SPLITS[own], mask=classes(number))
        tree.drawing(f"masks/{number:04}.png", classes(number))
    write_lists(tree, {f"{number:04}": own for number, own in parts()}, "splits/{}.txt")


@folder("masks: a table of image and split, in a wrapper")
def _(tree):
    rows = "image,split\n"
    for number, own in parts():
        tree.image(f"data/images/{number:04}.png", split=SPLITS[own], mask=classes(number))
        tree.drawing(f"data/masks/{number:04}.png", classes(number))
        rows += f"{number:04}.png,{own}\n"
    tree.text("data/split.csv", rows)


@folder("masks: only a list for testing")
def _(tree):
    for number, own in parts():
        tree.image(f"images/{number:04}.jpg", split="test" if own == "test" else "train", mask=classes(number))
        tree.drawing(f"masks/{number:04}.png", classes(number))
    tree.text("test.txt", "".join(f"{number:04}.jpg\n" for number, own in parts() if own == "test"))


@folder("Pascal VOC: XML files next to the images, lists of stems in another folder")
def _(tree):
    for number, own in parts():
        tree.image(f"data/{number:04}.jpg", split=SPLITS[own], boxes=some(number))
        tree.text(f"data/{number:04}.xml", voc(f"{number:04}.jpg", some(number)))
    write_lists(tree, {f"{number:04}": own for number, own in parts()}, "lists/{}.txt")


@folder("COCO: one JSON, and a table of file_name and set")
def _(tree):
    images, rows = [], "file_name,set\n"
    for number, own in parts():
        tree.image(f"images/{number:04}.jpg", split=SPLITS[own], boxes=some(number))
        images.append((f"{number:04}.jpg", some(number)))
        rows += f"{number:04}.jpg,{own}\n"
    tree.text("annotations/annotations.json", coco(images))
    tree.text("split.csv", rows)


@folder("YOLO: images and labels, lists of paths on another machine")
def _(tree):
    for number, own in parts():
        tree.image(f"images/{number:04}.jpg", split=SPLITS[own], boxes=some(number))
        tree.text(f"labels/{number:04}.txt", yolo(some(number)))
    tree.text("classes.txt", "cat\ndog\n")
    write_lists(tree, {rf"D:\work\images\{number:04}.jpg": own for number, own in parts()})


@folder("KITTI: ImageSets of numbers")
def _(tree):
    for number, own in parts():
        tree.image(f"training/image_2/{number:06}.png", split=SPLITS[own], boxes=some(number))
        lines = [f"{label} 0.00 0 -1.57 {a} {b} {c} {d} 1 1 1 0 0 0 0" for a, b, c, d, label in some(number)]
        tree.text(f"training/label_2/{number:06}.txt", "\n".join(lines) + "\n")
    write_lists(tree, {f"{number:06}": own for number, own in parts()}, "ImageSets/{}.txt")


@folder("labelme: a JSON for each image, lists of names")
def _(tree):
    for number, own in parts():
        name = f"IMG_{number:04}.jpg"
        tree.image(f"photos/{name}", split=SPLITS[own], boxes=some(number))
        shapes = [
            {"label": label, "points": [[a, b], [c, d]], "shape_type": "rectangle", "flags": {}}
            for a, b, c, d, label in some(number)
        ]
        made = {"version": "5.0.1", "flags": {}, "shapes": shapes, "imagePath": name, "imageData": None}
        tree.text(f"photos/IMG_{number:04}.json", json.dumps(made | {"imageHeight": HEIGHT, "imageWidth": WIDTH}))
    write_lists(tree, {f"IMG_{number:04}.JPG": own for number, own in parts()}, "photos_{}.txt")


@folder("a table of boxes, and lists of names")
def _(tree):
    rows = "filename,xmin,ymin,xmax,ymax,class\n"
    for number, own in parts():
        tree.image(f"images/{number:04}.jpg", split=SPLITS[own], boxes=some(number))
        rows += "".join(f"{number:04}.jpg,{a},{b},{c},{d},{label}\n" for a, b, c, d, label in some(number))
    tree.text("boxes.csv", rows)
    write_lists(tree, {f"{number:04}.jpg": own for number, own in parts()})


@folder("a list of test images that are no others' of their name: class folders in capitals, names in small letters")
def _(tree):
    for number, own in parts():
        label = ("Cat", "Dog")[number % 2]
        tree.image(f"{label}/IMG_{number:04}.JPG".replace("JPG", "jpg"), label, "test" if own == "test" else "train")
    tree.text("test.txt", "".join(f"{('cat', 'dog')[n % 2]}/img_{n:04}.JPG\n" for n, o in parts() if o == "test"))


@folder("masks in a folder and its wrapper, the lists next to it")
def _(tree):
    for number, own in parts():
        tree.image(f"CamVid-master/CamVid/images/{number:04}.png", split=SPLITS[own], mask=classes(number))
        tree.drawing(f"CamVid-master/CamVid/masks/{number:04}.png", classes(number))
    write_lists(tree, {f"images/{number:04}.png": own for number, own in parts()})


@folder("Pascal VOC in two folders of years, lists of both next to them")
def _(tree):
    for number, own in parts():
        year = 2010 + number % 3 // 2
        tree.image(f"VOC{year}/JPEGImages/{year}_{number:04}.jpg", split=SPLITS[own], boxes=some(number))
        tree.text(f"VOC{year}/Annotations/{year}_{number:04}.xml", voc(f"{year}_{number:04}.jpg", some(number)))
    write_lists(tree, {f"{2010 + number % 3 // 2}_{number:04}": own for number, own in parts()}, "all_{}.txt")


@folder("two folders of COCO, and lists of names next to them")
def _(tree):
    names = {}
    for place, top in enumerate(("part_a", "part_b")):
        images = []
        for number, own in parts():
            name = f"{10 * place + number:04}.jpg"
            tree.image(f"{top}/images/{name}", split=SPLITS[own], boxes=some(number))
            images.append((name, some(number)))
            names[name] = own
        tree.text(f"{top}/annotations.json", coco(images))
    write_lists(tree, names)
