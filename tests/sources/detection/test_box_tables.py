import csv
import io
import json
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shardkit.errors import CallError, DataError, UnknownNameError
from shardkit.sources.formats.box_tables.columns import is_box_table
from shardkit.sources.formats.box_tables.records import BOX_TABLES
from shardkit.sources.formats.column_names import DISCARDED
from shardkit.sources.recognising.detection.box_tables import holds_boxes
from shardkit.storage import open_folder
from shardkit.testing import listed, opened, read_source, write_tree
from shardkit.testing.refusals import offered

HEADER = "filename,width,height,class,xmin,ymin,xmax,ymax"
ROWS = (
    "a.jpg,80,60,cat,1,2,30,40",
    "b.jpg,80,60,dog,0,0,5.5,6",
    "a.jpg,80,60,dog,5,6,7,8",
)
BOXES = {"a.jpg": [("cat", 2, 1, 40, 30), ("dog", 6, 5, 8, 7)], "b.jpg": [("dog", 0, 0, 6, 5.5)]}


def tree(root, files, images=("a.jpg", "b.jpg")):
    texts = {name: data.encode() if isinstance(data, str) else data for name, data in files.items()}
    return write_tree(root, {**texts, **dict.fromkeys(images, b"x")})


def text(*lines):
    return "\n".join(lines) + "\n"


# TensorFlow's object detection tutorial, and Roboflow's "Tensorflow Object Detection CSV":
# https://roboflow.com/formats/tensorflow-object-detection-csv
def test_rows_of_one_image_are_one_example(tmp_path):
    source = opened(tree(tmp_path / "s", {"boxes.csv": text(HEADER, *ROWS)}) / "boxes.csv")
    found = listed(source)
    assert (source.layout, found.skipped) == ("box table", {})
    assert found.boxes == BOXES
    assert [(row["annotated_width"], row["annotated_height"], row["line"]) for row in found.rows] == [
        (80, 60, 2),
        (80, 60, 3),
    ]
    assert [one["name"] for one in found.rows[0]["objects"]] == ["line 2", "line 4"]
    assert "(in pixels, classes of 'class')" in source.describe()
    assert "layout='table'" in source.describe()


def test_the_order_of_rows_does_not_matter(tmp_path):
    lines = [f"{i % 7}.jpg,9,9,c{i % 3},{i % 5},{i % 4},{i % 5 + 2},{i % 4 + 3}" for i in range(60)]
    images = [f"{i}.jpg" for i in range(7)]
    read = []
    for seed in range(3):
        mixed = random.Random(seed).sample(lines, len(lines))  # noqa: S311 - not for security
        root = tree(tmp_path / str(seed), {"boxes.csv": text(HEADER, *mixed)}, images)
        listing = listed(opened(root / "boxes.csv"), batch_rows=2)
        assert listing.problems == []
        read.append({key: sorted(found) for key, found in listing.boxes.items()})
    assert read[0] == read[1] == read[2]
    assert sum(map(len, read[0].values())) == 60


def test_slices_of_a_large_table_have_every_image_once(tmp_path, monkeypatch):
    lines = [f"{i % 50:02}.jpg,9,9,cat,{i % 5},1,{i % 5 + 2},3" for i in range(500)]
    root = tree(tmp_path / "s", {"boxes.csv": text(HEADER, *lines)}, [f"{i:02}.jpg" for i in range(50)])
    whole = read_source(root / "boxes.csv")
    monkeypatch.setattr(type(BOX_TABLES), "slice_bytes", 2000)
    source = opened(root / "boxes.csv")
    assert len(source.parts()) > 5
    found = listed(source)
    assert found.boxes == whole.boxes
    assert len(found.rows) == 50


def test_an_image_that_rows_write_differently_is_one_example(tmp_path):
    rows = (ROWS[0], ROWS[1], rf".\{ROWS[2]}", "./a.jpg,80,60,dog,5,6,7,9")
    found = read_source(tree(tmp_path / "s", {"boxes.csv": text(HEADER, *rows)}) / "boxes.csv")
    assert found.boxes == BOXES | {"a.jpg": [*BOXES["a.jpg"], ("dog", 6, 5, 9, 7)]}
    assert (found.problems, found.skipped) == ([], {})
    rows = [f"/{place}/{row}" for place, row in zip(("home/me", "home/me", "old"), ROWS, strict=True)]
    found = read_source(tree(tmp_path / "of_computers", {"boxes.csv": text(HEADER, *rows)}))
    assert (found.boxes, found.problems) == (BOXES, [])


def test_an_image_whose_rows_are_all_discarded_is_left_out(tmp_path):
    lines = ("image,label,x1,y1,x2,y2,split", "a.jpg,cat,1,2,3,4,DISCARD", "a.jpg,cat,1,2,3,5,train")
    others = ("b.jpg,cat,1,2,3,5,discard", "b.jpg,cat,1,2,3,5,discard")
    found = read_source(tree(tmp_path / "s", {"boxes.csv": text(*lines, *others)}) / "boxes.csv")
    assert found.boxes == {"a.jpg": [("cat", 2, 1, 5, 3)]}
    assert [row["split"] for row in found.rows] == ["train"]
    assert (found.problems, found.skipped) == ([], {DISCARDED: 3})


def test_slices_of_a_table_of_open_images_count_each_missing_image_once(tmp_path, monkeypatch):
    rows = [f"{i:016x},xclick,/m/0284d,1,0.5,0.75,0.25,1,0,0,1,0,0" for i in range(90)]
    images = [f"train/{i:016x}.jpg" for i in range(0, 100, 2)]
    root = tree(tmp_path / "s", {"train-annotations-bbox.csv": text(OPEN_IMAGES, *rows)}, images)
    monkeypatch.setattr(type(BOX_TABLES), "slice_bytes", 1000)
    source = opened(root)
    assert len(source.parts()) > 5
    found = listed(source)
    assert found.boxes.keys() == {*images[:45]}
    assert found.problems == [(image, "no_label") for image in images[45:]]
    assert found.skipped == {"images of train-annotations-bbox.csv that are not there": 45}


# name: header and rows, and whether boxes are fractions
FORMS = {
    "x1 to y2": (["image,x1,y1,x2,y2,label", "a.jpg,1,2,30,40,cat"], [("cat", 2, 1, 40, 30)]),
    "other names of corners": (["Image_Name,X_Min,Y_Min,X_Max,Y_Max,class_name", "a.jpg,1,2,30,40,cat"], None),
    "semicolons": (["image;left;top;right;bottom;category", "a.jpg;1;2;30;40;cat"], None),
    "width and height of the box": (["patientId,x,y,width,height,Target", "a.jpg,1,2,29,38,1"], [("1", 2, 1, 40, 30)]),
    "make-sense": (["label_name,bbox_x,bbox_y,bbox_width,bbox_height,image_name", "cat,1,2,29,38,a.jpg"], None),
    "make-sense without a header": (["cat,1,2,29,38,a.jpg,80,60"], None),
    "centres": (["image,x_center,y_center,width,height,class", "a.jpg,10,20,4,8,cat"], [("cat", 16, 8, 24, 12)]),
    "no class": (["image,xmin,ymin,xmax,ymax", "a.jpg,1,2,30,40"], [("object", 2, 1, 40, 30)]),
    "a class by number": (["image,class_id,xmin,ymin,xmax,ymax", "a.jpg,7,1,2,30,40"], [("7", 2, 1, 40, 30)]),
    "keras-retinanet": (["a.jpg,1,2,30,40,cat"], None),
    "names without endings": (["image_id,xmin,ymin,xmax,ymax,label", "a,1,2,30,40,cat"], None),
    "paths of another computer": (["image,xmin,ymin,xmax,ymax,label", r"C:\Users\me\set\a.jpg,1,2,30,40,cat"], None),
}


@pytest.mark.parametrize(("lines", "wanted"), FORMS.values(), ids=FORMS.keys())
def test_known_columns_are_found(lines, wanted, tmp_path):
    root = tree(tmp_path / "s", {"boxes.csv": text(*lines)})
    source = opened(root / "boxes.csv")
    found = listed(source)
    assert found.boxes == {"a.jpg": wanted or [("cat", 2, 1, 40, 30)]}
    assert (found.problems, found.skipped) == ([("b.jpg", "no_label")], {})
    assert opened(root).layout == "box table"


# https://cloud.google.com/vision/automl/object-detection/docs/csv-format, whose sample rows these are
AUTOML = text(
    "TRAIN,gs://folder/image1.png,car,0.1,0.1,,,0.3,0.3,,",
    "TRAIN,gs://folder/image1.png,bike,.7,.6,,,.8,.9,,",
    "UNASSIGNED,gs://folder/im2.png,car,0.1,0.1,0.2,0.1,0.2,0.3,0.1,0.3",
    "TEST,gs://folder/im3.png,,,,,,,,,",
)


def test_automl(tmp_path):
    root = tree(tmp_path / "s", {"automl.csv": AUTOML}, ["folder/image1.png", "folder/im2.png", "folder/im3.png"])
    found = read_source(root / "automl.csv")
    assert found.boxes == {
        "folder/im2.png": [("car", 0.1, 0.1, 0.3, 0.2)],
        "folder/im3.png": [],
        "folder/image1.png": [("car", 0.1, 0.1, 0.3, 0.3), ("bike", 0.6, 0.7, 0.9, 0.8)],
    }
    assert [row["split"] for row in found.rows] == [None, "test", "train"]
    assert {(row["annotated_width"], row["annotated_height"]) for row in found.rows} == {(0, 0)}


# https://github.com/fizyr/keras-retinanet#csv-datasets
def test_keras_retinanet_with_an_image_without_boxes(tmp_path):
    lines = ("/data/imgs/img_001.jpg,837,346,981,456,cow", "/data/imgs/img_002.jpg,,,,,")
    root = tree(tmp_path / "s", {"a.csv": text(*lines)}, ["imgs/img_001.jpg", "imgs/img_002.jpg"])
    source = opened(root / "a.csv")
    assert listed(source).boxes == {"imgs/img_001.jpg": [("cow", 346, 837, 456, 981)], "imgs/img_002.jpg": []}
    assert "paths without their first" in source.describe()


# https://storage.googleapis.com/openimages/web/download_v7.html; columns as in its train-annotations-bbox.csv
OPEN_IMAGES = (
    "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside"
)
OPEN_IMAGES_ROWS = (
    "000002b66c9c498e,xclick,/m/01g317,1,0.0125,0.1953125,0.1484375,0.5875,0,1,0,0,0",
    "000002b66c9c498e,xclick,/m/0284d,1,0.5,0.75,0.25,1,-1,0,1,0,0",
    "ffffffffffffffff,xclick,/m/0284d,1,0.5,0.75,0.25,1,0,0,1,0,0",  # not downloaded
)
OPEN_IMAGES_FORMS = {
    "as downloaded": ("train-annotations-bbox.csv", "class-descriptions-boxable.csv", "train"),
    "version 7": ("oidv6-train-annotations-bbox.csv", "oidv7-class-descriptions-boxable.csv", "train"),
    "FiftyOne": ("train/labels/detections.csv", "train/metadata/classes.csv", "train/data"),
}


@pytest.mark.parametrize(("table", "names", "images"), OPEN_IMAGES_FORMS.values(), ids=OPEN_IMAGES_FORMS.keys())
def test_open_images(table, names, images, tmp_path):
    files = {
        table: text(OPEN_IMAGES, *OPEN_IMAGES_ROWS),
        names: text("LabelName,DisplayName", "/m/01g317,Person"),
        "validation-annotations-human-imagelabels-boxable.csv": text(
            "ImageID,Source,LabelName,Confidence", "a,b,/m/0,1"
        ),
    }
    root = tree(tmp_path / "s", files, [f"{images}/000002b66c9c498e.jpg", f"{images}/1111111111111111.jpg"])
    source = opened(root)
    found = listed(source)
    key = f"{images}/000002b66c9c498e.jpg"
    assert found.boxes == {key: [("Person", 0.1484375, 0.0125, 0.5875, 0.1953125), ("/m/0284d", 0.25, 0.5, 1, 0.75)]}
    # The only table may be divided.
    assert [(row["split"], row["source_bytes"]) for row in found.rows] == [(None, 1)] * 2
    first, second = found.rows[0]["objects"]
    assert (first["is_truncated"], first["is_occluded"], second["is_occluded"], second["is_group_of"]) == (1, 0, -1, 1)
    assert found.skipped == {f"images of {table} that are not there": 1}
    assert found.problems == [(f"{images}/1111111111111111.jpg", "no_label")]


# Roboflow: each split folder has its images and _annotations.csv
def test_roboflow(tmp_path):
    files, images = {"README.dataset.txt": "x"}, []
    for split in ("train", "valid", "test"):
        files[f"{split}/_annotations.csv"] = text(HEADER, f"a_jpg.rf.{split}.jpg,80,60,cat,1,2,30,40")
        images.append(f"{split}/a_jpg.rf.{split}.jpg")
    found = read_source(tree(tmp_path / "s", files, images))
    assert {(row["key"], row["split"]) for row in found.rows} == {
        (path, {"valid": "validation"}.get(path.partition("/")[0], path.partition("/")[0])) for path in images
    }
    assert (found.problems, found.skipped) == ([], {})


def test_tables_of_splits_are_read_together_and_the_whole_is_left_out(tmp_path):
    files = {
        "raccoon_labels.csv": text(HEADER, *ROWS),
        "train_labels.csv": text(HEADER, ROWS[0]),
        "test_labels.csv": text(HEADER, ROWS[1]),
        "notes.csv": "who,what\nme,that\n",
    }
    source = opened(tree(tmp_path / "s", files, ["images/a.jpg", "images/b.jpg", "images/c.jpg", "more/d.jpg"]))
    found = listed(source)
    splits = {(row["key"], row["split"]) for row in found.rows}
    assert splits == {("images/a.jpg", "train"), ("images/b.jpg", "test"), ("images/c.jpg", None)}
    assert found.problems == [("images/c.jpg", "no_label")]
    assert source.describe().endswith("left out raccoon_labels.csv")
    assert found.skipped == {"image in more/ that no annotation names": 1}


# name: a row, and the key and reason of the problem
BAD_ROWS = {
    "too few fields": ("a.jpg,80", "boxes.csv, line 3", "bad_line"),
    "no class": ("a.jpg,80,60,,1,2,3,4", "boxes.csv, line 3", "bad_annotation"),
    "a side is missing": ("a.jpg,80,60,cat,1,,3,4", "boxes.csv, line 3", "bad_box"),
    "a side is a word": ("a.jpg,80,60,cat,1,x,3,4", "boxes.csv, line 3", "bad_box"),
    "a side with an underscore": ("a.jpg,80,60,cat,1,1_0,30,40", "boxes.csv, line 3", "bad_box"),
    "infinity": ("a.jpg,80,60,cat,1,inf,3,4", "boxes.csv, line 3", "bad_box"),
    "fractions among pixels": ("a.jpg,80,60,cat,0.1,0.1,0.5,0.5", "boxes.csv, line 3", "bad_box"),
    "no image": (",80,60,cat,1,2,3,4", "boxes.csv, line 3", "bad_path"),
    "a path that leaves": ("../../a.jpg,80,60,cat,1,2,3,4", "boxes.csv, line 3", "bad_path"),
    "another size": ("a.jpg,81,60,cat,1,2,3,4", "a.jpg", "bad_annotation"),
}


@pytest.mark.parametrize(("row", "key", "reason"), BAD_ROWS.values(), ids=BAD_ROWS.keys())
def test_a_bad_row_is_reported_and_the_others_stay(row, key, reason, tmp_path):
    root = tree(tmp_path / "s", {"boxes.csv": text(HEADER, ROWS[0], row, ROWS[1])})
    found = read_source(root / "boxes.csv")
    assert found.problems == [(key, reason)]
    assert "b.jpg" in found.boxes
    assert ("a.jpg" in found.boxes) == (key != "a.jpg")


def test_each_row_whose_path_is_bad_is_reported(tmp_path):
    rows = ["../../a.jpg,80,60,cat,1,2,3,4", "../../a.jpg,80,60,cat,1,2,3,5", ",80,60,cat,1,2,3,4"]
    found = read_source(tree(tmp_path / "s", {"boxes.csv": text(HEADER, *ROWS, *rows)}) / "boxes.csv")
    assert found.problems == [(f"boxes.csv, line {line}", "bad_path") for line in (5, 6, 7)]
    assert found.boxes == BOXES


def test_an_image_in_two_splits_is_rejected(tmp_path):
    lines = (
        "image,label,x1,y1,x2,y2,split",
        "a.jpg,cat,1,2,3,4,train",
        "a.jpg,cat,1,2,3,5,test",
        "b.jpg,cat,1,2,3,5,val",
    )
    found = read_source(tree(tmp_path / "s", {"boxes.csv": text(*lines)}) / "boxes.csv")
    assert found.problems == [("a.jpg", "no_split")]
    assert [row["split"] for row in found.rows if not row["reason"]] == ["validation"]


def test_pixels_among_fractions_are_reported(tmp_path):
    lines = ["image,label,xmin,ymin,xmax,ymax", *["a.jpg,cat,0.1,0.2,0.3,0.4"] * 1000, "b.jpg,cat,1,2,30,40"]
    found = read_source(tree(tmp_path / "s", {"boxes.csv": text(*lines)}) / "boxes.csv")
    assert found.problems == [("boxes.csv, line 1002", "bad_box")]
    assert found.boxes["a.jpg"][0] == ("cat", 0.2, 0.1, 0.4, 0.3)


def test_fractions_with_the_image_size_are_compared_with_it(tmp_path):
    root = tree(tmp_path / "s", {"boxes.csv": text(HEADER, "a.jpg,80,60,cat,0.5,0.5,1,1")})
    found = read_source(root / "boxes.csv")
    assert [(row["annotated_width"], row["annotated_height"]) for row in found.rows if not row["reason"]] == [(80, 60)]
    assert found.boxes == {"a.jpg": [("cat", 30, 40, 60, 80)]}


def test_rows_with_a_class_and_without_a_box_are_counted(tmp_path):
    # VinBigData's "No finding"
    lines = ("image_id,class_name,class_id,x_min,y_min,x_max,y_max", "a,No finding,14,,,,", "b,cat,0,1,2,3,4")
    found = read_source(tree(tmp_path / "s", {"train.csv": text(*lines)}) / "train.csv")
    assert found.boxes == {"a.jpg": [], "b.jpg": [("cat", 2, 1, 4, 3)]}
    assert found.skipped == {"records with a class and without a box": 1}


def test_parquet_has_the_same_boxes(tmp_path):
    records = list(csv.DictReader(io.StringIO(text(HEADER, *ROWS))))
    numbers = {name: pa.array([float(one[name]) for one in records]) for name in HEADER.split(",")[4:]}
    texts = {name: pa.array([one[name] for one in records]) for name in ("filename", "class")}
    root = tree(tmp_path / "s", {})
    pq.write_table(pa.table({**texts, **numbers}), root / "boxes.parquet")
    assert read_source(root / "boxes.parquet").boxes == BOXES


def test_json_lines_have_the_same_boxes(tmp_path):
    records = list(csv.DictReader(io.StringIO(text(HEADER, *ROWS))))
    lines = [
        json.dumps({name: value if name in {"filename", "class"} else float(value) for name, value in one.items()})
        for one in records
    ]
    root = tree(tmp_path / "s", {"boxes.jsonl": text(*lines), "none.jsonl": "[1]\n"})
    assert read_source(root / "boxes.jsonl").boxes == BOXES
    assert not holds_boxes(open_folder(str(root)), "none.jsonl")


def test_columns_may_be_named_by_the_user(tmp_path):
    root = tree(tmp_path / "s", {"boxes.csv": text("picture,kind,xmin,ymin,xmax,ymax", "a.jpg,cat,1,2,30,40")})
    source = opened(root / "boxes.csv", layout="box-table", image_column="picture", label_columns=("kind",))
    assert listed(source).boxes == {"a.jpg": [("cat", 2, 1, 40, 30)]}
    with pytest.raises(UnknownNameError, match="there is no column 'nothing'; its columns are 'picture'"):
        opened(root / "boxes.csv", layout="box-table", image_column="picture", label_columns=("nothing",))


def test_images_that_are_nowhere_are_refused(tmp_path):
    root = tree(tmp_path / "s", {"boxes.csv": text(HEADER, *ROWS)}, [])
    with pytest.raises(DataError, match=r"boxes.csv: none of the images that it names is in .*'a.jpg'.*root"):
        opened(root / "boxes.csv")
    elsewhere = tree(tmp_path / "elsewhere", {}, ["deep/a.jpg", "deep/b.jpg"])
    assert set(read_source(root / "boxes.csv", root=str(elsewhere)).boxes) == {"deep/a.jpg", "deep/b.jpg"}


def test_absolute_paths_are_followed_if_the_table_is_the_source(tmp_path):
    elsewhere = tree(tmp_path / "elsewhere", {}, ["x/a.jpg", "y/b.jpg"])
    lines = [f"{elsewhere}/{place},80,60,cat,1,2,3,4" for place in ("x/a.jpg", "y/b.jpg")]
    root = tree(tmp_path / "other/s", {"boxes.csv": text(HEADER, *lines)}, [])
    source = opened(root / "boxes.csv")
    assert (source.folder.url, set(listed(source).boxes)) == (str(elsewhere), {"x/a.jpg", "y/b.jpg"})
    with pytest.raises(CallError, match="that the images are in with root") as refused:
        opened(root)
    assert offered(refused.value) == [{"layout": "class-folders"}]


def test_the_layout_is_refused_for_other_tables(tmp_path):
    root = tree(tmp_path / "s", {"labels.csv": "image,label\na.jpg,cat\n"})
    with pytest.raises(DataError, match="needs a column of images and the columns xmin"):
        opened(root / "labels.csv", layout="box-table")
    with pytest.raises(DataError, match="there is no table of boxes"):
        opened(root, layout="box-table")


# Kaggle's Global Wheat Detection: x, y, width, height in one column, and no class
WHEAT = (
    "image_id,width,height,bbox,source",
    'a,80,60,"[50.0, 2.0, 29.0, 38.0]",usask_1',
    'b,80,60,"[1 2 30 40]",usask_1',
)


def test_four_numbers_in_one_column(tmp_path):
    source = opened(
        tree(tmp_path / "s", {"train.csv": text(*WHEAT), "sample_submission.csv": "image_id,PredictionString\n"})
    )
    assert listed(source).boxes == {"a.jpg": [("object", 2, 50, 40, 79)], "b.jpg": [("object", 2, 1, 42, 31)]}
    assert "as x, y, width, height, all of the class 'object'" in source.describe()
    corners = (WHEAT[0], 'a,80,60,"[50.0, 2.0, 60, 38.0]",x', "b,80,60,,x", 'b,80,60,"[1, 2]",x')
    found = read_source(tree(tmp_path / "corners", {"train.csv": text(*corners)}))
    assert found.boxes == {"a.jpg": [("object", 2, 50, 38, 60)], "b.jpg": []}
    assert found.problems == [("train.csv, line 4", "bad_box")]
    with pytest.raises(DataError, match="may be xmin, ymin, xmax, ymax or x, y, width, height; write them"):
        opened(tree(tmp_path / "either", {"train.csv": text("image_id,bbox", 'a,"[1, 2, 3, 4]"')}))


NOT_BOXES = (
    ["image", "label"],
    ["Width", "Height", "Roi.X1", "Roi.Y1", "Roi.X2", "Roi.Y2", "ClassId", "Path"],  # GTSRB: one sign an image
    ["image", "x", "y", "label"],
    ["a.jpg", "cat"],
    ["TRAIN", "gs://b/a.jpg", "cat"],
    ["a.jpg", "1", "0", "0", "1", "cat", "dog"],
    [],
)


@pytest.mark.parametrize("names", NOT_BOXES)
def test_other_tables_are_no_tables_of_boxes(names):
    assert not is_box_table(names)
