"""Images that are not where the table says: in a folder nearby, above the table, or on another machine."""

import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.errors import CallError, DataError
from shardkit.sources.engine.paths import parse_prefixes, replace_prefix
from shardkit.sources.opening import open_source
from shardkit.testing import listed, opened, read_source, upload, write_tree
from shardkit.testing.refusals import offered

from ..table_reading import write

# name: the table's place, the paths in it, the files, and the keys of the first records below the test's folder
NEARBY = {
    "a child": ("d/train.csv", ["0.jpg", "1.jpg"], ["d/img/0.jpg", "d/img/1.jpg"], ["d/img/0.jpg", "d/img/1.jpg"]),
    "a grandchild": ("d/train.csv", ["0.jpg"], ["d/images/train/0.jpg"], ["d/images/train/0.jpg"]),
    "a sibling": ("d/labels/train.csv", ["0.jpg"], ["d/images/0.jpg"], ["d/images/0.jpg"]),
    "a folder in a sibling": ("d/labels/train.csv", ["0.jpg"], ["d/images/train/0.jpg"], ["d/images/train/0.jpg"]),
    "the table's parent": ("d/labels/train.csv", ["img/0.jpg"], ["d/img/0.jpg"], ["d/img/0.jpg"]),
    "names without ending": ("d/train.csv", ["0", "1"], ["d/t/0.jpg", "d/t/1.png"], ["d/t/0.jpg", "d/t/1.png"]),
    "paths with folders": (
        "d/train.csv",
        ["a/0.jpg", "b/0.jpg"],
        ["d/t/a/0.jpg", "d/t/b/0.jpg"],
        ["d/t/a/0.jpg", "d/t/b/0.jpg"],
    ),
    "spread over two": ("d/m.csv", ["0", "1"], ["d/p1/0.jpg", "d/p2/1.jpg"], ["d/p1/0.jpg", "d/p2/1.jpg"]),
    "a split in each folder": (
        "d/m.csv",
        ["0.jpg", "1.jpg"],
        ["d/train/0.jpg", "d/val/1.jpg"],
        ["d/train/0.jpg", "d/val/1.jpg"],
    ),
    "other images beside": ("d/train.csv", ["0.jpg"], ["d/train/0.jpg", "d/test/9.jpg"], ["d/train/0.jpg"]),
    "one is where the table says": ("d/t.csv", ["0.jpg", "1.jpg"], ["d/0.jpg", "d/img/1.jpg"], ["d/0.jpg", "d/1.jpg"]),
}


def table(root, place, paths, files):
    write_tree(root, dict.fromkeys(files, b""))
    above, _, name = place.rpartition("/")
    return write(root / above, "image,label\n" + "".join(f"{path},x\n" for path in paths), name)


@pytest.mark.parametrize(("place", "paths", "files", "keys"), NEARBY.values(), ids=NEARBY.keys())
def test_images_in_one_folder_nearby_are_found_and_the_folder_is_named(place, paths, files, keys, tmp_path):
    source = opened(table(tmp_path, place, paths, files))
    start = f"{source.folder.url}/"
    assert [start + key for key in listed(source).table["key"].to_pylist()] == [f"{tmp_path}/{key}" for key in keys]
    said = source.describe().partition("were found in ")[2].partition(", by")[0]
    folders = {str((tmp_path / key).parent) for key in keys} if "/" not in paths[0] else None
    if folders and place != "d/t.csv":
        assert set(said.split(", ")) == folders


def test_folders_beside_that_of_a_table_are_searched_only_if_they_are_called_like_images(tmp_path):
    files = ["images_224/0.jpg", "photographs/1.jpg", "imagescurrent/2.jpg"]
    write_tree(tmp_path, dict.fromkeys(files, b""))
    path = write(tmp_path / "d", "image,label\n0.jpg,x\n1.jpg,x\n2.jpg,x\n")
    source = opened(path)
    assert listed(source).table["key"].to_pylist() == [f"images_224/{i}.jpg" for i in range(3)]
    assert source.reading.label.origin.base == "images_224"


def test_numbered_folders_hold_one_dataset_even_if_the_first_records_are_all_in_one(tmp_path):
    files = [f"d/images_{i // 40:03d}/images/{i}.png" for i in range(120)]
    path = table(tmp_path, "d/entries.csv", [f"{i}.png" for i in range(120)], files)
    rows = read_source(path).table
    assert rows["key"].to_pylist() == [file.removeprefix("d/") for file in files]


def test_a_name_in_two_of_the_folders_stops(tmp_path):
    files = ["d/p1/0.png", "d/p2/1.png", "d/p1/99.png", "d/p2/99.png"]
    path = table(tmp_path, "d/t.csv", ["0.png", "1.png", *[f"{i}.png" for i in range(2, 30)], "99.png"], files)
    with pytest.raises(DataError, match=r"'99.png' names 2 images .*p1/99.png and p2/99.png; write the folders before"):
        read_source(path)


def test_images_in_folders_of_their_names_first_characters_are_found_even_if_some_are_missing(tmp_path):
    names = [f"{i:x}{15 - i:x}-{i}" for i in range(12)]
    files = [f"train/{name[0]}/{name[1]}/{name}.jpg" for name in names[:9]]
    write_tree(tmp_path / "d", dict.fromkeys(files, b"x"))
    write(tmp_path / "d", "id,label\n" + "".join(f"{name},cat\n" for name in names), "t.csv")
    assert read_source(tmp_path / "d").table["key"].to_pylist() == [*files, *names[9:]]


def test_the_same_names_in_several_folders_are_refused_with_the_command_for_each(tmp_path):
    files = ["d/cats_images/0.jpg", "d/dogs_images/0.jpg"]
    path = table(tmp_path, "d/dogs.csv", ["0.jpg"], files)
    with pytest.raises(CallError, match=r"image names of the table, such as '0.jpg', exist in 2 folders") as error:
        opened(path)
    roots = [str(tmp_path / "d" / name) for name in ("cats_images", "dogs_images")]
    assert offered(error.value) == [{"root": root} for root in roots]
    assert read_source(path, root=roots[0]).table["key"].to_pylist() == ["0.jpg"]


def test_of_folders_of_splits_that_have_the_same_names_a_table_means_the_one_of_its_split(tmp_path):
    path = table(tmp_path, "d/train.csv", ["0.jpg"], ["d/test_images/0.jpg", "d/train_images/0.jpg"])
    assert read_source(path).table["key"].to_pylist() == ["train_images/0.jpg"]


def test_paths_that_lead_upwards_need_the_root_of_the_command(tmp_path):
    files = ["d/pictures/0.jpg", "d/pictures/more/1.jpg"]
    path = table(tmp_path, "d/labels/t.csv", ["../pictures/0.jpg", "..\\pictures\\more\\1.jpg"], files)
    with pytest.raises(CallError, match=r"such as '../pictures/0.jpg' point outside the table's folder, to") as error:
        opened(path)
    root = str(tmp_path / "d/pictures")
    assert offered(error.value) == [{"root": root}]
    assert read_source(path, root=root).table["key"].to_pylist() == ["0.jpg", "more/1.jpg"]
    assert read_source(path, root=str(tmp_path / "d")).table["key"].to_pylist() == [
        "pictures/0.jpg",
        "pictures/more/1.jpg",
    ]
    rejected = read_source(path, root=str(tmp_path / "d/pictures/more")).table.to_pylist()
    assert [row["reason"] for row in rejected] == ["bad_path", None]
    assert (
        f"is outside {tmp_path}/d/pictures/more/ (resolved to {tmp_path}/d/pictures/0.jpg); set `root`"
        in rejected[0]["message"]
    )


def test_upward_paths_that_leave_the_disk_are_rejected(tmp_path):
    path = table(tmp_path, "d/t.csv", ["0.jpg", "1.jpg", "../" * 99 + "etc/passwd", "a/../0.jpg"], ["d/0.jpg"])
    assert [row["reason"] for row in read_source(path).table.to_pylist()] == [None, None, "bad_path", "bad_path"]


# name: paths from another machine, the files, OLD, and the folder of NEW, or None if it is not found
ELSEWHERE = {
    "some of which are not here": (
        ["C:\\Users\\me\\pets\\a\\0.jpg", "C:\\Users\\me\\pets\\b\\1.jpg"],
        ["img/a/0.jpg"],
        "C:\\Users\\me\\pets",
        "img",
    ),
    "images that are nowhere": (
        ["/content/drive/a/0.jpg", "/content/drive/b/1.jpg"],
        ["x.jpg"],
        "/content/drive",
        None,
    ),
}


@pytest.mark.parametrize(("paths", "files", "old", "new"), ELSEWHERE.values(), ids=ELSEWHERE.keys())
def test_paths_of_another_machine_are_refused_with_the_prefix_that_they_share(paths, files, old, new, tmp_path):
    path = table(tmp_path, "d/t.csv", paths, [f"d/{file}" for file in files])
    with pytest.raises(CallError, match="none of the first images exists, for example") as error:
        opened(path)
    prefix = f"{old}={'FOLDER' if new is None else tmp_path / 'd' / new}"
    assert offered(error.value) == [{"path_prefix": (prefix,)}]
    if new is not None:
        source = opened(path, path_prefix=(prefix,))
        key = listed(source).table["key"].to_pylist()[0]
        assert f"{source.folder.url}/{key}" == str(
            tmp_path / "d" / next(file for file in files if file.endswith("0.jpg"))
        )


# name: paths from another machine that are all here, and the files
MOVED = {
    "a drive": (
        ["C:\\Users\\me\\pets\\a\\0.jpg", "C:\\Users\\me\\pets\\b\\1.jpg"],
        ["img/a/0.jpg", "img/b/1.jpg"],
    ),
    "a drive with slashes": (["D:/pets/0.jpg"], ["img/0.jpg"]),
    "a share": (["\\\\server\\pets\\0.jpg"], ["0.jpg"]),
    "a mounted drive": (["/content/drive/MyDrive/pets/0.jpg"], ["pets/0.jpg"]),
    "a path from the root of the dataset": (["/img/0.jpg"], ["img/0.jpg"]),
    "a folder that has another name now": (["pets-v1/img/0.jpg"], ["img/0.jpg"]),
    "a home": (["/home/me/x/0.jpg", "/home/me/x/1.jpg"], ["0.jpg", "1.jpg"]),
}


@pytest.mark.parametrize(("paths", "files"), MOVED.values(), ids=MOVED.keys())
def test_paths_of_another_machine_that_are_all_here_are_found(paths, files, tmp_path):
    path = table(tmp_path, "d/t.csv", paths, [f"d/{file}" for file in files])
    source = opened(path)
    assert "are below" in source.describe()
    found = [f"{source.folder.url}/{key}" for key in listed(source).table["key"].to_pylist()]
    assert found == [str(tmp_path / "d" / file) for file in files]


def test_a_prefix_that_leads_nowhere_is_refused_with_both_paths_and_the_right_one(tmp_path):
    path = table(tmp_path, "d/t.csv", ["C:\\x\\0.jpg"], ["d/img/0.jpg"])
    with pytest.raises(CallError, match=r"example 'C:\\\\x\\\\0.jpg' \(after path_prefix: '/nowhere/0.jpg'\)") as error:
        opened(path, path_prefix=("C:\\x=/nowhere",))
    assert offered(error.value)[0] == {"path_prefix": (f"C:\\x={tmp_path}/d/img",)}


def test_what_follows_the_path_of_a_web_address_is_no_part_of_the_name(tmp_path):
    urls = ["https://cdn.example.com/a/0.jpg?width=300", "https://cdn.example.com/a/1.jpg#top"]
    path = table(tmp_path, "d/t.csv", urls, ["d/img/0.jpg", "d/img/1.jpg"])
    with pytest.raises(CallError, match=r"and are in .*/img, too") as error:
        opened(path)
    [prefix] = [one for one in offered(error.value) if "path_prefix" in one]
    assert prefix == {"path_prefix": (f"https://cdn.example.com/a={tmp_path}/d/img",)}
    assert {one["reason"] for one in listed(opened(path, **prefix)).rows} == {None}


# prefixes, a path, and what becomes of it
MAPPED = [
    (["C:\\data=/here"], "C:\\data\\a\\b.jpg", "/here/a/b.jpg"),
    (["C:\\data=/here"], "c:/DATA/a.jpg", "/here/a.jpg"),
    (["C:\\data=/here"], "C:\\database\\a.jpg", "C:\\database\\a.jpg"),
    (["C:\\=/c", "D:\\=/d"], "D:\\a.jpg", "/d/a.jpg"),
    (["/content/drive/=s3://bucket/x"], "/content/drive/a.jpg", "s3://bucket/x/a.jpg"),
    (["/Content=/here"], "/content/a.jpg", "/content/a.jpg"),
    (["/content/="], "/content/a/b.jpg", "a/b.jpg"),
    (["/="], "/a/b.jpg", "a/b.jpg"),
    (["/=/here"], "a/b.jpg", "a/b.jpg"),
    (["data/train=/t", "data=/d"], "data/test/b.jpg", "/d/test/b.jpg"),
    (["a=/x=y"], "a/b.jpg", "/x=y/b.jpg"),
]


@pytest.mark.parametrize(("prefixes", "path", "expected"), MAPPED)
def test_the_first_prefix_that_fits_is_replaced(prefixes, path, expected):
    assert replace_prefix(path, parse_prefixes(prefixes)) == expected


@given(st.text("ab/\\:C", max_size=8), st.text("ab/\\:C", max_size=8))
def test_a_prefix_replaces_whole_names_only_and_keeps_the_rest(start, rest):
    [(old, new)] = prefixes = parse_prefixes(["ab/C=/new"])
    assert new == "/new"
    path = start + rest
    mapped = replace_prefix(path, prefixes)
    slashed = path if "/" in path else path.replace("\\", "/")  # with '/' in it, a '\\' may be in a name
    if f"{slashed}/".startswith(f"{old}/"):
        assert mapped == new + slashed[len(old) :]
    else:
        assert mapped == path


@pytest.mark.parametrize("text", ["", "=", "\\\\=x", "abc", "=abc"])
def test_a_prefix_without_both_sides_is_refused(text):
    with pytest.raises(CallError, match="path_prefix is OLD=NEW"):
        parse_prefixes([text])


def test_a_local_replacement_starts_at_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = table(tmp_path, "d/t.csv", ["C:\\x\\0.jpg"], ["img/0.jpg"])
    source = opened(path, path_prefix=("C:\\x=img",))
    assert (source.folder.url, listed(source).table["key"].to_pylist()) == (f"{tmp_path}/img", ["0.jpg"])


def test_folders_near_a_table_in_a_bucket_are_searched_the_same(s3_bucket):
    upload(
        f"{s3_bucket}/comp", {"labels/train.csv": b"id,label\n0,x\n1,y\n", "images/0.jpg": b"0", "images/1.png": b"1"}
    )
    source = open_source(f"{s3_bucket}/comp/labels/train.csv")
    assert source.folder.url == f"{s3_bucket}/comp"
    assert listed(source).table["key"].to_pylist() == ["images/0.jpg", "images/1.png"]


def test_a_table_in_an_archive_finds_the_archives_folders(tmp_path):
    with zipfile.ZipFile(tmp_path / "comp.zip", "w") as archive:
        archive.writestr("train.csv", "id_code,diagnosis\n0,x\n1,y\n")
        for i in range(2):
            archive.writestr(f"train_images/{i}.png", b"x")
    assert read_source(tmp_path / "comp.zip").table["key"].to_pylist() == ["train_images/0.png", "train_images/1.png"]
