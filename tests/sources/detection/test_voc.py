import re
import tempfile
from pathlib import Path
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.errors import DataError
from shardkit.sources.recognising.detection.of_one_image import has_voc_files, is_voc
from shardkit.storage import open_folder
from shardkit.testing import listed, opened, read_source, write_tree

SAMPLES = Path(__file__).parents[3] / "sample_data"


def obj(name="cat", box=(1, 2, 3, 4), **more):
    """An <object>; box is xmin, ymin, xmax, ymax, a side None left out."""
    sides = zip(("xmin", "ymin", "xmax", "ymax"), box, strict=True)
    bndbox = "".join(f"<{side}>{value}</{side}>" for side, value in sides if value is not None)
    rest = "".join(f"<{tag}>{text}</{tag}>" for tag, text in more.items())
    return f"<object><name>{escape(name)}</name>{rest}<bndbox>{bndbox}</bndbox></object>"


def xml(*objects, filename="x.jpg", size=(100, 50)):
    dimensions = f"<size><width>{size[0]}</width><height>{size[1]}</height></size>" if size else ""
    return f"<annotation><filename>{filename}</filename>{dimensions}{''.join(objects)}</annotation>".encode()


def read(tmp_path, files):
    return read_source(write_tree(tmp_path / "s", files), layout="voc").rows


def short(rows):
    return [(row["key"], row["split"], row["reason"]) for row in rows]


def test_an_image_is_listed_with_its_objects_and_size(tmp_path):
    data = xml(obj("cat", (1, 2, 30.5, 40), difficult=1, truncated=0, pose="Left"), obj(" a & b ", difficult=0))
    (row,) = read(tmp_path, {"Annotations/a.xml": data, "JPEGImages/a.jpg": b"xyz"})
    assert (row["key"], row["split"], row["reason"], row["source_bytes"]) == ("JPEGImages/a.jpg", None, None, 3)
    assert (row["annotated_width"], row["annotated_height"]) == (100, 50)
    flags = {"is_truncated": False, "is_difficult": True, "pose": "Left"}
    # As TFDS reads them: the numbers of the file, not one less.
    assert row["objects"][0] == {"bbox": [2, 1, 40, 30.5], "label_name": "cat", "name": "object 1", **flags}
    flags = {"is_truncated": False, "is_difficult": False, "pose": ""}
    assert row["objects"][1] == {"bbox": [2, 1, 4, 3], "label_name": "a & b", "name": "object 2", **flags}


BOMB = b"""<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "aaaaaaaaaa">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><annotation><filename>&b;</filename></annotation>"""
OUTSIDE = b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><annotation><filename>&x;</filename></annotation>'

# name: the XML file, and what the message says
BAD_FILES = {
    "entities in entities": (BOMB, "declares a document type or entities"),
    "an entity of another file": (OUTSIDE, "declares a document type or entities"),
    "a document type of another place": (b'<!DOCTYPE a SYSTEM "http://x/"><annotation/>', "declares a document type"),
    "cut off": (xml(obj())[:-20], "not XML: .*line 1, column"),
    "empty": (b"", "not XML: no element found"),
    "not UTF-8": (b"<annotation><filename>caf\xe9</filename></annotation>", "not XML: not well-formed"),
    "an unknown encoding": (b'<?xml version="1.0" encoding="klingon"?><annotation/>', "klingon|encoding"),
    "many bytes a letter": (b'<?xml version="1.0" encoding="shift_jis"?><annotation/>', "encoding"),
    "a picture": (b"\xff\xd8\xff\xe0\0\0", "not XML"),
    "another format": (b"<html/>", "outermost element is <html>"),
    "too large": (b"<annotation>" + b" " * (17 << 20) + b"</annotation>", "more than 16,777,216"),
}


@pytest.mark.parametrize(("data", "message"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_bad_file_rejects_its_image_only(data, message, tmp_path):
    files = {"Annotations/a.xml": data, "Annotations/b.xml": xml(obj())}
    rows = read(tmp_path, files | {"JPEGImages/a.jpg": b"x", "JPEGImages/b.jpg": b"x"})
    assert short(rows) == [("JPEGImages/a.jpg", None, "bad_annotation"), ("JPEGImages/b.jpg", None, None)]
    assert re.search(rf"^Annotations/a.xml: .*({message})", rows[0]["message"])


def test_deep_nesting_does_no_harm(tmp_path):
    deep = b"<annotation>" + b"<a>" * 100_000 + b"</a>" * 100_000 + b"</annotation>"
    rows = read(tmp_path, {"Annotations/a.xml": deep, "JPEGImages/a.jpg": b"x"})
    assert [row["key"] for row in rows] == ["JPEGImages/a.jpg"]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (obj(box=(1, 2, None, 4)), "bad_box"),
        (obj(box=(1, 2, "", 4)), "bad_box"),
        (obj(box=(1, "nan", 3, 4)), "bad_box"),
        (obj(box=(1, 2, "inf", 4)), "bad_box"),
        (obj(box=(1, 2, "1e999", 4)), "bad_box"),
        (obj(box=("left", 2, 3, 4)), "bad_box"),
        ("<object><name>cat</name></object>", "bad_box"),
        (obj(name=""), "bad_annotation"),
        (obj(name="  "), "bad_annotation"),
        ("<object><bndbox/></object>", "bad_annotation"),
    ],
)
def test_a_bad_object_is_reported_and_its_image_stays(bad, reason, tmp_path):
    rows = read(tmp_path, {"Annotations/a.xml": xml(obj(), bad, obj()), "JPEGImages/a.jpg": b"x"})
    assert short(rows) == [("Annotations/a.xml, object 2", None, reason), ("JPEGImages/a.jpg", None, None)]
    assert [one["name"] for one in rows[1]["objects"]] == ["object 1", "object 3"]


@pytest.mark.parametrize("size", [None, (0, 0), (100, 0), ("wide", 3), ("nan", 3), (-1, 3)])
def test_a_size_that_is_none_is_left_to_the_image(size, tmp_path):
    (row,) = read(tmp_path, {"Annotations/a.xml": xml(obj(), size=size), "JPEGImages/a.jpg": b"x"})
    assert (row["annotated_width"], row["annotated_height"], row["reason"]) == (None, None, None)


# name: files, and (key, split, reason)
PAIRS = {
    "any ending": (
        {"Annotations/a.xml": xml(), "JPEGImages/a.PNG": b"x"},
        [("JPEGImages/a.PNG", None, None)],
    ),
    "a wrong <filename> does not matter": (
        {
            "Annotations/a.xml": xml(filename="b.jpg"),
            "JPEGImages/a.jpg": b"x",
            "Annotations/b.xml": xml(),
            "JPEGImages/b.jpg": b"",
        },
        [("JPEGImages/a.jpg", None, None), ("JPEGImages/b.jpg", None, None)],
    ),
    "where the stem finds nothing, <filename> does": (
        {"Annotations/1.xml": xml(filename="D:\\pictures\\b.jpg"), "JPEGImages/b.jpg": b"x"},
        [("JPEGImages/b.jpg", None, None)],
    ),
    "but not the image of another file": (
        {"Annotations/1.xml": xml(filename="b.jpg"), "Annotations/b.xml": xml(), "JPEGImages/b.jpg": b"x"},
        [("Annotations/1.xml", None, "missing"), ("JPEGImages/b.jpg", None, None)],
    ),
    "nor one image twice": (
        {
            "Annotations/1.xml": xml(filename="b.jpg"),
            "Annotations/2.xml": xml(filename="b.jpg"),
            "JPEGImages/b.jpg": b"x",
        },
        [("Annotations/2.xml", None, "missing"), ("JPEGImages/b.jpg", None, None)],
    ),
    "a <filename> that climbs out": (
        {"Annotations/1.xml": xml(filename="../secret.jpg"), "secret.jpg": b"x", "JPEGImages/": b""},
        [("Annotations/1.xml", None, "missing")],
    ),
    "two images of one stem": (
        {"Annotations/a.xml": xml(filename="a.png"), "JPEGImages/a.jpg": b"x", "JPEGImages/a.png": b"x"},
        [("JPEGImages/a.jpg", None, "no_label"), ("JPEGImages/a.png", None, None)],
    ),
    "an image without a file": (
        {"Annotations/a.xml": xml(), "JPEGImages/a.jpg": b"x", "JPEGImages/b.jpg": b"x"},
        [("JPEGImages/a.jpg", None, None), ("JPEGImages/b.jpg", None, "no_label")],
    ),
    "images/ as others call it": (
        {"annotations/a.xml": xml(), "images/a.jpg": b"x"},
        [("images/a.jpg", None, None)],
    ),
    "split folders, side by side": (
        {"train/a.xml": xml(), "train/a.jpg": b"x", "valid/b.xml": xml(), "valid/b.jpg": b"x"},
        [("train/a.jpg", "train", None), ("valid/b.jpg", "validation", None)],
    ),
    "split folders with VOC's own in them": (
        {"train/Annotations/a.xml": xml(), "train/JPEGImages/a.jpg": b"x"},
        [("train/JPEGImages/a.jpg", "train", None)],
    ),
    "side by side": (
        {"a.xml": xml(), "a.jpg": b"x"},
        [("a.jpg", None, None)],
    ),
    "several years": (
        {
            f"VOCdevkit/VOC{year}/{path}": xml()
            for year in (2007, 2012)
            for path in ("Annotations/a.xml", "JPEGImages/a.jpg")
        },
        [("VOCdevkit/VOC2007/JPEGImages/a.jpg", None, None), ("VOCdevkit/VOC2012/JPEGImages/a.jpg", None, None)],
    ),
    "the devkit itself": (
        {"VOC2012/Annotations/a.xml": xml(), "VOC2012/JPEGImages/a.jpg": b"x", "results/x.txt": b""},
        [("VOC2012/JPEGImages/a.jpg", None, None)],
    ),
}


@pytest.mark.parametrize(("files", "expected"), PAIRS.values(), ids=PAIRS.keys())
def test_files_and_images_are_paired(files, expected, tmp_path):
    root = write_tree(tmp_path / "s", files)
    assert is_voc(open_folder(str(root)))
    assert short(read_source(root).rows) == expected


FIVE = {
    f"{folder}/{name}.{kind}": xml()
    for name in "abcde"
    for folder, kind in [("Annotations", "xml"), ("JPEGImages", "jpg")]
}


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        (
            {"train": "a\nb\n", "val": "c\r\nd", "trainval": "a\nb\nc\nd\ne"},
            ["train", "train", "validation", "validation", "left out"],
        ),
        ({"trainval": "a\nb\n", "test": "c\nd\ne\n"}, ["train", "train", "test", "test", "test"]),
        ({"cat_train": "a 1\nb -1\n"}, None),  # lists of one class make no splits
    ],
)
def test_splits_are_those_of_the_image_sets(lists, expected, tmp_path):
    files = FIVE | {f"ImageSets/Main/{name}.txt": text.encode() for name, text in lists.items()}
    root = write_tree(tmp_path / "s", files)
    found = read_source(root)
    splits = expected or [None] * 5
    assert {row["key"]: row["split"] for row in found.rows} == {
        f"JPEGImages/{name}.jpg": split for name, split in zip("abcde", splits, strict=True) if split != "left out"
    }
    assert not any(row["reason"] for row in found.rows)
    assert found.skipped == ({"images that no list of splits names": 1} if "left out" in splits else {})


def test_an_image_in_two_lists_stops(tmp_path):
    lists = {"ImageSets/Main/train.txt": b"a\nb", "ImageSets/Main/val.txt": b"b\nc"}
    with pytest.raises(DataError, match=r"'b' is in ImageSets/Main/train\.txt, too \(line 2\); leave it in one"):
        read(tmp_path, FIVE | lists)


def test_a_name_in_a_list_without_any_file_is_reported_by_its_line(tmp_path):
    rows = read(tmp_path, FIVE | {"ImageSets/Main/train.txt": b"a\nb\nc\n\nd\ne\nf\n"})
    assert [row for row in short(rows) if row[2]] == [("ImageSets/Main/train.txt, line 7", "train", "missing")]


def test_other_files_are_skipped_and_counted(tmp_path):
    root = write_tree(
        tmp_path / "s", FIVE | {"JPEGImages/notes.TXT": b"x", "Annotations/x.json": b"x", "Annotations/.y": b"x"}
    )
    assert read_source(root).skipped == {".txt": 1, ".json": 1}


def test_it_is_said_what_was_read(tmp_path):
    root = write_tree(tmp_path / "s", FIVE | {"ImageSets/Main/train.txt": b"a"})
    wanted = "read as Pascal VOC: boxes from Annotations/*.xml with the images in JPEGImages/"
    wanted += "; split from ImageSets/Main/train.txt=train"
    assert opened(root).describe() == f"{root}: {wanted}"


@pytest.mark.parametrize(
    "files",
    [
        {"cat/1.jpg": b"x"},
        {"annotations/a.json": b"{}", "images/a.jpg": b"x"},
        {"train/a.jpg": b"x"},
        {"a.xml": b"<html/>"},
    ],
)
def test_what_is_not_voc_is_not_taken_for_it(files, tmp_path):
    assert not is_voc(open_folder(str(write_tree(tmp_path / "s", files))))


@pytest.mark.parametrize(
    ("objects", "are_boxes"),
    [
        ([obj("person", action="riding"), obj("person", action="running")], False),
        ([obj("person", action="riding"), obj("person", action="riding")], True),
        ([obj("person", action="riding"), obj("dog", action="running")], True),
        ([obj("person", pose="Left"), obj("person", pose="Right")], True),
    ],
)
def test_objects_of_one_class_that_differ_in_another_word_are_not_read_as_boxes_unasked(objects, are_boxes, tmp_path):
    files = {f"{i}.jpg": b"x" for i in range(2)} | {f"xmls/{i}.xml": xml(one) for i, one in enumerate(objects)}
    assert has_voc_files(open_folder(str(write_tree(tmp_path / "s", files)))) == are_boxes


def test_a_source_without_annotations_is_refused_with_what_is_expected(tmp_path):
    with pytest.raises(DataError, match=r"no Pascal VOC annotations; .*Annotations/\*.xml with JPEGImages/"):
        opened(write_tree(tmp_path / "s", {"cat/1.jpg": b"x"}), layout="voc")


NAMES = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8)
BOXES = st.lists(st.integers(0, 2000) | st.floats(-1e4, 1e4), min_size=4, max_size=4)


@given(
    st.lists(st.tuples(NAMES, BOXES, st.booleans(), st.booleans()), max_size=5),
    st.integers(1, 5000),
    st.integers(1, 5000),
)
def test_boxes_come_back_as_they_were_written(objects, width, height):
    root = ET.Element("annotation")
    size = ET.SubElement(root, "size")
    ET.SubElement(size, "width").text, ET.SubElement(size, "height").text = str(width), str(height)
    for name, box, truncated, difficult in objects:
        one = ET.SubElement(root, "object")
        ET.SubElement(one, "name").text = name
        ET.SubElement(one, "truncated").text, ET.SubElement(one, "difficult").text = str(+truncated), str(+difficult)
        bndbox = ET.SubElement(one, "bndbox")
        for side, value in zip(("ymin", "xmin", "ymax", "xmax"), box, strict=True):
            ET.SubElement(bndbox, side).text = repr(value)
    with tempfile.TemporaryDirectory() as folder:
        write_tree(Path(folder), {"Annotations/a.xml": ET.tostring(root), "JPEGImages/a.jpg": b"x"})
        (row,) = read_source(folder).rows
    found = [(one["label_name"], one["bbox"], one["is_truncated"], one["is_difficult"]) for one in row["objects"]]
    assert found == objects
    assert (row["annotated_width"], row["annotated_height"]) == (width, height)


def test_the_sample_gives_its_images_and_its_problem():
    found = read_source(SAMPLES / "voc")
    bad = [row for row in short(found.rows) if row[2]]
    assert bad == [("VOCdevkit/VOC2012/Annotations/lost.xml", "train", "missing")]
    splits = [row["split"] for row in found.rows if not row["reason"]]
    assert {split: splits.count(split) for split in set(splits)} == {"train": 16, "validation": 6, "test": 2}
    for row in found.rows:
        if not row["reason"]:
            stem = Path(row["key"]).stem
            tree = ET.parse(SAMPLES / f"voc/VOCdevkit/VOC2012/Annotations/{stem}.xml")  # noqa: S314 - our own
            boxes = [
                [float(one.find(f"bndbox/{s}").text) for s in ("ymin", "xmin", "ymax", "xmax")]
                for one in tree.iter("object")
            ]
            assert [one["bbox"] for one in row["objects"]] == boxes


def test_a_name_that_is_not_utf_8_is_rejected(tmp_path):
    import os

    root = write_tree(tmp_path / "s", FIVE)
    for path in (b"Annotations/caf\xe9.xml", b"JPEGImages/caf\xe9.jpg", b"Annotations/lone\xe9.xml"):
        with open(os.path.join(os.fsencode(root), path), "wb") as file:
            file.write(xml())
    found = read_source(root)
    assert [(row["key"], row["reason"]) for row in found.rows if row["reason"]] == [
        ("Annotations/lone\\xe9.xml", "missing"),
        ("JPEGImages/caf\\xe9.jpg", "bad_name"),
    ]


def test_folders_in_both_annotations_and_images_are_read_and_named_splits_are_splits(tmp_path):
    files = {"Annotations/1.xml": xml(), "JPEGImages/1.jpg": b"x"}
    files |= {"Annotations/a/2.xml": xml(), "JPEGImages/a/2.jpg": b"x", "JPEGImages/a/3.jpg": b"x"}
    files |= {"Annotations/Val/2.xml": xml(), "JPEGImages/Val/2.jpg": b"x"}
    assert short(read(tmp_path, files)) == [
        ("JPEGImages/1.jpg", None, None),
        ("JPEGImages/Val/2.jpg", "validation", None),
        ("JPEGImages/a/2.jpg", None, None),
        ("JPEGImages/a/3.jpg", None, "no_label"),
    ]


def test_annotations_that_lie_in_folders_of_splits_alone_are_recognised(tmp_path):
    files = {"annotations/train/1.xml": xml(), "images/train/1.jpg": b"x"}
    root = write_tree(tmp_path / "s", files)
    assert is_voc(open_folder(str(root)))
    assert short(read_source(root).rows) == [("images/train/1.jpg", "train", None)]


def test_images_that_no_annotation_leads_to_are_counted_by_folder(tmp_path):
    files = {"Annotations/1.xml": xml(), "JPEGImages/1.jpg": b"x", "JPEGImages/notes.txt": b"x"}
    files |= {"JPEGImages/a/2.jpg": b"x", "JPEGImages/a/b/3.jpg": b"x", "Test/4.jpg": b"x", "5.jpg": b"x"}
    found = read_source(write_tree(tmp_path / "s", files))
    assert short(found.rows) == [("JPEGImages/1.jpg", None, None)]
    assert found.skipped == {
        ".txt": 1,
        "images in JPEGImages/a/ that no annotation names": 2,
        "image in Test/ that no annotation names": 1,
        "image in the top folder that no annotation names": 1,
    }


def test_of_many_folders_only_some_are_named(tmp_path):
    files = {
        f"{part}/{i:02}/1.{end}": xml() for i in range(20) for part, end in (("Annotations", "xml"), ("images", "jpg"))
    }
    source = opened(write_tree(tmp_path / "s", files))
    assert source.describe().endswith(", Annotations/07/*.xml with the images in images/07/ and 12 folders more")
    assert len(listed(source).rows) == 20


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"<annotation>" + b"<object/>\n" * 60_000 + b"</annotation>", "more than 50,000 objects"),
        (b"<annotation>" + b"<a/>" * 2_000_000 + b"</annotation>", "2,000,002 tags"),
        (b"<annotation>" + b" " * (16 << 20) + b"</annotation>", "bytes, more than"),
    ],
    ids=["objects", "tags", "bytes"],
)
def test_an_annotation_that_is_too_large_rejects_its_image_by_name(data, found, tmp_path):
    files = {
        "Annotations/a.xml": data,
        "JPEGImages/a.jpg": b"",
        "Annotations/b.xml": xml(obj()),
        "JPEGImages/b.jpg": b"",
    }
    [bad, good] = read(tmp_path, files)
    assert (bad["key"], bad["reason"], good["reason"]) == ("JPEGImages/a.jpg", "bad_annotation", None)
    assert "Annotations/a.xml: it has " in bad["message"]
    assert found in bad["message"]
