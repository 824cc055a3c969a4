"""Archives, several sources in one call, and formats that no image program reads."""

import gzip
import io
import json
import tarfile
import zipfile

import numpy as np

from .tree import HEIGHT, WIDTH, folder

PETS = ("cat", "dog", "horse")


def zipped(files):
    """A .zip of files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def tarred(files, mode="w:gz"):
    """A .tar of files."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def packed(tree, below, pack, strip=0):
    """The files below a folder, packed; the folder itself goes, the truth of its images stays."""
    files = {path: tree.files[path] for path in tree.files if path.startswith(below)}
    tree.hidden |= files
    for path in files:
        del tree.files[path]
    return pack({path[strip:]: data for path, data in files.items()})


@folder("one zip of class folders")
def _(tree):
    for name in PETS:
        tree.images(f"pets/{name}/{name}{{}}.jpg", 3, name)
    tree.files["pets.zip"] = packed(tree, "pets/", zipped)
    tree.sources = ["pets.zip"]


@folder("a folder that holds one zip of class folders")
def _(tree):
    for name in PETS:
        tree.images(f"pets/{name}/{name}{{}}.jpg", 3, name)
    tree.files["pets.zip"] = packed(tree, "pets/", zipped)


@folder("train.zip and test.zip of class folders, in a folder")
def _(tree):
    for split in ("train", "test"):
        for name in PETS:
            tree.images(f"{split}/{name}/{split}{name}{{}}.jpg", 3, name, split)
    for split in ("train", "test"):
        tree.files[f"{split}.zip"] = packed(tree, f"{split}/", zipped, len(split) + 1)


@folder("train.zip and test.zip of class folders, both given")
def _(tree):
    for split in ("train", "test"):
        for name in PETS:
            tree.images(f"{split}/{name}/{split}{name}{{}}.jpg", 3, name, split)
    for split in ("train", "test"):
        tree.files[f"{split}.zip"] = packed(tree, f"{split}/", zipped, len(split) + 1)
    tree.sources = ["train.zip", "test.zip"]


@folder("one zip for each class")
def _(tree):
    for name in PETS:
        tree.images(f"{name}/{name}{{}}.jpg", 3, name)
    for name in PETS:
        tree.files[f"{name}.zip"] = packed(tree, f"{name}/", zipped, len(name) + 1)


@folder("parts of a cloud drive: photos-001.zip, photos-002.zip")
def _(tree):
    for name in PETS:
        tree.images(f"1/pets/{name}/{name}a{{}}.jpg", 2, name)
        tree.images(f"2/pets/{name}/{name}b{{}}.jpg", 2, name)
    for number in (1, 2):
        tree.files[f"pets-20240101T000000Z-00{number}.zip"] = packed(tree, f"{number}/", zipped, 2)


@folder("a zip of zips")
def _(tree):
    for name in PETS:
        tree.images(f"{name}/{name}{{}}.jpg", 3, name)
    inner = {f"{name}.zip": packed(tree, f"{name}/", zipped, len(name) + 1) for name in PETS}
    tree.files["all.zip"] = zipped(inner)
    tree.sources = ["all.zip"]


@folder("labels.csv.zip beside images")
def _(tree):
    rows = "image,label\n"
    for number in range(6):
        tree.image(f"images/{number}.jpg", PETS[number % 3])
        rows += f"{number}.jpg,{PETS[number % 3]}\n"
    tree.files["labels.csv.zip"] = zipped({"labels.csv": rows.encode()})


@folder("train.zip of images and train.csv.zip, as Kaggle keeps them")
def _(tree):
    rows = "image,label\n"
    for number in range(6):
        tree.image(f"train/{number}.jpg", PETS[number % 3], "train")
        rows += f"{number}.jpg,{PETS[number % 3]}\n"
    tree.files["train.zip"] = packed(tree, "train/", zipped)
    tree.files["train.csv.zip"] = zipped({"train.csv": rows.encode()})


@folder("class folders in .tar.gz")
def _(tree):
    for name in PETS:
        tree.images(f"pets/{name}/{name}{{}}.jpg", 3, name)
    tree.files["pets.tar.gz"] = packed(tree, "pets/", tarred)
    tree.sources = ["pets.tar.gz"]


@folder("class folders in .tgz, in a folder")
def _(tree):
    for name in PETS:
        tree.images(f"flower_photos/{name}/{name}{{}}.jpg", 3, name)
    tree.text("flower_photos/LICENSE.txt", "CC-BY\n")
    tree.files["flower_photos.tgz"] = packed(tree, "flower_photos/", tarred)


@folder("class folders in .tar.bz2")
def _(tree):
    for name in PETS:
        tree.images(f"pets/{name}/{name}{{}}.jpg", 3, name)
    tree.files["pets.tar.bz2"] = packed(tree, "pets/", lambda files: tarred(files, "w:bz2"))
    tree.sources = ["pets.tar.bz2"]


@folder("rps and rps-test-set, both given with their splits")
def _(tree):
    for name in ("rock", "paper", "scissors"):
        tree.images(f"rps/{name}/{name}{{}}.png", 3, name, "train")
        tree.images(f"rps-test-set/{name}/test{name}{{}}.png", 2, name, "test")
    tree.sources = ["train=rps", "test=rps-test-set"]


@folder("two folders of classes, both given")
def _(tree):
    for part in ("home", "street"):
        for name in PETS:
            tree.images(f"{part}/{name}/{part}{name}{{}}.jpg", 2, name)
    tree.sources = ["home", "street"]


@folder("img2dataset: shards of images with captions, tables of URLs and counts", "advised")
def _(tree):
    for shard in range(2):
        for number in range(3):
            path = tree.image(f"{shard:05}/{shard:05}{number:04}.jpg")
            caption = {"caption": f"a photograph of {number} dogs", "url": "https://example.com", "status": "success"}
            tree.text(f"{path[:-4]}.json", json.dumps(caption))
            tree.text(f"{path[:-4]}.txt", caption["caption"])
        tree.files[f"{shard:05}.tar"] = packed(tree, f"{shard:05}/", lambda files: tarred(files, "w"), 6)
        tree.text(f"{shard:05}_stats.json", "{}")


@folder("DICOM", "refused")
def _(tree):
    for number in range(3):
        tree.files[f"study/{number}.dcm"] = bytes(128) + b"DICM" + bytes(64)


@folder("videos in class folders", "refused")
def _(tree):
    for name in ("run", "walk"):
        for number in range(2):
            tree.files[f"{name}/{number}.avi"] = b"RIFF\x00\x00\x00\x00AVI LIST" + bytes(64)


@folder("NIfTI volumes", "refused")
def _(tree):
    for number in range(2):
        tree.files[f"imagesTr/BRATS_{number}.nii.gz"] = b"\x1f\x8b" + bytes(64)
        tree.files[f"labelsTr/BRATS_{number}.nii.gz"] = b"\x1f\x8b" + bytes(64)


@folder("NumPy arrays", "refused")
def _(tree):
    tree.files["x_train.npy"] = b"\x93NUMPY\x01\x00" + bytes(64)
    tree.files["y_train.npy"] = b"\x93NUMPY\x01\x00" + bytes(64)


@folder("CIFAR-10's binary batches", "refused")
def _(tree):
    for number in range(1, 3):
        tree.files[f"cifar-10-batches-bin/data_batch_{number}.bin"] = bytes(3073 * 4)
    tree.text("cifar-10-batches-bin/batches.meta.txt", "airplane\ncat\n")


@folder("MNIST's idx files", "refused")
def _(tree):
    tree.files["train-images-idx3-ubyte"] = b"\x00\x00\x08\x03" + bytes(64)
    tree.files["train-labels-idx1-ubyte"] = b"\x00\x00\x08\x01" + bytes(64)


@folder("an empty folder", "refused")
def _(tree):
    tree.files["data/.gitkeep"] = b""


@folder("a folder of unlabelled photographs", "advised")
def _(tree):
    tree.images("DCIM/100APPLE/IMG_{:04}.JPG", 6)


def sealed(files):
    """A .zip whose entries claim to be encrypted."""
    data = bytearray(zipped(files))
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(signature)
        while at >= 0:
            data[at + flags] |= 1
            at = data.find(signature, at + 4)
    return bytes(data)


def seven_zipped(files):
    """A .7z of files."""
    import py7zr

    out = io.BytesIO()
    with py7zr.SevenZipFile(out, "w") as archive:
        for name, data in files.items():
            archive.writef(io.BytesIO(data), name)
    return out.getvalue()


@folder("Kaggle's archive.zip: dataset/dataset and __MACOSX")
def _(tree):
    for split in ("train", "test"):
        for name in PETS:
            tree.images(f"dataset/dataset/{split}/{name}/{split}{name}{{}}.jpg", 2, name, split)
    tree.files["__MACOSX/dataset/._dataset"] = b"\0\5\x16\7"
    tree.files["archive.zip"] = zipped({**tree.files})
    tree.hidden |= tree.files
    tree.files = {"archive.zip": tree.files["archive.zip"]}


@folder("parts of a cloud drive, both given, a class in each")
def _(tree):
    for number, name in enumerate(PETS, 1):
        tree.images(f"{number}/pets/{name}/{name}{{}}.jpg", 2, name)
        below = f"{number}/"
        tree.files[f"drive-download-20240101T000000Z-00{number}.zip"] = packed(tree, below, zipped, 2)
    tree.sources = sorted(tree.files)


@folder("Zenodo: images.zip, labels.csv and README.md")
def _(tree):
    rows = "filename,label\n"
    for number in range(6):
        tree.image(f"images/{number}.jpg", PETS[number % 3])
        rows += f"{number}.jpg,{PETS[number % 3]}\n"
    tree.files["images.zip"] = packed(tree, "images/", zipped)
    tree.text("labels.csv", rows)
    tree.text("README.md", "# Pets\n")


@folder("Zenodo: train.tar.gz and val.tar.gz")
def _(tree):
    for split, own in (("train", "train"), ("val", "validation")):
        for name in PETS:
            tree.images(f"{split}/{name}/{split}{name}{{}}.jpg", 2, name, own)
        tree.files[f"{split}.tar.gz"] = packed(tree, f"{split}/", tarred)


@folder("a split archive: data.z01 and data.zip", "refused")
def _(tree):
    whole = zipped({f"cat/{n}.jpg": bytes(100) for n in range(20)})
    tree.files["data.z01"], tree.files["data.zip"] = whole[:1000], whole[1000:]


@folder("a split archive: data.zip.001 and data.zip.002", "refused")
def _(tree):
    whole = zipped({f"cat/{n}.jpg": bytes(100) for n in range(20)})
    tree.files["data.zip.001"], tree.files["data.zip.002"] = whole[:1000], whole[1000:]


@folder("a zip with a password in a zip", "refused")
def _(tree):
    tree.images("pets/cat/{}.jpg", 3, "cat")
    tree.images("pets/dog/{}.jpg", 3, "dog")
    tree.files["outer.zip"] = zipped({"inner.zip": packed(tree, "pets/", sealed)})


@folder("COCO as it is downloaded: annotations.zip, train2017.zip, val2017.zip")
def _(tree):
    for split, own in (("train", "train"), ("val", "validation")):
        records = []
        for number in range(3):
            path = tree.image(f"{split}2017/{split}{number}.jpg", split=own, boxes=[(2, 3, 10, 12, "cat")])
            records.append({"id": number, "file_name": path.split("/")[1], "width": 24, "height": 20})
        boxes = [
            {"id": 9 + n, "image_id": n, "category_id": 1, "bbox": [2, 3, 8, 9], "area": 72, "iscrowd": 0}
            for n in range(3)
        ]
        whole = {"images": records, "annotations": boxes, "categories": [{"id": 1, "name": "cat"}]}
        tree.text(f"annotations/instances_{split}2017.json", json.dumps(whole))
    for name in ("train2017", "val2017", "annotations"):
        tree.files[f"{name}.zip"] = packed(tree, f"{name}/", zipped)


@folder("labels.csv.gz beside images")
def _(tree):
    rows = "image,label\n"
    for number in range(6):
        tree.image(f"images/{number}.jpg", PETS[number % 3])
        rows += f"{number}.jpg,{PETS[number % 3]}\n"
    tree.files["labels.csv.gz"] = gzip.compress(rows.encode())


@folder("an archive that was downloaded twice: pets.zip and pets (1).zip")
def _(tree):
    for name in PETS:
        tree.images(f"pets/{name}/{name}{{}}.jpg", 2, name)
    tree.files["pets.zip"] = tree.files["pets (1).zip"] = packed(tree, "pets/", zipped)


@folder("Oxford flowers: 102flowers.tgz with jpg/, and labels.csv")
def _(tree):
    rows = "image,label\n"
    for number in range(6):
        tree.image(f"jpg/{number}.jpg", PETS[number % 3])
        rows += f"{number}.jpg,{PETS[number % 3]}\n"
    tree.files["102flowers.tgz"] = packed(tree, "jpg/", tarred)
    tree.text("labels.csv", rows)


@folder("a zip for each class in train/ and test/")
def _(tree):
    for split in ("train", "test"):
        for name in PETS:
            tree.images(f"{split}/{name}/{split}{name}{{}}.jpg", 2, name, split)
            tree.files[f"{split}/{name}.zip"] = packed(tree, f"{split}/{name}/", zipped, len(f"{split}/{name}/"))


@folder("a .tar.gz with a wrapper twice and files of macOS")
def _(tree):
    for name in PETS:
        tree.images(f"pets/pets/{name}/{name}{{}}.jpg", 2, name)
    tree.files["pets/._pets"] = b"\0\5\x16\7"
    tree.files["pets/pets/.DS_Store"] = b"\0\0\0\1Bud1"
    tree.files["pets.tar.gz"] = packed(tree, "pets/", tarred)


@folder("images.zip next to what was unpacked from it, and labels.csv")
def _(tree):
    rows = "image,label\n"
    for number in range(6):
        tree.image(f"images/{number}.jpg", PETS[number % 3])
        rows += f"{number}.jpg,{PETS[number % 3]}\n"
    tree.files["images.zip"] = zipped(tree.files)
    tree.text("labels.csv", rows)


@folder("two archives with their splits, each with a folder data/ around the classes")
def _(tree):
    for split in ("train", "validation"):
        for name in PETS:
            tree.images(f"{split}/data/{name}/{split}{name}{{}}.jpg", 2, name, split)
        tree.files[f"download{len(split)}.zip"] = packed(tree, f"{split}/", zipped, len(split) + 1)
    tree.sources = ["train=download5.zip", "validation=download10.zip"]


@folder("folders of classes, all given: pets/*")
def _(tree):
    for name in PETS:
        tree.images(f"pets/{name}/{name}{{}}.jpg", 3, name)
    tree.sources = [f"pets/{name}" for name in PETS]


@folder("class folders in .7z")
def _(tree):
    for name in PETS:
        tree.images(f"pets/{name}/{name}{{}}.jpg", 3, name)
    tree.files["pets.7z"] = packed(tree, "pets/", seven_zipped)


@folder("class folders in .tar.xz, each beside the other")
def _(tree):
    for name in PETS:
        tree.images(f"{name}/{name}{{}}.jpg", 3, name)
        tree.files[f"{name}.tar.xz"] = packed(tree, f"{name}/", lambda files: tarred(files, "w:xz"))


@folder("YOLO in images.zip and labels.zip, both given")
def _(tree):
    for number in range(4):
        tree.image(f"images/{number}.jpg", boxes=[(2, 3, 10, 12, "cat")])
        tree.text(f"labels/{number}.txt", f"0 {6 / 24} {7.5 / 20} {8 / 24} {9 / 20}\n")
    tree.text("labels/classes.txt", "cat\n")
    tree.files["images.zip"] = packed(tree, "images/", zipped)
    tree.files["labels.zip"] = packed(tree, "labels/", zipped)
    tree.sources = ["images.zip", "labels.zip"]


@folder("an image folder and the table of its labels, both given")
def _(tree):
    rows = "image,label\n"
    for number in range(6):
        tree.image(f"photos/{number}.jpg", PETS[number % 3])
        rows += f"{number}.jpg,{PETS[number % 3]}\n"
    tree.text("tables/labels.csv", rows)
    tree.sources = ["photos", "tables/labels.csv"]


@folder("two folds in archives, with a folder data/ in each")
def _(tree):
    for number in (1, 2):
        for name in PETS:
            tree.images(f"{number}/data/{name}/{number}{name}{{}}.jpg", 2, name)
        tree.files[f"fold_{number}.zip"] = packed(tree, f"{number}/", zipped, 2)


@folder("pets/ and more.zip of the same classes", "advised")
def _(tree):
    for name in PETS:
        tree.images(f"pets/{name}/{name}{{}}.jpg", 2, name)
        tree.images(f"more/{name}/more{name}{{}}.jpg", 2, name)
    tree.files["more.zip"] = packed(tree, "more/", zipped, 5)


@folder("train/ and the rest of it in train.zip")
def _(tree):
    for name in PETS:
        tree.images(f"zip/{name}/zip{name}{{}}.jpg", 2, name)
    tree.files["train.zip"] = packed(tree, "zip/", zipped, 4)
    for name in PETS:
        tree.images(f"train/{name}/{name}{{}}.jpg", 2, name)


@folder("Kaggle: train.zip of class folders, test.zip without labels, sample_submission.csv.zip")
def _(tree):
    for name in PETS:
        tree.images(f"train/{name}/{name}{{}}.jpg", 2, name, "train")
    tree.files["train.zip"] = packed(tree, "train/", zipped)
    tests = {f"test/{number}.jpg": tree.files.pop(tree.unlearnt(f"test/{number}.jpg")) for number in range(4)}
    tree.files["test.zip"] = zipped(tests)
    rows = b"id,label\n" + b"".join(b"%d,cat\n" % number for number in range(4))
    tree.files["sample_submission.csv.zip"] = zipped({"sample_submission.csv": rows})


@folder("images.zip and masks.zip")
def _(tree):
    mask = np.zeros((HEIGHT, WIDTH), np.uint8)
    mask[:5, :7] = 1
    for number in range(4):
        tree.image(f"images/{number}.jpg", mask=mask)
        tree.drawing(f"masks/{number}.png", mask)
    for name in ("images", "masks"):
        tree.files[f"{name}.zip"] = packed(tree, f"{name}/", zipped)


@folder("VOCtrainval.tar and VOCtest.tar, both of VOCdevkit/")
def _(tree):
    for year, split in (("VOCtrainval", "train"), ("VOCtest", "test")):
        tree.image(f"{year}/VOCdevkit/VOC2007/JPEGImages/{split}.jpg", split=split, boxes=[(3, 4, 10, 12, "cat")])
        box = "<bndbox><xmin>3</xmin><ymin>4</ymin><xmax>10</xmax><ymax>12</ymax></bndbox>"
        xml = f"<filename>{split}.jpg</filename><object><name>cat</name>{box}</object>"
        tree.text(f"{year}/VOCdevkit/VOC2007/Annotations/{split}.xml", f"<annotation>{xml}</annotation>")
        tree.text(f"{year}/VOCdevkit/VOC2007/ImageSets/Main/{split}.txt", f"{split}\n")
        tree.files[f"{year}.tar"] = packed(tree, f"{year}/", lambda files: tarred(files, "w"), len(year) + 1)


@folder("an archive next to its folder, half unpacked")
def _(tree):
    for name in PETS:
        tree.images(f"pets/{name}/{name}{{}}.jpg", 3, name)
    tree.files["pets.zip"] = zipped(tree.files)
    for path in [*tree.files]:
        if "2.jpg" in path:
            tree.hidden[path] = tree.files.pop(path)


@folder("a zip for each class, and a zip of the test images")
def _(tree):
    for name in PETS:
        tree.images(f"{name}/{name}{{}}.jpg", 3, name)
        tree.files[f"{name}.zip"] = packed(tree, f"{name}/", zipped, len(name) + 1)
    tests = {f"{number}.jpg": tree.files.pop(tree.unlearnt(f"{number}.jpg")) for number in range(4)}
    tree.files["test.zip"] = zipped(tests)


@folder("train.tar.gz and test.tar.gz, both with data/ in them")
def _(tree):
    for split in ("train", "test"):
        for name in PETS:
            tree.images(f"{split}/data/{name}/{split}{name}{{}}.jpg", 2, name, split)
        tree.files[f"{split}.tar.gz"] = packed(tree, f"{split}/", tarred, len(split) + 1)


@folder("cat.zip and dog.zip with images/ in each")
def _(tree):
    for name in PETS:
        tree.images(f"{name}/images/{{}}{name}.jpg", 3, name)
        tree.files[f"{name}.zip"] = packed(tree, f"{name}/", zipped, len(name) + 1)


@folder("1.zip, 2.zip, 3.zip: a class each, flat")
def _(tree):
    for name in ("1", "2", "3"):
        tree.images(f"{name}/{{}}_{name}.jpg", 3, name)
        tree.files[f"{name}.zip"] = packed(tree, f"{name}/", zipped, 2)


@folder("grade1.zip, grade2.zip: a class each, in images/", "advised")
def _(tree):
    for name in ("grade1", "grade2"):
        tree.images(f"{name}/images/{name}_{{}}.jpg", 3, name)
        tree.files[f"{name}.zip"] = packed(tree, f"{name}/", zipped, len(name) + 1)


@folder("train_part1.zip, train_part2.zip and test.zip of classes")
def _(tree):
    for part, split in (("train_part1", "train"), ("train_part2", "train"), ("test", "test")):
        for name in PETS:
            tree.images(f"{part}/{name}/{part}{name}{{}}.jpg", 2, name, split)
        tree.files[f"{part}.zip"] = packed(tree, f"{part}/", zipped, len(part) + 1)
