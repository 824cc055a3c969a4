"""Checkpoints continue the training that wrote them, and no other one."""

import json
import re
import shlex

import pytest

import shardkit
from shardkit.errors import CallError
from shardkit.testing import picture, write_class_folders, write_tree

from ..cli.calling import call

SETTINGS = {"seed": 0, "batch_size": 64, "image_size": (32, 32)}


@pytest.fixture
def dataset(tmp_path):
    """A dataset of ants and bees."""
    write_class_folders(tmp_path / "in", {"ant": 3, "bee": 3})
    assert call("convert", tmp_path / "in", tmp_path / "OUT").exit_code == 0
    return str(tmp_path / "OUT")


@pytest.fixture
def begun(dataset, tmp_path):
    """The folder of checkpoints of a training on it."""
    folder = tmp_path / "checkpoints"
    shardkit.check_checkpoints(folder, dataset, **SETTINGS)
    (folder / "ckpt-1.index").write_bytes(b"")
    return folder


def test_the_same_training_continues_also_when_the_dataset_was_moved(begun, dataset, tmp_path):
    before = (begun / "training.json").read_text()
    shardkit.check_checkpoints(str(begun), dataset, **SETTINGS)
    (tmp_path / "OUT").rename(tmp_path / "MOVED")
    shardkit.check_checkpoints(begun, tmp_path / "MOVED", **SETTINGS)
    assert (begun / "training.json").read_text() == before


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"seed": 1}, "seed 0, now 1"),
        ({"batch_size": 32, "seed": 1}, "seed 0, now 1; batch_size 64, now 32"),
        ({"image_size": (64, 64)}, "image_size 32, 32, now 64, 64"),
    ],
)
def test_other_settings_stop(begun, dataset, changed, sentence):
    message = f"the checkpoints are from another training: {sentence}; use another folder"
    with pytest.raises(CallError, match=message):
        shardkit.check_checkpoints(begun, dataset, **{**SETTINGS, **changed})


def test_another_dataset_stops_with_both_names_and_classes(begun, dataset, tmp_path):
    write_class_folders(tmp_path / "other", {"cat": 3, "dog": 3})
    assert call("convert", tmp_path / "other", tmp_path / "OTHER").exit_code == 0
    with pytest.raises(CallError) as stopped:
        shardkit.check_checkpoints(begun, str(tmp_path / "OTHER"), **SETTINGS)
    digests = [shardkit.read_manifest(one).digest[:12] for one in (dataset, str(tmp_path / "OTHER"))]
    assert str(stopped.value) == (
        f"{begun}: the checkpoints are from another training: dataset {dataset} with digest {digests[0]}…, now "
        f"{tmp_path / 'OTHER'} with digest {digests[1]}…; classes ant, bee, now cat, dog; use another folder for the "
        "checkpoints (`--checkpoints NEW`), or remove this one"
    )
    shardkit.check_checkpoints(tmp_path / "NEW", str(tmp_path / "OTHER"), **SETTINGS)


def test_after_an_append_the_earlier_data_continues_by_the_flag_that_is_printed(begun, dataset, tmp_path):
    write_tree(tmp_path / "more", {f"{name}/9{name}.png": picture(90 + len(name)) for name in ("ant", "bee")})
    assert call("append", dataset, tmp_path / "more").exit_code == 0
    with pytest.raises(CallError) as stopped:
        shardkit.check_checkpoints(begun, dataset, **SETTINGS)
    [flag] = re.findall(r"before the append \(`(.*?)`\)", str(stopped.value))
    name, pinned = shlex.split(flag)
    assert name == "--dataset"
    shardkit.check_checkpoints(begun, pinned, **SETTINGS)
    assert sum(split.num_examples for split in shardkit.read_manifest(pinned).splits.values()) == 6


def test_files_of_unknown_origin_are_not_continued(dataset, tmp_path):
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    (folder / ".shardkit-tmp-1").write_bytes(b"")  # of another process of the same training
    shardkit.check_checkpoints(folder, dataset)
    (folder / "training.json").unlink()
    (folder / "ckpt-1.index").write_bytes(b"")
    with pytest.raises(CallError, match=r"the folder has files and no training\.json .* remove this one"):
        shardkit.check_checkpoints(folder, dataset)
    assert not (folder / "training.json").exists()


@pytest.mark.parametrize("text", ["", "[1]", "{", "[" * 100_000, '"\udcff"'], ids=len)
def test_a_damaged_record_stops(begun, dataset, text):
    (begun / "training.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(CallError, match="the file is damaged, so it is unknown what was trained; use another folder"):
        shardkit.check_checkpoints(begun, dataset, **SETTINGS)


def test_what_a_record_says_cannot_break_the_message(begun, dataset):
    (begun / "training.json").write_text(json.dumps({"digest": 5, "classes": None, "seed": "\x1b[31m\n"}))
    with pytest.raises(CallError, match=r"classes None, now ant, bee; seed \\x1b\[31m\\n, now 0"):
        shardkit.check_checkpoints(begun, dataset, **SETTINGS)


def test_a_store_holds_the_record_too(dataset, s3_bucket):
    for _ in range(2):
        shardkit.check_checkpoints(f"{s3_bucket}/checkpoints", dataset, **SETTINGS)
    with pytest.raises(CallError, match="seed 0, now 1"):
        shardkit.check_checkpoints(f"{s3_bucket}/checkpoints", dataset, **{**SETTINGS, "seed": 1})
