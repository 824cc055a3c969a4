"""Datasets as sources, by the commands that a user types."""

import json
from fractions import Fraction

import pytest

from shardkit.options.groups import ConvertOptions
from shardkit.sources import SourceOptions
from shardkit.storage import open_folder
from shardkit.testing import convert_without_beam, files_of, write_class_folders

from .calling import call, convert
from .test_positions import source as positions_source


@pytest.fixture
def old(tmp_path):
    convert_without_beam(str(write_class_folders(tmp_path / "raw", {"a": 12, "b": 8})), str(tmp_path / "old"))
    return tmp_path / "old"


def test_the_command_writes_what_one_thread_writes(old, tmp_path):
    convert(old, tmp_path / "new", "--splits", "70/30", "--shards", "2", "--workers", "2")
    options = ConvertOptions.of({"splits": {"train": Fraction(7, 10), "validation": Fraction(3, 10)}, "shards": 2})
    convert_without_beam(str(old), str(tmp_path / "same"), options)
    found, wanted = files_of(tmp_path / "new"), files_of(tmp_path / "same")
    del found["run-log.jsonl"], wanted["run-log.jsonl"]
    assert found == wanted


def test_info_says_where_the_rejected_files_of_the_source_dataset_are(old, tmp_path):
    """They are not copied: what was rejected is no part of the records that are read."""
    convert_without_beam(str(old), str(tmp_path / "new"))
    place = "rejected when the source dataset OLD was made: `shardkit info OLD --rejected`"
    assert f"rejected: none; files that were {place}" in call("info", tmp_path / "new").stdout
    listed = call("info", tmp_path / "new", "--rejected", "--json")
    assert (place in listed.stderr, json.loads(listed.stdout)) == (True, [])
    assert call("info", old, "--rejected").output == ""


def test_several_datasets_are_several_paths(old, tmp_path):
    convert_without_beam(str(write_class_folders(tmp_path / "raw c", {"c": 3, "a": 2})), str(tmp_path / "c"))
    (tmp_path / "keys.txt").write_text("c/a/000.png\n")
    paths = [old, tmp_path / "c", "--key-prefix"]
    planned = json.loads(call("plan", *paths, "--json", "--drop", tmp_path / "keys.txt").stdout)
    assert (planned["classes"], planned["source"]["num_files"]) == (["a", "b", "c"], 24)
    result = call("plan", *paths, "--splits", "0.5/0.6")
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr
    refused = call("convert", old, tmp_path / "raw c", tmp_path / "new")
    assert refused.exit_code == 2
    assert "is a dataset and" in refused.stderr


def test_a_refused_call_repeats_all_datasets_in_its_commands(tmp_path):
    for name in ("a", "b"):
        source = write_class_folders(tmp_path / f"raw {name}", {f"train/{name}": 3, f"test/{name}": 2})
        convert_without_beam(str(source), str(tmp_path / name))
    refused = call("convert", tmp_path / "a", tmp_path / "b", tmp_path / "new", "--splits", "80/20")
    assert refused.exit_code == 2
    assert f"shardkit convert {tmp_path / 'a'} {tmp_path / 'b'} {tmp_path / 'new'} --splits-of train" in refused.stderr


def test_a_dataset_of_one_class_needs_no_second_confirmation(tmp_path):
    raw = write_class_folders(tmp_path / "raw", {"a": 3})
    convert_without_beam(str(raw), str(tmp_path / "old"), source_options=SourceOptions(layout="class-folders"))
    assert json.loads(call("plan", tmp_path / "old", "--shards", "1", "--json").stdout)["classes"] == ["a"]


@pytest.mark.slow
def test_datasets_in_an_object_store(s3_bucket, tmp_path):
    for name, counts in (("a", {"cat": 6, "dog": 4}), ("b", {"cat": 2, "eel": 3})):
        convert(write_class_folders(tmp_path / name, counts), f"{s3_bucket}/sets/{name}")
    open_folder(s3_bucket).create()
    with open_folder(s3_bucket).atomic_write("keys.txt") as file:
        file.write(b"b/eel/000.png\n")
    paths = [f"{s3_bucket}/sets/{name}" for name in "ab"]
    convert(*paths, f"{s3_bucket}/new", "--key-prefix", "--drop", f"{s3_bucket}/keys.txt", "--shards", "2")
    info = json.loads(call("info", f"{s3_bucket}/new", "--json").stdout)
    assert (info["classes"], info["splits"]["train"]["class_counts"]) == (["cat", "dog", "eel"], [8, 4, 2])
    assert call("verify", f"{s3_bucket}/new", "--deep").exit_code == 0


def test_positions_of_stored_images_are_told_again(tmp_path):
    convert_without_beam(str(positions_source(tmp_path)), str(tmp_path / "old"), shards=1)
    planned = call("plan", tmp_path / "old", "--shards", "2")
    assert "3 of 8 images have GPS positions in the metadata, and 3 are stored" in " ".join(planned.stderr.split())
    made = convert_without_beam(str(tmp_path / "old"), str(tmp_path / "new"), strip_metadata=True)
    assert made.num_with_gps == 0
