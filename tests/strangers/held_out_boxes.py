"""Folders of images with boxes, gathered after the code that reads folders was written."""

import json

from .boxes import coco, some, voc, yolo
from .masks import classes, grey
from .tree import HEIGHT, WIDTH, folder

SPLITS = (("train", "train"), ("val", "validation"), ("test", "test"))


def named(number, *names):
    """The boxes of an image with other names for cat and dog."""
    return [(a, b, c, d, names[label == "dog"]) for a, b, c, d, label in some(number)]


def oriented(number, *names):
    """The boxes of an image, and their corners from the upper left one on, as numbers."""
    boxes = named(number, *names)
    return boxes, [([a, b, c, b, c, d, a, d], label) for a, b, c, d, label in boxes]


# --- boxes: medicine
@folder("malaria: training.json and test.json of pathnames, boxes by rows and columns")
def _(tree):
    for part, split, start, count in (("training", "train", 0, 5), ("test", "test", 5, 3)):
        records = []
        for number in range(start, start + count):
            boxes = named(number, "red blood cell", "trophozoite")
            path = tree.image(
                f"malaria/images/8d02117d-6c71-4e47-b50a-6cc8d5eb1d{number}.png", split=split, boxes=boxes
            )
            shape = {"r": HEIGHT, "c": WIDTH, "channels": 3}
            image = {"checksum": "676bb8e86fc2dbf05dd97d51a64ac0af", "pathname": path.removeprefix("malaria")}
            objects = [
                {"bounding_box": {"minimum": {"r": b, "c": a}, "maximum": {"r": d, "c": c}}, "category": label}
                for a, b, c, d, label in boxes
            ]
            records.append({"image": image | {"shape": shape}, "objects": objects})
        tree.text(f"malaria/{part}.json", json.dumps(records))


@folder("LIVECell: COCO of three splits, images of two of them in one folder")
def _(tree):
    parts = {"train": [], "val": [], "test": []}
    for place, (part, split) in enumerate(SPLITS):
        for number in range(3):
            name = f"A172_Phase_A7_{place}_0{number}d00h00m_1.tif"
            below = "livecell_test_images" if part == "test" else "livecell_train_val_images"
            boxes = named(number, "A172", "BT474")
            tree.image(f"images/{below}/{name}", split=split, boxes=boxes)
            parts[part].append((name, boxes))
    for part, images in parts.items():
        tree.text(f"livecell_coco_{part}.json", coco(images, ("A172", "BT474")))


# --- boxes: aerial images
@folder("DIOR: JPEGImages-trainval and -test, Horizontal and Oriented Bounding Boxes, ImageSets/Main")
def _(tree):
    for place, (part, split) in enumerate(SPLITS):
        stems = [f"{5 * place + number + 1:05}" for number in range(3)]
        for number, stem in enumerate(stems):
            boxes, corners = oriented(number, "golffield", "vehicle")
            tree.image(
                f"DIOR/JPEGImages-{'test' if part == 'test' else 'trainval'}/{stem}.jpg", split=split, boxes=boxes
            )
            tree.text(f"DIOR/Annotations/Horizontal Bounding Boxes/{stem}.xml", voc(f"{stem}.jpg", boxes, "DIOR"))
            names = ("left_top", "right_top", "right_bottom", "left_bottom")
            objects = ""
            for points, label in corners:
                sides = "".join(
                    f"<{axis}_{name}>{points[2 * at + (axis == 'y')]}</{axis}_{name}>"
                    for at, name in enumerate(names)
                    for axis in "xy"
                )
                objects += f"<object><name>{label}</name><type>robndbox</type><robndbox>{sides}</robndbox></object>"
            xml = f"<annotation><filename>{stem}.jpg</filename>{objects}</annotation>"
            tree.text(f"DIOR/Annotations/Oriented Bounding Boxes/{stem}.xml", xml)
        tree.text(f"DIOR/ImageSets/Main/{part}.txt", "".join(f"{stem}\n" for stem in stems))


@folder("NWPU VHR-10: positive image set, negative image set, ground truth of (x,y),(x,y),class", "refused")
def _(tree):
    below = "NWPU VHR-10 dataset"
    for number in range(1, 5):
        boxes = named(number, "1", "2")
        tree.image(f"{below}/positive image set/{number:03}.jpg", boxes=boxes)
        lines = "".join(f"({a},{b}),({c},{d}),{label} \n" for a, b, c, d, label in boxes)
        tree.text(f"{below}/ground truth/{number:03}.txt", lines)
        tree.image(f"{below}/negative image set/{number:03}.jpg", boxes=())
    tree.text(f"{below}/readme.txt", "1-airplane, 2-ship\n")


@folder("SODA-A: Annotations/train/*.json of polygons, and a table of image_path, label_path, split")
def _(tree):
    rows, number = "image_path,label_path,split\n", 0
    categories = [{"id": 0, "name": "airplane"}, {"id": 1, "name": "ship"}]
    for part, split in SPLITS:
        for _ in range(3):
            boxes, corners = oriented(number, "airplane", "ship")
            path = tree.image(f"Images/{number:05}.jpg", split=split, boxes=boxes)
            notes = [
                {"poly": points, "area": 80.0, "category_id": int(label == "ship"), "image_id": number, "id": at}
                for at, (points, label) in enumerate(corners)
            ]
            image = {"file_name": f"{number:05}.jpg", "height": HEIGHT, "width": WIDTH, "id": number}
            content = {"type": "instance", "images": image, "annotations": notes, "categories": categories}
            tree.text(f"Annotations/{part}/{number:05}.json", json.dumps(content))
            rows += f"{path},Annotations/{part}/{number:05}.json,{split.replace('validation', 'val')}\n"
            number += 1
    tree.text("sample_df.csv", rows)


@folder("FAIR1M: train/part1, train/part2 and validation of images and labelXml, the same names")
def _(tree):
    for place, part in enumerate(("train/part1", "train/part2", "validation")):
        for number in range(3):
            boxes, corners = oriented(number + place, "Liquid Cargo Ship", "Van")
            tree.image(f"{part}/images/{number}.tif", split=part.partition("/")[0], boxes=boxes)
            objects = "".join(
                "<object><coordinate>pixel</coordinate><type>rectangle</type>"
                f"<possibleresult><name>{label}</name></possibleresult><points>"
                + "".join(f"<point>{points[at]:.6f},{points[at + 1]:.6f}</point>" for at in (0, 2, 4, 6, 0))
                + "</points></object>"
                for points, label in corners
            )
            head = f"<source><filename>{number}.tif</filename></source>"
            head += f"<size><width>{WIDTH}</width><height>{HEIGHT}</height><depth>3</depth></size>"
            xml = f"<annotation>{head}<objects>{objects}</objects></annotation>"
            tree.text(f"{part}/labelXml/{number}.xml", xml)


@folder("larch casebearer: a folder for each flight with Images and Annotations of VOC")
def _(tree):
    for place, flight in enumerate(("Bebehojd_20190527", "Ekbacka_20190819", "Jallasvag_20190527")):
        for number in range(3):
            boxes = named(number, "Larch", "Other")
            stem = f"B0{place}_000{number}"
            tree.image(f"Data_Set_Larch_Casebearer/{flight}/Images/{stem}.JPG", boxes=boxes)
            xml = voc(f"{stem}.JPG", boxes, "Images")
            tree.text(f"Data_Set_Larch_Casebearer/{flight}/Annotations/{stem}.xml", xml)


@folder("ReforesTree: tiles by site, one table of boxes with a group and a weight", "advised")
def _(tree):
    rows = ",img_path,xmin,ymin,xmax,ymax,group,AGB\n"
    for site in (1, 2, 3):
        for number in range(2):
            boxes = named(site + number, "banana", "cacao")
            name = f"Site{site}_RGB_{number}_0_0_4000_4000.png"
            tree.image(f"reforesTree/tiles/Site{site}/{name}", boxes=boxes)
            rows += "".join(f"0,{name},{a},{b},{c},{d},{label},6.75\n" for a, b, c, d, label in boxes)
    tree.text("reforesTree/mapping/final_dataset.csv", rows)


@folder("EverWatch: train.csv and test.csv of image_path, boxes and label beside all images")
def _(tree):
    for split, count in (("train", 4), ("test", 3)):
        rows = "image_path,xmin,ymin,xmax,ymax,label\n"
        for number in range(count):
            boxes = named(number, "White Ibis", "Great Egret")
            tree.image(f"everwatch-benchmark/{split}{number}.png", split=split, boxes=boxes)
            rows += "".join(f"{split}{number}.png,{a},{b},{c},{d},{label}\n" for a, b, c, d, label in boxes)
        tree.text(f"everwatch-benchmark/{split}.csv", rows)


# --- boxes: roads
@folder("LISA signs: frames by track, a table with semicolons in each, all of them in allAnnotations.csv")
def _(tree):
    head = "Filename;Annotation tag;Upper left corner X;Upper left corner Y;Lower right corner X;Lower right corner Y;"
    head += "Occluded,On another road;Origin file;Origin frame number\n"
    rows = ""
    for track in (1, 2):
        own = ""
        for number in range(3):
            boxes = named(number + track, "stop", "keepRight")
            name = f"stop_13238044{track}{number}.avi_image{number}.png"
            below = f"vid{track}/frameAnnotations-vid_cmp2.avi_annotations"
            tree.image(f"{below}/{name}", boxes=boxes)
            for a, b, c, d, label in boxes:
                line = f";{label};{a};{b};{c};{d};0,0;vid_cmp{track}.avi;{number}\n"
                rows += f"{below}/{name}{line}"
                own += f"{name}{line}"
        tree.text(f"{below}/frameAnnotations.csv", head + own)
    tree.text("allAnnotations.csv", head + rows)
    tree.text("Readme.txt", "LISA US Traffic Sign Dataset\n")


@folder("GTSDB: 00000.ppm, gt.txt of names, corners and classes, folders of signs cut out")
def _(tree):
    rows = ""
    for number in range(6):
        boxes = named(number, "4", "11")
        tree.image(f"FullIJCNN2013/{number:05}.ppm", boxes=boxes)
        rows += "".join(f"{number:05}.ppm;{a};{b};{c};{d};{label}\n" for a, b, c, d, label in boxes)
    for sign in (4, 11):
        for number in range(3):
            tree.unlearnt(f"FullIJCNN2013/{sign:02}/{number:05}.ppm")
    tree.text("FullIJCNN2013/gt.txt", rows)
    tree.text("FullIJCNN2013/ReadMe.txt", "German Traffic Sign Detection Benchmark\n")


@folder("RDD2022: countries with train/images, train/annotations/xmls and test/images")
def _(tree):
    for country in ("Japan", "India"):
        for number in range(4):
            boxes = named(number, "D00", "D40")
            stem = f"{country}_{number:06}"
            tree.image(f"RDD2022/{country}/train/images/{stem}.jpg", split="train", boxes=boxes)
            tree.text(f"RDD2022/{country}/train/annotations/xmls/{stem}.xml", voc(f"{stem}.jpg", boxes, country))
        tree.unlearnt(f"RDD2022/{country}/test/images/{country}_000009.jpg")


@folder("Mapillary traffic signs: a JSON of objects for each image, splits as lists of stems")
def _(tree):
    number = 0
    for part, split in SPLITS[:2]:
        stems = ""
        for _ in range(4):
            boxes = named(number, "regulatory--stop--g1", "other-sign")
            stem = f"a9LUuwuR9hcM7ri8eDQ{number}"
            tree.image(f"images/{stem}.jpg", split=split, boxes=boxes)
            objects = [
                {
                    "key": f"k{at}",
                    "label": label,
                    "bbox": {"xmin": float(a), "ymin": float(b), "xmax": float(c), "ymax": float(d)},
                    "properties": {"barrier": False, "ambiguous": False},
                }
                for at, (a, b, c, d, label) in enumerate(boxes)
            ]
            content = {"width": WIDTH, "height": HEIGHT, "ispano": False, "objects": objects}
            tree.text(f"annotations/{stem}.json", json.dumps(content))
            stems += f"{stem}\n"
            number += 1
        tree.text(f"splits/{part}.txt", stems)


@folder("Bosch traffic lights: train.yaml of boxes, paths that begin with ./rgb")
def _(tree):
    lines = ""
    for number in range(4):
        boxes = named(number, "Green", "Red")
        tree.image(f"rgb/train/2015-10-05-10-52-01/{207386 + number}.png", split="train", boxes=boxes)
        lines += "- boxes:\n" + "".join(
            f"  - {{label: {label}, occluded: false, x_max: {c}, x_min: {a}, y_max: {d}, y_min: {b}}}\n"
            for a, b, c, d, label in boxes
        )
        lines += f"  path: ./rgb/train/2015-10-05-10-52-01/{207386 + number}.png\n"
    tree.text("train.yaml", lines)


# --- boxes: shops and plants
@folder("PlantDoc: TRAIN and TEST of .jpg and .xml, train_labels.csv and test_labels.csv of the same")
def _(tree):
    for part, split, count in (("TRAIN", "train", 4), ("TEST", "test", 2)):
        rows = "filename,width,height,class,xmin,ymin,xmax,ymax\n"
        for number in range(count):
            boxes = named(number, "Apple Scab Leaf", "Corn rust leaf")
            name = f"{part.lower()} leaf %20{number}.jpg"
            tree.image(f"PlantDoc-Object-Detection-Dataset/{part}/{name}", split=split, boxes=boxes)
            xml = voc(name, boxes, part)
            tree.text(f"PlantDoc-Object-Detection-Dataset/{part}/{name[:-4]}.xml", xml)
            rows += "".join(f"{name},{WIDTH},{HEIGHT},{label},{a},{b},{c},{d}\n" for a, b, c, d, label in boxes)
        tree.text(f"PlantDoc-Object-Detection-Dataset/{split}_labels.csv", rows)


@folder("LogoDet-3K: brands in groups, 1.jpg and 1.xml in each")
def _(tree):
    for group, brand in (("Food", "BISCUIT"), ("Food", "Mondelez"), ("Clothes", "Adidas SB")):
        for number in range(1, 4):
            boxes = [(a, b, c, d, brand) for a, b, c, d, _ in some(number)]
            tree.image(f"LogoDet-3K/{group}/{brand}/{number}.jpg", boxes=boxes)
            tree.text(f"LogoDet-3K/{group}/{brand}/{number}.xml", voc(f"{number}.jpg", boxes, brand))


@folder("DeepFashion2: image and annos in train and validation, item1 and item2 in a JSON for each image")
def _(tree):
    for part in ("train", "validation"):
        for number in range(4):
            boxes = named(number, "trousers", "short sleeve top")
            tree.image(f"{part}/image/{number + 1:06}.jpg", split=part, boxes=boxes)
            items = {
                f"item{at}": {"bounding_box": [a, b, c, d], "category_name": label, "category_id": 8, "style": 0}
                for at, (a, b, c, d, label) in enumerate(boxes, 1)
            }
            tree.text(f"{part}/annos/{number + 1:06}.json", json.dumps({"source": "shop", "pair_id": 7} | items))


@folder("FlickrLogos-32: classes/jpg/<brand>, classes/masks/<brand> of boxes and masks, lists of paths")
def _(tree):
    lists = {"trainset": "", "valset": "", "testset": ""}
    for brand in ("adidas", "aldi"):
        for number in range(6):
            name = f"{1442816574 + number}.jpg"
            path = tree.image(f"FlickrLogos-v2/classes/jpg/{brand}/{name}", brand)
            tree.text(f"FlickrLogos-v2/classes/masks/{brand}/{name}.bboxes.txt", "x y width height\n4 5 8 9\n")
            values = grey(classes(number, 2))
            tree.drawing(f"FlickrLogos-v2/classes/masks/{brand}/{name}.mask.merged.png", values)
            tree.drawing(f"FlickrLogos-v2/classes/masks/{brand}/{name}.mask.0.png", values)
            lists[("trainset", "valset", "testset")[number // 2]] += f"{path.removeprefix('FlickrLogos-v2/')}\n"
    for name, lines in lists.items():
        tree.text(f"FlickrLogos-v2/{name}.relpaths.txt", lines)


# --- boxes: factories
@folder("GC10-DET: folders of numbers with the images, lable/*.xml with their boxes")
def _(tree):
    names = ("1_chongkong", "2_hanfeng")
    for place, name in enumerate(names, 1):
        for number in range(4):
            boxes = [(a, b, c, d, name) for a, b, c, d, _ in some(number)]
            stem = f"img_0{place}_34464{number}800_00003"
            tree.image(f"GC10-DET/{place}/{stem}.jpg", boxes=boxes)
            tree.text(f"GC10-DET/lable/{stem}.xml", voc(f"{stem}.jpg", boxes, str(place)))
    tree.text("GC10-DET/readme.txt", "GC10-DET\n")


@folder("PCB defects: images/<defect>, Annotations/<defect>, turned images without boxes, templates")
def _(tree):
    for defect in ("Missing_hole", "Mouse_bite"):
        for number in range(1, 4):
            boxes = [(a, b, c, d, defect.lower()) for a, b, c, d, _ in some(number)]
            stem = f"0{number}_{defect.lower()}_0{number}"
            tree.image(f"PCB_DATASET/images/{defect}/{stem}.jpg", boxes=boxes)
            tree.text(f"PCB_DATASET/Annotations/{defect}/{stem}.xml", voc(f"{stem}.jpg", boxes, defect))
            tree.unlearnt(f"PCB_DATASET/rotation/{defect}_rotation/{stem}.jpg")
        tree.text(f"PCB_DATASET/rotation/{defect}_angles.txt", "01_missing_hole_01 -26\n")
    for number in (1, 4):
        tree.unlearnt(f"PCB_DATASET/PCB_USED/0{number}.JPG")


# --- boxes: tools
@folder("CVAT's YOLO 1.1: obj.data, obj_Train_data and obj_Validation_data with lists of both")
def _(tree):
    for part, split, count in (("Train", "train", 4), ("Validation", "validation", 2)):
        lines = ""
        for number in range(count):
            tree.image(f"obj_{part}_data/frame_00000{number}.PNG", split=split, boxes=some(number))
            tree.text(f"obj_{part}_data/frame_00000{number}.txt", yolo(some(number)))
            lines += f"data/obj_{part}_data/frame_00000{number}.PNG\n"
        tree.text(f"{part}.txt", lines)
    lists = "Train = data/Train.txt\nValidation = data/Validation.txt\n"
    tree.text("obj.data", f"classes = 2\n{lists}names = data/obj.names\nbackup = backup/\n")
    tree.text("obj.names", "cat\ndog\n")


@folder("CVAT's Datumaro: annotations/default.json of items, images/default", "refused")
def _(tree):
    items = []
    for number in range(4):
        tree.image(f"images/default/frame_{number}.jpg", boxes=some(number))
        notes = [
            {"id": at, "type": "bbox", "label_id": int(label == "dog"), "bbox": [a, b, c - a, d - b], "attributes": {}}
            for at, (a, b, c, d, label) in enumerate(some(number))
        ]
        image = {"path": f"frame_{number}.jpg", "size": [HEIGHT, WIDTH]}
        items.append({"id": f"frame_{number}", "annotations": notes, "image": image})
    labels = {"label": {"labels": [{"name": name, "parent": "", "attributes": []} for name in ("cat", "dog")]}}
    tree.text("annotations/default.json", json.dumps({"info": {}, "categories": labels, "items": items}))


@folder("makesense: a table of boxes without a header: name, x, y, width, height, image, its size")
def _(tree):
    rows = ""
    for number in range(6):
        tree.image(f"photos/IMG_{number}.jpg", boxes=some(number))
        for a, b, c, d, label in some(number):
            rows += f"{label},{a},{b},{c - a},{d - b},IMG_{number}.jpg,{WIDTH},{HEIGHT}\n"
    tree.text("labels_my-project-name_2024-03-04-09-15-22.csv", rows)


@folder("VoTT's CSV: vott-csv-export with the images, all values in quotes")
def _(tree):
    rows = '"image","xmin","ymin","xmax","ymax","label"\n'
    for number in range(6):
        tree.image(f"vott-csv-export/img{number:04}.jpg", boxes=some(number))
        rows += "".join(
            f'"img{number:04}.jpg",{a}.0,{b}.0,{c}.0,{d}.0,"{label}"\n' for a, b, c, d, label in some(number)
        )
    tree.text("vott-csv-export/Helmets-export.csv", rows)


@folder("Edge Impulse: bounding_boxes.labels in training and testing, info.labels")
def _(tree):
    for part, split, count in (("training", "train", 4), ("testing", "test", 2)):
        boxes = {}
        for number in range(count):
            name = f"cubes.{number}.3ba57j.jpg"
            tree.image(f"{part}/{name}", split=split, boxes=some(number))
            boxes[name] = [
                {"label": label, "x": a, "y": b, "width": c - a, "height": d - b} for a, b, c, d, label in some(number)
            ]
        content = {"version": 1, "type": "bounding-box-labels", "boundingBoxes": boxes}
        tree.text(f"{part}/bounding_boxes.labels", json.dumps(content))


@folder("LabelMe's web tool: Images/<folder> and Annotations/<folder> of polygons in XML")
def _(tree):
    for number in range(4):
        boxes, corners = oriented(number, "window", "license plate")
        tree.image(f"Images/street/img{number}.jpg", boxes=boxes)
        objects = "".join(
            f"<object><name>{label}</name><deleted>0</deleted><verified>0</verified><id>{at}</id><polygon>"
            + "".join(f"<pt><x>{points[axis]}</x><y>{points[axis + 1]}</y></pt>" for axis in (0, 2, 4, 6))
            + "</polygon></object>"
            for at, (points, label) in enumerate(corners)
        )
        xml = f"<annotation><filename>img{number}.jpg</filename><folder>street</folder>{objects}</annotation>"
        tree.text(f"Annotations/street/img{number}.xml", xml)


@folder("Ultralytics pose: a box and four points with their visibility in each line, kpt_shape in data.yaml")
def _(tree):
    for part, split in SPLITS[:2]:
        for number in range(3):
            tree.image(f"datasets/tiger/{part}/images/{part}{number}.jpg", split=split, boxes=some(number))
            lines = yolo(some(number)).splitlines()
            points = " 0.1 0.2 2 0.4 0.9 2 0.7 0.3 1 0 0 0"
            tree.text(
                f"datasets/tiger/{part}/labels/{part}{number}.txt", "".join(f"{line}{points}\n" for line in lines)
            )
    shape = "kpt_shape: [4, 3]\nflip_idx: [0, 1, 3, 2]\n"
    names = "names:\n  0: cat\n  1: dog\n"
    tree.text("datasets/tiger/data.yaml", f"path: ../tiger\ntrain: train/images\nval: val/images\n{shape}{names}")


@folder("Ultralytics OBB: a class and four corners in each line")
def _(tree):
    for part, split in SPLITS[:2]:
        for number in range(3):
            boxes, corners = oriented(number, "plane", "ship")
            tree.image(f"images/{part}/P000{number}{part}.jpg", split=split, boxes=boxes)
            lines = ""
            for points, label in corners:
                shares = [value / (HEIGHT if at % 2 else WIDTH) for at, value in enumerate(points)]
                lines += f"{int(label == 'ship')} {' '.join(f'{share:.6f}' for share in shares)}\n"
            tree.text(f"labels/{part}/P000{number}{part}.txt", lines)
    tree.text("dota.yaml", "path: ../datasets/DOTAv1\ntrain: images/train\nval: images/val\nnames: [plane, ship]\n")


@folder("YOLO's predictions: labels of class, box and confidence below runs/detect", "refused")
def _(tree):
    for number in range(4):
        tree.image(f"runs/detect/predict/img{number}.jpg", boxes=some(number))
        lines = "".join(f"{line} 0.8{number}\n" for line in yolo(some(number)).splitlines())
        tree.text(f"runs/detect/predict/labels/img{number}.txt", lines)


@folder("COCO with all its files: instances, keypoints, captions, image_info of a test")
def _(tree):
    for part, split in SPLITS[:2]:
        images = []
        for number in range(3):
            name = f"{number:012}.jpg"
            tree.image(f"{part}2017/{name}", split=split, boxes=some(number))
            images.append((name, some(number)))
        tree.text(f"annotations/instances_{part}2017.json", coco(images))
        full = json.loads(coco(images))
        people = [{"id": 1, "name": "person", "keypoints": ["nose"], "skeleton": []}]
        joints = [note | {"keypoints": [3, 4, 2], "num_keypoints": 1} for note in full["annotations"][:1]]
        keypoints = full | {"annotations": joints, "categories": people}
        tree.text(f"annotations/person_keypoints_{part}2017.json", json.dumps(keypoints))
        captions = [{"id": at, "image_id": at + 1, "caption": "A cat on a mat."} for at in range(3)]
        texts = {"images": full["images"], "annotations": captions}
        tree.text(f"annotations/captions_{part}2017.json", json.dumps(texts))
    names = [tree.unlearnt(f"test2017/{number:012}.jpg").rpartition("/")[2] for number in range(2)]
    info = json.loads(coco([(name, ()) for name in names]))
    tree.text("annotations/image_info_test2017.json", json.dumps(info))


@folder("Stanford 40: JPEGImages, XMLAnnotations of a person, ImageSplits of each action", "advised")
def _(tree):
    every = {"train": "", "test": ""}
    actions = ("applauding", "blowing_bubbles", "riding_a_bike")
    for action in actions:
        own = {"train": "", "test": ""}
        for number in range(1, 5):
            name, split = f"{action}_{number:03}.jpg", "train" if number < 3 else "test"
            tree.image(f"Stanford40/JPEGImages/{name}", action, split)
            xml = voc(name, [(2, 3, 10, 12, "person")]).replace("</name>", f"</name><action>{action}</action>")
            tree.text(f"Stanford40/XMLAnnotations/{name[:-4]}.xml", xml)
            own[split] += f"{name}\n"
        for split, lines in own.items():
            tree.text(f"Stanford40/ImageSplits/{action}_{split}.txt", lines)
            every[split] += lines
    for split, lines in every.items():
        tree.text(f"Stanford40/ImageSplits/{split}.txt", lines)
    table = "action_name\tnumber_of_images\n" + "".join(f"{action}\t4\n" for action in actions)
    tree.text("Stanford40/ImageSplits/actions.txt", table)
