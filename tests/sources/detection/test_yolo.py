import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.errors import CallError, DataError
from shardkit.refusals import RefusalError, RefusedDataError
from shardkit.sources.formats.yolo import YOLO
from shardkit.sources.recognising.detection.yolo import is_yolo, label_folder
from shardkit.storage import open_folder
from shardkit.testing import listed, opened, read_source, write_tree
from shardkit.testing.refusals import offered

SAMPLES = Path(__file__).parents[3] / "sample_data"
NAMES = "names: [cat, dog]\n"
BOX = b"1 0.5 0.25 0.5 0.125\n"
BOX_PLACED = [0.1875, 0.25, 0.3125, 0.75]


def tree(tmp_path, files, yaml=None):
    files = {path: data.encode() if isinstance(data, str) else data for path, data in files.items()}
    return write_tree(tmp_path / "s", files | ({} if yaml is None else {"data.yaml": yaml.encode()}))


def short(rows):
    """Key, split, and the reason or the number of objects."""
    return [(row["key"], row["split"], row["reason"] or len(row["objects"])) for row in rows]


ROBOFLOW = {
    "train/images/a.jpg": b"x",
    "train/labels/a.txt": BOX,
    "valid/images/b.jpg": b"x",
    "valid/labels/b.txt": BOX,
}
ULTRALYTICS = {
    "images/train/a.jpg": b"x",
    "labels/train/a.txt": BOX,
    "images/val/b.jpg": b"x",
    "labels/val/b.txt": BOX,
}
ROBOFLOW_ROWS = [("train/images/a.jpg", "train", 1), ("valid/images/b.jpg", "validation", 1)]
ULTRALYTICS_ROWS = [("images/train/a.jpg", "train", 1), ("images/val/b.jpg", "validation", 1)]

# name: files, data.yaml (None for none), and (key, split, number of objects)
LAYOUTS = {
    "Roboflow's ../ that leads nowhere": (
        ROBOFLOW,
        NAMES + "train: ../train/images\nval: ../valid/images\n",
        ROBOFLOW_ROWS,
    ),
    "without ../": (ROBOFLOW, NAMES + "train: train/images\nval: valid/images\n", ROBOFLOW_ROWS),
    "folders above images/": (ROBOFLOW, NAMES + "train: train\nval: valid/\n", ROBOFLOW_ROWS),
    "labels/ apart": (ULTRALYTICS, NAMES + "train: images/train\nval: ./images/val\n", ULTRALYTICS_ROWS),
    "path of here": (ULTRALYTICS, NAMES + "path: images\ntrain: train\nval: val\n", ULTRALYTICS_ROWS),
    "path of another machine": (
        ULTRALYTICS,
        NAMES + "path: /home/x/datasets/pets\ntrain: images/train\nval: images/val\n",
        ULTRALYTICS_ROWS,
    ),
    "path relative to another folder": (
        ULTRALYTICS,
        NAMES + "path: ../datasets/pets\ntrain: images/train\nval: images/val\n",
        ULTRALYTICS_ROWS,
    ),
    "folders of another machine": (
        ULTRALYTICS,
        NAMES + "train: /home/x/pets/images/train\nval: C:\\pets\\images\\val\n",
        ULTRALYTICS_ROWS,
    ),
    "a list of folders": (
        ULTRALYTICS,
        NAMES + "train: [images/train, images/val]\nval:\ntest: ~\n",
        [("images/train/a.jpg", "train", 1), ("images/val/b.jpg", "train", 1)],
    ),
    "lists of images": (
        ULTRALYTICS | {"train.txt": "./images/train/a.jpg\n\n", "val.txt": "\ufeffimages/val/b.jpg\r\n"},
        NAMES + "train: train.txt\nval: val.txt\n",
        ULTRALYTICS_ROWS,
    ),
    "lists of another machine": (
        ULTRALYTICS | {"train.txt": "/home/x/pets/images/train/a.jpg\n", "val.txt": "D:\\pets\\images\\val\\b.jpg"},
        NAMES + "train: train.txt\nval: val.txt\n",
        ULTRALYTICS_ROWS,
    ),
    "side by side": (
        {"train/a.jpg": b"x", "train/a.txt": BOX, "val/b.jpg": b"x", "val/b.txt": ""},
        NAMES + "train: train\nval: val\n",
        [("train/a.jpg", "train", 1), ("val/b.jpg", "validation", 0)],
    ),
    "side by side in images/": (
        {"images/a.jpg": b"x", "images/a.txt": BOX},
        NAMES + "train: images\n",
        [("images/a.jpg", "train", 1)],
    ),
    "images/ twice: the last one counts": (
        {"images/x/images/a.jpg": b"x", "images/x/labels/a.txt": BOX, "labels/x/images/a.txt": BOX + BOX},
        NAMES + "train: images/x/images\n",
        [("images/x/images/a.jpg", "train", 1)],
    ),
    "no data.yaml, splits": (ULTRALYTICS | {"classes.txt": "cat\ndog\n"}, None, ULTRALYTICS_ROWS),
    "no data.yaml, no splits": (
        {"images/a.jpg": b"x", "labels/a.txt": BOX, "labels/classes.txt": "cat\ndog"},
        None,
        [("images/a.jpg", None, 1)],
    ),
    "data.yaml without folders of images": (
        {"images/a.jpg": b"x", "labels/a.txt": BOX},
        NAMES,
        [("images/a.jpg", None, 1)],
    ),
    "no data.yaml, other folders": (
        {"images/x/a.jpg": b"x", "labels/x/a.txt": BOX, "obj.names": "cat\r\ndog\r\n"},
        None,
        [("images/x/a.jpg", None, 1)],
    ),
    "no data.yaml, splits above": (ROBOFLOW | {"classes.txt": "cat\ndog\n"}, None, ROBOFLOW_ROWS),
}


@pytest.mark.parametrize(("files", "yaml", "expected"), LAYOUTS.values(), ids=LAYOUTS.keys())
def test_images_and_labels_are_found_where_people_put_them(files, yaml, expected, tmp_path):
    root = tree(tmp_path, files, yaml)
    assert is_yolo(open_folder(str(root)))
    source = opened(root)
    assert short(listed(source).rows) == expected
    assert source.classes == ("cat", "dog")


def test_an_image_is_listed_with_its_boxes_as_shares(tmp_path):
    root = tree(tmp_path, {"images/a.jpg": b"xyz", "labels/a.txt": BOX}, NAMES + "train: images\n")
    (row,) = read_source(root).rows
    assert row["objects"] == [{"bbox": BOX_PLACED, "label_name": "dog", "name": "line 1", "segmentation": ""}]
    assert (row["annotated_width"], row["annotated_height"], row["source_bytes"]) == (0, 0, 3)


# a line, and what is wrong with it (None: it is good)
LINES = [
    (b"0 0.5 0.5 0.1 0.1", None),
    (b"\t0  .5 5e-1 0.1 +0.1\r", None),
    (b"0 1.5 -0.5 3 0", None),  # whether it lies in the image is seen later
    (b"0 0 0 1 0 1 1", None),  # a triangle
    (b"", None),
    (b"   ", None),
    (b"0", "1 field, where a box is 5"),
    (b"0 0.5 0.5 0.1", "4 fields"),
    (b"0 0.5 0.5 0.1 0.1 0.9", "6 fields"),  # a prediction with its confidence
    (b"0 0 0 1 0 1 1 1", "8 fields"),
    (b"2 0.5 0.5 0.1 0.1", "no class 2 among the 2 names"),
    (b"-1 0.5 0.5 0.1 0.1", "class '-1' is not an index"),
    (b"1.0 0.5 0.5 0.1 0.1", None),  # as numpy writes a whole number
    (b"1. 0.5 0.5 0.1 0.1", None),
    (b"1.5 0.5 0.5 0.1 0.1", "class '1.5' is not an index"),
    (b"2.0 0.5 0.5 0.1 0.1", "no class 2 among the 2 names"),
    (b"cat 0.5 0.5 0.1 0.1", "class 'cat' is not an index"),
    (b"99999999999999999999 0.5 0.5 0.1 0.1", "is not an index"),
    (b"0 nan 0.5 0.1 0.1", "'nan' is not a finite number"),
    (b"0 0.5 inf 0.1 0.1", "'inf' is not a finite"),
    (b"0 0.5 1e999 0.1 0.1", "'1e999' is not a finite"),
    (b"0 0.5 1_0 0.1 0.1", "'1_0' is not a finite"),
    (b"0 0,5 0,5 0,1 0,1", "'0,5' is not a finite"),
    ("0 0.5 \u0663 0.1 0.1".encode(), "is not a finite"),  # a digit, but not to YOLO
    (b"0 0.5 \xff 0.1 0.1", "is not a finite"),
    (b"0 0 0 1 0 1 x", "'x' is not a finite"),
]


@pytest.mark.parametrize(("line", "message"), LINES, ids=repr)
def test_a_bad_line_is_reported_and_the_image_stays_with_the_others(line, message, tmp_path):
    data = BOX + line + b"\n" + BOX
    root = tree(tmp_path, {"images/a.jpg": b"x", "labels/a.txt": data}, NAMES + "train: images\n")
    found = read_source(root)
    good = ["line 1", "line 2", "line 3"] if message is None and line.strip() else ["line 1", "line 3"]
    assert [one["name"] for one in found.rows[0]["objects"]] == good
    problems = [(row["key"], row["split"], row["reason"]) for row in found.rows[1:]]
    assert problems == ([("labels/a.txt, line 2", "train", "bad_annotation")] if message else [])
    if message:
        assert message in found.rows[1]["message"]
        assert "the image is kept" in found.rows[1]["message"]


def test_a_polygons_box_is_its_hull_and_its_numbers_are_kept():
    record = YOLO.parse(b"1 0.10 0.5 0.3 .25 1. 0.75 +2 1e-1", {"names": "\ndog"})
    assert record.problems == []
    [found] = record.objects
    assert found["label_name"] == "dog"
    assert found["bbox"] == [0.1, 0.1, 0.75, 2.0]
    assert found["segmentation"] == "[[0.10,0.5,0.3,0.25,1.0,0.75,2.0,0.1]]"


def test_keypoints_behind_the_box_are_no_polygon(tmp_path):
    files = {"images/a.jpg": b"x", "labels/a.txt": b"0 0.5 0.25 0.5 0.125 0.1 0.1\n" + BOX}
    root = tree(tmp_path, files, NAMES + "train: images\nkpt_shape: [1, 2]\n")
    source = opened(root)
    found = listed(source)
    assert found.rows[0]["objects"][0]["bbox"] == BOX_PLACED
    assert found.rows[1]["key"] == "labels/a.txt, line 2"
    assert "keypoints are left out" in source.describe()


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.lists(st.floats(-2, 2), min_size=4, max_size=4))
        | st.tuples(st.integers(0, 3), st.lists(st.tuples(st.floats(-2, 2), st.floats(-2, 2)), min_size=3, max_size=9)),
        max_size=8,
    )
)
def test_objects_come_back_as_they_were_written(objects):
    def flat(values):
        return values if isinstance(values[0], float) else [side for point in values for side in point]

    text = "".join(f"{index} {' '.join(map(repr, flat(values)))}\n" for index, values in objects)
    with tempfile.TemporaryDirectory() as folder:
        files = {"images/a.jpg": b"x", "labels/a.txt": text.encode(), "classes.txt": b"a\nb\nc\nd"}
        (row,) = read_source(write_tree(Path(folder), files)).rows
    assert len(row["objects"]) == len(objects)
    for one, (index, values) in zip(row["objects"], objects, strict=True):
        assert one["label_name"] == "abcd"[index]
        if isinstance(values[0], float):
            ymin, xmin, ymax, xmax = one["bbox"]
            centre_and_size = [(xmin + xmax) / 2, (ymin + ymax) / 2, xmax - xmin, ymax - ymin]
            assert centre_and_size == pytest.approx(values, abs=1e-12)
        else:
            assert json.loads(one["segmentation"]) == [flat(values)]
            across, down = zip(*values, strict=True)
            assert one["bbox"] == [min(down), min(across), max(down), max(across)]


def test_labels_without_an_image_are_reported_and_class_files_are_not(tmp_path):
    files = {
        "images/x/a.jpg": b"x",
        "labels/x/lost.txt": BOX,
        "labels/classes.txt": "cat\ndog",
        "labels/README.txt": "x",
    }
    found = read_source(tree(tmp_path, files | {"images/x/notes.md": b"x"}))
    assert short(found.rows) == [("images/x/a.jpg", None, "no_label"), ("labels/x/lost.txt", None, "missing")]
    assert found.skipped == {".md": 1}


@pytest.mark.parametrize(
    ("files", "globs"),
    [
        ({"labels/classes.txt": "dog\ncat\n"}, ["data.yaml", "classes.txt"]),
        ({"labels/classes.txt": "dog\ncat\n", "classes.txt": "cat\ndog\n"}, ["/classes.txt", "/labels/classes.txt"]),
    ],
    ids=["other names of files", "the same name"],
)
def test_files_that_name_other_classes_are_refused_with_each_alone(files, globs, tmp_path):
    root = tree(
        tmp_path,
        {"images/a.jpg": b"x", "labels/a.txt": BOX} | files,
        None if "classes.txt" in files else NAMES,
    )
    with pytest.raises(RefusedDataError, match="name different classes; make them agree") as raised:
        opened(root)
    assert [change.options for change in raised.value.refusal.changes] == [{"ignore": (glob,)} for glob in globs]
    found = [read_source(root, ignore=(glob,)).rows[0]["objects"][0]["label_name"] for glob in reversed(globs)]
    assert len({*found}) == 2


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("images/lost.jpg", "missing"),
        ("../images/a.jpg", "missing"),
        ("images/../../secret.jpg", "missing"),
        ("images/a.jpg/b.jpg", "missing"),
        ("images", "missing"),
        ("https://somewhere/a.jpg", "missing"),
    ],
)
def test_a_line_of_a_list_that_leads_to_no_image_is_reported(line, reason, tmp_path):
    files = {"images/a.jpg": b"x", "labels/a.txt": BOX, "list.txt": f"images/a.jpg\n{line}\n"}
    write_tree(tmp_path, {"secret.jpg": b"x", "secret.txt": BOX})
    found = read_source(tree(tmp_path, files, NAMES + "train: list.txt\n"))
    assert sorted(short(found.rows)) == [("images/a.jpg", "train", 1), ("list.txt, line 2", "train", reason)]


@pytest.mark.parametrize(
    ("names", "classes"),
    [
        ("names: [no, yes, 1.0, ~]", ("no", "yes", "1.0", "~")),  # names, not truth values and numbers
        ("names: {1: dog, 0: cat}", ("cat", "dog")),
        ("names:\n  3: dog\n  10: cat", ("dog", "cat")),  # by number, not by text
        ("names: !!python/object/apply:os.system [exit]", ("exit",)),  # nothing is run
    ],
)
def test_names_are_text_in_the_order_of_their_indexes(names, classes, tmp_path):
    root = tree(tmp_path, {"images/a.jpg": b"x", "labels/a.txt": BOX}, f"{names}\ntrain: images\n")
    assert opened(root).classes == classes


BAD_YAMLS = {
    "no YAML": (NAMES + "train: [images", r"data.yaml, line 2: this is not YAML"),
    "no mapping": ("- names:\n- train:", "mapping with `names` and `train`"),
    "no names": ("train: images", "`names` must be a list"),
    "names with holes": ("names: [cat, [dog]]\ntrain: images", "`names` must be a list"),
    "names without numbers": ("names: {cat: 0}\ntrain: images", "`names` must be a list"),
    "one name twice": ("names: [cat, dog, cat]\ntrain: images", "two classes are called 'cat'"),
    "no images": (NAMES + "val:\n", "`train`, `val` and `test` are missing"),
    "no such images": (NAMES + "train: pictures\nval: images", "images 'pictures' of train are not in .*root"),
    "outside": (NAMES + "train: ../../etc\n", r"images '../../etc' of train are not in"),
    "nested without end": (NAMES + "train: " + "[" * 5000, "nested too deeply"),
}


@pytest.mark.parametrize(("yaml", "message"), BAD_YAMLS.values(), ids=BAD_YAMLS.keys())
def test_a_bad_yaml_is_refused_with_what_is_expected(yaml, message, tmp_path):
    root = tree(tmp_path, {"images/a.jpg": b"x"}, yaml)
    with pytest.raises(DataError, match=message):
        opened(root / "data.yaml")


def test_entries_that_are_not_there_and_folders_named_twice_are_told(tmp_path):
    files = {"images/a.jpg": b"x", "labels/a.txt": BOX}
    root = tree(tmp_path, files, NAMES + "train: images\nval: images\ntest: test/images\n")
    source = opened(root)
    assert short(listed(source).rows) == [("images/a.jpg", "train", 1)]  # not in two splits
    assert source.describe() == (
        f"{root}: read as YOLO: boxes from labels/**/*.txt with the images in images/ as train, classes of data.yaml"
        "; note: validation is the same images as train, and left out; note: test/images of test is not there"
    )


def test_root_tells_where_entries_start(tmp_path):
    root = tree(tmp_path, {"x.txt": b""}, NAMES + "train: images\n")
    elsewhere = write_tree(tmp_path / "elsewhere", {"images/a.jpg": b"x", "labels/a.txt": BOX})
    source = opened(root, root=str(elsewhere))
    assert source.folder.url == str(elsewhere)
    assert short(listed(source).rows) == [("images/a.jpg", "train", 1)]


def test_without_names_the_user_gives_them_or_asks_for_numbers(tmp_path):
    root = tree(tmp_path, {"images/a.jpg": b"x", "labels/a.txt": BOX + BOX.replace(b"1", b"11", 1)})
    with pytest.raises(RefusalError, match="there are no names of YOLO") as refused:
        opened(root)
    assert offered(refused.value) == [{"layout": "yolo"}]
    source = opened(root, layout="yolo")
    assert source.describe().endswith("classes called by their numbers")
    assert [one["label_name"] for one in listed(source).rows[0]["objects"]] == ["1", "11"]
    named = listed(opened(root, classes=("cat", "dog")))
    assert [one["label_name"] for one in named.rows[0]["objects"]] == ["dog"]
    assert "there is no class 11 among the 2 names" in named.rows[1]["message"]


@pytest.mark.parametrize(
    "files",
    [
        {"cat/1.jpg": b"x"},
        {"data.yaml": "name: x\n"},
        {"images/a.jpg": b"x", "labels/a.png": b"x"},  # masks
        {"images/a.jpg": b"x", "labels/": b""},
        {"train/images/a.jpg": b"x", "train/cat/a.jpg": b"x"},
    ],
)
def test_what_is_not_yolo_is_not_taken_for_it(files, tmp_path):
    assert not is_yolo(open_folder(str(tree(tmp_path, files))))


@pytest.mark.parametrize(
    ("images", "labels"),
    [
        ("images", "labels"),
        ("a/images/b", "a/labels/b"),
        ("images/images", "images/labels"),
        ("a/myimages", "a/myimages"),
    ],
)
def test_the_last_folder_called_images_becomes_labels(images, labels):
    assert label_folder(images) == labels


def test_a_link_that_leads_back_up_adds_nothing(tmp_path):
    root = tree(tmp_path, {"images/a.jpg": b"x", "labels/a.txt": BOX}, NAMES + "train: images\n")
    (root / "images/loop").symlink_to("..")
    assert short(read_source(root).rows) == [("images/a.jpg", "train", 1)]


def test_the_sample_gives_its_images_and_its_problem():
    found = read_source(SAMPLES / "yolo")
    assert [row for row in short(found.rows) if row[2] == "bad_annotation"] == [
        ("train/labels/train_00.txt, line 3", "train", "bad_annotation")
    ]
    good = [row for row in found.rows if not row["reason"]]
    assert len(good) == 24
    assert any(not row["objects"] for row in good)
    assert all(0 <= side <= 1 for row in good for one in row["objects"] for side in one["bbox"])
    assert any(one["segmentation"] for row in good for one in row["objects"])


@pytest.mark.parametrize(
    ("yaml", "why"),
    [
        (NAMES + "train: images/train\nval: images/val\n", "that no annotation names"),
        (NAMES + "train: train.txt\nval: images/val\n", "that no annotation names"),
        (None, None),  # images/test is read like the others
    ],
    ids=["folders", "a list", "no data.yaml"],
)
def test_images_that_nothing_names_are_counted_by_folder(yaml, why, tmp_path):
    more = {"images/test/c.jpg": b"x", "images/test/d.jpg": b"x", "labels/test/c.txt": BOX, "classes.txt": "cat\ndog\n"}
    root = tree(tmp_path, ULTRALYTICS | more | {"train.txt": "images/train/a.jpg\n"}, yaml)
    found = read_source(root)
    assert len(found.rows) == (2 if why else 4)
    assert found.skipped == ({f"images in images/test/ {why}": 2} if why else {})


def test_images_beside_those_of_a_list_are_counted_unless_another_list_names_them(tmp_path):
    files = {f"images/{name}.jpg": b"x" for name in "abc"} | {"labels/a.txt": BOX}
    files |= {"train.txt": "images/a.jpg\n", "val.txt": "images/b.jpg\n"}
    found = read_source(tree(tmp_path, files, NAMES + "train: train.txt\nval: val.txt\n"))
    assert found.skipped == {"images that no list of splits names": 1}


@pytest.mark.parametrize("yaml", [NAMES + "train: images\n", NAMES + "train: list.txt\n"])
def test_images_without_any_label_file_are_refused_with_the_places_looked_at(yaml, tmp_path):
    files = {"images/a.jpg": b"x", "labels/classes.txt": "cat\n", "list.txt": "images/a.jpg"}
    with pytest.raises(DataError, match=r"no label file of YOLO; .*/s/labels/(\*\*/)?\*\.txt"):
        opened(tree(tmp_path, files, yaml), layout="yolo")


def test_label_files_may_end_in_upper_case(tmp_path):
    files = {"images/a.JPG": b"x", "labels/a.TXT": BOX, "labels/b.TXT": BOX}
    root = tree(tmp_path, files | {"classes.txt": "cat\ndog\n"})
    assert is_yolo(open_folder(str(root)))
    assert short(read_source(root).rows) == [("images/a.JPG", None, 1), ("labels/b.TXT", None, "missing")]


def test_aliases_do_not_write_out_what_they_stand_for(tmp_path):
    levels = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 40)]  # 9 ** 39 texts
    yaml = "a0: &a0 [x, x]\n" + "".join(levels) + NAMES + "train: images\nkpt_shape: *a39\n"
    with pytest.raises(DataError, match=r"`kpt_shape` must be two numbers, .*; found a list of 9"):
        opened(tree(tmp_path, {"images/a.jpg": b"x"}, yaml))


@pytest.mark.parametrize("is_absolute", [True, False])
def test_a_path_out_of_the_folder_of_the_yaml_is_followed_by_root_alone(is_absolute, tmp_path):
    elsewhere = write_tree(tmp_path / "else where", ULTRALYTICS)
    base = elsewhere if is_absolute else "../else where"
    yaml = f"{NAMES}path: {base}\ntrain: images/train\nval: images/val\n"
    root = write_tree(tmp_path / "s", {"pets.yaml": yaml.encode()})
    with pytest.raises(DataError, match=f"add root='{elsewhere}'"):
        opened(root / "pets.yaml")
    assert short(read_source(root / "pets.yaml", root=str(elsewhere)).rows) == ULTRALYTICS_ROWS


DARKNET = {
    "obj.data": "classes = 2\ntrain = data/train.txt\nvalid = data/valid.txt\nnames = data/obj.names\nbackup = x/\n",
    "obj.names": "cat\ndog\n",
    "train.txt": "data/obj_train_data/a.jpg\n",
    "valid.txt": "data/obj_valid_data/b.jpg\n",
    "obj_train_data/a.jpg": b"x",
    "obj_train_data/a.txt": BOX,
    "obj_valid_data/b.jpg": b"x",
    "obj_valid_data/b.txt": BOX,
    "obj_valid_data/c.jpg": b"x",
}


def test_lists_and_names_of_darknet_are_read(tmp_path):
    root = tree(tmp_path, DARKNET)
    assert is_yolo(open_folder(str(root)))
    source = opened(root)
    found = listed(source)
    assert short(found.rows) == [("obj_train_data/a.jpg", "train", 1), ("obj_valid_data/b.jpg", "validation", 1)]
    assert [row["objects"][0]["label_name"] for row in found.rows] == ["dog", "dog"]
    assert source.classes == ("cat", "dog")
    assert found.skipped == {"images that no list of splits names": 1}


@pytest.mark.parametrize(("lost", "what"), [("obj.names", "file of `names`"), ("train.txt", "list of images")])
def test_a_file_that_darknet_names_and_that_is_not_there_is_named(lost, what, tmp_path):
    files = {path: data for path, data in DARKNET.items() if path not in {lost, "valid.txt"}}
    with pytest.raises(DataError, match=f"obj.data: its {what} is not in"):
        opened(tree(tmp_path, files))


def test_root_without_a_yaml_is_refused(tmp_path):
    with pytest.raises(CallError, match=r"root .* data.yaml; .* has none"):
        opened(tree(tmp_path, ULTRALYTICS | {"classes.txt": "cat\ndog\n"}), root=str(tmp_path))


LINE = b"0 .5 .5 .1 .1\n"


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (LINE * 1_000_000, "1,000,000 lines"),
        (b"\n" * 50_001, "50,001 lines"),
        (b"0 " + b"0.5 " * (5 << 20), "20,971,522 bytes"),
    ],
    ids=["lines", "empty lines", "bytes"],
)
def test_a_label_file_that_is_too_large_rejects_its_image_by_name(data, found, tmp_path):
    files = {
        "images/1.png": b"",
        "images/2.png": b"",
        "labels/1.txt": data,
        "labels/2.txt": LINE,
        "classes.txt": b"cat",
    }
    listed_rows = read_source(write_tree(tmp_path, files)).rows
    rows = {row["key"]: row for row in listed_rows}
    assert list(rows) == ["images/1.png", "images/2.png"]
    assert rows["images/1.png"]["reason"] == "bad_annotation"
    assert rows["images/1.png"]["message"].startswith("labels/1.txt: it has ")
    assert found in rows["images/1.png"]["message"]
    assert len(rows["images/2.png"]["objects"]) == 1


def test_a_line_that_is_too_long_is_reported_alone():
    record = YOLO.parse(LINE + b"0 " + b"0.5 " * (1 << 18) + b"\n" + LINE, {"names": "cat"})
    [problem] = record.problems
    assert (len(record.objects), problem.key) == (2, "line 2")
    assert "1,048,577 bytes" in problem.message


def test_images_of_one_stem_do_not_share_a_label_file(tmp_path):
    # Nobody knows to which of the two the boxes belong.
    files = {
        "images/a.jpg": b"x",
        "images/a.png": b"x",
        "images/b.jpg": b"x",
        "images/c.bmp": b"x",
        "images/c.jpg": b"x",
    }
    files |= {"labels/a.txt": BOX, "labels/b.txt": BOX, "classes.txt": "cat\ndog\n"}
    rows = sorted(listed(opened(tree(tmp_path, files))).rows, key=lambda row: row["key"])
    assert short(rows) == [
        ("images/a.jpg", None, "no_label"),
        ("images/a.png", None, "no_label"),
        ("images/b.jpg", None, 1),
        ("images/c.bmp", None, "no_label"),
        ("images/c.jpg", None, "no_label"),
    ]
    assert rows[0]["message"].startswith("labels/a.txt may belong to 'a.jpg' or 'a.png', which differ")
