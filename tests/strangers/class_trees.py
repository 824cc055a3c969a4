"""Class folders as they are distributed, and as they lie on disks."""

from .tree import folder

PETS = ("cat", "dog", "horse")


@folder("class folders, plain")
def _(tree):
    for name in PETS:
        tree.images(f"{name}/{name}_{{}}.jpg", 4, name)


@folder("Caltech-101: a wrapper and a folder of background")
def _(tree):
    for name in ("accordion", "airplanes", "BACKGROUND_Google"):
        tree.images(f"caltech-101/101_ObjectCategories/{name}/image_{{:04}}.jpg", 4, name)


@folder("Caltech-256: numbered class folders and one of clutter")
def _(tree):
    for name in ("001.ak47", "002.american-flag", "257.clutter"):
        tree.images(f"256_ObjectCategories/{name}/{name[:3]}_{{:04}}.jpg", 4, name)


@folder("Stanford Dogs: Images/ with synset folders and VOC-like annotations without an ending")
def _(tree):
    for name in ("n02085620-Chihuahua", "n02085782-Japanese_spaniel"):
        for number in range(3):
            file = f"{name[:9]}_{number}"
            tree.image(f"Images/{name}/{file}.jpg", name)
            tree.text(f"Annotation/{name}/{file}", "<annotation><folder>x</folder></annotation>")


@folder("Intel image classification: seg_train twice")
def _(tree):
    for name in ("buildings", "forest", "sea"):
        tree.images(f"seg_train/seg_train/{name}/{{}}.jpg", 4, name, "train")
        tree.images(f"seg_test/seg_test/{name}/9{{}}.jpg", 2, name, "test")
    for number in range(3):
        tree.unlearnt(f"seg_pred/seg_pred/{number}.jpg")


@folder("chest_xray: a copy inside, and system files of a Mac")
def _(tree):
    for split, own in (("train", "train"), ("test", "test"), ("val", "validation")):
        for name in ("NORMAL", "PNEUMONIA"):
            paths = tree.images(f"chest_xray/{split}/{name}/{split}-{{}}.jpeg", 4, name, own)
            for path in paths:
                tree.files[f"chest_xray/chest_xray/{path.partition('/')[2]}"] = tree.files[path]
            tree.text(f"chest_xray/__MACOSX/{split}/{name}/._{split}-0.jpeg", "Mac OS X")


@folder("cats and dogs, filtered: a script beside splits")
def _(tree):
    for split, own in (("train", "train"), ("validation", "validation")):
        for name in ("cats", "dogs"):
            tree.images(f"cats_and_dogs_filtered/{split}/{name}/{name[:-1]}.{split}{{}}.jpg", 4, name, own)
    tree.text("cats_and_dogs_filtered/vectorize.py", "import os\n")


@folder("PetImages: Cat and Dog with a Thumbs.db each, readme and licence")
def _(tree):
    for name in ("Cat", "Dog"):
        tree.images(f"PetImages/{name}/{{}}.jpg", 4, name)
        tree.text(f"PetImages/{name}/Thumbs.db", "thumbs")
    tree.text("readme[1].txt", "Read me\n")
    tree.text("MSR-LA - 3467.docx", "licence")


@folder("Dogs vs Cats: labels in file names, test images without")
def _(tree):
    for name in ("cat", "dog"):
        tree.images(f"train/{name}.{{}}.jpg", 5, name, "train")
    for number in range(1, 5):
        tree.unlearnt(f"test/{number}.jpg")
    tree.text("sampleSubmission.csv", "id,label\n1,0\n2,0\n3,0\n4,0\n")


@folder("animals in groups: animals/cat, plants/rose, all inner names different", "advised")
def _(tree):
    for group, names in (("animals", ("cat", "dog")), ("plants", ("rose", "tulip"))):
        for name in names:
            tree.images(f"{group}/{name}/{name}{{}}.jpg", 3, name)


@folder("CIFAR-100 as folders: superclass and class", "advised")
def _(tree):
    for group, names in (("fish", ("ray", "shark")), ("people", ("baby", "boy")), ("trees", ("oak", "palm"))):
        for name in names:
            tree.images(f"train/{group}/{name}/{name}{{}}.png", 3, name, "train")
            tree.images(f"test/{group}/{name}/{name}t{{}}.png", 2, name, "test")


@folder("lung_colon_image_set: two organs, their classes below", "advised")
def _(tree):
    for group, names in (("colon_image_sets", ("colon_aca", "colon_n")), ("lung_image_sets", ("lung_aca", "lung_n"))):
        for name in names:
            tree.images(f"lung_colon_image_set/{group}/{name}/{name}{{}}.jpeg", 3, name)


@folder("Office-31: domains that repeat the classes", "advised")
def _(tree):
    for domain in ("amazon", "dslr", "webcam"):
        for name in ("back_pack", "bike", "mug"):
            tree.images(f"{domain}/{name}/{domain}_{{:04}}.jpg", 2, name)


@folder("Office-31 as it is packed: images/ in each domain", "advised")
def _(tree):
    for domain in ("amazon", "dslr", "webcam"):
        for name in ("back_pack", "bike", "mug"):
            tree.images(f"domain_adaptation_images/{domain}/images/{name}/{domain}_{{:04}}.jpg", 2, name)


@folder("Omniglot: alphabets with characters of the same names", "advised")
def _(tree):
    for alphabet in ("Balinese", "Greek", "Latin"):
        for number in (1, 2):
            name = f"character{number:02}"
            tree.images(f"images_background/{alphabet}/{name}/{alphabet}{number}_{{:02}}.png", 2, alphabet)


@folder("classes with images/ inside")
def _(tree):
    for name in PETS:
        tree.images(f"data/{name}/images/{name}{{}}.jpg", 3, name)


@folder("Tiny ImageNet: train with images/ and boxes, val in one folder with a table")
def _(tree):
    names = ("n01443537", "n01629819")
    for name in names:
        tree.images(f"tiny-imagenet-200/train/{name}/images/{name}_{{}}.jpg", 4, name, "train")
        rows = "".join(f"{name}_{number}.jpg\t0\t1\t9\t9\n" for number in range(4))
        tree.text(f"tiny-imagenet-200/train/{name}/{name}_boxes.txt", rows)
    rows = ""
    for number in range(4):
        tree.image(f"tiny-imagenet-200/val/images/val_{number}.jpg", names[number % 2], "validation")
        rows += f"val_{number}.jpg\t{names[number % 2]}\t0\t1\t9\t9\n"
    tree.text("tiny-imagenet-200/val/val_annotations.txt", rows)
    for number in range(3):
        tree.unlearnt(f"tiny-imagenet-200/test/images/test_{number}.jpg")
    tree.text("tiny-imagenet-200/wnids.txt", "".join(f"{name}\n" for name in names))
    tree.text("tiny-imagenet-200/words.txt", "n01443537\tgoldfish\nn01629819\tsalamander\n")


@folder("imagenette: noisy labels in a table that repeats the folders")
def _(tree):
    rows = "path,noisy_labels_0,noisy_labels_1,is_valid\n"
    for split, own in (("train", "train"), ("val", "validation")):
        for name in ("n01440764", "n02102040"):
            for path in tree.images(f"imagenette2/{split}/{name}/{name}_{split}{{}}.JPEG", 3, name, own):
                rows += f"{path.partition('/')[2]},{name},{name},{split == 'val'}\n"
    tree.text("imagenette2/noisy_imagenette.csv", rows)


@folder("fruits-360: Training and Test, a folder for papers and one of several fruits")
def _(tree):
    for split, own in (("Training", "train"), ("Test", "test")):
        for name in ("Apple Braeburn", "Banana", "Cherry 1"):
            tree.images(f"fruits-360/{split}/{name}/{split}{{}}_100.jpg", 3, name, own)
    for number in range(2):
        tree.unlearnt(f"fruits-360/test-multiple_fruits/apple_{number}.jpg")
        tree.unlearnt(f"fruits-360/papers/figure{number}.jpg")


@folder("PlantVillage: the same tree twice, once as plantvillage/PlantVillage")
def _(tree):
    for name in ("Pepper__bell___healthy", "Tomato_Early_blight"):
        for path in tree.images(f"PlantVillage/{name}/{{}}.JPG", 3, name):
            tree.files[f"PlantVillage/PlantVillage/{path.partition('/')[2]}"] = tree.files[path]


@folder("The Simpsons: simpsons_dataset twice, a test set with names in the files")
def _(tree):
    names = ("bart_simpson", "homer_simpson")
    for name in names:
        for path in tree.images(f"simpsons_dataset/{name}/pic_{{:04}}.jpg", 3, name, "train"):
            tree.files[f"simpsons_dataset/{path}"] = tree.files[path]
        for number in range(2):
            tree.unlearnt(f"kaggle_simpson_testset/kaggle_simpson_testset/{name}_{number}.jpg")
    tree.text("annotation.txt", "./characters/bart_simpson/pic_0000.jpg,57,72,52,72,bart_simpson\n")


@folder("rock, paper, scissors: rps and rps-test-set")
def _(tree):
    for name in ("rock", "paper", "scissors"):
        tree.images(f"rps/{name}/{name}{{}}.png", 3, name, "train")
        tree.images(f"rps-test-set/{name}/test{name}{{}}.png", 2, name, "test")


@folder("a project: docs, runs and src beside data")
def _(tree):
    for name in PETS:
        tree.images(f"data/{name}/{name}{{}}.jpg", 4, name)
    tree.unlearnt("docs/figure.png")
    tree.unlearnt("docs/results.png")
    tree.unlearnt("runs/exp1/confusion_matrix.png")
    tree.text("src/train.py", "print(1)\n")
    tree.text("README.md", "# pets\n")
    tree.text("requirements.txt", "numpy\n")


@folder("photographs of a phone, by year and month", "advised")
def _(tree):
    for year in ("2019", "2020", "2021"):
        for month in ("01", "07"):
            tree.images(f"{year}/{month}/IMG_{year}{month}{{:02}}.jpg", 2)


@folder("folders of dates", "advised")
def _(tree):
    for day in ("2021-03-01", "2021-03-02", "2021-03-05"):
        tree.images(f"{day}/DSC{day[-2:]}{{:02}}.jpg", 3)


@folder("FFHQ: folders of numeric ranges", "advised")
def _(tree):
    for start in ("00000", "01000", "02000"):
        tree.images(f"{start}/{start[:3]}{{:02}}.png", 3)


@folder("MNIST as folders of digits")
def _(tree):
    for split, own in (("training", "train"), ("testing", "test")):
        for digit in "0123456789":
            tree.images(f"mnist_png/{split}/{digit}/{split}{{}}.png", 2, digit, own)


@folder("GTSRB: numbered classes with a table each, and a flat test with its table")
def _(tree):
    head = "Filename;Width;Height;Roi.X1;Roi.Y1;Roi.X2;Roi.Y2;ClassId\n"
    for label in ("00000", "00001", "00014"):
        rows = head
        for number in range(3):
            tree.image(f"GTSRB/Final_Training/Images/{label}/{number:05}_0.png", label, "train")
            rows += f"{number:05}_0.png;24;20;5;5;18;18;{int(label)}\n"
        tree.text(f"GTSRB/Final_Training/Images/{label}/GT-{label}.csv", rows)


@folder("Flowers: jpg/ with labels in a .mat file only", "refused")
def _(tree):
    tree.images("jpg/image_{:05}.jpg", 6)
    tree.files["imagelabels.mat"] = b"MATLAB 5.0 MAT-file, Platform: PCWIN" + bytes(100)
    tree.files["setid.mat"] = b"MATLAB 5.0 MAT-file, Platform: PCWIN" + bytes(100)


@folder("Oxford pets: Abyssinian_1.jpg, classes in file names and lists")
def _(tree):
    names = ("Abyssinian", "american_bulldog", "yorkshire_terrier")
    lists = {"trainval": "", "test": ""}
    for number, name in enumerate(names):
        for index in range(4):
            own = "trainval" if index < 3 else "test"
            tree.image(f"images/{name}_{index}.jpg", name, "train" if own == "trainval" else "test")
            lists[own] += f"{name}_{index} {number + 1} {1 + (name[0] == 'a')} {index}\n"
    for own, rows in lists.items():
        tree.text(f"annotations/{own}.txt", rows)
    head = "#Image CLASS-ID SPECIES BREED ID\n#ID: 1:37 Class ids\n"
    tree.text("annotations/list.txt", head + lists["trainval"] + lists["test"])


@folder("UTKFace: age_gender_race_date in the name", "advised")
def _(tree):
    for age in range(7, 27):
        gender, race = age % 2, age % 5
        tree.image(f"UTKFace/{age}_{gender}_{race}_20170116{age:02}.jpg.chip.jpg", str(gender))
    tree.unlearnt("UTKFace/61_1_20170109142408075.jpg.chip.jpg")


@folder("Market-1501: identity and camera in the name", "advised")
def _(tree):
    for person in ("0002", "0007", "0010"):
        for camera in (1, 2):
            tree.image(f"bounding_box_train/{person}_c{camera}s1_000451_03.jpg", person, "train")
    for person in ("0001", "0003"):
        tree.image(f"bounding_box_test/{person}_c1s1_001051_00.jpg", person, "test")
        tree.image(f"query/{person}_c2s1_000301_00.jpg", person, "test")


@folder("classes that end in a blank, and that differ by case")
def _(tree):
    for name in ("cat", "dog", "Horse"):
        tree.images(f"{name}/{name}{{}}.jpg", 3, name)


@folder("two copies of a class: cat and cat - Copy")
def _(tree):
    for name in PETS:
        tree.images(f"{name}/{name}{{}}.jpg", 3, name)
    for number in range(3):
        tree.files[f"cat - Copy/cat{number}.jpg"] = tree.files[f"cat/cat{number}.jpg"]


@folder("train and test with one class each inside another: Train/Real, Train/Fake, real_and_fake", "right")
def _(tree):
    for split, own in (("Train", "train"), ("Test", "test"), ("Validation", "validation")):
        for name in ("Fake", "Real"):
            tree.images(f"Dataset/{split}/{name}/{split}_{name}_{{}}.jpg", 3, name, own)


@folder("folds of cross validation")
def _(tree):
    for fold in range(1, 4):
        for name in ("benign", "malignant"):
            tree.images(f"fold{fold}/{name}/{fold}{name}{{}}.png", 2, name)


@folder("BreakHis: benign/SOB/adenosis/patient/40X", "advised")
def _(tree):
    for kind, tumours in (("benign", ("adenosis", "fibroadenoma")), ("malignant", ("ductal_carcinoma",))):
        for tumour in tumours:
            for patient in ("22549AB", "29960CD"):
                for zoom in ("40X", "100X"):
                    path = f"breast/{kind}/SOB/{tumour}/SOB_{tumour[0]}_{patient}/{zoom}/{patient}-{zoom}-{{}}.png"
                    tree.images(path, 1, kind)


@folder("captures of a webcam: class folders with session folders inside")
def _(tree):
    for name in ("fist", "palm"):
        for session in ("session1", "session2"):
            tree.images(f"gestures/{name}/{session}/{name}{session}{{}}.png", 2, name)


@folder("LFW: one person a folder, few images each")
def _(tree):
    for name, count in (("Aaron_Eckhart", 1), ("Abdullah_Gul", 3), ("Zico", 2)):
        tree.images(f"lfw/{name}/{name}_{{:04}}.jpg", count, name)


@folder("EuroSAT: class folders and lists of splits over them")
def _(tree):
    rows = {"train": ",Filename,Label,ClassName\n", "validation": "", "test": ""}
    rows = dict.fromkeys(rows, rows["train"])
    place = 0
    for label, name in enumerate(("AnnualCrop", "Forest", "River")):
        for number in range(6):
            own = ("train", "train", "train", "train", "validation", "test")[number]
            tree.image(f"EuroSAT/{name}/{name}_{number}.jpg", name, own)
            rows[own] += f"{place},{name}/{name}_{number}.jpg,{label},{name}\n"
            place += 1
    for own, text in rows.items():
        tree.text(f"EuroSAT/{own}.csv", text)
    tree.text("EuroSAT/label_map.json", '{"AnnualCrop": 0, "Forest": 1, "River": 2}')


@folder("TrashNet: one-indexed lists of splits over class folders")
def _(tree):
    lists = {"train": "", "val": "", "test": ""}
    for label, name in enumerate(("glass", "metal", "paper")):
        for number in range(1, 7):
            own = ("train", "train", "train", "train", "val", "test")[number - 1]
            tree.image(f"dataset-resized/{name}/{name}{number}.jpg", name, {"val": "validation"}.get(own, own))
            lists[own] += f"{name}{number}.jpg {label + 1}\n"
    for own, text in lists.items():
        tree.text(f"one-indexed-files-notrash_{own}.txt", text)
    tree.text("zero-indexed-files.txt", "".join(lists.values()).replace(" 1\n", " 0\n"))


@folder("MIT Indoor 67: Images/ and TrainImages.txt, TestImages.txt")
def _(tree):
    lists = {"Train": "", "Test": ""}
    for name in ("airport_inside", "bakery", "bar"):
        for number in range(4):
            own = "Train" if number < 3 else "Test"
            tree.image(f"Images/{name}/{name}_{number}.jpg", name, own.lower())
            lists[own] += f"{name}/{name}_{number}.jpg\n"
    for own, text in lists.items():
        tree.text(f"{own}Images.txt", text)


@folder("NIH chest X-rays: images_001/images, Data_Entry_2017.csv and two lists of splits")
def _(tree):
    rows, lists = "Image Index,Finding Labels,Follow-up #,Patient ID,View Position\n", {"train": "", "test": ""}
    for number, labels in enumerate(("Cardiomegaly", "Cardiomegaly|Effusion", "No Finding", "Effusion") * 2):
        own = "train" if number < 6 else "test"
        name = f"{number:08}_000.png"
        tree.image(f"images_00{1 + number // 4}/images/{name}", tuple(labels.split("|")), own)
        rows += f"{name},{labels},0,{number},PA\n"
        lists[own] += f"{name}\n"
    tree.text("Data_Entry_2017.csv", rows)
    tree.text("train_val_list.txt", lists["train"])
    tree.text("test_list.txt", lists["test"])


@folder("DTD: images/<class>, labels/train1.txt … of ten folds", "advised")
def _(tree):
    lists = {f"{own}{fold}": "" for own in ("train", "val", "test") for fold in (1, 2)}
    for name in ("banded", "blotchy"):
        for number in range(6):
            tree.image(f"dtd/images/{name}/{name}_{number:04}.jpg", name)
            for fold in (1, 2):
                own = ("train", "val", "test")[(number + fold) % 3]
                lists[f"{own}{fold}"] += f"{name}/{name}_{number:04}.jpg\n"
    for own, text in lists.items():
        tree.text(f"dtd/labels/{own}.txt", text)


@folder("Food-101: images/<class> and meta/train.txt without endings")
def _(tree):
    lists = {"train": "", "test": ""}
    for name in ("apple_pie", "sushi"):
        for number in range(4):
            own = "train" if number < 3 else "test"
            tree.image(f"food-101/images/{name}/{1000 + number}.jpg", name, own)
            lists[own] += f"{name}/{1000 + number}\n"
    for own, text in lists.items():
        tree.text(f"food-101/meta/{own}.txt", text)
    tree.text("food-101/meta/classes.txt", "apple_pie\nsushi\n")
    tree.text("food-101/meta/labels.txt", "Apple pie\nSushi\n")
    tree.text("food-101/README.txt", "Food-101\n")


@folder("style_val.csv: lists of splits beside folders of painters")
def _(tree):
    lists = {"train": "", "val": ""}
    for label, name in enumerate(("Cubism", "Realism")):
        for number in range(4):
            own = "train" if number < 3 else "val"
            path = f"{name}/painter_{name}_{number}.jpg"
            tree.image(f"wikiart/{path}", name, {"val": "validation"}.get(own, own))
            lists[own] += f"{path},{label}\n"
    for own, text in lists.items():
        tree.text(f"wikiart/style_{own}.csv", text)
    tree.text("wikiart/style_class.txt", "0 Cubism\n1 Realism\n")
