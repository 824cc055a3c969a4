import csv
import json
from pathlib import Path

import numpy as np
import pytest

import shardkit
from shardkit.dataset.manifest import read_manifest
from shardkit.errors import CallError, RecordError
from shardkit.examples import extraction
from shardkit.testing import convert_without_beam

from ..cli.calling import convert


def extracted(dataset, folder, splits=(), where=None):
    """The paths of the images, as posix strings."""
    return [path.as_posix() for path in extraction.extract(dataset, str(folder), splits, where)]


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return [*csv.DictReader(file)]


def test_class_folders_come_back_byte_for_byte_and_convert_to_the_same_images(sample, tmp_path):
    paths = extracted(sample("shapes"), tmp_path / "folder")
    examples = shardkit.open(sample("shapes"), "train")
    assert paths == [f"train/{example.key}" for example in examples]
    for path, example in zip(paths, examples, strict=True):
        assert (tmp_path / "folder" / path).read_bytes() == example["image"]
    convert(tmp_path / "folder", tmp_path / "again")
    again = {example.key: example for example in shardkit.open(str(tmp_path / "again"), "train")}
    assert {f"train/{one.key}": (one["image"], one.label_names) for one in examples} == {
        key: (one["image"], one.label_names) for key, one in again.items()
    }


def test_boxes_and_masks_come_with_their_images(sample, tmp_path):
    extracted(sample("coco"), tmp_path / "boxes", ["train"])
    rows = rows_of(tmp_path / "boxes/train/boxes.csv")
    for example in shardkit.open(sample("coco"), "train"):
        mine = [row for row in rows if row["filename"] == f"images/{example.key}"]
        assert [row["class"] for row in mine] == (example.label_names or [""])  # background has a row without a box
        mine = [row for row in mine if row["xmin"]]
        size = np.array([example["height"], example["width"]] * 2)
        found = [[float(row[side]) for side in ("ymin", "xmin", "ymax", "xmax")] for row in mine]
        np.testing.assert_allclose(np.reshape(found, (-1, 4)), example.boxes * size, atol=1e-3)
    assert not (tmp_path / "boxes/validation").exists()
    manifest = convert_without_beam(str(tmp_path / "boxes/train/boxes.csv"), str(tmp_path / "boxes-again"))
    assert manifest.splits["train"].num_examples == len(shardkit.open(sample("coco"), "train"))
    extracted(sample("masks"), tmp_path / "masks")
    for example in shardkit.open(sample("masks"), "validation"):
        name = Path(example.key).name
        assert (tmp_path / "masks/validation/images" / name).read_bytes() == example["image"]
        mask = (tmp_path / "masks/validation/masks" / name).with_suffix(".png")
        assert mask.read_bytes() == example["segmentation_mask"]
    convert(tmp_path / "masks", tmp_path / "again")


def test_several_labels_and_numbers_are_in_the_table(sample, tmp_path):
    extracted(sample("multilabel.jsonl"), tmp_path / "several", where="label is null")
    rows = {row["key"]: row for row in rows_of(tmp_path / "several/train/examples.csv")}
    for example in shardkit.open(sample("multilabel.jsonl"), "train"):
        assert rows[example.key]["label"] == ";".join(example.label_names)
    extracted(sample("regression.parquet"), tmp_path / "numbers")
    for row in rows_of(tmp_path / "numbers/train/examples.csv"):
        example = shardkit.open(sample("regression.parquet"), "train")[row["key"]]
        assert float(row["label"]) == pytest.approx(example.targets[0])


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("cat", "cat"),
        ("Käfer 1", "Käfer 1"),
        ("a/b", "a%2Fb"),
        ("..", "%2E%2E"),
        (".hidden", "%2Ehidden"),
        ("con\n", "con%0A"),
        ("50%", "50%25"),
        ("dot.", "dot%2E"),
        ("x" * 200, "x" * 200),
        ("", "%00"),
    ],
)
def test_a_name_is_one_part_of_a_path(name, safe):
    assert extraction.safe_name(name) == safe


def test_keys_that_shorten_to_one_path_are_both_written(tmp_path):
    from PIL import Image

    for number, path in enumerate(["cat/a.png", "train/cat/a.png", "a.png"]):
        (tmp_path / "in" / path).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4), (number, 0, 0)).save(tmp_path / "in" / path)
    table = [json.dumps({"image": path, "label": "cat"}) for path in ["cat/a.png", "train/cat/a.png", "a.png"]]
    (tmp_path / "in/t.jsonl").write_text("\n".join(table))
    convert(tmp_path / "in/t.jsonl", tmp_path / "out", "--layout", "table")
    paths = extracted(str(tmp_path / "out"), tmp_path / "folder")
    assert len(set(paths)) == 3
    images = {(tmp_path / "folder" / path).read_bytes() for path in paths}
    assert images == {example["image"] for example in shardkit.open(str(tmp_path / "out"), "train")}


def test_a_folder_with_files_is_refused_and_an_interruption_leaves_none(sample, own, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full/a").touch()
    with pytest.raises(CallError, match="full: this already exists"):
        extracted(sample("shapes"), tmp_path / "full")
    dataset = own("shapes")
    place = shardkit.open(dataset, "train")[50].location
    with open(Path(dataset, place.shard), "r+b") as file:
        file.seek(place.offset + 20)
        file.write(b"\0\0\0\0")
    with pytest.raises(RecordError, match="record 50"):
        extracted(dataset, tmp_path / "new")
    assert not [*tmp_path.glob("new*")]
    (tmp_path / "new.unfinished").mkdir()  # of a killed process
    with pytest.raises(CallError, match=r"new\.unfinished: .*remove this folder"):
        extracted(dataset, tmp_path / "new")


def test_an_extraction_that_is_not_finished_leaves_nothing(sample, tmp_path):
    running = extraction.extract(sample("shapes"), str(tmp_path / "new"), [], None)
    next(running)
    assert (tmp_path / "new.unfinished").exists()
    running.close()  # as Ctrl-C does in the command
    assert not [*tmp_path.iterdir()]


def test_long_names_with_the_same_beginning_stay_apart():
    names = {extraction.safe_name("x" * 300 + end) for end in "abc"}
    assert len(names) == 3
    assert all(len(name.encode()) == 200 for name in names)


@pytest.mark.parametrize(
    ("source", "commands"),
    [
        ("shapes", ["shardkit convert 'my folder' OUT"]),
        ("masks", ["shardkit convert 'my folder' OUT"]),
        ("coco", ["shardkit convert 'my folder/test/boxes.csv' OUT-test"]),
        (
            "multilabel.jsonl",
            ["shardkit convert 'my folder/test/examples.csv' OUT-test --image-column file --label-separator ';'"],
        ),
        ("regression.parquet", ["shardkit convert 'my folder/test/examples.csv' OUT-test --image-column file"]),
    ],
)
def test_the_command_that_converts_the_folder_again_is_known(sample, source, commands):
    assert extraction.commands_to_convert(read_manifest(sample(source)), ["test"], "my folder") == commands
