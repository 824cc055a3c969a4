"""The same bytes wherever a source lies and whatever converts it: in an archive, in an object store, by any workers."""

import shutil
from pathlib import Path

import pytest

from shardkit import read_manifest
from shardkit.storage import open_folder
from shardkit.testing import digests_of

from ..cli.calling import convert
from .reading_back import assert_same_images, examples

SAMPLES = Path(__file__).parents[2] / "sample_data"


def shards_of(output):
    """The records of every shard."""
    return {path.name: path.read_bytes() for path in output.glob("*.tfrecord")}


def some(names, *slow):
    """Parameters: the names, and those that are worth a run before a release only."""
    return pytest.mark.parametrize("name", [*names, *(pytest.param(name, marks=pytest.mark.slow) for name in slow)])


@some(["coco", "masks"], "voc/VOCdevkit/VOC2012", "yolo", "metadata")
def test_a_folder_in_a_zip_gives_the_records_of_the_folder(name, converted, tmp_path):
    shutil.make_archive(str(tmp_path / "source"), "zip", SAMPLES / name)
    convert(tmp_path / "source.zip", tmp_path / "archive")
    assert shards_of(tmp_path / "archive") == shards_of(converted(name))


@some(["voc", "webdataset", "hf", "folders.zip"], "coco", "yolo", "masks", "metadata")
def test_a_source_in_an_object_store_gives_the_records_of_the_one_on_disk(name, converted, s3_bucket, tmp_path):
    remote = open_folder(f"{s3_bucket}/{name}" if (SAMPLES / name).is_dir() else s3_bucket)
    files = sorted((SAMPLES / name).rglob("*")) if (SAMPLES / name).is_dir() else [SAMPLES / name]
    for path in files:
        if path.is_file():
            below = str(path.relative_to(SAMPLES / name)) if path != SAMPLES / name else name
            with remote.atomic_write(below) as file:
                file.write(path.read_bytes())
    convert(f"{s3_bucket}/{name}", tmp_path / "store")
    assert shards_of(tmp_path / "store") == shards_of(converted(name))


def test_a_table_may_name_images_in_an_object_store(s3_bucket, tmp_path):
    for name in ("circle_000.jpg", "circle_001.jpg"):
        with open_folder(s3_bucket).atomic_write(f"photos/{name}") as file:
            file.write((SAMPLES / "shapes/circle" / name).read_bytes())
    lines = [f"{s3_bucket}/photos/circle_00{i}.jpg,round" for i in range(2)]
    (tmp_path / "t.csv").write_text("image_uri,label\n" + "\n".join(lines) + "\n")
    convert(tmp_path / "t.csv", tmp_path / "out", "--layout", "table")
    assert sorted(examples(tmp_path / "out")) == ["circle_000.jpg", "circle_001.jpg"]


@some(["coco", "webdataset"], "attributes.tsv", "multilabel.jsonl", "masks", "hf")
def test_every_file_is_the_same_for_any_number_of_workers(name, tmp_path):
    options = ["--shards", "2"]
    convert(SAMPLES / name, tmp_path / "one", *options, "--workers", "1")
    convert(SAMPLES / name, tmp_path / "four", *options, "--workers", "4")
    assert digests_of(tmp_path / "one") == digests_of(tmp_path / "four")


def test_class_folders_are_read_back_as_they_lie_there(converted):
    dataset = converted("shapes")
    found, classes = examples(dataset), read_manifest(str(dataset)).classes
    assert {key: classes[one["label"]] for key, one in found.items()} == {
        f"{path.parent.name}/{path.name}": path.parent.name for path in (SAMPLES / "shapes").rglob("*.*")
    }
    assert_same_images(found, SAMPLES / "shapes")
