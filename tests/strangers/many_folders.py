"""More folders than are looked at first: lists of splits and tables name images that are far down."""

import numpy as np

from .tree import folder

NUM = 260  # classes: 100 folders are looked at first
SPLITS = {"train": "train", "val": "validation", "test": "test"}


def shuffled(values):
    """The values in another order, which begins anywhere."""
    order = np.random.default_rng(5).permutation(len(values))
    return [values[number] for number in order]


def part_of(number):
    return ("train", "train", "train", "test")[number % 4]


def classes(tree, above="", name="{number:04}.jpg"):
    """Class folders of one image for each part; returns the paths in another order, with the part of each."""
    parts = {}
    for number in range(NUM):
        label = f"n{number:08}"
        for part in dict.fromkeys((part_of(number), "train")):
            start = "" if part == part_of(number) else "b"
            path = tree.image(f"{above}{label}/{start}{name.format(number=number)}", label, SPLITS[part])
            parts[path] = part
    return {path: parts[path] for path in shuffled([*parts])}


@folder("a test list of bare names over hundreds of class folders, shuffled")
def _(tree):
    parts = classes(tree)
    names = [path.rpartition("/")[2] for path in parts if parts[path] == "test"]
    tree.text("test_list.txt", "\n".join(names))


@folder("train and test lists of names without endings over hundreds of class folders in a wrapper")
def _(tree):
    parts = classes(tree, "dataset/images/")
    for own in ("train", "test"):
        stems = [path.rpartition("/")[2][:-4] for path in parts if parts[path] == own]
        tree.text(f"dataset/{own}.txt", "\n".join(stems))


@folder("a table of file and split over hundreds of class folders")
def _(tree):
    parts = classes(tree, "images/")
    rows = [f"{path.rpartition('/')[2]},{parts[path]}" for path in parts]
    tree.text("train.csv", "\n".join(["file,split", *rows]))


@folder("a table of id and label beside hundreds of folders that say nothing")
def _(tree):
    rows = []
    for number in range(NUM):
        label = ("cat", "dog", "owl")[number % 3]
        path = tree.image(f"images/{number:05}/{number:06}.jpg", label)
        rows.append(f"{path.rpartition('/')[2][:-4]},{label}")
    rows = shuffled(rows)
    tree.text("labels.csv", "\n".join(["image_id,label", *rows]))


@folder("20 class folders, and lists of splits two levels down")
def _(tree):
    lists = {"train": "", "test": ""}
    for label in range(20):
        for at in range(4):
            path = tree.image(f"{chr(97 + label)}_kind/img_{4 * label + at}.jpg", f"{chr(97 + label)}_kind")
            tree.truth[path] = type(tree.truth[path])(f"{chr(97 + label)}_kind", SPLITS[part_of(at)])
            lists[part_of(at)] += path + "\n"
    for own, text in lists.items():
        tree.text(f"zz_extra/v1/{own}.txt", text)


@folder("lists of class/name over hundreds of class folders whose images have the same names")
def _(tree):
    parts = classes(tree, "images/", "1.jpg")
    for own in ("train", "test"):
        paths = [path.partition("/")[2] for path in parts if parts[path] == own]
        tree.text(f"{own}.txt", "\n".join(paths))


@folder("a test list of bare names that two of the last folders share", "refused")
def _(tree):
    for label in range(NUM):
        tree.image(f"n{label:04}/{min(label, NUM - 2):04}.jpg", f"n{label:04}")
    tree.text("test.txt", f"{NUM - 2:04}.jpg\n0012.jpg\n0017.jpg\n")


@folder("a test list of which only a tenth was downloaded")
def _(tree):
    names = [f"img_{number:04}.jpg" for number in range(400)]
    names = shuffled(names)
    tree.text("test_list.txt", "\n".join(names[:300]))
    for number, name in enumerate(names):
        if number % 10 == 3:
            label = ("cat", "dog")[number // 10 % 2]
            tree.image(f"{label}/{name}", label, "test" if number < 300 else "train")


@folder("more than 20 lists, of each class and of all")
def _(tree):
    lists = {"train": "", "test": ""}
    for label in range(12):
        of_class = {"train": "", "test": ""}
        for at in range(4):
            path = tree.image(f"images/kind{label:02}/{label:02}_{at}.jpg", f"kind{label:02}", SPLITS[part_of(at)])
            of_class[part_of(at)] += path.rpartition("/")[2] + "\n"
        for own, text in of_class.items():
            tree.text(f"splits/kind{label:02}_{own}.txt", text)
            lists[own] += text
    for own, text in lists.items():
        tree.text(f"splits/{own}.txt", text)


@folder("labels of boxes in a text for each image, whose images are in hundreds of folders", "refused")
def _(tree):
    for number in range(NUM):
        boxes = [(number % 5, 2, 9 + number % 5, 11, "car")]
        tree.image(f"frames/scene{(7 * number) % NUM:04}/{number:06}.jpg", boxes=boxes)
        a, b, c, d, _ = boxes[0]
        tree.text(f"labels/{number:06}.txt", f"car {a} {b} {c} {d} 0.5\n")
