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


def test_images_that_are_missing_and_images_and_masks_that_no_annotation_names_are_said(tmp_path):
    files = tree()
    del files["val2017/b.jpg"]
    more = {"val2017/c.jpg": picture(9), "test2017/d.jpg": picture(8), "panoptic_val2017/c.png": png(*COLOURS)}
    root = write_tree(tmp_path / "s", files | more)
    stopped = call("convert", str(root), str(tmp_path / "o"))
    assert stopped.exit_code == 1
    assert "(1 missing, 1 no_label)" in " ".join(stopped.output.split())
    assert "--without-annotation negative" not in stopped.output
    result = call("convert", str(root), str(tmp_path / "o"), "--max-rejected", "2")
    assert result.exit_code == 0, result.stderr
    assert "1 image in test2017/ that no annotation names" in result.output
    assert "1 masks that no annotation names" in result.output
    ignored = call("convert", str(root), str(tmp_path / "i"), "--without-annotation", "ignore", "--max-rejected", "1")
    assert ignored.exit_code == 0, ignored.stderr
    assert "1 images without annotation" in ignored.output
    refused = call("convert", str(root), str(tmp_path / "r"), "--without-annotation", "negative")
    assert refused.exit_code == 2
    assert "an image without a mask can only be rejected, or ignored" in refused.output


def test_two_images_of_one_id_are_rejected_and_the_segments_land_on_none(tmp_path):
    files = tree()
    content = json.loads(files["panoptic_val2017.json"])
    content["images"].append({"id": "b", "file_name": "c.jpg", "width": 3, "height": 8})
    files |= {"panoptic_val2017.json": json.dumps(content).encode(), "val2017/c.jpg": picture(9, width=3, kind="JPEG")}
    result = call("convert", str(write_tree(tmp_path / "s", files)), str(tmp_path / "o"), "--max-rejected", "2")
    assert result.exit_code == 0, result.stderr
    rejected = pq.read_table(tmp_path / "o" / "rejected.parquet").to_pylist()
    assert {(one["key"], one["reason"]) for one in rejected} == {
        ("val2017/b.jpg", "duplicate_id"),
        ("val2017/c.jpg", "duplicate_id"),
    }


def test_a_dataset_remembers_where_masks_are_and_a_flag_says_it(tmp_path):
    root, out = write_tree(tmp_path / "s", tree()), tmp_path / "o"
    assert call("convert", root, out).exit_code == 0
    printed = call("info", out, "--reading").stdout
    assert "format: coco-panoptic" in printed
    assert "masks: '{dir}/{stem}'" in printed
    assert "nothing to do" in call("convert", root, out).stderr
    facts = ["--mask", "coco-panoptic:panoptic_val2017.json", "--split", "panoptic_val2017.json=validation"]
    stated = call("convert", root, tmp_path / "f", *facts)
    assert stated.exit_code == 0, stated.output
    first, second = (list(shardkit.open(str(tmp_path / name), "validation")) for name in "of")
    masks = [[(one.key, one["segmentation_mask"]) for one in some] for some in (first, second)]
    assert masks[0] == masks[1]
    may = {path.replace("a.", "x.").replace("b.", "y."): data for path, data in tree().items()}
    may["panoptic_val2017.json"] = may["panoptic_val2017.json"].replace(b'"a.', b'"x.').replace(b'"b.', b'"y.')
    appended = call("append", out, write_tree(tmp_path / "may", may))
    assert appended.exit_code == 0, appended.output
    assert len(list(shardkit.open(str(out), "validation"))) == 4
    for flag in ("--boxes", "--mask"):
        other = {"--boxes": "coco-panoptic", "--mask": "coco"}[flag]
        refused = call("convert", root, tmp_path / "r", flag, f"{other}:panoptic_val2017.json")
        assert refused.exit_code == 2
        assert f"{other} gives {'masks' if flag == '--boxes' else 'no masks'}; write " in refused.stderr
