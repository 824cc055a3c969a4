"""Archives, several sources in one call, and formats that no image program reads."""

import io
import tarfile
import zipfile

from .tree import folder

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


@folder("train.zip and test.zip of class folders, in a folder", today="refused")
def _(tree):
    for split in ("train", "test"):
        for name in PETS:
            tree.images(f"{split}/{name}/{split}{name}{{}}.jpg", 3, name, split)
    for split in ("train", "test"):
        tree.files[f"{split}.zip"] = packed(tree, f"{split}/", zipped, len(split) + 1)


@folder("train.zip and test.zip of class folders, both given", today="refused")
def _(tree):
    for split in ("train", "test"):
        for name in PETS:
            tree.images(f"{split}/{name}/{split}{name}{{}}.jpg", 3, name, split)
    for split in ("train", "test"):
        tree.files[f"{split}.zip"] = packed(tree, f"{split}/", zipped, len(split) + 1)
    tree.sources = ["train.zip", "test.zip"]


@folder("one zip for each class", today="refused")
def _(tree):
    for name in PETS:
        tree.images(f"{name}/{name}{{}}.jpg", 3, name)
    for name in PETS:
        tree.files[f"{name}.zip"] = packed(tree, f"{name}/", zipped, len(name) + 1)


@folder("parts of a cloud drive: photos-001.zip, photos-002.zip", today="refused")
def _(tree):
    for name in PETS:
        tree.images(f"1/pets/{name}/{name}a{{}}.jpg", 2, name)
        tree.images(f"2/pets/{name}/{name}b{{}}.jpg", 2, name)
    for number in (1, 2):
        tree.files[f"pets-20240101T000000Z-00{number}.zip"] = packed(tree, f"{number}/", zipped, 2)


@folder("a zip of zips", today="refused")
def _(tree):
    for name in PETS:
        tree.images(f"{name}/{name}{{}}.jpg", 3, name)
    inner = {f"{name}.zip": packed(tree, f"{name}/", zipped, len(name) + 1) for name in PETS}
    tree.files["all.zip"] = zipped(inner)
    tree.sources = ["all.zip"]


@folder("labels.csv.zip beside images", today="refused")
def _(tree):
    rows = "image,label\n"
    for number in range(6):
        tree.image(f"images/{number}.jpg", PETS[number % 3])
        rows += f"{number}.jpg,{PETS[number % 3]}\n"
    tree.files["labels.csv.zip"] = zipped({"labels.csv": rows.encode()})


@folder("train.zip of images and train.csv.zip, as Kaggle keeps them", today="refused")
def _(tree):
    rows = "image,label\n"
    for number in range(6):
        tree.image(f"train/{number}.jpg", PETS[number % 3], "train")
        rows += f"{number}.jpg,{PETS[number % 3]}\n"
    tree.files["train.zip"] = packed(tree, "train/", zipped)
    tree.files["train.csv.zip"] = zipped({"train.csv": rows.encode()})


@folder("class folders in .tar.gz", today="refused")
def _(tree):
    for name in PETS:
        tree.images(f"pets/{name}/{name}{{}}.jpg", 3, name)
    tree.files["pets.tar.gz"] = packed(tree, "pets/", tarred)
    tree.sources = ["pets.tar.gz"]


@folder("class folders in .tgz, in a folder", today="refused")
def _(tree):
    for name in PETS:
        tree.images(f"flower_photos/{name}/{name}{{}}.jpg", 3, name)
    tree.text("flower_photos/LICENSE.txt", "CC-BY\n")
    tree.files["flower_photos.tgz"] = packed(tree, "flower_photos/", tarred)


@folder("class folders in .tar.bz2", today="refused")
def _(tree):
    for name in PETS:
        tree.images(f"pets/{name}/{name}{{}}.jpg", 3, name)
    tree.files["pets.tar.bz2"] = packed(tree, "pets/", lambda files: tarred(files, "w:bz2"))
    tree.sources = ["pets.tar.bz2"]


@folder("rps and rps-test-set, both given with their splits", today="refused")
def _(tree):
    for name in ("rock", "paper", "scissors"):
        tree.images(f"rps/{name}/{name}{{}}.png", 3, name, "train")
        tree.images(f"rps-test-set/{name}/test{name}{{}}.png", 2, name, "test")
    tree.sources = ["train=rps", "test=rps-test-set"]


@folder("two folders of classes, both given", today="refused")
def _(tree):
    for part in ("home", "street"):
        for name in PETS:
            tree.images(f"{part}/{name}/{part}{name}{{}}.jpg", 2, name)
    tree.sources = ["home", "street"]


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
