"""JSON of FiftyOne, Labelbox, Azure's AutoML and V7 Darwin, and what is nearly theirs."""

import json

import pytest

from shardkit.errors import DataError
from shardkit.refusals import RefusalError
from shardkit.testing import read_source, write_tree


def rows_of(tmp_path, files, images=("a.jpg", "b.jpg", "c.jpg"), **options):
    root = write_tree(tmp_path / "s", {**files, **dict.fromkeys(images, b"x")})
    return {row["key"]: row for row in read_source(root, **options).rows}


def lines_of(*records):
    return "".join(f"{json.dumps(one)}\n" for one in records).encode()


def found_box(row):
    [one] = row["objects"]
    return one["label_name"], one["bbox"]


def sample(name, tags=(), **fields):
    return {"filepath": name, "tags": list(tags), **fields}


def detections(*boxes):
    return {"_cls": "Detections", "detections": [{"label": "cat", "bounding_box": box} for box in boxes]}


def test_fiftyone_has_boxes_as_fractions_and_splits_as_tags(tmp_path):
    samples = [
        sample("a.jpg", ("train", "dark"), truth=detections([0.25, 0.5, 0.5, 0.25])),
        sample("b.jpg", ("validation",), truth=detections()),
        sample("c.jpg", ("train",), truth=None),
    ]
    rows = rows_of(tmp_path, {"samples.json": json.dumps({"samples": samples}).encode()})
    assert found_box(rows["a.jpg"]) == ("cat", [0.5, 0.25, 0.75, 0.75])
    assert [rows[name]["split"] for name in ("a.jpg", "b.jpg")] == ["train", "validation"]
    assert rows["b.jpg"]["objects"] == []
    assert rows["c.jpg"]["reason"] == "bad_annotation"  # nobody looked at it


def test_boxes_next_to_a_class_may_be_guesses_so_the_field_is_asked_for(tmp_path):
    truth = {"_cls": "Classification", "label": "dog"}
    samples = [sample(f"{name}.jpg", truth=truth, guesses=detections([0.25, 0.5, 0.5, 0.25])) for name in "abc"]
    files = {"samples.json": json.dumps({"samples": samples}).encode()}
    with pytest.raises(RefusalError, match="2 attributes may give the classes") as refused:
        rows_of(tmp_path, files)
    assert [change.options["label_columns"] for change in refused.value.refusal.changes] == [("guesses",), ("truth",)]
    assert {row["label_name"] for row in rows_of(tmp_path, files, label_columns=("truth",)).values()} == {"dog"}
    found = rows_of(tmp_path, files, label_columns=("guesses",))
    assert {found_box(row)[0] for row in found.values()} == {"cat"}


def test_samples_without_fiftyones_types_are_not_fiftyones(tmp_path):
    samples = [sample(f"{name}.jpg", truth={"label": "cat", "kind": "guess"}) for name in "abc"]
    with pytest.raises(DataError):
        rows_of(tmp_path, {"samples.json": json.dumps({"samples": samples}).encode()}, layout="box-json")


def row_of_labelbox(name, *labels):
    projects = {"p": {"labels": [{"annotations": one} for one in labels]}}
    return {"data_row": {"external_id": name}, "projects": projects}


def answer(name):
    return {"objects": [], "classifications": [{"name": "State", "radio_answer": {"name": name}}]}


def test_labelboxs_answers_are_classes_unless_two_people_gave_one(tmp_path):
    lines = lines_of(
        row_of_labelbox("a.jpg", answer("intact")),
        row_of_labelbox("b.jpg", answer("intact"), answer("broken")),
        row_of_labelbox("c.jpg"),
    )
    rows = rows_of(tmp_path, {"export.ndjson": lines})
    assert rows["a.jpg"]["label_name"] == "intact"
    assert [rows[name]["reason"] for name in ("b.jpg", "c.jpg")] == ["bad_annotation"] * 2


def test_labelboxs_boxes_are_in_pixels_and_masks_are_left_out(tmp_path):
    box = {"name": "cat", "bounding_box": {"top": 1, "left": 2, "height": 3, "width": 4}}
    polygon = {"name": "dog", "polygon": [{"x": 1, "y": 2}, {"x": 5, "y": 2}, {"x": 1, "y": 7}]}
    mask = {"name": "cat", "mask": {"url": "https://storage/mask"}}
    of_images = [[box, mask], [polygon], [{"name": "cat", "bounding_box": {"top": 1}}]]
    records = [
        row_of_labelbox(f"{name}.jpg", {"objects": objects}) for name, objects in zip("abc", of_images, strict=True)
    ]
    rows = rows_of(tmp_path, {"export.json": json.dumps(records).encode()})
    assert found_box(rows["a.jpg"]) == ("cat", [1, 2, 4, 6])
    assert found_box(rows["b.jpg"]) == ("dog", [2, 1, 7, 5])
    assert [row["reason"] for row in rows.values() if row["reason"]] == ["bad_box"]


def test_azures_lines_have_classes_or_boxes(tmp_path):
    """Lines of image_url and label of others are a table, which asks where the images are."""
    store = "azureml://datastores/d/paths/photos"
    corners = {"label": "cat", "topX": 0.25, "topY": 0.5, "bottomX": 0.75, "bottomY": 1.0, "isCrowd": 0}
    boxes = lines_of(
        {"image_url": f"{store}/a.jpg", "label": [corners]},
        {"image_url": f"{store}/b.jpg", "label": []},
        {"image_url": f"{store}/gone.jpg", "label": [corners]},
    )
    rows = rows_of(tmp_path / "boxes", {"annotations.jsonl": boxes})
    assert found_box(rows["a.jpg"]) == ("cat", [0.5, 0.25, 1.0, 0.75])
    assert rows["b.jpg"]["objects"] == []
    several = lines_of(
        {"image_url": f"{store}/a.jpg", "label": ["x", "y"]}, {"image_url": f"{store}/b.jpg", "label": ["x"]}
    )
    rows = rows_of(tmp_path / "several", {"annotations.jsonl": several})
    assert [rows[name]["label_names"] for name in ("a.jpg", "b.jpg")] == [["x", "y"], ["x"]]


def darwin(name, *annotations):
    slot = {"type": "image", "width": 24, "height": 20}
    return json.dumps({"item": {"name": name, "slots": [slot]}, "annotations": annotations}).encode()


def test_darwin_has_a_file_for_each_image(tmp_path):
    box = {"name": "cat", "bounding_box": {"x": 1, "y": 2, "w": 3, "h": 4}}
    files = {
        "annotations/a.json": darwin("a.jpg", box, {"name": "dark", "tag": {}}),
        "annotations/b.json": darwin("b.jpg", {"name": "cat", "bounding_box": {"x": 1, "y": 2, "w": 3}}),
        "annotations/c.json": b'{"item": {"name": "c.jpg"}}',
    }
    rows = rows_of(tmp_path, files, [f"images/{name}.jpg" for name in "abc"])
    assert found_box(rows["images/a.jpg"]) == ("cat", [2, 1, 6, 4])
    assert sorted(row["reason"] for row in rows.values() if row["reason"]) == ["bad_annotation", "bad_box"]


def test_vias_rows_of_an_image_may_lie_apart(tmp_path):
    lines = ["filename,file_attributes,region_id,region_shape_attributes,region_attributes"]
    for at, name in ((0, "a"), (0, "b"), (0, "c"), (1, "a"), (1, "c")):  # sorted by the region's number
        box, label = {"name": "rect", "x": at, "y": 1, "width": 2, "height": 3}, {"class": "cat" if at else "dog"}
        quoted = [json.dumps(one).replace('"', '""') for one in ({}, box, label)]
        lines.append(f'{name}.jpg,"{quoted[0]}",{at},"{quoted[1]}","{quoted[2]}"')
    rows = rows_of(tmp_path, {"via.csv": "\n".join(lines).encode()})
    assert {row["reason"] for row in rows.values()} == {None}
    found = {name: [(one["label_name"], one["bbox"]) for one in row["objects"]] for name, row in rows.items()}
    dog, cat = ("dog", [1, 0, 4, 2]), ("cat", [1, 1, 4, 3])  # ymin, xmin, ymax, xmax
    assert found == {"a.jpg": [dog, cat], "b.jpg": [dog], "c.jpg": [dog, cat]}
