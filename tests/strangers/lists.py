"""Lists and tables over folders: splits apart from labels, several kinds of lists, JSON of data loaders."""

import json

from .tree import folder

BREEDS = ("beagle", "boxer", "pug")
SPLITS = {"train": "train", "val": "validation", "test": "test"}


def of_number(number):
    """A split for each of six numbers."""
    return ("train", "train", "train", "train", "val", "test")[number % 6]


@folder("plant pathology: labels separated by blanks, some of two words")
def _(tree):
    rows = "image,labels\n"
    found = (("scab",), ("scab", "frog_eye_leaf_spot"), ("healthy",), ("rust", "complex"), ("rust",), ("complex",))
    for number in range(12):
        tree.image(f"train_images/{number:016x}.jpg", found[number % 6], "train")
        rows += f"{number:016x}.jpg,{' '.join(found[number % 6])}\n"
    tree.text("train.csv", rows)


@folder("PAD-UFES-20: imgs_part_1, imgs_part_2 and a metadata.csv of patients")
def _(tree):
    rows = "patient_id,lesion_id,smoke,age,region,diagnostic,img_id,biopsed\n"
    for number in range(9):
        name = f"PAT_{number}_1_{number}.png"
        tree.image(f"images/imgs_part_{1 + number // 5}/{name}", ("BCC", "NEV", "SCC")[number % 3])
        rows += f"PAT_{number},1,{number % 2 == 0},{40 + number},FACE,{('BCC', 'NEV', 'SCC')[number % 3]},{name},True\n"
    tree.text("metadata.csv", rows)


@folder("Stanford Online Products: Ebay_train.txt with a header and four columns", "advised")
def _(tree):
    lists = {"train": "image_id class_id super_class_id path\n", "test": "image_id class_id super_class_id path\n"}
    for number in range(8):
        own = "train" if number < 4 else "test"
        name = f"{('bicycle', 'chair')[number % 2]}_final/{11108 + number}_{number % 2}.JPG".replace(".JPG", ".jpg")
        tree.image(name, str(1 + number % 2), own)
        lists[own] += f"{number + 1} {number // 2 + 1} {1 + number % 2} {name}\n"
    for own, text in lists.items():
        tree.text(f"Ebay_{own}.txt", text)


@folder("DeepFashion: lists with a count and a header, splits in another one")
def _(tree):
    labels = "6\nimage_name  category_label\n"
    splits = "6\nimage_name evaluation_status\n"
    for number in range(6):
        name = f"img/Look_{number % 3}/img_{number:08}.jpg"
        own = of_number(number)
        tree.image(name, str(1 + number % 2), SPLITS[own])
        labels += f"{name}   {1 + number % 2}\n"
        splits += f"{name} {own}\n"
    tree.text("Anno/list_category_img.txt", labels)
    tree.text("Eval/list_eval_partition.txt", splits)


@folder("RESISC45 in torchgeo: class folders in a wrapper, lists of names only")
def _(tree):
    lists = {"train": "", "val": "", "test": ""}
    for name in ("airplane", "airport", "beach"):
        for number in range(6):
            own = of_number(number)
            tree.image(f"NWPU-RESISC45/{name}/{name}_{number:03}.jpg", name, SPLITS[own])
            lists[own] += f"{name}_{number:03}.jpg\n"
    for own, text in lists.items():
        tree.text(f"resisc45-{own}.txt", text)


@folder("100 sports: a table of paths, labels and splits beside split folders of classes")
def _(tree):
    rows = "class id,filepaths,labels,data set\n"
    for label, name in enumerate(("air hockey", "archery", "bowling")):
        for own in ("train", "valid", "test"):
            for number in range(2):
                path = f"{own}/{name}/{number:03}.jpg"
                tree.image(path, name, {"valid": "validation"}.get(own, own))
                rows += f"{label},{path},{name},{own}\n"
    tree.text("sports.csv", rows)


@folder("butterflies: Training_set.csv with labels, Testing_set.csv without")
def _(tree):
    rows, test = "filename,label\n", "filename\n"
    for number in range(6):
        tree.image(f"train/Image_{number}.jpg", BREEDS[number % 3], "train")
        rows += f"Image_{number}.jpg,{BREEDS[number % 3]}\n"
    for number in range(3):
        tree.unlearnt(f"test/Image_{number}.jpg")
        test += f"Image_{number}.jpg\n"
    tree.text("Training_set.csv", rows)
    tree.text("Testing_set.csv", test)


@folder("fashion products: styles.csv with many columns, images.csv with links", "advised")
def _(tree):
    rows = "id,gender,masterCategory,subCategory,season,year,productDisplayName\n"
    links = "filename,link\n"
    for number in range(8):
        category = ("Apparel", "Footwear")[number % 2]
        tree.image(f"images/{15970 + number}.jpg", category)
        rows += f"{15970 + number},Men,{category},Topwear,Fall,2011.0,Shirt number {number}\n"
        links += f"{15970 + number}.jpg,http://assets.example.com/{15970 + number}.jpg\n"
    tree.text("styles.csv", rows)
    tree.text("images.csv", links)


@folder("Fitzpatrick17k: stems that are hashes, three columns of labels")
def _(tree):
    rows = "md5hash,fitzpatrick_scale,label,nine_partition_label,url\n"
    for number in range(9):
        name = f"{number * 7919:032x}"
        tree.image(f"data/finalfitz17k/{name}.jpg", ("acne", "eczema", "lupus")[number % 3])
        rows += (
            f"{name},{1 + number % 6},{('acne', 'eczema', 'lupus')[number % 3]},inflammatory,http://a.org/{name}.jpg\n"
        )
    tree.text("fitzpatrick17k.csv", rows)


@folder("COVIDx: lists of patient, file, class and source", "advised")
def _(tree):
    for own in ("train", "test"):
        rows = ""
        for number in range(6 if own == "train" else 3):
            name = f"{own}-chest-{number}.png"
            tree.image(f"{own}/{name}", ("COVID-19", "normal")[number % 2], own)
            rows += f"{number} {name} {('COVID-19', 'normal')[number % 2]} cohen\n"
        tree.text(f"{own}_split.txt", rows)


@folder("mini-ImageNet: train.csv, val.csv and test.csv of different classes, one folder of images", "advised")
def _(tree):
    for place, own in enumerate(SPLITS):
        rows = "filename,label\n"
        for number in range(4):
            name, label = f"n0{place}532{number % 2}0000{number:04}.jpg", f"n0{place}53200{number % 2}"
            tree.image(f"images/{name}", label, SPLITS[own])
            rows += f"{name},{label}\n"
        tree.text(f"{own}.csv", rows)


@folder("CoOp: split_zhou.json of [path, label, class] by split")
def _(tree):
    found = {"train": [], "val": [], "test": []}
    for number in range(12):
        own, label = of_number(number // 2), number % 2
        name = f"pic_{number}.jpg"
        tree.image(f"images/{name}", BREEDS[label], SPLITS[own])
        found[own].append([name, label, BREEDS[label]])
    tree.text("split_zhou_Dogs.json", json.dumps(found))


@folder("few-shot filelists: columns of names and labels in JSON")
def _(tree):
    names = [f"images/pic_{number}.jpg" for number in range(6)]
    for number, name in enumerate(names):
        tree.image(name, BREEDS[number % 3], "train")
    made = {"label_names": BREEDS, "image_names": names, "image_labels": [number % 3 for number in range(6)]}
    tree.text("base.json", json.dumps(made))


@folder("MXNet: train.lst and val.lst of index, label and path")
def _(tree):
    lists = {"train": "", "val": ""}
    for number in range(9):
        own = "train" if number < 6 else "val"
        tree.image(f"{BREEDS[number % 3]}/pic{number}.jpg", BREEDS[number % 3], SPLITS[own])
        lists[own] += f"{number}\t{number % 3}.000000\t{BREEDS[number % 3]}/pic{number}.jpg\n"
    for own, text in lists.items():
        tree.text(f"data_{own}.lst", text)


@folder("labels.csv and splits.csv, one column each")
def _(tree):
    labels, splits = "image,label\n", "image,split\n"
    for number in range(6):
        tree.image(f"images/pic{number}.jpg", BREEDS[number % 3], SPLITS[of_number(number)])
        labels += f"pic{number}.jpg,{BREEDS[number % 3]}\n"
        splits += f"pic{number}.jpg,{of_number(number)}\n"
    tree.text("labels.csv", labels)
    tree.text("splits.csv", splits)


@folder("labels.csv, and train_ids.txt, val_ids.txt and test_ids.txt of stems")
def _(tree):
    rows, lists = "image,label\n", {"train": "", "val": "", "test": ""}
    for number in range(6):
        own = of_number(number)
        tree.image(f"images/pic{number}.jpg", BREEDS[number % 3], SPLITS[own])
        rows += f"pic{number}.jpg,{BREEDS[number % 3]}\n"
        lists[own] += f"pic{number}\n"
    tree.text("labels.csv", rows)
    for own, text in lists.items():
        tree.text(f"{own}_ids.txt", text)


@folder("folds.csv of cross validation over class folders")
def _(tree):
    rows = "image,fold\n"
    for name in BREEDS:
        for number, path in enumerate(tree.images(f"{name}/{name}_{{}}.jpg", 5, name)):
            rows += f"{path},{number}\n"
    tree.text("folds.csv", rows)


@folder("class folders and a list of bad images")
def _(tree):
    for name in BREEDS:
        tree.images(f"{name}/{name}_{{}}.jpg", 4, name)
    tree.text("bad_images.txt", "beagle/beagle_0.jpg\npug/pug_3.jpg\n")


@folder("captions and a readme in JSON beside class folders, paths in both")
def _(tree):
    found = []
    for name in BREEDS:
        found += [
            {"image": path, "caption": f"A dog: {path}."} for path in tree.images(f"{name}/a{name}{{}}.jpg", 4, name)
        ]
    tree.text("captions.json", json.dumps(found))


@folder("class folders in a wrapper, train.txt and test.txt of paths of another machine")
def _(tree):
    lists = {"train": "", "test": ""}
    for name in BREEDS:
        for number in range(4):
            own = "train" if number < 3 else "test"
            tree.image(f"data/{name}/{name}_{number}.jpg", name, own)
            lists[own] += f"/home/anna/dogs/{name}/{name}_{number}.jpg\n"
    for own, text in lists.items():
        tree.text(f"{own}.txt", text)


@folder("grocery store: train.txt of a path and two numbers, classes.csv", "advised")
def _(tree):
    for own in ("train", "test"):
        rows = ""
        for number in range(6 if own == "train" else 4):
            name = ("Apple", "Carrot")[number % 2]
            path = f"{own}/{name}/{name}_{own}{number:03}.jpg"
            tree.image(path, name, own)
            rows += f"{path}, {number % 2}, {number % 2}\n"
        tree.text(f"{own}.txt", rows)
    tree.text("classes.csv", "Class Name (str),Class ID (int)\nApple,0\nCarrot,1\n")
