"""Folders gathered after the code that reads them was written, by somebody who had not read it."""

import json

import numpy as np

from .boxes import coco, some, voc, yolo
from .masks import classes, coloured, grey
from .tree import HEIGHT, WIDTH, folder


def rle(mask):
    """Run lengths of Kaggle: from 1, down the columns."""
    flat = np.concatenate([[0], mask.T.flatten(), [0]])
    runs = np.where(flat[1:] != flat[:-1])[0] + 1
    runs[1::2] -= runs[::2]
    return " ".join(map(str, runs))


# --- industry
@folder("MVTec AD: one category with train/good, test/<defect>, ground_truth", "advised")
def _(tree):
    tree.images("bottle/train/good/{:03}.png", 4, "good", "train")
    tree.images("bottle/test/good/{:03}.png", 2, "good", "test")
    for defect in ("broken_large", "contamination"):
        for number in range(2):
            tree.image(f"bottle/test/{defect}/{number:03}.png", defect, "test")
            tree.drawing(f"bottle/ground_truth/{defect}/{number:03}_mask.png", grey(classes(number, 2)))
    tree.text("bottle/license.txt", "CC BY-NC-SA 4.0\n")
    tree.text("bottle/readme.txt", "MVTec Anomaly Detection\n")


@folder("MVTec AD: all objects, each with train/good, test/<defect>, ground_truth", "advised")
def _(tree):
    for thing in ("bottle", "cable", "screw"):
        is_first = thing == "bottle"  # the printed commands read one object each
        for path, label, split in (("train/good", "good", "train"), ("test/good", "good", "test")):
            for number in range(3):
                name = f"{thing}/{path}/{number:03}.png"
                tree.image(name, label, split) if is_first else tree.unlearnt(name)
        for number in range(2):
            name = f"{thing}/test/bent/{number:03}.png"
            tree.image(name, "bent", "test") if is_first else tree.unlearnt(name)
            tree.drawing(f"{thing}/ground_truth/bent/{number:03}_mask.png", grey(classes(number, 2)))
    tree.text("license.txt", "CC BY-NC-SA 4.0\n")


@folder("NEU-DET: train/images/<defect>, train/annotations flat, validation")
def _(tree):
    for split, own, start in (("train", "train", 1), ("validation", "validation", 241)):
        for label in ("crazing", "rolled-in_scale"):
            for number in range(start, start + 3):
                boxes = [(a, b, c, d, label) for a, b, c, d, _ in some(number)]
                stem = f"{label}_{number}"
                tree.image(f"NEU-DET/{split}/images/{label}/{stem}.jpg", split=own, boxes=boxes)
                tree.text(f"NEU-DET/{split}/annotations/{stem}.xml", voc(f"{stem}.jpg", boxes, label))


@folder("casting products: casting_data twice with splits, casting_512x512 twice without", "advised")
def _(tree):
    for label in ("def_front", "ok_front"):
        tree.images(f"casting_data/casting_data/train/{label}/cast_{label}_0_{{}}.jpeg", 4, label, "train")
        tree.images(f"casting_data/casting_data/test/{label}/new__0_{label}{{}}.jpeg", 2, label, "test")
        for number in range(3):
            tree.unlearnt(f"casting_512x512/casting_512x512/{label}/cast_{label}_0_{100 + number}.jpeg")


@folder("SDNET2018: D/CD, D/UD, P/CP, P/UP, W/CW, W/UW", "advised")
def _(tree):
    for material in "DPW":
        for state in "CU":
            tree.images(f"SDNET2018/{material}/{state}{material}/7001-{{}}.jpg", 3, f"{state}{material}")


@folder("Airbus ships: train_v2, test_v2, a table of run lengths, several rows an image", "refused")
def _(tree):
    rows = "ImageId,EncodedPixels\n"
    for number in range(5):
        mask = np.zeros((HEIGHT, WIDTH), np.uint8)
        for ship in range(number % 3):
            one = np.zeros_like(mask)
            one[2 + 8 * ship : 6 + 8 * ship, 3:15] = 1
            rows += f"0001124c{number}.jpg,{rle(one)}\n"
            mask |= one
        if not number % 3:
            rows += f"0001124c{number}.jpg,\n"
        tree.image(f"train_v2/0001124c{number}.jpg", split="train", mask=mask)
    tree.unlearnt("test_v2/00dc34840.jpg")
    tree.text("train_ship_segmentations_v2.csv", rows)
    tree.text("sample_submission_v2.csv", "ImageId,EncodedPixels\n00dc34840.jpg,1 2\n")


@folder("Severstal: train.csv of ImageId, ClassId, EncodedPixels; images without a defect have no row", "refused")
def _(tree):
    rows = "ImageId,ClassId,EncodedPixels\n"
    for number in range(6):
        mask = np.zeros((HEIGHT, WIDTH), np.uint8)
        for defect in range(number % 3):
            kind = (number + defect) % 4 + 1
            one = np.zeros_like(mask)
            one[2 + 8 * defect : 6 + 8 * defect, 3:15] = 1
            rows += f"0002cc93b{number}.jpg,{kind},{rle(one)}\n"
            mask[one > 0] = kind
        tree.image(f"train_images/0002cc93b{number}.jpg", split="train", mask=mask)
    tree.unlearnt("test_images/0000f269f.jpg")
    tree.text("train.csv", rows)
    tree.text("sample_submission.csv", "ImageId,EncodedPixels,ClassId\n0000f269f.jpg,1 1,1\n")


# --- plants and food
@folder("rice: five varieties, names with blanks, a citation request")
def _(tree):
    for label in ("Arborio", "Basmati", "Ipsala", "Jasmine", "Karacadag"):
        tree.images(f"Rice_Image_Dataset/{label}/{label} ({{}}).jpg", 3, label)
    tree.text("Rice_Image_Dataset/Rice_Citation_Request.txt", "Rice Dataset Murat Koklu\n")


@folder("DeepWeeds: labels.csv of Filename, Label, Species, and folds as subsets", "advised")
def _(tree):
    names = ("Chinee apple", "Lantana", "Negative")
    rows = "Filename,Label,Species\n"
    parts = {"train": "", "val": "", "test": ""}
    for number in range(12):
        name = f"20160928-1403{number:02}-0.jpg"
        tree.image(f"images/{name}", names[number % 3])
        rows += f"{name},{number % 3},{names[number % 3]}\n"
        parts[("train", "train", "val", "test")[number // 3]] += f"{name},{number % 3}\n"
    tree.text("labels/labels.csv", rows)
    for fold in range(2):
        for part, lines in parts.items():
            tree.text(f"labels/{part}_subset{fold}.csv", "Filename,Label\n" + lines)


@folder("plant seedlings: train of classes with blanks, test flat, a sample submission")
def _(tree):
    for label in ("Black-grass", "Shepherds Purse", "Small-flowered Cranesbill"):
        tree.images(f"train/{label}/{label[:4].lower().strip()}0{{}}b3.png", 3, label, "train")
    for number in range(2):
        tree.unlearnt(f"test/0021e90e{number}.png")
    tree.text("sample_submission.csv", "file,species\n0021e90e0.png,Sugar beet\n0021e90e1.png,Sugar beet\n")


@folder("UECFOOD100: numbered folders with bb_info.txt, category.txt")
def _(tree):
    tree.text("UECFOOD100/category.txt", "id\tname\n1\trice\n2\teels on rice\n3\tpilaf\n")
    for label, name in enumerate(("rice", "eels on rice", "pilaf"), 1):
        rows = "img x1 y1 x2 y2\n"
        for number in range(3):
            picture = 100 * label + number
            tree.image(f"UECFOOD100/{label}/{picture}.jpg", name, boxes=[(1, 2, 15 + number, 18, name)])
            rows += f"{picture} 1 2 {15 + number} 18\n"
        tree.text(f"UECFOOD100/{label}/bb_info.txt", rows)
    tree.text("UECFOOD100/README.txt", "UEC FOOD 100\n")


@folder("iFood 2019: train_labels.csv and val_labels.csv of numbers, class_list.txt")
def _(tree):
    names = ("macaron", "beignet", "cruller")
    for split, own in (("train", "train"), ("val", "validation")):
        rows = "img_name,label\n"
        for number in range(6):
            tree.image(f"{split}_set/{split}_{number:06}.jpg", names[number % 3], own)
            rows += f"{split}_{number:06}.jpg,{number % 3}\n"
        tree.text(f"{split}_labels.csv", rows)
    tree.unlearnt("test_set/test_000000.jpg")
    tree.text("class_list.txt", "".join(f"{place} {name}\n" for place, name in enumerate(names)))


@folder("a large-scale fish dataset: a class folder twice in itself, and its GT beside", "advised")
def _(tree):
    for label in ("Black Sea Sprat", "Gilt-Head Bream", "Trout"):
        for number in range(1, 4):
            below = f"Fish_Dataset/Fish_Dataset/{label}"
            tree.image(f"{below}/{label}/{number:05}.png", label)
            tree.drawing(f"{below}/{label} GT/{number:05}.png", grey(classes(number + len(label), 2)))
    tree.text("Fish_Dataset/Fish_Dataset/license.txt", "CC\n")
    tree.text("Fish_Dataset/Fish_Dataset/README.txt", "fish\n")


# --- medicine
@folder("BCCD: BCCD/JPEGImages, Annotations, ImageSets, and a test.csv of boxes of all")
def _(tree):
    rows, lists = "filename,cell_type,xmin,xmax,ymin,ymax\n", {"train": "", "val": "", "test": ""}
    for number in range(8):
        boxes = [(a, b, c, d, "RBC" if e == "cat" else "WBC") for a, b, c, d, e in some(number)]
        part = ("train",) * 4 + ("val",) * 2 + ("test",) * 2
        own = {"val": "validation"}.get(part[number], part[number])
        tree.image(f"BCCD_Dataset/BCCD/JPEGImages/BloodImage_{number:05}.jpg", split=own, boxes=boxes)
        tree.text(
            f"BCCD_Dataset/BCCD/Annotations/BloodImage_{number:05}.xml", voc(f"BloodImage_{number:05}.jpg", boxes)
        )
        lists[part[number]] += f"BloodImage_{number:05}\n"
        rows += "".join(f"BloodImage_{number:05}.jpg,{e},{a},{c},{b},{d}\n" for a, b, c, d, e in boxes)
    for part, lines in lists.items():
        tree.text(f"BCCD_Dataset/BCCD/ImageSets/Main/{part}.txt", lines)
    tree.text("BCCD_Dataset/BCCD/ImageSets/Main/trainval.txt", lists["train"] + lists["val"])
    tree.text("BCCD_Dataset/test.csv", rows)
    tree.unlearnt("BCCD_Dataset/example.jpg")


@folder(
    "IDRiD grading: numbered folders with blanks, the same names in both splits, two columns",
    "advised",
)
def _(tree):
    for letter, split, own in (("a", "Training", "train"), ("b", "Testing", "test")):
        rows = "Image name,Retinopathy grade,Risk of macular edema ,,,\n"
        for number in range(1, 7):
            grade = (number + (letter == "b")) % 3
            stem = f"IDRiD_{number:03}"
            tree.image(f"B. Disease Grading/1. Original Images/{letter}. {split} Set/{stem}.jpg", str(grade), own)
            rows += f"{stem},{grade},{number % 2},,,\n"
        tree.text(f"B. Disease Grading/2. Groundtruths/{letter}. IDRiD_Disease Grading_{split} Labels.csv", rows)
    tree.text("B. Disease Grading/LICENSE.txt", "CC BY 4.0\n")


@folder("RFMiD: three wrapped splits of 1.png, 2.png, a table of 0 and 1 in each")
def _(tree):
    names = ("Disease_Risk", "DR", "ARMD", "MH")
    parts = (("Training_Set", "Training", "train"), ("Evaluation_Set", "Validation", "validation"))
    for place, (wrapper, part, own) in enumerate((*parts, ("Test_Set", "Testing", "test"))):
        rows = "ID," + ",".join(names) + "\n"
        for number in range(1, 7):
            flags = [number >> bit & 1 for bit in range(3)] if (number + place) % 3 else [0, 0, 0]
            flags = [int(any(flags)), *flags]
            label = tuple(name for name, flag in zip(names, flags, strict=True) if flag)
            folder_name = {"Testing": "Test"}.get(part, part)
            tree.image(f"{wrapper}/{wrapper}/{folder_name}/{number}.png", label, own)
            rows += f"{number}," + ",".join(map(str, flags)) + "\n"
        tree.text(f"{wrapper}/{wrapper}/RFMiD_{part}_Labels.csv", rows)


# --- satellite
@folder("UC Merced: UCMerced_LandUse/Images/<class>/<class>00.tif and a readme")
def _(tree):
    for label in ("agricultural", "denseresidential", "tenniscourt"):
        tree.images(f"UCMerced_LandUse/Images/{label}/{label}{{:02}}.tif", 4, label)
    tree.text("UCMerced_LandUse/readme.txt", "21 classes\n")


@folder("Inria aerial: train/images and train/gt with the same names, .tif, test/images")
def _(tree):
    for number in range(1, 5):
        values = classes(number, 2)
        tree.image(f"AerialImageDataset/train/images/austin{number}.tif", split="train", mask=values)
        tree.drawing(f"AerialImageDataset/train/gt/austin{number}.tif", grey(values))
    for number in range(1, 3):
        tree.unlearnt(f"AerialImageDataset/test/images/tyrol-e{number}.tif")


@folder("LandCover.ai after its split.py: output/*_0.jpg and *_0_m.png, lists of stems")
def _(tree):
    for place, (part, own) in enumerate((("train", "train"), ("val", "validation"), ("test", "test"))):
        stems = [f"N-33-60-D-c-4-{place}_{number}" for number in range(3)]
        for number, stem in enumerate(stems):
            values = classes(10 * place + number, 4)
            tree.image(f"landcover/output/{stem}.jpg", split=own, mask=values)
            tree.drawing(f"landcover/output/{stem}_m.png", values)
        tree.text(f"landcover/{part}.txt", "".join(f"{stem}\n" for stem in stems))
    tree.text("landcover/split.py", "import cv2\n")


@folder("FloodNet: train/train-org-img and train/train-label-img/*_lab.png, val, test")
def _(tree):
    for place, (part, own) in enumerate((("train", "train"), ("val", "validation"), ("test", "test"))):
        for number in range(3):
            values = classes(10 * place + number, 4)
            below = f"FloodNet-Supervised_v1.0/{part}/{part}"
            tree.image(f"{below}-org-img/{6200 + 10 * place + number}.jpg", split=own, mask=values)
            tree.drawing(f"{below}-label-img/{6200 + 10 * place + number}_lab.png", values)


@folder("Massachusetts roads: tiff/train of .tiff, tiff/train_labels of .tif, label_class_dict.csv")
def _(tree):
    for place, (part, own) in enumerate((("train", "train"), ("val", "validation"), ("test", "test"))):
        for number in range(3):
            values = classes(10 * place + number, 2)
            tree.image(f"tiff/{part}/1022876{place}_{number}.tiff", split=own, mask=values)
            tree.drawing(f"tiff/{part}_labels/1022876{place}_{number}.tif", coloured(values))
    tree.text("label_class_dict.csv", "name,r,g,b\nbackground,0,0,0\nroad,255,255,255\n")


# --- art, faces, documents
@folder("WikiArt: folders of styles, classes.csv of filename, genre, artist, subset")
def _(tree):
    rows = "filename,artist,genre,description,phash,width,height,genre_count,subset\n"
    for style in ("Impressionism", "Pop_Art", "Rococo"):
        for number in range(4):
            artist = ("claude-monet", "andy-warhol")[number % 2]
            subset = "train" if number < 3 else "test"
            name = f"{style}/{artist}_work-{number}-1890.jpg"
            tree.image(f"wikiart/{name}", style, subset)
            rows += f"{name},{artist.replace('-', ' ')},\"['{style.replace('_', ' ')}']\",work-{number},bebb,24,20,1,{subset}\n"  # noqa: E501 - as it is written
    tree.text("wikiart/classes.csv", rows)


@folder("best artworks: images/images/<artist>, resized/resized flat, artists.csv", "advised")
def _(tree):
    rows = "id,name,years,genre,nationality,bio,wikipedia,paintings\n"
    for place, artist in enumerate(("Vincent_van_Gogh", "Edgar_Degas", "Francisco_Goya")):
        for number in range(1, 4):
            tree.image(f"images/images/{artist}/{artist}_{number}.jpg", artist)
            tree.unlearnt(f"resized/resized/{artist}_{number}.jpg")
        rows += f'{place},{artist.replace("_", " ")},1850 - 1890,"Realism,Impressionism",Dutch,"He, who.",http://x,3\n'
    tree.text("artists.csv", rows)


@folder("RAF-DB: DATASET/train/1, DATASET/test/1, train_labels.csv and test_labels.csv")
def _(tree):
    for split in ("train", "test"):
        rows = "image,label\n"
        for number in range(1, 10):
            label = str(number % 3 + 1)
            name = f"{split}_{number:05}_aligned.jpg"
            tree.image(f"DATASET/{split}/{label}/{name}", label, split)
            rows += f"{name},{label}\n"
        tree.text(f"{split}_labels.csv", rows)


@folder("Helen: trainset and testset with landmarks in .pts", "advised")
def _(tree):
    for split, own in (("trainset", "train"), ("testset", "test")):
        for number in range(3):
            stem = f"helen/{split}/{split[:2]}_{1000 + number}_1"
            tree.image(f"{stem}.jpg", split=own)
            tree.text(f"{stem}.pts", "version: 1\nn_points: 2\n{\n3.5 4.5\n10.0 11.0\n}\n")


@folder("RVL-CDIP: images/images<x>/<x>/<y>/…, labels/train.txt with a number")
def _(tree):
    for place, (part, own) in enumerate((("train", "train"), ("val", "validation"), ("test", "test"))):
        rows = ""
        for number in range(6):
            one, two = "qrs"[number % 3], "abc"[number // 2]
            name = f"images{one}/{one}/{two}/e/{one}{two}e{place}1d00/50321{number}+-003{number}.tif"
            tree.image(f"rvl-cdip/images/{name}", str(number % 3), own)
            rows += f"{name} {number % 3}\n"
        tree.text(f"rvl-cdip/labels/{part}.txt", rows)
    tree.text("rvl-cdip/readme.txt", "0 letter\n1 form\n2 email\n")


@folder("FUNSD: training_data/images and annotations/*.json with form and box")
def _(tree):
    for split, own in (("training_data", "train"), ("testing_data", "test")):
        for number in range(3):
            stem = f"00{number}97116{'a' if own == 'train' else 'b'}"
            boxes = [(a, b, c, d, "question" if e == "cat" else "answer") for a, b, c, d, e in some(number)]
            tree.image(f"dataset/{split}/images/{stem}.png", split=own, boxes=boxes)
            form = [
                {
                    "box": [a, b, c, d],
                    "text": "R&D",
                    "label": e,
                    "words": [{"box": [a, b, c, d], "text": "R&D"}],
                    "linking": [],
                    "id": i,
                }
                for i, (a, b, c, d, e) in enumerate(boxes)
            ]
            tree.text(f"dataset/{split}/annotations/{stem}.json", json.dumps({"form": form}))


@folder("PubLayNet: train.json and val.json beside train/ and val/, a sample with no boxes")
def _(tree):
    for split, own in (("train", "train"), ("val", "validation")):
        images = []
        for number in range(4):
            name = f"PMC3654{split}_{number:05}.jpg"
            boxes = some(number) if number < 3 else []
            tree.image(f"publaynet/{split}/{name}", split=own, boxes=boxes)
            images.append((name, boxes))
        tree.text(f"publaynet/{split}.json", coco(images))
    tree.text("publaynet/LICENSE.txt", "CDLA\n")


@folder("captchas: the text is the file's name", "advised")
def _(tree):
    for name in ("226md", "22d5n", "2356g", "23mdg", "x3fwf", "yf424", "p57fn", "8gf7n"):
        tree.image(f"samples/samples/{name}.png")


# --- traffic and sports
@folder("LISA traffic lights: frameAnnotationsBOX.csv and BULB.csv by clip, frames elsewhere", "advised")
def _(tree):
    head = (
        "Filename;Annotation tag;Upper left corner X;Upper left corner Y;Lower right corner X;Lower right corner Y;"
        "Origin file;Origin frame number;Origin track;Origin track frame number\n"
    )
    for clip in ("dayClip1", "dayClip2"):
        box, bulb = head, head
        for number in range(3):
            name = f"{clip}--{number:05}.jpg"
            boxes = [(a, b, c, d, "go" if e == "cat" else "stop") for a, b, c, d, e in some(number)]
            tree.image(f"dayTrain/dayTrain/{clip}/frames/{name}", boxes=boxes)
            for a, b, c, d, e in boxes:
                end = f"dayTraining/{clip}.avi;{number};x.avi;{number}\n"
                box += f"dayTraining/{name};{e};{a};{b};{c};{d};{end}"
                bulb += f"dayTraining/{name};{e};{a + 1};{b + 1};{c - 1};{d - 1};{end}"
        tree.text(f"Annotations/Annotations/dayTrain/{clip}/frameAnnotationsBOX.csv", box)
        tree.text(f"Annotations/Annotations/dayTrain/{clip}/frameAnnotationsBULB.csv", bulb)


@folder("CNRPark-EXT: PATCHES/<weather>/<day>/<camera>, LABELS/all.txt, train.txt, val.txt, test.txt")
def _(tree):
    everything, lists = "", {"train": "", "val": "", "test": ""}
    for weather in ("SUNNY", "RAINY"):
        for camera in ("camera1", "camera2"):
            for number in range(4):
                part = ("train", "train", "val", "test")[number]
                name = f"{weather}/2015-11-12/{camera}/{weather[0]}_2015-11-12_07.0{number}_C0{camera[-1]}_184.jpg"
                label = (number + (camera == "camera2")) % 2
                tree.image(f"PATCHES/{name}", str(label), {"val": "validation"}.get(part, part))
                lists[part] += f"{name} {label}\n"
                everything += f"{name} {label}\n"
    tree.text("LABELS/all.txt", everything)
    for part, rows in lists.items():
        tree.text(f"LABELS/{part}.txt", rows)


@folder("MOT17: sequences with img1/ and gt/gt.txt")
def _(tree):
    for sequence in ("MOT17-02", "MOT17-04"):
        rows = ""
        for number in range(1, 4):
            boxes = [(a, b, c, d, "1") for a, b, c, d, _ in some(number)]
            tree.image(f"MOT17/train/{sequence}/img1/{number:06}.jpg", split="train", boxes=boxes)
            rows += "".join(
                f"{number},{i},{a},{b},{c - a},{d - b},1,1,0.9\n" for i, (a, b, c, d, _) in enumerate(boxes, 1)
            )
        tree.text(f"MOT17/train/{sequence}/gt/gt.txt", rows)
        tree.text(f"MOT17/train/{sequence}/seqinfo.ini", f"[Sequence]\nname={sequence}\nimDir=img1\nseqLength=3\n")


# --- exports of services
@folder("Roboflow multi-label: _classes.csv in each split, blanks after commas")
def _(tree):
    for split, own in (("train", "train"), ("valid", "validation"), ("test", "test")):
        rows = "filename, cat, dog, hat\n"
        for number in range(8):
            flags = [number >> bit & 1 for bit in range(3)]
            name = f"{split}-{number}_jpg.rf.77ab.jpg"
            tree.image(f"{split}/{name}", tuple(n for n, f in zip(("cat", "dog", "hat"), flags, strict=True) if f), own)
            rows += f"{name}, {flags[0]}, {flags[1]}, {flags[2]}\n"
        tree.text(f"{split}/_classes.csv", rows)
    tree.text("README.dataset.txt", "pets\n")


@folder("Roboflow semantic segmentation: *_mask.png beside, _classes.csv of pixel values")
def _(tree):
    for place, (split, own) in enumerate((("train", "train"), ("valid", "validation"))):
        for number in range(3):
            values = classes(10 * place + number, 3)
            stem = f"{split}/{split}{number}_jpg.rf.1cd2"
            tree.image(f"{stem}.jpg", split=own, mask=values)
            tree.drawing(f"{stem}_mask.png", values)
        tree.text(f"{split}/_classes.csv", "Pixel Value, Class\n0, background\n1, road\n2, car\n")
    tree.text("README.roboflow.txt", "roads\n")


@folder("Roboflow RetinaNet: _annotations.csv without a header, _classes.csv, each split")
def _(tree):
    for split, own in (("train", "train"), ("valid", "validation")):
        rows = ""
        for number in range(4):
            name = f"{split}{number}_jpg.rf.88.jpg"
            tree.image(f"{split}/{name}", split=own, boxes=some(number))
            rows += "".join(f"{name},{a},{b},{c},{d},{e}\n" for a, b, c, d, e in some(number))
        tree.text(f"{split}/_annotations.csv", rows)
        tree.text(f"{split}/_classes.csv", "cat,0\ndog,1\n")


@folder("Roboflow Darknet: _darknet.labels beside .jpg and .txt in each split")
def _(tree):
    for split, own in (("train", "train"), ("valid", "validation")):
        for number in range(4):
            tree.image(f"{split}/{split}{number}_jpg.rf.91.jpg", split=own, boxes=some(number))
            tree.text(f"{split}/{split}{number}_jpg.rf.91.txt", yolo(some(number)))
        tree.text(f"{split}/_darknet.labels", "cat\ndog")


@folder("CVAT for images: annotations.xml and images/, two tasks as subfolders")
def _(tree):
    images = ""
    for number in range(5):
        name = f"task{number % 2}/frame_{number:06}.PNG"
        tree.image(f"images/{name}", boxes=some(number))
        found = "".join(
            f'<box label="{e}" source="manual" occluded="0" xtl="{a}.00" ytl="{b}.00" xbr="{c}.00" ybr="{d}.00" z_order="0"></box>'  # noqa: E501 - as it is written
            for a, b, c, d, e in some(number)
        )
        images += f'<image id="{number}" name="{name}" width="{WIDTH}" height="{HEIGHT}">{found}</image>'
    head = "<version>1.1</version><meta><project><labels><label><name>dog</name></label><label><name>cat</name></label></labels></project></meta>"  # noqa: E501 - as it is written
    tree.text("annotations.xml", f'<?xml version="1.0" encoding="utf-8"?><annotations>{head}{images}</annotations>')


@folder("Supervisely: meta.json, ds/img and ds/ann/*.jpg.json of rectangles, two datasets")
def _(tree):
    kinds = [{"title": n, "shape": "rectangle", "color": "#ff0000"} for n in ("cat", "dog")]
    tree.text("pets/meta.json", json.dumps({"classes": kinds, "tags": []}))
    for part, own in (("train", "train"), ("val", "validation")):
        for number in range(3):
            tree.image(f"pets/{part}/img/{part}{number}.jpg", split=own, boxes=some(number))
            objects = [
                {
                    "classTitle": e,
                    "geometryType": "rectangle",
                    "tags": [],
                    "points": {"exterior": [[a, b], [c, d]], "interior": []},
                }
                for a, b, c, d, e in some(number)
            ]
            data = {"description": "", "tags": [], "size": {"height": HEIGHT, "width": WIDTH}, "objects": objects}
            tree.text(f"pets/{part}/ann/{part}{number}.jpg.json", json.dumps(data))


# --- small companies, private people
@folder("a factory in Germany: i.O. and n.i.O./<defect>, and what is still to be judged", "advised")
def _(tree):
    tree.images("Fehlerbilder 2023/i.O./IMG_{:04}.jpg", 5, "i.O.")
    for start, defect in ((10, "Kratzer"), (20, "Delle")):
        for number in range(3):
            tree.image(f"Fehlerbilder 2023/n.i.O./{defect}/IMG_{start + number:04}.jpg", "n.i.O.")
    tree.text("Fehlerbilder 2023/Prüfplan.txt", "i.O. = in Ordnung\n", "cp1252")
    tree.text("Fehlerbilder 2023/Thumbs.db", "x")


@folder("a camera over a belt: OK_20230101_081502.bmp and NG_… in folders of days")
def _(tree):
    for day in ("20230101", "20230102"):
        for number in range(4):
            state = ("OK", "NG")[number % 2]
            tree.image(f"export/{day}/{state}_{day}_08150{number}.bmp", state)
    tree.text("export/camera.ini", "[camera]\nexposure=200\n")


@folder(
    "a shop: Bilder/ and Artikel.csv of Windows, names in another case, some pictures missing",
    "advised",
)
def _(tree):
    rows = "Artikelnummer;Bezeichnung;Kategorie;Preis;Bild\r\n"
    for number in range(8):
        kind = ("Möbel", "Lampen")[number % 2]
        tree.image(f"Bilder/art{1000 + number}.jpg", kind)
        rows += f"{1000 + number};Stück Nr. {number};{kind};{number + 1},90;ART{1000 + number}.JPG\r\n"
    rows += "2000;Lager leer;Lampen;9,90;\r\n"
    tree.text("Artikel.csv", rows, "cp1252")
