"""Folders of medicine, places, animals and people, gathered after the code that reads folders was written."""

import json

from .tree import folder

SPLITS = (("train", "train"), ("val", "validation"), ("test", "test"))


# --- medicine and biology
@folder("blood cells: images/TRAIN, TEST and TEST_SIMPLE of cell types, a labels.csv of other images")
def _(tree):
    below = "dataset2-master/dataset2-master"
    for cell in ("EOSINOPHIL", "LYMPHOCYTE", "MONOCYTE"):
        tree.images(f"{below}/images/TRAIN/{cell}/_{{}}_5239.jpeg", 4, cell, "train")
        tree.images(f"{below}/images/TEST/{cell}/_{{}}_207.jpeg", 2, cell, "test")
        tree.images(f"{below}/images/TEST_SIMPLE/{cell}/_{{}}_1020.jpeg", 1, cell)
    tree.text(f"{below}/labels.csv", ",Image,Category\n0,0,NEUTROPHIL\n1,1,NEUTROPHIL\n2,2,EOSINOPHIL\n")


@folder(
    "IDRiD grading: the same names in Training Set and Testing Set, two tables that end in commas",
    "advised",
)
def _(tree):
    below = "B. Disease Grading"
    sets = (("a. Training Set", "a. IDRiD_Disease Grading_Training Labels", "train", 6, 0),)
    sets += (("b. Testing Set", "b. IDRiD_Disease Grading_Testing Labels", "test", 3, 1),)
    for images, table, split, count, shift in sets:
        rows = "Image name,Retinopathy grade,Risk of macular edema ,,,,,,,,,\n"
        for number in range(1, count + 1):
            grade = (number + shift) % 3
            tree.image(f"{below}/1. Original Images/{images}/IDRiD_{number:03}.jpg", str(grade), split)
            rows += f"IDRiD_{number:03},{grade},{number % 2},,,,,,,,,\n"
        tree.text(f"{below}/2. Groundtruths/{table}.csv", rows)
    tree.text("CC-BY-4.0.txt", "Attribution 4.0 International\n")


@folder("MURA: body part, patient, study1_negative or study1_positive; tables of studies", "advised")
def _(tree):
    for part, split in (("train", "train"), ("valid", "validation")):
        studies, paths = "", ""
        for body in ("XR_ELBOW", "XR_WRIST"):
            for patient in range(11, 15):
                finding = ("negative", "positive")[patient % 2]
                study = f"MURA-v1.1/{part}/{body}/patient{patient:05}/study1_{finding}/"
                for number in range(1, 3):
                    paths += f"{tree.image(f'{study}image{number}.png', f'study1_{finding}', split)}\n"
                studies += f"{study},{patient % 2}\n"
        tree.text(f"MURA-v1.1/{part}_labeled_studies.csv", studies)
        tree.text(f"MURA-v1.1/{part}_image_paths.csv", paths)


@folder(
    "Shenzhen chest X-rays: normal or not is the last number of the name, a text of findings for each",
    "advised",
)
def _(tree):
    for number in range(1, 9):
        sick = number % 2
        tree.image(f"ChinaSet_AllFiles/CXR_png/CHNCXR_{number:04}_{sick}.png", str(sick))
        tree.text(f"ChinaSet_AllFiles/ClinicalReadings/CHNCXR_{number:04}_{sick}.txt", "male 45yrs\nnormal\n")
    tree.text("ChinaSet_AllFiles/NLM-ChinaCXRSet-ReadMe.docx", "PK\x03\x04")


@folder("SIIM-ISIC 2020: train.csv of many columns, jpeg/train and jpeg/test, test.csv", "advised")
def _(tree):
    head = "image_name,patient_id,sex,age_approx,anatom_site_general_challenge"
    rows = f"{head},diagnosis,benign_malignant,target\n"
    for number in range(8):
        kind = ("benign", "malignant")[number % 4 == 0]
        tree.image(f"jpeg/train/ISIC_{2637011 + number}.jpg", kind, "train")
        rows += f"ISIC_{2637011 + number},IP_{number // 2},male,45.0,torso,unknown,{kind},{int(kind == 'malignant')}\n"
    tree.text("train.csv", rows)
    tests = [f"ISIC_{52060 + number:07}" for number in range(3)]
    for name in tests:
        tree.unlearnt(f"jpeg/test/{name}.jpg")
    tree.text("test.csv", f"{head}\n" + "".join(f"{name},IP_9,male,70.0,torso\n" for name in tests))
    tree.text("sample_submission.csv", "image_name,target\n" + "".join(f"{name},0\n" for name in tests))


@folder(
    "ODIR-5K: full_df.csv with labels as Python lists and paths of Kaggle, the same images twice",
    "advised",
)
def _(tree):
    rows = "ID,Patient Age,Patient Sex,Left-Diagnostic Keywords,N,D,C,filepath,labels,target,filename\n"
    for number in range(4):
        for side in ("left", "right"):
            name, kind = f"{number}_{side}.jpg", "NDC"[number % 3]
            tree.image(f"ODIR-5K/ODIR-5K/Training Images/{name}", f"['{kind}']")
            tree.unlearnt(f"preprocessed_images/{name}")
            flags = [int(kind == other) for other in "NDC"]
            rows += f"{number},69,Female,cataract,{flags[0]},{flags[1]},{flags[2]},"
            rows += f"../input/ocular-disease-recognition-odir5k/ODIR-5K/Training Images/{name},['{kind}'],\"{flags}\",{name}\n"  # noqa: E501 - as it is written
    for side in ("left", "right"):
        tree.unlearnt(f"ODIR-5K/ODIR-5K/Testing Images/937_{side}.jpg")
    tree.text("full_df.csv", rows)


@folder("Hyper-Kvasir: tract, category and finding as folders, a table of stems with the same", "advised")
def _(tree):
    rows = "Video file,Organ,Finding,Classification\n"
    findings = (("lower-gi-tract", "anatomical-landmarks", "cecum", "Lower GI"),)
    findings += (("lower-gi-tract", "pathological-findings", "polyps", "Lower GI"),)
    findings += (("upper-gi-tract", "anatomical-landmarks", "pylorus", "Upper GI"),)
    for place, (tract, category, finding, organ) in enumerate(findings):
        for number in range(3):
            stem = f"00e5d6e4-{place}{number}"
            tree.image(f"labeled-images/{tract}/{category}/{finding}/{stem}.jpg", finding)
            rows += f"{stem},{organ},{finding},{category}\n"
    tree.text("labeled-images/image-labels.csv", rows)


@folder("BreastPathQ: slide and region are two columns, together the name of an image", "refused")
def _(tree):
    rows = "slide,rid,y\n"
    for number in range(1, 5):
        tree.image(f"datasets/train/99861_{number}.tif", number / 8)
        rows += f"99861,{number},{number / 8}\n"
    tree.text("datasets/train_labels.csv", rows)


# --- places and aerial images
@folder("ImageNetV2: folders of class numbers, format-val in the wrapper's name")
def _(tree):
    for label in range(12):
        tree.images(f"imagenetv2-matched-frequency-format-val/{label}/{label}f{{}}e2.jpeg", 2, str(label))


@folder("ImageNet-C: corruption, severity and class as folders", "advised")
def _(tree):
    for corruption in ("gaussian_noise", "shot_noise"):
        for severity in (1, 3):
            for label in ("n01440764", "n01443537", "n01484850"):
                below = f"noise/{corruption}/{severity}/{label}"
                tree.images(f"{below}/ILSVRC2012_val_0000{{}}293.JPEG", 2, label)


@folder("Million-AID: train of classes in groups in groups, test flat", "advised")
def _(tree):
    for path in ("agriculture_land/grassland/meadow", "agriculture_land/arable_land/dry_field", "water_area/lake/pond"):
        tree.images(f"Million-AID/train/{path}/P011{{}}918.jpg", 3, path.rpartition("/")[2], "train")
    for number in range(2):
        tree.unlearnt(f"Million-AID/test/P00{number}208.jpg")


@folder("MLRSNet: class folders, and a table of columns of 0 and 1 for each of them", "advised")
def _(tree):
    kinds = ("airplane", "cars", "runway")
    for place, category in enumerate(("airport", "parking_lot", "highway")):
        rows = "image," + ",".join(kinds) + "\n"
        for number in range(3):
            flags = [int((number + place) % 3 != kind) for kind in range(3)]
            name = f"{category}_0000{number}.jpg"
            tree.image(
                f"MLRSNet/Images/{category}/{name}",
                tuple(kind for kind, flag in zip(kinds, flags, strict=True) if flag),
            )
            rows += f"{name},{','.join(map(str, flags))}\n"
        tree.text(f"MLRSNet/Labels/{category}.csv", rows)


@folder("tropical cyclones: tables of features and of wind speeds for each split", "advised")
def _(tree):
    for split, name in (("train", "training"), ("test", "test")):
        features, labels = "Image ID,Storm ID,Relative Time,Ocean\n", "Image ID,Wind Speed\n"
        for number in range(7):
            stem = f"{split[:2]}bhg_{number:03}"
            wind = (30, 43, 35, 61, 60, 52, 88)[number]
            tree.image(f"{split}/{stem}.jpg", float(wind), split)
            features += f"{stem},{split[:2]}bhg,{1800 * number},2\n"
            labels += f"{stem},{wind}\n"
        tree.text(f"{name}_set_features.csv", features)
        tree.text(f"{name}_set_labels.csv", labels)


@folder("TreeSatAI: species in file names, a JSON of shares of genera, lists of names as splits", "refused")
def _(tree):
    shares, names = {}, {"train": [], "test": []}
    for place, species in enumerate(("Acer_pseudoplatanus", "Fagus_sylvatica", "Picea_abies")):
        for number in range(3):
            split = "test" if number == 2 else "train"
            name = f"{species}_{number + 1}_{5758 + place}_WEFL_NLF.tif"
            genus, other = species.partition("_")[0], "Quercus"
            tree.image(f"aerial/60m/{name}", (genus, other), split)
            shares[name] = [[genus, 0.93271], [other, 0.06729]]
            names[split].append(name)
    tree.text("labels/TreeSatBA_v9_60m_multi_labels.json", json.dumps(shares))
    for split, lines in names.items():
        tree.text(f"{split}_filenames.lst", "".join(f"{line}\n" for line in lines))


# --- camera traps, animals and plants
@folder("LILA camera traps: COCO without boxes, two species in some images, sequences")
def _(tree):
    names = ("empty", "deer", "raccoon")
    images, annotations = [], []
    for number in range(8):
        kinds = [1, 2] if number == 5 else [number % 3]
        path = f"loc_{number % 2}/5858{number}.jpg"
        tree.image(f"images/{path}", tuple(names[kind] for kind in kinds))
        common = {"id": f"img{number}", "file_name": path, "width": 24, "height": 20, "location": number % 2}
        images.append(common | {"seq_id": f"s{number // 3}", "frame_num": 1, "datetime": "2013-10-04 13:31:53"})
        image = {"image_id": f"img{number}"}
        annotations += [image | {"id": f"a{number}{kind}", "category_id": kind} for kind in kinds]
    categories = [{"id": number, "name": name} for number, name in enumerate(names)]
    content = {"info": {"version": "1"}, "images": images, "annotations": annotations, "categories": categories}
    tree.text("caltech_camera_traps.json", json.dumps(content))


@folder("Herbarium 2022: train_metadata.json of image_id and category_id, no id and no name")
def _(tree):
    names = ("Abies alba", "Abies balsamea", "Acer negundo")
    images, annotations = [], []
    for number in range(9):
        path = f"{number % 3:03}/{number % 2:02}/{number % 3:05}__{number:03}.jpg"
        tree.image(f"train_images/{path}", names[number % 3], "train")
        images.append({"image_id": f"{number:05}", "file_name": path, "license": 0})
        annotations.append({"genus_id": 0, "institution_id": 1, "category_id": number % 3, "image_id": f"{number:05}"})
    categories = [{"category_id": number, "scientificName": name} for number, name in enumerate(names)]
    content = {"annotations": annotations, "images": images, "categories": categories}
    tree.text("train_metadata.json", json.dumps(content))
    tree.unlearnt("test_images/000/00/test-000000.jpg")
    tests = [{"image_id": 0, "file_name": "000/00/test-000000.jpg", "license": 0}]
    tree.text("test_metadata.json", json.dumps(tests))


@folder("AwA2: JPEGImages of class folders, classes.txt and matrices of attributes")
def _(tree):
    names = ("antelope", "grizzly+bear", "killer+whale")
    for name in names:
        tree.images(f"Animals_with_Attributes2/JPEGImages/{name}/{name}_1000{{}}.jpg", 3, name)
    numbered = "".join(f"{number:6}\t{name}\n" for number, name in enumerate(names, 1))
    tree.text("Animals_with_Attributes2/classes.txt", numbered)
    tree.text("Animals_with_Attributes2/trainclasses.txt", "antelope\ngrizzly+bear\n")
    tree.text("Animals_with_Attributes2/testclasses.txt", "killer+whale\n")
    tree.text("Animals_with_Attributes2/predicate-matrix-binary.txt", "0 1 0 1\n1 1 0 0\n0 0 1 1\n")
    tree.text("Animals_with_Attributes2/README-images.txt", "Animals with Attributes 2\n")


@folder("Food-11: training, validation and evaluation of names such as 3_12.jpg", "advised")
def _(tree):
    for part, split, count in (("training", "train", 4), ("validation", "validation", 2), ("evaluation", "test", 2)):
        for label in range(3):
            tree.images(f"food-11/{part}/{label}_{{}}.jpg", count, str(label), split)


# --- people
@folder("State Farm: imgs/train of classes, imgs/test flat, a list of drivers with classname and img")
def _(tree):
    rows = "subject,classname,img\n"
    for label in range(4):
        for number in range(3):
            tree.image(f"imgs/train/c{label}/img_{44733 + 10 * label + number}.jpg", f"c{label}", "train")
            rows += f"p{number:03},c{label},img_{44733 + 10 * label + number}.jpg\n"
    tests = [f"img_{number}.jpg" for number in range(1, 4)]
    for name in tests:
        tree.unlearnt(f"imgs/test/{name}")
    tree.text("driver_imgs_list.csv", rows)
    tree.text("sample_submission.csv", "img,c0,c1,c2,c3\n" + "".join(f"{name},0.1,0.1,0.1,0.1\n" for name in tests))


@folder("yoga poses: DATASET/TRAIN and TEST, a PNG that is named .jpg")
def _(tree):
    for pose in ("downdog", "goddess", "plank", "warrior2"):
        tree.images(f"DATASET/TRAIN/{pose}/0000012{{}}.jpg", 4, pose, "train")
        tree.images(f"DATASET/TEST/{pose}/0000000{{}}.jpg", 2, pose, "test")
    png = tree.image("DATASET/TRAIN/plank/other.png", "plank", "train")
    tree.files["DATASET/TRAIN/plank/00000999.jpg"] = tree.files.pop(png)
    tree.truth["DATASET/TRAIN/plank/00000999.jpg"] = tree.truth.pop(png)


@folder(
    "140k faces: real-vs-fake in a wrapper with splits, tables with an index, a path and the owner's path",
)
def _(tree):
    for part, split, count in (("train", "train", 4), ("valid", "validation", 2), ("test", "test", 2)):
        rows, line = ",original_path,id,label,label_str,path\n", 0
        for label, name in ((1, "real"), (0, "fake")):
            for number in range(count):
                stem = f"{31355 + number}" if label else f"R{number}HTQ8FGK{label}"
                tree.image(f"real_vs_fake/real-vs-fake/{part}/{name}/{stem}.jpg", name, split)
                rows += f"{line},/kaggle/input/flickrfaceshq/resized/{stem}.jpg,{stem},{label},{name},"
                rows += f"{part}/{name}/{stem}.jpg\n"
                line += 1
        tree.text(f"{part}.csv", rows)


@folder("Adience: the name of an image is made of three columns, folds in texts", "refused")
def _(tree):
    for fold in range(2):
        rows = "user_id\toriginal_image\tface_id\tage\tgender\tx\ty\tdx\tdy\n"
        for number in range(4):
            user, gender, original = f"3060188{fold}@N03", "fm"[number % 2], f"1039935{number}_o.jpg"
            tree.image(f"faces/{user}/coarse_tilt_aligned_face.{number + 1}.{original}", gender)
            rows += f"{user}\t{original}\t{number + 1}\t(25, 32)\t{gender}\t0\t414\t1086\t1383\n"
        tree.text(f"fold_{fold}_data.txt", rows)


@folder("APPA-REAL: 0001.jpg and 0001.jpg_face.jpg, tables of averages and of each rating", "advised")
def _(tree):
    for place, (part, split) in enumerate((("train", "train"), ("valid", "validation"), ("test", "test"))):
        averages = "file_name,num_ratings,apparent_age_avg,apparent_age_std,real_age\n"
        ratings = "file_name,age,apparent_age\n"
        for number in range(7):
            name, age = f"{1000 * place + number:06}.jpg", float(20 + 4 * number + 13 * place)
            tree.image(f"appa-real-release/{part}/{name}", age, split)
            tree.unlearnt(f"appa-real-release/{part}/{name}_face.jpg")
            averages += f"{name},2,{age + 1.5},0.5,{int(age)}\n"
            ratings += f"{name},{int(age)},{int(age) + 1}\n{name},{int(age)},{int(age) + 2}\n"
        tree.text(f"appa-real-release/gt_avg_{part}.csv", averages)
        tree.text(f"appa-real-release/gt_{part}.csv", ratings)


@folder("SCUT-FBP5500: scores in All_labels.txt, lists of scores for five folds and one split", "advised")
def _(tree):
    lines = []
    for number in range(1, 9):
        name, score = f"{('AF', 'CM')[number % 2]}{number}.jpg", 1.5 + number / 4
        tree.image(f"SCUT-FBP5500_v2/Images/{name}", score)
        lines.append(f"{name} {score:.6f}\n")
    below = "SCUT-FBP5500_v2/train_test_files"
    tree.text(f"{below}/All_labels.txt", "".join(lines))
    tree.text(f"{below}/split_of_60%training and 40%testing/train.txt", "".join(lines[:5]))
    tree.text(f"{below}/split_of_60%training and 40%testing/test.txt", "".join(lines[5:]))
    for fold in (1, 2):
        tree.text(f"{below}/5_folders_cross_validations_files/cross_validation_{fold}/train_{fold}.txt", "".join(lines))
    tree.text("SCUT-FBP5500_v2/README.txt", "SCUT-FBP5500\n")


@folder("AT&T faces: s1/1.pgm and a README without an ending")
def _(tree):
    for person in range(1, 5):
        tree.images(f"orl_faces/s{person}/{{}}.pgm", 3, f"s{person}")
    tree.text("orl_faces/README", "The ORL Database of Faces\n")


@folder("Yale faces: subject01.glasses without an ending for images", "refused")
def _(tree):
    for person in range(1, 4):
        for mood in ("glasses", "happy", "sad"):
            gif = tree.image(f"yalefaces/{person}{mood}.gif", f"subject{person:02}")
            path = f"yalefaces/subject{person:02}.{mood}"
            tree.files[path] = tree.files.pop(gif)
            tree.truth[path] = tree.truth.pop(gif)
    tree.text("yalefaces/Readme.txt", "Yale Face Database\n")
