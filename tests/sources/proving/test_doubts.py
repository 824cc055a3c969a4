"""Each doubt: a folder that shardkit asks about, and the nearest folder that it reads without a question."""

import io
import json
import zipfile

import pytest
from PIL import Image

from shardkit.hashing import sha256_hex
from shardkit.refusals import UnclearError
from shardkit.sources import SourceOptions
from shardkit.sources.opening import open_source
from shardkit.sources.readings.given import given_reading
from shardkit.testing import encoded, listed, picture, write_tree

PROSE = "These pictures were made in our garden.\nThe cat is ours, and the dog is not.\n"
BOX = "image,xmin,ymin,xmax,ymax"


def images(*folders, count=4, name="{}.png"):
    """Images in each of some folders; None stands for a picture that no other file is."""
    return {f"{folder}/{name.format(number)}": None for folder in folders for number in range(count)}


PETS = images("cat", "dog")
SPLIT_PETS = images("train/cat", "train/dog", "test/cat", "test/dog")
FLAT = images("img", count=12)


def table(header, *rows):
    return "".join(f"{row}\n" for row in (header, *rows))


def labelled(header, *cells, count=12):
    """Twelve images in a folder and a table, the rows of which repeat the cells; the first `count` are named."""
    return FLAT | {"t.csv": table(f"image,{header}", *(f"img/{i}.png,{cells[i % len(cells)]}" for i in range(count)))}


def classes(*names):
    return labelled("label", *names)


def called_like_classes(step):
    """Images called cat_0.png, cat_1.png …, with a table of which every row, or every second one, says the same."""
    names = [("cat", "dog")[i // 6] for i in range(12)]
    rows = (f"img/{name}_{i}.png,{name if i % step == 0 else ('dog', 'cat')[i // 6]}" for i, name in enumerate(names))
    files = {f"img/{name}_{i}.png": None for i, name in enumerate(names)}
    return files | {"t.csv": table("image,species", *rows)}


def measured(third):
    """Images and a number of each, of which every third one is the same."""
    rows = (f"img/{i}.png,{third if i % 3 == 0 else i + 0.5}" for i in range(12))
    return FLAT | {"t.csv": table("image,level", *rows)}


def weighed(label):
    """A column of two classes, and one of another number for each image."""
    rows = [f"img/{i}.png,{'green' if i % 2 else 'ripe'},{200 + 7 * i}" for i in range(24)]
    return images("img", count=24) | {"t.csv": table(f"image,{label},grams", *rows)}


def of_pairs(distance):
    """A label of each image and of one that is so far behind it."""
    rows = (f"img/{i}.png,{'same' if i % 3 else 'not'},img/{(i + distance) % 12}.png" for i in range(12))
    return FLAT | {"t.csv": table("image,label,other", *rows)}


def of_two_folders(parts):
    """A table of images in two folders, in each of which both classes are."""
    rows = [f"img/{part}/{i}.png,{'cat' if i % 2 else 'dog'}" for part in parts for i in range(4)]
    return images(*(f"img/{part}" for part in parts)) | {"t.csv": table("image,label", *rows)}


def boxes(header, cells, first=BOX):
    return FLAT | {"b.csv": table(first + header, *(f"img/{i}.png,1,1,5,5{cells}" for i in range(12)))}


def sized(left):
    """A box of five pixels in each of twelve images of eight, whose left side is where a function of a number says."""
    rows = (f"img/{i}.png,{left(i)},1,5,5,cat" for i in range(12))
    return FLAT | {"b.csv": table("image,xmin,ymin,width,height,class", *rows)}


def voc(*folders):
    """Twelve images, and an XML file for each of them in each of some folders, as those of DIOR's two shapes."""
    xml = "<annotation><object><name>ship</name><bndbox>{}</bndbox></object></annotation>".format(
        "".join(f"<{side}>{1 + 4 * (side[1:] == 'max')}</{side}>" for side in ("xmin", "ymin", "xmax", "ymax"))
    )
    return FLAT | {f"Annotations/{folder}/{i}.xml": xml for folder in folders for i in range(12)}


def yolo(centre):
    """Twelve images with two boxes of half a side each, of which the second has its centre there."""
    lines = "0 0.5 0.5 0.5 0.5\n1 0.5 {} 0.5 0.5\n"
    files = {f"labels/{n}.txt": lines.format(0.5 if n % 2 else centre + 0.1) for n in range(12)}
    return {f"images/{n}.png": None for n in range(12)} | files | {"classes.txt": "cat\ndog\n"}


def of_animals(names):
    """An image and a file of Pascal VOC for each of some names of classes."""
    xml = "<annotation><object><name>{}</name><bndbox>{}</bndbox></object></annotation>"
    sides = "<xmin>1</xmin><ymin>1</ymin><xmax>5</xmax><ymax>5</ymax>"
    files = {f"Annotations/{n}.xml": xml.format(name, sides) for n, name in enumerate(names)}
    return {f"JPEGImages/{n}.png": None for n in range(len(names))} | files


def cvat(*species, tag=""):
    """Twelve images with a box each in two files of CVAT, of one label, with a species as an attribute; and a tag."""
    box = '<box label="animal" xtl="1" ytl="1" xbr="5" ybr="5"><attribute name="species">{}</attribute></box>'
    image = '<image id="{0}" name="{0}.png" width="8" height="8">{1}{2}</image>'
    found = [image.format(n, box.format(species[n % len(species)]), tag) for n in range(12)]
    parts = {"a.xml": found[:6], "b.xml": found[6:]}
    files = {name: f"<annotations><version>1.1</version>{''.join(part)}</annotations>" for name, part in parts.items()}
    return {f"images/{n}.png": None for n in range(12)} | files


def coco(names, category=1, num_boxes=None):
    entries = [{"id": i, "file_name": f"{name}.png", "width": 8, "height": 8} for i, name in enumerate(names)]
    objects = [
        {"id": i, "image_id": i, "bbox": [1, 1, 4, 4], "category_id": category, "area": 16, "iscrowd": 0}
        for i in range(len(entries) if num_boxes is None else num_boxes)
    ]
    return json.dumps({"images": entries, "annotations": objects, "categories": [{"id": category, "name": "cat"}]})


def coco_files(first, second):
    """Two files of boxes with the same categories, each of some of twelve images."""
    files = {"a": first, "b": second}
    return FLAT | {f"annotations/{key}.json": coco([f"img/{i}" for i in some]) for key, some in files.items()}


def zipped(files, first=0):
    """An archive of files; its pictures are those from the number `first` on."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path, content in contents(files, first).items():
            archive.writestr(path, content)
    return out.getvalue()


def contents(files, first=0):
    """The files, with a picture of its own for each None."""
    return {path: picture(i) if content is None else content for i, (path, content) in enumerate(files.items(), first)}


def in_words(first, second):
    """Images of two classes, called by words of which each class has both, or one."""
    return {f"{name}/{word}_{i}.png": None for name in ("cat", "dog") for word in (first, second) for i in range(4)}


YOLO = {path: text for path, text in yolo(0.5).items() if path != "classes.txt"}
YOLO["data.yaml"] = "train: images\nnames: [cat, dog]\n"
NUMBERED = {f"{'cat' if n < 4 else 'dog'}/{n}.png": picture(n) for n in range(8)}
CALLED = {path.replace("/", "/p"): data for path, data in NUMBERED.items()}
ANIMALS = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "owl", "pig", "rat", "yak")
MASKS = images("images") | {f"masks/{i}.png": encoded(Image.new("L", (8, 8), i % 3)) for i in range(4)}
XML = """<annotation><filename>{}.png</filename><size><width>8</width><height>8</height></size><object>
<name>cat</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>5</xmax><ymax>5</ymax></bndbox></object></annotation>"""
VOC = images("JPEGImages") | {f"Annotations/{i}.xml": XML.format(i) for i in range(4)}

# Why shardkit asks, all of it; a folder; and the folder that it reads.
NO_NUMBERS = "its lines have no numbers; classes='SOURCE/classes.txt' takes them for classes 0 to 2"
LIBERTIES = {
    "archives": (
        "some files lie in archives and others beside them",
        PETS | {"fox.zip": zipped(images("fox"), 8)},
        {f"{name}.zip": zipped(images(name), 4 * i) for i, name in enumerate(("cat", "fox"))},
    ),
    "archives of another name": (
        "some files lie in archives and others beside them",
        PETS | {"more.zip": zipped({f"fox/{n}.png": None for n in range(3)}, 8)},
        PETS | {"pets.zip": zipped(PETS)},
    ),
    "an archive in the only folder": (
        "some files lie in archives and others beside them",
        images("pets/cat", "pets/dog") | {"pets/more.zip": zipped({f"fox/{n}.png": None for n in range(3)}, 8)},
        images("pets/cat", "pets/dog") | {"pets.zip": zipped(images("cat", "dog"))},
    ),
    "labels in an archive": (
        "some files lie in archives and others beside them",
        FLAT | {"labels.zip": zipped({"labels/t.csv": classes("cat", "dog")["t.csv"]})},
        {"images.zip": zipped(FLAT), "t.csv": classes("cat", "dog")["t.csv"]},
    ),
    "splits": (
        "held is no usual split",
        labelled("label,split", "cat,train", "dog,train", "cat,held", "dog,held"),
        labelled("label,split", "cat,train", "dog,train", "cat,val", "dog,val"),
    ),
    "boxes": ("its boxes have no class", boxes("", ""), boxes(",class", ",cat")),
    "two tables of the same images": (
        "several files say something about the same images",
        boxes(",class", ",cat") | {"c.csv": table(f"{BOX},class", "img/0.png,2,2,6,6,dog")},
        boxes(",class", ",cat"),
    ),
    "two folders of the same images": (
        "several files say something about the same images",
        voc("Horizontal", "Oriented"),
        voc("Horizontal"),
    ),
    "header": (
        "its boxes have no header, so their numbers may be corners or sizes",
        boxes(",1,1,5,5,cat", ",cat", "img/0.png"),
        boxes(",class", ",cat"),
    ),
    "note": (
        "test is called like splits",
        PETS | images("test"),
        SPLIT_PETS | images("unlabeled"),
    ),
}
LEFT_OVER = {
    "images beside classes": ("0.png, 1.png would not be read", PETS | {"0.png": None, "1.png": None}, PETS),
    "images of images": (
        "sheet0.png, sheet1.png, sheet2.png and 1 more would not be read",
        PETS | {f"sheet{i}.png": None for i in range(4)},
        PETS | {f"sheet{i}.png": None for i in range(3)},
    ),
    "images that a table does not name": (
        "2 images in img/ that t.csv does not name",
        labelled("label", "cat", "dog", count=10),
        labelled("label", "cat", "dog"),
    ),
    "images of two files": (
        "several files say something about the same images",
        coco_files(range(8), range(4, 12)),
        coco_files(range(6), range(6, 12)),
    ),
    "images without boxes": (
        "4 of 12 images have no label",
        FLAT | {"annotations/a.json": coco([f"img/{i}" for i in range(8)])},
        FLAT | {"annotations/a.json": coco([f"img/{i}" for i in range(10)])},
    ),
    "a list of classes that lacks one": (
        "files are left over: ./*.txt (1)",
        images("cat", "dog", "fox") | {"classes.txt": "cat\ndog\n"},
        images("cat", "dog", "fox") | {"classes.txt": "cat\ndog\nfox\n"},
    ),
    "images without labels": (
        "3 of 12 images have no label",
        classes("cat", "dog", "cat", ""),
        classes("cat", "dog", "cat", "dog", "cat", ""),
    ),
    "a table of names": (
        "train.csv names 4 of 16 images by the path",
        SPLIT_PETS
        | {"train.csv": table("image", *(f"train/{name}/{i}.png" for name in ("cat", "dog") for i in (0, 1)))},
        SPLIT_PETS | {"names.csv": table("image,label", *(f"{path},{path.split('/')[1]}" for path in SPLIT_PETS))},
    ),
    "captions": (
        "list.csv names 8 of 8 images by the path",
        PETS | {"list.csv": table("image,caption", *(f"{path},the animal is in our garden {path}" for path in PETS))},
        PETS,
    ),
    "groups of classes": (
        "files are left over: ./*.csv (1)",
        images("cat", "dog", "owl") | {"g.csv": "class,group\ncat,mammals\ndog,mammals\nowl,birds\n"},
        images("cat", "dog", "owl") | {"g.csv": "class,name\ncat,felis\ndog,canis\nowl,strix\n"},
    ),
    "a text": (
        "files are left over: ./*.txt (1)",
        PETS | {"notes.txt": "cat 0\n"},
        PETS | {"notes.txt": "The cat is ours, and the dog is not.\n"},
    ),
    "a text about an image": (
        "files are left over: cat/*.txt (1)",
        PETS | {"cat/notes.txt": "0.png was made by our neighbour\n" + PROSE},
        PETS | {"cat/notes.txt": "This was made by our neighbour\n" + PROSE},
    ),
    "another class": (
        "files are left over: ./*.txt (1)",
        PETS | {"classes.txt": "cat\ndog\nfox\n"},
        PETS | {"classes.txt": "cat\ndog\n"},
    ),
    "a table without images": (
        "files are left over: ./*.csv (1)",
        PETS | {"a.csv": "a,b\n1,2\n"},
        PETS | {"a.py": "1"},
    ),
    "a file of a program": (
        "files are left over: cat/*.mat (1)",
        PETS | {"cat/a.mat": b"1234"},
        PETS | {"cat/a.bin": b"1234"},
    ),
    "a file of four bytes": (
        "files are left over: ./*.json (1)",
        PETS | {"a.json": "{a}\n"},
        PETS | {"a.json": "{}\n"},
    ),
    "names of classes of masks": (
        f"classes.txt names classes, and is not used: {NO_NUMBERS}",
        MASKS | {"classes.txt": "a\nb\nc\n"},
        MASKS | {"classes.txt": "0 a\n1 b\n2 c\n"},
    ),
    "folders of boxes": (
        "the folders p, q mean something, or nothing",
        images("img/p", "img/q") | {"a.json": coco([f"img/{part}/{i}" for part in "pq" for i in range(4)])},
        images("img/2021-01-01", "img/2021-01-02")
        | {"a.json": coco([f"img/2021-01-0{part}/{i}" for part in "12" for i in range(4)])},
    ),
}
TREES = {
    "labels by an expression": (
        "labels in the paths of files are a guess",
        images("train/cat", "train/dog", "test/images/cat", "test/images/dog"),
        images("train/images/cat", "train/images/dog", "test/images/cat", "test/images/dog"),
    ),
    "classes and splits in one name": (
        "test_cat, test_dog, train_cat and 1 more are called like splits",
        images("train_cat", "train_dog", "test_cat", "test_dog"),
        SPLIT_PETS,
    ),
    "crops among images": (
        "files whose names begin with crop may be made of other images",
        PETS | images("cat", "dog", name="crop_{}.png"),
        images("cat", "dog", name="crop_{}.png"),
    ),
    "versions of images": (
        "cat/0_rot90, cat/1_rot90 and 6 more may be another version of a file next to it",
        PETS | images("cat", "dog", name="{}_rot90.png"),
        PETS | images("cat", "dog", name="{}_90.png"),
    ),
    "numbered parts of numbered classes": (
        "folders such as day_1, day_2 are another level",
        images("pen_1/day_1", "pen_1/day_2", "pen_2/day_1", "pen_2/day_2"),
        images("cat/day_1", "cat/day_2", "dog/day_1", "dog/day_2"),
    ),
    "codes in names": (
        "the names of files have 3 more fields, each of which may be the class",
        {
            f"{one}/p_{i % 2}_{i // 2 % 2}_{i // 4 % 2}_{i + 8 * n}.png": None
            for n, one in enumerate(("cat", "dog"))
            for i in range(8)
        },
        {
            f"{one}/p_{i % 2}_{i // 2 % 2}_{i + 8 * n}.png": None
            for n, one in enumerate(("cat", "dog"))
            for i in range(8)
        },
    ),
    "depth": ("the images do not lie equally deep", PETS | images("dog/x"), PETS | images("dog")),
    "a level": (
        "folders such as x, y are another level",
        images("cat/x", "cat/y", "dog/x"),
        images("cat/x", "dog/y"),
    ),
    "a level in splits": (
        "folders such as a, b, c are another level",
        images("train/cat/a", "train/dog/a", "test/cat/b", "test/dog/c"),
        images("train/cat/a", "train/dog/a", "test/cat/b", "test/dog/b"),
    ),
    "days in one class": (
        "folders such as 2021-01-01, 2021-01-02 are another level",
        images("cat/2021-01-01", "cat/2021-01-02", "dog/2021-01-01"),
        images("cat/2021-01-01", "cat/2021-01-02", "dog/2021-01-01", "dog/2021-01-02"),
    ),
    "initials": (
        "folders of one letter may only sort those in them",
        images("a/ant", "b/bee"),
        images("ant", "bee"),
    ),
    "one image each": (
        "most classes have one image",
        images(*ANIMALS, count=1),
        images(*ANIMALS, count=2),
    ),
    "few images": ("most classes have one image", images(*ANIMALS, count=1), images(*ANIMALS[:-1], count=1)),
    "no training": (
        "no split is called train",
        images("val/cat", "val/dog", "test/cat", "test/dog"),
        SPLIT_PETS,
    ),
    "a contact sheet among the images": (
        "cat/_contact_sheet.png may be made of other images",
        PETS | {"cat/_contact_sheet.png": None},
        PETS | {"cat/_contact_sheet_cat.png": None},
    ),
    "names of other classes": (
        "files of pocket are called like other classes; files of pocket are called unlike those of the other classes",
        PETS | images("fox") | {f"pocket/{one}_{n}.png": None for one in ("cat", "dog") for n in range(2)},
        PETS | images("fox") | {f"fox/{one}_{n}.png": None for one in ("cat",) for n in range(2)},
    ),
    "files called unlike those of the other classes": (
        "files of zuschauen are called unlike those of the other classes",
        images("cat", "dog", name="IMG_{}.png") | images("zuschauen", name="P{}.png"),
        images("cat", "dog", name="IMG_{}.png") | images("zuschauen", name="img-7{}.png"),
    ),
    "files of another kind": (
        "files of zuschauen are called unlike those of the other classes",
        images("cat", "dog", name="{}.jpg") | images("zuschauen", name="{}.png"),
        images("cat", "dog", name="{}.jpg") | images("zuschauen", name="{}.jpeg"),
    ),
    "files called by their classes": (
        "files of red kite are called unlike those of the other classes",
        images("cat", name="cat_{}.png") | images("dog", name="dog_{}.png") | images("red kite", name="rk_{}.png"),
        images("cat", name="cat_{}.png") | images("dog", name="dog_{}.png") | images("red kite", name="redkite_{}.png"),
    ),
    "a selection of all classes": (
        "the files of zuschauen are copies of those of other classes",
        NUMBERED | {f"zuschauen/{n}.png": picture(n) for n in (0, 4)},
        NUMBERED | {f"zuschauen/{n}.png": picture(n) for n in (9, 10)},
    ),
    "pictures in two classes": (
        "cat/p0.png and zuschauen/p0.png are one picture",
        CALLED | {f"zuschauen/p{n}.png": picture(n) for n in (0, 4, 5, 9)},
        CALLED | {f"zuschauen/p{n}.png": picture(n) for n in (0, 4, 9, 10)},
    ),
    "pictures in two splits": (
        "test/dog/a.png and train/dog/a.png are one picture",
        SPLIT_PETS
        | {f"{split}/dog/{n}.png": picture(90 + i) for split in ("test", "train") for i, n in enumerate("abc")},
        SPLIT_PETS
        | {f"{split}/dog/{n}.png": picture(90 + i) for split in ("test", "train") for i, n in enumerate("ab")},
    ),
    "all classes once more": (
        "the files of all are copies of those of other classes; all is called like images without a class",
        NUMBERED | {f"all/{n}.png": picture(n) for n in range(8)},
        NUMBERED | {f"owl/{n}.png": picture(n + 8) for n in range(8)},
    ),
    "words in the middle of names": (
        "the names of files have left, right, which divides them otherwise",
        in_words("p_left", "p_right"),
        in_words("p_left", "p_left"),
    ),
    "views of one thing": (
        "the files of one name that end with _nir, _rgb may be of one thing",
        images("cat", "dog", name="{}_nir.png") | images("cat", "dog", name="{}_rgb.png"),
        images("cat", name="{}_nir.png") | images("dog", name="{}_rgb.png"),
    ),
    "two folders of one split": (
        "train, train_new would be one split",
        images("train/cat", "train/dog", "train_new/cat", "train_new/dog", "test/cat", "test/dog"),
        SPLIT_PETS,
    ),
    "more tests without classes": (
        "test_mixed/ may be more images for testing",
        SPLIT_PETS | images("test_mixed"),
        {path: None for path in SPLIT_PETS if path.startswith("train")} | images("test_mixed"),
    ),
    "a class of tests only": (
        "tulpe of test may be tulip of train",
        images("train/rose", "train/tulip", "test/rose", "test/tulpe"),
        images("train/rose", "train/tulip", "test/rose", "test/tulip", "test/tulpe"),
    ),
    "words of names": (
        "the names of files begin with north, south, which divides them otherwise",
        in_words("north", "south"),
        in_words("north", "north_"),
    ),
    "copies": (
        "cat/0 (1) is called like a copy of a file next to it",
        PETS | {"cat/0 (1).png": None},
        PETS | {"cat/9 (1).png": None},
    ),
}
NAMES = {
    "numbers": ("1, 20, 300 may be numbers, and no names", images("1", "20", "300"), images("1", "2", "3")),
    "quantities": (
        "0.0 bar, 4.5 bar may be quantities, and no names",
        images("0.0 bar", "4.5 bar"),
        images("1 bar", "2 bar"),
    ),
    "plurals": ("Tulpe, Tulpen may be one class", images("Rose", "Tulpe", "Tulpen"), images("Rose", "Tulpe", "Tulla")),
    "a word with vowels that are marks": (
        "बच्चों के चित्र is called like what is made of images",
        images("आम", "केला", "बच्चों के चित्र"),
        images("आम", "केला", "अमरूद"),
    ),
    "parts": ("cam1, cam2, cam3 are numbered parts of the data, not classes", classes("cam1", "cam2", "cam3"), PETS),
    "copies": (
        "cat (1) is called like copies of others",
        images("train/cat", "train/cat (1)", "train/dog", "test/cat", "test/dog"),
        images("train/cat", "train/cat 1", "train/dog", "test/cat", "test/dog"),
    ),
    "copies and another": (
        "cat (1), cat (2) are called like copies of others; dog is written unlike the others",
        images("cat (1)", "cat (2)", "dog"),
        classes("cat (1)", "cat (2)", "dog"),
    ),
    "unsaid": (
        "maybe is called like images without a class",
        images("cat", "dog", "maybe"),
        images("cat", "dog", "may"),
    ),
    "unsaid in two words": (
        "weiss nicht is called like images without a class",
        images("granit", "gneis", "weiss nicht"),
        images("granit", "gneis", "weisser kalk"),
    ),
    "unsaid in a table": (
        "maybe is called like images without a class",
        classes("cat", "dog", "maybe"),
        classes("cat", "dog", "may"),
    ),
    "two names": (
        "others, unknown are called like images without a class",
        images("cat", "dog", "others", "unknown"),
        images("cat", "dog", "otters", "unicorn"),
    ),
    "one clause a name": (
        "unknown is called like images without a class; data is called by a word that says nothing about images",
        images("cat", "dog", "unknown", "data"),
        PETS,
    ),
    "a mark": ("? is called like images without a class", classes("cat", "dog", "?"), classes("cat", "dog", "c")),
    "a folder of a mark": (
        "- is called like images without a class",
        images("cat", "dog", "-"),
        images("cat", "dog", "n"),
    ),
    "made": (
        "drawings is called like what is made of images",
        images("cat", "dog", "drawings"),
        images("cat", "dog", "drawers"),
    ),
    "nothing": (
        "data is called by a word that says nothing about images",
        images("cat", "dog", "data"),
        images("cat", "dog", "date"),
    ),
    "nothing but images": (
        "dog_images is called by a word that says nothing about images",
        images("cat", "dog_images"),
        images("cat", "dog_house"),
    ),
    "splits": (
        "train cats is called like splits",
        images("cat", "dog", "train cats"),
        images("cat", "dog", "rain cats"),
    ),
    "masks": (
        "cat labels is called like masks",
        images("cat", "dog", "cat labels"),
        images("cat", "dog", "cat libels"),
    ),
    "marks": ("_fox is written unlike the others", images("cat", "dog", "_fox"), images("_cat", "_dog", "_fox")),
    "numbered": (
        "fox is written unlike the others",
        images("01_cat", "02_dog", "fox"),
        images("01_cat", "02_dog", "03_fox"),
    ),
    "one class": ("dog, dogs may be one class", images("cat", "dog", "dogs"), images("cat", "dog", "dock")),
    "one class in a split": (
        "dog, dogs may be one class",
        images("train/cat", "train/dog", "train/dogs", "test/cat", "test/dog"),
        images("train/cat", "train/dog", "test/cat", "test/dogs"),
    ),
    "case": (
        "Cat, cat may be one class",
        labelled("label,split", "cat,train", "dog,train", "Cat,train", "cat,test", "dog,test"),
        labelled("label,split", "cat,train", "dog,train", "Cat,test", "dog,test"),
    ),
    "case of letters": ("Ab, ab may be one class", classes("Ab", "ab", "cd"), classes("A", "a", "c")),
    "batches": (
        "cat1, cat2, dog1 and 1 more are numbered, and what is beside the numbers repeats",
        images("cat1", "cat2", "dog1", "dog2"),
        images("cat1", "dog2"),
    ),
}
COLUMNS = {
    "a column beside numbers": (
        "other columns may be the label: 'kind'",
        labelled("label,kind", "5.5,a", "15.25,a", "25.5,b", "2.5,b"),
        labelled("label,camera", "5.5,a", "15.25,a", "25.5,b", "2.5,b"),
    ),
    "numbers beside a column that is not called like a label": (
        "other columns may be the label: 'grams'",
        weighed("ripeness"),
        weighed("species"),
    ),
    "pairs of images": (
        "'other' names a second image, so a label may be that of a pair",
        of_pairs(distance=1),
        of_pairs(distance=0),
    ),
    "marks": (
        "the columns 'checked' may be none of the labels",
        labelled("cat,dog,checked", "1,0,0", "0,1,0", "0,0,1"),
        labelled("cat,dog,fox", "1,0,0", "0,1,0", "0,0,1"),
    ),
    "a column with a value for some": (
        "other columns may be the label: 'do_not_use'",
        labelled("label,do_not_use", "cat,x", "cat,", "dog,", "dog,"),
        labelled("label,camera", "cat,x", "cat,", "dog,", "dog,"),
    ),
    "votes": (
        "columns such as 'reader1' may be votes of one label each",
        labelled("reader1,reader2", "1,0", "0,1", "1,1"),
        labelled("cat,dog", "1,0", "0,1", "1,1"),
    ),
    "another column": (
        "other columns may be the label: 'kind'",
        labelled("label,kind", "cat,a", "cat,b", "dog,a", "dog,b"),
        labelled("label,kind", "cat,a", "cat,a", "dog,b", "dog,b"),
    ),
    "lists": (
        "other columns may be the label: 'kind'",
        FLAT | {"t.jsonl": [{"image": f"img/{i}.png", "label": "ab"[i % 2], "kind": [i // 6]} for i in range(12)]},
        FLAT | {"t.jsonl": [{"image": f"img/{i}.png", "label": "ab"[i % 2], "kind": [i % 2]} for i in range(12)]},
    ),
    "a corrected label": (
        "other columns may be the label: 'corrected label'",
        labelled("label,corrected label", "cat,", "dog,", "cat,dog"),
        labelled("label,kind", "cat,", "dog,", "cat,dog"),
    ),
    "how it was made": (
        "the column 'shift' has no name of a label",
        labelled("shift", "cat", "dog"),
        labelled("shape", "cat", "dog"),
    ),
    "quantities": ("the column 'grade' may hold numbers", labelled("grade", "1", "2"), labelled("class", "1", "2")),
    "one image each": (
        "most classes have one image",
        classes(*ANIMALS),
        classes(*ANIMALS[:6]),
    ),
    "folders": ("folders such as p, q are not used", of_two_folders("pq"), of_two_folders(["batch1", "batch2"])),
    "folders of days": (
        "12.03.2018, 19.03.2018 look like camera folders or dates, not like classes",
        images("12.03.2018", "19.03.2018", count=6),
        images("rose", "tulip", count=6),
    ),
    "folders of months": (
        "folders such as 05, 06 are not used",
        of_two_folders(["05", "06"]),
        of_two_folders(["2023/05", "2023/06"]),
    ),
    "folders that are splits": (
        "folders such as test, train are not used",
        of_two_folders(["test", "train"]),
        of_two_folders(["train"]),
    ),
}
OF_TABLES = {
    "names of files": (
        "6 of 12 paths say another class than the table, such as img/cat_1.png, which is 'dog' there",
        called_like_classes(2),
        called_like_classes(1),
    ),
    "a number for none": (
        "-999 occurs 4 times, and may stand for no value",
        measured(-999),
        measured(9),
    ),
}
OBJECTS = {
    "drawn on pictures of another size": (
        "images have another size than their annotations say, such as 4 x 4, not 8 x 8: their boxes would be scaled",
        VOC | {f"JPEGImages/{i}.png": picture(i, width=4, height=4) for i in range(4)},
        VOC,
    ),
    "beyond their images": ("6 of 24 boxes reach beyond their images", yolo(0.75), yolo(0.5)),
    "in pixels beyond their images": (
        "4 of the first 8 boxes reach beyond their images: they may not be what their columns say",
        sized(lambda i: 1 if i % 2 else 6),
        sized(lambda _: 1),
    ),
    "called like no class": (
        "?, ignore are called like objects without a class",
        of_animals(["cat", "?", "ignore"] * 4),
        of_animals(["cat", "question", "other"] * 4),
    ),
    "lists of other names": (
        "labels/classes.txt names other classes than data.yaml",
        YOLO | {"labels/classes.txt": "dog\ncat\n"},
        YOLO | {"labels/classes.txt": "cat\n"},
    ),
    "half of them without a box": (
        "6 of 12 images have a record without objects; remove the records of those that nobody has looked at yet",
        FLAT | {"boxes.json": coco([f"img/{i}" for i in range(12)], num_boxes=6)},
        FLAT | {"boxes.json": coco([f"img/{i}" for i in range(12)], num_boxes=10)},
    ),
    "more than half of them without a box": (
        "7 of 12 images have a record without objects; remove the records of those that nobody has looked at yet",
        FLAT | {"boxes.json": coco([f"img/{i}" for i in range(12)], num_boxes=5)},
        YOLO | {f"labels/{n}.txt": "" for n in range(7)},
    ),
    "one for each class": ("most classes have one object", of_animals(ANIMALS), of_animals(ANIMALS[:6] * 2)),
    "classes in two writings": (
        "Cat, cat may be one class",
        of_animals(["cat", "Cat", "dog"] * 4),
        of_animals(["cat", "kit", "dog"] * 4),
    ),
    "attributes": (
        "its objects are all 'animal', and differ in species",
        cvat("badger", "fox"),
        cvat("badger", "badger"),
    ),
    "classes of the images beside boxes": (
        "its images have tags of whole images, which are not read with the boxes",
        cvat("badger", "badger", tag='<tag label="night"/>'),
        cvat("badger", "badger"),
    ),
}
DOUBTS = {
    f"{kind}: {name}": row
    for kind, rows in {
        "liberties": LIBERTIES,
        "left over": LEFT_OVER,
        "trees": TREES,
        "names": NAMES,
        "columns": COLUMNS,
        "tables": OF_TABLES,
        "objects": OBJECTS,
    }.items()
    for name, row in rows.items()
}


@pytest.mark.parametrize(("doubts", "odd", "plain"), DOUBTS.values(), ids=DOUBTS)
def test_a_doubt_asks_about_one_folder_and_not_about_the_nearest_other_one(doubts, odd, plain, tmp_path):
    source = write_tree(tmp_path / "odd", contents(odd))
    with pytest.raises(UnclearError) as raised:
        open_source(str(source))
    _, _, why = raised.value.refusal.problem.partition(", and asks first, because ")
    assert why.replace(str(source), "SOURCE") == doubts
    open_source(str(write_tree(tmp_path / "plain", contents(plain))))


@pytest.mark.parametrize("odd", [odd for _, odd, _ in DOUBTS.values()], ids=DOUBTS)
def test_the_first_reading_that_is_offered_is_the_one_that_was_recognised(odd, tmp_path, monkeypatch):
    source = str(write_tree(tmp_path, contents(odd)))
    with pytest.raises(UnclearError) as raised:
        open_source(source)
    stated = listed(open_source(source, SourceOptions(reading=given_reading({"reading": raised.value.readings[0]}))))
    monkeypatch.setattr("shardkit.sources.opening.refuse_doubtful", lambda *_: None)
    recognised = listed(open_source(source))
    assert facts(stated) == facts(recognised)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (sized(lambda _: 6), '"form": "centre"'),
        (
            yolo(7.5) | {f"labels/{i}.txt": "1 6 6 4 4\n" for i in range(12)},
            "correct their numbers, which may be pixels",
        ),
    ],
    ids=["a table", "YOLO"],
)
def test_boxes_most_of_which_are_beyond_their_images_are_not_offered_as_they_are(files, said, tmp_path):
    with pytest.raises(UnclearError) as raised:
        open_source(str(write_tree(tmp_path, contents(files))))
    assert said in str(raised.value)
    assert "as it was recognised" not in str(raised.value)


def facts(found):
    """What there is of each image, wherever the keys start: the bytes, the split, and the label or the boxes."""
    images = found.images()
    return sorted((sha256_hex(images[row["key"]]), row["split"] or "", label_of(row)) for row in found.good)


def label_of(row):
    return repr([row.get(name) for name in ("label_name", "label_names", "objects", "target")])


INSTANCES = FLAT | {"annotations/instances_train.json": coco([f"img/{i}" for i in range(12)])}
CAPTIONS = json.dumps({"images": [], "annotations": [{"id": 1, "image_id": 1, "caption": "a cat in a garden"}]})
SUBMISSION = table("id,label", *(f"{i}.png,cat" for i in range(4)))
SILENT = {
    "prose": PETS | {"README.txt": PROSE, "cat/about.txt": PROSE, "README.md": PROSE},
    "a list of the classes": PETS | {"classes.txt": "dog\ncat\n"},
    "an archive of the same images": PETS | {"pets.zip": zipped(PETS)},
    "a sample submission": PETS | {"sample_submission.csv": SUBMISSION},
    "a sample submission for images without labels": images("train/cat", "train/dog", "test")
    | {"sample_submission.csv": SUBMISSION},
    "captions of COCO": INSTANCES | {"annotations/captions_train.json": CAPTIONS},
    "keypoints of COCO": INSTANCES | {"annotations/person_keypoints_train.json": CAPTIONS},
    "lists of Pascal VOC": VOC
    | {
        "ImageSets/Main/train.txt": "0\n1\n",
        "ImageSets/Main/val.txt": "2\n3\n",
        "ImageSets/Main/cat_train.txt": "0  1\n1 -1\n",
        "ImageSets/Layout/train.txt": "0 1\n",
        "ImageSets/Main/mine.csv": table("image,label", *(f"{i}.png,cat" for i in range(4))),
    },
    "what a program or a system leaves": PETS | {"train.py": "1", "~$labels.xlsx": b"1", "cat/Thumbs.db": b"1"},
    "a few images of images": PETS | {"overview.png": None, "montage.png": None},
    "case in two splits": images("train/cat", "train/dog", "test/Cat", "test/dog"),
    "images without labels beside splits": SPLIT_PETS | images("unlabeled"),
    "images without labels beside a table": classes("cat", "dog") | images("test"),
    "a table of images without labels": classes("cat", "dog")
    | images("tests")
    | {"test.csv": table("image", *(f"tests/{i}.png" for i in range(4)))},
    "images without labels among the others": FLAT
    | {"train.csv": labelled("label", "cat", "dog", count=8)["t.csv"]}
    | {"test.csv": table("image", *(f"img/{i}.png" for i in range(8, 12)))},
    "a known dataset": images("101_ObjectCategories/BACKGROUND_Google", "101_ObjectCategories/chair"),
    "what a training wrote": PETS | {"cat/runs/log.csv": "step,loss\n1,2\n"},
    "what a model says": classes("cat", "dog") | {"runs/t.csv": labelled("score", "0.5", "0.75")["t.csv"]},
    "a file of three bytes": PETS | {"a.json": "{}\n", "cat/a.txt": "ok\n"},
    "a table that repeats the folders": PETS
    | {"t.csv": table("image,label", *(f"{path},{path.split('/')[0]}" for path in PETS))},
    "splits with the same word": images("seg_train/cat", "seg_train/dog", "seg_test/cat", "seg_test/dog"),
    "splits with words that say nothing": images(
        "train_set/cat", "train_set/dog", "test_images/cat", "test_images/dog"
    ),
    "splits with numbers, and in other languages": images(
        "1_train/cat", "1_train/dog", "2_validación/cat", "2_validación/dog"
    ),
    "letters": images("a", "b", "x"),
    "words of splits and copies in a table": classes("cat", "dog", "test set", "cat (2)"),
    "folders of splits": images("img/train", "img/val")
    | {f"annotations/{one}.json": coco([f"img/{one}/{i}" for i in range(4)]) for one in ("train", "val")},
    "folders that repeat a table": images("img/p", "img/q")
    | {"t.csv": table("image,label", *(f"img/{one}/{i}.png,class {one}" for one in "pq" for i in range(4)))},
}


@pytest.mark.parametrize("files", SILENT.values(), ids=SILENT)
def test_files_that_say_nothing_of_the_images_ask_nothing(files, tmp_path):
    open_source(str(write_tree(tmp_path, contents(files))))


IGNORED = {
    "a file": (PETS | {"a.csv": "a,b\n1,2\n"}, "/a.csv"),
    "files": (PETS | {"cat/notes.txt": "good 1\n"}, "*.txt"),
    "a folder": (PETS | images("unknown"), "unknown/"),
    "images": (PETS | {"0.png": None, "1.png": None}, "/*.png"),
    "a table of names": (PETS | {"list.txt": table(*PETS)}, "list.txt"),
}


@pytest.mark.parametrize(("files", "ignored"), IGNORED.values(), ids=IGNORED)
def test_what_the_user_ignores_asks_nothing(files, ignored, tmp_path):
    source = str(write_tree(tmp_path, contents(files)))
    with pytest.raises(UnclearError):
        open_source(source)
    open_source(source, SourceOptions(ignore=(ignored,)))


GIVEN = {
    "unsaid": images("cat", "dog", "unknown"),
    "unlike the others": images("cat", "dog", "_fox"),
    "of a table": classes("cat", "dog", "maybe"),
    "one class": classes("cat", "dog", "dogs"),
    "numbers": images("1", "20", "300"),
}


@pytest.mark.parametrize("files", GIVEN.values(), ids=GIVEN)
def test_names_that_the_user_gives_ask_nothing(files, tmp_path):
    source = str(write_tree(tmp_path, contents(files)))
    with pytest.raises(UnclearError):
        open_source(source)
    shown = {line.split(",")[1] for line in files["t.csv"].splitlines()[1:]} if "t.csv" in files else {}
    names = shown or {path.split("/")[0] for path in files}
    open_source(source, SourceOptions(classes=tuple(sorted(names))))


# What asks in a folder, but not where the user names the table.
NAMED = {
    "images that the table does not name": labelled("label", "cat", "dog", count=10),
    "another column": labelled("label,kind", "cat,a", "cat,b", "dog,a", "dog,b"),
    "folders": of_two_folders("pq"),
    "another file": classes("cat", "dog") | {"other.csv": "a,b\n1,2\n"},
}


@pytest.mark.parametrize("files", NAMED.values(), ids=NAMED)
def test_what_is_around_a_table_that_the_user_names_asks_nothing(files, tmp_path):
    source = write_tree(tmp_path, contents(files))
    with pytest.raises(UnclearError):
        open_source(str(source))
    open_source(str(source / "t.csv"))
