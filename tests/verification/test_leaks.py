import json
import re
import shlex

import pytest

from shardkit.dataset.manifest import read_manifest
from shardkit.testing import convert_without_beam, picture, write_tree
from shardkit.verification import leaks

from ..cli.calling import call, convert


def source_of(root, places):
    """A source of pictures, equal numbers being equal pictures."""
    return write_tree(root / "source", {path: picture(number) for path, number in places.items()})


def found(root, places, **options):
    convert_without_beam(str(source_of(root, places)), str(root / "out"), **options)
    return [str(problem) for problem in leaks.leak_problems(read_manifest(str(root / "out")))]


def run_printed(root, leak):
    """The command that a leak prints makes a dataset without it."""
    words = shlex.split(re.search("`(.*)`", leak)[1].replace(" NEW ", f" {root}/new "))
    assert call(*words[1:], "--quiet").exit_code == 0
    assert call("verify", root / "new", "--leaks").exit_code == 0


def test_the_same_bytes_in_two_splits_are_told_with_both_keys(tmp_path):
    places = {
        "train/cat/a.png": 1,
        "train/cat/b.png": 2,
        "test/cat/c.png": 3,
        "test/dog/d.png": 1,
        "train/cat/e.png": 1,
    }
    (leak,) = found(tmp_path, places)
    assert leak.startswith(
        "manifest.json: leak: train/cat/a.png in train and test/dog/d.png in test have the same bytes"
    )
    run_printed(tmp_path, leak)


def test_a_group_in_two_splits_is_told_with_both_keys(tmp_path):
    places = {"train/cat/p1_a.png": 1, "train/cat/p2_a.png": 2, "test/cat/p2_b.png": 3, "test/cat/p3_a.png": 4}
    (leak,) = found(tmp_path, places, group_by="/(p[0-9]+)_")
    keys = "train/cat/p2_a.png in train and test/cat/p2_b.png in test"
    again = f"shardkit convert {tmp_path}/out NEW --splits-of train,test --splits train=0.5,test=0.5"
    remedy = f"`{again}` moves each group into one split"
    assert leak == f"manifest.json: leak: group 'p2' is in two splits: {keys}; {remedy}"
    run_printed(tmp_path, leak)


def test_of_many_leaks_the_text_shows_the_first_and_json_all(tmp_path, monkeypatch):
    monkeypatch.setattr("shardkit.cli.verify.LEAKS_SHOWN", 2)
    source = source_of(tmp_path, {f"{split}/cat/{i}.png": i for split in ("train", "test") for i in range(5)})
    convert(source, tmp_path / "out", "--layout", "class-folders")
    shown = call("verify", tmp_path / "out", "--leaks").stdout.splitlines()
    assert [line.partition(":")[0] for line in shown[:2]] == ["manifest.json"] * 2
    assert shown[2] == "… and 3 more leaks; --json lists all"
    assert ": 5 problems found; " in shown[3]
    everything = json.loads(call("verify", tmp_path / "out", "--leaks", "--json").stdout)
    assert len({one["found"] for one in everything["problems"]}) == everything["num_problems"] == 5


def test_equal_beginnings_of_hashes_are_no_leak(tmp_path, monkeypatch):
    monkeypatch.setattr(leaks, "digest_prefixes", lambda column: 0 * leaks.np.arange(len(column)).astype("u8"))
    assert found(tmp_path, {"train/cat/a.png": 1, "test/cat/b.png": 2}) == []


@pytest.mark.parametrize("split_by", ["hash", "stratified"])
def test_what_shardkit_splits_leaks_nothing_and_verify_says_so(split_by, tmp_path):
    places = {f"{label}/p{i % 55}_{i:03d}.png": i % 110 for i, label in enumerate(["cat", "dog"] * 60)}
    source = source_of(tmp_path, places)
    options = ["--splits", "train=0.7,test=0.3", "--split-by", split_by, "--group-by", "/(p[0-9]+)_"]
    convert(source, tmp_path / "out", *options)
    result = call("verify", tmp_path / "out", "--leaks")
    assert result.exit_code == 0
    assert "every byte checked, no group and no image in two splits" in result.stdout


def test_verify_ends_with_1_where_the_sources_own_splits_leak(tmp_path):
    source = source_of(tmp_path, {"train/cat/a.png": 1, "test/cat/b.png": 1, "test/dog/c.png": 2})
    said = convert(source, tmp_path / "out")
    assert "1 image with exact duplicates in another split (a leak)" in said
    assert "test/cat/b.png and train/cat/a.png" in said
    assert call("verify", tmp_path / "out").exit_code == 0
    result = call("verify", tmp_path / "out", "--leaks")
    assert result.exit_code == 1
    assert "train/cat/a.png in train and test/cat/b.png in test have the same bytes" in result.stdout
    assert "1 problem found; a command in `…` makes a dataset without them" in result.stdout
    # Leaks are looked for although there are other problems, as far as the indexes are sound.
    (tmp_path / "out" / "features.json").unlink()
    said = call("verify", tmp_path / "out", "--leaks").stdout
    assert "features.json: is missing" in said
    assert "have the same bytes" in said
    index = tmp_path / "out" / "test-00000-of-00001.index.parquet"
    index.write_bytes(index.read_bytes()[:-1])
    said = call("verify", tmp_path / "out", "--leaks").stdout
    assert f"{index.name}: its examples were not checked for leaks" in said
    assert "have the same bytes" not in said
    (tmp_path / "out" / "manifest.json").unlink()
    assert "leaks were not checked" in call("verify", tmp_path / "out", "--leaks").stdout
    convert(source, tmp_path / "dropped", "--dedupe", "drop")
    assert call("verify", tmp_path / "dropped", "--leaks").exit_code == 0
