import json

import pytest

from shardkit.testing import listed, opened, write_tree

from ...cli.calling import call

BOX = {"classTitle": "cat", "geometryType": "rectangle", "points": {"exterior": [[1, 2], [30, 20]], "interior": []}}


def supervisely(*tags, objects=()):
    named = [
        {"name": name, "value": value}
        for name, value in (tag if isinstance(tag, tuple) else (tag, None) for tag in tags)
    ]
    size = {"height": 60, "width": 80}
    return json.dumps({"description": "", "tags": named, "size": size, "objects": list(objects)}).encode()


def project(root, files):
    images = {f"img/{name}.jpg": b"x" for name in files}
    return write_tree(root, images | {f"ann/{name}.jpg.json": data for name, data in files.items()})


@pytest.mark.parametrize(
    ("files", "options", "column", "labels"),
    [
        ({"a": ["cat"], "b": ["dog"]}, {}, "label_name", ["cat", "dog"]),
        ({"a": ["cat"], "b": ["dog", "cat"], "c": []}, {}, "label_names", [["cat"], ["dog", "cat"], []]),
        ({"a": [("sky", "clear")], "b": [("sky", "grey")]}, {}, "label_name", ["clear", "grey"]),
        ({"a": ["x", ("sky", "clear")], "b": [("sky", 7)]}, {"label_columns": ["sky"]}, "label_name", ["clear", "7"]),
    ],
)
def test_tags_are_classes_if_no_file_has_objects(files, options, column, labels, tmp_path):
    root = project(tmp_path / "s", {name: supervisely(*tags) for name, tags in files.items()})
    found = listed(opened(root, **options))
    assert ([row[column] for row in found.rows], found.problems) == (labels, [])


def test_tags_of_images_with_boxes_are_counted_and_can_be_chosen(tmp_path):
    root = project(tmp_path / "s", {"a": supervisely("cat", objects=[BOX]), "b": supervisely("dog")})
    found = listed(opened(root))
    assert found.boxes == {"img/a.jpg": [("cat", 2, 1, 20, 30)], "img/b.jpg": []}
    assert found.skipped["classes of whole images (tags)"] == 2
    assert [row["label_name"] for row in listed(opened(root, label_columns=["tags"])).rows] == ["cat", "dog"]


def test_a_file_with_boxes_among_many_with_tags_is_rejected(tmp_path):
    files = {f"{number:03}": supervisely("cat") for number in range(202)}  # two files apart are read first
    found = listed(opened(project(tmp_path / "s", {**files, "001": supervisely("cat", objects=[BOX])})))
    assert found.problems == [("img/001.jpg", "bad_annotation")]


def test_tags_that_are_splits_or_of_several_kinds_are_a_question(tmp_path):
    for name, tags, said in [
        ("splits", ["train", "val"], "--layout box-json"),
        ("several", [("sky", "grey"), ("city", "Rome")], "2 attributes may give the classes"),
    ]:
        files = {f"{number}": supervisely(tag) for number, tag in enumerate(tags)}
        result = call("plan", str(project(tmp_path / name, files)))
        assert result.exit_code != 0
        assert said in result.stderr
