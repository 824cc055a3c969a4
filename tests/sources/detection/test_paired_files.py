"""What the formats with an annotation file per image have in common: slices on several hosts."""

from collections import Counter

import pytest

from shardkit.errors import MachineError
from shardkit.sources import walking
from shardkit.sources.engine import image_files
from shardkit.sources.engine.file_groups import FileGroup, scan_group
from shardkit.testing import listed, opened, read_source, write_tree

from .test_kitti import CAR, IGNORED
from .test_labelme import RECTANGLE, labelme, shape

VOC = b"<annotation><object><name>cat</name></object></annotation>"  # a bad object
POINT = shape("point", [[1, 1]])  # left out
NUM_FILES = 10

# layout: images and annotation files by number; the annotation files of images 2 to 12
FORMATS = {
    "voc": ("JPEGImages/{}.jpg", "Annotations/{}.xml", lambda name: VOC),
    "kitti": ("image_2/{}.png", "label_2/{}.txt", lambda name: f"{CAR}\n{IGNORED}\nx\n".encode()),
    "yolo": ("images/{}.jpg", "labels/{}.txt", lambda name: b"0 .5 .5 .1 .1\nx\n"),
    "labelme": ("train/{}.jpg", "train/{}.json", lambda name: labelme(name, RECTANGLE, POINT)),
}


def source_of(name, folder):
    image, annotation, content = FORMATS[name]
    files = {image.format(i): b"x" for i in range(NUM_FILES)}
    files |= {annotation.format(i): content(f"{i}.jpg") for i in range(2, NUM_FILES + 2)}
    above = image.partition("/")[0]
    files |= {"classes.txt": b"cat\n", "other/a.jpg": b"x", f"{above}/notes.md": b"x"}
    return write_tree(folder, files)


@pytest.mark.parametrize("min_slice", [1, 3])
@pytest.mark.parametrize("name", FORMATS)
def test_slices_list_and_count_every_file_once(name, min_slice, tmp_path, monkeypatch):
    root = source_of(name, tmp_path / "s")
    found = read_source(root, layout=name)
    assert {row["reason"] for row in found.rows} >= {"missing", None}
    assert found.skipped[".md"] == 1
    assert any("image" in kind for kind in found.skipped)
    num_parts = len(opened(root, layout=name).parts())
    monkeypatch.setattr(walking, "MIN_SLICE", min_slice)
    source = opened(root, layout=name)
    assert len(source.parts()) > num_parts
    scans: list[FileGroup] = []

    def scan(*args, **options):
        scans.append(args[2])
        return scan_group(*args, **options)

    monkeypatch.setattr(image_files, "scan_group", scan)
    sliced = listed(source, batch_rows=2)
    assert max(Counter(scans).values()) <= 3  # by the driver, for all slices, and for what no file is for
    assert sorted(map(str, sliced.rows)) == sorted(map(str, found.rows))
    assert sliced.skipped == found.skipped


@pytest.mark.parametrize("name", FORMATS)
def test_a_host_that_sees_other_files_is_refused(name, tmp_path):
    root = source_of(name, tmp_path / "s")
    source = opened(root, layout=name)
    part = next(part for part in source.parts() if hasattr(part, "num_files"))
    image, annotation, content = FORMATS[name]
    write_tree(root, {image.format("new"): b"x", annotation.format("new"): content("new.jpg")})
    with pytest.raises(MachineError, match=r"the driver saw .*; give every worker the same files"):
        list(source.list_part(part, 10))


# What the files are called and say; whether that is an image next to their own.
NAMES = {
    "numbered again": ({"a/1": "2.jpg", "a/2": "1.jpg"}, True),
    "another ending": ({"a/1": "2.png", "a/2": "1.png"}, True),
    "their own": ({"a/1": "1.png", "a/2": "C:\\\\x\\\\2.jpg"}, False),
    "names before both were renamed": ({"a/1": "IMG_7.jpg", "a/2": "IMG_8.jpg"}, False),
    "an image of another folder, called as theirs was": ({"a/1": "3.jpg", "b/3": "3.jpg"}, False),
}


@pytest.mark.parametrize("layout", ["voc", "labelme"])
@pytest.mark.parametrize("name", NAMES)
def test_files_that_name_other_images_than_they_are_called_like_are_noted(layout, name, tmp_path):
    said, is_noted = NAMES[name]
    kind = ".xml" if layout == "voc" else ".json"
    files = {f"{stem}.jpg": b"x" for stem in said}
    for stem, image in said.items():
        xml = f"<annotation><filename>{image}</filename><object><name>cat</name><bndbox></bndbox></object></annotation>"
        files[stem + kind] = labelme(image, RECTANGLE) if layout == "labelme" else xml.encode()
    described = opened(write_tree(tmp_path / "s", files), layout=layout).describe()
    note = f"files name other images than those they are called like: a/1{kind} names {said['a/1']}"
    assert (note in described) is is_noted
    assert is_noted or "called like" not in described
