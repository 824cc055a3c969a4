import io
import os
import pickle
import stat
import struct
import zipfile
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.archives import zip_folder
from shardkit.archives.zip_folder import ZipFolder
from shardkit.errors import CallError, DataError, SourceChangedError
from shardkit.naming import printable
from shardkit.sources.options import Opening
from shardkit.sources.recognising.folders.class_folders import open_class_folders
from shardkit.sources.recognising.only_folders import top_of
from shardkit.storage import Entry, open_folder
from shardkit.testing import files_of, write_tree

TREE = {
    "train/cat/1.jpg": b"one",
    "train/cat/\u732b \U0001f600.jpg": b"two" * 5000,
    "train/dog/new\nline.png": b"",
    "test/cat/a b+c=d&e?#%20.jpg": bytes(range(256)) * 99,
    "notes.txt": b"3",
}


def zipped(path, files, method=zipfile.ZIP_DEFLATED, **attributes):
    """Write a .zip of these files in this order; attributes are set on the first member's ZipInfo."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name, (2024, 2, 29, 12, 30, 58))
            info.compress_type = method
            for key, value in attributes.items():
                setattr(info, key, value)
            attributes = {}
            archive.writestr(info, data)
    return path


def opened(path):
    return ZipFolder(str(path))


def members(folder, path=""):
    """Return every scan below a folder, without modification times."""
    found = {path: [entry[:3] for entry in folder.scan(path) if not entry.is_folder]}
    for entry in folder.scan(path):
        if entry.is_folder:
            found.update(members(folder, f"{path}/{entry.name}" if path else entry.name))
    return found


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_an_archive_is_read_as_the_same_tree_unpacked(tmp_path, method):
    zipped(tmp_path / "a.zip", TREE, method)
    packed, unpacked = opened(tmp_path / "a.zip"), open_folder(str(write_tree(tmp_path / "a", TREE)))
    assert members(packed) == members(unpacked)
    assert files_of(packed) == files_of(unpacked) == TREE
    for path, data in TREE.items():
        assert packed.stat(path)[:3] == unpacked.stat(path)[:3]
        with packed.open(path) as file:
            assert file.seek(2) == 2
            assert file.read() == data[2:]
        assert packed.read_range(path, 1, 4) == data[1:5]
    for path in ("", "train", "train/cat"):
        assert packed.stat(path).is_folder


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\\\0:"), min_size=1, max_size=4)
trees = st.dictionaries(
    st.lists(names.filter(lambda name: name not in {".", ".."}), min_size=1, max_size=3).map("/".join),
    st.binary(max_size=40),
    min_size=1,
    max_size=8,
).filter(lambda tree: not any(one.startswith(f"{other}/") for one in tree for other in tree))


@given(trees, st.booleans(), st.data())
def test_any_tree_makes_the_round_trip(tmp_path_factory, tree, with_folders, data):
    path = tmp_path_factory.mktemp("zip") / "a.zip"
    files = {name: tree[name] for name in data.draw(st.permutations(sorted(tree)))}
    folders = {f"{name.rpartition('/')[0]}/": b"" for name in tree if "/" in name} if with_folders else {}
    zipped(path, {**files, **folders})
    folder = opened(path)
    assert files_of(folder) == tree
    assert [entry.name for entry in folder.scan()] == sorted({name.partition("/")[0] for name in tree})


def test_a_layout_reads_an_archive_as_it_reads_the_folder(tmp_path):
    def listed(folder):
        source = open_class_folders(Opening(folder))
        batches = [listing for part in source.parts() for listing in source.list_part(part, 2)]
        return [row[:4] + row[5:] for batch in batches for row in batch.rows], [batch.skipped for batch in batches]

    tree = {name: data for name, data in TREE.items() if name != "notes.txt"} | {"train/cat/x.txt": b"1"}
    zipped(tmp_path / "a.zip", tree)
    assert listed(opened(tmp_path / "a.zip")) == listed(open_folder(str(write_tree(tmp_path / "a", tree))))


def test_what_is_not_there_is_none_empty_or_an_error(tmp_path):
    folder = opened(zipped(tmp_path / "a.zip", TREE))
    assert folder.scan("no") == folder.scan("notes.txt") == []
    assert folder.stat("no") is None
    for reading in (folder.read, folder.open):
        with pytest.raises(FileNotFoundError):
            reading("no")
        with pytest.raises(IsADirectoryError):
            reading("train")


def test_modification_times_are_taken_as_utc(tmp_path):
    folder = opened(zipped(tmp_path / "a.zip", {"1.jpg": b""}))
    assert folder.stat("1.jpg").mtime_ns == 1_709_209_858_000_000_000
    zipped(tmp_path / "b.zip", {"1.jpg": b""}, date_time=(1980, 0, 0, 0, 0, 0))
    assert opened(tmp_path / "b.zip").stat("1.jpg").mtime_ns == 0


def as_written(names_and_flags):
    """Write a .zip with members of these raw names, with or without the UTF-8 flag, all with content b'x'."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for i, (raw, _) in enumerate(names_and_flags):
            archive.writestr(f"{i:0{len(raw)}d}", b"x")
    data = out.getvalue()
    for i, (raw, flagged) in enumerate(names_and_flags):
        placeholder = f"{i:0{len(raw)}d}".encode()
        for head, flags_at in ((b"PK\3\4", -24), (b"PK\1\2", -38)):
            at = data.index(placeholder, data.index(head))
            data = data[:at] + raw + data[at + len(raw) :]
            if flagged:
                data = data[: at + flags_at] + struct.pack("<H", 0x800) + data[at + flags_at + 2 :]
    return data


@pytest.mark.parametrize(
    ("raw", "flagged", "path"),
    [
        ("\u00fc.jpg".encode(), True, "\u00fc.jpg"),
        ("\u732b.jpg".encode(), False, "\u732b.jpg"),  # UTF-8 without the flag, as macOS and Java write it
        (b"\x81ber.jpg", False, "\u00fcber.jpg"),  # code page 437, as the format says
        (b"dir\\1234.jpg", False, "dir/1234.jpg"),  # as Windows tools write it
        (b"./dir/./1.jpg", False, None),
        (b"././dir/1.jpg", False, "dir/1.jpg"),
        (b"../123456.jpg", False, None),
        (b"dir/../../1.jpg", False, None),
        (b"..\\..\\1234.jpg", False, None),
        (b"/etc/passwd.jpg", False, None),
        (b"\\\\host\\share.jpg", False, None),
        (b"C:\\dir\\1234.jpg", False, None),
        (b"C:123456789.jpg", False, None),
        (b"dir//123456.jpg", False, None),
        (b"dir/1.jpg\0.txt", False, None),
    ],
)
def test_names_are_read_as_written_and_those_that_leave_the_archive_are_problems(tmp_path, raw, flagged, path):
    (tmp_path / "a.zip").write_bytes(as_written([(raw, flagged), (b"other.jpg", False)]))
    folder = opened(tmp_path / "a.zip")
    if path is not None:
        assert files_of(folder) == {path: b"x", "other.jpg": b"x"}
        return
    assert [entry.name for entry in folder.scan()] == ["other.jpg"]
    [problem] = folder.problems()
    assert (problem.name.encode(), problem.reason, problem.num_bytes) == (raw, "bad_name", 1)
    assert printable(problem.name) in problem.message
    assert "of a.zip has a name that is not safe: it " in problem.message
    assert folder.stat(problem.name) is None
    with pytest.raises(FileNotFoundError):
        folder.read(problem.name)
    assert list(tmp_path.iterdir()) == [tmp_path / "a.zip"]


def test_a_file_that_others_use_as_a_folder_is_a_problem_and_is_not_read(tmp_path):
    folder = opened(zipped(tmp_path / "a.zip", {"a": b"12", "a/b": b"2"}))
    assert [(entry.name, entry.is_folder) for entry in folder.scan()] == [("a", True)]
    assert folder.read("a/b") == b"2"
    message = "the entry a of a.zip is a file and, for other entries, a folder; pack it again"
    assert folder.problems() == [("a", "bad_name", message, 2)]


def test_of_two_members_of_one_name_the_last_counts_and_the_first_is_a_problem(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("top/a", b"first")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("top/a", b"second")
    folder = opened(tmp_path / "a.zip")
    assert folder.read("top/a") == b"second"
    assert [entry.num_bytes for entry in folder.scan("top")] == [6]
    assert [one[:2] + one[3:] for one in folder.problems()] == [("top/a", "duplicate_key", 5)]
    assert [one.name for one in top_of(folder).problems()] == ["a"]  # by its path below the folder


def test_folders_listed_twice_or_with_backslashes_are_not_problems(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in ("a/", "./", "b\\", "a/1.jpg"):
            archive.writestr(zipfile.ZipInfo(name), b"")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr(zipfile.ZipInfo("a/"), b"")
    folder = opened(tmp_path / "a.zip")
    assert [(entry.name, entry.is_folder) for entry in folder.scan()] == [("a", True), ("b", True)]
    assert folder.problems() == []


def test_links_in_an_archive_are_not_followed(tmp_path):
    zipped(
        tmp_path / "a.zip", {"link.jpg": b"/etc/passwd"}, external_attr=(stat.S_IFLNK | 0o777) << 16, create_system=3
    )
    assert opened(tmp_path / "a.zip").read("link.jpg") == b"/etc/passwd"


def with_bytes(path, change):
    path.write_bytes(change(path.read_bytes()))
    return opened(path)


def patched(data, at, value):
    return data[:at] + value + data[at + len(value) :]


def in_table(data, at, value):
    """Replace bytes of the first member's record in the central directory."""
    return patched(data, data.index(b"PK\1\2") + at, value)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda data: in_table(data, 8, b"\1\0"), "the entry a of a.zip is encrypted; unpack the archive"),
        (lambda data: in_table(data, 10, b"\x0e\0"), "by method 14, .*; unpack the archive"),
        (lambda data: in_table(data, 16, b"abcd"), "do not match their CRC"),
        (lambda data: in_table(data, 24, struct.pack("<L", 99)), "fewer bytes than the 99"),
        (lambda data: in_table(data, 24, struct.pack("<L", 9)), "more bytes than the 9"),
        (lambda data: in_table(data, 24, struct.pack("<L", (1 << 30) + 1)), "unpacks to 1073741825 bytes, more than"),
        (lambda data: in_table(data, 24, struct.pack("<L", 65 << 20)), "which no picture does; leave it out"),
        (lambda data: in_table(data, 42, struct.pack("<L", 5)), "not at byte 5"),
        (lambda data: in_table(data, 20, struct.pack("<L", 4)), "fewer bytes|cannot be inflated"),
        (lambda data: in_table(data, 20, struct.pack("<L", 1 << 20)), "beyond the end"),
        (lambda data: patched(data, 31, b"\xff\xff\xff"), "cannot be inflated|do not match"),
    ],
)
def test_a_member_that_cannot_be_trusted_is_an_error_of_the_file_in_one_sentence(tmp_path, change, found):
    folder = with_bytes(zipped(tmp_path / "a.zip", {"a": b"content!" * 3, "b": b"good"}), change)
    for reading in (folder.read, folder.open):
        with pytest.raises(OSError, match=found) as caught:
            reading("a")
        assert caught.value.strerror is None
        assert "\n" not in str(caught.value)
    assert folder.read("b") == b"good"


def test_a_small_picture_of_one_colour_is_not_a_zip_bomb(tmp_path):
    blank = bytes(8 << 20)
    path = zipped(tmp_path / "a.zip", {"mask.bmp": blank})
    assert path.stat().st_size * 900 < len(blank)
    assert opened(path).read("mask.bmp") == blank


def test_a_large_member_is_unpacked_to_disk_and_read_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(zip_folder, "_IN_MEMORY_BYTES", 1 << 20)
    data = os.urandom(3 << 20) + bytes(5 << 20)
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        folder = opened(zipped(tmp_path / f"{method}.zip", {"first": b"1", "large": data}, method))
        with folder.open("large") as file:
            assert not isinstance(file, io.BytesIO)
            file.seek(4 << 20)
            assert file.read() == data[4 << 20 :]
        assert folder.read("large") == data
        assert max(map(len, folder._blocks("large"))) <= 1 << 20


def test_a_long_extra_field_in_the_local_header_alone_is_skipped(tmp_path):
    path = zipped(tmp_path / "a.zip", {"a": b"content"})
    data = path.read_bytes()
    longer = patched(data, 28, struct.pack("<H", 1000))[:31] + bytes(1000) + data[31:]
    end = longer.rindex(b"PK\5\6")
    start = struct.unpack_from("<L", longer, end + 16)[0]
    path.write_bytes(patched(longer, end + 16, struct.pack("<L", start + 1000)))
    assert opened(path).read("a") == b"content"


@pytest.mark.parametrize("data", [b"", b"no archive", b"PK\3\4" + bytes(50), b"PK\5\6" + bytes(10)])
def test_what_is_no_archive_is_refused(tmp_path, data):
    (tmp_path / "a.zip").write_bytes(data)
    with pytest.raises(DataError, match=r"a\.zip: .*not a \.zip archive, .*copy it again"):
        opened(tmp_path / "a.zip").scan()


@given(st.data())
def test_damage_is_an_error_of_ours_or_of_the_file_and_never_another_content(tmp_path_factory, data):
    path = zipped(tmp_path_factory.mktemp("zip") / "a.zip", TREE)
    original = path.read_bytes()
    at = data.draw(st.integers(0, len(original) - 1))
    broken = patched(original, at, bytes([original[at] ^ data.draw(st.integers(1, 255))]))
    path.write_bytes(data.draw(st.sampled_from([broken, original[:at]])))
    try:
        folder = opened(path)
        found = [entry.name for entry in folder.scan() if not entry.is_folder]
    except DataError:
        return
    for name in [*found, *TREE]:
        try:
            content = folder.read(name)
        except OSError:
            continue
        assert content == TREE.get(name, content)


@pytest.mark.parametrize("missing", ["no.zip", "folder.zip"])
def test_an_archive_that_is_not_there_is_refused(tmp_path, missing):
    (tmp_path / "folder.zip").mkdir()
    with pytest.raises(DataError, match="there is no such archive"):
        opened(tmp_path / missing)


def test_nothing_is_written_into_an_archive(tmp_path):
    folder = opened(zipped(tmp_path / "a.zip", TREE))
    before = (tmp_path / "a.zip").read_bytes()
    for action in (
        folder.create,
        lambda: folder.atomic_write("a"),
        lambda: folder.remove("a"),
        lambda: folder.remove_tree(""),
    ):
        with pytest.raises(CallError, match=r"a\.zip: .*read-only; choose a folder"):
            action()
    assert (tmp_path / "a.zip").read_bytes() == before


def test_a_folder_in_an_archive_can_be_sent_to_a_worker_and_is_small(tmp_path, monkeypatch):
    zipped(tmp_path / "a.zip", {f"top/{i}.jpg": b"1" for i in range(1000)})
    monkeypatch.chdir(tmp_path)
    folder = top_of(ZipFolder("a.zip"))
    sent = pickle.dumps(folder)
    assert len(sent) < 500
    monkeypatch.chdir("/")
    assert pickle.loads(sent).read("7.jpg") == b"1"  # noqa: S301 - our own


def test_an_archive_that_changes_while_it_is_converted_is_not_read_on(tmp_path):
    folder = opened(zipped(tmp_path / "a.zip", {"a": b"1"}))
    zipped(tmp_path / "a.zip", {"a": b"12", "b": b"3"})
    with pytest.raises(SourceChangedError, match="has changed since the conversion began"):
        folder.scan()
    assert opened(tmp_path / "a.zip").read("a") == b"12"


def test_the_members_are_loaded_once_and_read_by_many_threads(tmp_path, monkeypatch):
    content = {f"{i}.jpg": bytes([i]) * 50_000 for i in range(64)}
    folder = opened(zipped(tmp_path / "a.zip", content))
    loads = []
    original = zipfile.ZipFile.__init__
    monkeypatch.setattr(zipfile.ZipFile, "__init__", lambda *args: (loads.append(1), original(*args))[1])
    with ThreadPoolExecutor(8) as pool:
        assert dict(zip(content, pool.map(folder.read, content), strict=True)) == content
    assert loads == [1]


@pytest.mark.parametrize(
    ("names", "root"),
    [
        (["top/cat/1.jpg", "top/dog/1.jpg"], "top"),
        (["top/1.jpg", "__MACOSX/top/._1.jpg", ".DS_Store"], "top"),
        (["top/inner/1.jpg"], "top"),
        (["cat/1.jpg", "dog/1.jpg"], ""),
        (["top/1.jpg", "README.txt"], ""),
        (["1.jpg"], ""),
        (["top/1.jpg", "../1.jpg"], "top"),
    ],
)
def test_a_single_top_folder_is_found(tmp_path, names, root):
    folder = top_of(opened(zipped(tmp_path / "a.zip", dict.fromkeys(names, b"1"))))
    assert folder.root == root
    inside = [name.removeprefix("top/") for name in names if name.startswith("top/")] if root else names
    assert set(files_of(folder)) == {name for name in inside if not name.startswith("..")}
    assert folder.url == f"{tmp_path}/a.zip" + (f"/{root}" if root else "")
    assert folder.resolve("").endswith(root)


def test_two_folders_of_an_archive_have_different_resolved_paths(tmp_path):
    folder = opened(zipped(tmp_path / "a.zip", TREE))
    (tmp_path / "link.zip").symlink_to("a.zip")
    assert folder.resolve("train") == opened(tmp_path / "link.zip").resolve("train") != folder.resolve("test")


def test_an_archive_in_an_object_store_is_read_by_ranges(tmp_path, s3_bucket):
    zipped(tmp_path / "a.zip", {"top/1.jpg": b"one", "top/2.jpg": os.urandom(100_000)})
    data = (tmp_path / "a.zip").read_bytes()
    with open_folder(s3_bucket).atomic_write("below/a.zip") as file:
        file.write(data)
    folder = top_of(ZipFolder(f"{s3_bucket}/below/a.zip"))
    assert files_of(folder) == files_of(top_of(opened(tmp_path / "a.zip")))
    assert pickle.loads(pickle.dumps(folder)).scan() == folder.scan()  # noqa: S301 - our own
    assert folder.stat("1.jpg") == Entry("1.jpg", False, 3, 1_709_209_858_000_000_000)
