"""Splits as a user asks for them: by group, without duplicates, by ratios that the plan prints."""

import json
from collections import Counter

import pyarrow.parquet as pq
import pytest

from shardkit.dataset.manifest import read_manifest
from shardkit.testing import picture, write_class_folders, write_tree

from .calling import call, convert

RATIOS = ["--splits", "train=0.6,validation=0.2,test=0.2"]


@pytest.fixture(scope="module")
def patients(tmp_path_factory):
    """300 pictures of 60 patients, every tenth one the same as another of the same patient; sound/p07_012.png."""
    files = {}
    for i in range(300):
        patient = i * i % 60
        label = "sick" if i % 3 == 0 else "sound"
        files[f"{label}/p{patient:02d}_{i:03d}.png"] = picture(patient if i % 10 == 0 else 1000 + i, width=4, height=4)
    return write_tree(tmp_path_factory.mktemp("patients"), files)


def split_of_keys(output):
    """The split of every key, by the indexes."""
    return {
        key: path.name.split("-")[0]
        for path in output.glob("*.index.parquet")
        for key in pq.read_table(path, columns=["key"])["key"].to_pylist()
    }


@pytest.mark.parametrize("split_by", ["hash", "stratified"])
def test_a_patient_stays_in_one_split(split_by, patients, tmp_path):
    options = [*RATIOS, "--split-by", split_by, "--group-by", "/(p[0-9]+)_"]
    convert(patients, tmp_path / "out", *options)
    splits = split_of_keys(tmp_path / "out")
    assert len(splits) == 300
    by_patient = {}
    for key, split in splits.items():
        by_patient.setdefault(key.split("/")[1][:3], set()).add(split)
    assert all(len(found) == 1 for found in by_patient.values())
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert manifest["source"]["groups"] == len(by_patient)
    assert manifest["options"]["group_by"] == "/(p[0-9]+)_"
    groups = {
        row["group"]
        for path in (tmp_path / "out").glob("*.index.parquet")
        for row in pq.read_table(path, columns=["group"]).to_pylist()
    }
    assert groups == set(by_patient)
    if split_by == "stratified":
        shares = [split["num_examples"] / 300 for split in manifest["splits"].values()]
        assert max(abs(share - wanted) for share, wanted in zip(shares, (0.6, 0.2, 0.2), strict=True)) < 0.03


def test_every_class_has_its_share_unless_told_otherwise_and_one_line_says_what_moves(tmp_path):
    sizes = {"ant": 50, "bee": 25, "cat": 5}
    write_class_folders(tmp_path / "photos", sizes)
    said = call("convert", tmp_path / "photos", tmp_path / "out", "--splits", "80/20").stdout
    assert " ".join(said.split()).count("a few change split (none with --split-by hash)") == 1
    splits = split_of_keys(tmp_path / "out")
    validation = Counter(key.split("/")[0] for key, split in splits.items() if split == "validation")
    assert validation == {name: size // 5 for name, size in sizes.items()}
    assert "--split-by hash" not in call("convert", tmp_path / "out", tmp_path / "new", "--shards", "2").stdout
    by_hash = call("convert", tmp_path / "photos", tmp_path / "by hash", "--splits", "80/20", "--split-by", "hash")
    assert "change split" not in by_hash.stdout


def test_a_dataset_made_by_hash_keeps_its_rule(tmp_path):
    write_class_folders(tmp_path / "photos", {"ant": 30, "cat": 4})
    convert(tmp_path / "photos", tmp_path / "old", "--splits", "80/20", "--split-by", "hash")
    convert(tmp_path / "old", tmp_path / "new", "--splits", "70/30")
    manifest = json.loads((tmp_path / "new/manifest.json").read_text())
    assert manifest["options"]["split_by"] == "hash"
    before = split_of_keys(tmp_path / "old")
    write_class_folders(tmp_path / "more", {"bee": 30, "dog": 4})
    assert call("append", tmp_path / "old", tmp_path / "more").exit_code == 0
    after = read_manifest(str(tmp_path / "old"))
    assert [one.options["split_by"] for one in after.history] == ["hash", "hash"]
    assert before.items() <= split_of_keys(tmp_path / "old").items()


def test_plan_prints_the_shares_wanted_and_reached(patients):
    result = call("plan", patients, *RATIOS, "--split-by", "stratified")
    lines = result.stdout.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("share of"))
    assert lines[start].split() == ["share", "of", "train", "validation", "test"]
    assert lines[start + 1].split() == ["wanted", "60.0%", "20.0%", "20.0%", "examples"]
    assert [line.split() for line in lines[start + 3 : start + 6]] == [
        ["all", "60.0%", "20.0%", "20.0%", "300"],
        ["'sick'", "60.0%", "20.0%", "20.0%", "100"],
        ["'sound'", "60.0%", "20.0%", "20.0%", "200"],
    ]
    duplicates = next(line for line in lines if line.startswith("exact duplicates: "))
    assert "groups: 60" not in lines
    grouped = call("plan", patients, *RATIOS, "--group-by", "/(p[0-9]+)_").stdout.splitlines()
    assert duplicates in grouped
    assert any(line.startswith("groups: ") for line in grouped)


def test_duplicates_are_left_out_on_demand_and_count_against_no_limit(patients, tmp_path):
    convert(patients, tmp_path / "all")
    convert(patients, tmp_path / "out", "--dedupe", "drop", "--max-rejected", "0")
    rejected = pq.read_table(tmp_path / "out/rejected.parquet").to_pylist()
    assert {row["reason"] for row in rejected} == {"duplicate"}
    kept = set(split_of_keys(tmp_path / "out"))
    dropped = {row["key"] for row in rejected}
    assert kept | dropped == set(split_of_keys(tmp_path / "all"))
    assert not kept & dropped
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert manifest["source"]["duplicates"] == len(dropped) > 10
    for row in rejected:
        first = row["message"].removeprefix("it has the same bytes as ")
        assert first in kept
        assert first < row["key"]
        assert (patients / first).read_bytes() == (patients / row["key"]).read_bytes()


def test_duplicates_with_different_labels_are_told(tmp_path):
    files = {"cat/a.png": picture(1), "dog/b.png": picture(1), "dog/c.png": picture(2), "dog/d.png": picture(2)}
    said = convert(write_tree(tmp_path / "source", files), tmp_path / "out")
    assert "1 image with exact duplicates that have different labels" in said
    assert "      cat/a.png and dog/b.png\n" in said


def test_a_groups_column_of_a_table_is_taken_and_the_sources_own_splits_are_checked_against_it(tmp_path):
    write_tree(tmp_path, {f"{i}.png": picture(i) for i in range(4)})
    (tmp_path / "t.csv").write_text(
        "image,label,split,scene\n0.png,a,train,x\n1.png,a,test,x\n2.png,b,train,y\n3.png,b,test,\n"
    )
    said = convert(tmp_path / "t.csv", tmp_path / "out", "--group-by", "scene")
    assert "1 group with images in more than one split" in said
    assert "      0.png and 1.png\n" in said
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert manifest["source"]["groups"] == 2
    assert call("verify", tmp_path / "out", "--leaks").exit_code == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--group-by", "("], "missing ), unterminated subpattern at position 0"),
        (["--group-by", "nothing(x)"], "is found in none of the 300 keys"),
        (["--dedupe", "drop", "--check", "header"], "--dedupe drop needs to know the contents"),
        (["--label-column", "x"], "--label-column has no effect on the layout class-folders"),
        (["--layout", "table"], "there is no table in it that names images below it"),
        (["--layout", "cocoa"], "did you mean 'coco'?"),
    ],
)
def test_options_that_cannot_be_honoured_are_refused(options, said, patients, tmp_path):
    result = call("convert", patients, tmp_path / "out", *options)
    assert result.exit_code == 2
    assert said in result.output
