import json
import os

import pyarrow.parquet as pq
import pytest

from shardkit.testing import digests_of, picture, write_class_folders, write_tree

from ..cli.calling import call, convert

# Accepts one class, and classes that are named like splits.
EXPLICIT = ("--layout", "class-folders")


def converted(source, tmp_path, *options, exit_code=0):
    """Splits of a conversion, each with its number of examples by label name, and what was said."""
    said = convert(source, tmp_path / "out", *options, exit_code=exit_code)
    if exit_code:
        return None, said
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    found = {
        name: {label: count for label, count in zip(manifest["classes"], split["class_counts"], strict=True) if count}
        for name, split in manifest["splits"].items()
    }
    return found, said


@pytest.mark.parametrize(
    ("folders", "wanted"),
    [
        ({"train/a": 2, "test/a": 1}, {"train": {"a": 2}, "test": {"a": 1}}),
        # In any case, under any of the usual names.
        ({"Training/a": 2, "VALID/a": 1}, {"train": {"a": 2}, "validation": {"a": 1}}),
        ({"TRAIN/a": 2, "Dev/a": 1, "Testing/a": 3}, {"train": {"a": 2}, "validation": {"a": 1}, "test": {"a": 3}}),
        # Two names of one split are one split.
        ({"train/a": 2, "training/a": 1, "val/a": 1}, {"train": {"a": 3}, "validation": {"a": 1}}),
        ({"test/a/deep/deeper": 2, "test/a": 1}, {"test": {"a": 3}}),
        ({"a/x": 2, "a/y": 1, "b": 1}, {"train": {"a": 3, "b": 1}}),
    ],
    ids=str,
)
def test_the_tree_says_splits_and_labels(folders, wanted, tmp_path):
    found, said = converted(write_class_folders(tmp_path / "source", folders), tmp_path, *EXPLICIT)
    assert found == wanted
    assert list(found) == [name for name in ("train", "validation", "test") if name in found]
    how = "<split>/<label>/…/image" if set(wanted) - {"train"} or "TRAIN/a" in folders else "<label>/…/image"
    assert f"read as {how}" in said


def test_labels_that_look_like_splits_are_pointed_out(tmp_path):
    source = write_class_folders(tmp_path / "source", {"train/a": 2, "test/a": 1, "extra": 1})
    found, said = converted(source, tmp_path, "--layout", "class-folders")
    assert found == {"train": {"train": 2, "test": 1, "extra": 1}}
    assert "note: 'test', 'train' are read as classes, not as splits, because 'extra' is next to them" in said


def test_images_outside_of_label_folders_are_rejected_and_other_files_are_counted(tmp_path):
    source = write_class_folders(tmp_path / "source", {"train/a": 5, "test/a": 5})
    write_tree(
        source, {"loose.png": picture(50), "train/loose.png": picture(51), "train/a/notes.TXT": b"", "x.csv": b""}
    )
    write_tree(source, {".hidden/b/1.png": picture(52), "train/a/.DS_Store": b"", "train/a/Thumbs.db": b""})
    found, _ = converted(source, tmp_path, "--max-rejected", "2", *EXPLICIT)
    assert found == {"train": {"a": 5}, "test": {"a": 5}}
    rows = pq.read_table(tmp_path / "out" / "rejected.parquet").to_pylist()
    assert [(row["key"], row["reason"]) for row in rows] == [("loose.png", "no_label"), ("train/loose.png", "no_label")]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["source"]["skipped"] == {".csv": 1, ".txt": 1}


def test_a_record_that_repeats_a_key_is_rejected_where_nothing_else_is_wrong(tmp_path):
    write_class_folders(tmp_path, {"a": 4})
    lines = ["image,label", *(f"a/{i:03d}.png,a" for i in (0, 1, 2, 3, 1))]
    (tmp_path / "table.csv").write_text("\n".join(lines))
    found, _ = converted(tmp_path / "table.csv", tmp_path, "--max-rejected", "1", "--layout", "table")
    assert found == {"train": {"a": 4}}
    (row,) = pq.read_table(tmp_path / "out" / "rejected.parquet").to_pylist()
    assert (row["key"], row["reason"]) == ("a/001.png", "duplicate_key")
    assert row["message"] == "record 6 repeats the key of record 3; keep one of them"


def test_links_are_followed_and_a_link_that_leads_back_up_ends_nothing(tmp_path):
    source = write_class_folders(tmp_path / "source", {"a": 3})
    elsewhere = write_class_folders(tmp_path / "elsewhere", {"b/deep": 2})
    (source / "b").symlink_to(elsewhere / "b")
    (source / "a" / "up").symlink_to(source)
    (source / "a" / "one.png").symlink_to(elsewhere / "b" / "deep" / "000.png")
    found, _ = converted(source, tmp_path, *EXPLICIT)
    # Through `up` the tree is seen once more, below a: b's two pictures.
    assert found["train"]["b"] == 2
    assert found["train"]["a"] in {4, 6}


def test_a_source_given_by_a_link_and_a_relative_path_is_the_same_source(tmp_path, source, monkeypatch):
    (tmp_path / "link").symlink_to(source)
    convert(source, tmp_path / "direct")
    convert(tmp_path / "link", tmp_path / "by-link")
    monkeypatch.chdir(source.parent)
    convert(source.name, tmp_path / "relative")
    assert digests_of(tmp_path / "direct") == digests_of(tmp_path / "by-link") == digests_of(tmp_path / "relative")


def test_the_output_inside_the_source_is_no_part_of_it_at_the_first_and_at_every_later_call(tmp_path):
    source = write_class_folders(tmp_path / "source", {"train/a": 4, "test/a": 2})
    found, _ = converted(source, source, *EXPLICIT)
    assert found == {"train": {"a": 4}, "test": {"a": 2}}
    assert "nothing to do" in convert(source, source / "out", *EXPLICIT)
    convert(source, source / "second", "--seed", "1", *EXPLICIT)
    second = json.loads((source / "second" / "manifest.json").read_text())
    assert list(second["splits"]) == ["train", "test"], "the first dataset must not be taken for a label"
    assert second["classes"] == ["a"]
    assert "read as <split>/<label>" in call("plan", source, *EXPLICIT).stderr


def test_one_image_is_enough(tmp_path):
    source = write_class_folders(tmp_path / "source", {"only": 1})
    _, said = converted(source, tmp_path, exit_code=2)
    assert "--unlabelled  # images without labels" in said
    found, said = converted(source, tmp_path, *EXPLICIT)
    assert found == {"train": {"only": 1}}
    assert "1 of 1 class has a single image: 'only'" in said
    assert call("verify", tmp_path / "out", "--deep").exit_code == 0


def test_the_label_order_of_a_file_is_kept_and_classes_without_images_have_a_label_too(tmp_path, source):
    # A byte order mark, blanks and an empty last line, as editors leave them.
    (tmp_path / "classes.txt").write_bytes("\ufeffcat\n  bee \r\nzebra\nant\n\n".encode())
    found, said = converted(source, tmp_path, "--classes", tmp_path / "classes.txt")
    assert found == {"train": {"cat": 9, "bee": 20, "ant": 31}}
    assert "1 of 4 classes has no good image: 'zebra'" in said
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["classes"] == ["cat", "bee", "zebra", "ant"]
    assert (tmp_path / "out" / "label.labels.txt").read_text() == "cat\nbee\nzebra\nant\n"


def test_resize_reduces_the_shorter_side_and_never_enlarges(tmp_path):
    sizes = {"large.jpg": (64, 48), "tall.png": (30, 90), "small.png": (10, 12), "exact.jpg": (24, 40)}
    source = write_tree(
        tmp_path / "source",
        {
            f"a/{name}": picture(i, width=width, height=height, kind="JPEG" if name.endswith("jpg") else "PNG")
            for i, (name, (width, height)) in enumerate(sizes.items())
        },
    )
    converted(source, tmp_path, "--resize", "24", *EXPLICIT)
    [index] = (tmp_path / "out").glob("*.index.parquet")
    rows = {row["key"]: row for row in pq.read_table(index).to_pylist()}
    found = {key.removeprefix("a/"): (row["width"], row["height"]) for key, row in rows.items()}
    assert found == {"large.jpg": (32, 24), "tall.png": (24, 72), "small.png": (10, 12), "exact.jpg": (24, 40)}
    assert rows["a/small.png"]["changes"] == rows["a/exact.jpg"]["changes"] == ""
    assert rows["a/large.jpg"]["changes"] == rows["a/tall.png"]["changes"] == "resized"


def test_lower_quality_makes_fewer_bytes_of_images_that_are_encoded_anew(tmp_path):
    source = write_class_folders(tmp_path / "source", {"a": 3, "b": 1}, width=64, height=64, kind="JPEG")
    sizes = []
    for quality in (60, 95):
        convert(source, tmp_path / str(quality), "--resize", "32", "--quality", quality, *EXPLICIT)
        sizes.append(sum(path.stat().st_size for path in (tmp_path / str(quality)).glob("*.tfrecord")))
    assert sizes[0] < 0.8 * sizes[1]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (["--shards", "5"], {"train": 5, "validation": 5}),
        (["--shards", "train=4,val=2"], {"train": 4, "validation": 2}),
        (["--shards", "train=4"], {"train": 4, "validation": 1}),
        (["--input-pipelines", "3"], {"train": 3, "validation": 3}),
        (["--shard-size", "10MiB"], {"train": 1, "validation": 1}),
    ],
    ids=str,
)
def test_numbers_of_shards_are_those_asked_for(options, wanted, tmp_path, source):
    converted(source, tmp_path, "--splits", "training=0.75,val=0.25", *options)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert {name: len(split["shards"]) for name, split in manifest["splits"].items()} == wanted


def test_shards_follow_the_size_aimed_at(tmp_path):
    one = picture(0, width=32, height=32, kind="JPEG")
    # 45 MB in sparse files: what follows a JPEG's end is not decoded.
    source = write_tree(tmp_path / "source", {f"{'ab'[i % 2]}/{i}.jpg": one for i in range(9)})
    for path in source.rglob("*.jpg"):
        os.truncate(path, 5 << 20)
    converted(source, tmp_path, "--shard-size", "10MiB", "--check", "header", *EXPLICIT)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert len(manifest["splits"]["train"]["shards"]) == 4  # 45 MiB: 5 of 10 MiB would be under the floor of 10


def test_an_example_keeps_its_split_when_the_source_grows_and_duplicates_share_one(tmp_path):
    source = write_class_folders(tmp_path / "source", {"a": 60, "b": 40})
    write_tree(source, {f"b/twin-{i:03d}.png": (source / "a" / f"{i:03d}.png").read_bytes() for i in range(20)})
    options = ["--splits", "train=0.6,validation=0.2,test=0.2"]
    convert(source, tmp_path / "before", *options)
    before = keys_by_split(tmp_path / "before")
    write_tree(source, {f"c/{i}.png": picture(1000 + i) for i in range(50)})
    convert(source, tmp_path / "after", *options)
    after = keys_by_split(tmp_path / "after")
    assert {key: after[key] for key in before} == before
    assert all(before[f"a/{i:03d}.png"] == before[f"b/twin-{i:03d}.png"] for i in range(20))
    assert len(set(before.values())) == 3


def keys_by_split(output):
    return {
        key: path.name.partition("-")[0]
        for path in output.glob("*.index.parquet")
        for key in pq.read_table(path)["key"].to_pylist()
    }
