import json
import os
import re

import pytest

from shardkit.testing import digests_of, picture, write_class_folders, write_tree

from .calling import call, convert, environment, run_forked

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
    assert "every class within 1 image per shard: yes" in planned.stdout
    assert "every class within 1 image per shard: yes" in written.stdout
    for label in ("ant", "bee", "cat"):
        assert repr(label) in planned.stdout


def test_plan_explains_the_number_of_shards_when_it_is_asked_to(source):
    assert "examples, " not in call("plan", source, "--splits", "train=0.8,test=0.2").stdout
    shown = call("plan", source, "--splits", "train=0.8,test=0.2", "--explain").stdout
    for name, (_, _, num_examples) in rows_of(shown).items():
        assert f"\n  {name} has {num_examples} examples, " in shown


def reasons_of(*arguments):
    """What `plan --explain` says of the chosen layout and of files that are not used."""
    shown = call("plan", *arguments, "--explain").stdout
    return [line.strip() for line in shown.split("Why this layout:\n")[1].split("\n\n")[0].splitlines()]


def test_plan_explains_why_a_layout_was_chosen_and_which_files_are_not_used(tmp_path):
    write_class_folders(tmp_path, {"train/a": 2, "train/b": 2, "test/a": 1, "test/b": 1})
    rows = [f"{path.relative_to(tmp_path).as_posix()},{path.parent.name}" for path in sorted(tmp_path.glob("*/*/*"))]
    write_tree(tmp_path, {"names.csv": "\n".join(["file,class", *rows])})
    assert reasons_of(tmp_path) == [
        "chosen: class-folders, because folders give 6 images and 2 classes",
        "not used: names.csv names 6 of 6 images by the path; it repeats the names of the folders",
    ]
    named = "names.csv names 6 of 6 images by the path"
    assert reasons_of(tmp_path, "--layout", "table") == [f"chosen: table, because --layout table asks for it: {named}"]
    assert json.loads(call("plan", tmp_path, "--explain", "--json").stdout)["layout_reasons"] == reasons_of(tmp_path)


def test_the_json_of_a_plan_has_its_numbers_and_everything_else_is_on_standard_error(source, tmp_path):
    write_tree(
        bad := tmp_path / "source", {"a/bad.png": b"", **{f"{'ab'[i % 2]}/{i}.png": picture(i) for i in range(4)}}
    )
    result = call("plan", bad, "--json", "--shards", "2", "--max-rejected", "0")
    shown = json.loads(result.stdout)
    assert result.stderr.startswith(str(bad))
    assert shown["rejected"] == {
        "num_examples": 1,
        "by_reason": {"empty": 1},
        "first": [{"key": "a/bad.png", "reason": "empty", "message": shown["rejected"]["first"][0]["message"]}],
        "would_stop": True,
    }
    assert shown["splits"]["train"]["shard_counts"] == [2, 2]
    options = ["--splits", "train=0.8,validation=0.2", "--shards", "3"]
    shown = json.loads(call("plan", source, "--json", *options).stdout)
    convert(source, tmp_path / "out", *options)
    info = json.loads(call("info", tmp_path / "out", "--json").stdout)
    assert shown["plan_digest"] == info["plan_digest"]
    assert (shown["classes"], shown["source"]) == (info["classes"], info["source"])
    for name, split in shown["splits"].items():
        written = info["splits"][name]
        assert [split[key] for key in ("num_examples", "num_shards", "class_counts")] == [
            written[key] for key in ("num_examples", "num_shards", "class_counts")
        ]
    # The plan of a dataset is the plan that it was made from.
    of_dataset = json.loads(call("plan", tmp_path / "out", "--json").stdout)
    assert of_dataset["splits"] == {
        name: {**split, "balance": info["splits"][name]["balance"]} for name, split in shown["splits"].items()
    }
    assert of_dataset["plan_digest"] == shown["plan_digest"]


def test_the_plan_of_a_dataset_is_how_it_was_made(dataset):
    shown = call("plan", dataset, "--explain").stdout
    assert f"{dataset} is a dataset, made from class folders." in shown
    assert rows_of(shown) == {"train": (3, 3, 48), "validation": (3, 3, 12)}
    assert "options: --splits train=0.8,validation=0.2 --shards 3\n" in shown
    assert "3 shards, as requested." in shown
    # With options, another conversion of it is planned.
    again = call("plan", dataset, "--shards", "5").stdout
    assert rows_of(again) == {"train": (3, 5, 48), "validation": (3, 5, 12)}


def test_another_programs_manifest_json_is_no_dataset(tmp_path):
    source = write_tree(tmp_path / "source", {"a/1.png": picture(1), "b/1.png": picture(2), "manifest.json": b"{}"})
    assert rows_of(call("plan", source).stdout) == {"train": (2, 1, 2)}


def test_plan_writes_nothing_beside_the_source_nor_in_the_working_nor_the_temporary_folder(tmp_path):
    source = write_class_folders(tmp_path / "source", {"a": 5, "b": 3})
    for name in ("working", "temporary", "home"):
        (tmp_path / name).mkdir()
    before = digests_of(tmp_path, but=())
    times = {path: os.stat(path).st_mtime_ns for path in source.rglob("*")}
    done = run_forked("plan", source, cwd=tmp_path / "working", env=environment(TMPDIR=str(tmp_path / "temporary")))
    assert done.returncode == 0, done.stderr
    assert digests_of(tmp_path, but=()) == before
    assert {path: os.stat(path).st_mtime_ns for path in source.rglob("*")} == times
    assert not any((tmp_path / "working").iterdir())
    assert not any((tmp_path / "temporary").iterdir())


def test_plan_names_the_bad_images_and_says_when_convert_would_stop(tmp_path):
    source = write_tree(
        tmp_path / "source", {f"{'ab'[i > 40]}/{i:02d}.png": picture(i) if i < 30 else b"" for i in range(42)}
    )
    shown = call("plan", source).stdout
    assert "rejected: 12 empty" in shown
    assert "  a/30.png: The file has no bytes" in shown
    assert "  … and 2 more" in shown
    assert "more than --max-rejected 5% allows: `convert` would stop here" in shown
    assert "would stop" not in call("plan", source, "--max-rejected", "12", "--layout", "class-folders").stdout


def test_plan_counts_exact_duplicates(tmp_path):
    source = write_tree(tmp_path / "source", {f"{'ab'[i // 2]}/{i}.png": picture(i // 2) for i in range(4)})
    assert "exact duplicates: 2 images have the same bytes as another image" in call("plan", source).stdout


def test_plan_after_convert_is_no_worse_for_the_dataset(source, dataset):
    before = digests_of(dataset, but=())
    assert call("plan", source).exit_code == 0
    assert digests_of(dataset, but=()) == before
    assert "nothing to do" in convert(
        source, dataset, "--splits", "train=0.8,validation=0.2", "--split-by", "stratified", "--shards", "3"
    )


def test_a_plan_shows_what_each_top_folder_was_taken_for(tmp_path):
    paths = [f"{split}/{name}/{number}.jpg" for split in ("seg_train", "seg_test") for name in "ab" for number in "12"]
    write_tree(tmp_path, {path: picture(number) for number, path in enumerate([*paths, "seg_pred/9.jpg"])})
    picture_of = call("plan", tmp_path).stdout.split("\n\n")[0]
    assert [line.split("  ") for line in re.sub(" {2,}", "  ", picture_of).strip().splitlines()[2:]] == [
        ["seg_test/", "split test, 2 classes", "4"],
        ["seg_train/", "split train, 2 classes", "4"],
        ["(not read)", "excluded by /seg_pred/", "1"],
    ]


def test_a_plan_shows_which_files_are_labels_class_names_and_splits_and_which_are_not_used(tmp_path):
    boxes = {f"labels/train/{i}.txt": b"0 0.5 0.5 0.2 0.2\n" for i in range(2)}
    images = {f"images/train/{i}.png": picture(i) for i in range(2)}
    shown = call("plan", write_tree(tmp_path / "yolo", {**images, **boxes, "classes.txt": b"cat\n"})).stdout
    rows = [line.split("  ") for line in re.sub(" {2,}", "  ", shown.split("\n\n")[0]).strip().splitlines()[2:]]
    assert [row[:2] for row in rows][1:] == [["labels/train/**/*.txt", "labels"], ["classes.txt", "class names"]]
    source = write_class_folders(tmp_path / "classes", {"a": 4, "b": 4})
    names = sorted(path.relative_to(source).as_posix() for path in source.glob("*/*"))
    numbers = "".join(f"{name},{i % 3}\n" for i, name in enumerate(names))
    write_tree(source, {"train.txt": "\n".join(names[::2]), "val.txt": "\n".join(names[1::2])})
    write_tree(source, {"weights.csv": f"file,weight\n{numbers}"})
    shown = re.sub(" {2,}", "  ", call("plan", source, "--layout", "class-folders").stdout.split("\n\n")[0])
    assert "train.txt  splits  1\nval.txt  splits  1\nweights.csv  not used; names 8 images  1\n" in shown


def test_the_picture_of_many_folders_has_at_most_twenty_lines(tmp_path):
    name = "a class with a name that is too long for a column of any table " * 2
    write_tree(tmp_path, {f"{name}{number:03}/1.jpg": picture(number) for number in range(40)})
    lines = call("plan", tmp_path, "--label", "path:0").stdout.split("\n\n")[0].strip().splitlines()
    assert len(lines) <= 20
    assert lines[-1].split() == ["…", "34", "more", "folders", "34"]
    assert max(map(len, lines)) <= 80
