"""Public folders of classes, gathered by somebody who had not read the code that reads them."""

import json

from .tree import folder

SPLITS = (("train", "train"), ("val", "validation"), ("test", "test"))


def parts(tree, pattern, names, counts):
    """Class folders in splits: {part} and {name} of a pattern; counts by (part, split)."""
    for (part, split), count in counts.items():
        for name in names:
            tree.images(pattern.replace("{part}", part).replace("{name}", name), count, name, split)


def copied(tree, above):
    """The same files again below another folder."""
    for path in [*tree.truth]:
        tree.files[f"{above}/{path}"] = tree.files[path]


@folder("waste classification: DATASET of TRAIN and TEST with O and R, and all of it again in dataset/")
def _(tree):
    """kaggle.com/datasets/techsash/waste-classification-data."""
    for part, split, count in (("TRAIN", "train", 4), ("TEST", "test", 2)):
        for name in ("O", "R"):
            tree.images(f"DATASET/{part}/{name}/{name}_1{count}{{}}.jpg", count, name, split)
    copied(tree, "dataset")


@folder("fresh and rotten fruit: dataset/train, dataset/test, and both again in dataset/dataset, screenshots' names")
def _(tree):
    """kaggle.com/datasets/sriramr/fruits-fresh-and-rotten-for-classification."""
    names = ("freshapples", "freshbanana", "rottenapples", "rottenbanana")
    pattern = "dataset/{part}/{name}/rotated_by_15_Screen Shot 2018-06-08 at 5.0{}.10 PM.png"
    parts(tree, pattern, names, {("train", "train"): 3, ("test", "test"): 2})
    copied(tree, "dataset")


@folder("augmented Alzheimer's: AugmentedAlzheimerDataset and OriginalDataset of the same four classes", "advised")
def _(tree):
    """kaggle.com/datasets/uraninjo/augmented-alzheimer-mri-dataset."""
    for name in ("MildDemented", "ModerateDemented", "NonDemented", "VeryMildDemented"):
        tree.images(f"AugmentedAlzheimerDataset/{name}/0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c{{}}d.jpg", 4, name)
        tree.images(f"OriginalDataset/{name}/{name.lower()}_{{}}.jpg", 2, name)


@folder("leapGestRecog: gestures below ten people, all of it again two folders deeper", "advised")
def _(tree):
    """kaggle.com/datasets/gti-upm/leapgestrecog."""
    for person in ("00", "01", "02"):
        for place, name in enumerate(("01_palm", "02_l", "03_fist"), 1):
            tree.images(f"leapGestRecog/{person}/{name}/frame_{person}_0{place}_000{{}}.png", 2, name)
    copied(tree, "leapgestrecog")


@folder("10 monkey species: training/training/n0, validation/validation/n0, monkey_labels.txt of names in columns")
def _(tree):
    """kaggle.com/datasets/slothkong/10-monkey-species."""
    names = ("n0", "n1", "n2")
    pattern = "{part}/{part}/{name}/{name}0{}8.jpg"
    parts(tree, pattern, names, {("training", "train"): 4, ("validation", "validation"): 2})
    rows = "Label, Latin Name              , Common Name                   , Train Images , Validation Images\n"
    for name, latin, common in zip(
        names,
        ("alouatta_palliata\t", "erythrocebus_patas\t", "cacajao_calvus\t"),
        ("mantled_howler", "patas_monkey", "bald_uakari"),
        strict=True,
    ):
        rows += f"{name}   , {latin:22}, {common:30}, 131          , 26\n"
    tree.text("monkey_labels.txt", rows)


@folder("GTZAN: images_original of genres, genres_original of .wav, tables of features with a label")
def _(tree):
    """kaggle.com/datasets/andradaolteanu/gtzan-dataset-music-genre-classification."""
    rows = "filename,length,chroma_stft_mean,tempo,label\n"
    for name in ("blues", "classical", "jazz"):
        for number in range(4):
            tree.image(f"Data/images_original/{name}/{name}0000{number}.png", name)
            tree.files[f"Data/genres_original/{name}/{name}.0000{number}.wav"] = b"RIFF\x24\x00\x00\x00WAVEfmt "
            rows += f"{name}.0000{number}.wav,661794,0.35{number},123.0{number},{name}\n"
    for seconds in (3, 30):
        tree.text(f"Data/features_{seconds}_sec.csv", rows)


@folder("peripheral blood cells: eight classes, and .DS_169665.jpg among them")
def _(tree):
    """data.mendeley.com/datasets/snkd93bnjr: the hidden file is in neutrophil, as it is downloaded."""
    for name in ("basophil", "eosinophil", "neutrophil", "platelet"):
        tree.images(f"PBC_dataset_normal_DIB/{name}/{name[:2].upper()}_10{{}}7.jpg", 4, name)
    tree.unlearnt("PBC_dataset_normal_DIB/neutrophil/.DS_169665.jpg")


@folder("BACH: Photos of classes with a table of the same, WSI with thumbnails, a test beside it")
def _(tree):
    """iciar2018-challenge.grand-challenge.org; microscopy_ground_truth.csv has no header."""
    rows = ""
    for name, short in (("Benign", "b"), ("InSitu", "is"), ("Invasive", "iv"), ("Normal", "n")):
        for number in range(1, 4):
            tree.image(f"ICIAR2018_BACH_Challenge/Photos/{name}/{short}00{number}.tif", name)
            rows += f"{short}00{number}.tif,{name}\n"
    tree.text("ICIAR2018_BACH_Challenge/Photos/microscopy_ground_truth.csv", rows)
    for number in (1, 2):
        tree.files[f"ICIAR2018_BACH_Challenge/WSI/A0{number}.svs"] = b"II*\x00" + bytes(32)
        tree.text(f"ICIAR2018_BACH_Challenge/WSI/A0{number}.xml", "<Annotations><Annotation/></Annotations>\n")
        tree.unlearnt(f"ICIAR2018_BACH_Challenge/WSI/gt_thumbnails/A0{number}.png")
        tree.unlearnt(f"ICIAR2018_BACH_Challenge_TestDataset/Photos/test{number}.tif")


@folder("CIFAKE: train and test of REAL and FAKE, names with a blank and a number in brackets")
def _(tree):
    """kaggle.com/datasets/birdy654/cifake-real-and-ai-generated-synthetic-images."""
    parts(tree, "{part}/{name}/0{}00 (4).jpg", ("FAKE", "REAL"), {("train", "train"): 5, ("test", "test"): 2})


@folder("VisDA-2017: train and validation of classes with image_list.txt each, test/trunk00 without labels")
def _(tree):
    """github.com/VisionLearningGroup/taskcv-2017-public: a line is a path and a number."""
    for part, stem, ending, count in (("train", "src_1_02691156", "png", 4), ("validation", "val", "jpg", 2)):
        lines = ""
        for label, name in enumerate(("aeroplane", "bicycle", "bus")):
            for path in tree.images(f"{part}/{name}/{stem}_{label}{{}}.{ending}", count, name, part):
                lines += f"{path.removeprefix(f'{part}/')} {label}\n"
        tree.text(f"{part}/image_list.txt", lines)
    paths = [f"trunk0{number // 2}/{number}.jpg" for number in range(4)]
    for path in paths:
        tree.unlearnt(f"test/{path}")
    tree.text("test/image_list.txt", "".join(f"{path}\n" for path in paths))


@folder("KTH-TIPS2-b: materials with sample_a to sample_d")
def _(tree):
    """csc.kth.se/cvap/databases/kth-tips."""
    for number, name in enumerate(("aluminium_foil", "brown_bread", "corduroy"), 15):
        for sample in "abcd":
            tree.images(f"KTH-TIPS2-b/{name}/sample_{sample}/{number}{sample}-scale_2_im_{{}}_col.png", 2, name)


@folder("Flickr Material Database: image/<class> and mask/<class> with the same names", "advised")
def _(tree):
    """people.csail.mit.edu/celiu/CVPR2010/FMD: black and white JPEG drawings of what is material."""
    from .masks import classes, coloured

    for name in ("fabric", "foliage", "glass"):
        for number in range(1, 5):
            path = f"{name}/{name}_moderate_00{number}_new.jpg"
            tree.image(f"FMD/image/{path}", name)
            tree.drawing(f"FMD/mask/{path}", coloured(classes(number, 2)), quality=95)
    tree.text("FMD/readme.txt", "Flickr Material Database\n")


@folder("ObjectNet: images by class, mappings of JSON to other names and to ImageNet")
def _(tree):
    """objectnet.dev; github.com/abarbu/objectnet-challenge-doc."""
    names = {"air_freshener": "Air freshener", "alarm_clock": "Alarm clock", "backpack": "Backpack"}
    for name in names:
        tree.images(f"objectnet-1.0/images/{name}/0a1b2c3d4e5f6{{}}a.png", 4, name)
    below = "objectnet-1.0/mappings"
    tree.text(f"{below}/folder_to_objectnet_label.json", json.dumps(names))
    pairs = {"Alarm clock": "analog clock; digital clock", "Backpack": "backpack, back pack, knapsack"}
    tree.text(f"{below}/objectnet_to_imagenet_1k.json", json.dumps(pairs))
    tree.text(f"{below}/pytorch_to_imagenet_2012_id.json", json.dumps({"409": 530, "531": 530, "414": 414}))
    tree.text(f"{below}/imagenet_to_label_2012_v2", "tench, Tinca tinca\ngoldfish, Carassius auratus\n")
    tree.text("objectnet-1.0/README", "ObjectNet\nImages may not be used to tune parameters.\n")


@folder("Udacity's flower_data: train, valid and test of numbers, cat_to_name.json beside them")
def _(tree):
    """github.com/udacity/aipnd-project: cat_to_name.json says what a number means."""
    names = {"1": "pink primrose", "10": "globe thistle", "102": "blackberry lily"}
    for part, split, count in (("train", "train", 4), ("valid", "validation", 2), ("test", "test", 2)):
        for number in names:
            tree.images(f"flower_data/{part}/{number}/image_0{len(part)}7{{}}4.jpg", count, number, split)
    tree.text("cat_to_name.json", json.dumps({"21": "fire lily"} | names))


@folder("AffectNet on Kaggle: folders of feelings, labels.csv of an index, pth and another label for some", "advised")
def _(tree):
    """kaggle.com/datasets/noamsegal/affectnet-training-data: the folder is what people train on."""
    rows, names = ",pth,label,relFCs\n", ("anger", "contempt", "happy", "surprise")
    for place, name in enumerate(names):
        for number in range(5):
            path = tree.image(f"{name}/image000{place}{number}06.jpg", name)
            label = names[(place + 3) % 4] if number == 3 else name
            rows += f"{5 * place + number},{path},{label},0.87314{number}\n"
    tree.text("labels.csv", rows)


@folder("cat breeds: images/<breed>/<id>_<number>.jpg, data/cats.csv of adverts with a breed each")
def _(tree):
    """kaggle.com/datasets/ma7555/cat-breeds-dataset."""
    rows = ",id,url,type,species,age,gender,size,coat,breed,photos\n"
    for place, name in enumerate(("Abyssinian", "American Bobtail", "Domestic Short Hair")):
        for number in range(4):
            ident = 20195182 + 1000 * place + number
            tree.image(f"images/{name}/{ident}_{166 + number}.jpg", name)
            if number != 2:
                url, size = f"https://www.petfinder.com/cat/{ident}/", "Medium,Short"
                photos = "[{'small': 'https://photos.petfinder.com/1/?width=100'}]"
                rows += f'{4 * place + number},{ident},{url},Cat,Cat,Adult,Male,{size},{name},"{photos}"\n'
    tree.text("data/cats.csv", rows)


@folder("DermNet: train and test of diseases whose names end in Photos")
def _(tree):
    """kaggle.com/datasets/shubhamgoel27/dermnet."""
    names = ("Acne and Rosacea Photos", "Eczema Photos", "Nail Fungus and other Nail Disease")
    parts(tree, "{part}/{name}/07Acne0811{}1.jpg", names, {("train", "train"): 4, ("test", "test"): 2})


@folder("sign language digits: Dataset/0 to 9, and one example of each digit in Examples")
def _(tree):
    """github.com/ardamavi/Sign-Language-Digits-Dataset."""
    for digit in range(5):
        tree.images(f"Dataset/{digit}/IMG_111{{}}.JPG", 3, str(digit))
        tree.unlearnt(f"Examples/example_{digit}.JPG")
    tree.text("README.md", "# Sign Language Digits Dataset\n## Turkey Ankara Ayranci Anadolu High School\n")
    tree.text("LICENSE", "Creative Commons Attribution-ShareAlike 4.0\n")


@folder("fisheries: train of eight codes, test_stg1 flat, sample_submission_stg1.csv of shares")
def _(tree):
    """kaggle.com/competitions/the-nature-conservancy-fisheries-monitoring."""
    names = ("ALB", "BET", "DOL", "NoF", "OTHER")
    parts(tree, "train/{name}/img_0{}003.jpg", names, {("train", "train"): 3})
    rows = f"image,{','.join(names)}\n"
    for number in range(3):
        tree.unlearnt(f"test_stg1/img_9000{number}.jpg")
        rows += f"img_9000{number}.jpg,0.455003,0.052938,0.030969,0.123081,0.079142\n"
    tree.text("sample_submission_stg1.csv", rows)


@folder(
    "cervical cancer: train twice in itself, additional_Type_1_v2 of more of the same classes, a test",
    "advised",
)
def _(tree):
    """kaggle.com/competitions/intel-mobileodt-cervical-cancer-screening."""
    rows = "image_name,Type_1,Type_2,Type_3\n"
    for name in ("Type_1", "Type_2", "Type_3"):
        tree.images(f"train/train/{name}/{name[-1]}{{}}.jpg", 3, name)
        tree.images(f"additional_{name}_v2/{name}/{name[-1]}{{}}.jpg", 2, name)
    for number in range(3):
        tree.unlearnt(f"test/test/{number}.jpg")
        rows += f"{number}.jpg,0.1688,0.52728,0.30392\n"
    tree.text("sample_submission.csv", rows)


@folder("MRL eyes: s0001/s0001_00001_0_0_1_0_0_01.png, the fifth part is whether the eye is open", "advised")
def _(tree):
    """mrl.cs.vsb.cz/eyedataset: annotation.txt explains the parts of a name."""
    for person in (1, 2):
        for number in range(1, 9):
            state = number % 2
            stem = f"s000{person}_0000{number}_{person - 1}_0_{state}_{number // 3}_{number // 5}_0{person}"
            tree.image(f"mrlEyes_2018_01/s000{person}/{stem}.png", str(state))
    text = "subject ID;\nimage ID;\ngender [0 - man, 1 - woman];\nglasses [0 - no, 1 - yes];\n"
    text += "eye state [0 - closed, 1 - open];\nreflections [0 - none, 1 - small, 2 - big];\n"
    tree.text("mrlEyes_2018_01/annotation.txt", f"{text}lighting conditions [0 - bad, 1 - good];\nsensor ID\n")


@folder("multi-class weather: dataset2 of cloudy1.jpg, rain1.jpg, shine1.jpg and sunrise1.jpg", "advised")
def _(tree):
    """data.mendeley.com/datasets/4drtyfjtfy."""
    for name in ("cloudy", "rain", "shine", "sunrise"):
        tree.images(f"dataset2/{name}1{{}}.jpg", 4, name)


@folder("hymenoptera_data: train and val of ants and bees")
def _(tree):
    """pytorch.org/tutorials/beginner/transfer_learning_tutorial."""
    pattern = "hymenoptera_data/{part}/{name}/2{}8758510_6206789e07.jpg"
    parts(tree, pattern, ("ants", "bees"), {("train", "train"): 5, ("val", "validation"): 3})


@folder("PlantNet-300K: images by split and species number, JSON of their names, metadata of each image")
def _(tree):
    """github.com/plantnet/PlantNet-300K; zenodo.org/records/4726653."""
    names = {
        "1355868": "Lactuca virosa L.",
        "1355920": "Pelargonium capitatum (L.) L'Hér.",
        "1356003": "Cirsium arvense",
    }
    notes = {}
    for (part, split), count in zip(SPLITS, (4, 2, 2), strict=True):
        for species in names:
            pattern = f"images/{part}/{species}/{part[0]}0a1b2c{species[-2:]}{{}}.jpg"
            for path in tree.images(pattern, count, species, split):
                own = {"obs_id": "1008726402", "license": "cc-by-sa", "organ": "flower", "species_id": species}
                notes[path.rpartition("/")[2].removesuffix(".jpg")] = own | {"split": part, "author": "A."}
    tree.text("plantnet300K_metadata.json", json.dumps(notes))
    tree.text("plantnet300K_species_id_2_name.json", json.dumps(names))


@folder("InsightFace's faces_emore: train.rec, train.idx, property and .bin of pairs", "refused")
def _(tree):
    """github.com/deepinsight/insightface: images in MXNet's RecordIO."""
    tree.files["faces_emore/train.rec"] = b"\x0a\x23\xd7\xce" + bytes(64)
    tree.text("faces_emore/train.idx", "0\t0\n1\t80\n2\t9516\n")
    tree.text("faces_emore/property", "85742,112,112\n")
    for name in ("lfw", "cfp_fp", "agedb_30"):
        tree.files[f"faces_emore/{name}.bin"] = b"\x80\x03]q\x00" + bytes(32)
