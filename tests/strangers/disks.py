"""Class folders and photographs as they lie on disks of people: phones, downloads, backups, projects."""

import json

from .tree import folder

PETS = ("cat", "dog")


@folder("a phone: DCIM with folders of Apple's", "advised")
def _(tree):
    for number in ("100", "101"):
        tree.images(f"DCIM/{number}APPLE/IMG_{number}{{}}.JPG", 3)


@folder("downloads: cat (1).jpg, cat (2).jpg")
def _(tree):
    for name in PETS:
        tree.images(f"{name}s/{name} ({{}}).jpg", 4, f"{name}s")


@folder("small pictures in hidden folders")
def _(tree):
    for name in PETS:
        for path in tree.images(f"{name}/{name}{{}}.jpg", 3, name):
            tree.unlearnt(f"{name}/.thumbnails/{path.rpartition('/')[2]}")


@folder("a Synology disk: @eaDir with small pictures of each image")
def _(tree):
    for name in PETS:
        for path in tree.images(f"pets/{name}/{name}{{}}.jpg", 3, name):
            tree.unlearnt(f"pets/{name}/@eaDir/{path.rpartition('/')[2]}/SYNOPHOTO_THUMB_M.jpg")


@folder("screenshots beside class folders")
def _(tree):
    for name in PETS:
        tree.images(f"{name}/{name}{{}}.jpg", 4, name)
    tree.unlearnt("Screenshot 2023-05-01 at 10.11.12.png")
    tree.unlearnt("Bildschirmfoto vom 2023-05-02.png")


def half_sorted(tree, classes, unsorted):
    """Folders of classes, and one of images that nobody has sorted yet."""
    for number, name in enumerate(classes):
        tree.images(f"{name}/{number}_{{}}.jpg", 4, name.rpartition("/")[2])
    for number in range(5):
        tree.unlearnt(f"{unsorted}/IMG_{number:04}.jpg")


@folder("half-finished labels: a folder of unsorted images")
def _(tree):
    half_sorted(tree, PETS, "unsorted")


@folder("vine leaves: sain, mildiou, and à trier that nobody has sorted")
def _(tree):
    half_sorted(tree, ["Feuilles/sain", "Feuilles/mildiou"], "Feuilles/à trier")


@folder("inspection: 良品, 不良品, and 未分類 that nobody has sorted")
def _(tree):
    half_sorted(tree, ["良品", "不良品"], "未分類")


@folder("New folder and New folder (2)", "advised")
def _(tree):
    for name in ("New folder", "New folder (2)"):
        tree.images(f"{name}/{len(name)}IMG_{{:04}}.jpg", 3)


@folder("Class A, Class B")
def _(tree):
    for name in ("Class A", "Class B"):
        tree.images(f"my dataset/{name}/{name[-1]}{{}}.png", 4, name)


@folder("German: Training, Validierung, Test")
def _(tree):
    for split, own in (("Training", "train"), ("Validierung", "validation"), ("Test", "test")):
        for name in ("Hund", "Katze", "Vögel"):
            tree.images(f"Bilder/{split}/{name}/{split}{{}}.jpg", 2, name, own)


@folder("Spanish: entrenamiento, validacion, prueba")
def _(tree):
    for split, own in (("entrenamiento", "train"), ("validacion", "validation"), ("prueba", "test")):
        for name in ("gato", "perro"):
            tree.images(f"{split}/{name}/{split}{{}}.jpg", 2, name, own)


@folder("Chinese: 训练集 and 测试集")
def _(tree):
    for split, own in (("训练集", "train"), ("测试集", "test")):
        for name in ("猫", "狗"):
            tree.images(f"数据集/{split}/{name}/{split[0]}{{}}.jpg", 3, name, own)


@folder("Arabic class folders")
def _(tree):
    for name in ("قطط", "كلاب"):
        tree.images(f"صور/{name}/{{}}.jpg", 4, name)


@folder("emoji as class folders")
def _(tree):
    for name in ("🐱", "🐶"):
        tree.images(f"{name}/{name}{{}}.jpg", 4, name)


@folder("endings of all kinds: .JPG, .jpeg, .jfif, .webp, .PNG")
def _(tree):
    for name in PETS:
        for number, ending in enumerate(("JPG", "jpeg", "jfif", "webp", "PNG", "Jpg")):
            tree.image(f"{name}/{name}{number}.{ending}", name)


@folder("hidden files: .DS_Store, ._x.jpg, .ipynb_checkpoints")
def _(tree):
    for name in PETS:
        for path in tree.images(f"{name}/{name}{{}}.jpg", 3, name):
            tree.text(f"{name}/._{path.rpartition('/')[2]}", "Mac OS X")
        tree.files[f"{name}/.ipynb_checkpoints/{name}0-checkpoint.jpg"] = tree.files[f"{name}/{name}0.jpg"]
        tree.text(f"{name}/.DS_Store", "Bud1")
    tree.text(".DS_Store", "Bud1")


@folder("a class without an image yet")
def _(tree):
    for name in PETS:
        tree.images(f"{name}/{name}{{}}.jpg", 4, name)
    tree.text("bird/.gitkeep", "")


@folder("a class with one image")
def _(tree):
    for name in PETS:
        tree.images(f"{name}/{name}{{}}.jpg", 5, name)
    tree.image("fox/fox.jpg", "fox")


@folder("a project: data/raw, data/processed, models, notebooks", "advised")
def _(tree):
    for name in PETS:
        tree.images(f"pets/data/raw/{name}/{name}{{}}.jpg", 3, name)
        for number in range(3):
            tree.unlearnt(f"pets/data/processed/{name}/{name}{number}.jpg")
    tree.text("pets/models/model.h5", "HDF")
    tree.text("pets/notebooks/explore.ipynb", "{}")


@folder("a project with a virtual environment and a git repository")
def _(tree):
    for split in ("train", "test"):
        for name in PETS:
            tree.images(f"project/dataset/{split}/{name}/{split}{{}}.jpg", 3, name, split)
    for name in ("home", "back"):
        tree.unlearnt(f"project/venv/lib/python3.11/site-packages/matplotlib/mpl-data/images/{name}.png")
    tree.text("project/.git/HEAD", "ref: refs/heads/main\n")
    tree.text("project/train.py", "print(1)\n")


@folder("augmented copies in a folder beside", "advised")
def _(tree):
    for name in PETS:
        tree.images(f"data/{name}/{name}{{}}.jpg", 3, name)
        for number in range(3):
            tree.unlearnt(f"data/augmented/{name}/aug_{name}{number}.jpg")


@folder("original/ and cropped/ with the same classes", "advised")
def _(tree):
    for kind in ("cropped", "original"):
        for name in PETS:
            tree.images(f"{kind}/{name}/{kind}{name}{{}}.jpg", 3, name)


@folder("a folder and its backup")
def _(tree):
    for name in PETS:
        for path in tree.images(f"pets/{name}/{name}{{}}.jpg", 3, name):
            tree.files[path.replace("pets/", "pets_backup/")] = tree.files[path]


@folder("Google Takeout: photographs by year with a .json each", "advised")
def _(tree):
    for year in ("2019", "2020"):
        for path in tree.images(f"Takeout/Google Photos/Photos from {year}/IMG_{year}{{}}.jpg", 3):
            tree.text(f"{path}.json", json.dumps({"title": path.rpartition("/")[2], "description": ""}))
        tree.text(f"Takeout/Google Photos/Photos from {year}/metadata.json", '{"title": "Photos"}')


@folder("WhatsApp: received and sent images", "advised")
def _(tree):
    tree.images("WhatsApp Images/IMG-20200101-WA{:04}.jpg", 3)
    tree.images("WhatsApp Images/Sent/IMG-20200102-WA{:04}.jpg", 2)


@folder("the same file names in every class")
def _(tree):
    for name in ("red fox", "grey wolf"):
        tree.images(f"Animals/{name}/image{{}}.png", 4, name)


@folder("0 - healthy, 1 - sick")
def _(tree):
    for name in ("0 - healthy", "1 - sick"):
        tree.images(f"{name}/scan_{name[0]}{{}}.png", 4, name)


@folder("Roboflow's classification: train, valid and READMEs")
def _(tree):
    for split, own in (("train", "train"), ("valid", "validation")):
        for name in PETS:
            tree.images(f"{split}/{name}/{name}{split}{{}}_jpg.rf.0a1b.jpg", 3, name, own)
    tree.text("README.dataset.txt", "# pets\n")
    tree.text("README.roboflow.txt", "pets\n")


@folder("a desktop: class folders beside documents and programs")
def _(tree):
    for name in PETS:
        tree.images(f"{name}/{name}{{}}.jpg", 4, name)
    for name in ("Invoice.pdf", "setup.exe", "notes.docx", "slides.pptx", "~$notes.docx", "desktop.ini"):
        tree.text(name, "x")


@folder("a photographer: .CR2, .psd and .xmp beside each .jpg")
def _(tree):
    for name in PETS:
        for path in tree.images(f"{name}/{name}{{}}.jpg", 3, name):
            for ending in ("CR2", "xmp", "psd"):
                tree.text(f"{path[:-4]}.{ending}", "raw")


@folder("Keras: train of classes, test/unknown without")
def _(tree):
    for name in PETS:
        tree.images(f"train/{name}/{name}{{}}.jpg", 4, name, "train")
    for number in range(3):
        tree.unlearnt(f"test/unknown/{number}.jpg")


@folder("a Windows disk: $RECYCLE.BIN and System Volume Information beside classes")
def _(tree):
    for name in PETS:
        tree.images(f"{name}/{name}{{}}.jpg", 4, name)
    tree.unlearnt("$RECYCLE.BIN/S-1-5-21/$R0A1B2C.jpg")
    tree.text("System Volume Information/IndexerVolumeGuid", "x")


@folder("class folders with days inside")
def _(tree):
    for name in PETS:
        for day in ("2020-01-01", "2020-01-02"):
            tree.images(f"{name}/{day}/{name}{day[-2:]}{{}}.jpg", 2, name)
