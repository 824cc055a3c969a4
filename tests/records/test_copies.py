"""`export --to parquet` and `--to webdataset`: all examples, in the form of another tool."""

import json
import tarfile

import numpy as np
import pyarrow.parquet as pq
import pytest

import shardkit
from shardkit.dataset.manifest import read_manifest

from ..cli.calling import SAMPLE_DATA, call

KINDS = ("shapes", "coco", "masks", "multilabel.jsonl", "regression.parquet")
each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="session")
def datasets(made_once):
    """A dataset of each kind in two shards a split at most; not to be changed."""

    def make(folder):
        for kind in KINDS:
            splits = () if kind in {"coco", "masks"} else ("--splits", "train=0.8,test=0.2")
            assert call("convert", SAMPLE_DATA / kind, folder / kind, *splits, "--shards", "2").exit_code == 0

    return made_once("datasets-for-copies", make)


def plain(value):
    return value.tolist() if isinstance(value, np.ndarray) else value


def examples_of(dataset, split):
    return [{name: plain(value) for name, value in one.items()} for one in shardkit.open(dataset, split)]


@each_kind
def test_parquet_has_every_value_and_the_features_of_hugging_face(datasets, tmp_path, kind):
    assert call("export", datasets / kind, "--to", "parquet", "-o", tmp_path / "hf").exit_code == 0
    manifest = read_manifest(str(datasets / kind))
    for split in manifest.splits:
        files = sorted((tmp_path / "hf" / "data").glob(f"{split}-*.parquet"))
        assert files[0].name == f"{split}-00000-of-{len(files):05d}.parquet"
        rows = [row for file in files for row in pq.read_table(file).to_pylist()]
        expected = examples_of(datasets / kind, split)
        assert len(rows) == len(expected)
        for row, example in zip(rows, expected, strict=True):
            objects = row.pop("objects", None) or {}
            found = row | {f"objects/{name}": value for name, value in objects.items()}
            found = {name: one["bytes"] if isinstance(one, dict) else one for name, one in found.items()}
            assert found.keys() == example.keys()
            for name, value in found.items():
                np.testing.assert_array_equal(value, example[name], f"{name} of {example['key']}")
        told = json.loads(pq.read_schema(files[0]).metadata[b"huggingface"])["info"]["features"]
        assert told["image"] == {"_type": "Image"}
        if "label" in told and manifest.classes:
            assert told["label"] == {"_type": "ClassLabel", "names": manifest.classes}


def test_parquet_of_class_folders_is_converted_to_the_same_classes_and_images(datasets, tmp_path):
    assert call("export", datasets / "shapes", "--to", "parquet", "-o", tmp_path / "hf").exit_code == 0
    assert call("convert", tmp_path / "hf", tmp_path / "out").exit_code == 0
    for split in ("train", "test"):
        before, after = (
            sorted((one["image"], one.label_names) for one in shardkit.open(dataset, split))
            for dataset in (datasets / "shapes", tmp_path / "out")
        )
        assert before == after


@each_kind
def test_webdataset_has_every_value(datasets, tmp_path, kind):
    assert call("export", datasets / kind, "--to", "webdataset", "-o", tmp_path / "tars").exit_code == 0
    manifest = read_manifest(str(datasets / kind))
    for split in manifest.splits:
        samples = {}
        for file in sorted((tmp_path / "tars").glob(f"{split}-*.tar")):
            with tarfile.open(file) as tar:
                for member in tar:
                    number, _, ending = member.name.partition(".")
                    samples.setdefault(number, {})[ending] = tar.extractfile(member).read()
        expected = examples_of(datasets / kind, split)
        assert [*samples] == [f"{number:09d}" for number in range(len(expected))]
        for sample, example in zip(samples.values(), expected, strict=True):
            told = json.loads(sample["json"])
            told |= {"image": sample.get("jpg") or sample.get("png")}
            told |= {"segmentation_mask": sample["mask.png"]} if "mask.png" in sample else {}
            names = told.pop("label_names", [])
            for name, value in told.items():
                np.testing.assert_array_equal(value, example[name], name)
            assert told.keys() == example.keys()
            if "cls" in sample:
                assert manifest.classes[int(sample["cls"])] == names[0]
    if manifest.classes:
        assert (tmp_path / "tars" / "classes.txt").read_text().splitlines() == manifest.classes


def test_a_copy_is_whole_or_not_there(datasets, tmp_path, monkeypatch):
    shapes = datasets / "shapes"
    for words, sentence in (
        ([], "writes all examples again; give a new folder with -o FOLDER"),
        (["-o", tmp_path], "this already exists and is not empty"),
        (["-o", tmp_path / "new", "--title", "x"], "--title has no effect on --to parquet"),
    ):
        (tmp_path / "mine").touch()
        result = call("export", shapes, "--to", "parquet", *words)
        assert result.exit_code == 2
        assert sentence in result.stderr
    monkeypatch.setattr("shardkit.records.parquet_files._row", _fail)
    assert call("export", shapes, "--to", "parquet", "-o", tmp_path / "new").exit_code == 3
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def _fail(_):
    raise OSError(28, "No space left on device")
