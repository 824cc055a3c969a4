"""What a question offers besides what was recognised: each is a printed command, which gives what its comment says."""

import json
import shlex

import pytest
from PIL import Image

from shardkit import read_manifest
from shardkit.testing import encoded, picture, write_tree

from ...cli.calling import call


def pictures(*paths):
    return {path: picture(number, width=8, height=8) for number, path in enumerate(paths)}


def in_folders(*folders, count=4):
    return pictures(*(f"{folder}/{number}.png" for folder in folders for number in range(count)))


HEAP = pictures(*(f"img/{number:04}.png" for number in range(8)))
FIELDS = [f"{20240101 + n}_C{n % 2}_{'FN'[n // 2 % 2]}_{('good', 'bad')[n // 4 % 2]}_{n:03}.png" for n in range(16)]


def of_via(number, kind, quality):
    """An image of VIA with a box."""
    box = {"name": "rect", "x": 1, "y": 1, "width": 4, "height": 4}
    region = {"shape_attributes": box, "region_attributes": {"type": kind, "quality": quality}}
    return {"filename": f"{number}.png", "size": 1, "regions": [region], "file_attributes": {}}


CLASSES = in_folders("cat", "dog")
OLD_LISTS = {"train": (0, 1, 7, 8, 9), "test": (2, 10, 11)}
BOXES = "image,xmin,ymin,xmax,ymax,class\n"


def of_coco(count):
    images = [{"id": n, "file_name": f"img/{n}.png", "width": 8, "height": 8} for n in range(count)]
    boxes = [{"id": n, "image_id": n, "category_id": 1, "bbox": [1, 1, 4, 4]} for n in range(count)]
    return {"images": images, "annotations": boxes, "categories": [{"id": 1, "name": "cat"}]}


# name: files, the meaning of a command, the classes of its dataset, and the number of its examples
OFFERED = {
    "one class in two writings": (
        in_folders("big cat", "dog") | in_folders("Big_Cat", count=2),
        "Big_Cat read as big cat",
        ["big cat", "dog"],
        10,
    ),
    "classes of a table in two writings": (
        HEAP
        | {
            "t.csv": "image,label\n"
            + "".join(f"img/{n:04}.png,{label}\n" for n, label in enumerate(["cat", "Cat ", "dog", "cat"] * 2))
        },
        "Cat read as cat",
        ["cat", "dog"],
        8,
    ),
    "folders for training, a table for the test": (
        in_folders("train/cat", "train/dog")
        | pictures(*(f"test/t{n}.png" for n in range(4)))
        | {"test.csv": "file,class\n" + "".join(f"t{n}.png,{('cat', 'dog')[n % 2]}\n" for n in range(4))},
        "for all other images it is their folder",
        ["cat", "dog"],
        12,
    ),
    "names of files in the folders of persons": (
        pictures(*(f"person{n}/{mood}.png" for n in range(4) for mood in ("glad", "sad"))),
        "glad.png has the class 'glad'",
        ["glad", "sad"],
        8,
    ),
    "lists of splits beside classes in names": (
        pictures(*(f"all/{name}_{n}.png" for name in ("cat", "dog") for n in range(4)))
        | {"train.txt": "".join(f"cat_{n}.png\ndog_{n}.png\n" for n in range(3)), "test.txt": "cat_3.png\ndog_3.png\n"},
        "splits from test.txt, train.txt",
        ["cat", "dog"],
        8,
    ),
    "a contact sheet in each class": (
        in_folders("cat", "dog", count=8) | pictures("cat/contact_sheet.png", "dog/contact_sheet.png"),
        "without contact_sheet.png",
        ["cat", "dog"],
        16,
    ),
    "copies beside the originals": (
        in_folders("cat", "dog", count=8) | pictures("cat/1 - Copy.png", "dog/2 - Copy.png"),
        "without * - Copy.*",
        ["cat", "dog"],
        16,
    ),
    "an archive that cannot be read": (
        in_folders("cat", "dog") | {"pets.zip": b"<html>404</html>"},
        "without pets.zip",
        ["cat", "dog"],
        8,
    ),
    "degrees in whole numbers": (
        HEAP | {"t.csv": "image,score\n" + "".join(f"img/{n:04}.png,{1 + n % 3}\n" for n in range(8))},
        "a number for regression",
        [],
        8,
    ),
    "images for the test below the folder around all": (
        pictures(*(f"pets/train/{name}.{n}.png" for name in ("cat", "dog") for n in range(4)))
        | pictures(*(f"pets/test1/{n}.png" for n in range(3))),
        "cat.0.png has the class 'cat', without pets/test1/",
        ["cat", "dog"],
        8,
    ),
    "boxes with two fields": (
        pictures(*(f"img/{n}.png" for n in range(6)))
        | {
            "via.json": json.dumps(
                {f"{n}.png1": of_via(n, "bud" if n % 2 else "leaf", "good" if n > 2 else "poor") for n in range(6)}
            )
        },
        "the class is 'quality'",
        ["good", "poor"],
        6,
    ),
    "a folder of new images of a class": (
        in_folders("good", "bad") | in_folders("good_new", count=2),
        "good_new read as good",
        ["bad", "good"],
        10,
    ),
    "a folder of new images beside the splits": (
        in_folders(*(f"{split}/{name}" for split in ("train", "valid", "new_2024") for name in ("cat", "dog"))),
        "new_2024/ is for training",
        ["cat", "dog"],
        24,
    ),
    "boxes without a header": (
        HEAP | {"boxes.csv": "".join(f"img/{n:04}.png,1,1,5,5,{('cat', 'dog')[n % 2]}\n" for n in range(8))},
        "the numbers are a corner, width and height",
        ["cat", "dog"],
        8,
    ),
    "boxes without a header that are no two corners": (
        HEAP | {"boxes.csv": "".join(f"img/{n:04}.png,4,4,3,2,{('cat', 'dog')[n % 2]}\n" for n in range(8))},
        "as it was recognised",
        ["cat", "dog"],
        8,
    ),
    "classes at two depths": (
        in_folders("healthy", "sick/mite", "sick/rust"),
        "the class is the last folder",
        ["healthy", "mite", "rust"],
        12,
    ),
    "lists of the images of each class": (
        HEAP
        | {"good.txt": "".join(f"{n:04}.png\n" for n in range(5))}
        | {"bad.txt": "".join(f"{n:04}.png\n" for n in range(5, 8))},
        "the classes are the names of bad.txt, good.txt",
        ["bad", "good"],
        8,
    ),
    "images above folders of classes": (
        in_folders("x/photos/cat", "x/photos/dog", count=8) | pictures("x/contact.png"),
        "without x/contact.png",
        ["cat", "dog"],
        16,
    ),
    "a second folder of a split": (
        in_folders(*(f"{split}/{name}" for split in ("train", "test", "test2") for name in ("cat", "dog"))),
        "without test2/",
        ["cat", "dog"],
        16,
    ),
    "a second folder of a split as one that is missing": (
        in_folders(*(f"{split}/{name}" for split in ("train", "test", "test2") for name in ("cat", "dog"))),
        "test2/ is validation",
        ["cat", "dog"],
        24,
    ),
    "a number that means none": (
        pictures(*(f"img/{n}.png" for n in range(24)))
        | {"t.csv": "image,level\n" + "".join(f"img/{n}.png,{n + 0.5 if n % 6 else -999}\n" for n in range(24))},
        "-999 is no value",
        [],
        20,
    ),
    "ages as folders": (
        pictures(*(f"{age}/{age}_{n}.png" for age in (18, 19, 23, 31, 44, 52) for n in range(2))),
        "a number for regression",
        [],
        12,
    ),
    "numbers beside classes": (
        pictures(*(f"img/{n}.png" for n in range(24)))
        | {
            "t.csv": "image,ripe,grams\n"
            + "".join(f"img/{n}.png,{'no' if n % 2 else 'yes'},{3 * n}\n" for n in range(24))
        },
        "a number for regression",
        [],
        24,
    ),
    "fields of names": (pictures(*FIELDS), "has the class 'good'", ["bad", "good"], 16),
    "a table of numbers with zeros": (
        HEAP
        | {"t.csv": "nr,stuff,more\n" + "".join(f"{n:04},{'cat' if n % 2 else 'dog'},{n % 4}\n" for n in range(8))},
        "the label is column 'stuff' of t.csv",
        ["cat", "dog"],
        8,
    ),
    "a folder with a copy of all": (
        CLASSES | {f"all/{path.replace('/', '_')}": data for path, data in CLASSES.items()},
        "without all/",
        ["cat", "dog"],
        8,
    ),
    "two views of each thing": (
        pictures(*(f"{name}/{n}_{view}.png" for name in ("cat", "dog") for n in range(6) for view in ("nir", "rgb"))),
        "only files that end with _rgb",
        ["cat", "dog"],
        12,
    ),
    "a picture of the same name in most folders": (
        pictures(*(f"{name}/{name}{n}.png" for name in ("cat", "dog", "owl", "yak") for n in range(6)))
        | {f"{name}/map.png": picture(99, width=4, height=4) for name in ("cat", "dog", "owl", "yak")},
        "without map.png",
        ["cat", "dog", "owl", "yak"],
        24,
    ),
    "splits in a language that nobody taught it": (
        pictures(
            *(f"lernen/{name}/{n}.png" for name in ("cat", "dog") for n in range(8)),
            *(f"schauen/{name}/{n}.png" for name in ("cat", "dog") for n in range(2)),
        ),
        "lernen/ is train, schauen/ is test",
        ["cat", "dog"],
        20,
    ),
    "splits in the first word of names": (
        pictures(
            *(f"{name}/{split}_{n}.png" for name in ("cat", "dog") for split in ("train", "test") for n in "1234")
        ),
        "the split is in the file name: test, train",
        ["cat", "dog"],
        16,
    ),
    "a table whose names are in two folders": (
        in_folders("left", "right", count=8)
        | {"t.csv": "image,label\n" + "".join(f"{n}.png,{('cat', 'dog')[n % 2]}\n" for n in range(8))},
        "only left/",
        ["cat", "dog"],
        8,
    ),
    "results beside the classes": (
        in_folders("cat", "dog", count=8) | in_folders("predictions", count=3),
        "without predictions/",
        ["cat", "dog"],
        16,
    ),
    "lists of splits most of whose images are gone": (
        in_folders("cat", "dog")
        | {f"{one}.txt": "".join(f"cat/{n}.png\n" for n in at) for one, at in OLD_LISTS.items()},
        "read as <label>/…/image",
        ["cat", "dog"],
        8,
    ),
    "boxes of two programs": (
        pictures(*(f"img/{n}.png" for n in range(8)))
        | {"instances.json": json.dumps(of_coco(8))}
        | {"old.csv": BOXES + "".join(f"img/{n}.png,1,1,5,5,dog\n" for n in range(8))},
        "read as box table",
        ["dog"],
        8,
    ),
    "copies by the first word of their names": (
        pictures(
            *(f"{name}/Blatt {n}.png" for name in ("cat", "dog") for n in range(6)),
            *(f"{name}/Kopie von Blatt {n}.png" for name in ("cat", "dog") for n in range(2)),
        ),
        "without Kopie*",
        ["cat", "dog"],
        12,
    ),
    "folders and names in two columns of a table": (
        in_folders("T01", "T02")
        | {"t.csv": "folder,file,stuff\n" + "".join(f"T0{n % 2 + 1},{n // 2}.png,{'ab'[n // 4]}\n" for n in range(8))},
        "the label is column 'stuff'",
        ["a", "b"],
        8,
    ),
    "a column with words for splits": (
        pictures(*(f"img/S{n:02}.png" for n in range(24)))
        | {
            "t.csv": "resim,tür,küme\n"
            + "".join(f"S{n:02}.png,{'ab'[n % 2]},{'eğitim' if n < 16 else 'test'}\n" for n in range(24))
        },
        "the label is column 'tür'",
        ["a", "b"],
        24,
    ),
    "a text that names the numbers of folders": (
        in_folders("1", "2", "3", count=4) | {"pylek.txt": "1 Betula\n2 Alnus\n3 Corylus\n"},
        "pylek.txt names the numbers",
        ["Betula", "Alnus", "Corylus"],
        12,
    ),
    "masks of a part of the images": (
        pictures(*(f"images/{n}.png" for n in range(12)))
        | {f"masks/{n}.png": encoded(Image.new("L", (8, 8), n % 2 + 1)) for n in range(5)},
        "without the images that have no annotation",
        [],
        5,
    ),
    "one of two folders with copies": (
        {f"{of}/{path}": data for of in ("checked", "model") for path, data in in_folders("cat", "dog").items()},
        "only model/",
        ["cat", "dog"],
        8,
    ),
    "images without objects beside those of COCO": (
        pictures(*(f"{folder}/{n}.png" for folder in ("img", "empty") for n in range(8)))
        | {"instances.json": json.dumps(of_coco(8))},
        "images without annotation have no objects, nor have those in other folders",
        ["cat"],
        16,
    ),
}


@pytest.mark.parametrize("name", OFFERED)
def test_a_command_gives_what_its_comment_says(name, tmp_path):
    files, meaning, classes, num_examples = OFFERED[name]
    asked = call("convert", write_tree(tmp_path / "source", files), tmp_path / "out")
    assert asked.exit_code == (1 if "cannot be read" in name else 2)
    commands = [line for line in asked.stderr.splitlines() if line.startswith("  shardkit ") and meaning in line]
    assert commands, asked.stderr
    result = call(*shlex.split(commands[0], comments=True)[1:], "--check", "header", "--quiet")
    assert result.exit_code == 0, result.stderr
    manifest = read_manifest(tmp_path / "out")
    assert (manifest.classes, sum(one.num_examples for one in manifest.splits.values())) == (classes, num_examples)


OF_DAYS = in_folders("2024-05-01", "2024-05-02", count=6)
BY_COLUMNS = "file,flower,quality\n" + "".join(
    f"{path},{('rose', 'tulip')[n % 2]},{('good', 'bad')[n % 3 % 2]}\n" for n, path in enumerate(OF_DAYS)
)


@pytest.mark.parametrize("files", [pictures(*FIELDS[:12]), OF_DAYS | {"t.csv": BY_COLUMNS}], ids=["names", "days"])
def test_images_without_labels_are_offered_last(files, tmp_path):
    asked = call("convert", write_tree(tmp_path / "source", files), tmp_path / "out")
    commands = [line for line in asked.stderr.splitlines() if line.startswith("  shardkit ")]
    are_without = ["--unlabelled" in line or "images without labels" in line for line in commands]
    assert are_without == [False] * (len(commands) - 1) + [True]
    assert len(commands) > 2
