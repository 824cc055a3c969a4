"""Tables, lists and JSON beside images, as they are distributed."""

import json

from .tree import folder

BREEDS = ("beagle", "boxer", "pug")


@folder("Kaggle's dog breeds: labels.csv with stems, train/ and an unlabelled test/")
def _(tree):
    rows = "id,breed\n"
    for number in range(6):
        tree.image(f"train/{number:08x}.jpg", BREEDS[number % 3], "train")
        rows += f"{number:08x},{BREEDS[number % 3]}\n"
    tree.text("labels.csv", rows)
    for number in range(3):
        tree.unlearnt(f"test/{number:08x}f.jpg")
    tree.text("sample_submission.csv", "id,beagle,boxer,pug\n" + "".join(f"{n:08x}f,0,0,0\n" for n in range(3)))


@folder("cassava: train.csv, train_images/ and label_num_to_disease_map.json")
def _(tree):
    names = {0: "Bacterial Blight", 1: "Brown Streak", 2: "Healthy"}
    rows = "image_id,label\n"
    for number in range(6):
        tree.image(f"train_images/{1000 + number}.jpg", names[number % 3], "train")
        rows += f"{1000 + number}.jpg,{number % 3}\n"
    tree.text("train.csv", rows)
    tree.text("label_num_to_disease_map.json", json.dumps(names))
    tree.unlearnt("test_images/2216849948.jpg")
    tree.text("sample_submission.csv", "image_id,label\n2216849948.jpg,4\n")


@folder("Google Landmarks: train.csv with ids, images in folders by the first characters")
def _(tree):
    rows = "id,landmark_id\n"
    for number in range(6):
        name = f"{number}a{number}b{number:04x}"
        tree.image(f"train/{name[0]}/{name[1]}/{name[2]}/{name}.jpg", str(9000 + number % 2), "train")
        rows += f"{name},{9000 + number % 2}\n"
    tree.text("train.csv", rows)


@folder("JSON: class to files")
def _(tree):
    found = {}
    for name in BREEDS:
        found[name] = [path.partition("/")[2] for path in tree.images(f"images/{name[:2]}_{{}}.jpg", 3, name)]
    tree.text("labels.json", json.dumps(found))


@folder("JSON: file to label")
def _(tree):
    found = {}
    for name in BREEDS:
        found |= {path.partition("/")[2]: name for path in tree.images(f"images/{name[:2]}_{{}}.jpg", 3, name)}
    tree.text("labels.json", json.dumps(found))


@folder("JSON: records under data")
def _(tree):
    found = []
    for name in BREEDS:
        found += [{"image": path, "label": name} for path in tree.images(f"images/{name[:2]}_{{}}.jpg", 3, name)]
    tree.text("dataset.json", json.dumps({"version": "1.0", "data": found}))


@folder("StyleGAN's dataset.json: labels of pairs")
def _(tree):
    found = []
    for label in (0, 1):
        found += [[path, label] for path in tree.images(f"0000{label}/img{label}{{}}.png", 3, str(label))]
    tree.text("dataset.json", json.dumps({"labels": found}))


@folder("images.txt and labels.txt line by line")
def _(tree):
    paths, labels = [], []
    for number in range(6):
        paths.append(tree.image(f"images/pic{number}.jpg", BREEDS[number % 3]).partition("/")[2])
        labels.append(BREEDS[number % 3])
    tree.text("images.txt", "\n".join(paths) + "\n")
    tree.text("labels.txt", "\n".join(labels) + "\n")


@folder("CUB-200-2011: numbered images.txt, image_class_labels.txt, train_test_split.txt", "right")
def _(tree):
    names = ("001.Black_footed_Albatross", "002.Laysan_Albatross")
    images = labels = splits = boxes = ""
    place = 0
    for label, name in enumerate(names, 1):
        for number in range(4):
            place += 1
            own = number < 3
            tree.image(f"CUB_200_2011/images/{name}/{name[4:]}_{number}.jpg", name, "train" if own else "test")
            images += f"{place} {name}/{name[4:]}_{number}.jpg\n"
            labels += f"{place} {label}\n"
            splits += f"{place} {int(own)}\n"
            boxes += f"{place} 2.0 3.0 10.0 10.0\n"
    tree.text("CUB_200_2011/images.txt", images)
    tree.text("CUB_200_2011/image_class_labels.txt", labels)
    tree.text("CUB_200_2011/train_test_split.txt", splits)
    tree.text("CUB_200_2011/bounding_boxes.txt", boxes)
    tree.text("CUB_200_2011/classes.txt", "".join(f"{n} {name}\n" for n, name in enumerate(names, 1)))


@folder("FiftyOne: data/ and labels.json")
def _(tree):
    labels = {}
    for number in range(6):
        tree.image(f"data/{number:06}.jpg", BREEDS[number % 3])
        labels[f"{number:06}"] = number % 3
    tree.text("labels.json", json.dumps({"classes": list(BREEDS), "labels": labels}))


@folder("a metadata.csv of cameras beside class folders")
def _(tree):
    rows = "file_name,camera,exposure\n"
    for name in BREEDS:
        for path in tree.images(f"{name}/{name}_{{}}.jpg", 3, name):
            rows += f"{path},Canon,0.01\n"
    tree.text("metadata.csv", rows)


@folder("ISIC: a ground truth with one column for each class")
def _(tree):
    rows = "image,MEL,NV,BCC\n"
    names = ("MEL", "NV", "BCC")
    for number in range(9):
        tree.image(f"ISIC_2019_Training_Input/ISIC_{number:07}.jpg", names[number % 3])
        rows += f"ISIC_{number:07}," + ",".join("1.0" if n == number % 3 else "0.0" for n in range(3)) + "\n"
    tree.text("ISIC_2019_Training_GroundTruth.csv", rows)


@folder("HAM10000: two parts of images and a metadata table with several columns", "advised")
def _(tree):
    rows = "lesion_id,image_id,dx,dx_type,age,sex,localization\n"
    names = ("bkl", "mel", "nv")
    for number in range(9):
        tree.image(f"HAM10000_images_part_{1 + number // 5}/ISIC_{24306 + number:07}.jpg", names[number % 3])
        rows += f"HAM_{number // 2:07},ISIC_{24306 + number:07},{names[number % 3]},histo,{45 + number % 3},male,back\n"
    tree.text("HAM10000_metadata.csv", rows)


@folder("a table of Excel in Germany: semicolons, cp1252, decimal commas")
def _(tree):
    rows = "Datei;Größe;Klasse\n"
    for number in range(6):
        name = ("Käfer", "Blüte")[number % 2]
        tree.image(f"Bilder/bild{number}.jpg", name)
        rows += f"bild{number}.jpg;{number},5;{name}\n"
    tree.text("tabelle.csv", rows, "cp1252")


@folder("a table with blanks after the commas")
def _(tree):
    rows = "filename, label\n"
    for number in range(6):
        tree.image(f"images/pic{number}.jpg", BREEDS[number % 3])
        rows += f"pic{number}.jpg, {BREEDS[number % 3]}\n"
    tree.text("labels.csv", rows)


@folder("annotations.txt with a header")
def _(tree):
    rows = "image_name label\n"
    for number in range(6):
        tree.image(f"images/pic{number}.jpg", BREEDS[number % 3])
        rows += f"pic{number}.jpg {BREEDS[number % 3]}\n"
    tree.text("annotations.txt", rows)


@folder("paths of a Windows machine")
def _(tree):
    rows = "path,label\n"
    for number in range(6):
        tree.image(f"images/pic{number}.jpg", BREEDS[number % 3])
        rows += f"C:\\Users\\anna\\project\\images\\pic{number}.jpg,{BREEDS[number % 3]}\n"
    tree.text("labels.csv", rows)


@folder("paths of another machine")
def _(tree):
    rows = "path,label\n"
    for number in range(6):
        tree.image(f"images/pic{number}.jpg", BREEDS[number % 3])
        rows += f"/home/anna/work/images/pic{number}.jpg,{BREEDS[number % 3]}\n"
    tree.text("labels.csv", rows)


@folder("train.csv and valid.csv with paths of the whole dataset")
def _(tree):
    for split, own in (("train", "train"), ("valid", "validation")):
        rows = "path,label\n"
        for number in range(6 if split == "train" else 3):
            path = tree.image(f"{split}/pic_{split}{number}.jpg", BREEDS[number % 3], own)
            rows += f"{path},{BREEDS[number % 3]}\n"
        tree.text(f"{split}.csv", rows)


@folder("FairFace: fairface_label_train.csv and …_val.csv with several columns of labels", "advised")
def _(tree):
    for split, own in (("train", "train"), ("val", "validation")):
        rows = "file,age,gender,race,service_test\n"
        for number in range(1, 7 if split == "train" else 4):
            age, gender = ("20-29", "30-39")[number % 2], ("Male", "Female")[number % 3 == 0]
            path = tree.image(f"{split}/{number}.jpg", gender, own)
            rows += f"{path},{age},{gender},{('Black', 'White', 'Indian')[number % 3]},{number % 2 == 0}\n"
        tree.text(f"fairface_label_{split}.csv", rows)


@folder("CheXpert: columns of findings with blanks and -1", "advised")
def _(tree):
    findings = ("Atelectasis", "Edema", "No Finding")
    for split, own in (("train", "train"), ("valid", "validation")):
        rows = f"Path,Sex,Age,Frontal/Lateral,{','.join(findings)}\n"
        for number in range(8 if split == "train" else 3):
            path = f"CheXpert-v1.0-small/{split}/patient{number:05}/study1/view1_frontal.jpg"
            words = ("1.0", "", "0.0", "-1.0")[: 4 if split == "train" else 3]
            values = [words[(number + shift) % len(words)] for shift in range(3)]
            applying = (name for name, value in zip(findings, values, strict=True) if value in {"1.0", "-1.0"})
            tree.image(path, tuple(applying), own)
            rows += f"{path},Male,{60 + number},Frontal,{','.join(values)}\n"
        tree.text(f"CheXpert-v1.0-small/{split}.csv", rows)


@folder("CelebA: list_attr_celeba.txt with a count and a header, 1 and -1")
def _(tree):
    names = ("Bald", "Smiling", "Young")
    rows, parts = f"9\n{' '.join(names)}\n", ""
    for number in range(1, 10):
        values = [1 if (number + place) % 3 else -1 for place in range(3)]
        labels = tuple(name for name, value in zip(names, values, strict=True) if value == 1)
        tree.image(f"img_align_celeba/{number:06}.jpg", labels, ("train", "validation", "test")[(number - 1) // 3])
        rows += f"{number:06}.jpg " + " ".join(f"{value:2}" for value in values) + "\n"
        parts += f"{number:06}.jpg {(number - 1) // 3}\n"
    tree.text("list_attr_celeba.txt", rows)
    tree.text("list_eval_partition.txt", parts)


@folder("Kaggle's CelebA: list_attr_celeba.csv and list_eval_partition.csv, images twice in a folder")
def _(tree):
    names = ("Bald", "Smiling", "Young")
    rows, parts = "image_id," + ",".join(names) + "\n", "image_id,partition\n"
    for number in range(1, 10):
        values = [1 if (number + place) % 3 else -1 for place in range(3)]
        labels = tuple(name for name, value in zip(names, values, strict=True) if value == 1)
        own = ("train", "validation", "test")[(number - 1) // 3]
        tree.image(f"img_align_celeba/img_align_celeba/{number:06}.jpg", labels, own)
        rows += f"{number:06}.jpg," + ",".join(map(str, values)) + "\n"
        parts += f"{number:06}.jpg,{(number - 1) // 3}\n"
    tree.text("list_attr_celeba.csv", rows)
    tree.text("list_eval_partition.csv", parts)


@folder("a movie posters table: genres separated by bars, ids as names")
def _(tree):
    rows = "imdbId,Title,Genre\n"
    genres = (("Action", "Drama"), ("Comedy",), ("Drama",))
    for number in range(9):
        tree.image(f"posters/{114709 + number}.jpg", genres[number % 3])
        rows += f"{114709 + number},Film {number},{'|'.join(genres[number % 3])}\n"
    tree.text("MovieGenre.csv", rows)


@folder("planet: train_v2.csv with tags separated by blanks, a wrapper")
def _(tree):
    rows = "image_name,tags\n"
    tags = (("clear", "primary"), ("haze",), ("clear", "road"))
    for number in range(9):
        tree.image(f"planet/train-jpg/train_{number}.jpg", tags[number % 3])
        rows += f"train_{number},{' '.join(tags[number % 3])}\n"
    tree.text("planet/train_v2.csv", rows)


@folder("Pawpularity: scores and columns of 0 and 1", "advised")
def _(tree):
    rows = "Id,Subject Focus,Eyes,Face,Pawpularity\n"
    for number in range(9):
        name = f"{number:032x}"
        tree.image(f"train/{name}.jpg", float(20 + 7 * number), "train")
        rows += f"{name},{number % 2},{number % 3 == 0:d},1,{20 + 7 * number}\n"
    tree.text("train.csv", rows)


@folder("ages as numbers: regression")
def _(tree):
    rows = "file,age\n"
    for number in range(9):
        tree.image(f"faces/{number}.png", 20.5 + number)
        rows += f"{number}.png,{20.5 + number}\n"
    tree.text("ages.csv", rows)


@folder("captions beside images", "advised")
def _(tree):
    rows = "image,caption\n"
    for number in range(6):
        tree.image(f"Images/{1000 + number}.jpg")
        rows += "".join(f"{1000 + number}.jpg,A dog number {number} runs {n} times .\n" for n in range(2))
    tree.text("captions.txt", rows)


@folder("an Excel workbook with labels")
def _(tree):
    import io

    from openpyxl import Workbook

    book = Workbook()
    book.active.append(["Image name", "Retinopathy grade"])
    for number in range(6):
        tree.image(f"Base11/2005{number}_png.png", str(number % 3))
        book.active.append([f"2005{number}_png.png", number % 3])
    out = io.BytesIO()
    book.save(out)
    tree.files["Annotation_Base11.xlsx"] = out.getvalue()


@folder("APTOS: train.csv, test.csv, train_images/ and test_images/")
def _(tree):
    rows = "id_code,diagnosis\n"
    for number in range(8):
        tree.image(f"train_images/{number:012x}.png", str(number % 3), "train")
        rows += f"{number:012x},{number % 3}\n"
    tree.text("train.csv", rows)
    tree.text("test.csv", "id_code\n" + "".join(f"{n:012x}\n" for n in range(90, 93)))
    for number in range(90, 93):
        tree.unlearnt(f"test_images/{number:012x}.png")
    tree.text("sample_submission.csv", "id_code,diagnosis\n" + "".join(f"{n:012x},0\n" for n in range(90, 93)))


@folder("a table that names images of two folders by their stems, and one that is about people", "right")
def _(tree):
    rows = "image,level\n"
    for number in range(8):
        side = ("left", "right")[number % 2]
        tree.image(f"train/{10 + number // 2}_{side}.jpeg", str(number % 3), "train")
        rows += f"{10 + number // 2}_{side},{number % 3}\n"
    tree.text("trainLabels.csv", rows)
    tree.text("authors.csv", "name,role\nA,editor\nB,writer\n")


@folder("SQLite beside class folders")
def _(tree):
    for name in BREEDS:
        tree.images(f"{name}/{name}_{{}}.jpg", 3, name)
    tree.files["index.sqlite"] = b"SQLite format 3\x00" + bytes(84)


@folder("README and notes as .txt, .md and .json beside class folders")
def _(tree):
    for name in BREEDS:
        tree.images(f"{name}/{name}_{{}}.jpg", 3, name)
    tree.text("notes.txt", "beagle pictures were taken by A\npug pictures by B\n")
    tree.text("README.md", "# dogs\n")
    tree.text("dataset_info.json", '{"name": "dogs", "version": 3}')
    tree.text("classes.txt", "\n".join(BREEDS) + "\n")


@folder("FER2013: pixels in a column of a table", "refused")
def _(tree):
    pixels = " ".join(str(number % 256) for number in range(48 * 48))
    tree.text("fer2013.csv", "emotion,pixels,Usage\n" + "".join(f"{n % 7},{pixels},Training\n" for n in range(3)))


@folder("labels in a table of Numbers of 1 to n for each file of one folder, test in another table", "right")
def _(tree):
    train, test = "filename,class\n", "filename,class\n"
    for number in range(6):
        tree.image(f"imgs/a{number}.jpg", BREEDS[number % 3], "train")
        train += f"a{number}.jpg,{BREEDS[number % 3]}\n"
    for number in range(3):
        tree.image(f"imgs/b{number}.jpg", BREEDS[number % 3], "test")
        test += f"b{number}.jpg,{BREEDS[number % 3]}\n"
    tree.text("train_labels.csv", train)
    tree.text("test_labels.csv", test)


@folder("a column of splits in the table")
def _(tree):
    rows = "image,label,split\n"
    for number in range(9):
        own = ("train", "val", "test")[number // 3]
        tree.image(f"img/{number}.jpg", BREEDS[number % 3], {"val": "validation"}.get(own, own))
        rows += f"{number}.jpg,{BREEDS[number % 3]},{own}\n"
    tree.text("data.csv", rows)


@folder("Visual similarity lists: class,file reversed columns without a header")
def _(tree):
    rows = ""
    for number in range(9):
        tree.image(f"images/{number}.jpg", BREEDS[number % 3])
        rows += f"{BREEDS[number % 3]},images/{number}.jpg\n"
    tree.text("index.csv", rows)
