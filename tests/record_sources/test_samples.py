"""``sample_data``: what the layouts list of the packed sources is what others' readers find in the same files."""

import importlib.util
import io
import json
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import tensorflow as tf
from PIL import Image, ImageOps

from shardkit import images
from shardkit.archives.zip_folder import ZipFolder
from shardkit.images.masks import check_mask, normalise_mask
from shardkit.options.groups import Stored
from shardkit.record_sources.hf_parquet import is_hf_parquet, open_hf_parquet
from shardkit.record_sources.webdataset import is_webdataset, open_webdataset
from shardkit.sources.options import Opening, SourceOptions
from shardkit.sources.recognising.folders.class_folders import open_class_folders
from shardkit.sources.recognising.folders.file_names import open_file_names
from shardkit.sources.recognising.folders.masks import is_masks, open_masks
from shardkit.sources.recognising.only_folders import top_of
from shardkit.storage import open_folder
from shardkit.testing import listed

SAMPLES = Path(__file__).parents[2] / "sample_data"
CLASSES = ["circle", "square", "triangle"]


@pytest.fixture(scope="module")
def remade(tmp_path_factory):
    """What the script makes today."""
    spec = importlib.util.spec_from_file_location("make_packed", SAMPLES / "make_packed.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    folder = tmp_path_factory.mktemp("samples")
    script.make(folder)
    return folder


def image_rows(source):
    """Split, class and bytes by key."""
    found = {}
    for row in listed(source).table.to_pylist():
        assert row["reason"] is None, row
        path = row.get("path") or row["key"]
        read = source.folder
        offset = row.get("offset")
        data = read.read(path) if offset is None else read.read_range(path, offset, row["source_bytes"])
        found[row["key"]] = (row["split"], row["label_name"], data)
    return found


def folder_of(root, name):
    return open_folder(str(root / name))


def read_names(root, spool):
    return image_rows(open_file_names(Opening(folder_of(root, "names"), SourceOptions(label_pattern="^([a-z]+)_"))))


def read_webdataset(root, spool):
    assert is_webdataset(folder_of(root, "webdataset"))
    return image_rows(open_webdataset(Opening(folder_of(root, "webdataset"))))


def read_zip(root, spool):
    return image_rows(open_class_folders(Opening(top_of(ZipFolder(str(root / "folders.zip"))))))


def read_parquet(root, spool):
    assert is_hf_parquet(folder_of(root, "hf"))
    return image_rows(open_hf_parquet(Opening(folder_of(root, "hf"), work=open_folder(str(spool)))))


READERS = [read_names, read_webdataset, read_zip, read_parquet]


@pytest.mark.parametrize("read", READERS)
def test_the_script_makes_what_is_committed(read, remade, tmp_path):
    made, committed = read(remade, tmp_path), read(SAMPLES, tmp_path)
    assert made.keys() == committed.keys()
    for key, (split, label, data) in committed.items():
        assert made[key][:2] == (split, label)
        # Pixels, not bytes: versions of the codec compress differently.
        assert np.array_equal(pixels(made[key][2]), pixels(data))


def pixels(data):
    return np.asarray(Image.open(io.BytesIO(data)))


def test_names_are_those_of_the_files():
    found = read_names(SAMPLES, None)
    assert found == {
        path.name: (None, path.name[:-8], path.read_bytes()) for path in (SAMPLES / "names").iterdir() if path.is_file()
    }
    assert sorted({label for _, label, _ in found.values()}) == CLASSES
    assert len(found) == 12


def test_the_tars_hold_what_tarfile_reads(tmp_path):
    expected = {}
    for name, split in (("shapes-train-000000", "train"), ("shapes-val-000000", "validation")):
        with tarfile.open(SAMPLES / f"webdataset/{name}.tar") as tar:
            content = {member.name: tar.extractfile(member).read() for member in tar}
        for path, data in content.items():
            stem, _, kind = path.partition(".")
            if kind == "png":
                text = content.get(f"{stem}.cls")
                label = text.decode() if text else json.loads(content[f"{stem}.json"])["label"]
                expected[f"{name}/{path}"] = (split, label, data)
    assert read_webdataset(SAMPLES, tmp_path) == expected
    assert len(expected) == 24


def test_the_zip_holds_what_zipfile_reads(tmp_path):
    expected = {}
    with zipfile.ZipFile(SAMPLES / "folders.zip") as archive:
        for name in archive.namelist():
            _, split, label, _ = name.split("/")
            named = "validation" if split == "val" else split
            expected[name.removeprefix("shapes/")] = (named, label, archive.read(name))
    assert read_zip(SAMPLES, tmp_path) == expected
    assert len(expected) == 12


def test_the_parquet_file_holds_what_pyarrow_reads(tmp_path):
    path = "data/train-00000-of-00001"
    expected = {}
    for i, row in enumerate(pq.read_table(SAMPLES / f"hf/{path}.parquet").to_pylist()):
        label = CLASSES[row["label"]]
        expected[f"{path}/{i:08d}-{row['image']['path']}"] = ("train", label, row["image"]["bytes"])
    assert read_parquet(SAMPLES, tmp_path) == expected
    assert len(expected) == 12


def test_masks_are_paired_and_fit_their_upright_images_with_the_numbers_that_pillow_reads():
    folder = folder_of(SAMPLES, "masks")
    assert is_masks(folder)
    rows = listed(open_masks(Opening(folder))).table.to_pylist()
    seen = set()
    for row in rows:
        assert row["reason"] is None, row
        data, mask = folder.read(row["key"]), folder.read(row["mask_path"])
        info, checked = images.check(data), check_mask(mask)
        assert (checked.width, checked.height) == (info.width, info.height)
        stored = normalise_mask(mask, orientation=info.orientation, form=Stored())
        upright = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
        assert (stored.width, stored.height) == upright.size
        numbers = np.asarray(Image.open(io.BytesIO(mask)))
        turned = {1: numbers, 6: np.rot90(numbers, -1)}[info.orientation]
        assert np.array_equal(np.asarray(tf.io.decode_png(stored.data))[..., 0], turned)
        # Below the shapes the picture is coloured otherwise than about them.
        background = np.asarray(upright).astype(int)[turned == 0].mean(axis=0)
        shapes = np.asarray(upright).astype(int)[turned > 0].mean(axis=0)
        assert np.abs(background - shapes).max() > 50
        seen.add((row["split"], Image.open(io.BytesIO(mask)).mode, info.orientation))
    assert len(rows) == 12
    assert seen == {("train", "L", 1), ("train", "L", 6), ("validation", "P", 1)}


def test_the_masks_that_the_script_makes_are_those_committed(remade):
    paths = sorted(path.relative_to(SAMPLES) for path in (SAMPLES / "masks").rglob("*.png"))
    assert paths == sorted(path.relative_to(remade) for path in (remade / "masks").rglob("*.png"))
    for path in paths:
        assert np.array_equal(pixels((remade / path).read_bytes()), pixels((SAMPLES / path).read_bytes()))


def test_the_packed_samples_are_small():
    names = ("masks", "names", "webdataset", "hf")
    files = [path for name in names for path in (SAMPLES / name).rglob("*")] + [SAMPLES / "folders.zip"]
    assert sum(path.stat().st_size for path in files if path.is_file()) < 300_000
