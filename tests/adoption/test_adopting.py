"""From TFRecords of others to a dataset that verify, info and shardkit.open read; without TensorFlow."""

import contextlib
import json
import os
import shutil

import numpy as np
import pytest

import shardkit
from shardkit.dataset.manifest import digest_of
from shardkit.errors import CallError, DataError, ManifestError
from shardkit.storage import open_folder
from shardkit.testing import digests_of

from ..dataset.foreign.records import coco, example, framed, imagenet, jpeg, melanoma, picture, write
from .checking import problems


@pytest.fixture
def old(tmp_path):
    """Three files of tensorflow/models' ImageNet."""
    names = {1: ("n01", "tench"), 2: ("n02", "shark")}
    for path, first in (("train-00000-of-00002", 0), ("train-00001-of-00002", 5), ("validation-00000-of-00001", 10)):
        numbers = range(first, first + 5)
        write(tmp_path / "old" / path, [imagenet(i, 1 + i % 2, *names[1 + i % 2]) for i in numbers])
    return tmp_path / "old"


def test_records_become_a_dataset_and_no_byte_of_them_changes(old):
    before = digests_of(old, but=())
    manifest = shardkit.adopt(old)
    after = digests_of(old, but=())
    assert {path.partition("/")[0] for path in set(after) - set(before)} == {"manifest.json", "indexes"}
    assert after.items() >= before.items()
    assert {name: split.num_examples for name, split in manifest.splits.items()} == {"train": 10, "validation": 5}
    assert manifest.classes == ["0", "n01", "n02"]
    assert manifest.splits["train"].class_counts == [0, 5, 5]
    assert problems(old) == []
    examples = shardkit.open(str(old), "train", where="label_name = 'n02'")
    assert [one.key for one in examples] == [f"n02_{i}.JPEG" for i in (1, 3, 5, 7, 9)]
    one = examples["n02_5.JPEG"]
    assert (one["image"], one["label"], one["height"], one["width"]) == (jpeg(5), 2, 8, 12)
    assert one["image/class/text"] == "shark"
    assert np.asarray(one.image()).shape == (8, 12, 3)


def test_a_folder_that_is_only_read_gets_its_dataset_elsewhere(old, tmp_path):
    into = tmp_path / "a" / "new"
    before = digests_of(old, but=())
    old.chmod(0o555)
    manifest = shardkit.adopt([old / "train-00000-of-00002", old / "train-00001-of-00002"], into=into)
    assert manifest.records_root == "../../old"
    assert next(shard.path for _, shard in manifest.shards()) == "../../old/train-00000-of-00002"
    assert digests_of(old, but=()) == before
    assert problems(into) == []
    assert shardkit.open(str(into), "train")[0]["image"] == jpeg(0)
    moved = tmp_path / "other"
    moved.mkdir()
    old.chmod(0o755)
    shutil.move(tmp_path / "a", moved / "a")
    shutil.move(old, moved / "old")  # both together
    assert shardkit.open(str(moved / "a" / "new"), "train")[9].key == "n02_9.JPEG"


def test_a_byte_that_changes_after_the_adoption_is_found(old):
    shardkit.adopt(old)
    data = bytearray((old / "train-00001-of-00002").read_bytes())
    data[len(data) // 2] ^= 1
    (old / "train-00001-of-00002").write_bytes(data)
    assert "train-00001-of-00002, record 2: the CRC of the record's data" in problems(old, deep=False)[0]
    (old / "train-00001-of-00002").unlink()
    assert problems(old) == ["train-00001-of-00002: is missing"]


def test_a_folder_that_cannot_be_written_is_refused_before_records_are_read(old, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: path != str(old))  # root may write everywhere
    with pytest.raises(CallError, match="is read-only; add into='DATASET'"):
        shardkit.adopt(old)
    assert shardkit.adopt(old, into=old.parent / "new" / "er").records_root == "../../old"


def test_boxes_of_others_are_read_as_boxes(tmp_path):
    records = [example(coco(i, [(18, "dog"), (1, "person")][: i % 3])) for i in range(6)]
    (tmp_path / "val.record").write_bytes(framed(records))
    manifest = shardkit.adopt(tmp_path / "val.record")
    assert problems(tmp_path) == []
    assert manifest.classes[1] == "person"
    assert manifest.classes[18] == "dog"
    examples = shardkit.open(str(tmp_path), "validation")
    assert [len(one.boxes) for one in examples] == [0, 1, 2, 0, 1, 2]
    np.testing.assert_allclose(examples[2].boxes, [[0.125, 0.25, 0.75, 0.5]] * 2)
    assert examples[2].label_names == ["dog", "person"]
    assert examples[2]["objects/area"].tolist() == [12.5, 12.5]


def test_a_field_of_objects_with_fewer_values_than_labels_is_left_out(tmp_path):
    records = [{**coco(i), "image/object/area": [1.0] * (2 - i % 2)} for i in range(4)]
    write(tmp_path / "val.record", records)
    manifest = shardkit.adopt(tmp_path)
    assert "objects/area" not in manifest.features
    assert "objects/is_crowd" in manifest.features
    assert problems(tmp_path) == []


def test_an_empty_list_of_another_kind_is_refused_as_tensorflow_does(tmp_path):
    odd = {**coco(1, []), "image/object/bbox/xmin": []}
    data = example(coco(0)), example(odd).replace(b"bbox/xmin\x12\x02\x12\x00", b"bbox/xmin\x12\x02\x0a\x00")
    (tmp_path / "val.record").write_bytes(framed(data))
    with pytest.raises(DataError, match=r"record 1: its feature 'image/object/bbox/xmin' is an empty list of bytes"):
        shardkit.adopt(tmp_path)


def test_records_without_names_are_numbered(tmp_path):
    nameless = [{name: value for name, value in melanoma(i).items() if name != "image_name"} for i in range(3)]
    write(tmp_path / "a" / "x.tfrec", nameless)
    write(tmp_path / "b" / "x.tfrec", nameless)
    shardkit.adopt(tmp_path, split_files={"train": "a/*", "test": "b/*"})
    assert [one.key for one in shardkit.open(str(tmp_path), "test")] == [f"b/x.tfrec/{i:08d}" for i in range(3)]
    assert problems(tmp_path) == []


BAD = {
    "a damaged record": (
        lambda data, at: data[: at + 40] + bytes([data[at + 40] ^ 1]) + data[at + 41 :],
        r"b.tfrecord, record 20: at byte \d+: the CRC of the record's data",
    ),
    "a file that ends early": (lambda data, at: data[: at + 40], "b.tfrecord, record 20: at byte .* ends inside"),
    "no Example": (lambda data, at: data[:at] + framed([b"hello"]), "b.tfrecord, record 20: "),
    "no image": (
        lambda data, at: data[:at] + framed([example({"label": 1})]),
        "b.tfrecord, record 20: its feature 'image' has 0 values",
    ),
    "text as image": (
        lambda data, at: data[:at] + framed([example({"image": b"none", "label": 1})]),
        "b.tfrecord, record 20: the image in 'image'",
    ),
    "an image that the reader does not decode": (
        lambda data, at: data[:at] + framed([example({"image": picture("BMP"), "label": 1})]),
        "b.tfrecord, record 20: the image is a BMP",
    ),
    "no label": (
        lambda data, at: data[:at] + framed([example({"image": jpeg()})]),
        "b.tfrecord, record 20: it has no feature 'label'",
    ),
    "two labels": (
        lambda data, at: data[:at] + framed([example({"image": jpeg(), "label": [1, 2]})]),
        "b.tfrecord, record 20: its 'label' has 2 values",
    ),
    "the label of TFDS's test sets": (
        lambda data, at: data[:at] + framed([example({"image": jpeg(), "label": -1})]),
        "b.tfrecord, record 20: its label in 'label' is -1",
    ),
    "another kind of label": (
        lambda data, at: data[:at] + framed([example({"image": jpeg(), "label": 1.0})]),
        "b.tfrecord, record 20: its feature 'label' is float",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_record_that_cannot_be_read_as_it_is_is_named(name, tmp_path):
    change, sentence = BAD[name]
    records = [{"image": jpeg(i), "label": i % 2} for i in range(20)]
    write(tmp_path / "a.tfrecord", records)
    good = write(tmp_path / "b.tfrecord", [*records, records[0]])
    (tmp_path / "b.tfrecord").write_bytes(change(good.read_bytes(), len(framed([example(one) for one in records]))))
    before = digests_of(tmp_path, but=())
    with pytest.raises(DataError, match=sentence) as raised:
        shardkit.adopt(tmp_path)
    (change,) = raised.value.refusal.changes
    # Without the option that conversion stops at the file.
    option = {"keep_truncated": True} if name == "a file that ends early" else {}
    assert (change.command, change.sources) == ("convert", (str(tmp_path),))
    assert change.options == {"layout": "tfrecord", **option}
    assert digests_of(tmp_path, but=()) == before
    assert not (tmp_path / "indexes").exists()


def test_pixels_and_texts_need_a_conversion(tmp_path):
    write(tmp_path / "a.tfrecord", [{"image": jpeg(i), "label": "cat"} for i in range(3)])
    with pytest.raises(DataError, match=r"are texts, not numbers") as raised:
        shardkit.adopt(tmp_path)
    assert raised.value.refusal.changes[0].command == "convert"


def test_a_number_of_two_names_keeps_its_number(tmp_path):
    for number in range(10):  # of which 8 are looked at first
        names = ["crane", "stork" if number == 4 else "heron"]
        records = [{"image": jpeg(i), "label": i, "label_name": name} for i, name in enumerate(names)]
        write(tmp_path / f"{number}.tfrecord", records)
    assert shardkit.adopt(tmp_path).classes == ["0", "1"]
    (tmp_path / "4.tfrecord").unlink()
    assert shardkit.adopt(tmp_path, overwrite=True).classes == ["crane", "heron"]


def test_a_second_adoption_replaces_the_first(old):
    first = shardkit.adopt(old)
    second = shardkit.adopt(old, classes=["tench", "shark"], overwrite=True)
    assert second.classes == ["0", "tench", "shark"]
    assert first.plan_digest != second.plan_digest
    assert [path.name for path in (old / "indexes").iterdir()] == [second.plan_digest[:16]]
    assert problems(old) == []
    again = shardkit.adopt(old, classes=["tench", "shark"], overwrite=True)
    assert again.digest == second.digest  # the same bytes


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"manifest.json": b"{}"}, "manifest.json is not shardkit's"),
        ({"indexes/mine.txt": b"x"}, "indexes holds files that shardkit did not write, such as mine.txt"),
    ],
)
def test_files_of_others_are_not_overwritten(files, sentence, old):
    for path, content in files.items():
        (old / path).parent.mkdir(exist_ok=True)
        (old / path).write_bytes(content)
    with pytest.raises(CallError, match=sentence):
        shardkit.adopt(old)
    assert {path: (old / path).read_bytes() for path in files} == files


def changed(dataset, **fields):
    """Write a manifest with other fields and a right digest, as an attacker would."""
    manifest = shardkit.read_manifest(str(dataset)).model_copy(update=fields)
    manifest = manifest.model_copy(update={"digest": digest_of(manifest)})
    (dataset / "manifest.json").write_bytes(manifest.to_bytes())


@pytest.mark.parametrize(
    "root", ["/etc", "..//etc", "../..x/../etc", "../a/../../b", "./../old", "old", "../old/", ".."]
)
def test_a_manifest_names_one_folder_outside_and_no_shard_elsewhere(root, old, tmp_path):
    new = tmp_path / "new"
    shardkit.adopt(old, into=new)
    changed(new, records_root=root)
    with pytest.raises(ManifestError, match="may not be used") if root != ".." else contextlib.nullcontext():
        shardkit.read_manifest(str(new))
    assert root != ".." or problems(new) == []  # the folder above holds the other one


def test_a_link_out_of_the_named_folder_is_refused(old, tmp_path):
    new, secret = tmp_path / "new", tmp_path / "secret"
    shardkit.adopt(old, into=new)
    shutil.move(old / "train-00000-of-00002", secret)
    (old / "train-00000-of-00002").symlink_to(secret)
    with pytest.raises(ManifestError, match=f"symbolic link to {secret}, outside of {old}"):
        shardkit.open(str(new), "train")
    assert "symbolic link" in problems(new)[0]


def test_records_in_an_object_store_are_adopted_where_they_are(old, s3_bucket):
    with pytest.raises(CallError, match="local folders only"):
        shardkit.adopt(old, into=f"{s3_bucket}/new")
    store = open_folder(f"{s3_bucket}/old")
    for path in old.iterdir():
        with store.atomic_write(path.name) as file:
            file.write(path.read_bytes())
    manifest = shardkit.adopt([f"{s3_bucket}/old/train-00000-of-00002", f"{s3_bucket}/old/train-00001-of-00002"])
    assert (manifest.root.url, manifest.records_root) == (f"{s3_bucket}/old", None)
    assert shardkit.open(f"{s3_bucket}/old", "train")[9].key == "n02_9.JPEG"


def test_records_that_tfds_announces_and_that_are_missing_are_refused(old):
    info = {
        "name": "x",
        "splits": [{"name": "train", "filepathTemplate": "train-00000-of-00002", "shardLengths": ["6"]}],
    }
    (old / "dataset_info.json").write_text(json.dumps(info))
    with pytest.raises(DataError, match=r"has 5 records, and dataset_info\.json announces 6"):
        shardkit.adopt(old)
