import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.naming import relative_path_problem
from shardkit.options.groups import ConvertOptions
from shardkit.sources.engine.paths import KeyBuilder
from shardkit.sources.listing import BadRecord
from shardkit.sources.opening import open_source
from shardkit.storage import LocalFolder, open_folder
from shardkit.testing import listed, opened, picture, plan_without_beam, write_tree

from ..table_reading import rows, write

# paths and root: the folder (below the test's) and the keys
ABSOLUTE = {
    "common parent": (["{}/x/a/1.jpg", "{}/x/b/c/2.jpg"], None, "x", ["a/1.jpg", "b/c/2.jpg"]),
    "one folder": (["{}/x/1.jpg", "{}/x/2.jpg"], None, "x", ["1.jpg", "2.jpg"]),
    "names that begin alike": (["{}/x/ab/1.jpg", "{}/x/a/1.jpg"], None, "x", ["ab/1.jpg", "a/1.jpg"]),
    "a later one lies higher": (["{}/x/a/1.jpg", "{}/x/2.jpg"], None, "x", ["a/1.jpg", "2.jpg"]),
    "file://": (["file://{}/x/1.jpg", "{}/x/2.jpg"], None, "x", ["1.jpg", "2.jpg"]),
    "root": (["{}/x/a/1.jpg", "{}/x/a/2.jpg"], "{}/x", "x", ["a/1.jpg", "a/2.jpg"]),
    "not below the root": (["{}/x/1.jpg", "{}/xy/2.jpg"], "{}/x/", "x", ["1.jpg", None]),
    "relative below the root": (["a/1.jpg", "{}/x/2.jpg"], "{}/x", "x", ["a/1.jpg", "2.jpg"]),
    "upward": (["{}/x/1.jpg", "{}/x/../y/2.jpg"], None, "x", ["1.jpg", None]),
    "one image": (["{}/x/y/1.jpg"], None, "x/y", ["1.jpg"]),
    "one relative path among absolute ones, and one of a store": (
        ["{}/x/a.jpg", "b.jpg", "{}/x/c.jpg", "s3://b/d.jpg", "{}/x/y/e.jpg"],
        None,
        "x",
        ["a.jpg", "b.jpg", "c.jpg", None, "y/e.jpg"],
    ),
    "a relative path after absolute ones": (
        [*["{}/x/a.jpg"] * 1001, "b.jpg"],
        None,
        "x",
        [*["a.jpg"] * 1001, "b.jpg"],
    ),
}


@pytest.mark.parametrize(("paths", "root", "folder", "keys"), ABSOLUTE.values(), ids=ABSOLUTE.keys())
def test_absolute_paths_have_keys_below_the_root_or_their_common_parent(paths, root, folder, keys, tmp_path):
    content = "image,label\n" + "".join(f"{path.format(tmp_path)},x\n" for path in paths)
    table = write(tmp_path / "elsewhere", content)
    write_tree(tmp_path, {f"{folder}/{keys[0]}": b""})
    source = opened(table, root=root and root.format(tmp_path))
    assert source.folder.url == f"{tmp_path}/{folder}"
    found = [(row["key"], row["reason"]) for row in listed(source).table.to_pylist()]
    assert found == [(key, None) if key else (f"labels.csv, line {i}", "bad_path") for i, key in enumerate(keys, 2)]


def test_the_common_parent_is_that_of_all_records_not_of_the_first(tmp_path):
    write_tree(tmp_path, {"a/b/1.jpg": b""})
    table = write(tmp_path, "image,label\n" + f"{tmp_path}/a/b/1.jpg,x\n" * 1500 + f"{tmp_path}/a/2.jpg,x\n")
    assert opened(table).folder.url == f"{tmp_path}/a"
    assert rows(table, "key")[-1] == ("2.jpg",)


def test_an_object_store_is_read_the_same(s3_bucket):
    with open_folder(s3_bucket).atomic_write("images/2.jpg") as file:
        file.write(b"2")
    with open_folder(s3_bucket).atomic_write("tables/labels.csv") as file:
        file.write(f"image,label\n{s3_bucket}/images/a/1.jpg,x\n{s3_bucket}/images/2.jpg,y\n".encode())
    source = open_source(f"{s3_bucket}/tables/labels.csv")
    assert source.folder.url == f"{s3_bucket}/images"
    assert listed(source).table["key"].to_pylist() == ["a/1.jpg", "2.jpg"]


@given(st.text("ab./\\:\0\n é", max_size=12))
def test_the_short_way_for_plain_paths_gives_what_the_long_one_does(path):
    slashed = path.strip(" ").replace("\\", "/")  # blanks around a separator
    while slashed.startswith("./"):
        slashed = slashed[2:]
    if relative_path_problem(slashed):
        with pytest.raises(BadRecord):
            KeyBuilder("/images/").key(path)
    else:
        assert KeyBuilder("/images/").key(path) == slashed


def test_paths_that_no_file_system_follows_reject_their_records_alone(tmp_path):
    write_tree(tmp_path, {"a.png": picture(1), "locked/b.png": picture(2)})
    long = {
        "x" * 5000: "bad_path",
        "x" * 300 + ".png": "missing",
        "a.png/b.png": "missing",
        "y/" * 100 + "c": "missing",
    }
    path = write(tmp_path, "image,label\na.png,cat\n" + "".join(f"{path},cat\n" for path in long))
    plan = plan_without_beam(open_source(str(path)), ConvertOptions())
    assert plan.num_examples == 1
    rejected = plan.rejected.to_pylist()
    assert sorted(row["reason"] for row in rejected) == sorted(long.values())
    assert all(len(row["message"]) < 1000 for row in rejected)
    assert any("5,000 characters" in row["message"] for row in rejected)


def test_a_split_of_any_length_rejects_its_record_alone(tmp_path):
    write_tree(tmp_path, {"a.png": picture(1), "b.png": picture(2)})
    path = write(tmp_path, f"image,label,split\na.png,cat,train\nb.png,cat,{'v' * 5000}\n")
    plan = plan_without_beam(open_source(str(path)), ConvertOptions())
    [row] = plan.rejected.to_pylist()
    assert (row["key"], row["reason"]) == ("b.png", "bad_split")
    assert "5,000" in row["message"]
    assert len(row["message"]) < 1000


def test_a_path_that_may_not_be_looked_up_rejects_its_record_alone(tmp_path, monkeypatch):
    write_tree(tmp_path, {"a.png": picture(1), "locked/b.png": picture(2)})
    path = write(tmp_path, "image,label\na.png,cat\nlocked/b.png,cat\n")
    source = open_source(str(path))
    stat = LocalFolder.stat

    def denied(folder, path):
        if path.startswith("locked/"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return stat(folder, path)

    monkeypatch.setattr(LocalFolder, "stat", denied)
    [row] = plan_without_beam(source, ConvertOptions()).rejected.to_pylist()
    assert (row["key"], row["reason"]) == ("locked/b.png", "unreadable")
    assert "Permission denied" in row["message"]
