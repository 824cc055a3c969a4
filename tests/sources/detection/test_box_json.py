import json

import pyarrow.parquet as pq
import pytest

import shardkit
from shardkit.testing import picture, write_tree

from ...cli.calling import call


def boxes_of(records):
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def manifest_line(name, box, **metadata):
    jobs = {"pets": {"annotations": [box]}, "pets-metadata": {"class-map": {"0": "cat"}, **metadata}}
    return {"source-ref": f"s3://bucket/{name}", **jobs}


GOOD = {"class_id": 0, "left": 1, "top": 1, "width": 4, "height": 4}


def test_bad_records_and_boxes_are_named_and_the_rest_is_kept(tmp_path):
    lines = boxes_of(
        [
            manifest_line("a.jpg", GOOD),
            manifest_line("b.jpg", GOOD | {"class_id": 7}),
            manifest_line("c.jpg", GOOD | {"left": "1"}),
            manifest_line("gone.jpg", GOOD),
            manifest_line("../../d.jpg", GOOD),
            manifest_line("e.jpg", GOOD | {"left": 10**400}),  # which no float can hold
        ]
    )
    images = {f"{name}.jpg": picture(ord(name)) for name in "abce"}
    root = write_tree(tmp_path / "s", {**images, "out.manifest": lines + b'{"source-ref": \n'})
    result = call("convert", str(root), str(tmp_path / "o"), "--max-rejected", "100%")
    assert result.exit_code == 0, result.stderr
    rejected = pq.read_table(tmp_path / "o" / "rejected.parquet").to_pylist()
    for name, reason in (
        ("out.manifest, record 2, box 1", "BAD_ANNOTATION"),
        ("out.manifest, record 3, box 1", "BAD_BOX"),
        ("gone.jpg", "MISSING"),
        ("out.manifest, record 5", "BAD_PATH"),
        ("out.manifest, record 6, box 1", "BAD_BOX"),
        ("out.manifest, record 7", "BAD_ANNOTATION"),
    ):
        assert any(one["key"].endswith(name) and one["reason"].lower() == reason.lower() for one in rejected), (
            name,
            rejected,
        )


def test_an_image_that_two_files_name_is_not_taken_twice(tmp_path):
    line = boxes_of([manifest_line("a.jpg", GOOD), manifest_line("b.jpg", GOOD)])
    root = write_tree(
        tmp_path / "s", {"a.jpg": picture(0), "b.jpg": picture(1), "one.manifest": line, "two.manifest": line}
    )
    assert call("convert", str(root), str(tmp_path / "o")).exit_code != 0


@pytest.mark.parametrize(("chosen", "classes"), [("weather", {"clear", "rainy"}), ("scene", {"scene 0", "scene 1"})])
def test_attributes_of_images_are_classes_if_they_are_named(chosen, classes, tmp_path):
    records = [
        {
            "name": f"{number}.jpg",
            "attributes": {"weather": weather, "scene": f"scene {number}"},
            "labels": [{"box2d": {}}],
        }
        for number, weather in enumerate(("clear", "rainy"))
    ]
    images = {f"{number}.jpg": picture(number) for number in range(2)}
    root = write_tree(tmp_path / "s", {**images, "train.json": json.dumps(records).encode()})
    refused = call("convert", str(root), str(tmp_path / "o"))
    assert f"--label-column {chosen}" in refused.stderr
    assert call("convert", str(root), str(tmp_path / "o"), "--label-column", chosen).exit_code == 0
    assert set(json.loads((tmp_path / "o" / "manifest.json").read_text())["classes"]) == classes


def metadata_line(name, *boxes):
    return {"file_name": name, "objects": {"bbox": list(boxes), "categories": ["cat"] * len(boxes)}}


# Boxes of images of 8 x 8 pixels as metadata.jsonl has them, and (ymin, xmin, ymax, xmax) that are read; None if they
# are refused.
NUMBERS = {
    "x, y, width, height": ([(4, 4, 3, 2), (0, 1, 6, 5)], {(4, 4, 6, 7), (1, 0, 6, 6)}),
    "xmin, ymin, xmax, ymax": ([(4, 4, 7, 6), (0, 1, 6, 5)], {(4, 4, 6, 7), (1, 0, 5, 6)}),
    "either; Hugging Face says x, y, width, height": ([(1, 1, 4, 3), (0, 1, 6, 5)], {(1, 1, 4, 5), (1, 0, 6, 6)}),
    "neither": ([(4, 4, 7, 6), (6, 5, 4, 4)], None),
    "fractions": ([(0.5, 0.5, 0.25, 0.25), (0.1, 0.1, 0.5, 0.5)], None),
}


@pytest.mark.parametrize("numbers", NUMBERS)
def test_what_the_numbers_of_metadata_are_is_seen_at_the_images(numbers, tmp_path):
    boxes, wanted = NUMBERS[numbers]
    lines = boxes_of([metadata_line(f"{number}.png", *boxes) for number in range(3)])
    root = write_tree(tmp_path / "s", {**{f"{i}.png": picture(i) for i in range(3)}, "metadata.jsonl": lines})
    result = call("convert", str(root), str(tmp_path / "o"))
    assert (result.exit_code == 0) == (wanted is not None), result.stderr
    if wanted is not None:
        example = next(iter(shardkit.open(str(tmp_path / "o"), "train")))
        assert {tuple(box) for box in (example["objects/bbox"] * 8).round().astype(int).tolist()} == wanted
        assert ("as xmin, ymin, xmax, ymax" in result.stderr) == numbers.startswith("xmin")


def of_item(*box):
    return json.dumps({"pair_id": 1, "item1": {"category_name": "trousers", "bounding_box": box}}).encode()


def of_impulse(width):
    return [{"label": "cube", "x": 1, "y": 1, "width": width, "height": 3}]


# Files of a.png, with a good box; b.png, with a bad one; and gone.png, which is missing.
NEARLY = {
    "Edge Impulse": {
        "bounding_boxes.labels": json.dumps(
            {"boundingBoxes": {"a.png": of_impulse(3), "b.png": of_impulse(None), "gone.png": of_impulse(3)}}
        ).encode()
    },
    "Edge Impulse's list of files": {
        "info.labels": json.dumps(
            {
                "files": [
                    {"path": f"{name}.png", "boundingBoxes": of_impulse(width)}
                    for name, width in (("a", 3), ("b", -3), ("gone", 3))
                ]
            }
        ).encode()
    },
    "DeepFashion2": {
        "annos/a.json": of_item(1, 1, 4, 4),
        "annos/b.json": of_item(1, 1, 4),
        "annos/gone.json": of_item(1, 1, 4, 4),
    },
}


@pytest.mark.parametrize("form", NEARLY)
def test_a_bad_box_and_a_missing_image_are_reported_in_every_format(form, tmp_path):
    above = "image/" if form == "DeepFashion2" else ""
    root = write_tree(tmp_path / "s", {f"{above}{name}.png": picture(ord(name)) for name in "ab"} | NEARLY[form])
    result = call("convert", str(root), str(tmp_path / "o"), "--max-rejected", "100%")
    assert result.exit_code == 0, result.stderr
    rejected = pq.read_table(tmp_path / "o" / "rejected.parquet").to_pylist()
    assert sorted(one["reason"] for one in rejected) == ["bad_box", "missing"], rejected
    boxes = {one.key: one["objects/bbox"].tolist() for one in shardkit.open(str(tmp_path / "o"), "train")}
    assert boxes == {f"{above}a.png": [[0.125, 0.125, 0.5, 0.5]], f"{above}b.png": []}
