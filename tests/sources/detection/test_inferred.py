"""Boxes in formats that nobody entered are read by what the files hold, or refused with what is not certain."""

import io
import json
from xml.sax.saxutils import escape

import pytest

from shardkit.sources.formats.inferred.trees import rows_of
from shardkit.testing import write_tree

from ...cli.calling import call
from ...strangers.boxes import some, voc
from ...strangers.reading import read
from ...strangers.tree import HEIGHT, WIDTH, Tree

NUM_IMAGES = 18


def made(name, content, boxes_of=some, images="photos/{}.jpg"):
    """A tree of photographs and one file of all their boxes, which `content` makes of (name, boxes)."""
    tree = Tree()
    found = []
    for number in range(NUM_IMAGES):
        path = tree.image(images.format(number), boxes=boxes_of(number))
        found.append((path.rpartition("/")[2], boxes_of(number)))
    tree.text(name, content(found))
    return tree


def single(kind, content, boxes_of=some):
    """A tree of photographs and a file of each in a folder of its own, which `content` makes of its boxes."""
    tree = Tree()
    for number in range(NUM_IMAGES):
        tree.image(f"photos/{number}.jpg", boxes=boxes_of(number))
        tree.text(f"marks/{number}.{kind}", content(boxes_of(number)))
    return tree


def right(tree, tmp_path):
    reading = read(tree, tmp_path)
    assert reading.outcome == "right", (reading.wrong, reading.said)
    return reading.said


def refused(tree, tmp_path):
    reading = read(tree, tmp_path)
    assert reading.outcome == "refused", (reading.wrong, reading.said)
    return reading.said


def as_json(record_of):
    return lambda found: json.dumps([record_of(*one) for one in found])


def sides(box, *names):
    return dict(zip(names, box, strict=True))


def corners(name, boxes):
    found = [sides(box, "leftCol", "topRow", "rightCol", "bottomRow", "species") for box in boxes]
    return {"photo": f"D:\\flight\\{name}", "nests": found}


def sizes(name, boxes):
    found = [
        {"tag": label, "rect": {"x": a, "y": b, "w": c - a, "h": d - b}, "by": f"user {place}"}
        for place, (a, b, c, d, label) in enumerate(boxes)
    ]
    return {"meta": {"img": name, "n": len(boxes)}, "found": found}


def centres(name, boxes):
    found = [
        {
            "class": label,
            "cx": (a + c) / 2 / WIDTH,
            "cy": (b + d) / 2 / HEIGHT,
            "w": (c - a) / WIDTH,
            "h": (d - b) / HEIGHT,
        }
        for a, b, c, d, label in boxes
    ]
    return {"file": name, "things": found}


def outlines(name, boxes):
    found = [{"kind": label, "outline": [[a, b], [c, b], [c, d], [a, d]]} for a, b, c, d, label in boxes]
    return {"image": {"name": name}, "shapes drawn": found}


@pytest.mark.parametrize(
    ("record_of", "said"),
    [
        (corners, "xmin, ymin, xmax, ymax in pixels; image: photo"),
        (sizes, "x, y, width, height in pixels; image: meta/img"),
        (centres, "x and y of the centre, width, height in fractions of the sides; image: file"),
        (outlines, "boxes around points in pixels; image: image/name"),
    ],
)
def test_names_and_images_tell_what_numbers_are(record_of, said, tmp_path):
    assert said in right(made("marks.json", as_json(record_of)), tmp_path)


def test_records_may_be_members_lines_or_yaml(tmp_path):
    def members(found):
        return json.dumps({"by": "us", "frames": {name: corners(name, boxes) | {"photo": ""} for name, boxes in found}})

    right(made("marks.json", members), tmp_path / "members")
    lines = made("marks.jsonl", lambda found: "".join(f"{json.dumps(corners(*one))}\n" for one in found))
    right(lines, tmp_path / "lines")
    right(made("marks.yaml", as_json(outlines)), tmp_path / "yaml")  # JSON is YAML


def test_elements_of_xml(tmp_path):
    def document(found):
        frames = ""
        for name, boxes in found:
            marks = "".join(
                f'<mark kind="{escape(label)}"><rect left="{a}" top="{b}" width="{c - a}" height="{d - b}"/></mark>'
                for a, b, c, d, label in boxes
            )
            frames += f"<frame><file>{name}</file>{marks}</frame>"
        return f"<run><frames>{frames}</frames></run>"

    right(made("marks.xml", document), tmp_path)


def test_numbers_of_classes_are_named_by_the_same_file(tmp_path):
    def document(found):
        records = [
            {"file": name, "boxes": [[a, b, c, d] for a, b, c, d, _ in boxes], "labels": []} for name, boxes in found
        ]
        for record, (_, boxes) in zip(records, found, strict=True):
            record["boxes"] = [{"xyxy": list(box[:4]), "class_id": 7 + (box[4] == "dog")} for box in boxes]
        return json.dumps({"data": records, "classes": [{"id": 7, "name": "cat"}, {"id": 8, "name": "dog"}]})

    right(made("marks.json", document), tmp_path)


def test_texts_of_single_images(tmp_path):
    def lines(boxes):
        return "".join(f"({a}, {b}), ({c}, {d}), {label}\n" for a, b, c, d, label in boxes)

    said = right(single("txt", lines), tmp_path)
    assert "xmin, ymin, xmax, ymax in pixels" in said


def test_four_numbers_that_may_be_two_things_are_not_read(tmp_path):
    def small(number):  # corners and sizes both lie in the image
        return [(2, 3, 10 + number % 3, 12, "cat")]

    def record(name, boxes):
        return {"file": name, "marks": [{"box": [a, b, c, d], "label": label} for a, b, c, d, label in boxes]}

    said = refused(made("marks.json", as_json(record), small), tmp_path)
    assert "box as xmin, ymin, xmax, ymax in pixels or box as x, y, width, height in pixels" in said


def test_guesses_of_a_model_are_no_labels(tmp_path):
    def record(name, boxes):
        found = [
            sides(box, "xmin", "ymin", "xmax", "ymax", "label") | {"score": 0.9 - a / 50} for a, box in enumerate(boxes)
        ]
        return {"file": name, "marks": found}

    assert "'score' says how sure it is" in refused(made("marks.json", as_json(record)), tmp_path)


def test_several_classes_are_asked_for(tmp_path):
    def record(name, boxes):
        found = [
            sides(box, "xmin", "ymin", "xmax", "ymax", "label") | {"category": ("red", "blue")[(a + len(name)) % 2]}
            for a, *box in [(place, *box) for place, box in enumerate(boxes, len(boxes))]
        ]
        return {"file": name, "marks": found}

    reading = read(made("marks.json", as_json(record)), tmp_path)
    assert reading.outcome == "advised", reading.said
    assert "2 fields that may give the class" in reading.said


def test_later_records_that_differ_are_rejected(tmp_path):
    def record(name, boxes):
        found = corners(name, boxes)
        if name in {"3.jpg", "7.jpg"}:
            found["nests"] = [{**one, "leftCol": None} for one in found["nests"]]
        return found

    tree = made("marks.json", as_json(record))
    said = refused(tree, tmp_path)
    assert "coordinates of a box must be finite numbers" in said


def rows(head, line_of):
    """A table of a line for each box."""
    return lambda found: head + "".join(line_of(name, *box) for name, boxes in found for box in boxes)


def test_tables_of_boxes_with_any_names_of_columns(tmp_path):
    head = "n;shot;leftCol;topRow;rightCol;bottomRow;what;sort\n"
    table = made("t.csv", rows(head, lambda name, a, b, c, d, e: f"1;{name};{a};{b};{c};{d};{e};{e}{a % 2}\n"))
    reading = read(table, tmp_path)  # no column is called like a class
    assert reading.outcome == "advised", reading.said
    assert "--label-column what" in reading.said
    right(made("t.txt", rows("", lambda name, *box: f"{name};{';'.join(map(str, box))}\n")), tmp_path / "text")


def test_a_record_for_each_box(tmp_path):
    def document(found):
        records = [
            {"properties": {"img": name, "pos": f"{a},{b},{c},{d}", "type_id": 4 + (e == "dog")}}
            for name, boxes in found
            for a, b, c, d, e in boxes
        ]
        return json.dumps({"features": records, "types": {}, "classes": {"4": "cat", "5": "dog"}})

    right(made("marks.geojson", document), tmp_path)


def test_a_class_and_one_region_for_each_image_is_a_class(tmp_path):
    tree, lines = Tree(), "file,Roi.X1,Roi.Y1,Roi.X2,Roi.Y2,label\n"
    for number in range(NUM_IMAGES):
        [(*box, label)] = some(number % 2)
        tree.image(f"photos/{number}.jpg", label)
        lines += f"{number}.jpg,{','.join(map(str, box))},{label}\n"
    tree.text("t.csv", lines)
    right(tree, tmp_path)


def test_images_that_nobody_labelled_are_counted_and_left_out(tmp_path):
    def record(name, boxes):
        return corners(name, boxes) | {"Skipped": name == "3.jpg"}

    tree = made("marks.json", as_json(record))
    del tree.truth["photos/3.jpg"]
    assert "1 records that nobody annotated" in right(tree, tmp_path)


def test_all_boxes_may_be_of_one_class_if_no_field_is_called_like_one(tmp_path):
    def record(name, boxes):
        found = [{"xmin": a, "ymin": b, "xmax": c, "ymax": d, "occluded": a % 4} for a, b, c, d, _ in boxes]
        return {"file": name, "marks": found}

    def one_class(number):
        return [(*box[:4], "object") for box in some(number)]

    reading = read(made("marks.json", as_json(record), one_class), tmp_path)
    assert reading.outcome == "advised", reading.said
    assert "--label-column occluded" in reading.said


def test_a_constant_class_does_not_hide_what_varies(tmp_path):
    def record(name, boxes):
        names = ("xmin", "ymin", "xmax", "ymax", "type")
        return {"file": name, "marks": [{"label": "pet", **sides(box, *names)} for box in boxes]}

    reading = read(made("marks.json", as_json(record)), tmp_path)
    assert reading.outcome == "advised", reading.said
    assert "2 fields that may give the class" in reading.said


def test_boxes_that_reach_beyond_the_image_are_said(tmp_path):
    tree = Tree()
    for number in range(4):
        tree.image(f"images/{number}.jpg")
        beyond = [(2, 3, WIDTH + 1 + number % 2, 12, "cat")]  # one pixel is Pascal VOC's way to count
        tree.text(f"annotations/{number}.xml", voc(f"{number}.jpg", [(8, 4, 20, 18, "dog"), *beyond]))
    said = call("plan", write_tree(tmp_path / "s", tree.files)).stderr
    assert "2 boxes of 8 in 2 images reach beyond the image by more than a pixel" in said


def test_boxes_of_resized_images_are_scaled_and_said(tmp_path):
    tree = Tree()
    for number in range(3):
        tree.image(f"images/{number}.jpg", boxes=some(number))
        larger = [(10 * a, 10 * b, 10 * c, 10 * d, label) for a, b, c, d, label in some(number)]
        xml = voc(f"{number}.jpg", larger).replace(f"<width>{WIDTH}<", f"<width>{10 * WIDTH}<")
        tree.text(f"annotations/{number}.xml", xml.replace(f"<height>{HEIGHT}<", f"<height>{10 * HEIGHT}<"))
    assert "3 images of 3 have another size than their annotations say" in right(tree, tmp_path)


def test_the_shape_of_an_object_is_not_its_class(tmp_path):
    def record(name, boxes):
        found = [
            {**sides(box[:4], "xmin", "ymin", "xmax", "ymax"), "type": "RECTANGLE", "tags": [box[4]]} for box in boxes
        ]
        return {"file": name, "marks": found}

    right(made("marks.json", as_json(record)), tmp_path)


def test_files_called_like_folders_of_frames_are_refused(tmp_path):
    tree, frames = Tree(), ""
    for number in range(3):
        tree.image(f"frames/take1/img{number}.jpg", boxes=some(number))
        boxes = "".join(f'<box left="{a}" top="{b}" right="{c}" bottom="{d}"/>' for a, b, c, d, _ in some(number))
        frames += f'<frame num="{number}">{boxes}</frame>'
    tree.text("xml/take1.xml", f"<take>{frames}</take>")
    assert "holds boxes of the frames in take1/ and names no images" in refused(tree, tmp_path)


def test_names_that_mean_images_in_several_folders_by_their_ends(tmp_path):
    tree = Tree()
    records = []
    for number in range(6):
        path = tree.image(f"photos/{'ab'[number % 2]}/{number}.jpg", boxes=some(number))
        records.append(corners(path.rpartition("/")[2], some(number)))
    tree.text("marks/all.json", json.dumps(records))
    right(tree, tmp_path)


def test_numbers_of_boxes_name_no_images(tmp_path):
    tree = Tree()
    for number in range(24):
        (a, b, c, d, label) = some(number % 2)[0]
        tree.image(f"photos/{number}.jpg", boxes=[(a, b, c - number % 3, d, label)])
        sides_of = f"<xmin>{a}</xmin><ymin>{b}</ymin><xmax>{c - number % 3}</xmax><ymax>{d}</ymax>"
        tree.text(f"notes/{number}.xml", f"<pic><thing><kind>{label}</kind>{sides_of}</thing></pic>")
    right(tree, tmp_path)


@pytest.mark.parametrize("kind", [".txt", ".csv"])
def test_the_first_rows_of_a_text_are_read_without_the_rest(kind):
    file = io.BytesIO(b"ant/000.png,3\n" * 100_000)
    rows = rows_of(file, kind)  # closes the file with itself
    assert next(rows)[1] == {"field 1": "ant/000.png", "field 2": "3"}
    assert file.tell() < 100_000
