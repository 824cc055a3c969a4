"""TFRecords of others at the command line: adopted, converted, appended to and verified."""

import json

import shardkit
from shardkit.dataset.manifest import read_manifest

from ..cli.calling import call
from ..dataset.foreign.records import imagenet, write

NAMES = {1: "tench", 2: "shark"}


def record(i):
    return imagenet(i, 1 + i % 2, f"n0{1 + i % 2}", NAMES[1 + i % 2])


def shardkit_does(*arguments):
    ended = call(*arguments)
    assert ended.exit_code == 0, ended.output
    return ended


def examples(folder):
    """Split, key and labels of each example."""
    return {
        (split, one.key, *one.label_names)
        for split in read_manifest(str(folder)).splits
        for one in shardkit.open(str(folder), split)
    }


def test_records_of_others_keep_keys_splits_and_labels_through_their_later_life(tmp_path):
    old, new, more = tmp_path / "old", tmp_path / "new", tmp_path / "more"
    for split, numbers in (("train", range(12)), ("validation", range(12, 18))):
        write(old / f"{split}-00000-of-00001", [record(i) for i in numbers])
    before = {path.name: path.read_bytes() for path in old.iterdir()}
    shardkit_does("adopt", old)
    adopted = examples(old)
    assert len(adopted) == 18
    assert {split for split, *_ in adopted} == {"train", "validation"}

    shardkit_does("convert", old, new, "--shards", "2")
    assert examples(new) == adopted
    assert read_manifest(str(new)).classes == read_manifest(str(old)).classes

    write(more / "train-00000-of-00001", [record(i) for i in range(20, 24)])
    shardkit_does("adopt", more)
    shardkit_does("append", new, more)
    assert examples(new) == adopted | examples(more)
    for folder in (old, more, new):
        found = json.loads(shardkit_does("verify", folder, "--deep", "--json").stdout)
        assert found["problems"] == [], found
    assert {path.name: path.read_bytes() for path in old.iterdir() if path.name in before} == before
