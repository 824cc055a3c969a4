"""What a conversion does with images without annotation, boxes that are there twice, and records that are rejected."""

import json
import re
import shlex
import shutil

import numpy as np
from PIL import Image

import shardkit
from shardkit import read_manifest

from ..cli.calling import call, convert

BOX = {"category_id": 1, "bbox": [2, 3, 10, 8], "area": 80, "iscrowd": 0}


def picture(path, seed):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.random.default_rng(seed).integers(0, 256, (24, 32, 3), np.uint8)).save(path)


def coco(folder, annotations, num_images=8):
    """A COCO source of 00.png, 01.png, …, whose ids count from 1."""
    for number in range(num_images):
        picture(folder / f"images/{number:02}.png", number)
    images = [{"id": i + 1, "file_name": f"{i:02}.png", "width": 32, "height": 24} for i in range(num_images)]
    text = {"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "cat"}]}
    (folder / "instances.json").write_text(json.dumps(text))
    return folder


def numbers(out):
    """The ids of the boxes of each image of the split `train`, sorted by key."""
    rows = {one["key"]: one for one in shardkit.open(str(out), "train", training=False)}
    return [list(map(int, rows[key]["objects/id"])) for key in sorted(rows)]


def cvat(folder, with_box, without_box, unnamed):
    """A CVAT source with images that have a box, a record without box, and no record."""
    records = []
    for number in range(with_box + without_box + unnamed):
        picture(folder / f"images/{number:02}.png", number)
        shape = '<box label="cat" xtl="1" ytl="2" xbr="30" ybr="20" />' if number < with_box else ""
        records.append(f'<image id="{number}" name="{number:02}.png" width="32" height="24">{shape}</image>')
    text = "".join(records[: with_box + without_box])
    (folder / "annotations.xml").write_text(f"<annotations><version>1.1</version>{text}</annotations>")
    return folder


def test_an_image_without_record_is_no_negative_unless_the_user_says_so(tmp_path):
    source, out = cvat(tmp_path / "s", with_box=6, without_box=2, unnamed=3), tmp_path / "out"
    (source / "tool.json").write_text("{}")  # no reason to stop with the dataset's own reading and another policy
    said = convert(source, out, exit_code=2)
    assert "asks first, because 3 of 11 images have no label; choose" in said
    for command, num in zip(re.findall(r"^  shardkit (convert .*?) +# ", said, re.MULTILINE), (8, 11, 8), strict=True):
        assert call(*shlex.split(command), "--overwrite").exit_code == 0
        assert sum(split.num_examples for split in read_manifest(str(out)).splits.values()) == num
    shutil.rmtree(out)
    stated = ("--boxes", "cvat:annotations.xml", "--ignore", "tool.json")
    said = convert(source, out, *stated, "--max-rejected", "0", exit_code=1)
    assert "images/08.png: no_label: no annotation: annotations.xml does not name the image; add a record" in said
    assert said.count("--without-annotation") == 1  # one command, not a hint for each image
    [negatives] = re.findall(r"shardkit (convert .*)\s+# with 3 images without annotation as negatives", said)
    [command] = re.findall(r"shardkit (convert .*--max-rejected 3)\s+# without 3 images", said)
    assert call(*shlex.split(command)).exit_code == 0
    assert sum(split.num_examples for split in read_manifest(str(out)).splits.values()) == 8
    said = call(*shlex.split(negatives), "--overwrite")
    assert "5 of 11 images have no box, 3 of them without annotation; they are stored as negatives" in said.output
    assert "rejected: none" in said.output
    assert sum(not len(one["objects/label"]) for one in shardkit.open(str(out), "train", training=False)) == 5
    said = call("convert", source, out, "--without-annotation", "ignore", "--overwrite")
    assert "rejected: none; skipped: 1 ignored by tool.json, 3 images without annotation" in said.output
    assert "2 of 8 images have no box; they are stored as negatives" in said.output


def test_a_source_without_a_single_box_stops(tmp_path):
    said = convert(cvat(tmp_path / "s", 0, 4, 0), tmp_path / "out", exit_code=2)
    assert "none of 4 images has a box; check the files of boxes" in said
    assert not (tmp_path / "out/manifest.json").exists()


def test_boxes_that_are_there_twice_are_counted_and_dropped(tmp_path):
    annotations = [BOX | {"id": i, "image_id": i + 1} for i in range(8)]
    annotations += [BOX | {"id": 100 + i, "image_id": 2} for i in range(2)]  # two more of the same
    annotations += [BOX | {"id": 200, "image_id": 3, "bbox": [2, 3, 10, 9]}]
    source, out = coco(tmp_path / "s", annotations), tmp_path / "out"
    said = convert(source, out)
    assert "2 boxes in 1 image repeat an earlier one of the same class" in said
    [command] = re.findall(r"shardkit (convert .*--drop-repeated-boxes.*?)\s+# keep the first of each", said)
    result = call(*shlex.split(command))
    assert "skipped: 2 boxes that repeat an earlier one of their image" in result.output
    assert numbers(out) == [[0], [1], [2, 200], [3], [4], [5], [6], [7]]


def test_images_that_share_an_id_are_left_out_with_their_boxes(tmp_path):
    annotations = [BOX | {"id": i, "image_id": i + 1} for i in range(8)]
    source, out = coco(tmp_path / "s", annotations), tmp_path / "out"
    text = json.loads((source / "instances.json").read_text())
    text["images"][7]["id"] = 1
    text["annotations"][7]["image_id"] = 1
    (source / "instances.json").write_text(json.dumps(text))
    assert "2 duplicate_id" in convert(source, out, "--max-rejected", "0", exit_code=1)
    convert(source, out, "--max-rejected", "2")
    assert numbers(out) == [[i] for i in range(1, 7)]


def test_coco_boxes_that_are_corners_by_their_areas_stop(tmp_path):
    box = BOX | {"bbox": [2, 3, 12, 11], "area": 80}
    source = coco(tmp_path / "s", [box | {"id": i, "image_id": i + 1} for i in range(8)])
    assert "subtract the first two numbers of `bbox` from its last two" in convert(
        source, tmp_path / "out", exit_code=1
    )


def test_a_record_without_image_is_not_left_out_as_an_image(tmp_path):
    source = coco(tmp_path / "s", [BOX | {"id": i, "image_id": i + 1} for i in range(8)])
    (source / "images/03.png").unlink()
    said = convert(source, tmp_path / "out", "--max-rejected", "0", exit_code=1)
    assert re.search(r"--max-rejected 1\s+# without 1 image", said)


def test_the_option_is_refused_where_it_has_no_effect(tmp_path):
    for label in ("cat", "dog"):
        for number in range(3):
            picture(tmp_path / f"s/{label}/{number}.png", number)
    said = convert(tmp_path / "s", tmp_path / "out", "--without-annotation", "ignore", exit_code=2)
    assert "--without-annotation has no effect on the layout class-folders" in said


def test_label_files_without_image_are_not_said_to_be_images(tmp_path):
    source = tmp_path / "s"
    for number in range(8):
        picture(source / f"images/{number}.png", number)
        (source / "labels").mkdir(exist_ok=True)
        (source / f"labels/{number}.txt").write_text("0 0.5 0.5 0.5 0.5\n")
    (source / "classes.txt").write_text("cat\n")
    for number in (8, 9):
        (source / f"labels/{number}.txt").write_text("0 0.5 0.5 0.5 0.5\n")
    said = convert(source, tmp_path / "out", "--max-rejected", "0", exit_code=1)
    [command] = re.findall(r"shardkit (convert .*--max-rejected 2)\s+# without 2 records", said)
    assert call(*shlex.split(command)).exit_code == 0
    assert read_manifest(str(tmp_path / "out")).splits["train"].num_examples == 8


def test_a_folder_of_coco_is_remembered_and_the_next_delivery_is_read_by_it(tmp_path):
    source, out = coco(tmp_path / "s", [BOX | {"id": i, "image_id": i + 1} for i in range(8)]), tmp_path / "out"
    said = convert(source, out)
    assert "read as COCO: boxes from instances.json, with the images in images/" in said
    (tmp_path / "r.yaml").write_text(call("info", out, "--reading").output)
    convert(source, tmp_path / "again", "--config", str(tmp_path / "r.yaml"))
    assert numbers(tmp_path / "again") == numbers(out)
    more = coco(tmp_path / "more", [BOX | {"id": 9, "image_id": 9}], num_images=9)
    for number in range(8):
        (more / f"images/{number:02}.png").unlink()
    appended = call("append", out, more, "--max-rejected", "8")
    assert appended.exit_code == 0, appended.output
    assert f"as {out} remembers" in appended.output
    assert numbers(out) == [[i] for i in (*range(8), 9)]
    (more / "instances.json").rename(more / "boxes.json")
    refused = call("append", out, more)
    assert refused.exit_code == 2
    assert "there is no file instances.json, which the reading names" in " ".join(refused.output.split())


def test_images_that_a_reading_does_not_include_are_counted(tmp_path):
    source = coco(tmp_path / "s", [BOX | {"id": i, "image_id": i + 1} for i in range(8)])
    for number, path in enumerate(("images/old/x.png", "other/y.png", "other/z.png")):
        picture(source / path, 50 + number)
    boxes = "boxes: {format: coco, files: [instances.json], images: images, match: path}"
    (tmp_path / "r.yaml").write_text(f"{boxes}\nimages: {{exclude: [images/old/**, other/**]}}\n")
    said = call("convert", source, tmp_path / "out", "--reading", tmp_path / "r.yaml").output
    assert "skipped: 1 excluded by images/old/**, 2 excluded by other/**" in said


def test_boxes_that_a_flag_names_are_read_totally(tmp_path):
    source, out = coco(tmp_path / "s", [BOX | {"id": i, "image_id": i + 1} for i in range(8)]), tmp_path / "out"
    (source / "instances.json").rename(source / "boxes.json")
    (source / "other.json").write_text("{}")
    said = convert(source, out, "--boxes", "coco:boxes.json", exit_code=1)
    assert "the reading does not explain 1 file: ./*.json (1); such as other.json" in said
    assert not (out / "manifest.json").exists()
    convert(source, out, "--boxes", "coco:boxes.json", "--ignore", "other.json")
    assert numbers(out) == [[i] for i in range(8)]
    assert "images: images\n    match: path" in call("info", out, "--reading").output  # what was found is remembered
    (source / "images/03.png").rename(source / "images/renamed.png")
    said = convert(source, out, "--boxes", "coco:boxes.json", "--ignore", "other.json", "--overwrite", exit_code=1)
    assert "03.png: missing" in said
    assert "images/renamed.png: no_label: no annotation: boxes.json does not name the image" in said


def test_classes_of_a_format_are_labels_without_boxes(tmp_path):
    annotations = [{"id": i, "image_id": i + 1, "category_id": 1 + i % 2} for i in range(8)]
    source, out = coco(tmp_path / "s", annotations), tmp_path / "out"
    text = json.loads((source / "instances.json").read_text())
    text["categories"].append({"id": 2, "name": "ant"})
    (source / "instances.json").write_text(json.dumps(text))
    convert(source, out, "--label", "coco:instances.json")
    manifest = read_manifest(str(out))
    assert (list(manifest.classes), manifest.splits["train"].class_counts) == (["cat", "ant"], [4, 4])
