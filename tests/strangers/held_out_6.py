"""Folders gathered when those of held_out_5 were mended, by somebody who had not read how labels and boxes are read.

They say how much of the mending is general.
"""

import json

from .boxes import some, voc
from .held_out_5b import workbook
from .held_out_5c import thirds
from .masks import classes, coloured, grey
from .tree import HEIGHT, WIDTH, folder

SPLITS = (("train", "train"), ("val", "validation"), ("test", "test"))


# --- tables
@folder(
    "Happywhale: train.csv of image, species and individual_id, test_images, a form of predictions",
    "advised",
)
def _(tree):
    """kaggle.com/competitions/happy-whale-and-dolphin: the species is a class, the individual is asked for."""
    rows, form = "image,species,individual_id\n", "image,predictions\n"
    for number in range(12):
        name, whale = f"0002110480462{number:x}.jpg", f"cadddb1636b{number // 3}"
        species = ("melon_headed_whale", "bottlenose_dolphin")[number // 6]
        tree.image(f"train_images/{name}", species, "train")
        rows += f"{name},{species},{whale}\n"
    for number in range(3):
        tree.unlearnt(f"test_images/000110707af0b{number}.jpg")
        form += f"000110707af0b{number}.jpg,37c7aba965a5 114207cab555 a6e325d8e924\n"
    tree.text("train.csv", rows)
    tree.text("sample_submission.csv", form)


@folder("dogs' emotions: four folders, labels.csv of an index, filename and the same label")
def _(tree):
    """kaggle.com/datasets/danielshanbalico/dog-emotion."""
    rows = ",filename,label\n"
    for place, name in enumerate(("angry", "happy", "relaxed", "sad")):
        for number, path in enumerate(tree.images(f"Dog Emotion/{name}/wPr6vFd7{place}{{}}iqmY.jpg", 3, name)):
            rows += f"{3 * place + number},{path.rpartition('/')[2]},{name}\n"
    tree.text("Dog Emotion/labels.csv", rows)


@folder(
    "UBC-OCEAN: train.csv with sizes and is_tma, train_images and train_thumbnails of most, test",
    "advised",
)
def _(tree):
    """kaggle.com/competitions/UBC-OCEAN: a thumbnail is called 4_thumbnail.png."""
    rows = "image_id,label,image_width,image_height,is_tma\n"
    for number in range(4, 13):
        label = ("HGSC", "LGSC", "CC")[number % 3]
        tree.image(f"train_images/{number}.png", label, "train")
        if number % 4:
            tree.unlearnt(f"train_thumbnails/{number}_thumbnail.png")
        rows += f"{number},{label},{23785 + number},20008,{number % 4 == 0}\n"
    tree.unlearnt("test_images/41.png")
    tree.unlearnt("test_thumbnails/41_thumbnail.png")
    tree.text("train.csv", rows)
    tree.text("test.csv", "image_id,image_width,image_height\n41,28469,16987\n")
    tree.text("sample_submission.csv", "image_id,label\n41,HGSC\n")


@folder("a production line's report: UNC paths of a server, semicolons, Result of OK and NOK")
def _(tree):
    """A line's computer writes a row for each part; the pictures were copied from the share."""
    rows = "Timestamp;Station;ImagePath;Result\n"
    for number in range(10):
        path = tree.image(f"Images/2024-05-0{6 + number // 5}/{1000 + number}.bmp", ("OK", "NOK")[number % 3 == 0])
        unc = f"\\\\srv-line3\\vision$\\{path.replace('/', chr(92))}"
        rows += f"0{6 + number // 5}.05.2024 08:1{number}:12;S3;{unc};{('OK', 'NOK')[number % 3 == 0]}\n"
    tree.text("report.csv", rows)


@folder("iNaturalist: observations-412345.csv of many columns, photographs called by the observation's id", "advised")
def _(tree):
    """inaturalist.org/observations/export; a script saved <id>.jpg."""
    rows = (
        "id,observed_on,user_login,quality_grade,license,url,image_url,scientific_name,common_name,iconic_taxon_name\n"
    )
    names = (("Vanessa atalanta", "Red Admiral"), ("Aglais io", "European Peacock"), ("Pieris rapae", "Small White"))
    for number in range(12):
        ident, (latin, common) = 81234567 + 13 * number, names[number % 3]
        tree.image(f"photos/{ident}.jpg", latin)
        rows += f"{ident},2024-05-0{1 + number % 7},user{number % 2},research,CC-BY-NC,"
        rows += f"https://www.inaturalist.org/observations/{ident},"
        rows += f"https://inaturalist-open-data.s3.amazonaws.com/photos/{number}/medium.jpg,{latin},{common},Insecta\n"
    tree.text("observations-412345.csv", rows)


@folder("Airtable: Name, Photo as a name with a link in brackets, Category")
def _(tree):
    """support.airtable.com, CSV download: an attachment is written name (link)."""
    rows = "Name,Photo,Category\n"
    for number in range(8):
        category = ("Chair", "Lamp")[number % 2]
        tree.image(f"photos/IMG_20{number}4.jpg", category)
        link = f"https://v5.airtableusercontent.com/v3/u/28/28/171{number}/abc/def"
        rows += f"Item {number},IMG_20{number}4.jpg ({link}),{category}\n"
    tree.text("Furniture-Grid view.csv", rows)


@folder("a JSON list of file and tags, several for some")
def _(tree):
    """What a small labelling page of one's own writes."""
    rows = []
    for number in range(9):
        tags = (["indoor"], ["outdoor"], ["outdoor", "night"])[number % 3]
        tree.image(f"pics/{number:03}.jpg", tuple(tags))
        rows.append({"file": f"pics/{number:03}.jpg", "tags": tags})
    tree.text("tags.json", json.dumps(rows, indent=1))


@folder("an Excel sheet of three columns of names, a class in each header", "advised")
def _(tree):
    """Somebody pasted the names of each class into a column of its own."""
    columns = {name: [f"{name[0]}{number:03}.jpg" for number in range(4)] for name in ("Acer", "Betula", "Quercus")}
    for name, files in columns.items():
        for file in files:
            tree.image(f"leaves/{file}", name)
    workbook(tree, "leaves.xlsx", tuple(columns), *zip(*columns.values(), strict=True))


# --- boxes
@folder("hard hats: images of .png, annotations of .xml with the same names")
def _(tree):
    """kaggle.com/datasets/andrewmvd/hard-hat-detection."""
    for number in range(6):
        name = f"hard_hat_workers{number}.png"
        tree.image(f"images/{name}", boxes=some(number))
        tree.text(f"annotations/hard_hat_workers{number}.xml", voc(name, some(number)))


@folder("NEXET: train_boxes.csv of image_filename, x0, y0, x1, y1, label and confidence 1.0, train.csv of light")
def _(tree):
    """getnexar.com, challenge 2; train.csv says day, night or twilight."""
    rows, light = "image_filename,x0,y0,x1,y1,label,confidence\n", "image_filename,lighting,city\n"
    for number in range(6):
        name = f"frame_0{number}b1b2c3-d4e5_00000-1280_720.jpg"
        tree.image(f"nexet_2017_1/{name}", boxes=some(number))
        light += f"{name},{('Day', 'Night')[number % 2]},NYC\n"
        for a, b, c, d, label in some(number):
            rows += f"{name},{a}.0,{b}.0,{c}.0,{d}.0,{label},1.0\n"
    tree.text("train_boxes.csv", rows)
    tree.text("train.csv", light)


@folder(
    "UA-DETRAC: Insight-MVT_Annotation_Train/<sequence>/img00001.jpg, an XML of frames for each sequence",
)
def _(tree):
    """detrac-db.rit.albany.edu: target_list of left, top, width, height and vehicle_type."""
    for sequence in ("MVI_20011", "MVI_20012"):
        frames = ""
        for number in range(1, 4):
            tree.image(f"Insight-MVT_Annotation_Train/{sequence}/img0000{number}.jpg", boxes=some(number))
            items = "".join(
                f'<target id="{place}"><box left="{a}" top="{b}" width="{c - a}" height="{d - b}"/>'
                f'<attribute orientation="18.4" speed="6.8" trajectory_length="5" truncation_ratio="0.1" '
                f'vehicle_type="{label}"/></target>'
                for place, (a, b, c, d, label) in enumerate(some(number), 1)
            )
            frames += f'<frame density="{len(some(number))}" num="{number}"><target_list>{items}</target_list></frame>'
        head = f'<sequence name="{sequence}"><sequence_attribute camera_state="unstable" sence_weather="sunny"/>'
        text = f'<?xml version="1.0" encoding="utf-8"?>\n{head}<ignored_region/>{frames}</sequence>\n'
        tree.text(f"DETRAC-Train-Annotations-XML/{sequence}.xml", text)


@folder("SuperAnnotate: IMG_1.jpg and IMG_1.jpg___objects.json of instances, classes/classes.json")
def _(tree):
    """doc.superannotate.com, export of a vector project: points x1, x2, y1, y2."""
    for number in range(6):
        tree.image(f"IMG_{number}.jpg", boxes=some(number))
        found = [
            {
                "type": "bbox",
                "classId": 1 + (label == "dog"),
                "className": label,
                "points": {"x1": a, "x2": c, "y1": b, "y2": d},
                "probability": 100,
                "attributes": [],
            }
            for a, b, c, d, label in some(number)
        ]
        about = {"name": f"IMG_{number}.jpg", "width": WIDTH, "height": HEIGHT, "status": "Completed"}
        notes = {"metadata": about, "instances": found, "tags": [], "comments": []}
        tree.text(f"IMG_{number}.jpg___objects.json", json.dumps(notes))
    names = [{"id": 1, "name": "cat", "color": "#ff0000"}, {"id": 2, "name": "dog", "color": "#00ff00"}]
    tree.text("classes/classes.json", json.dumps(names))
    tree.text("config.json", json.dumps({"pixel_format": "sa"}))


@folder("Dataloop: items of images, json of annotations with label, type box and two coordinates")
def _(tree):
    """sdk-docs.dataloop.ai, Dataloop JSON."""
    for number in range(6):
        tree.image(f"items/shelf_{number}.jpg", boxes=some(number))
        found = [
            {
                "id": f"65{number}{a}",
                "label": label,
                "type": "box",
                "attributes": [],
                "coordinates": [{"x": a, "y": b, "z": 0}, {"x": c, "y": d, "z": 0}],
                "metadata": {"system": {"status": None}},
            }
            for a, b, c, d, label in some(number)
        ]
        about = {"id": f"65{number}", "datasetId": "65d", "url": "https://gate.dataloop.ai/api/v1/items/65"}
        about |= {"filename": f"/shelf_{number}.jpg", "annotated": True, "annotations": found}
        about |= {"metadata": {"system": {"width": WIDTH, "height": HEIGHT, "mimetype": "image/jpeg"}}}
        tree.text(f"json/shelf_{number}.json", json.dumps(about))


@folder("labelImg, images renamed afterwards: the .xml still has the camera's name")
def _(tree):
    """A script renamed 1.jpg and 1.xml together, not what is in the .xml."""
    for number in range(6):
        tree.image(f"dataset/pet_{number:03}.jpg", boxes=some(number))
        tree.text(f"dataset/pet_{number:03}.xml", voc(f"IMG_20240506_10{number}112.jpg", some(number), "DCIM"))


@folder("BBox-Label-Tool: Images/001 of .JPEG, Labels/001 of .txt with a count, then corners and a class")
def _(tree):
    """github.com/puzzledqs/BBox-Label-Tool, multi-class branch."""
    for number in range(6):
        tree.image(f"Images/001/test{number}.JPEG", boxes=some(number))
        lines = "".join(f"{a} {b} {c} {d} {label}\n" for a, b, c, d, label in some(number))
        tree.text(f"Labels/001/test{number}.txt", f"{len(some(number))}\n{lines}")


@folder("NVIDIA TAO: train, val and test with images and labels in KITTI's fifteen columns")
def _(tree):
    """docs.nvidia.com/tao, object detection, KITTI format."""
    for number, part, split in thirds():
        tree.image(f"data/{part}/images/{number:06}.png", split=split, boxes=some(number))
        lines = [f"{name} 0.00 0 0.00 {a}.00 {b}.00 {c}.00 {d}.00" for a, b, c, d, name in some(number)]
        text = "".join(f"{line} 0.00 0.00 0.00 0.00 0.00 0.00 0.00\n" for line in lines)
        tree.text(f"data/{part}/labels/{number:06}.txt", text)


# --- masks
@folder("retina vessels: Data/train and Data/test with image and mask")
def _(tree):
    """kaggle.com/datasets/abdallahwagih/retina-blood-vessel."""
    for part, count in (("train", 5), ("test", 3)):
        for number in range(count):
            values = classes(number + count, 2)
            tree.image(f"Data/{part}/image/{number}.png", split=part, mask=values)
            tree.drawing(f"Data/{part}/mask/{number}.png", grey(values))


@folder("water bodies: Images and Masks of JPEG with the same names")
def _(tree):
    """kaggle.com/datasets/franciscoescobar/satellite-images-of-water-bodies."""
    for number in range(1, 7):
        values = classes(number, 2)
        tree.image(f"Water Bodies Dataset/Images/water_body_{number}.jpg", mask=values)
        tree.drawing(f"Water Bodies Dataset/Masks/water_body_{number}.jpg", coloured(values), quality=95)


@folder("photographs with a painted mask beside each: wall1.jpg, wall1_mask.png, wall2.jpg …")
def _(tree):
    """Painted in GIMP, white on black."""
    for number in range(1, 7):
        values = classes(number, 2)
        tree.image(f"cracks/wall{number}.jpg", mask=values)
        tree.drawing(f"cracks/wall{number}_mask.png", grey(values))


@folder("PaddleSeg: images, labels, train.txt and val.txt of two paths a line, labels.txt")
def _(tree):
    """github.com/PaddlePaddle/PaddleSeg, docs/data/custom."""
    lists = {"train": "", "val": "", "test": ""}
    for number, part, split in thirds():
        values = classes(number)
        tree.image(f"custom/images/image{number}.jpg", split=split, mask=values)
        tree.drawing(f"custom/labels/image{number}.png", values)
        lists[part] += f"images/image{number}.jpg labels/image{number}.png\n"
    for part, lines in lists.items():
        tree.text(f"custom/{part}.txt", lines)
    tree.text("custom/labels.txt", "background\nroad\ncar\n")


# --- classes
@folder("brain tumour classification: Training and Testing of four kinds, image(1).jpg")
def _(tree):
    """kaggle.com/datasets/sartajbhuvaji/brain-tumor-classification-mri."""
    for part, split, pattern, count in (
        ("Training", "train", "gg ({}).jpg", 4),
        ("Testing", "test", "image({}).jpg", 2),
    ):
        for name in ("glioma_tumor", "meningioma_tumor", "no_tumor", "pituitary_tumor"):
            tree.images(f"{part}/{name}/{pattern}", count, name, split)


@folder("ImageNet-100: train.X1 to train.X4 of synsets, val.X of all, Labels.json")
def _(tree):
    """kaggle.com/datasets/ambityga/imagenet100."""
    names = {
        "n01440764": "tench, Tinca tinca",
        "n01443537": "goldfish, Carassius auratus",
        "n01484850": "great white shark",
    }
    names |= {"n01491361": "tiger shark, Galeocerdo cuvieri"}
    for number, name in enumerate(names, 1):
        tree.images(f"train.X{number}/{name}/{name}_{{}}0026.JPEG", 4, name, "train")
        tree.images(f"val.X/{name}/ILSVRC2012_val_0000{number}{{}}93.JPEG", 2, name, "validation")
    tree.text("Labels.json", json.dumps(names))


@folder("tomato leaves: tomato/train and tomato/val of classes with three underscores, cnn_train.py")
def _(tree):
    """kaggle.com/datasets/kaustubhb999/tomatoleaf."""
    for part, split, count in (("train", "train", 4), ("val", "validation", 2)):
        for name in ("Tomato___Bacterial_spot", "Tomato___Early_blight", "Tomato___healthy"):
            tree.images(
                f"tomato/{part}/{name}/0a5e9323-dbad-432d-ac58-d2917183453{{}}___GCREC_Bact.Sp 3417.JPG",
                count,
                name,
                split,
            )
    tree.text("tomato/cnn_train.py", "import os\nimport numpy as np\n")


@folder("rice leaf diseases: three classes with blanks, .JPG and .jpg")
def _(tree):
    """kaggle.com/datasets/vbookshelf/rice-leaf-diseases."""
    for name in ("Bacterial leaf blight", "Brown spot", "Leaf smut"):
        tree.images(f"rice_leaf_diseases/{name}/DSC_036{{}}.JPG", 3, name)
        tree.images(f"rice_leaf_diseases/{name}/dsc_039{{}}.jpg", 2, name)
