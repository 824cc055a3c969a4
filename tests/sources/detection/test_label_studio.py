import json
import math

import pytest

from shardkit.errors import CallError, DataError
from shardkit.sources.formats.label_studio import image_path
from shardkit.testing import listed, opened, read_source, write_tree
from shardkit.testing.refusals import command_text

# Fields as in https://labelstud.io/guide/task_format and https://labelstud.io/tags/rectanglelabels
SIZE = {"original_width": 80, "original_height": 60, "image_rotation": 0}


def region(kind="rectanglelabels", label="cat", control="label", **value):
    value = value or {"x": 10, "y": 20, "width": 30, "height": 40, "rotation": 0}
    return {
        **SIZE,
        "value": {**value, kind: [label]},
        "id": "Dx_aB91ISN",
        "from_name": control,
        "to_name": "image",
        "type": kind,
    }


def choice(*labels, control="kind"):
    return {"value": {"choices": list(labels)}, "id": "q", "from_name": control, "to_name": "image", "type": "choices"}


def task(image, *results, **annotation):
    annotations = [{"id": 1001, "result": list(results), "was_cancelled": False, "ground_truth": False, **annotation}]
    return {"id": 1, "annotations": annotations, "file_upload": image, "data": {"image": image}, "predictions": []}


def tree(root, tasks, *images):
    files = dict.fromkeys(images or ("a.jpg", "b.jpg"), b"x")
    return write_tree(root, {"project-1-at-2024-05-01.json": json.dumps(tasks).encode(), **files})


# name: the region's value, and ymin, xmin, ymax, xmax in pixels of 80 x 60
REGIONS = {
    "rectangle": ("rectanglelabels", {"x": 10, "y": 20, "width": 30, "height": 40, "rotation": 0}, (12, 8, 36, 32)),
    "turned rectangle": (
        "rectanglelabels",
        {"x": 50, "y": 20, "width": 10, "height": 10, "rotation": 90},
        (12, 34, 20, 40),
    ),
    "polygon": ("polygonlabels", {"points": [[10, 20], [20, 20], [15, 50]], "closed": True}, (12, 8, 30, 16)),
    "ellipse": ("ellipselabels", {"x": 50, "y": 50, "radiusX": 10, "radiusY": 20, "rotation": 0}, (18, 32, 42, 48)),
    "turned ellipse": (
        "ellipselabels",
        {"x": 50, "y": 50, "radiusX": 15, "radiusY": 10, "rotation": 90},
        (18, 34, 42, 46),
    ),
    "labels": ("labels", {"x": 10, "y": 20, "width": 30, "height": 40, "rotation": 0}, (12, 8, 36, 32)),
}


@pytest.mark.parametrize(("kind", "value", "wanted"), REGIONS.values(), ids=REGIONS.keys())
def test_regions_become_boxes(kind, value, wanted, tmp_path):
    root = tree(tmp_path / "s", [task("/data/upload/1/a.jpg", region(kind, **value)), task("/data/upload/1/b.jpg")])
    source = opened(root)
    found = listed(source)
    assert (source.layout, found.problems, found.skipped) == ("Label Studio", [], {})
    ((label, *box),) = found.boxes["a.jpg"]
    assert label == "cat"
    assert all(math.isclose(a, b) for a, b in zip(box, wanted, strict=True))
    assert (found.rows[0]["annotated_width"], found.rows[0]["annotated_height"]) == (80, 60)
    assert (found.boxes["b.jpg"], found.rows[1]["annotated_width"]) == ([], 0)


def test_a_rectangle_and_its_labels_are_one_object(tmp_path):
    # <Rectangle> with <Labels> gives the same region twice.
    twin = region("labels")
    plain = {**twin, "type": "rectangle", "value": {key: twin["value"][key] for key in ("x", "y", "width", "height")}}
    found = read_source(tree(tmp_path / "s", [task("a.jpg", plain, twin)], "a.jpg"))
    assert (found.problems, len(found.boxes["a.jpg"])) == ([], 1)


# name: the image as a task names it, and where it is
IMAGES = {
    "uploaded": ("/data/upload/1/ab12cd34-a.jpg", "images/ab12cd34-a.jpg"),
    "uploaded, as it was before": ("/data/upload/1/ab12cd34-a.jpg", "a.jpg"),
    "local files": ("/data/local-files/?d=photos%2Fday%201/a.jpg", "photos/day 1/a.jpg"),
    "in a bucket": ("s3://bucket/photos/a.jpg", "photos/a.jpg"),
    "a signed URL": ("https://host/x/a.jpg?X-Amz-Signature=0a", "pictures/a.jpg"),
}


@pytest.mark.parametrize(("image", "path"), IMAGES.values(), ids=IMAGES.keys())
def test_images_are_found_by_the_end_of_their_url(image, path, tmp_path):
    found = read_source(tree(tmp_path / "s", [task(image, region())], path))
    assert (list(found.boxes), found.skipped) == ([path], {})


def test_a_url_is_not_followed_out_of_the_source(tmp_path):
    tasks = [task("/data/upload/1/a.jpg", region()), task("/data/local-files/?d=../../../b.jpg", region())]
    found = read_source(tree(tmp_path / "one/s", tasks, "a.jpg", "../../b.jpg"))
    assert (list(found.boxes), found.problems) == (["a.jpg"], [("b.jpg", "missing")])  # there is no s/b.jpg
    assert image_path("http://[bad/a.jpg") == "http://[bad/a.jpg"


def test_choices_are_classes(tmp_path):
    tasks = [task("a.jpg", choice("cat")), task("b.jpg", choice("dog")), task("c.jpg", choice())]
    source = opened(tree(tmp_path / "s", tasks, "a.jpg", "b.jpg", "c.jpg", "d.jpg"))
    found = listed(source)
    assert {row["key"]: row["label_name"] for row in found.rows if not row["reason"]} == {
        "a.jpg": "cat",
        "b.jpg": "dog",
    }
    assert found.problems == [("c.jpg", "no_label"), ("d.jpg", "no_label")]
    assert "the classes of 'kind'" in source.describe()


def test_several_choices_are_several_labels(tmp_path):
    found = read_source(tree(tmp_path / "s", [task("a.jpg", choice("wet", "cold")), task("b.jpg", choice("wet"))]))
    assert {row["key"]: row["label_names"] for row in found.rows} == {"a.jpg": ["wet", "cold"], "b.jpg": ["wet"]}


def test_json_min_gives_the_same(tmp_path):
    extra = {"id": 1, "annotator": 1, "annotation_id": 1, "created_at": "2024-05-01T10:00:00", "lead_time": 4.2}
    value = {**SIZE, "x": 10, "y": 20, "width": 30, "height": 40, "rotation": 0, "rectanglelabels": ["cat"]}
    found = read_source(
        tree(tmp_path / "boxes", [{"image": "/data/upload/1/a.jpg", "label": [value], **extra}], "a.jpg")
    )
    assert found.boxes == {"a.jpg": [("cat", 12, 8, 36, 32)]}
    choices = [
        {"image": "a.jpg", "kind": "cat", **extra},
        {"image": "b.jpg", "kind": {"choices": ["cat", "wet"]}, **extra},
    ]
    found = read_source(tree(tmp_path / "choices", choices))
    assert {row["key"]: row["label_names"] for row in found.rows} == {"a.jpg": ["cat"], "b.jpg": ["cat", "wet"]}


def test_of_several_controls_the_user_chooses(tmp_path):
    tasks = [task("a.jpg", choice("cat"), choice("good", control="quality"))]
    root = tree(tmp_path / "s", tasks, "a.jpg")
    with pytest.raises(CallError) as refused:
        opened(root)
    for name in ("kind", "quality"):
        assert f"--label-column {name}" in command_text(refused.value)
    found = read_source(root, label_columns=("quality",))
    assert [row["label_name"] for row in found.rows] == ["good"]
    with pytest.raises(DataError, match="nothing gives classes by the name 'size'; there are 'kind', 'quality'"):
        opened(root, label_columns=("size",))


def test_what_is_not_read_is_counted(tmp_path):
    brush = region("brushlabels", format="rle", rle=[0, 1])
    unlabelled = {"id": 2, "annotations": [], "data": {"image": "b.jpg"}}
    twice = task("a.jpg", region(), brush)
    twice["annotations"].append({"result": [region(label="dog")], "was_cancelled": False, "ground_truth": True})
    twice["annotations"].append({"result": [region(label="bird")], "was_cancelled": True})
    more = task("c.jpg", region(), brush)
    listing = read_source(tree(tmp_path / "s", [unlabelled, twice, more], "a.jpg", "b.jpg", "c.jpg"))
    assert {key: [one[0] for one in found] for key, found in listing.boxes.items()} == {
        "a.jpg": ["dog"],
        "c.jpg": ["cat"],
    }
    assert listing.skipped == {
        "tasks that nobody annotated": 1,
        "further annotations of a task": 1,
        "regions without box (brushes, key points)": 1,
    }


# name: the second task, and the key and reason of the problem
BAD_TASKS = {
    "no label": (task("b.jpg", region(label="")), "region 1", "bad_annotation"),
    "a side is missing": (task("b.jpg", region(x=1, y=1, width=None, height=2)), "region 1", "bad_box"),
    "two corners": (task("b.jpg", region("polygonlabels", points=[[1, 1], [2, 2]])), "region 1", "bad_box"),
    "turned": (task("b.jpg", {**region(), "value": region()["value"], "image_rotation": 90}), None, "bad_annotation"),
    "no image": (task("", region()), "", "bad_path"),
    "a number": (7, "", "bad_annotation"),
}


@pytest.mark.parametrize(("second", "place", "reason"), BAD_TASKS.values(), ids=BAD_TASKS.keys())
def test_a_bad_task_is_reported_and_the_others_stay(second, place, reason, tmp_path):
    found = read_source(tree(tmp_path / "s", [task("a.jpg", region()), second]))
    name = "project-1-at-2024-05-01.json, task 2"
    key = "b.jpg" if place is None else f"{name}, {place}" if place else name
    unnamed = [("b.jpg", "no_label")] if place == "" else []
    assert sorted(found.problems) == sorted([(key, reason), *unnamed])
    assert found.boxes["a.jpg"] == [("cat", 12, 8, 36, 32)]


def test_exports_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"images are in with root.* this export has no images"):
        opened(tree(tmp_path / "gone", [task("z.jpg", region())]))
    root = write_tree(tmp_path / "other", {"a.json": b'[{"image": "a.jpg", "label": "cat"}]', "a.jpg": b"x"})
    with pytest.raises(DataError, match="is not an export 'JSON' or 'JSON-MIN' of Label Studio"):
        opened(root / "a.json", layout="label-studio")
    with pytest.raises(DataError, match="there is no JSON export of Label Studio"):
        opened(root, layout="label-studio")
