"""Images with annotations in formats of single datasets and services: boxes in JSON, text files, arrays of pixels."""

import json

from .boxes import coco, some
from .tree import HEIGHT, WIDTH, folder

NAMES = ("cat", "dog")


def fractions(box):
    """Left, top, width and height of a box as fractions of the image's sides."""
    a, b, c, d, _ = box
    return a / WIDTH, b / HEIGHT, (c - a) / WIDTH, (d - b) / HEIGHT


@folder("CreateML: _annotations.createml.json in each split, boxes by their centres")
def _(tree):
    for split, own in (("train", "train"), ("valid", "validation")):
        records = []
        for number in range(4):
            name = f"{split}{number}_jpg.rf.1a2b.jpg"
            tree.image(f"{split}/{name}", split=own, boxes=some(number))
            found = [
                {"label": e, "coordinates": {"x": (a + c) / 2, "y": (b + d) / 2, "width": c - a, "height": d - b}}
                for a, b, c, d, e in some(number)
            ]
            records.append({"image": name, "annotations": found})
        tree.text(f"{split}/_annotations.createml.json", json.dumps(records))


@folder("TT100K: annotations.json of imgs by id, paths with the split")
def _(tree):
    images = {}
    for number in range(6):
        split = "train" if number < 4 else "test"
        path = tree.image(f"data/{split}/{number}.jpg", split=split, boxes=some(number))
        found = [
            {"category": e, "bbox": {"xmin": float(a), "ymin": float(b), "xmax": float(c), "ymax": float(d)}}
            for a, b, c, d, e in some(number)
        ]
        images[str(number)] = {"path": path.removeprefix("data/"), "id": number, "objects": found}
    tree.text("data/annotations.json", json.dumps({"types": ["cat", "dog"], "imgs": images}))


@folder("Dataturks: JSON lines with points as fractions")
def _(tree):
    lines = ""
    for number in range(4):
        tree.image(f"images/{number}.jpg", boxes=some(number))
        found = [
            {
                "label": [e],
                "notes": "",
                "points": [{"x": a / WIDTH, "y": b / HEIGHT}, {"x": c / WIDTH, "y": d / HEIGHT}],
                "imageWidth": WIDTH,
                "imageHeight": HEIGHT,
            }
            for a, b, c, d, e in some(number)
        ]
        url = f"http://com.dataturks.a96-i23.open.s3.amazonaws.com/2c9fafb0/{number}.jpg"
        lines += json.dumps({"content": url, "annotation": found, "extras": None}) + "\n"
    tree.text("pets.json", lines)


@folder("Vertex AI: JSON lines of boxes as fractions, with splits")
def _(tree):
    lines = ""
    for number in range(12):
        own, use = (("train", "training"), ("validation", "validation"), ("test", "test"))[number // 4]
        tree.image(f"images/{number}.jpg", split=own, boxes=some(number))
        found = [
            {"displayName": e, "xMin": a / WIDTH, "yMin": b / HEIGHT, "xMax": c / WIDTH, "yMax": d / HEIGHT}
            for a, b, c, d, e in some(number)
        ]
        record = {
            "imageGcsUri": f"gs://bucket/pets/{number}.jpg",
            "boundingBoxAnnotations": found,
            "dataItemResourceLabels": {"aiplatform.googleapis.com/ml_use": use},
        }
        lines += json.dumps(record) + "\n"
    tree.text("input.jsonl", lines)


@folder("Vertex AI: JSON lines of classes")
def _(tree):
    lines = ""
    for number in range(6):
        tree.image(f"images/{number}.jpg", NAMES[number % 2])
        label = {"displayName": NAMES[number % 2]}
        record = {"imageGcsUri": f"gs://bucket/{number}.jpg", "classificationAnnotation": label}
        lines += json.dumps(record) + "\n"
    tree.text("input.jsonl", lines)


@folder("BDD100K of 2018: bdd100k_labels_images_train.json with attributes, lanes and drivable areas")
def _(tree):
    for split, own in (("train", "train"), ("val", "validation")):
        records = []
        for number in range(3):
            name = f"{split}{number:08x}.jpg"
            tree.image(f"bdd100k/images/100k/{split}/{name}", split=own, boxes=some(number))
            labels = [
                {
                    "category": e,
                    "attributes": {"occluded": False, "truncated": False, "trafficLightColor": "none"},
                    "manualShape": True,
                    "manualAttributes": True,
                    "box2d": {"x1": float(a), "y1": float(b), "x2": float(c), "y2": float(d)},
                    "id": place,
                }
                for place, (a, b, c, d, e) in enumerate(some(number))
            ]
            area = {"vertices": [[1.0, 2.0], [9.0, 9.0], [3.0, 9.0]], "types": "LLL", "closed": True}
            labels.append({"category": "drivable area", "poly2d": [area], "id": 9})
            attributes = {"weather": "clear", "scene": "highway", "timeofday": "daytime"}
            records.append({"name": name, "attributes": attributes, "timestamp": 10000, "labels": labels})
        tree.text(f"bdd100k/labels/bdd100k_labels_images_{split}.json", json.dumps(records))


@folder("BDD100K: a JSON for each image, with frames")
def _(tree):
    for number in range(4):
        tree.image(f"images/train/{number:08x}.jpg", split="train", boxes=some(number))
        objects = [
            {"category": e, "id": place, "attributes": {}, "box2d": {"x1": a, "y1": b, "x2": c, "y2": d}}
            for place, (a, b, c, d, e) in enumerate(some(number))
        ]
        frames = [{"timestamp": 10000, "objects": objects}]
        tree.text(f"labels/train/{number:08x}.json", json.dumps({"name": f"{number:08x}", "frames": frames}))


@folder("VIA's CSV of regions: rectangles, circles, polygons and points")
def _(tree):
    rows = "filename,file_size,file_attributes,region_count,region_id,region_shape_attributes,region_attributes\n"

    def line(name, count, region, shape, label):
        fields = [name, 100, "{}", count, region]
        texts = [json.dumps(shape).replace('"', '""'), json.dumps(label).replace('"', '""')]
        return ",".join(map(str, fields)) + "".join(f',"{text}"' for text in texts) + "\n"

    for number in range(4):
        a, b, c, d, e = some(number)[0]
        tree.image(f"images/{number}.jpg", boxes=[(a, b, c, d, e), (4, 5, 10, 11, "dog"), (1, 2, 6, 9, "cat")])
        name = f"{number}.jpg"
        rows += line(name, 4, 0, {"name": "rect", "x": a, "y": b, "width": c - a, "height": d - b}, {"pet": e})
        rows += line(name, 4, 1, {"name": "circle", "cx": 7, "cy": 8, "r": 3}, {"pet": "dog"})
        outline = {"name": "polygon", "all_points_x": [1, 6, 4], "all_points_y": [2, 5, 9]}
        rows += line(name, 4, 2, outline, {"pet": "cat"})
        rows += line(name, 4, 3, {"name": "point", "cx": 7, "cy": 8}, {"pet": "dog"})
    tree.image("images/empty.jpg", boxes=[])
    rows += 'empty.jpg,100,"{}",0,0,"{}","{}"\n'
    tree.text("via_export_csv.csv", rows)


@folder("VIA's project: _via_img_metadata, a class in radio buttons")
def _(tree):
    images = {}
    for number in range(4):
        name = f"{number}.jpg"
        tree.image(name, boxes=some(number))
        regions = [
            {
                "shape_attributes": {"name": "rect", "x": a, "y": b, "width": c - a, "height": d - b},
                "region_attributes": {"type": e},
            }
            for a, b, c, d, e in some(number)
        ]
        images[f"{name}100"] = {"filename": name, "size": 100, "regions": regions, "file_attributes": {}}
    attributes = {"region": {"type": {"type": "radio", "options": {"cat": "", "dog": ""}}}, "file": {}}
    project = {
        "_via_settings": {"project": {"name": "pets"}},
        "_via_img_metadata": images,
        "_via_attributes": attributes,
        "_via_data_format_version": "2.0.10",
        "_via_image_id_list": list(images),
    }
    tree.text("via_project_3Jan2020.json", json.dumps(project))


@folder("SageMaker: two jobs in one manifest, boxes and a class")
def _(tree):
    lines = ""
    for number in range(4):
        tree.image(f"images/{number}.jpg", boxes=some(number))
        found = [
            {"class_id": NAMES.index(e), "left": a, "top": b, "width": c - a, "height": d - b}
            for a, b, c, d, e in some(number)
        ]
        record = {
            "source-ref": f"s3://bucket/pets/images/{number}.jpg",
            "pets": {"image_size": [{"width": WIDTH, "height": HEIGHT, "depth": 3}], "annotations": found},
            "pets-metadata": {"class-map": {"0": "cat", "1": "dog"}, "type": "groundtruth/object-detection"},
            "light": number % 2,
            "light-metadata": {
                "class-name": ("day", "night")[number % 2],
                "confidence": 0.9,
                "type": "groundtruth/image-classification",
            },
        }
        lines += json.dumps(record) + "\n"
    tree.text("output.manifest", lines)


@folder("DOTA 1.5 in splits: labelTxt-v1.0 of lines without a header, difficult objects")
def _(tree):
    for split, own in (("train", "train"), ("val", "validation")):
        for number in range(3):
            tree.image(f"{split}/images/P{split}{number}.png", split=own, boxes=some(number))
            lines = [
                f"{a} {b + 2} {a + 3} {b} {c} {d - 1} {c - 2} {d} {e} {number % 2}\n" for a, b, c, d, e in some(number)
            ]
            tree.text(f"{split}/labelTxt/P{split}{number}.txt", "".join(lines))


@folder("TACO: annotations.json with paths of batches")
def _(tree):
    images = []
    for number in range(4):
        tree.image(f"data/batch_{number % 2 + 1}/{number:06}.jpg", boxes=some(number))
        images.append((f"batch_{number % 2 + 1}/{number:06}.jpg", some(number)))
    tree.text("data/annotations.json", coco(images))


def udacity(tree, header):
    rows = f"{header},Frame,Label,Preview URL\n"
    for number in range(4):
        tree.image(f"object-detection-crowdai/147980206{number}.jpg", boxes=some(number))
        rows += "".join(
            f"{a},{b},{c},{d},147980206{number}.jpg,{e},http://crowdai.com/{number}\n" for a, b, c, d, e in some(number)
        )
    tree.text("object-detection-crowdai/labels.csv", rows)


@folder("Udacity: object-detection-crowdai/labels.csv with upper corner names")
def _(tree):
    udacity(tree, "xmin,ymin,xmax,ymax")


@folder("Udacity: its first labels.csv, whose header has two names exchanged")
def _(tree):
    udacity(tree, "xmin,xmax,ymin,ymax")


@folder("WIDER Person: Annotations/*.jpg.txt with a count and class numbers")
def _(tree):
    people = {"cat": "pedestrians", "dog": "riders"}  # by the dataset's page: 1 and 2
    for number in range(4):
        tree.image(f"Images/00000{number}.jpg", boxes=[(*sides, people[e]) for *sides, e in some(number)])
        lines = [f"{1 + NAMES.index(e)} {a} {b} {c} {d}\n" for a, b, c, d, e in some(number)]
        tree.text(f"Annotations/00000{number}.jpg.txt", f"{len(lines)}\n" + "".join(lines))


@folder("ICDAR 2015: gt_img_1.txt of four corners and a text")
def _(tree):
    for number in range(1, 5):
        tree.image(f"ch4_training_images/img_{number}.jpg", split="train", boxes=[(2, 3, 10, 12, "text")])
        tree.text(
            f"ch4_training_localization_transcription_gt/gt_img_{number}.txt", "2,3,10,3,10,12,2,12,Café\n", "utf-8-sig"
        )


@folder("Azure Custom Vision: images and their regions as the service lists them")
def _(tree):
    records = []
    for number in range(4):
        name = f"{number:08x}-0000-4000-8000-000000000000"
        tree.image(f"images/{name}.jpg", boxes=some(number))
        regions = [
            dict(zip(("left", "top", "width", "height"), fractions(box), strict=True))
            | {"regionId": f"r{place}", "tagName": box[4], "tagId": box[4], "created": "2024-01-01T00:00:00Z"}
            for place, box in enumerate(some(number))
        ]
        records.append(
            {
                "id": name,
                "created": "2024-01-01T00:00:00Z",
                "width": WIDTH,
                "height": HEIGHT,
                "originalImageUri": f"https://irisprod.blob.core.windows.net/i-0/o-{name}?sv=2020&sig=x%2F",
                "tags": [{"tagId": "cat", "tagName": "cat", "created": "2024-01-01T00:00:00Z"}],
                "regions": regions,
            }
        )
    tree.text("tagged_images.json", json.dumps(records))
