"""The command `shardkit diff`: text, JSON, exit codes."""

import json
import re
from dataclasses import replace

import pytest

import shardkit
from shardkit.errors import ManifestError
from shardkit.testing import convert_without_beam, picture, write_tree

from ..cli.calling import call
from .making import Made, write_dataset

EXAMPLES = [Made(f"{i}.png", i % 2, b"image %d" % i) for i in range(8)]


@pytest.fixture
def datasets(tmp_path):
    write_dataset(tmp_path / "a", {"train": EXAMPLES[:7]})
    in_b = [replace(EXAMPLES[1], label=0), *EXAMPLES[2:], Made("bad\n\x1b[31mname.png")]
    write_dataset(tmp_path / "b", {"train": in_b}, classes=("cat", "dog", "o\x07wl"))
    write_dataset(tmp_path / "same", {"train": EXAMPLES[6::-1]})
    return tmp_path


def test_equal_datasets_are_said_to_be_equal_with_0(datasets):
    result = call("diff", datasets / "a", datasets / "same" / "manifest.json")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        f"A  {datasets}/a: 7 examples",
        f"B  {datasets}/same: 7 examples",
        "They are equal: the same examples with the same splits, labels, images and annotations.",
    ]


def test_differences_are_listed_with_1(datasets):
    result = call("diff", datasets / "a", datasets / "b", "--keys", "1")
    assert result.exit_code == 1
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[3:] == [
        "difference examples",
        lines[4],
        "only in B 2 train 2",
        "only in A 1 train 1",
        "another label 1 dog → cat 1",
        "no difference 5",
        "",
        r"classes only in B: 'o\x07wl'",
        "",
        "only in B, the first 1 of 2:",
        "7.png train",
        "",
        "only in A, all 1:",
        "0.png train",
        "",
        "another label, all 1:",
        "1.png dog → cat",
    ]


def test_nothing_of_a_key_reaches_the_terminal_unescaped(datasets):
    shown = call("diff", datasets / "a", datasets / "b").stdout
    assert r"bad\n\x1b[31mname.png" in shown
    assert "\x1b" not in shown
    assert "\x07" not in shown


def test_the_json_says_the_same(datasets):
    result = call("diff", datasets / "a", datasets / "b", "--json")
    assert (result.exit_code, result.stderr) == (1, "")
    shown = json.loads(result.stdout)
    assert shown["equal"] is False
    assert shown["num_examples"] == {"a": 7, "b": 8, "same": 5}
    assert shown["classes"] == {"added": ["o\x07wl"], "removed": [], "changed": []}
    assert shown["added"] == {
        "num_examples": 2,
        "counts": {"train": 2},
        "first": [{"key": "7.png", "after": "train"}, {"key": "bad\n\x1b[31mname.png", "after": "train"}],
    }
    assert shown["label"]["first"] == [{"key": "1.png", "before": "dog", "after": "cat"}]
    assert shown == shardkit.diff(datasets / "a", datasets / "b").as_json()
    equal = call("diff", datasets / "a", datasets / "same", "--json", "--keys", "0")
    assert (equal.exit_code, json.loads(equal.stdout)["equal"]) == (0, True)


def test_quiet_answers_with_the_exit_code_only(datasets):
    for other, code in (("same", 0), ("b", 1)):
        result = call("diff", datasets / "a", datasets / other, "--quiet")
        assert (result.exit_code, result.output) == (code, "")


@pytest.mark.parametrize(
    "arguments", [[], ["a"], ["a", "same", "b"], ["a", "same", "--keys", "-1"], ["a", "b", "--no"]]
)
def test_a_wrong_call_ends_with_2(datasets, monkeypatch, arguments):
    monkeypatch.chdir(datasets)
    result = call("diff", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")


def test_a_folder_without_a_dataset_is_named(datasets):
    (datasets / "empty").mkdir()
    result = call("diff", datasets / "a", datasets / "empty")
    assert result.exit_code == 1
    assert f"{datasets}/empty" in result.stderr
    assert "there is no manifest here" in result.stderr
    with pytest.raises(ManifestError):
        shardkit.diff(datasets / "a", datasets / "empty")


def test_a_page_shows_what_differs_side_by_side(tmp_path):
    files = {f"{'ab'[at % 2]}/<b>{at}.png": picture(at, width=40, height=30) for at in range(12)}
    write_tree(tmp_path / "source", files)
    convert_without_beam(str(tmp_path / "source"), str(tmp_path / "old"))
    (tmp_path / "labels.csv").write_text("key,label\na/<b>0.png,b\n")
    (tmp_path / "drop.txt").write_text("b/<b>1.png\n")
    changes = ["--labels", tmp_path / "labels.csv", "--drop", tmp_path / "drop.txt", "--resize", "24"]
    assert call("convert", tmp_path / "old", tmp_path / "new", *changes).exit_code == 0
    result = call("diff", tmp_path / "old", tmp_path / "new", "--page", tmp_path / "diff.html", "--keys", "1")
    assert result.exit_code == 1
    assert "another image, the first 1 of" in result.stdout
    page = (tmp_path / "diff.html").read_text()
    assert "<b>" not in page.partition("<main")[2]
    assert {"removed", "label", "image"} == {*re.findall('<section id="([a-z]+)"', page)} - {"lists"}
    relabelled = page.partition('<section id="label"')[2].partition("</section>")[0]
    assert re.findall("<figcaption[^>]*>([^<]*)", relabelled) == ["a", "b"]
    assert relabelled.count("data:image/webp") == 2
    removed = page.partition('<section id="removed"')[2].partition("</section>")[0]
    assert removed.count("data:image/webp") == 1


def test_a_page_of_equal_datasets_says_so(datasets):
    result = call("diff", datasets / "a", datasets / "same", "--page", datasets / "diff.html", "-q")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "the datasets are equal" in (datasets / "diff.html").read_text()
