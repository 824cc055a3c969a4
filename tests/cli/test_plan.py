import json
import os
import re

import pytest

from shardkit.testing import picture, write_class_folders, write_tree

from .calling import call, convert, digests, environment, run

OPTIONS = [
    [],
    ["--splits", "train=0.8,validation=0.2", "--shards", "train=4,validation=2"],
    ["--splits", "train=0.5,test=0.5", "--split-by", "stratified", "--input-pipelines", "3", "--seed", "7"],
    ["--check", "header", "--shards", "5"],
]


def rows_of(shown):
    """The numbers of a table's rows by the split they begin with: classes, shards, examples."""
    found = {}
    for line in shown.splitlines():
        if match := re.match(r"(train|validation|test) +([\d,]+) +([\d,]+) +([\d,]+) ", line):
            found[match[1]] = tuple(int(number.replace(",", "")) for number in match.groups()[1:])
    return found


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_plan_prints_the_numbers_that_convert_then_writes(options, source, tmp_path):
    planned = call("plan", source, *options)
    assert planned.exit_code == 0, planned.output
    written = call("convert", source, tmp_path / "out", *options)
    rows = rows_of(planned.stdout)
    assert rows == rows_of(written.stdout)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert rows == {
        name: (sum(map(bool, split["class_counts"])), len(split["shards"]), split["num_examples"])
        for name, split in manifest["splits"].items()
    }
    for name in rows:
        assert f"\n  {name} has {rows[name][2]} examples, " in planned.stdout, "the reasons"
    assert "Why so many shards:" in planned.stdout
    for label in ("ant", "bee", "cat"):
        assert repr(label) in planned.stdout


def test_plan_writes_nothing_beside_the_source_nor_in_the_working_nor_the_temporary_folder(tmp_path):
    source = write_class_folders(tmp_path / "source", {"a": 5, "b": 3})
    for name in ("working", "temporary", "home"):
        (tmp_path / name).mkdir()
    before = digests(tmp_path, but=())
    times = {path: os.stat(path).st_mtime_ns for path in source.rglob("*")}
    done = run("plan", source, cwd=tmp_path / "working", env=environment(TMPDIR=str(tmp_path / "temporary")))
    assert done.returncode == 0, done.stderr
    assert digests(tmp_path, but=()) == before
    assert {path: os.stat(path).st_mtime_ns for path in source.rglob("*")} == times
    assert not any((tmp_path / "working").iterdir())
    assert not any((tmp_path / "temporary").iterdir())


def test_plan_names_the_bad_images_and_says_when_convert_would_stop(tmp_path):
    source = write_tree(tmp_path / "source", {f"a/{i:02d}.png": picture(i) if i < 30 else b"" for i in range(42)})
    shown = call("plan", source, "--layout", "class-folders").stdout
    assert "rejected: 12 empty" in shown
    assert "  a/30.png: The file has no bytes" in shown
    assert "  … and 2 more" in shown
    assert "more than --max-rejected 5% allows: `convert` would stop here" in shown
    assert "would stop" not in call("plan", source, "--max-rejected", "12", "--layout", "class-folders").stdout


def test_plan_counts_exact_duplicates(tmp_path):
    source = write_tree(tmp_path / "source", {f"a/{i}.png": picture(i // 2) for i in range(4)})
    assert (
        "exact duplicates: 2 images of the same bytes as another"
        in call("plan", source, "--layout", "class-folders").stdout
    )


def test_plan_after_convert_is_no_worse_for_the_dataset(source, dataset):
    before = digests(dataset, but=())
    assert call("plan", source).exit_code == 0
    assert digests(dataset, but=()) == before
    assert "nothing to do" in convert(
        source, dataset, "--splits", "train=0.8,validation=0.2", "--split-by", "stratified", "--shards", "3"
    )
