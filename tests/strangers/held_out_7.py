"""Public folders of classes, gathered as a sample of what is used most, by somebody who had not read the code."""

from .held_out_5 import copied, parts
from .held_out_5b import workbook
from .tree import folder


@folder("skin cancer: train and test of benign and malignant, and both again in data/")
def _(tree):
    """kaggle.com/datasets/fanconic/skin-cancer-malignant-vs-benign: the names are numbers in all folders."""
    parts(tree, "{part}/{name}/10{}.jpg", ("benign", "malignant"), {("train", "train"): 4, ("test", "test"): 2})
    copied(tree, "data")


@folder("AFHQ: afhq/train and afhq/val of cat, dog and wild, each name begins with flickr_")
def _(tree):
    """kaggle.com/datasets/andrewmvd/animal-faces; github.com/clovaai/stargan-v2."""
    for part, split, count in (("train", "train", 4), ("val", "validation", 2)):
        for name in ("cat", "dog", "wild"):
            tree.images(f"afhq/{part}/{name}/flickr_{name}_00{count}{{}}02.jpg", count, name, split)


@folder("fire: fire_dataset/fire_images and fire_dataset/non_fire_images")
def _(tree):
    """kaggle.com/datasets/phylake1337/fire-dataset."""
    for kind in ("fire", "non_fire"):
        for number in range(1, 6):
            tree.image(f"fire_dataset/{kind}_images/{kind}.{number}.png", f"{kind}_images")


@folder("tomato leaves: tomato/train and tomato/val of Tomato___ and a disease, cnn_train.py beside them")
def _(tree):
    """kaggle.com/datasets/kaustubhb999/tomatoleaf."""
    names = ("Tomato___Bacterial_spot", "Tomato___Late_blight", "Tomato___healthy")
    pattern = "tomato/{part}/{name}/0045ba29-ed1b-43b4-afde-719cc7adefd{}___GCREC_Bact.Sp 6254.JPG"
    parts(tree, pattern, names, {("train", "train"): 4, ("val", "validation"): 2})
    tree.text("tomato/cnn_train.py", "from keras.models import Sequential\n")


@folder("tuberculosis: Normal and Tuberculosis, a workbook with a row for each image of each, README.md.txt")
def _(tree):
    """kaggle.com/datasets/tawsifurrahman/tuberculosis-tb-chest-xray-dataset: the workbooks say where a file is from."""
    below = "TB_Chest_Radiography_Database"
    for name in ("Normal", "Tuberculosis"):
        rows = [("FILE NAME", "FORMAT", "SIZE", "URL")]
        for number in range(1, 6):
            tree.image(f"{below}/{name}/{name}-{number}.png", name)
            rows.append((f"{name}-{number}", "PNG", "512*512", "https://www.kaggle.com/c/rsna-pneumonia"))
        workbook(tree, f"{below}/{name}.metadata.xlsx", *rows)
    tree.text(f"{below}/README.md.txt", "Tuberculosis (TB) Chest X-ray Database\n***Please cite***\n")


@folder("natural images: natural_images of eight classes, and all of it again in data/natural_images")
def _(tree):
    """kaggle.com/datasets/prasunroy/natural-images."""
    for name in ("airplane", "car", "cat", "flower"):
        tree.images(f"natural_images/{name}/{name}_000{{}}.jpg", 4, name)
    copied(tree, "data")


@folder(
    "monkeypox: Original Images, Augmented Images and Fold1 of both, each in itself, a table of image and label",
    "advised",
)
def _(tree):
    """kaggle.com/datasets/nafin59/monkeypox-skin-lesion-dataset: Fold1 has originals in Val and Test."""
    rows = "ImageID,Label\n"
    for name, short, kind in (("Monkey Pox", "M", "Monkeypox"), ("Others", "NM", "Others")):
        for number in range(1, 7):
            stem = f"{short}0{number}_01"
            path = tree.image(f"Original Images/Original Images/{name}/{stem}.jpg", name)
            rows += f"{stem},{'Monkeypox' if short == 'M' else 'Non monkeypox'}\n"
            part = "Train" if number < 5 else "Val" if number == 5 else "Test"
            if part != "Train":
                tree.files[f"Fold1/Fold1/Fold1/{part}/{kind}/{stem}.jpg"] = tree.files[path]
            for turn in range(2):
                more = tree.unlearnt(f"Augmented Images/Augmented Images/{kind}_augmented/{stem}_0{turn}.jpg")
                if part == "Train":
                    tree.files[f"Fold1/Fold1/Fold1/Train/{kind}/{stem}_0{turn}.jpg"] = tree.files[more]
    tree.text("Monkeypox_Dataset_metadata.csv", rows)


@folder("notMNIST_small: letters of names in base64, two of the images are empty files")
def _(tree):
    """yaroslavvb.blogspot.com/2011/09/notmnist-dataset.html: of 18,726 files, two have no bytes."""
    for name in ("A", "B", "F"):
        tree.images(f"notMNIST_small/{name}/MDEtMDEtMDAudH{{}}m.png", 15, name)
    tree.files["notMNIST_small/A/RGVtb2NyYXRpY2FCb2xkT2xkc3R5bGUgQm9sZC50dGY=.png"] = b""
    tree.files["notMNIST_small/F/Q3Jvc3NvdmVyIEJvbGRPYmxpcXVlLnR0Zg==.png"] = b""


@folder("ImageNet-R: folders of WordNet numbers, README.txt that names them")
def _(tree):
    """github.com/hendrycks/imagenet-r."""
    names = {"n01443537": "goldfish", "n01484850": "great_white_shark", "n01494475": "hammerhead"}
    for synset in names:
        for kind in ("art", "cartoon", "sketch"):
            tree.images(f"imagenet-r/{synset}/{kind}_{{}}.jpg", 2, synset)
    text = "".join(f"{synset} {name}\n" for synset, name in names.items())
    tree.text("imagenet-r/README.txt", f"The classes of ImageNet-R:\n\n{text}")


@folder("flowers recognition: flowers/<class> and flowers/flowers/<class> again, Python's files in dandelion")
def _(tree):
    """kaggle.com/datasets/alxmamaev/flowers-recognition: flickr.py and run_me.py fetched the images."""
    for name in ("daisy", "dandelion", "rose", "tulip"):
        tree.images(f"flowers/{name}/10002{{}}8_ac4d397_n.jpg", 4, name)
    tree.text("flowers/dandelion/flickr.py", "import flickrapi\n")
    tree.files["flowers/dandelion/flickr.pyc"] = b"\x03\xf3\r\n" + bytes(16)
    tree.text("flowers/dandelion/run_me.py", "from flickr import *\n")
    files = {f"flowers/{path}": data for path, data in tree.files.items()}
    tree.files |= files


@folder("real and fake faces: training_real and training_fake, and both again in real_and_fake_face_detection")
def _(tree):
    """kaggle.com/datasets/ciplab/real-and-fake-face-detection: there is no other part than this for training."""
    for number in range(1, 4):
        for grade in ("easy", "mid", "hard"):
            tree.image(f"real_and_fake_face/training_fake/{grade}_{number}_1100.jpg", "training_fake")
    for number in range(1, 8):
        tree.image(f"real_and_fake_face/training_real/real_0000{number}.jpg", "training_real")
    copied(tree, "real_and_fake_face_detection")


@folder("Rendered SST2: train, valid and test of negative and positive, 00000.png in each")
def _(tree):
    """torchvision's RenderedSST2; openaipublic.azureedge.net/clip/data/rendered-sst2.tgz."""
    counts = {("train", "train"): 5, ("valid", "validation"): 2, ("test", "test"): 2}
    parts(tree, "rendered-sst2/{part}/{name}/0000{}.png", ("negative", "positive"), counts)
