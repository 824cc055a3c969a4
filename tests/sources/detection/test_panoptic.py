"""COCO's panoptic segmentation: masks of categories from PNGs of segments."""

import io
import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

import shardkit
from shardkit.testing import encoded, picture, write_tree

from ...cli.calling import call

SEGMENTS = [{"id": 300, "category_id": 18}, {"id": 7, "category_id": 17}]
COLOURS = [  # of segments 7 and 300, and of none
    (7, 0, 0),
    (300 % 256, 300 // 256, 0),
    (0, 0, 0),
]


def png(*colours):
    """Three columns of eight pixels and their colours."""
    return encoded(Image.fromarray(np.repeat(np.array([colours], np.uint8), 8, axis=0)), "PNG")


def tree(*, png_of_b=None, segments_of_b=SEGMENTS, **annotation_of_b):
    """Two images with their segments, those of b as given."""
    images = [{"id": name, "file_name": f"{name}.jpg", "width": 3, "height": 8} for name in "ab"]
    annotations = [{"image_id": name, "file_name": f"{name}.png", "segments_info": SEGMENTS} for name in "ab"]
    annotations[1] |= {"segments_info": segments_of_b, **annotation_of_b}
    categories = [{"id": number, "name": name} for number, name in ((18, "dog"), (17, "cat"))]
    content = {"images": images, "annotations": annotations, "categories": categories}
    files = {f"val2017/{name}.jpg": picture(ord(name), width=3, kind="JPEG") for name in "ab"}
    files |= {f"panoptic_val2017/{name}.png": png(*COLOURS) for name in "ab"}
    if png_of_b is not None:
        files["panoptic_val2017/b.png"] = png_of_b
    return {**files, "panoptic_val2017.json": json.dumps(content).encode()}


def test_a_mask_has_the_categories_of_its_segments(tmp_path):
    root = write_tree(tmp_path / "s", tree())
    for source in (root, root / "panoptic_val2017.json"):
        result = call("convert", str(source), str(tmp_path / f"out-{source.name}"))
        assert result.exit_code == 0, result.stderr
        examples = list(shardkit.open(str(tmp_path / f"out-{source.name}"), "validation"))
        assert [one.key for one in examples] == ["val2017/a.jpg", "val2017/b.jpg"]
        mask = np.asarray(Image.open(io.BytesIO(examples[1]["segmentation_mask"])))
        assert mask.tolist() == [[0, 1, 255]] * 8
        manifest = json.loads((tmp_path / f"out-{source.name}" / "manifest.json").read_text())
        assert manifest["classes"] == ["cat", "dog"]


OTHER = [(7, 0, 0), (45, 1, 0), (0, 0, 0)]
# What is wrong with b, and the reason for which it, or its annotation, is rejected.
NEARLY = {
    "a pixel of a segment that the file does not have": ({"png_of_b": png(*OTHER)}, {"bad_mask"}),
    "a mask of class numbers": (
        {"png_of_b": encoded(Image.fromarray(np.ones((8, 3), np.uint8)), "PNG")},
        {"bad_mask"},
    ),
    "a segment of no category": ({"segments_of_b": [{"id": 7, "category_id": 99}]}, {"bad_mask"}),
    "no segments": ({"segments_of_b": None}, {"bad_annotation", "no_label"}),
    "an id that no colour has": (
        {"segments_of_b": [{"id": 1 << 24, "category_id": 17}]},
        {"bad_annotation", "no_label"},
    ),
    "a mask that is missing": ({"file_name": "gone.png"}, {"no_label"}),
    "a mask outside of the folder": ({"file_name": "../a.png"}, {"bad_annotation", "no_label"}),
    "an image that the file does not have": ({"image_id": "c"}, {"bad_annotation", "no_label"}),
    "a second annotation of an image": ({"image_id": "a"}, {"bad_annotation", "no_label"}),
}


@pytest.mark.parametrize("what", NEARLY)
def test_what_is_nearly_panoptic_is_rejected(what, tmp_path):
    changes, reasons = NEARLY[what]
    root = write_tree(tmp_path / "s", tree(**changes))
    result = call("convert", str(root), str(tmp_path / "o"), "--max-rejected", "100%")
    assert result.exit_code == 0, result.stderr
    rejected = pq.read_table(tmp_path / "o" / "rejected.parquet").to_pylist()
    assert {one["reason"] for one in rejected} == reasons, rejected
    assert [one.key for one in shardkit.open(str(tmp_path / "o"), "validation")] == ["val2017/a.jpg"]


def test_images_that_are_missing_or_that_no_annotation_names_are_said(tmp_path):
    files = tree()
    del files["val2017/b.jpg"]
    root = write_tree(tmp_path / "s", files | {"val2017/c.jpg": picture(9), "test2017/d.jpg": picture(8)})
    result = call("convert", str(root), str(tmp_path / "o"), "--max-rejected", "100%")
    assert result.exit_code == 0, result.stderr
    assert "1 missing" in result.stdout + result.stderr
    for folder in ("val2017", "test2017"):
        assert f"1 image in {folder}/ that no annotation names" in result.stdout + result.stderr
