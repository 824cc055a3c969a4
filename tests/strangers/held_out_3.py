"""Folders of shops, documents, machines, courses and disks, gathered after the code that reads folders was written."""

import json
import unicodedata

from .masks import classes, grey
from .packed import packed, seven_zipped
from .tree import folder

SPLITS = (("train", "train"), ("val", "validation"), ("test", "test"))


# --- scores and shops
@folder("KonIQ-10k: counts of scores, their mean and its deviation", "advised")
def _(tree):
    rows = '"image_name","c1","c2","c3","c4","c5","c_total","MOS","SD","MOS_zscore"\n'
    for number in range(6):
        tree.image(f"512x384/1000418{number}.jpg", 3.5 + number / 8)
        rows += f'"1000418{number}.jpg",0,0,25,73,7,105,{3.5 + number / 8},0.52,{70.5 + number}\n'
    tree.text("koniq10k_scores_and_distributions.csv", rows)


@folder("Shopee: train.csv with a title and a group of products, test_images")
def _(tree):
    rows = "posting_id,image,image_phash,title,label_group\n"
    for number in range(9):
        group = ("249114794", "2937985045", "2395904891")[number % 3]
        tree.image(f"train_images/0000a68812bc{number}.jpg", group, "train")
        rows += f'train_{number},0000a68812bc{number}.jpg,94974f937d4c{number},"Paper Bag, Victoria {number}",{group}\n'
    tree.text("train.csv", rows)
    tree.unlearnt("test_images/0006c8e5462a.jpg")
    tree.text("test.csv", "posting_id,image,image_phash,title\ntest_1,0006c8e5462a.jpg,eec,Judul\n")
    tree.text("sample_submission.csv", "posting_id,matches\ntest_1,test_1\n")


@folder("H&M: images by the first digits of their numbers, articles.csv of names and codes", "advised")
def _(tree):
    rows = "article_id,product_code,prod_name,product_type_no,product_type_name,product_group_name,detail_desc\n"
    for number in range(8):
        kind = ("Vest top", "Bra")[number % 2]
        stem = f"0{10 + number % 3}8775{number:03}"
        tree.image(f"images/{stem[:3]}/{stem}.jpg", kind)
        rows += f'{stem},{stem[1:7]},Strap top {number},{253 + number % 2},{kind},Garment,"Jersey top, narrow"\n'
    tree.text("articles.csv", rows)


@folder("clothing: images.csv of names without endings, images_original and images_compressed", "advised")
def _(tree):
    rows = "image,sender_id,label,kids\n"
    for number in range(8):
        label = ("Polo", "Shoes", "Not sure", "T-Shirt")[number % 4]
        stem = f"4285fab0-751a-4b74-8e9b-43af05deee2{number}"
        tree.image(f"images_original/{stem}.jpg", label)
        tree.unlearnt(f"images_compressed/{stem}.jpg")
        rows += f"{stem},124,{label},False\n"
    tree.text("images.csv", rows)


# --- documents and symbols
@folder("handwritten names: FILENAME and IDENTITY, a table and a folder in a folder for each split")
def _(tree):
    names = ("BALTHAZAR", "SIMON", "BENES")
    for part, name, split in (("train", "TRAIN", "train"), ("validation", "VALIDATION", "validation")):
        rows = "FILENAME,IDENTITY\n"
        for number in range(6):
            tree.image(f"{part}_v2/{part}/{name}_{number:05}.jpg", names[number % 3], split)
            rows += f"{name}_{number:05}.jpg,{names[number % 3]}\n"
        tree.text(f"written_name_{part}_v2.csv", rows)


@folder("IAM words: words by form and line, words.txt that begins with remarks", "refused")
def _(tree):
    lines = "#--- words.txt ---------------------------------------------------------------#\n#\n# iam database\n#\n"
    for place, form in enumerate(("a01-000u", "a01-003", "b02-045")):
        for number, word in enumerate(("A", "MOVE", "to")):
            stem = f"{form}-00-0{number}"
            tree.image(f"iam_words/words/{form[:3]}/{form}/{stem}.png", word)
            lines += f"{stem} ok 154 {408 + place} {768 + number} 27 51 AT {word}\n"
    tree.text("iam_words/words.txt", lines)


@folder("MJSynth: annotation_train.txt of ./2425/1/115_Lube_45484.jpg 2, lexicon.txt")
def _(tree):
    words = ("Lube", "mayor", "STREET")
    lists = {"train": "", "val": "", "test": ""}
    for number in range(12):
        label = number % 3
        part, split = SPLITS[0] if number < 6 else SPLITS[1] if number < 9 else SPLITS[2]
        path = f"{2425 + number % 2}/{number % 4}/{number}_{words[label]}_{label}.jpg"
        tree.image(f"mnt/ramdisk/max/90kDICT32px/{path}", str(label), split)
        lists[part] += f"./{path} {label}\n"
    for part, lines in lists.items():
        tree.text(f"mnt/ramdisk/max/90kDICT32px/annotation_{part}.txt", lines)
    tree.text("mnt/ramdisk/max/90kDICT32px/lexicon.txt", "".join(f"{word.lower()}\n" for word in words))


@folder("HASYv2: labels with numbers and LaTeX, folds in tables of paths with ../../", "advised")
def _(tree):
    symbols = ((31, "A"), (70, "\\pi"), (87, "\\int"))
    head, rows = "path,symbol_id,latex,user_id\n", []
    for number in range(9):
        symbol, latex = symbols[number % 3]
        tree.image(f"hasy-data/v2-0000{number}.png", latex)
        rows.append(f"hasy-data/v2-0000{number}.png,{symbol},{latex},{50 + number % 2}\n")
    tree.text("hasy-data-labels.csv", head + "".join(rows))
    for fold in (1, 2):
        below = f"classification-task/fold-{fold}"
        up = [f"../../{row}" for row in rows]
        tree.text(f"{below}/train.csv", head + "".join(up[3:]))
        tree.text(f"{below}/test.csv", head + "".join(up[:3]))
    tree.text("symbols.csv", "symbol_id,latex,training_samples\n31,A,142\n70,\\pi,150\n87,\\int,90\n")
    tree.text("README.txt", "HASYv2\n")


@folder("handwritten mathematics: classes named !, (, comma, + and ascii_124")
def _(tree):
    for name in ("!", "(", ",", "+", "=", "alpha", "ascii_124", "forward_slash", "0"):
        tree.images(f"extracted_images/{name}/{name}_{{}}5.jpg", 2, name)


# --- machines
@folder("TIG welding: frames by part, and train.json of paths to numbers in each split")
def _(tree):
    for part, split in (("train", "train"), ("test", "test")):
        labels = {}
        for place, name in enumerate(("170904-113012-Al 2mm-part1", "170906-144007-Al 2mm-part2")):
            for number in range(3):
                path, label = f"{name}/frame_{number:05}.png", (place + number) % 3
                tree.image(f"al5083/{part}/{path}", str(label), split)
                labels[path] = label
        tree.text(f"al5083/{part}/{part}.json", json.dumps(labels))


@folder(
    "solar cells: labels.csv of a path, a share and a kind, in columns of blanks without a header",
    "advised",
)
def _(tree):
    rows = ""
    for number in range(1, 9):
        share = (0.0, 0.3333333333333333, 0.6666666666666666, 1.0)[number % 4]
        tree.image(f"src/elpv_dataset/data/images/cell{number:04}.png", share)
        rows += f"images/cell{number:04}.png  {share:<20}  {('mono', 'poly')[number % 2]}\n"
    tree.text("src/elpv_dataset/data/labels.csv", rows)
    tree.text("README.md", "# A Benchmark for Visual Identification of Defective Solar Cells\n")
    tree.text("setup.py", "from setuptools import setup\n")


@folder(
    "VisA: objects with Normal and Anomaly, masks of the latter, split_csv of three protocols",
    "advised",
)
def _(tree):
    head, rows = "object,split,label,image,mask\n", {"1cls": "", "2cls_fewshot": ""}
    for thing in ("candle", "pcb1"):
        notes = "image,label,mask\n"
        for kind, number in (("Normal", 0), ("Normal", 1), ("Normal", 2), ("Anomaly", 0), ("Anomaly", 1)):
            split = "train" if kind == "Normal" and number < 2 else "test"
            path = f"{thing}/Data/Images/{kind}/{number:03}.JPG"
            tree.image(path, kind.lower(), split)
            mask = f"{thing}/Data/Masks/Anomaly/{number:03}.png" if kind == "Anomaly" else ""
            if mask:
                tree.drawing(mask, grey(classes(number, 2)))
            rows["1cls"] += f"{thing},{split},{kind.lower()},{path},{mask}\n"
            rows["2cls_fewshot"] += f"{thing},{'train' if number else 'test'},{kind.lower()},{path},{mask}\n"
            notes += f"{path},{kind.lower()},{mask}\n"
        tree.text(f"{thing}/image_anno.csv", notes)
    for name, lines in rows.items():
        tree.text(f"split_csv/{name}.csv", head + lines)


@folder("Edge Impulse: training/cat.1.jpg, testing, info.labels with category and label")
def _(tree):
    files = []
    for part, split, count in (("training", "train", 4), ("testing", "test", 2)):
        for label in ("cat", "dog"):
            for number in range(count):
                name = f"{label}.{number}.4b2k1"
                tree.image(f"{part}/{name}.jpg", label, split)
                one = {"path": f"{part}/{name}.jpg", "name": name, "category": part, "enabled": True}
                files.append(one | {"label": {"type": "label", "label": label}, "metadata": {}})
    tree.text("info.labels", json.dumps({"version": 1, "files": files}))


# --- competitions and courses
@folder("fast.ai's MNIST_SAMPLE: train/3, train/7, valid, and labels.csv that calls them 0 and 1")
def _(tree):
    rows = "name,label\n"
    for part, split, count in (("train", "train", 4), ("valid", "validation", 2)):
        for label, digit in enumerate("37"):
            for path in tree.images(f"mnist_sample/{part}/{digit}/74{{}}3.png", count, digit, split):
                rows += f"{path.partition('/')[2]},{label}\n"
    tree.text("mnist_sample/labels.csv", rows)


@folder("fast.ai's PASCAL 2007: train.csv of fname, labels separated by blanks, is_valid")
def _(tree):
    rows = "fname,labels,is_valid\n"
    kinds = ("car", "chair", "horse", "person")
    for number in range(40):
        labels = (kinds[number % 4], kinds[number // 4 % 3])[: 1 + (number % 4 != number // 4 % 3 and number % 3 > 0)]
        late = number > 29
        tree.image(f"pascal_2007/train/0000{number:02}.jpg", labels, "validation" if late else "train")
        rows += f"0000{number:02}.jpg,{' '.join(labels)},{late}\n"
    tree.text("pascal_2007/train.csv", rows)
    rows = "fname,labels\n"
    for number in range(2):
        tree.image(f"pascal_2007/test/00900{number}.jpg", ("car", "person"), "test")
        rows += f"00900{number}.jpg,car person\n"
    tree.text("pascal_2007/test.csv", rows)


@folder("Kaggle's CIFAR-10: train.7z, test.7z, trainLabels.csv, sampleSubmission.csv")
def _(tree):
    rows = "id,label\n"
    for number in range(1, 10):
        label = ("frog", "truck", "deer")[number % 3]
        tree.image(f"train/{number}.png", label, "train")
        rows += f"{number},{label}\n"
    tree.files["train.7z"] = packed(tree, "train/", seven_zipped)
    for number in range(1, 4):
        tree.unlearnt(f"test/{number}.png")
    tree.files["test.7z"] = packed(tree, "test/", seven_zipped)
    tree.text("trainLabels.csv", rows)
    tree.text("sampleSubmission.csv", "id,label\n1,cat\n2,cat\n3,cat\n")


@folder("folds in a column: train_folds.csv of image_id, label and kfold beside train_images")
def _(tree):
    rows = ",image_id,label,kfold\n"
    for number in range(10):
        label = ("healthy", "rust", "scab")[number % 3]
        tree.image(f"train_images/{number:04}.jpg", label)
        rows += f"{number},{number:04}.jpg,{label},{number % 5}\n"
    tree.text("train_folds.csv", rows)


@folder("a notebook's train.csv and val.csv: an index, paths of Colab, numbers for the class folders")
def _(tree):
    names = ("daisy", "rose", "tulip")
    tables = {"train": ",filepath,label\n", "val": ",filepath,label\n"}
    for label, name in enumerate(names):
        for number in range(4):
            part, split = SPLITS[int(number == 3)]
            tree.image(f"flowers/{name}/{number}_{name}.jpg", name, split)
            tables[part] += f"{10 * label + number},/content/drive/MyDrive/flowers/{name}/{number}_{name}.jpg,{label}\n"
    for part, rows in tables.items():
        tree.text(f"{part}.csv", rows)


# --- disks
@folder("albums of an iPhone: .MOV and .AAE beside each .JPG, IMG_E for what was edited")
def _(tree):
    for album in ("Roses", "Tulips"):
        for number in range(4):
            stem = f"{album}/IMG_{2001 + number}"
            tree.image(f"{stem}.JPG", album)
            tree.text(f"{stem}.MOV", f"\x00\x00\x00\x14ftypqt  {number}")
        tree.image(f"{album}/IMG_E2001.JPG", album)
        tree.text(f"{album}/IMG_2001.AAE", "<?xml version='1.0'?><plist version='1.0'></plist>")


@folder("a chat of Telegram: photos/ with a small picture of each, result.json, messages.html", "advised")
def _(tree):
    messages = []
    for number in range(1, 6):
        path = tree.image(f"ChatExport_2024-05-01/photos/photo_{number}@01-05-2024_10-00-0{number}.jpg")
        messages.append({"id": number, "type": "message", "photo": path.partition("/")[2], "width": 24, "text": ""})
    tree.text("ChatExport_2024-05-01/result.json", json.dumps({"name": "Family", "messages": messages}))
    tree.text("ChatExport_2024-05-01/messages.html", "<html><img src='images/back.png'></html>")


@folder("a Mac's folder of umlauts in two parts, and a German table that has them in one")
def _(tree):
    rows = "Datei;Klasse\n"
    for number in range(8):
        label = ("Äpfel", "Käse", "Nüsse")[number % 3]
        tree.image(unicodedata.normalize("NFD", f"Fotos/{label} {number}.jpg"), label)
        rows += f"{label} {number}.jpg;{label}\n"
    tree.text("Übersicht.csv", rows, "utf-8-sig")


@folder("Portuguese: treino, validação, teste")
def _(tree):
    for part, split, count in (("treino", "train", 4), ("validação", "validation", 2), ("teste", "test", 2)):
        for label in ("maçã", "pêra", "uva"):
            tree.images(f"frutas/{part}/{label}/{label} ({{}}).jpg", count, label, split)


@folder("Japanese: 学習用, 検証用, テスト用")
def _(tree):
    for part, split, count in (("学習用", "train", 4), ("検証用", "validation", 2), ("テスト用", "test", 2)):
        for label in ("犬", "猫"):
            tree.images(f"画像/{part}/{label}/{label}{{}}.jpg", count, label, split)


@folder("train/cat, train/dog, and the unlabelled images in test/images")
def _(tree):
    for label in ("cat", "dog", "horse"):
        tree.images(f"data/train/{label}/{label}{{}}.jpg", 4, label, "train")
    for number in range(3):
        tree.unlearnt(f"data/test/images/{number}.jpg")


@folder("a folder of results: class folders, confusion.png, loss.png and a model beside them")
def _(tree):
    for label in ("ok", "scratch", "dent"):
        tree.images(f"parts/{label}/{label}{{}}.bmp", 4, label)
    for name in ("confusion_matrix", "loss"):
        tree.unlearnt(f"parts/{name}.png")
    tree.text("parts/model.h5", "\x89HDF")
    tree.text("parts/train.py", "import keras\n")
    tree.text("parts/history.csv", "epoch,loss,accuracy\n0,0.7,0.5\n1,0.4,0.8\n")
