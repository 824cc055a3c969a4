"""Class folders of public datasets, after the loaders of torchvision and TFDS and starter notebooks of Kaggle."""

from .tree import folder


@folder("SUN397: classes below folders of their first letter, lists of ten partitions")
def _(tree):
    for name in ("abbey", "airport_terminal", "barn", "cafeteria"):
        tree.images(f"SUN397/{name[0]}/{name}/sun_a{name[1]}{{:04}}.jpg", 3, name)
    tree.text("SUN397/ClassName.txt", "/a/abbey\n/a/airport_terminal\n/b/barn\n/c/cafeteria\n")
    tree.text("SUN397/README.txt", "SUN database\n")


@folder("Country211: train, valid and test of country codes")
def _(tree):
    for split, own in (("train", "train"), ("valid", "validation"), ("test", "test")):
        for name in ("AD", "NO", "ZA"):
            tree.images(f"country211/{split}/{name}/{split}{name}{{}}.jpg", 2, name, own)


@folder("Places365: train and val with lists of the same")
def _(tree):
    for split, own in (("train", "train"), ("val", "validation")):
        rows = ""
        for label, name in enumerate(("airfield", "bakery")):
            for path in tree.images(f"places365_standard/{split}/{name}/{split}{{:05}}{label}.jpg", 3, name, own):
                rows += f"{path.partition('/')[2]}\n"
        tree.text(f"places365_standard/{split}.txt", rows)


@folder("FGVC Aircraft: three kinds of labels in lists", "advised")
def _(tree):
    rows = {}
    place = 0
    for own in ("train", "val", "test"):
        for variant, family, maker in (("707-320", "Boeing 707", "Boeing"), ("A310", "A310", "Airbus")):
            for _ in range(2):
                path = f"fgvc-aircraft-2013b/data/images/{place:07}.jpg"
                tree.image(path, variant, {"val": "validation"}.get(own, own))
                for kind, label in (("variant", variant), ("family", family), ("manufacturer", maker)):
                    rows.setdefault(f"{kind}_{own}", []).append(f"{place:07} {label}\n")
                place += 1
    for kind, lines in rows.items():
        tree.text(f"fgvc-aircraft-2013b/data/images_{kind}.txt", "".join(lines))
    tree.text("fgvc-aircraft-2013b/data/variants.txt", "707-320\nA310\n")


@folder("ImageNet of Kaggle: train of synsets, val and test without labels", "advised")
def _(tree):
    for name in ("n01440764", "n01443537"):
        tree.images(f"ILSVRC/Data/CLS-LOC/train/{name}/{name}_{{}}.JPEG", 3, name, "train")
    for number in range(2):
        tree.unlearnt(f"ILSVRC/Data/CLS-LOC/val/ILSVRC2012_val_{number:08}.JPEG")
        tree.unlearnt(f"ILSVRC/Data/CLS-LOC/test/ILSVRC2012_test_{number:08}.JPEG")
    tree.text("LOC_synset_mapping.txt", "n01440764 tench, Tinca tinca\nn01443537 goldfish, Carassius auratus\n")


@folder("iNaturalist 2021: folders of the whole taxonomy and a JSON without boxes")
def _(tree):
    names = ("00000_Animalia_Annelida_Lumbricus_terrestris", "00001_Animalia_Chordata_Turdus_merula")
    for name in names:
        tree.images(f"train_mini/{name}/{name[:5]}-{{}}.jpg", 3, name, "train")
        tree.images(f"val/{name}/{name[:5]}-v{{}}.jpg", 2, name, "validation")


@folder("Stanford Online Products: folders of kinds, lists with product numbers", "advised")
def _(tree):
    rows = {"train": "", "test": ""}
    rows = dict.fromkeys(rows, "image_id class_id super_class_id path\n")
    place = 0
    for kind, name in enumerate(("bicycle_final", "chair_final"), 1):
        for number in range(4):
            own = "train" if number < 2 else "test"
            tree.image(f"Stanford_Online_Products/{name}/{kind}{number}_0.JPG", name, own)
            place += 1
            rows[own] += f"{place} {place} {kind} {name}/{kind}{number}_0.JPG\n"
    for own, text in rows.items():
        tree.text(f"Stanford_Online_Products/Ebay_{own}.txt", text)


@folder("Geirhos: images of two classes each, in folders of one")
def _(tree):
    for name, other in (("airplane", "bicycle"), ("bicycle", "cat"), ("cat", "airplane")):
        tree.images(f"style-transfer-preprocessed-512/{name}/{name}{{}}-{other}1.png", 3, name)


@folder("Kather: tiles in class folders, and a folder of whole slides beside", "advised")
def _(tree):
    for name in ("01_TUMOR", "02_STROMA", "08_EMPTY"):
        tree.images(f"Kather_texture_2016_image_tiles_5000/{name}/1A4_CRC_{{}}.tif", 3, name)
    for number in range(2):
        tree.unlearnt(f"Kather_texture_2016_larger_images_10/CRC-Prim-HE-{number:02}.tif")


@folder("malaria: cell_images with a copy of itself and Thumbs.db")
def _(tree):
    for name in ("Parasitized", "Uninfected"):
        for path in tree.images(f"cell_images/{name}/C33P1_{name[0]}{{}}.png", 3, name):
            tree.files[f"cell_images/{path}"] = tree.files[path]
        tree.text(f"cell_images/{name}/Thumbs.db", "thumbs")


@folder("horse-or-human and validation-horse-or-human in one folder")
def _(tree):
    for name in ("horses", "humans"):
        tree.images(f"horse-or-human/{name}/{name}{{:02}}-1.png", 3, name, "train")
        tree.images(f"validation-horse-or-human/{name}/{name}{{}}-v.png", 2, name, "validation")


@folder("Devanagari: characters and digits as classes")
def _(tree):
    for split, own in (("Train", "train"), ("Test", "test")):
        for name in ("character_1_ka", "character_2_kha", "digit_0", "digit_1"):
            tree.images(f"DevanagariHandwrittenCharacterDataset/{split}/{name}/{split}{{}}.png", 2, name, own)


@folder("beans: train/train, validation/validation, test/test")
def _(tree):
    for split in ("train", "validation", "test"):
        for name in ("angular_leaf_spot", "bean_rust", "healthy"):
            tree.images(f"{split}/{split}/{name}/{name}_{split}.{{}}.jpg", 2, name, split)


@folder("100 sports: splits, a table that repeats them, and a model")
def _(tree):
    rows = "class id,filepaths,labels,data set\n"
    for split, own in (("train", "train"), ("valid", "validation"), ("test", "test")):
        for label, name in enumerate(("air hockey", "archery")):
            for path in tree.images(f"{split}/{name}/{split}{{:03}}.jpg", 2, name, own):
                rows += f"{label},{path},{name},{split}\n"
    tree.text("sports.csv", rows)
    tree.text("EfficientNetB0-100-(224 X 224)- 98.40.h5", "HDF")


@folder("Animals-10: raw-img with Italian names and translate.py")
def _(tree):
    for name in ("cane", "cavallo", "gatto"):
        tree.images(f"raw-img/{name}/OIF-e2bexW{name[0]}{{}}.jpeg", 3, name)
    tree.text("translate.py", 'translate = {"cane": "dog", "cavallo": "horse", "gatto": "cat"}\n')


@folder("ASL alphabet: train twice in itself, test of one image a class in one folder")
def _(tree):
    for name in ("A", "B", "del", "nothing", "space"):
        tree.images(f"asl_alphabet_train/asl_alphabet_train/{name}/{name}{{}}.jpg", 3, name, "train")
        tree.unlearnt(f"asl_alphabet_test/asl_alphabet_test/{name}_test.jpg")


@folder("DomainNet: domains with lists of labels each", "advised")
def _(tree):
    for domain in ("clipart", "sketch"):
        for name in ("aircraft_carrier", "zebra"):
            tree.images(f"{domain}/{name}/{domain}_{name[0]}{{:04}}.jpg", 3, name)


@folder("PACS: kfold with domains of the same classes", "advised")
def _(tree):
    for domain in ("art_painting", "cartoon", "photo"):
        for name in ("dog", "elephant"):
            tree.images(f"PACS/kfold/{domain}/{name}/pic_{domain[0]}{{:03}}.jpg", 2, name)


@folder("CORe50: sessions with the same objects", "advised")
def _(tree):
    for session in ("s1", "s2"):
        for name in ("o1", "o2", "o3"):
            tree.images(f"core50_128x128/{session}/{name}/C_0{session[1]}_0{name[1]}_{{:03}}.png", 2, name)


@folder("Chars74K: GoodImg/Bmp and BadImag/Bmp with the same samples", "advised")
def _(tree):
    for kind in ("GoodImg", "BadImag"):
        for name in ("Sample001", "Sample002"):
            tree.images(f"English/Img/{kind}/Bmp/{name}/img{name[-3:]}-{kind[0]}{{:05}}.png", 2, name)


@folder("COIL-100: object and angle in the file name", "advised")
def _(tree):
    for name in ("obj1", "obj2", "obj13"):
        for angle in (0, 5, 10):
            tree.image(f"coil-100/{name}__{angle}.png", name)
    tree.text("coil-100/convertGroupppm2png.pl", "#!/usr/bin/perl\n")


@folder("OCT2017: a wrapper with a blank at its end, four classes")
def _(tree):
    for split, own in (("train", "train"), ("val", "validation"), ("test", "test")):
        for name in ("CNV", "DME", "DRUSEN", "NORMAL"):
            tree.images(f"OCT2017 /{split}/{name}/{name}-{split}-{{}}.jpeg", 2, name, own)


@folder("NABirds-like: numbered folders and classes.txt with names")
def _(tree):
    for number in ("0817", "0860"):
        tree.images(f"nabirds/images/{number}/{number}a{{}}.jpg", 3, number)
    tree.text("nabirds/classes.txt", "817 Oldsquaw\n860 Least Grebe\n")
