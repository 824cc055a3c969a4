"""Masks, labels in names, tar, zip and Parquet files, converted as users do, and read back beside plain readers."""

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

from ..cli.calling import call, convert
from .reading_back import ORIENTATION, assert_same_images, examples

SAMPLES = Path(__file__).parents[2] / "sample_data"
OPTIONS = {"names": ["--label-pattern", "^([a-z]+)_"]}


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    """A sample source converted with no option but what its layout cannot tell; its dataset's folder."""
    made = {}

    def folder_of(name):
        if name not in made:
            made[name] = tmp_path_factory.mktemp("packed") / "out"
            convert(SAMPLES / name, made[name], *OPTIONS.get(name, []))
            assert call("verify", made[name], "--deep").exit_code == 0
        return made[name]

    return folder_of


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
    said = convert(SAMPLES / "names", "unused", exit_code=1)
    assert "labels in the files' names need --label-pattern" in said


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


def test_entries_that_climb_out_of_archives_are_rejected_by_name(tmp_path):
    data = io.BytesIO()
    Image.new("RGB", (4, 4)).save(data, "PNG")
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        for name in ("cat/a.png", "dog/b.png", "../evil.png", "cat/../../evil.png"):
            archive.writestr(name, data.getvalue())
    said = convert(tmp_path / "bad.zip", tmp_path / "out", exit_code=1)
    assert "../evil.png: bad_name: " in said
    with tarfile.open(tmp_path / "bad.tar", "w") as tar:
        for name in ("cat/a.png", "../evil.png", "/etc/evil.png"):
            member = tarfile.TarInfo(name)
            member.size = len(data.getvalue())
            tar.addfile(member, io.BytesIO(data.getvalue()))
    said = convert(tmp_path / "bad.tar", tmp_path / "out2", exit_code=1)
    assert said.count("bad_name") >= 2
    assert not (tmp_path / "evil.png").exists()
