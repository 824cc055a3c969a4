"""Detection layouts, converted as users do, read back, and compared with the formats' own readers."""

import contextlib
import io
import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml
from defusedxml import ElementTree
from PIL import Image
from pycocotools import mask as coco_masks
from pycocotools.coco import COCO

from shardkit import read_manifest
from shardkit.dataset.index.shards import read_columns

from ..cli.calling import call, convert
from .reading_back import assert_same_images, examples

SAMPLES = Path(__file__).parents[2] / "sample_data"
SPLITS = {"train": 16, "validation": 6, "test": 2}


@pytest.mark.parametrize("name", ["coco", "voc", "yolo"])
def test_every_image_is_there_once_with_its_bytes(name, converted):
    found = examples(converted(name))
    assert {split: sum(one["split"] == split for one in found.values()) for split in SPLITS} == SPLITS
    assert_same_images(found, SAMPLES / name)  # and the fixture has had it verified


def test_coco_is_what_pycocotools_reads(converted):
    found, num_objects = examples(converted("coco")), 0
    classes = read_manifest(str(converted("coco"))).classes
    for split, of in (("train", "train2017"), ("validation", "val2017"), ("test", "test2017")):
        with contextlib.redirect_stdout(io.StringIO()):
            coco = COCO(SAMPLES / f"coco/annotations/instances_{of}.json")
        assert classes == [category["name"] for category in coco.loadCats(sorted(coco.getCatIds()))]
        for image in coco.loadImgs(coco.getImgIds()):
            one = found[f"{of}/{image['file_name']}"]
            annotations = coco.loadAnns(coco.getAnnIds(image["id"]))
            assert one["split"] == split
            assert one["objects/id"].tolist() == [annotation["id"] for annotation in annotations]
            assert one["objects/is_crowd"].tolist() == [annotation["iscrowd"] for annotation in annotations]
            np.testing.assert_allclose(one["objects/area"], [a["area"] for a in annotations], rtol=1e-6)
            names = [coco.loadCats(annotation["category_id"])[0]["name"] for annotation in annotations]
            assert [classes[label] for label in one["objects/label"]] == names
            pixels = one["objects/bbox"] * np.tile([image["height"], image["width"]], 2)
            corners = [(y, x, y + h, x + w) for x, y, w, h in (a["bbox"] for a in annotations)]
            limits = np.tile([image["height"], image["width"]], 2)
            np.testing.assert_allclose(pixels, np.clip(np.reshape(corners, (-1, 4)), 0, limits), atol=1e-4)
            for text, annotation in zip(one["objects/segmentation"], annotations, strict=True):
                kept = {**annotation, "segmentation": json.loads(text)}
                assert np.array_equal(coco.annToMask(kept), coco.annToMask(annotation))
                num_objects += 1
    assert num_objects > 20
    assert coco_masks  # what annToMask decodes with


def test_voc_is_what_its_xml_says(converted):
    found, root = examples(converted("voc")), SAMPLES / "voc/VOCdevkit/VOC2012"
    classes = read_manifest(str(converted("voc"))).classes
    num_objects = 0
    for key, one in found.items():
        tree = ElementTree.parse(root / "Annotations" / f"{Path(key).stem}.xml")
        width, height = Image.open(SAMPLES / "voc" / key).size
        objects = tree.findall("object")
        assert [classes[label] for label in one["objects/label"]] == [node.findtext("name") for node in objects]
        for field in ("truncated", "difficult"):
            assert one[f"objects/is_{field}"].tolist() == [int(node.findtext(field, "0")) for node in objects]
        sides = [
            [float(node.findtext(f"bndbox/{side}")) for side in ("ymin", "xmin", "ymax", "xmax")] for node in objects
        ]
        boxes = np.reshape(sides, (-1, 4)) / [height, width, height, width]
        np.testing.assert_allclose(one["objects/bbox"], boxes, atol=1e-6)
        listed = "val" if one["split"] == "validation" else one["split"]
        assert Path(key).stem in (root / f"ImageSets/Main/{listed}.txt").read_text().split()
        num_objects += len(objects)
    assert num_objects > 20


def test_yolo_is_what_its_lines_say(converted):
    found, num_objects = examples(converted("yolo")), 0
    names = yaml.safe_load((SAMPLES / "yolo/data.yaml").read_text())["names"]
    assert read_manifest(str(converted("yolo"))).classes == [names[i] for i in range(len(names))]
    for key, one in found.items():
        path = SAMPLES / "yolo" / Path(key.replace("/images/", "/labels/")).with_suffix(".txt")
        lines = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
        wanted = [(int(label), [float(value) for value in values]) for label, *values in lines if int(label) in names]
        assert one["objects/label"].tolist() == [label for label, _ in wanted]
        for box, (_, values) in zip(one["objects/bbox"], wanted, strict=True):
            if len(values) == 4:
                x, y, width, height = values
                corners = [y - height / 2, x - width / 2, y + height / 2, x + width / 2]
            else:
                xs, ys = values[::2], values[1::2]
                corners = [min(ys), min(xs), max(ys), max(xs)]
            np.testing.assert_allclose(box, corners, atol=1e-6)
            num_objects += 1
    assert num_objects > 20


@pytest.mark.parametrize("name", ["coco", "voc", "yolo"])
def test_the_index_and_the_manifest_count_images_by_class(name, converted):
    manifest, found = read_manifest(str(converted(name))), examples(converted(name))
    for split_name, split in manifest.splits.items():
        members = [one for one in found.values() if one["split"] == split_name]
        counts = [sum(label in one["objects/label"] for one in members) for label in range(len(manifest.classes))]
        assert split.class_counts == counts
        rows = [row for shard in split.shards for row in read_columns(manifest.root, shard).to_pylist()]
        for row in rows:
            assert row["label"] is None
            assert row["labels"] == sorted(set(found[row["key"]]["objects/label"].tolist()))


def test_boxes_that_lie_outside_are_reported_and_nothing_is_published_above_the_limit(tmp_path):
    said = convert(SAMPLES / "coco_broken", tmp_path / "out", exit_code=1)
    assert "images/train_00.jpg, annotation 903: bad_box: the box (ymin, xmin, ymax, xmax) = (-5, -5, -4, -4)" in said
    assert not (tmp_path / "out/manifest.json").exists()
    convert(SAMPLES / "coco_broken", tmp_path / "out", "--max-rejected", "90%")
    rows = pq.read_table(tmp_path / "out/rejected.parquet").to_pylist()
    assert {row["reason"] for row in rows} >= {"bad_box", "missing", "no_label", "bad_name", "bad_annotation"}


@pytest.mark.slow
def test_header_mode_places_the_same_boxes(tmp_path, converted):
    convert(SAMPLES / "coco", tmp_path / "out", "--check", "header")
    wanted = examples(converted("coco"))
    for key, one in examples(tmp_path / "out").items():
        np.testing.assert_array_equal(one["objects/bbox"], wanted[key]["objects/bbox"])


def answered(source, out, question):
    """The result of the first command of the question that shardkit asks about a source."""
    result = call("convert", source, out)
    assert result.exit_code == 2
    assert question in result.output
    command = re.search(r"^  shardkit (.*?) +# as it was recognised", result.output, re.MULTILINE)[1]
    return call(*shlex.split(command))


def test_images_that_no_annotation_names_are_told_and_stand_in_the_manifest(tmp_path):
    source = shutil.copytree(SAMPLES / "coco", tmp_path / "coco")
    unlabelled = source / "extra2017"
    unlabelled.mkdir()
    for i, path in enumerate(sorted((source / "test2017").iterdir())):
        shutil.copy(path, unlabelled / f"{i}{path.suffix}")
    question = "asks first, because 2 images in extra2017/ that no annotation names; choose one of"
    result = answered(source, tmp_path / "out", question)
    assert "2 images in extra2017/ that no annotation names" in result.output
    skipped = read_manifest(str(tmp_path / "out")).source.skipped
    captions = {"ignored by /annotations/captions_val2017.json": 1}
    assert skipped == captions | {"images in extra2017/ that no annotation names": 2}


def test_the_same_images_are_found_uncovered_in_an_archive(tmp_path):
    source = shutil.copytree(SAMPLES / "yolo", tmp_path / "yolo")
    shutil.copytree(source / "test" / "images", source / "more" / "images")
    shutil.make_archive(str(tmp_path / "yolo"), "zip", tmp_path, "yolo")
    for url in (source, tmp_path / "yolo.zip"):
        # The policies for images without annotation are for those next to others: no command is offered with them.
        question = "asks first, because 2 images in more/ that no annotation names; run:"
        result = answered(url, tmp_path / f"out-{url.name}", question)
        assert "skipped: 2 images in more/ that no annotation names" in result.output
