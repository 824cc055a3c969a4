import contextlib
import importlib.util
import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.errors import DataError
from shardkit.sources import json_stream
from shardkit.sources.engine import records
from shardkit.sources.engine.splits import split_of_path
from shardkit.sources.formats import format as formats
from shardkit.sources.json_stream import array_items
from shardkit.sources.recognising.detection.coco import is_coco
from shardkit.storage import open_folder
from shardkit.testing import listed, opened, read_source, upload, write_tree

SAMPLES = Path(__file__).parents[3] / "sample_data"
CATEGORIES = [{"id": 7, "name": "dog"}, {"id": 2, "name": "cat"}]
IMAGE = {"id": 1, "file_name": "a.jpg", "width": 100, "height": 50}
BOX = {"id": 5, "image_id": 1, "category_id": 7, "bbox": [10, 20, 30, 4], "area": 99.5, "iscrowd": 0}


def document(images=(IMAGE,), annotations=(BOX,), categories=CATEGORIES):
    return json.dumps({"images": images, "annotations": annotations, "categories": categories}).encode()


def read(tmp_path, data, images=("a.jpg",)):
    root = write_tree(tmp_path / "s", {"instances.json": data, **dict.fromkeys(images, b"x")})
    return read_source(root, layout="coco")


def test_an_image_is_listed_with_its_objects_and_size(tmp_path):
    annotation = BOX | {"segmentation": [[1, 2.50, 3, 4.0, 5, 6]]}
    found = read(tmp_path, document(annotations=[annotation]))
    (row,) = found.rows
    assert (row["key"], row["split"], row["reason"], row["source_bytes"]) == ("a.jpg", None, None, 1)
    assert (row["annotated_width"], row["annotated_height"], row["line"]) == (100, 50, 1)
    assert row["objects"] == [
        {
            "bbox": [20, 10, 24, 40],
            "label_name": "dog",
            "name": "annotation 5",
            "area": 99.5,
            "id": 5,
            "is_crowd": False,
            "segmentation": "[[1,2.5,3,4.0,5,6]]",
        }
    ]
    assert found.classes == {2: "cat", 7: "dog"}


def test_files_with_other_ids_of_categories_are_merged_by_the_names(tmp_path):
    """Exports of splits number the categories that occur in them."""
    files = {}
    for split, label, other in (("train", "dog", "cat"), ("valid", "cat", "dog")):
        categories = [{"id": 7, "name": label}, {"id": 2, "name": other}]
        image = IMAGE | {"file_name": f"{split}.jpg"}
        head = json.dumps({"categories": categories, "images": [image], "annotations": [BOX]})
        files |= {f"{split}/_annotations.coco.json": head.encode(), f"{split}/{split}.jpg": b"x"}
    found = read_source(write_tree(tmp_path / "s", files))
    assert {row["split"]: row["objects"][0]["label_name"] for row in found.rows} == {
        "train": "dog",
        "validation": "cat",
    }
    assert found.classes == {}


def test_an_image_without_annotations_is_good(tmp_path):
    found = read(tmp_path, document(annotations=[]))
    (row,) = found.rows
    assert (row["reason"], row["objects"]) == (None, [])


# name: annotation, and the key and reason of the problem
BAD_ANNOTATIONS = {
    "unknown image": (BOX | {"image_id": 9}, "annotation 5", "bad_annotation"),
    "no image": ({"id": 5, "category_id": 7, "bbox": [0, 0, 1, 1]}, "annotation 5", "bad_annotation"),
    "image a list": (BOX | {"image_id": [1]}, "annotation 5", "bad_annotation"),
    "unknown category": (BOX | {"category_id": 3}, "annotation 5", "bad_annotation"),
    "category a text": (BOX | {"category_id": "7"}, "annotation 5", "bad_annotation"),
    "category too large": (BOX | {"category_id": 2**70}, "annotation 5", "bad_annotation"),
    "three numbers": (BOX | {"bbox": [1, 2, 3]}, "annotation 5", "bad_box"),
    "five numbers": (BOX | {"bbox": [1, 2, 3, 4, 5]}, "annotation 5", "bad_box"),
    "no box": ({"id": 5, "image_id": 1, "category_id": 7}, "annotation 5", "bad_box"),
    "a text of four digits": (BOX | {"bbox": "1234"}, "annotation 5", "bad_box"),
    "null in it": (BOX | {"bbox": [1, 2, None, 3]}, "annotation 5", "bad_box"),
    "not a number": (BOX | {"bbox": [1, 2, float("nan"), 3]}, "annotation 5", "bad_box"),
    "infinity": (BOX | {"bbox": [1, 2, float("inf"), 3]}, "annotation 5", "bad_box"),
    "beyond float": (BOX | {"bbox": [1, 2, 10**400, 3]}, "annotation 5", "bad_box"),
    "beyond float, with an exponent": (BOX | {"bbox": [1, 2, "1e999", 3]}, "annotation 5", "bad_box"),
    "a list": ([1], "annotation number 2", "bad_annotation"),
    "null": (None, "annotation number 2", "bad_annotation"),
    "without an id": ({"image_id": 1, "category_id": 7}, "annotation number 2", "bad_box"),
}


@pytest.mark.parametrize(("annotation", "key", "reason"), BAD_ANNOTATIONS.values(), ids=BAD_ANNOTATIONS.keys())
def test_a_bad_annotation_is_reported_and_its_image_stays(annotation, key, reason, tmp_path):
    found = read(tmp_path, document(annotations=[BOX | {"id": 4}, annotation]))
    assert found.problems == [(f"instances.json, {key}", reason)]
    assert [one["name"] for one in found.rows[0]["objects"]] == ["annotation 4"]


BAD_IMAGES = {
    "above the folder": ({"id": 2, "file_name": "../b.jpg"}, "instances.json, image 2", "bad_name"),
    "absolute": ({"id": 2, "file_name": "/etc/b.jpg"}, "etc/b.jpg", "missing"),  # as on another machine
    "backslash": ({"id": 2, "file_name": "x\\b.jpg"}, "x/b.jpg", "missing"),  # as on Windows
    "backslashes above the folder": ({"id": 2, "file_name": "..\\b.jpg"}, "instances.json, image 2", "bad_name"),
    "absolute on Windows": ({"id": 2, "file_name": "C:\\b.jpg"}, "b.jpg", "missing"),
    "empty": ({"id": 2, "file_name": ""}, "instances.json, image 2", "bad_name"),
    "none": ({"id": 2}, "instances.json, image 2", "bad_name"),
    "a number": ({"id": 2, "file_name": 3}, "instances.json, image 2", "bad_name"),
    "zero byte": ({"id": 2, "file_name": "b\0.jpg"}, "instances.json, image 2", "bad_name"),
    "lone surrogate": ({"id": 2, "file_name": "\ud800.jpg"}, "instances.json, image 2", "bad_name"),
    "not there": ({"id": 2, "file_name": "b.jpg"}, "b.jpg", "missing"),
    "below a file": ({"id": 2, "file_name": "a.jpg/b.jpg"}, "a.jpg/b.jpg", "missing"),
    "too long": ({"id": 2, "file_name": "b" * 5000 + "/b.jpg"}, "instances.json, record 2", "bad_path"),
    "record twice": (IMAGE, "instances.json, image 1, number 2", "duplicate_id"),
    "no id": ({"file_name": "b.jpg"}, "instances.json, image number 2", "bad_annotation"),
    "a text": ("b.jpg", "instances.json, image number 2", "bad_annotation"),
}


@pytest.mark.parametrize(("image", "key", "reason"), BAD_IMAGES.values(), ids=BAD_IMAGES.keys())
def test_a_bad_image_record_is_reported_and_the_others_stay(image, key, reason, tmp_path):
    found = read(tmp_path, document(images=[IMAGE, image]))
    assert found.problems == [(key, reason)]
    assert len(found.rows) == 2
    assert len(found.rows[0]["objects"]) == 1


def test_images_of_one_id_are_rejected_together_with_their_annotations(tmp_path):
    """Nobody knows which of them an annotation is of: the boxes of 40.jpg landed on 1.jpg."""
    images = [IMAGE, IMAGE | {"id": 2, "file_name": "b.jpg"}, IMAGE | {"file_name": "c.jpg"}]
    annotations = [BOX, BOX | {"id": 6, "image_id": 2}, BOX | {"id": 7}]
    found = read(tmp_path, document(images, annotations), ["a.jpg", "b.jpg", "c.jpg"])
    assert found.problems == [("a.jpg", "duplicate_id"), ("c.jpg", "duplicate_id")]
    assert [[one["id"] for one in row["objects"] or ()] for row in found.rows] == [[], [6], []]


@pytest.mark.parametrize("extra", [0, 1], ids=["as lengths", "as counts of pixels"])
def test_boxes_whose_areas_say_that_they_are_corners_are_refused(extra, tmp_path):
    corners = [(i, 2 * i, 3 * i + 12, 5 * i + 9) for i in range(4)]
    annotations = [
        BOX | {"id": i, "bbox": box, "area": (box[2] - box[0] + extra) * (box[3] - box[1] + extra)}
        for i, box in enumerate(corners)
    ]
    with pytest.raises(DataError, match=r"two corners.*subtract the first two numbers of `bbox` from its last two"):
        read(tmp_path, document(annotations=annotations))
    sizes = [one | {"bbox": [x, y, x1 - x, y1 - y]} for one, (x, y, x1, y1) in zip(annotations, corners, strict=True)]
    assert len(read(tmp_path, document(annotations=sizes)).rows[0]["objects"]) == 4


def test_annotations_of_an_image_that_was_reported_are_not_reported_again(tmp_path):
    found = read(
        tmp_path, document(images=[IMAGE, {"id": 2, "file_name": "../b.jpg"}], annotations=[BOX | {"image_id": 2}])
    )
    assert found.problems == [("instances.json, image 2", "bad_name")]


def test_one_file_name_twice_gives_both_rows_with_their_lines(tmp_path):
    found = read(tmp_path, document(images=[IMAGE, IMAGE | {"id": 2}]))
    assert [(row["key"], row["line"], len(row["objects"])) for row in found.rows] == [("a.jpg", 1, 1), ("a.jpg", 2, 0)]


@pytest.mark.parametrize(
    ("category", "key"),
    [
        ({"id": "x", "name": "bird"}, 'category "x"'),
        ({"id": 9}, "category 9"),
        ({"id": 7, "name": "bird"}, "category 7"),  # the id is taken
        (5, "category null"),
    ],
)
def test_a_bad_category_is_reported_and_the_others_stay(category, key, tmp_path):
    found = read(tmp_path, document(categories=[*CATEGORIES, category]))
    assert found.problems == [(f"instances.json, {key}", "bad_annotation")]
    assert found.classes == {2: "cat", 7: "dog"}


def test_categories_that_share_a_name_are_one_class(tmp_path):
    found = read(tmp_path, document(categories=[{"id": 0, "name": "dog"}, *CATEGORIES]))
    assert found.classes == {0: "dog", 2: "cat"}
    assert found.rows[0]["objects"][0]["label_name"] == "dog"


@pytest.mark.parametrize("size", [{"width": None}, {"height": 0}, {"width": "wide"}, {"width": -1}, {"width": 2**40}])
def test_a_size_that_is_none_is_left_to_the_image(size, tmp_path):
    found = read(tmp_path, document(images=[IMAGE | size]))
    assert (found.rows[0]["annotated_width"], found.rows[0]["annotated_height"], found.rows[0]["reason"]) == (
        None,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"counts": [0, 5, 10], "size": [3, 5]}, '{"counts":[0,5,10],"size":[3,5]}'),
        ({"counts": '04\\`0;Mo1"', "size": [3, 5]}, '{"counts":"04\\\\`0;Mo1\\"","size":[3,5]}'),
        ([[1.0, 2, 3e-5]], "[[1.0,2,3e-05]]"),
        ([], "[]"),
        ([[]], "[[]]"),
        ([1.5, 2], "[1.5,2]"),  # no nesting: not COCO's, but kept
        ([[[1.5, 2]], 3], "[[[1.5,2]],3]"),
        (None, ""),
        ([["abc"]], '[["abc"]]'),
        ([[None, True]], "[[null,true]]"),
    ],
)
def test_a_segmentation_is_kept_as_the_sources_json(value, text, tmp_path):
    found = read(tmp_path, document(annotations=[BOX | {"segmentation": value}]))
    assert found.rows[0]["objects"][0]["segmentation"] == text


@given(
    st.lists(
        st.tuples(
            st.integers(0, 5),  # image: 5 is unknown
            st.sampled_from([2, 7, 8]),  # category: 8 is unknown
            st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3).map(lambda sides: [*sides, 2.0]),  # pixels
            st.booleans(),
        ),
        max_size=20,
    ),
    st.integers(1, 4),
    st.permutations(["images", "annotations", "categories"]),
)
def test_every_annotation_is_listed_once_with_its_image_or_reported(annotations, batch_rows, order):
    import tempfile

    parts = {
        "images": [{"id": i, "file_name": f"{i}.jpg"} for i in (3, 0, 4, 1, 2)],
        "annotations": [
            {"id": i, "image_id": image, "category_id": category, "bbox": box, "iscrowd": int(crowd)}
            for i, (image, category, box, crowd) in enumerate(annotations)
        ],
        "categories": CATEGORIES,
    }
    with tempfile.TemporaryDirectory() as root:
        files = {f"{i}.jpg": b"x" for i in range(5)}
        write_tree(Path(root), {"x.json": json.dumps({name: parts[name] for name in order}).encode(), **files})
        rows = listed(opened(root, layout="coco"), batch_rows).table.to_pylist()
    assert [row["key"] for row in rows[:5]] == ["3.jpg", "0.jpg", "4.jpg", "1.jpg", "2.jpg"]
    found = {
        one["id"]: (int(row["key"][0]), one["label_name"], one["bbox"], one["is_crowd"])
        for row in rows[:5]
        for one in row["objects"]
    }
    names = {2: "cat", 7: "dog"}
    assert found == {
        i: (image, names[category], [y, x, y + height, x + width], crowd)
        for i, (image, category, (x, y, width, height), crowd) in enumerate(annotations)
        if image < 5 and category in names
    }
    bad = {f"x.json, annotation {i}" for i in range(len(annotations)) if i not in found}
    assert {row["key"] for row in rows if row["reason"]} == bad
    assert len(rows) == 5 + len(bad)


# name: path of the JSON, and of its image
PLACES = {
    "COCO's own": ("annotations/instances_train2017.json", "train2017/a.jpg"),
    "beside it": ("train/_annotations.coco.json", "train/a.jpg"),
    "the split without its year": ("annotations/instances_train2017.json", "train/a.jpg"),
    "images and split": ("annotations/instances_train2017.json", "images/train2017/a.jpg"),
    "images above": ("annotations/train.json", "images/a.jpg"),
    "images beside the root's": ("train.json", "images/a.jpg"),
    "split beside the root's": ("train.json", "train/a.jpg"),
    "data": ("labels.json", "data/a.jpg"),
    "the stem": ("annotations/street.json", "street/a.jpg"),
    "the root": ("annotations/train.json", "a.jpg"),
}


@pytest.mark.parametrize(("path", "image"), PLACES.values(), ids=PLACES.keys())
def test_images_are_found_where_people_put_them(path, image, tmp_path):
    root = write_tree(tmp_path / "s", {path: document(), image: b"x", "other/b.jpg": b"x"})
    assert is_coco(open_folder(str(root)))
    found = read_source(root)
    split = "train" if "train" in path else None
    assert [(row["key"], row["split"], row["reason"]) for row in found.rows] == [(image, split, None)]


@pytest.mark.parametrize(
    ("path", "image", "key"),
    [
        ("annotations/instances_train2017.json", "train2017/a.jpg", "train2017/a.jpg"),  # beside the file's folder
        ("annotations/instances_train2017.json", "annotations/a.jpg", "a.jpg"),
        ("annotations/instances_train2017.json", "annotations/images/a.jpg", "images/a.jpg"),
    ],
)
def test_a_file_as_source_may_have_its_images_one_folder_above(path, image, key, tmp_path):
    root = write_tree(tmp_path / "s", {path: document(), image: b"x"})
    source = opened(root / path)
    found = listed(source)
    assert [(row["key"], row["split"], row["reason"]) for row in found.rows] == [(key, "train", None)]
    assert (Path(source.folder.url) / key).read_bytes() == b"x"


def test_root_tells_where_the_images_are(tmp_path):
    root = write_tree(tmp_path / "s", {"train.json": document()})
    elsewhere = write_tree(tmp_path / "elsewhere", {"train/a.jpg": b"x"})
    source = opened(root, root=str(elsewhere))
    assert [(row["key"], row["reason"]) for row in listed(source).rows] == [("train/a.jpg", None)]
    assert source.folder.url == str(elsewhere)


def test_a_name_of_two_images_is_refused_with_both(tmp_path):
    root = write_tree(
        tmp_path / "s", {"annotations/train.json": document(), "pictures/a.jpg": b"x", "copies/a.jpg": b"y"}
    )
    with pytest.raises(DataError, match=r"'a.jpg' names 2 images .* copies/a.jpg and pictures/a.jpg; .*root"):
        listed(opened(root))


@pytest.mark.parametrize(
    ("files", "place"),
    [
        (["pictures/a.jpg", "other/b.jpg"], "pictures"),
        (["train_images/a.jpg", "test_images/a.jpg"], "train_images"),
        (["pictures/some/a.jpg", "pictures/others/b.jpg"], "pictures/some"),
    ],
)
def test_images_in_a_folder_of_any_name_are_found_if_there_is_one(files, place, tmp_path):
    root = write_tree(tmp_path / "s", {"train.json": document(), **dict.fromkeys(files, b"x")})
    assert (f"{place}/a.jpg", None) in [(row["key"], row["reason"]) for row in listed(opened(root)).rows]


def test_missing_first_images_do_not_hide_where_the_others_are(tmp_path):
    images = [IMAGE | {"id": i, "file_name": f"{i}.jpg"} for i in range(4)]
    found = read(tmp_path, document(images=images), images=["images/3.jpg"])
    assert found.problems == [(f"images/{i}.jpg", "missing") for i in range(3)]


def test_files_of_other_tasks_are_left_out_and_named(tmp_path):
    names = ["captions_val2017", "person_keypoints_val2017", "image_info_test2017", "instances_val2017", "notes"]
    root = write_tree(
        tmp_path / "s", {"val2017/a.jpg": b"x", **{f"annotations/{name}.json": document() for name in names}}
    )
    source = opened(root)
    assert source.reading.split.lists == {"annotations/instances_val2017.json": "validation"}
    assert "images in" in source.describe()
    assert "left out annotations/captions_val2017.json, annotations/image_info_test2017.json" in source.describe()


def test_images_that_the_file_does_not_name_are_reported_where_the_folder_is_its_own(tmp_path):
    files = {"train/a.jpg": b"x", "train/b.jpg": b"x", "train/notes.txt": b"x", "val/a.jpg": b"x"}
    root = write_tree(tmp_path / "s", {"train.json": document(), "val.json": document(), **files})
    found = read_source(root)
    assert found.problems == [("train/b.jpg", "no_label")]
    assert found.skipped == {".txt": 1}


def test_images_of_a_folder_that_two_files_share_are_reported_if_neither_names_them(tmp_path):
    val = document(images=[IMAGE | {"file_name": "b.jpg"}])
    files = {"images/a.jpg": b"x", "images/b.jpg": b"x", "images/c.jpg": b"x"}
    root = write_tree(tmp_path / "s", {"train.json": document(), "val.json": val, **files})
    found = read_source(root)
    assert [(row["key"], row["split"], row["reason"]) for row in found.rows] == [
        ("images/a.jpg", "train", None),
        ("images/b.jpg", "validation", None),
        ("images/c.jpg", None, "no_label"),
    ]
    assert found.skipped == {}


@pytest.mark.parametrize(
    ("path", "split"),
    [
        ("annotations/instances_train2017.json", "train"),
        ("annotations/instances_val2014.json", "validation"),
        ("valid/_annotations.coco.json", "validation"),
        ("test-images.json", "test"),
        ("Training_set/labels.json", "train"),
        ("annotations/instances_default.json", None),
        ("constraints.json", None),  # holds "train", not as a word
    ],
)
def test_the_split_is_a_word_of_the_files_or_the_folders_name(path, split):
    assert split_of_path(path) == split


@pytest.mark.parametrize(
    "files",
    [
        {"manifest.json": b'{"format_version": 1, "images": []}', "run-log.jsonl": b""},
        {"a.json": b'{"shapes": [], "images": []}'},
        {"a.json": b"[1, 2]"},
        {"train/cat/1.jpg": b"x"},
        {"annotations/captions_val.json": document()},
        {},
    ],
)
def test_what_is_not_coco_is_not_taken_for_it(files, tmp_path):
    root = write_tree(tmp_path / "s", {"x/": b"", **files})
    assert not is_coco(open_folder(str(root)))
    with pytest.raises(DataError, match=r"COCO's object annotations; .*annotations/"):
        opened(root, layout="coco")


# name: the file, and what the error says
BROKEN = {
    "cut off": (
        document()[:-40],
        r"instances.json, line 1, character \d+ of the file: this is not JSON: the file ends",
    ),
    "a missing comma": (
        b'{"images": [\n{"id": 1 "file_name": "a.jpg"}]}',
        r"line 2, character 23 .*Expecting ',' delim",
    ),
    "a comma too many": (b'{"images": [{},]}', r"character 16 .*no element between ',' and ']'"),
    "no object": (b'[{"images": []}]', r"line 1, character 1 .*expected an object, '\{'"),
    "more behind it": (document() + b"{}", "more text after the end"),
    "not UTF-8": (
        b'{"images": [{"id": 1, "file_name": "caf\xe9.jpg"}]}',
        r"byte 40 is not UTF-8; save the file as UTF-8",
    ),
    "nested without end": (b'{"images": ' + b"[" * 200_000, "nested too deeply"),
    "a name without quotes": (b'{"images": [], a: 1}', r"character 16 .*expected a value"),
    "no images": (b'{"images": []}', "its first records name no image"),
    "empty": (b"", "an object"),
}


@pytest.mark.parametrize(("data", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_file_is_named_with_the_place(data, message, tmp_path):
    root = write_tree(tmp_path / "s", {"a.jpg": b"x", "instances.json": data})
    with pytest.raises(DataError, match=message):
        read_source(root / "instances.json", layout="coco")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)


@given(
    st.dictionaries(st.text(max_size=3), JSON, max_size=4), st.integers(1, 9), st.sampled_from([None, 2]), st.booleans()
)
def test_a_stream_gives_what_json_gives_for_any_size_of_its_window(whole, block, indent, ascii_only):
    data = json.dumps(whole, indent=indent, ensure_ascii=ascii_only).encode()
    wanted = [(name, element) for name, value in whole.items() if isinstance(value, list) for element in value]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "BLOCK", block)
        assert list(array_items(io.BytesIO(data), "x", whole.keys())) == wanted


@given(st.binary(max_size=60) | st.text('{}[]",:1e. \nnul\\', max_size=60).map(str.encode))
def test_anything_else_than_json_raises_a_data_error_only(data):
    with contextlib.suppress(DataError):
        list(array_items(io.BytesIO(data), "x", {"images"}))


def samples(name):
    spec = importlib.util.spec_from_file_location("make_detection", SAMPLES / "make_detection.py")
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["make_detection"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return getattr(module, name)


@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_coco_is_read_as_pycocotools_reads_it(split):
    pycocotools = pytest.importorskip("pycocotools.coco")
    with contextlib.redirect_stdout(io.StringIO()):
        theirs = pycocotools.COCO(str(SAMPLES / f"coco/annotations/instances_{split}2017.json"))
    found = read_source(SAMPLES / "coco")
    mine = {row["key"]: row for row in found.rows if row["key"].startswith(f"{split}2017/")}
    assert found.classes == {number: category["name"] for number, category in theirs.cats.items()}
    assert len(mine) == len(theirs.imgs) > 1
    num_crowds = 0
    for number, image in theirs.imgs.items():
        row = mine[f"{split}2017/{image['file_name']}"]
        assert (row["annotated_width"], row["annotated_height"]) == (image["width"], image["height"])
        annotations = {one["id"]: one for one in theirs.imgToAnns[number]}
        assert [one["id"] for one in row["objects"]] == list(annotations)
        for one in row["objects"]:
            annotation = annotations[one["id"]]
            x, y, width, height = annotation["bbox"]
            assert one["bbox"] == [y, x, y + height, x + width]
            assert one["area"] == np.float32(annotation["area"])
            assert one["is_crowd"] == bool(annotation["iscrowd"])
            assert one["label_name"] == theirs.cats[annotation["category_id"]]["name"]
            kept = {"image_id": number, "segmentation": json.loads(one["segmentation"])}
            assert np.array_equal(theirs.annToMask(kept), theirs.annToMask(annotation))
            num_crowds += one["is_crowd"]
    assert num_crowds or split != "train"


def test_the_broken_sample_gives_a_row_for_each_of_its_problems():
    found = read_source(SAMPLES / "coco_broken")
    assert sorted(found.problems) == [
        ("images/missing.jpg", "missing"),
        ("images/train_01.jpg", "duplicate_id"),
        ("images/train_02.jpg", "duplicate_id"),
        ("images/unlabelled.jpg", "no_label"),
        ("instances.json, annotation 900", "bad_annotation"),
        ("instances.json, annotation 901", "bad_annotation"),
        ("instances.json, annotation 902", "bad_box"),
        ("instances.json, image 101", "bad_name"),
    ]
    assert sum(row["reason"] is None for row in found.rows) == 2


def test_the_samples_are_what_their_script_makes():
    for name in ("coco", "coco_broken", "voc", "yolo"):
        there = {path.relative_to(SAMPLES / name).as_posix() for path in (SAMPLES / name).rglob("*") if path.is_file()}
        made = samples(f"make_{name}")()
        assert there == made.keys()
        for key, data in made.items():
            if not key.endswith(".jpg"):
                assert (SAMPLES / name / key).read_bytes() == data, key
    assert (SAMPLES / "boxes.csv").read_bytes() == samples("make_boxes")()["boxes.csv"]


def test_an_object_store_is_read_the_same(s3_bucket):
    files = {"annotations/instances_train.json": document(), "train/a.jpg": b"x", "train/b.jpg": b"x"}
    folder = upload(f"{s3_bucket}/source", files)
    for url in (folder.url, f"{folder.url}/annotations/instances_train.json"):
        rows = read_source(url).rows
        assert [(row["key"], row["reason"]) for row in rows] == [("train/a.jpg", None), ("train/b.jpg", "no_label")]


def test_backslashes_in_file_names_part_folders(tmp_path):
    data = document(images=[IMAGE | {"file_name": "images\\b\\a.jpg"}])
    found = read(tmp_path, data, images=["images/b/a.jpg"])
    assert [(row["key"], len(row["objects"])) for row in found.rows] == [("images/b/a.jpg", 1)]


@pytest.mark.parametrize("place", ["", "images/"])
def test_absolute_file_names_below_the_source_are_followed(place, tmp_path):
    data = document(images=[IMAGE | {"file_name": f"{tmp_path}/s/{place}a.jpg"}])
    found = read(tmp_path, data, images=[f"{place}a.jpg"])
    assert [(row["key"], len(row["objects"])) for row in found.rows] == [(f"{place}a.jpg", 1)]


@pytest.mark.parametrize("above", ["/home/me/", "D:\\", "C:/Users/me/"])
def test_absolute_file_names_of_another_machine_lose_the_folders_that_are_not_here(above, tmp_path):
    names = [f"{folder}/{n}.jpg" for folder in ("north", "south") for n in range(3)]
    images = [IMAGE | {"id": i, "file_name": f"{above}crossing/{name}"} for i, name in enumerate(names)]
    if "\\" in above:
        images = [one | {"file_name": one["file_name"].replace("/", "\\")} for one in images]
    found = read(tmp_path, document(images=images), images=names)
    assert sorted(row["key"] for row in found.rows if row["reason"] in {None, "no_label"}) == names


@pytest.mark.parametrize("name", ["/home/../../etc/a.jpg", "C:\\..\\a.jpg"])
def test_absolute_file_names_never_leave_the_source(name, tmp_path):
    found = read(tmp_path, document(images=[IMAGE, IMAGE | {"id": 2, "file_name": name}]), images=["a.jpg"])
    assert [row["reason"] for row in found.rows if row["key"] != "a.jpg"] == ["bad_name"]


def test_absolute_file_names_are_followed_below_the_root_given(tmp_path):
    data = document(images=[IMAGE | {"file_name": f"{tmp_path}/elsewhere/x/a.jpg"}])
    write_tree(tmp_path / "elsewhere", {"x/a.jpg": b"x"})
    root = write_tree(tmp_path / "s", {"train.json": data})
    with pytest.raises(DataError, match=r"none of the images that it names is in .*elsewhere/x/a.jpg.*root"):
        opened(root)
    assert [row["key"] for row in read_source(root, root=str(tmp_path / "elsewhere")).rows] == ["x/a.jpg"]


def test_a_folder_of_images_that_no_file_names_is_counted(tmp_path):
    files = {"train/_annotations.coco.json": document(), "train/a.jpg": b"x", "train/deep/b.jpg": b"x"}
    root = write_tree(tmp_path / "s", files | {"test/c.jpg": b"x", "test/sub/d.png": b"x", "other/notes.txt": b"x"})
    found = read_source(root)
    assert [row["key"] for row in found.rows] == ["train/a.jpg"]
    assert found.skipped == {
        "images in test/ that no annotation names": 2,
        "image in train/deep/ that no annotation names": 1,
    }


def test_of_a_folder_of_several_files_images_in_folders_that_none_of_them_names_are_counted(tmp_path):
    val = document(images=[IMAGE | {"file_name": "sub/b.jpg"}])
    files = dict.fromkeys(
        ("images/a.jpg", "images/sub/b.jpg", "images/sub/c.jpg", "images/d.jpg", "images/e/f.jpg"), b"x"
    )
    root = write_tree(tmp_path / "s", {"train.json": document(), "val.json": val, **files})
    found = read_source(root)
    assert sorted(row["key"] for row in found.rows if not row["reason"]) == ["images/a.jpg", "images/sub/b.jpg"]
    assert sorted(found.problems) == [("images/d.jpg", "no_label"), ("images/sub/c.jpg", "no_label")]
    assert found.skipped == {"image in images/e/ that no annotation names": 1}
    assert len(read_source(root, without_annotation="ignore").rows) == 2
    assert read_source(root, root=str(root)).skipped == found.skipped


def test_of_a_file_as_source_no_other_folder_is_looked_into(tmp_path):
    root = write_tree(tmp_path / "s", {"train.json": document(), "train/a.jpg": b"x", "val/b.jpg": b"x"})
    found = read_source(root / "train.json")
    assert ([row["key"] for row in found.rows], found.skipped) == (["train/a.jpg"], {})


def test_an_image_of_too_many_annotations_is_rejected_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "MAX_OBJECTS", 3)
    monkeypatch.setattr(records, "MAX_OBJECTS", 3)
    images = [{"id": i, "file_name": f"{i}.jpg"} for i in (1, 2)]
    boxes = [{**BOX, "id": 10 * image + i, "image_id": image} for image, num in ((1, 4), (2, 3)) for i in range(num)]
    found = read(tmp_path, document(images, boxes), ("1.jpg", "2.jpg"))
    by_key = {row["key"]: row for row in found.rows}
    [bad, good] = [row for key, row in sorted(by_key.items()) if key.endswith(".jpg")]
    assert bad["reason"] == "bad_annotation"
    assert "record 1: it has more than 3 objects; split the image" in bad["message"]
    assert len(good["objects"]) == 3
