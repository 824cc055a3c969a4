"""Tables of labels, public, of programs and of people's disks, gathered by somebody who had not read the code."""

import json

from .held_out_5b import workbook
from .tree import folder


# --- public tables
@folder(
    "LEGO minifigures: index.csv of path, class_id and train-valid, metadata.csv of the classes, test.csv",
)
def _(tree):
    """kaggle.com/datasets/ihelon/lego-minifigures-classification: metadata.csv is in cp1252, names are of sets."""
    index, test, row = ",path,class_id,train-valid\n", ",path,class_id\n", 0
    names = ("marvel/0001", "star-wars/0001", "jurassic-world/0001")
    for ident, below in enumerate(names, 1):
        for number in range(1, 6):
            part = "valid" if number == 5 else "train"
            path = tree.image(f"{below}/00{number}.jpg", str(ident), "validation" if part == "valid" else part)
            index += f"{row},{path},{ident},{part}\n"
            row += 1
        path = tree.image(f"test/00{ident}.jpg", str(ident), "test")
        test += f"{ident - 1},{path},{ident}\n"
    tree.text("index.csv", index)
    tree.text("test.csv", test)
    rows = ",class_id,lego_ids,lego_names,minifigure_name\n"
    rows += "0,1,[76115],['Spider Mech vs. Venom'],SPIDER-MAN\n"
    rows += "1,2,\"[75249, 75258]\",\"['Resistance Y-Wing', 'Anakin’s Podracer – 20th Anniversary']\",ANAKIN\n"
    tree.text("metadata.csv", f"{rows}2,3,[75936],['T. rex Rampage'],OWEN GRADY\n", "cp1252")


@folder("UBC-OCEAN: train.csv of image_id, label, sizes and is_tma, train_images and train_thumbnails of both parts")
def _(tree):
    """kaggle.com/competitions/UBC-OCEAN: tissue microarrays have no thumbnail."""
    rows, test = "image_id,label,image_width,image_height,is_tma\n", "image_id,image_width,image_height\n"
    for number, name in enumerate(("HGSC", "LGSC", "EC", "CC", "MC") * 2):
        ident, array = 4 + 62 * number, number == 7
        tree.image(f"train_images/{ident}.png", name, "train")
        if not array:
            tree.unlearnt(f"train_thumbnails/{ident}_thumbnail.png")
        rows += f"{ident},{name},{23785 + number},20008,{array}\n"
    tree.unlearnt("test_images/41.png")
    tree.unlearnt("test_thumbnails/41_thumbnail.png")
    tree.text("train.csv", rows)
    tree.text("test.csv", f"{test}41,28469,16987\n")
    tree.text("sample_submission.csv", "image_id,label\n41,HGSC\n")


@folder("Happywhale: train.csv of image, species and individual_id, train_images, test_images", "advised")
def _(tree):
    """kaggle.com/competitions/happy-whale-and-dolphin: sample_submission.csv asks for individuals."""
    rows, species = "image,species,individual_id\n", ("melon_headed_whale", "humpback_whale", "bottlenose_dolphin")
    for number in range(9):
        individual = ("cadddb1636b9", "1a71fbb72250", "60008f293a2b", "4b00fe572063")[number % 4]
        path = tree.image(f"train_images/00021adfb725{number:02}.jpg", individual, "train")
        rows += f"{path.removeprefix('train_images/')},{species[number % 4 % 3]},{individual}\n"
    tree.text("train.csv", rows)
    for number in range(2):
        tree.unlearnt(f"test_images/000110707af0{number}.jpg")
    tree.text("sample_submission.csv", "image,predictions\n000110707af00.jpg,37c7aba965a5 114207cab555\n")


@folder("Pokemon: images/images/<name>.png and .jpg, pokemon.csv of Name, Type1, Type2 and Evolution", "advised")
def _(tree):
    """kaggle.com/datasets/vishalsubbiah/pokemon-images-and-types: names have no ending, Type2 is often empty."""
    rows = "Name,Type1,Type2,Evolution\n"
    for name, ending, kind, second, later in (
        ("abomasnow", "png", "Grass", "Ice", ""),
        ("abra", "png", "Psychic", "", "kadabra"),
        ("araquanid", "jpg", "Water", "Bug", ""),
        ("bulbasaur", "png", "Grass", "Poison", "ivysaur"),
        ("espurr", "png", "Psychic", "", "meowstic-male"),
        ("golisopod", "jpg", "Bug", "Water", ""),
        ("mr-mime", "png", "Psychic", "Fairy", ""),
        ("squirtle", "png", "Water", "", "wartortle"),
    ):
        tree.image(f"images/images/{name}.{ending}", kind)
        rows += f"{name},{kind},{second},{later}\n"
    tree.text("pokemon.csv", rows)


@folder(
    "Chinese MNIST: input_1_1_10.jpg of suite, sample and code, a table of the three and the character",
    "advised",
)
def _(tree):
    """kaggle.com/datasets/gpreda/chinese-mnist: the class is the last number of a name, too."""
    rows = "suite_id,sample_id,code,value,character\n"
    for suite in (1, 2):
        for code, value, character in ((10, 9, "九"), (11, 10, "十"), (12, 100, "百")):
            for sample in (1, 2):
                tree.image(f"data/data/input_{suite}_{sample}_{code}.jpg", str(code))
                rows += f"{suite},{sample},{code},{value},{character}\n"
    tree.text("chinese_mnist.csv", rows)


@folder("horse2zebra: trainA, trainB, testA and testB, metadata.csv of image_id, domain, split and image_path")
def _(tree):
    """kaggle.com/datasets/balraj98/horse2zebra-dataset; people.eecs.berkeley.edu/~taesung_park/CycleGAN/datasets."""
    rows = "image_id,domain,split,image_path\n"
    for part, count in (("train", 4), ("test", 2)):
        for letter, name, synset in (("A", "A (Horse)", "n02381460"), ("B", "B (Zebra)", "n02391049")):
            for number in range(count):
                stem = f"{synset}_{count}0{number}1"
                path = tree.image(f"{part}{letter}/{stem}.jpg", name, part)
                rows += f"{stem},{name},{part},{path}\n"
    tree.text("metadata.csv", rows)


# --- exports of labelling tools
@folder("doccano: all.jsonl of id, filename, a list of one label and no comments, the photographs")
def _(tree):
    """github.com/doccano/doccano: export of an image classification project."""
    lines = ""
    for number in range(1, 9):
        name = ("crate", "pallet", "empty")[number % 3]
        path = tree.image(f"photos/dock_{number:03}.jpg", name)
        line = {"id": number, "filename": path.removeprefix("photos/"), "label": [name], "Comments": []}
        lines += json.dumps(line) + "\n"
    tree.text("all.jsonl", lines)


@folder(
    "Label Studio's CSV of several choices: a word, or JSON of choices, and uploads with eight digits in front",
)
def _(tree):
    """labelstud.io/guide/export, CSV; labelstud.io/tags/choices with choice="multiple"."""
    rows = "annotation_id,annotator,choice,created_at,id,image,lead_time,updated_at\n"
    for number in range(1, 9):
        names = (("rust",), ("rust", "dent"), ("dent",), ("dent", "scratch"))[number % 4]
        tree.image(f"photos/IMG_100{number}.jpg", names)
        cell = names[0] if len(names) == 1 else json.dumps({"choices": names}).replace('"', '""')
        cell = cell if len(names) == 1 else f'"{cell}"'
        upload, time = (
            f"/data/upload/4/{0x1A2B3C4D * number % 16**8:08x}-IMG_100{number}.jpg",
            "2025-02-03T10:11:12.013Z",
        )
        rows += f"{number},2,{cell},{time},{200 + number},{upload},7.{number}2,{time}\n"
    tree.text("project-4-at-2025-02-03-10-12-0a1b2c3d.csv", rows)


# --- people's own disks
@folder(
    "Excel's CSV UTF-8: a mark in front, an empty column and rows of commas at the end, two photographs deleted",
    "advised",
)
def _(tree):
    """Save as, CSV UTF-8: cells that were once filled stay as commas."""
    rows = "Photo,Condition,\r\n"
    for number in range(1, 11):
        name = ("good", "worn", "broken")[number % 3]
        if number not in (4, 9):
            tree.image(f"photos/P10100{number:02}.JPG", name)
        rows += f"P10100{number:02}.JPG,{name},\r\n"
    tree.text("photos/list.csv", f"{rows},,\r\n,,\r\n", "utf-8-sig")


@folder("two raters and what they agreed on: image, rater1, rater2, consensus", "advised")
def _(tree):
    """A study of X-rays; the consensus is the label."""
    rows = "image,rater1,rater2,consensus\n"
    for number in range(1, 10):
        first, second = ("normal", "mild", "severe")[number % 3], ("normal", "mild", "severe")[number % 4 % 3]
        name = first if number % 2 else second
        tree.image(f"images/case{number:02}.png", name)
        rows += f"case{number:02}.png,{first},{second},{name}\n"
    tree.text("ratings.csv", rows)


@folder("Google's sheet: Labels - Sheet1.csv of No., Filename, Class, Labelled by and Date")
def _(tree):
    """File, Download, Comma-separated values: the name of the sheet follows that of the file."""
    rows = "No.,Filename,Class,Labelled by,Date\n"
    for number in range(1, 10):
        name = ("Aphid", "Mite", "Thrips")[number % 3]
        tree.image(f"Trap photos/IMG_{2200 + number}.jpeg", name)
        rows += f"{number},IMG_{2200 + number}.jpeg,{name},{('Kim', 'Lee')[number % 2]},{number}/6/2024\n"
    tree.text("Labels - Sheet1.csv", rows)


@folder("fish on a board: photo, weight_g and length_cm of each", "advised")
def _(tree):
    """Weights are to be learnt; a length is in the table, too."""
    rows = "photo,weight_g,length_cm\n"
    for number in range(1, 10):
        tree.image(f"photos/fish{number:03}.jpg", 410.5 + 20 * number)
        rows += f"fish{number:03}.jpg,{410.5 + 20 * number},{31.2 + number}\n"
    tree.text("weights.csv", rows)


@folder("a Chinese table of Excel: 文件名 and 类别 in GBK, beside the pictures")
def _(tree):
    """Excel on a Chinese Windows saves CSV in cp936."""
    rows = "文件名,类别\r\n"
    for number in range(1, 9):
        name = ("合格", "划痕", "凹陷")[number % 3]
        tree.image(f"图片/{number:03}.jpg", name)
        rows += f"{number:03}.jpg,{name}\r\n"
    tree.text("标签.csv", rows, "cp936")


@folder("an Excel sheet of crosses: photo, rust, crack and flaking with x where it applies")
def _(tree):
    """Bridges inspected by hand; a photograph may show several kinds of damage or none."""
    rows = [("photo", "rust", "crack", "flaking")]
    for number in range(1, 10):
        marks = (number % 2 == 0, number % 3 == 0, number % 4 == 1)
        names = tuple(name for name, mark in zip(rows[0][1:], marks, strict=True) if mark)
        tree.image(f"photos/bridge_{number:02}.jpg", names)
        rows.append((f"bridge_{number:02}.jpg", *("x" if mark else None for mark in marks)))
    workbook(tree, "damage.xlsx", *rows)
