import json
import os
import unicodedata

import pyarrow.parquet as pq

from shardkit.testing import picture, write_class_folders, write_tree

from ..cli.calling import call, convert

STATED = ("--label", "path:0")

ODD_NAMES = [
    "blue tit",
    "Größe",
    "nai\u0308ve",  # decomposed, as macOS stores it; the class is composed
    "猫",
    "قطة",
    "🐈",
    "a\nb",
    "tab\there",
    "\x1b[31mred",
    "'; rm -rf ~ #",
    "%s%d{}",
    "[bold]x",
    "-dash",
    "C:",
    "back\\slash",
    "x" * 200,
]


def test_odd_names_of_folders_and_files_are_kept_to_the_letter(tmp_path):
    source = tmp_path / "Quelle mit\nÄ"
    write_tree(source, {f"{name}/{name}.png": picture(seed) for seed, name in enumerate(ODD_NAMES)})
    output = tmp_path / "Ziel 🐕\tü"
    result = call("convert", source, output, "--shards", "3", *STATED)
    assert result.exit_code == 0, result.output
    manifest = json.loads((output / "manifest.json").read_text())
    assert manifest["classes"] == sorted(unicodedata.normalize("NFC", name) for name in ODD_NAMES)
    keys = [key for path in output.glob("*.index.parquet") for key in pq.read_table(path)["key"].to_pylist()]
    assert sorted(keys) == sorted(f"{name}/{name}.png" for name in ODD_NAMES)
    assert call("verify", output, "--deep").exit_code == 0
    for words in (["info", output], ["plan", source, *STATED]):
        shown = call(*words)
        assert shown.exit_code == 0
        assert "\x1b" not in shown.output, "a file's name must not talk to the terminal"
    assert "\x1b" not in result.output


def test_a_bad_files_name_cannot_talk_to_the_terminal(tmp_path):
    source = write_class_folders(tmp_path / "source", {"a": 3, "b": 1})
    write_tree(source, {"a/\x1b[2J\nError: all is lost.png": b""})
    for arguments in (["plan", source], ["convert", source, tmp_path / "out"]):
        result = call(*arguments)
        assert "all is lost" in result.output
        assert "\x1b" not in result.output
        assert "\nError: all is lost" not in result.output


def test_names_that_are_not_unicode_are_rejected_by_name_and_stop_nothing(tmp_path):
    source = write_class_folders(tmp_path / "source", {"a": 8, "b": 1})
    folder = os.fsencode(source / "a")
    with open(folder + b"/caf\xe9.png", "wb") as file:
        file.write(picture(40))
    convert(source, tmp_path / "out", "--max-rejected", "1")
    [row] = pq.read_table(tmp_path / "out" / "rejected.parquet").to_pylist()
    assert (row["key"], row["reason"]) == ("a/caf\\xe9.png", "bad_name")


def test_an_output_whose_path_is_not_unicode_is_written_and_checked(tmp_path, source):
    output = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    assert call("convert", source, output).exit_code == 0
    assert call("verify", output).exit_code == 0
    assert call("info", output).exit_code == 0


def test_names_that_differ_only_by_case_or_blanks_stay_classes_of_their_own_and_are_pointed_out(tmp_path):
    source = write_class_folders(tmp_path / "source", {"Cat": 1, "cat": 1, "cat ": 1})
    said = convert(source, tmp_path / "out", *STATED)
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["classes"] == ["Cat", "cat", "cat "]
    assert "3 classes differ only by case, blanks, underscores or Unicode form" in said
    assert "'Cat' and 'cat' and 'cat '" in said
