"""The finding about annotated images that EXIF turns, from real files."""

import io
import json
import shlex

import numpy as np
import pytest
from PIL import Image

import shardkit
from shardkit.conversion.planning.checks.finding import findings_text
from shardkit.errors import CallError
from shardkit.options.groups import ConvertOptions
from shardkit.sources.opening import open_source
from shardkit.testing import encoded, plan_without_beam, write_tree

from ....cli.calling import call


def jpeg(orientation, size, seed):
    exif = Image.Exif()
    exif[0x0112] = orientation
    pixels = np.random.default_rng(seed).integers(0, 256, (*size[::-1], 3), np.uint8)
    return encoded(Image.fromarray(pixels), "JPEG", exif=exif)


def coco(root, pictures, num_boxes=1):
    """Write a source of (orientation, size in the file, size that the annotation names)."""
    files = {f"images/{i}.jpg": jpeg(one[0], one[1], i) for i, one in enumerate(pictures)}
    described = {
        "images": [
            {"id": i, "file_name": f"{i}.jpg", "width": named[0], "height": named[1]}
            for i, (_, _, named) in enumerate(pictures)
        ],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [
            {"id": 10 * i + j, "image_id": i, "category_id": 1, "bbox": [1, 2, 3, 4]}
            for i in range(len(pictures))
            for j in range(num_boxes)
        ],
    }
    return write_tree(root, {**files, "annotations.json": json.dumps(described).encode()})


def findings(root, **options):
    plan = plan_without_beam(open_source(str(root)), ConvertOptions.of(options))
    return [one for one in plan.findings if one.code == "turned_images"]


WIDE, TALL, SQUARE = (16, 8), (8, 16), (8, 8)


@pytest.mark.parametrize(
    "picture",
    [
        (1, WIDE, WIDE),
        (6, WIDE, TALL),  # as it is shown
        (6, WIDE, WIDE),  # as it is stored
    ],
)
def test_images_whose_size_tells_are_no_finding(picture, tmp_path):
    assert findings(coco(tmp_path, [picture] * 2)) == []


@pytest.mark.parametrize("picture", [(3, WIDE, WIDE), (2, TALL, TALL), (6, SQUARE, SQUARE)])
def test_images_whose_size_does_not_tell_are_listed(picture, tmp_path):
    [finding] = findings(coco(tmp_path, [picture, (1, WIDE, WIDE), (6, WIDE, TALL)]))
    text = findings_text([finding])
    assert text.startswith("Check these:\n  - EXIF turns or mirrors 1 image of 3, ")
    looks = ["      images/0.jpg", "      shardkit show OUT images/0.jpg --output look.png"]
    assert text.splitlines()[-2:] == looks


def test_images_without_boxes_and_unopened_ones_are_no_finding(tmp_path):
    root = coco(tmp_path, [(3, WIDE, WIDE)], num_boxes=0)
    with pytest.raises(CallError, match="none of 1 image has a box"):
        findings(root)
    assert findings(coco(tmp_path, [(3, WIDE, WIDE)]), check="header") == []


def test_if_the_other_turned_images_say_as_stored_nothing_is_written(tmp_path):
    root = coco(tmp_path, [(3, WIDE, WIDE), (6, WIDE, WIDE), (8, WIDE, WIDE)])
    with pytest.raises(CallError, match=r"2 other turned images all say: as it is stored; remove the orientation"):
        findings(root)
    # One that says otherwise, and nothing can be concluded.
    root = coco(tmp_path / "mixed", [(3, WIDE, WIDE), (6, WIDE, WIDE), (8, WIDE, TALL)])
    assert [one.kind for one in findings(root)] == ["warns"]


def test_what_stops_is_accepted_by_the_command_that_is_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    coco(tmp_path / "source", [(3, WIDE, WIDE), (6, WIDE, WIDE), (8, WIDE, WIDE), (1, WIDE, WIDE)])
    for start in (["plan", "source"], ["convert", "source", "out"]):
        result = call(*start)
        assert result.exit_code == 2
        assert not (tmp_path / "out" / "manifest.json").exists()
        [line] = [one.strip() for one in result.stderr.splitlines() if "--accept" in one]
        assert line == (
            f"shardkit {' '.join(start)} --accept turned_images  # take the annotations as those of the pictures that "
            "are shown"
        )
        result = call(*shlex.split(line, comments=True)[1:])
        assert result.exit_code == 0, result.stderr
        assert "accepted by --accept turned_images: take the annotations as those of" in result.stderr
    # What is accepted is in no file, so another list of codes is the same conversion.
    assert "accept" not in (tmp_path / "out" / "manifest.json").read_text()
    more = ["--accept", "clipped_boxes", "--accept", "turned_images"]
    assert "nothing to do" in call("convert", "source", "out", *more).stderr
    (tmp_path / "options.yaml").write_text("accept: [turned_images, clipped_boxes]\n")
    assert call("plan", "source", "--config", "options.yaml").exit_code == 0
    with pytest.raises(CallError, match=r"(?s)turned.* pass:\n  accept=\['turned_images'\]  # take"):
        shardkit.plan("source")
    assert shardkit.plan("source", accept=["turned_images"]).findings[0].kind == "warns"


def test_an_append_accepts_too_and_an_unknown_code_is_no_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    coco(tmp_path / "old", [(1, WIDE, WIDE)] * 2)
    coco(tmp_path / "new", [(3, WIDE, WIDE), (6, WIDE, WIDE), (8, WIDE, WIDE)])
    assert call("convert", "old", "out").exit_code == 0
    (tmp_path / "new" / "images").rename(tmp_path / "new" / "more")
    result = call("append", "out", "new", "--reading", "detected")
    assert result.exit_code == 2
    [line] = [one.strip() for one in result.stderr.splitlines() if "--accept" in one]
    assert call(*shlex.split(line, comments=True)[1:]).exit_code == 0
    result = call("plan", "new", "--accept", "turned_image")
    assert result.exit_code == 2
    assert "'clipped_boxes'" in result.stderr
    assert "did you mean 'turned_images'?" in result.stderr


def test_masks_too(tmp_path):
    mask = io.BytesIO()
    Image.fromarray(np.ones(WIDE[::-1], np.uint8)).save(mask, "PNG")
    files = {"images/a.jpg": jpeg(3, WIDE, 0), "images/b.jpg": jpeg(1, WIDE, 1)}
    masks = {"masks/a.png": mask.getvalue(), "masks/b.png": mask.getvalue()}
    [finding] = findings(write_tree(tmp_path, files | masks))
    assert "1 image of 2" in finding.sentence
    assert "the mask describes" in finding.sentence
