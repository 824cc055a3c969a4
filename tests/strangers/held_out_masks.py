"""Folders of images with masks, gathered after the code that reads folders was written."""

import json

import numpy as np

from .masks import classes, coloured, grey
from .tree import HEIGHT, WIDTH, folder

SPLITS = (("train", "train"), ("val", "validation"), ("test", "test"))


# --- factories
@folder("KolektorSDD: kos01/Part0.jpg and Part0_label.bmp")
def _(tree):
    for item in (1, 2, 3):
        for number in range(3):
            values = classes(item * 10 + number, 2)
            tree.image(f"KolektorSDD/kos{item:02}/Part{number}.jpg", mask=values)
            tree.drawing(f"KolektorSDD/kos{item:02}/Part{number}_label.bmp", grey(values))


@folder("KolektorSDD2: train and test of 10000.png and 10000_GT.png")
def _(tree):
    for split, start in (("train", 10000), ("test", 20000)):
        for number in range(4):
            values = classes(start + number, 2) if number % 2 else np.zeros((HEIGHT, WIDTH), np.uint8)
            tree.image(f"KSDD2/{split}/{start + number}.png", split=split, mask=values)
            tree.drawing(f"KSDD2/{split}/{start + number}_GT.png", grey(values))


@folder("magnetic tiles: MT_<defect>/Imgs of .jpg and .png with the same name", "advised")
def _(tree):
    for defect in ("MT_Blowhole", "MT_Crack", "MT_Free"):
        for number in range(3):
            values = np.zeros((HEIGHT, WIDTH), np.uint8) if defect == "MT_Free" else classes(number, 2)
            tree.image(f"{defect}/Imgs/exp1_num_{4727 + number}_{defect[3:5]}.jpg", mask=values)
            tree.drawing(f"{defect}/Imgs/exp1_num_{4727 + number}_{defect[3:5]}.png", grey(values))


@folder("DAGM: Class1/Train with Label of the defective ones and a Labels.txt", "refused")
def _(tree):
    for kind in ("Class1", "Class2"):
        for split in ("Train", "Test"):
            lines = "1\n"
            for number in range(1, 5):
                bad = number == 4
                values = classes(number, 2) if bad else np.zeros((HEIGHT, WIDTH), np.uint8)
                tree.image(f"DAGM_KaggleUpload/{kind}/{split}/{number:04}.PNG", split=split.lower(), mask=values)
                if bad:
                    tree.drawing(f"DAGM_KaggleUpload/{kind}/{split}/Label/{number:04}_label.PNG", grey(values))
                lines += f"{number:04}\t{int(bad)}\t{number:04}.PNG\t0\t{f'{number:04}_label.PNG' if bad else 0}\n"
            tree.text(f"DAGM_KaggleUpload/{kind}/{split}/Label/Labels.txt", lines)


@folder("AITEX: Defect_images, Mask_images, and NODefect_images by fabric")
def _(tree):
    for number in range(1, 6):
        values = classes(number, 2)
        tree.image(f"Defect_images/{number:04}_002_00.png", mask=values)
        tree.drawing(f"Mask_images/{number:04}_002_00_mask.png", grey(values))
    for fabric in ("2306881-210020u", "2306894-210033u"):
        for number in range(2):
            tree.unlearnt(f"NODefect_images/{fabric}/{number:04}_000_00.png")


# --- streets, people, land
@folder("fast.ai's CamVid: images, labels/*_P.png, codes.txt, valid.txt")
def _(tree):
    late = ""
    for number in range(8):
        values = classes(number, 4)
        name = f"0016E5_0{number}370"
        tree.image(f"camvid/images/{name}.png", split="validation" if number > 5 else "train", mask=values)
        tree.drawing(f"camvid/labels/{name}_P.png", values)
        late += f"{name}.png\n" if number > 5 else ""
    tree.text("camvid/codes.txt", "Animal\nArchway\nBicyclist\nBridge\n")
    tree.text("camvid/valid.txt", late)


@folder("SegNet's CamVid: train and trainannot, lists of pairs of paths of another machine")
def _(tree):
    for place, (part, split) in enumerate(SPLITS):
        lines = ""
        for number in range(3):
            values = classes(10 * place + number, 4)
            name = f"0001TP_00{place}{number}90.png"
            tree.image(f"CamVid/{part}/{name}", split=split, mask=values)
            tree.drawing(f"CamVid/{part}annot/{name}", values)
            lines += f"/SegNet/CamVid/{part}/{name} /SegNet/CamVid/{part}annot/{name}\n"
        tree.text(f"CamVid/{part}.txt", lines)


@folder("LIP: TrainVal_images and TrainVal_parsing_annotations, train_id.txt and val_id.txt of stems")
def _(tree):
    for place, (part, split) in enumerate(SPLITS[:2]):
        stems = ""
        for number in range(4):
            values = classes(10 * place + number, 4)
            stem = f"100034_48368{place}{number}"
            tree.image(f"LIP/TrainVal_images/{part}_images/{stem}.jpg", split=split, mask=values)
            tree.drawing(f"LIP/TrainVal_parsing_annotations/{part}_segmentations/{stem}.png", values)
            stems += f"{stem}\n"
        tree.text(f"LIP/{part}_id.txt", stems)


@folder("CMP facades: base and extended of .jpg, .png and .xml with one name, label_names.txt")
def _(tree):
    for part in ("base", "extended"):
        for number in range(1, 4):
            values = classes(number + len(part), 3) + 1
            tree.image(f"{part}/cmp_{part[0]}{number:04}.jpg", mask=values)
            tree.drawing(f"{part}/cmp_{part[0]}{number:04}.png", values)
            points = "<points><x>0.12</x><x>0.31</x><y>0.20</y><y>0.44</y></points>"
            xml = f"<object>{points}<label>2</label><labelname>facade</labelname></object>"
            tree.text(f"{part}/cmp_{part[0]}{number:04}.xml", xml)
    tree.text("label_names.txt", "background 1 1\nfacade 2 2\nwindow 3 10\n")


@folder("GID-15: img_dir/train/*.tif and ann_dir/train/*_15label.png, a test without labels")
def _(tree):
    for place, (part, split) in enumerate(SPLITS):
        for number in range(3):
            stem = f"GF2_PMS1__L1A000056453{place}-MSS{number}"
            if part == "test":
                tree.unlearnt(f"GID/img_dir/{part}/{stem}.tif")
                continue
            values = classes(10 * place + number, 4)
            tree.image(f"GID/img_dir/{part}/{stem}.tif", split=split, mask=values)
            tree.drawing(f"GID/ann_dir/{part}/{stem}_15label.png", values)


@folder("OpenEarthMap: regions with images and labels, train.txt and val.txt of all")
def _(tree):
    lists = {"train": "", "val": ""}
    for place, region in enumerate(("aachen", "accra", "chiang_mai")):
        for number in range(1, 5):
            part, split = SPLITS[number == 4]
            values = classes(10 * place + number, 4)
            tree.image(f"OpenEarthMap/{region}/images/{region}_{number}.tif", split=split, mask=values)
            tree.drawing(f"OpenEarthMap/{region}/labels/{region}_{number}.tif", values)
            lists[part] += f"{region}_{number}.tif\n"
    for part, lines in lists.items():
        tree.text(f"OpenEarthMap/{part}.txt", lines)


@folder("Potsdam: 2_Ortho_RGB and 5_Labels_all in six colours, no table of them", "refused")
def _(tree):
    colours = np.array([(255, 255, 255), (0, 0, 255), (0, 255, 255), (0, 255, 0)], np.uint8)
    for number in range(10, 14):
        values = classes(number, 4)
        tree.image(f"Potsdam/2_Ortho_RGB/top_potsdam_2_{number}_RGB.tif", mask=values)
        tree.drawing(f"Potsdam/5_Labels_all/top_potsdam_2_{number}_label.tif", colours[values])


@folder("DFC2022: cities with BDORTHO, RGEALTI and UrbanAtlas, an unlabeled_train and a val without", "advised")
def _(tree):
    for place, city in enumerate(("Nice", "Nantes_Saint-Nazaire")):
        for number in range(3):
            stem = f"06-2014-100{place}-631{number}-LA93-0M50-E080"
            values = classes(10 * place + number, 4)
            tree.image(f"labeled_train/{city}/BDORTHO/{stem}.tif", split="train", mask=values)
            tree.unlearnt(f"labeled_train/{city}/RGEALTI/{stem}_RGEALTI.tif")
            tree.drawing(f"labeled_train/{city}/UrbanAtlas/{stem}_UA2012.tif", values)
    for part, city in (("unlabeled_train", "LeMans"), ("val", "Clermont-Ferrand")):
        for number in range(2):
            tree.unlearnt(f"{part}/{city}/BDORTHO/63-2013-071{number}.tif")
            tree.unlearnt(f"{part}/{city}/RGEALTI/63-2013-071{number}_RGEALTI.tif")


@folder("LEVIR-CD: A before and B after, label of what changed, in three splits", "refused")
def _(tree):
    for place, (part, split) in enumerate(SPLITS):
        for number in range(3):
            values = classes(10 * place + number, 2)
            tree.image(f"LEVIR-CD/{part}/A/{part}_{number}.png", split=split, mask=values)
            tree.unlearnt(f"LEVIR-CD/{part}/B/{part}_{number}.png")
            tree.drawing(f"LEVIR-CD/{part}/label/{part}_{number}.png", grey(values))


# --- medicine, cells, plants
@folder("lungs: CXR_png of all patients, masks of most of them", "advised")
def _(tree):
    for number in range(1, 9):
        name = f"CHNCXR_{number:04}_{number % 2}"
        if number in (3, 6):
            tree.unlearnt(f"Lung Segmentation/CXR_png/{name}.png")
            continue
        values = classes(number, 2)
        tree.image(f"Lung Segmentation/CXR_png/{name}.png", mask=values)
        tree.drawing(f"Lung Segmentation/masks/{name}_mask.png", grey(values))


@folder("BBBC039: images of .tif, masks that number the nuclei, metadata/training.txt of .png names", "refused")
def _(tree):
    lists = {"training": "", "validation": "", "test": ""}
    for number in range(9):
        values = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
        for nucleus in range(6):
            values[3 * nucleus : 3 * nucleus + 2, 2:20, 0] = nucleus + 1 + number % 3
        stem = f"IXMtest_A02_s{number}_w1051DAA7C"
        tree.image(f"images/{stem}.tif", mask=values[..., 0])
        tree.drawing(f"masks/{stem}.png", values)
        lists[("training", "validation", "test")[number // 3]] += f"{stem}.png\n"
    for part, lines in lists.items():
        tree.text(f"metadata/{part}.txt", lines)


@folder("cell tracking: 01 of frames, 01_GT/SEG of some, 01_ST/SEG of all, 02", "refused")
def _(tree):
    for video in ("01", "02"):
        for number in range(4):
            values = classes(number, 4).astype(np.uint16)
            tree.image(f"Fluo-N2DH-SIM+/{video}/t{number:03}.tif", mask=values)
            tree.drawing(f"Fluo-N2DH-SIM+/{video}_ST/SEG/man_seg{number:03}.tif", values)
            tree.drawing(f"Fluo-N2DH-SIM+/{video}_GT/TRA/man_track{number:03}.tif", values)
            if number == 2:
                tree.drawing(f"Fluo-N2DH-SIM+/{video}_GT/SEG/man_seg{number:03}.tif", values)
        tree.text(f"Fluo-N2DH-SIM+/{video}_GT/TRA/man_track.txt", "1 0 3 0\n2 0 3 0\n")


@folder(
    "crop and weed: images, masks of plants, annotations in red and green, a .yaml of splits",
)
def _(tree):
    for number in range(1, 7):
        values = classes(number, 2)
        tree.image(f"dataset-1.0/images/{number:03}_image.png", mask=values)
        tree.drawing(f"dataset-1.0/masks/{number:03}_mask.png", grey(values))
        kinds = classes(number + 7, 2) + 1
        colours = np.array([(0, 0, 0), (0, 255, 0), (255, 0, 0)], np.uint8)
        tree.drawing(f"dataset-1.0/annotations/{number:03}_annotation.png", colours[values * kinds])
        tree.text(f"dataset-1.0/annotations/{number:03}_annotation.yaml", "annotation: []\n")
    tree.text("dataset-1.0/train_test_split.yaml", "train: [1, 2, 3, 4]\ntest: [5, 6]\n")


# --- tools
@folder("labelme2voc: SegmentationClass of .npy, SegmentationClassPNG and Visualization, class_names.txt")
def _(tree):
    for number in range(1, 6):
        values = classes(number, 3)
        stem = f"2011_00000{number}"
        tree.image(f"data_dataset_voc/JPEGImages/{stem}.jpg", mask=values)
        tree.text(f"data_dataset_voc/SegmentationClass/{stem}.npy", "\x93NUMPY")
        tree.drawing(f"data_dataset_voc/SegmentationClassPNG/{stem}.png", values)
        tree.unlearnt(f"data_dataset_voc/SegmentationClassVisualization/{stem}.jpg")
    tree.text("data_dataset_voc/class_names.txt", "_background_\nperson\nbottle\n")


@folder("CVAT's segmentation mask: SegmentationClass in colours, labelmap.txt, ImageSets/Segmentation/default.txt")
def _(tree):
    colours = np.array([(0, 0, 0), (250, 50, 83), (51, 221, 255)], np.uint8)
    stems = ""
    for number in range(6):
        values = classes(number, 3)
        tree.image(f"JPEGImages/frame_{number}.jpg", mask=values)
        tree.drawing(f"SegmentationClass/frame_{number}.png", colours[values])
        tree.drawing(f"SegmentationObject/frame_{number}.png", colours[np.minimum(values, 1)])
        stems += f"frame_{number}\n"
    tree.text("ImageSets/Segmentation/default.txt", stems)
    lines = "background:0,0,0::\ncat:250,50,83::\ndog:51,221,255::\n"
    tree.text("labelmap.txt", f"# label:color_rgb:parts:actions\n{lines}")


@folder("Segment Anything: a JSON of masks without classes beside each image", "refused")
def _(tree):
    for number in range(4):
        tree.image(f"sa_000020/sa_22369{number}.jpg", boxes=())
        notes = [
            {"bbox": [2.0, 3.0, 8.0, 9.0], "area": 72, "predicted_iou": 0.98, "id": 531, "crop_box": [0, 0, 24, 20]}
        ]
        notes[0]["segmentation"] = {"size": [HEIGHT, WIDTH], "counts": "`04n0"}
        image = {"image_id": number, "width": WIDTH, "height": HEIGHT, "file_name": f"sa_22369{number}.jpg"}
        tree.text(f"sa_000020/sa_22369{number}.json", json.dumps({"image": image, "annotations": notes}))


@folder(
    "a painted mask for each photograph: photos/*.jpg, photos/painted/*.png in black and white",
    "advised",
)
def _(tree):
    for number in range(5):
        values = classes(number, 2)
        tree.image(f"photos/P10{number}.jpg", mask=values)
        tree.drawing(f"photos/painted/P10{number}.png", coloured(values))
