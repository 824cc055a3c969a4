"""`Check these:` and the shares of splits, as a user sees them on folders of images."""

import json
import re
import shlex

import pytest

from shardkit.dataset.manifest import read_manifest
from shardkit.report.dataset_collection import DatasetCollection
from shardkit.report.facts.gathering import ReportOptions
from shardkit.report.page.html import make_page
from shardkit.testing import picture, write_class_folders, write_tree

from .calling import call, convert, is_one_sentence
from .test_splits import split_of_keys


@pytest.mark.parametrize("command", ["plan", "convert"])
def test_one_class_is_refused_before_anything_is_decoded_and_taken_if_it_is_meant(command, tmp_path, monkeypatch):
    write_tree(tmp_path, {f"{i}.png": picture(i) for i in range(3)})
    source = tmp_path / "table.csv"
    source.write_text("image,label\n" + "".join(f"{i}.png,lichen\n" for i in range(3)))
    paths = [source, *([tmp_path / "out"] if command == "convert" else [])]
    with monkeypatch.context() as patched:
        patched.setattr("shardkit.images.check_fully", None)  # decoding fails
        result = call(command, *paths)
    assert result.exit_code == 2
    assert "only one class was found: 'lichen'" in result.stderr
    assert f"shardkit {command} {' '.join(map(str, paths))} --layout table" in result.stderr
    assert is_one_sentence(result.stderr)
    assert not (tmp_path / "out" / "manifest.json").exists()
    assert call(command, *paths, "--layout", "table").exit_code == 0
    (tmp_path / "classes.txt").write_text("lichen\n")
    assert call("plan", source, "--classes", tmp_path / "classes.txt").exit_code == 0


def test_findings_are_printed_before_anything_is_written_and_quiet_hides_them(tmp_path):
    files = {"Cat/a.png": picture(1), "cat/b.png": picture(1), **{f"cat/{i}.svg": b"<svg/>" for i in range(3)}}
    source = write_tree(tmp_path / "source", files)
    stated = ["--layout", "class-folders"]
    allowed = ["--max-rejected", "90%", *stated]
    for result in (call("plan", source, *stated), call("convert", source, tmp_path / "out", *allowed)):
        assert result.exit_code == 0, result.output
        before, _, after = result.stderr.partition("Check these:\n")
        assert "read as" in before
        assert "2 classes differ only by case" in after
        assert "1 image with exact duplicates that have different labels" in after
        assert "      Cat/a.png and cat/b.png" in after
    assert call("plan", source, *stated, "--quiet").stderr == ""


def test_splits_of_divides_one_split_of_the_source_and_the_dataset_says_so(tmp_path):
    source = write_class_folders(
        tmp_path / "source", {f"{s}/{c}": n for s, n in (("train", 30), ("test", 6)) for c in "ab"}
    )
    options = ["--splits-of", "train", "--splits", "80/20", "--split-by", "stratified"]
    result = call("convert", source, tmp_path / "out", *options)
    assert result.exit_code == 0, result.output
    splits = split_of_keys(tmp_path / "out")
    assert {key for key, split in splits.items() if split == "test"} == {key for key in splits if key[:4] == "test"}
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert {name: split["num_examples"] for name, split in manifest["splits"].items()} == {
        "train": 48,
        "validation": 12,
        "test": 12,
    }
    assert manifest["options"]["splits_of"] == ["train"]
    shares = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "share of train train validation" in shares
    assert "wanted 80.0% 20.0% examples" in shares
    assert "'a' 80.0% 20.0% 30" in shares
    # The same call with the words that people use is the same conversion.
    said = convert(source, tmp_path / "out", "--splits-of", "Training", "--splits", "train=80%,val=20%", *options[4:])
    assert "nothing to do" in said
    assert "--splits-of was train and is not given" in convert(source, tmp_path / "out", exit_code=1)


def test_without_splits_the_summary_says_how_to_get_a_validation_split(source, dataset, tmp_path):
    line = "all 60 images are in 'train'; for a validation split add --splits train=0.9,validation=0.1"
    for result in (call("plan", source), call("convert", source, tmp_path / "out")):
        assert line in result.stdout.splitlines()
    with_splits = call("plan", source, "--splits", "0.9/0.1", "--split-by", "stratified")
    assert "for a validation split" not in with_splits.stdout


READY = {
    "own splits": (
        {f"{s}/{c}/{i}.png": i for s in ("train", "test") for c in "ab" for i in range(30)},
        ["--splits", "80/20", "--seed", "2"],
    ),
    "two levels": (
        {f"{g}/{c}/{i}.png": i for g in ("pets", "wild") for c in ("cat", "dog") for i in range(3)},
        [],
    ),
}


@pytest.mark.parametrize("case", READY)
def test_every_ready_command_runs_as_it_is_printed(case, tmp_path):
    numbers, options = READY[case]
    files = {path: picture(number) for number, path in enumerate(numbers)}
    source = write_tree(tmp_path / "my source", files)
    result = call("plan", source, *options)
    assert result.exit_code == 2, result.output
    commands = [line for line in result.stderr.splitlines() if line.startswith("  shardkit plan ")]
    assert len(commands) >= 2
    for command in commands:
        _, _, *words = shlex.split(command, comments=True)
        assert ("--seed 2" in command) == ("--seed" in options)
        assert call("plan", *words).exit_code == 0, command


def test_all_pairs_are_listed_by_the_command_that_is_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tree(
        tmp_path / "photos", {f"{name}/{name}{i:02d}.png": picture(i) for name in ("cat", "dog") for i in range(16)}
    )
    said = call("convert", "photos", "OUT", "--seed", "3").stderr
    assert said.count(" and dog/") == 10
    (command,) = [line.partition("all: ")[2] for line in said.splitlines() if "… and 6 more; all: " in line]
    assert command == "shardkit plan photos --seed 3 --json"
    found = json.loads(call(*shlex.split(command)[1:]).stdout)["findings"]
    (conflicts,) = [one["examples"] for one in found if one["code"] == "duplicate_with_other_label"]
    assert conflicts == [f"cat/cat{i:02d}.png and dog/dog{i:02d}.png" for i in range(16)]
    page, _, _ = make_page(DatasetCollection(read_manifest("OUT")), ReportOptions())
    command = re.findall(r"<code>(shardkit report [^<]*)", page)[0]
    assert call(*shlex.split(command)[1:]).exit_code == 0
    assert len((tmp_path / "fixes.csv").read_text().splitlines()) == 1 + 32


def test_a_finding_that_names_some_classes_has_all_in_json(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tree(tmp_path / "photos", {f"{i:02d}/a.png": picture(i) for i in range(14)})
    found = json.loads(call("plan", "photos", "--label", "path:0", "--json").stdout)["findings"]
    (single,) = [one for one in found if one["code"] == "class_with_one_image"]
    assert "and 4 more" in single["sentence"]
    assert single["examples"] == [f"{i:02d}" for i in range(14)]


def test_ready_commands_have_the_users_own_output_and_files_and_run_as_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_class_folders(tmp_path / "photos", {"cat": 30, "dog": 30, **{f"rare{i}": 2 for i in range(9)}})
    (tmp_path / "names.txt").write_text("\n".join(["dog", "cat", *(f"rare{i}" for i in range(9))]))
    options = ["--classes", "names.txt", "--splits", "80/20", "--split-by", "hash", "--max-rejected", "7%"]
    said = call("convert", "photos", "my out", *options).stderr
    lines = {line.strip().partition("  # ")[0] for line in said.splitlines() if "shardkit convert" in line}
    (line,) = lines
    assert line.startswith("shardkit convert photos 'my out' --classes names.txt --splits train=0.8,validation=0.2 ")
    # The conversion that printed it has gone on and filled the folder.
    again = call(*shlex.split(line)[1:])
    assert again.exit_code == 0, again.stderr
    assert "has no image in" not in again.stderr
    mixed = call("convert", "photos", "my out", "--splits-of", "train", "--splits", "80/20", "--overwrite").stderr
    assert "shardkit convert photos 'my out' --splits train=0.8,validation=0.2 --overwrite" in mixed
