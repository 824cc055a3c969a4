"""Public folders of classes and tables of labels, gathered by somebody who had not read the code that reads them."""

import json

from .tree import folder

SPLITS = (("train", "train"), ("val", "validation"), ("test", "test"))


# --- folders of classes
@folder("flower_photos: five class folders and a LICENSE.txt in a wrapper")
def _(tree):
    """tensorflow.org/tutorials/images/classification; storage.googleapis.com's flower_photos.tgz."""
    for name in ("daisy", "dandelion", "roses", "sunflowers", "tulips"):
        tree.images(f"flower_photos/{name}/1005670{{}}95_b0dff1c3f1_n.jpg", 3, name)
    tree.text(
        "flower_photos/LICENSE.txt",
        "All images in this archive are licensed under the Creative Commons By-Attribution\n",
    )


@folder("Cat and Dog: training_set and test_set twice each, _DS_Store in every class")
def _(tree):
    """kaggle.com/datasets/tongpython/cat-and-dog."""
    for part, split, start, count in (("training_set", "train", 1, 4), ("test_set", "test", 4001, 2)):
        for name in ("cats", "dogs"):
            for number in range(start, start + count):
                tree.image(f"{part}/{part}/{name}/{name[:3]}.{number}.jpg", name, split)
            tree.text(f"{part}/{part}/{name}/_DS_Store", "\x00\x00\x00\x01Bud1")


@folder("brain tumour MRI: Training and Testing of four classes, their split in the names")
def _(tree):
    """kaggle.com/datasets/masoudnickparvar/brain-tumor-mri-dataset."""
    for part, split, count in (("Training", "train", 4), ("Testing", "test", 2)):
        for name, short in (("glioma", "gl"), ("meningioma", "me"), ("notumor", "no"), ("pituitary", "pi")):
            tree.images(f"{part}/{name}/{part[:2]}-{short}_00{{}}0.jpg", count, name, split)


@folder("brain MRI: yes and no, and both again in brain_tumor_dataset")
def _(tree):
    """kaggle.com/datasets/navoneel/brain-mri-images-for-brain-tumor-detection."""
    for pattern, name in (("yes/Y{}.jpg", "yes"), ("no/{} no.jpeg", "no")):
        for path in tree.images(pattern, 4, name):
            tree.files[f"brain_tumor_dataset/{path}"] = tree.files[path]


@folder("new plant diseases: a wrapper twice with splits, the same in lower case, a flat test in test/")
def _(tree):
    """kaggle.com/datasets/vipoooool/new-plant-diseases-dataset."""
    wrapper = "New Plant Diseases Dataset(Augmented)"
    for part, split, count in (("train", "train", 3), ("valid", "validation", 2)):
        for name in ("Apple___Apple_scab", "Apple___healthy", "Corn_(maize)___Common_rust_"):
            for path in tree.images(f"{wrapper}/{wrapper}/{part}/{name}/00075aa8-{{}}_FREC.JPG", count, name, split):
                tree.files[path.replace(wrapper, wrapper.lower(), 1)] = tree.files[path]
    for name in ("AppleCedarRust1", "PotatoHealthy1"):
        tree.unlearnt(f"test/test/{name}.JPG")


@folder("PlantVillage: color, grayscale and segmented, the same leaves in each", "advised")
def _(tree):
    """kaggle.com/datasets/abdallahalidev/plantvillage-dataset; github.com/spMohanty/PlantVillage-Dataset."""
    for name in ("Apple___Apple_scab", "Apple___healthy", "Grape___Black_rot"):
        for number in range(3):
            stem = f"0a5e9323-dbad-432d-ac58-d291718345{number}___FREC_Scab 3417"
            tree.image(f"plantvillage dataset/color/{name}/{stem}.JPG", name)
            tree.unlearnt(f"plantvillage dataset/grayscale/{name}/{stem}.JPG")
            tree.unlearnt(f"plantvillage dataset/segmented/{name}/{stem}_final_masked.jpg")


@folder("FER-2013 as folders: train and test of seven feelings, PrivateTest and PublicTest in the names")
def _(tree):
    """kaggle.com/datasets/msambare/fer2013."""
    for name in ("angry", "disgust", "fear", "happy", "neutral", "sad", "surprise"):
        tree.images(f"train/{name}/Training_3908{{}}.jpg", 2, name, "train")
        for kind in ("PrivateTest", "PublicTest"):
            tree.image(f"test/{name}/{kind}_105629.jpg", name, "test")


@folder("GTSRB on Kaggle: Train of classes, a flat Test, pictures of the classes in Meta, a table of each")
def _(tree):
    """kaggle.com/datasets/meowmeowmeowmeowmeow/gtsrb-german-traffic-sign."""
    head = "Width,Height,Roi.X1,Roi.Y1,Roi.X2,Roi.Y2,ClassId,Path\n"
    tables, meta = {"Train": head, "Test": head}, "Path,ClassId,ShapeId,ColorId,SignId\n"
    for label in range(3):
        for number in range(4):
            path = tree.image(f"Train/{label}/0000{label}_00000_0000{number}.png", str(label), "train")
            tables["Train"] += f"24,20,2,3,20,18,{label},{path}\n"
        tree.unlearnt(f"Meta/{label}.png")
        meta += f"Meta/{label}.png,{label},1,0,3.{label}\n"
    for number in range(5):
        path = tree.image(f"Test/0000{number}.png", str(number % 3), "test")
        tables["Test"] += f"24,20,2,3,20,18,{number % 3},{path}\n"
    for name, rows in (tables | {"Meta": meta}).items():
        tree.text(f"{name}.csv", rows)


@folder("fast.ai's CIFAR-10: train and test of classes, labels.txt of their names")
def _(tree):
    """course.fast.ai/datasets; docs.fast.ai's URLs.CIFAR."""
    names = ("airplane", "automobile", "bird")
    for part, count in (("train", 4), ("test", 2)):
        for name in names:
            tree.images(f"cifar10/{part}/{name}/{{}}_{name}.png", count, name, part)
    tree.text("cifar10/labels.txt", "".join(f"{name}\n" for name in names))


@folder(
    "breast histopathology: patients with folders 0 and 1, and all of them again in a folder",
    "advised",
)
def _(tree):
    """kaggle.com/datasets/paultimothymooney/breast-histopathology-images."""
    for patient in (8863, 8864, 9123):
        for label in (0, 1):
            for number in range(2):
                path = f"{patient}/{label}/{patient}_idx5_x{101 + number}_y1201_class{label}.png"
                tree.image(path, str(label))
                tree.files[f"IDC_regular_ps50_idx5/{path}"] = tree.files[path]


@folder("chest CT: classes of train and valid have longer names than those of test")
def _(tree):
    """kaggle.com/datasets/mohamedhanyyy/chest-ctscan-images: classes of test that train has not are no classes."""
    stages = {
        "adenocarcinoma": "_left.lower.lobe_T2_N0_M0_Ib",
        "large.cell.carcinoma": "_left.hilum_T2_N2_M0_IIIa",
        "normal": "",
        "squamous.cell.carcinoma": "_left.hilum_T1_N2_M0_IIIa",
    }
    for name, stage in stages.items():
        for part, split, count in (("train", "train", 3), ("valid", "validation", 2), ("test", "test", 2)):
            below = name if part == "test" else name + stage
            tree.images(f"Data/{part}/{below}/00000{{}} ({count}).png", count, name, split)


@folder("diabetic retinopathy: colored_images of grades, train.csv of stems and the grades' numbers")
def _(tree):
    """kaggle.com/datasets/sovitrath/diabetic-retinopathy-224x224-2019-data."""
    rows = "id_code,diagnosis\n"
    for label, name in enumerate(("No_DR", "Mild", "Moderate", "Severe", "Proliferate_DR")):
        for number in range(2):
            stem = f"0{label}{number}c1e989caa"
            tree.image(f"colored_images/{name}/{stem}.png", name)
            rows += f"{stem},{label}\n"
    tree.text("train.csv", rows)
    tree.text("export.pkl", "\x80\x03}")


@folder("NCT-CRC-HE: NCT-CRC-HE-100K and CRC-VAL-HE-7K of the same tissues beside each other")
def _(tree):
    """zenodo.org/records/1214456."""
    for part, split, count in (("NCT-CRC-HE-100K", "train", 3), ("CRC-VAL-HE-7K", "validation", 2)):
        for name in ("ADI", "BACK", "DEB"):
            tree.images(f"{part}/{name}/{name}-AAAFLC{{}}R.tif", count, name, split)


@folder("vegetables: a wrapper with a blank, train, validation and test")
def _(tree):
    """kaggle.com/datasets/misrakahmed/vegetable-image-dataset."""
    for part, count in (("train", 4), ("validation", 2), ("test", 2)):
        for name in ("Bean", "Bitter_Gourd", "Bottle_Gourd"):
            tree.images(f"Vegetable Images/{part}/{name}/000{{}}.jpg", count, name, part)


# --- tables of labels
@folder("paddy diseases: train_images of classes and train.csv of the same with variety and age, test_images")
def _(tree):
    """kaggle.com/competitions/paddy-disease-classification."""
    rows = "image_id,label,variety,age\n"
    for place, name in enumerate(("bacterial_leaf_blight", "blast", "normal")):
        for number in range(3):
            tree.image(f"train_images/{name}/1{place}033{number}.jpg", name, "train")
            rows += f"1{place}033{number}.jpg,{name},{('ADT45', 'IR20')[number % 2]},{45 + 5 * number}\n"
    tree.text("train.csv", rows)
    for number in range(3):
        tree.unlearnt(f"test_images/20000{number}.jpg")
    tree.text("sample_submission.csv", "image_id,label\n200000.jpg,\n200001.jpg,\n200002.jpg,\n")


@folder("plant pathology 2020: train.csv of four columns of 0 and 1, train and test in one folder")
def _(tree):
    """kaggle.com/competitions/plant-pathology-2020-fgvc7."""
    names = ("healthy", "multiple_diseases", "rust", "scab")
    head = f"image_id,{','.join(names)}\n"
    rows, test, sample = head, "image_id\n", head
    for number in range(8):
        tree.image(f"images/Train_{number}.jpg", names[number % 4], "train")
        rows += f"Train_{number},{','.join(str(int(place == number % 4)) for place in range(4))}\n"
    for number in range(3):
        tree.unlearnt(f"images/Test_{number}.jpg")
        test += f"Test_{number}\n"
        sample += f"Test_{number},0.25,0.25,0.25,0.25\n"
    for name, content in (("train", rows), ("test", test), ("sample_submission", sample)):
        tree.text(f"{name}.csv", content)


@folder("bone age: id, boneage and male, each part twice in itself, a test of sexes only", "advised")
def _(tree):
    """kaggle.com/datasets/kmader/rsna-bone-age."""
    rows = "id,boneage,male\n"
    for number in range(9):
        age = 180 - 11 * number
        tree.image(f"boneage-training-dataset/boneage-training-dataset/{1377 + number}.png", float(age))
        rows += f"{1377 + number},{age},{number % 2 == 0}\n"
    tree.text("boneage-training-dataset.csv", rows)
    for number in range(2):
        tree.unlearnt(f"boneage-test-dataset/boneage-test-dataset/{4360 + number}.png")
    tree.text("boneage-test-dataset.csv", "Case ID,Sex\n4360,M\n4361,F\n")


@folder("hateful memes: train.jsonl, dev.jsonl and test.jsonl of img, label and text")
def _(tree):
    """ai.meta.com/tools/hatefulmemes; kaggle.com/datasets/parthplc/facebook-hateful-meme-dataset."""
    for part, split, start, count in (("train", "train", 0, 6), ("dev", "validation", 6, 3), ("test", None, 9, 3)):
        lines = ""
        for number in range(start, start + count):
            line = {"id": 42950 + number, "img": f"img/{42950 + number}.png"}
            if split:
                line["label"] = number % 2
                tree.image(f"data/{line['img']}", str(number % 2), split)
            else:
                tree.unlearnt(f"data/{line['img']}")
            lines += json.dumps(line | {"text": f"what they say, number {number}"}) + "\n"
        tree.text(f"data/{part}.jsonl", lines)
    tree.text("data/README.md", "# Hateful Memes\n")


@folder("Waterbirds: folders of species, and metadata.csv of y, split in numbers, place", "advised")
def _(tree):
    """github.com/kohpangwei/group_DRO: y is the label; 0, 1 and 2 are train, val and test."""
    rows = "img_id,img_filename,y,split,place,place_filename\n"
    for number in range(12):
        y, split = number % 2, (0, 0, 0, 1, 1, 2)[number // 2]
        species = ("017.Cardinal", "001.Black_footed_Albatross")[y]
        path = f"{species}/{species[4:].title()}_00{number:02}_18.jpg"
        tree.image(f"waterbird_complete95_forest2water2/{path}", str(y), SPLITS[split][1])
        rows += f"{number + 1},{path},{y},{split},{number // 3 % 2},/forest/broadleaf/000000{number:02}.jpg\n"
    tree.text("waterbird_complete95_forest2water2/metadata.csv", rows)


@folder("MedMNIST saved as PNG: pathmnist.csv of TRAIN, name and label without a header")
def _(tree):
    """github.com/MedMNIST/MedMNIST's save: a name holds split, number and label."""
    rows = ""
    for (part, split), count in zip(SPLITS, (6, 3, 3), strict=True):
        for number in range(count):
            name = f"{part}{number}_{number % 3}.png"
            tree.image(f"pathmnist/{name}", str(number % 3), split)
            rows += f"{split.upper()},{name},{number % 3}\n"
    tree.text("pathmnist.csv", rows)


@folder("ISIC 2016: benign and malignant in the training's table, 0.0 and 1.0 in the test's, no headers", "refused")
def _(tree):
    """challenge.isic-archive.com/data: nothing in the folder says that 1.0 means malignant."""
    for part, split, start, names in (
        ("Training", "train", 0, ("benign", "malignant")),
        ("Test", "test", 8, ("0.0", "1.0")),
    ):
        rows = ""
        for number in range(start, start + 8 - start // 2):
            tree.image(
                f"ISBI2016_ISIC_Part3_{part}_Data/ISIC_00000{number:02}.jpg", ("benign", "malignant")[number % 2], split
            )
            rows += f"ISIC_00000{number:02},{names[number % 2]}\n"
        tree.text(f"ISBI2016_ISIC_Part3_{part}_GroundTruth.csv", rows)
