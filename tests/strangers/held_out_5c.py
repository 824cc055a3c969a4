"""Boxes and masks, public and of labelling tools, gathered by somebody who had not read the code that reads them."""

import json

import numpy as np

from .boxes import coco, some, voc, yolo
from .held_out_boxes import named
from .masks import classes, grey
from .tree import HEIGHT, WIDTH, folder

SPLITS = (("train", "train"), ("val", "validation"), ("test", "test"))
NAMES = ("cat", "dog")


def thirds(count=9):
    """Numbers of images with the part and the split of each: two thirds, a sixth, a sixth."""
    for number in range(count):
        yield number, *SPLITS[0 if number < count * 2 // 3 else 1 if number < count * 5 // 6 else 2]


# --- public boxes
@folder("SVHN's full numbers: train and test of 1.png, digitStruct.mat of boxes", "refused")
def _(tree):
    """ufldl.stanford.edu/housenumbers: digitStruct.mat is HDF5 of MATLAB 7.3."""
    for part, count in (("train", 5), ("test", 3)):
        for number in range(1, count + 1):
            tree.unlearnt(f"{part}/{number}.png")
        tree.files[f"{part}/digitStruct.mat"] = (
            b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(512) + b"\x89HDF\r\n\x1a\n"
        )
        tree.text(f"{part}/see_bboxes.m", "load digitStruct.mat\nfor i = 1:length(digitStruct)\nend\n")


@folder(
    "car object detection: training_images, testing_images, a table of corners without a class",
    "advised",
)
def _(tree):
    """kaggle.com/datasets/sshikamaru/car-object-detection: images without a car have no row."""
    rows = "image,xmin,ymin,xmax,ymax\n"
    for number in range(8):
        path = f"data/training_images/vid_4_{980 + 20 * number}.jpg"
        boxes = [(*box[:4], "object") for box in some(number)] if number not in (2, 5) else []
        tree.image(path, boxes=boxes)
        for a, b, c, d, _ in boxes:
            rows += f"vid_4_{980 + 20 * number}.jpg,{a - 0.2049},{b + 0.0327},{c + 0.1881},{d - 0.1569}\n"
    for number in range(2):
        tree.unlearnt(f"data/testing_images/vid_5_{25100 + 20 * number}.jpg")
    tree.text("data/train_solution_bounding_boxes (1).csv", rows)


@folder("CARPK: Images, Annotations of four corners and 1 in each line, ImageSets of stems")
def _(tree):
    """lafi.github.io/LPN: five whole numbers a line, the last is the class."""
    lists = {"train": "", "test": ""}
    for number in range(8):
        part = ("train", "test")[number > 5]
        boxes = [(*box[:4], "1") for box in some(number)]
        tree.image(f"CARPK_devkit/data/Images/20160331_NTU_0000{number}.png", split=part, boxes=boxes)
        lines = "".join(f"{a} {b} {c} {d} 1\n" for a, b, c, d, _ in boxes)
        tree.text(f"CARPK_devkit/data/Annotations/20160331_NTU_0000{number}.txt", lines)
        lists[part] += f"20160331_NTU_0000{number}\n"
    for part, lines in lists.items():
        tree.text(f"CARPK_devkit/data/ImageSets/{part}.txt", lines)


@folder("xView: xView_train.geojson of bounds_imcoords and type_id, train_images of .tif, val_images without")
def _(tree):
    """xviewdataset.org."""
    features = []
    for number in range(6):
        name, boxes = f"10{number}6.tif", named(number, "18", "73")
        tree.image(f"train_images/{name}", boxes=boxes)
        for a, b, c, d, label in boxes:
            own = {"bounds_imcoords": f"{a},{b},{c},{d}", "edited_by": "wwoscarbecerril", "type_id": int(label)}
            own |= {"cat_id": "1040010028371A00", "ingest_time": "2017/07/24 13:20:38.280+00", "index_right": 2356}
            own |= {"image_id": name, "feature_id": 374410 + number, "grid_file": "Grid2.shp"}
            ring = [[[-90.53, 14.57], [-90.53, 14.58], [-90.52, 14.58], [-90.53, 14.57]]]
            shape = {"type": "Polygon", "coordinates": ring}
            features.append({"type": "Feature", "properties": own, "geometry": shape})
    for number in range(2):
        tree.unlearnt(f"val_images/9{number}5.tif")
    tree.text("xView_train.geojson", json.dumps({"type": "FeatureCollection", "features": features}))


@folder("ACFR's mangoes: images, annotations/*.csv of #item,x,y,dx,dy,label, sets of stems")
def _(tree):
    """data.acfr.usyd.edu.au/ag/treecrops/2016-multifruit: x and y are the upper left corner."""
    lists = {"train": "", "val": "", "test": ""}
    for number, part, split in thirds():
        stem, boxes = f"20151124T02450{number}.047838_p1800s1406", [(*box[:4], "1") for box in some(number)]
        tree.image(f"mangoes/images/{stem}.png", split=split, boxes=boxes)
        rows = [f"{place},{a}.0,{b}.0,{c - a}.0,{d - b}.0,1\n" for place, (a, b, c, d, _) in enumerate(boxes)]
        tree.text(f"mangoes/annotations/{stem}.csv", f"#item,x,y,dx,dy,label\n{''.join(rows)}")
        lists[part] += f"{stem}\n"
    lists["all"] = "".join(lists.values())
    for part, lines in lists.items():
        tree.text(f"mangoes/sets/{part}.txt", lines)
    tree.text("readme.txt", "ACFR Multifruit 2016\n")


@folder("global wheat 2021: competition_train.csv, _val and _test of BoxesString with no_box, metadata_dataset.csv")
def _(tree):
    """zenodo.org/records/5092309: corners in pixels, semicolons between boxes."""
    tables = dict.fromkeys(("train", "val", "test"), "image_name,BoxesString,domain\n")
    for number, part, split in thirds(12):
        boxes = [] if number == 3 else [(*box[:4], "object") for box in some(number)]
        name = f"{number:x}0a1b2c3d4e5f60718293a4b5c6d7e8f9.png"
        tree.image(f"gwhd_2021/images/{name}", split=split, boxes=boxes)
        text = ";".join(f"{a} {b} {c} {d}" for a, b, c, d, _ in boxes) or "no_box"
        tables[part] += f"{name},{text},Arvalis_{1 + number // 3}\n"
    for part, rows in tables.items():
        tree.text(f"gwhd_2021/competition_{part}.csv", rows)
    tree.text(
        "gwhd_2021/metadata_dataset.csv", "name;country;location;development_stage\nArvalis_1;France;Gréoux;Post\n"
    )


@folder("ExDark: images by class, ExDark_Annno/<class>/2015_00001.png.txt of bbGt version 3")
def _(tree):
    """github.com/cs-chan/Exclusively-Dark-Image-Dataset: class, left, top, width, height and seven zeros."""
    for place, name in enumerate(("Cat", "Dog")):
        for number in range(1, 5):
            boxes = named(number + place, "Cat", "Dog")
            path = f"{name}/2015_0{place}00{number}.{('png', 'jpg', 'JPG')[number % 3]}"
            tree.image(f"ExDark/{path}", boxes=boxes)
            lines = [f"{label} {a} {b} {c - a} {d - b} 0 0 0 0 0 0 0\n" for a, b, c, d, label in boxes]
            tree.text(f"ExDark_Annno/{path}.txt", f"% bbGt version=3\n{''.join(lines)}")


@folder("coco128: images/train2017 and labels/train2017 of numbers up to 79, no names", "advised")
def _(tree):
    """ultralytics.com/assets/coco128.zip."""
    names = ("0", "58")
    for number in range(9):
        boxes = named(number, *names)
        tree.image(f"coco128/images/train2017/{30 + number:012}.jpg", split="train", boxes=boxes)
        tree.text(f"coco128/labels/train2017/{30 + number:012}.txt", yolo(boxes, [str(label) for label in range(80)]))
    tree.text("coco128/LICENSE", "GNU GENERAL PUBLIC LICENSE\n")
    tree.text("coco128/README.txt", "Ultralytics - YOLOv5\nThis dataset is the first 128 images of train2017.\n")


# --- boxes of labelling tools
@folder("TensorFlow's detection tutorial: images/train and images/test of .jpg and .xml, annotations/label_map.pbtxt")
def _(tree):
    """tensorflow-object-detection-api-tutorial.readthedocs.io: labelImg on Windows, tables of xml_to_csv."""
    items = "".join(f"item {{\n    id: {number}\n    name: '{name}'\n}}\n" for number, name in enumerate(NAMES, 1))
    tree.text("annotations/label_map.pbtxt", items)
    for part, start, count in (("train", 0, 6), ("test", 6, 3)):
        rows = "filename,width,height,class,xmin,ymin,xmax,ymax\n"
        for number in range(start, start + count):
            name = f"IMG_{number}.jpg"
            tree.image(f"images/{part}/{name}", split=part, boxes=some(number))
            path = f"<path>C:\\Users\\me\\TensorFlow\\workspace\\images\\{name}</path><size>"
            tree.text(f"images/{part}/IMG_{number}.xml", voc(name, some(number), "images").replace("<size>", path))
            for a, b, c, d, label in some(number):
                rows += f"{name},{WIDTH},{HEIGHT},{label},{a},{b},{c},{d}\n"
        tree.text(f"annotations/{part}_labels.csv", rows)
    tree.text("models/my_ssd_resnet50_v1_fpn/pipeline.config", "model {\n  ssd {\n    num_classes: 2\n  }\n}\n")


@folder("OIDv4_ToolKit: OID/Dataset/train/Cat/*.jpg and Label/*.txt of a name and four corners, csv_folder")
def _(tree):
    """github.com/EscVM/OIDv4_ToolKit: a folder for each class that was asked for."""
    for part, split, start in (("train", "train", 0), ("validation", "validation", 6)):
        for place, name in enumerate(("Cat", "Dog")):
            for number in range(2):
                stem, label = f"0a1b2c3d4e5f6{start + place}{number}", name.lower()
                boxes = [(*box[:4], name) for box in some(2) if box[4] == label]
                boxes += [(1, 1, 23, 19, name)] if number else []
                tree.image(f"OID/Dataset/{part}/{name}/{stem}.jpg", split=split, boxes=boxes)
                lines = "".join(f"{name} {a}.0 {b}.0 {c}.0 {d}.0\n" for a, b, c, d, _ in boxes)
                tree.text(f"OID/Dataset/{part}/{name}/Label/{stem}.txt", lines)
    tree.text("OID/csv_folder/class-descriptions-boxable.csv", "/m/01yrx,Cat\n/m/0bt9lr,Dog\n")


@folder("labelme2yolo: YOLODataset with dataset.yaml of Windows below the labelled images and their .json", "advised")
def _(tree):
    """github.com/rooneysh/Labelme2YOLO: it copies the images as .png into train and val."""
    for number in range(8):
        part, split = SPLITS[number > 5]
        path = tree.image(f"YOLODataset/images/{part}/shot_{number}.png", split=split, boxes=some(number))
        tree.text(f"YOLODataset/labels/{part}/shot_{number}.txt", yolo(some(number)))
        tree.files[f"shot_{number}.png"] = tree.files[path]
        shapes = [
            {"label": label, "points": [[a, b], [c, d]], "group_id": None, "shape_type": "rectangle", "flags": {}}
            for a, b, c, d, label in some(number)
        ]
        notes = {"version": "5.0.1", "flags": {}, "shapes": shapes, "imagePath": f"shot_{number}.png"}
        tree.text(
            f"shot_{number}.json", json.dumps(notes | {"imageData": None, "imageHeight": HEIGHT, "imageWidth": WIDTH})
        )
    below = "C:\\Users\\me\\shots\\YOLODataset/images"
    tree.text("YOLODataset/dataset.yaml", f'train: {below}/train/\nval: {below}/val/\n\nnc: 2\n\nnames: ["cat", "dog"]')


@folder("dlib's imglab: training.xml and testing.xml of images with boxes, a stylesheet")
def _(tree):
    """github.com/davisking/dlib, tools/imglab."""
    head = "<?xml version='1.0' encoding='ISO-8859-1'?>\n"
    head += "<?xml-stylesheet type='text/xsl' href='image_metadata_stylesheet.xsl'?>\n<dataset>\n"
    for part, split, start, count in (("training", "train", 0, 6), ("testing", "test", 6, 3)):
        items = ""
        for number in range(start, start + count):
            path = tree.image(f"images/image_000{number}.jpg", split=split, boxes=some(number))
            items += f"  <image file='{path}' width='{WIDTH}' height='{HEIGHT}'>\n"
            for a, b, c, d, label in some(number):
                items += f"    <box top='{b}' left='{a}' width='{c - a}' height='{d - b}'>\n"
                items += f"      <label>{label}</label>\n    </box>\n"
            items += "  </image>\n"
        name = "<name>imglab dataset</name>\n<comment>Created by imglab tool.</comment>\n"
        tree.text(f"{part}.xml", f"{head}{name}<images>\n{items}</images>\n</dataset>\n")
    tree.text("image_metadata_stylesheet.xsl", '<?xml version="1.0"?><xsl:stylesheet version="1.0"/>\n')


@folder("FiftyOne's YOLOv5Dataset: dataset.yaml with the path of another machine, images/train, labels/train, val")
def _(tree):
    """docs.voxel51.com, exporting: fiftyone.types.YOLOv5Dataset."""
    for number in range(8):
        part, split = SPLITS[number > 5]
        tree.image(f"images/{part}/{number:06}.jpg", split=split, boxes=some(number))
        tree.text(f"labels/{part}/{number:06}.txt", yolo(some(number)))
    names = "names:\n  0: cat\n  1: dog\npath: /home/me/exports/pets\n"
    tree.text("dataset.yaml", f"{names}train: ./images/train/\nval: ./images/val/\n")


@folder("VIA's COCO: via_export_coco.json beside the photographs, links that are names")
def _(tree):
    """robots.ox.ac.uk/~vgg/software/via, version 2: Annotation, Export Annotations (COCO format)."""
    for number in range(6):
        tree.image(f"IMG_{number}.jpg", boxes=some(number))
    notes = json.loads(coco([(f"IMG_{number}.jpg", some(number)) for number in range(6)]))
    for one in notes["annotations"]:
        a, b, width, height = one["bbox"]
        one["segmentation"] = [[a, b, a + width, b, a + width, b + height, a, b + height]]
    for one in notes["images"]:
        one.update(flickr_url=one["file_name"], coco_url=one["file_name"], license=0, date_captured="")
    for one in notes["categories"]:
        one["supercategory"] = "animal"
    notes["info"] = {"description": "VIA project exported to COCO format using VGG Image Annotator", "year": 2024}
    tree.text("via_export_coco.json", json.dumps(notes))


@folder("Labelbox of 2021: a JSON of Labeled Data, External ID and objects with a bbox of top and left")
def _(tree):
    """docs.labelbox.com's export of version 1; one task was skipped."""
    rows = []
    for number in range(7):
        name, skipped = f"IMG_{number}.jpg", number == 4
        path = f"images/{name}"
        tree.unlearnt(path) if skipped else tree.image(path, boxes=some(number))
        objects = [
            {
                "featureId": f"ckq{a}{number}",
                "schemaId": "ckp1",
                "color": "#1CE6FF",
                "title": label,
                "value": label,
                "bbox": {"top": b, "left": a, "height": d - b, "width": c - a},
                "instanceURI": "https://api.labelbox.com/masks/feature/1",
            }
            for a, b, c, d, label in some(number)
        ]
        row = {
            "ID": f"ckl{number}",
            "DataRow ID": f"ckd{number}",
            "Labeled Data": f"https://storage.labelbox.com/{number}",
        }
        row |= {"Label": {} if skipped else {"objects": objects, "classifications": []}, "Created By": "me@x.org"}
        row |= {"Project Name": "Pets", "Created At": "2021-06-01T10:11:12.000Z", "Seconds to Label": 12.3}
        rows.append(row | {"External ID": name, "Dataset Name": "pets", "Reviews": [], "Skipped": skipped})
    tree.text("export-2021-06-01T10_12_13.456Z.json", json.dumps(rows))


# --- public masks
@folder("Crack500: traincrop of .jpg and .png with one name, train.txt of pairs of paths")
def _(tree):
    """github.com/fyangneil/pavement-crack-detection."""
    lists = {"train": "", "val": "", "test": ""}
    for number, part, split in thirds():
        stem, values = f"{part}crop/20160222_08101{number}_1281_721", classes(number, 2)
        tree.image(f"{stem}.jpg", split=split, mask=values)
        tree.drawing(f"{stem}.png", grey(values))
        lists[part] += f"{stem}.jpg {stem}.png\n"
    for part, lines in lists.items():
        tree.text(f"{part}.txt", lines)


@folder("aerial tiles: Tile 1 to Tile 3 of images and masks with the same names, classes.json of colours")
def _(tree):
    """kaggle.com/datasets/humansintheloop/semantic-segmentation-of-aerial-imagery."""
    hexes = {"Water": "#E2A929", "Land (unpaved area)": "#8429F6", "Road": "#6EC1E4"}
    colours = np.array([[int(text[place : place + 2], 16) for place in (1, 3, 5)] for text in hexes.values()], np.uint8)
    below = "Semantic segmentation dataset"
    for tile in (1, 2, 3):
        for number in range(1, 4):
            values = classes(10 * tile + number)
            tree.image(f"{below}/Tile {tile}/images/image_part_00{number}.jpg", mask=values)
            tree.drawing(f"{below}/Tile {tile}/masks/image_part_00{number}.png", colours[values])
    notes = [
        {"title": title, "shape": "polygon", "color": text, "geometry_config": {}} for title, text in hexes.items()
    ]
    tree.text(f"{below}/classes.json", json.dumps({"classes": notes, "tags": []}))


@folder("flood areas: Image/0.jpg, Mask/0.png and metadata.csv of pairs")
def _(tree):
    """kaggle.com/datasets/faizalkarim/flood-area-segmentation."""
    rows = "Image,Mask\n"
    for number in range(6):
        values = classes(number, 2)
        tree.image(f"Image/{number}.jpg", mask=values)
        tree.drawing(f"Mask/{number}.png", grey(values))
        rows += f"{number}.jpg,{number}.png\n"
    tree.text("metadata.csv", rows)
