"""Entries of an archive that no folder can hold, in sources of every layout."""

import json
import zipfile

import pytest
from PIL import Image

from shardkit.archives.zip_folder import ZipFolder
from shardkit.options.groups import ConvertOptions
from shardkit.sources.options import Opening, SourceOptions
from shardkit.sources.recognising.detection.coco import open_coco
from shardkit.sources.recognising.detection.of_one_image import open_voc
from shardkit.sources.recognising.detection.yolo import open_yolo
from shardkit.sources.recognising.folders.class_folders import open_class_folders
from shardkit.sources.recognising.folders.file_names import open_file_names
from shardkit.sources.recognising.folders.masks import open_masks
from shardkit.sources.recognising.folders.opening_metadata import open_metadata
from shardkit.sources.recognising.only_folders import top_of
from shardkit.sources.recognising.unmarked_tables import open_lists
from shardkit.sources.recognising.wrapped_source import with_archive_problems
from shardkit.testing import encoded, listed, plan_without_beam


def image():
    return encoded(Image.new("RGB", (8, 8)), "PNG")


IMAGE = image()
COCO = json.dumps(
    {
        "images": [{"id": 1, "file_name": "1.png", "width": 8, "height": 8}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 4, 4]}],
        "categories": [{"id": 1, "name": "cat"}],
    }
).encode()
XML = b"""<annotation><filename>1.png</filename><size><width>8</width><height>8</height><depth>3</depth></size>
<object><name>cat</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>4</xmax><ymax>4</ymax></bndbox></object>
</annotation>"""
NAMES = SourceOptions(label_pattern="([a-z]+)")

# layout: how it is opened, and a tree of one good image
LAYOUTS = {
    "class folders": (open_class_folders, {"cat/1.png": IMAGE, "dog/2.png": IMAGE}),
    "file names": (open_file_names, {"cat.png": IMAGE}),
    "metadata": (open_metadata, {"metadata.csv": b"file_name,label\n1.png,cat\n", "1.png": IMAGE}),
    "coco": (open_coco, {"a.json": COCO, "images/1.png": IMAGE}),
    "voc": (open_voc, {"Annotations/1.xml": XML, "JPEGImages/1.png": IMAGE}),
    "yolo": (
        open_yolo,
        {"data.yaml": b"names: [cat]\ntrain: images\n", "images/1.png": IMAGE, "labels/1.txt": b"0 .5 .5 .2 .2\n"},
    ),
    "list": (open_lists, {"list.txt": b"cat/1.png cat\n", "cat/1.png": IMAGE}),
    "masks": (open_masks, {"images/1.png": IMAGE, "masks/1.png": IMAGE}),
}
BAD = [
    "../evil/x.png",
    "/abs.png",
    "..\\w.png",
    "C:\\a\\b.png",
    "a/../../y.png",
    "a//z.png",
    "a/.hid/../h.png",
    "../y.txt",
]
JUNK = ["__MACOSX/../__MACOSX/._x.png", "../.DS_Store", "/a/Thumbs.db"]


def zipped(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files:
            archive.writestr(name, data)
    return top_of(ZipFolder(str(path)))


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("top", ["", "top/"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_entry_that_climbs_out_or_stands_twice_is_rejected_once_in_any_layout(tmp_path, layout, top):
    open_layout, tree = LAYOUTS[layout]
    good = [(f"{top}{name}", data) for name, data in tree.items()]
    twice = good[-1][0]
    archive = zipped(tmp_path / "a.zip", [*good, *((name, IMAGE) for name in BAD + JUNK), (twice, good[-1][1])])
    plan = plan_without_beam(
        with_archive_problems(open_layout(Opening(archive, NAMES)), archive), ConvertOptions(name="a")
    )
    found = [(row["key"], row["reason"]) for row in plan.rejected.to_pylist()]
    assert found == sorted([*((name, "bad_name") for name in BAD), (twice.removeprefix(top), "duplicate_key")])
    assert all("a.zip" in row["message"] for row in plan.rejected.to_pylist())
    clean = zipped(tmp_path / "clean.zip", good)
    assert (
        plan.num_examples
        == plan_without_beam(open_layout(Opening(clean, NAMES)), ConvertOptions(name="a")).num_examples
        > 0
    )


def test_a_source_without_such_entries_is_itself(tmp_path):
    archive = zipped(tmp_path / "a.zip", [("cat/1.png", IMAGE), ("dog/1.png", IMAGE), ("../.DS_Store", b"")])
    source = open_class_folders(Opening(archive))
    assert with_archive_problems(source, archive) is source


def test_what_is_said_of_the_source_is_said_by_its_layout(tmp_path):
    open_layout, tree = LAYOUTS["yolo"]
    archive = zipped(tmp_path / "a.zip", [*tree.items(), ("../x.png", IMAGE)])
    inner = open_layout(Opening(archive, NAMES))
    source = with_archive_problems(inner, archive)
    assert (source.describe(), source.layout, source.classes, source.schema) == (
        inner.describe(),
        inner.layout,
        inner.classes,
        inner.schema,
    )


@pytest.mark.parametrize("batch_rows", [1, 3, 1000])
def test_problems_come_in_batches(tmp_path, batch_rows):
    names = [f"../{i}.png" for i in range(7)]
    archive = zipped(
        tmp_path / "a.zip", [("cat/1.png", IMAGE), ("dog/1.png", IMAGE), *((name, b"12") for name in names)]
    )
    source = with_archive_problems(open_class_folders(Opening(archive)), archive)
    sizes = [len(listing.table()) for listing in source.list_part(source.parts()[-1], batch_rows)]
    assert max(sizes) <= batch_rows
    table = listed(source, batch_rows).table.to_pylist()
    assert [(row["key"], row["source_bytes"]) for row in table if row["reason"]] == [(name, 2) for name in names]
