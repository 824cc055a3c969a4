import json

import pyarrow.parquet as pq
import pytest

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
        ]
    )
    images = {f"{name}.jpg": picture(ord(name)) for name in "abc"}
    root = write_tree(tmp_path / "s", {**images, "out.manifest": lines + b'{"source-ref": \n'})
    result = call("convert", str(root), str(tmp_path / "o"), "--max-rejected", "100%")
    assert result.exit_code == 0, result.stderr
    rejected = pq.read_table(tmp_path / "o" / "rejected.parquet").to_pylist()
    for name, reason in (
        ("out.manifest, record 2, box 1", "BAD_ANNOTATION"),
        ("out.manifest, record 3, box 1", "BAD_BOX"),
        ("gone.jpg", "MISSING"),
        ("out.manifest, record 5", "BAD_PATH"),
        ("out.manifest, record 6", "BAD_ANNOTATION"),
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
