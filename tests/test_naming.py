import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit import naming
from shardkit.errors import CallError, ManifestError
from shardkit.naming import ShardName

split_names = st.from_regex(r"[A-Za-z][A-Za-z0-9_]*", fullmatch=True)


def test_a_shards_names_are_those_of_the_design():
    name = ShardName("train", 3, 64)
    assert (name.stem, name.records, name.index) == (
        "train-00003-of-00064",
        "train-00003-of-00064.tfrecord",
        "train-00003-of-00064.index.parquet",
    )


@given(split_names, st.integers(0, 10**7), st.integers(1, 10**7))
def test_parsing_is_the_inverse_of_forming(split, shard_index, more):
    name = ShardName(split, shard_index, shard_index + more)
    assert ShardName.parse(name.records) == name
    assert naming.is_shard_file(name.records)
    assert naming.is_shard_file(name.index)


@pytest.mark.parametrize(("shard_index", "num_shards"), [(-1, 1), (1, 1), (0, 0)])
def test_a_shard_outside_its_split_is_refused(shard_index, num_shards):
    with pytest.raises(CallError, match=rf"shard_index must be in \[0, {num_shards}\), found {shard_index}"):
        ShardName("train", shard_index, num_shards)


@pytest.mark.parametrize(
    "file_name",
    [
        "",
        "train",
        "train-00003-of-00064",
        "train-3-of-64.tfrecord",
        "train-00003-of-00064.tfrecord.tmp",
        "train-00003-of-00064.tfrecord\n",
        "-00003-of-00064.tfrecord",
        "a/train-00003-of-00064.tfrecord",
        "train.tfrecord-00003-of-00064",  # TFDS's and TensorFlow's way
        "train-00064-of-00064.tfrecord",  # there is no such shard
        "train-000003-of-000064.tfrecord",  # not the name that would be formed
        "train-\u0660\u0660\u0660\u0660\u0663-of-\u0660\u0660\u0660\u0666\u0664.tfrecord",  # digits, but not ours
    ],
)
def test_another_files_name_is_no_shards(file_name):
    with pytest.raises(ManifestError):
        ShardName.parse(file_name)


@pytest.mark.parametrize(
    ("file_name", "is_ours"),
    [
        ("manifest.json", False),
        ("train-00000-of-00001.txt", False),
        ("train-00000-of-00001.parquet", False),
        ("train-00000-of-00001.index.parquet.bak", False),
        ("train-00000-of-00001.index.parquet", True),
        ("train-00000-of-00001.tfrecord", True),
    ],
)
def test_only_shards_and_indexes_are_shard_files(file_name, is_ours):
    assert naming.is_shard_file(file_name) is is_ours


@pytest.mark.parametrize(
    ("folder", "split"),
    [
        ("train", "train"),
        ("Training", "train"),
        ("TRAIN", "train"),
        ("val", "validation"),
        ("Valid", "validation"),
        ("dev", "validation"),
        ("validation", "validation"),
        ("TEST", "test"),
        ("testing", "test"),
        ("trains", None),
        ("eval", "validation"),
        ("Validate", "validation"),
        ("train ", None),
        ("", None),
    ],
)
def test_folders_named_like_splits_are_recognised_in_any_case(folder, split):
    assert naming.split_of_folder(folder) == split


def test_split_names_are_canonical_or_refused():
    assert naming.check_split_name("Val") == "validation"
    assert naming.check_split_name("holdout_2") == "holdout_2"
    for name in ["", "2train", "_a", "a-b", "a.b", "a/b", "tr\u00e4in", "a b", "a\n"]:
        with pytest.raises(CallError):
            naming.check_split_name(name)


@pytest.mark.parametrize(
    ("name", "names", "found"),
    [
        ("validation", ["train", "validation"], "validation"),
        ("val", ["train", "validation"], "validation"),
        ("Eval", ["train", "validation"], "validation"),
        ("val", ["val", "validation"], "val"),  # a split of that very name comes first
        ("validation", ["val"], None),
        ("val", ["train"], None),
        ("dev2", ["dev2"], "dev2"),
    ],
)
def test_a_split_is_found_by_its_name_or_else_by_a_word_for_it(name, names, found):
    assert naming.find_split(name, names) == found


def test_splits_are_ordered_as_people_expect():
    assert naming.split_order({"b", "test", "a", "validation", "train"}) == ["train", "validation", "test", "a", "b"]
    assert naming.split_order({"test", "train"}) == ["train", "test"]
    assert naming.split_order(set()) == []


# What may stand in a manifest that came from anywhere, and must never be followed.
NASTY_PATHS = {
    "": "empty",
    "/etc/passwd": "absolute",
    "//server/share": "absolute",
    "C:/Windows": "absolute",
    "c:file": "absolute",
    "file:///etc/passwd": "absolute",
    "s3://bucket/key": "absolute",
    "..": "part",
    "../other/manifest.json": "part",
    "a/../../b": "part",
    "a/..": "part",
    "./a": "part",
    "a/./b": "part",
    "a//b": "part",
    "a/": "part",
    "..\\other": "backslash",
    "a\\b": "backslash",
    "\\\\server\\share": "backslash",
    "a\0b": "control",
    "a\nb": "control",
    "a\x7f": "control",
    "a\x85": "control",  # a line break for some
}


@pytest.mark.parametrize(("path", "problem"), NASTY_PATHS.items())
def test_paths_that_could_leave_the_folder_are_refused(path, problem):
    assert problem in naming.relative_path_problem(path)


@pytest.mark.parametrize(
    "path", ["a", "a/b.tfrecord", "..a", "a..", "...", "a/...", "\u00fc \u732b.jpg", ".hidden", "~/a", "a b"]
)
def test_ordinary_paths_are_allowed(path):
    assert naming.relative_path_problem(path) is None
