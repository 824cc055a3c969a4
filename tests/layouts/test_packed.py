"""Masks, labels in names, tar, zip and Parquet files, converted as users do, and compared with plain readers."""

import io
import json
import re
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import tensorflow as tf
from PIL import Image

from shardkit import read_manifest
from shardkit.naming import split_of_folder
from shardkit.testing import encoded

from ..cli.calling import call, convert
from .reading_back import ORIENTATION, assert_same_images, examples

SAMPLES = Path(__file__).parents[2] / "sample_data"


def test_masks_are_the_class_numbers_of_their_pixels(converted):
    found, kinds, turned = examples(converted("masks")), set(), []
    assert len(found) == 12
    assert_same_images(found, SAMPLES / "masks")
    for key, one in found.items():
        split, _, name = key.split("/")
        assert one["split"] == split_of_folder(split)
        folder, stem = SAMPLES / "masks" / split / "masks", Path(name).stem
        path = next(path for path in (folder / f"{stem}.png", folder / f"{stem}_mask.png") if path.exists())
        with Image.open(path) as mask:
            kinds.add(mask.mode)
            if mask.size != (one["width"], one["height"]):  # drawn over the picture as it is stored, so turned with it
                with Image.open(SAMPLES / "masks" / key) as image:
                    orientation = image.getexif()[ORIENTATION]
                upright = mask.transpose({6: Image.Transpose.ROTATE_270, 8: Image.Transpose.ROTATE_90}[orientation])
                turned.append(key)
            else:
                upright = mask
            wanted = np.asarray(upright)  # a palette's indices, a grey picture's values
        stored = tf.io.decode_png(one["segmentation_mask"], dtype=tf.uint16 if wanted.max() > 255 else tf.uint8)
        np.testing.assert_array_equal(stored.numpy()[..., 0], wanted)
        assert stored.shape[-1] == 1
        assert wanted.shape == (one["height"], one["width"])
    assert kinds >= {"P", "L"}
    assert turned


def test_masks_shrink_with_their_images_and_keep_their_values(tmp_path):
    convert(SAMPLES / "masks", tmp_path / "out", "--resize", "16")
    for key, one in examples(tmp_path / "out").items():
        mask = tf.io.decode_png(one["segmentation_mask"]).numpy()
        assert mask.shape == (one["height"], one["width"], 1)
        assert min(mask.shape[:2]) == 16
        split, _, name = key.split("/")
        folder, stem = SAMPLES / "masks" / split / "masks", Path(name).stem
        path = next(path for path in (folder / f"{stem}.png", folder / f"{stem}_mask.png") if path.exists())
        with Image.open(path) as original:
            assert set(np.unique(mask)) <= set(np.unique(np.asarray(original)))


def test_labels_in_names(converted):
    found, classes = examples(converted("names")), read_manifest(str(converted("names"))).classes
    names = [path.name for path in (SAMPLES / "names").iterdir()]
    wanted = {name: re.match("[a-z]+", name)[0] for name in names}
    assert {key: classes[one["label"]] for key, one in found.items()} == wanted
    assert_same_images(found, SAMPLES / "names")
    said = convert(SAMPLES / "names", "unused", exit_code=2)
    assert "--label 'name:^(.+)_[0-9]+" in said


def test_webdataset_is_what_tarfile_reads(converted):
    found, classes = examples(converted("webdataset")), read_manifest(str(converted("webdataset"))).classes
    num_images = 0
    for path in sorted((SAMPLES / "webdataset").glob("*.tar")):
        with tarfile.open(path) as tar:
            members = {member.name: tar.extractfile(member).read() for member in tar}
        for name, data in members.items():
            if not name.endswith((".png", ".jpg")):
                continue
            one = found[f"{path.stem}/{name}"]
            assert one["image"] == data
            stem = name.partition(".")[0]
            in_json = json.loads(members.get(f"{stem}.json", b"{}")).get("label")
            label = in_json if in_json is not None else members[f"{stem}.cls"].decode().strip()
            assert classes[one["label"]] == str(label)
            assert one["split"] == ("train" if "train" in path.stem else "validation")
            num_images += 1
    assert num_images == len(found) == 24


def test_a_zip_is_what_zipfile_reads(converted):
    found, classes = examples(converted("folders.zip")), read_manifest(str(converted("folders.zip"))).classes
    with zipfile.ZipFile(SAMPLES / "folders.zip") as archive:
        wanted = {name: archive.read(name) for name in archive.namelist() if name.endswith((".png", ".jpg"))}
    assert {f"shapes/{key}": one["image"] for key, one in found.items()} == wanted
    for key, one in found.items():
        assert classes[one["label"]] == key.split("/")[1]
        assert one["split"] == split_of_folder(key.split("/")[0])


def test_a_zip_gives_the_records_of_the_same_tree_unpacked(tmp_path, converted):
    with zipfile.ZipFile(SAMPLES / "folders.zip") as archive:
        for name in archive.namelist():
            archive.extract(name, tmp_path / "unpacked")
    convert(tmp_path / "unpacked/shapes", tmp_path / "out")
    for path in sorted((tmp_path / "out").glob("*.tfrecord")):
        assert path.read_bytes() == (converted("folders.zip") / path.name).read_bytes()


def test_hugging_face_parquet_is_what_pyarrow_reads(converted):
    found, classes = examples(converted("hf")), read_manifest(str(converted("hf"))).classes
    rows = pq.read_table(SAMPLES / "hf/data/train-00000-of-00001.parquet").to_pylist()
    assert len(found) == len(rows) == 12
    wanted = [(row["image"]["bytes"], row["label"]) for row in rows]
    assert [(found[key]["image"], found[key]["label"]) for key in sorted(found)] == wanted
    assert classes == ["circle", "square", "triangle"]


def test_a_plan_of_a_parquet_file_leaves_no_images_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = sorted((SAMPLES / "hf").rglob("*"))
    assert call("plan", SAMPLES / "hf").exit_code == 0
    assert sorted((SAMPLES / "hf").rglob("*")) == before
    assert [path for path in tmp_path.iterdir() if path.name.startswith("shardkit")] == []


def picture(name):
    """A PNG of a grey of its own."""
    return encoded(Image.new("L", (4, 4), hash_of(name)), "PNG")


def hash_of(name):
    return sum(name.encode()) % 256


def packed(path, names):
    """An archive of that kind, of a picture for each name."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, picture(name))
    else:
        with tarfile.open(path, "w") as tar:
            for name in names:
                member = tarfile.TarInfo(name)
                member.size = len(picture(name))
                tar.addfile(member, io.BytesIO(picture(name)))
    return path


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_entries_that_climb_out_of_archives_or_stand_twice_are_rejected_by_name(tmp_path, kind):
    climbing = ["../evil/x.png", "/abs.png", "cat/../../evil.png", "..\\w.png", "C:\\a\\b.png"]
    path = packed(tmp_path / f"bad.{kind}", ["cat/a.png", "dog/b.png", *climbing, "cat/a.png"])
    said = convert(path, tmp_path / "out", exit_code=1)
    for name in climbing:
        assert said.count(f"  {name}: bad_name: the entry {name} of bad.{kind} ") == 1
    assert said.count(f"  cat/a.png: duplicate_key: bad.{kind} holds the entry again") == 1
    assert "6 of 8 images and records are bad" in said
    assert not (tmp_path / "evil.png").exists()


@pytest.mark.parametrize("top", ["", "ds/"])
def test_a_tar_of_split_and_class_folders_gives_the_records_of_the_same_zip(tmp_path, top):
    names = [f"{top}{split}/{label}/{i}.png" for split in ("train", "test") for label in ("cat", "dog") for i in "01"]
    for kind in ("zip", "tar"):
        convert(packed(tmp_path / f"a.{kind}", names), tmp_path / kind, "--name", "a")
    found, manifest = examples(tmp_path / "tar"), read_manifest(str(tmp_path / "tar"))
    assert (list(manifest.splits), manifest.classes) == (["train", "test"], ["cat", "dog"])
    assert {f"{top}{key}": one["image"] for key, one in found.items()} == {name: picture(name) for name in names}
    records = sorted((tmp_path / "tar").glob("*.tfrecord"))
    assert len(records) == 2
    assert all(path.read_bytes() == (tmp_path / "zip" / path.name).read_bytes() for path in records)


def test_samples_with_lists_of_labels_have_several_labels(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for name, labels in {"1": ["cat", "dog"], "2": [], "3": ["dog"]}.items():
            for kind, data in (("png", picture(name)), ("json", json.dumps({"label": labels}).encode())):
                member = tarfile.TarInfo(f"{name}.{kind}")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    said = convert(tmp_path / "a.tar", tmp_path / "out")
    assert f"{tmp_path}/a.tar: read as WebDataset (no split), any number of classes a sample" in said
    classes = read_manifest(str(tmp_path / "out")).classes
    found = {key: [classes[i] for i in one["labels"]] for key, one in examples(tmp_path / "out").items()}
    assert found == {"a/1.png": ["cat", "dog"], "a/2.png": [], "a/3.png": ["dog"]}
