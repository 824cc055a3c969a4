import os
import pickle
import tarfile

import pytest

from shardkit.archives.tar_folder import TarFolder
from shardkit.archives.uris import place_of, uri_of
from shardkit.conversion.inventory.source_files import read_place
from shardkit.errors import CallError, DataError, SourceChangedError
from shardkit.sources.options import Opening
from shardkit.sources.recognising.folders.class_folders import open_class_folders
from shardkit.sources.recognising.only_folders import top_of
from shardkit.sources.recognising.wrapped_source import with_archive_problems
from shardkit.storage import open_folder
from shardkit.testing import files_of, listed, write_tree

from ..record_sources.test_webdataset import tarred

TREE = {
    "ds/train/cat/1.jpg": b"one",
    "ds/train/cat/\u732b \U0001f600.jpg": b"two" * 5000,
    "ds/train/dog/new\nline.png": b"",
    "ds/test/cat/a b+c=d&e?#%20.jpg": bytes(range(256)) * 99,
    "ds/notes.txt": b"3",
}


def packed(path, members, **options):
    path.write_bytes(tarred(members, errors="surrogateescape", **options))
    return TarFolder(str(path))


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
@pytest.mark.parametrize("dot", ["", "./"])
def test_an_archive_is_read_as_the_same_tree_unpacked(tmp_path, form, dot):
    folders = [(f"{dot}{name}", {"type": tarfile.DIRTYPE}) for name in ("ds", "ds/train")]
    members = [*folders, *((f"{dot}{path}", data) for path, data in TREE.items())]
    archive = packed(tmp_path / "a.tar", members, format=form)
    unpacked = open_folder(str(write_tree(tmp_path / "a", TREE)))
    assert files_of(archive) == files_of(unpacked) == TREE
    assert archive.problems() == []
    for path, data in TREE.items():
        assert archive.stat(path)[:3] == unpacked.stat(path)[:3]
        assert archive.stat(path).mtime_ns == 1_700_000_000_000_000_000
        assert archive.read_range(path, 1, 4) == data[1:5]
        assert archive.read_range(path, 1, 1 << 20) == data[1:]
        with archive.open(path) as file:
            assert file.read() == data
    assert archive.stat("no") is None
    for reading in (archive.read, archive.open):
        with pytest.raises(FileNotFoundError):
            reading("no")
        with pytest.raises(IsADirectoryError):
            reading("ds/train")


def test_a_layout_reads_an_archive_as_it_reads_the_folder(tmp_path):
    tree = {path: data for path, data in TREE.items() if path != "ds/notes.txt"}
    archive = top_of(packed(tmp_path / "a.tar", tree.items()))
    source = open_class_folders(Opening(archive))
    plain = open_class_folders(Opening(open_folder(str(write_tree(tmp_path / "a", tree) / "ds"))))
    assert source.describe() == f"{tmp_path}/a.tar/ds: read as <split>/<label>/…/image"
    columns = ["key", "split", "label_name", "source_bytes", "reason"]
    assert listed(source).table.select(columns) == listed(plain).table.select(columns)


def test_what_cannot_be_read_is_a_problem(tmp_path):
    archive = packed(
        tmp_path / "a.tar",
        [
            ("cat/1.jpg", b"first"),
            ("../e.jpg", b"1"),
            ("/abs.jpg", b"1"),
            ("cat/../../q.jpg", b"1"),
            ("cat/l.jpg", {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}),
            ("cat/\udcff.jpg", b"1"),  # not UTF-8: an entry like others, which layouts report
            ("cat/1.jpg", b"second"),  # as tar --append adds it
            ("dog/2.jpg", b"1"),
        ],
    )
    assert [(one.name, one.reason) for one in archive.problems()] == [
        ("cat/1.jpg", "duplicate_key"),
        ("../e.jpg", "bad_name"),
        ("/abs.jpg", "bad_name"),
        ("cat/../../q.jpg", "bad_name"),
        ("cat/l.jpg", "bad_name"),
    ]
    assert all("a.tar" in one.message for one in archive.problems())
    assert archive.read("cat/1.jpg") == b"second"
    rows = listed(with_archive_problems(open_class_folders(Opening(archive)), archive)).table.to_pylist()
    good = ["cat/1.jpg", "dog/2.jpg"]
    assert [row["key"] for row in rows if row["reason"] is None] == good
    assert sorted((row["key"], row["reason"]) for row in rows if row["reason"]) == sorted(
        [("cat/\\xff.jpg", "bad_name"), *((one.name, one.reason) for one in archive.problems())]
    )


def test_a_broken_archive_is_read_up_to_the_damage_and_a_problem_says_where(tmp_path):
    whole = tarred([("cat/1.jpg", b"1" * 600), ("dog/2.jpg", b"2" * 600)])
    (tmp_path / "a.tar").write_bytes(whole[:2600])
    archive = TarFolder(str(tmp_path / "a.tar"))
    assert files_of(archive) == {"cat/1.jpg": b"1" * 600}
    [problem] = archive.problems()
    assert problem[:2] == ("a.tar", "truncated")
    assert problem.message.startswith("the archive ends at byte 2600, within 'dog/2.jpg' that begins at byte 1536")


def test_a_folder_in_an_archive_can_be_sent_to_a_worker_and_is_small(tmp_path, monkeypatch):
    packed(tmp_path / "a.tar", [(f"top/{i}.jpg", b"1") for i in range(1000)])
    monkeypatch.chdir(tmp_path)
    sent = pickle.dumps(top_of(TarFolder("a.tar")))
    assert len(sent) < 500
    monkeypatch.chdir("/")
    assert pickle.loads(sent).read("7.jpg") == b"1"  # noqa: S301 - our own


def test_an_archive_that_changes_while_it_is_converted_is_not_read_on(tmp_path):
    archive = packed(tmp_path / "a.tar", [("a", b"1")])
    packed(tmp_path / "a.tar", [("a", b"1"), ("b", bytes(20_000))])
    with pytest.raises(SourceChangedError, match="has changed since the conversion began"):
        archive.scan()


def test_an_archive_that_became_shorter_is_an_error_of_the_file(tmp_path):
    archive = packed(tmp_path / "a.tar", [("a", bytes(5000))])
    assert archive.read("a") == bytes(5000)
    os.truncate(tmp_path / "a.tar", 3000)
    with pytest.raises(OSError, match="goes beyond the end of the archive; copy the archive again"):
        archive.read("a")


def test_an_archive_is_only_read(tmp_path):
    archive = packed(tmp_path / "a.tar", [])
    with pytest.raises(CallError, match="read-only; choose a folder"):
        archive.create()
    with pytest.raises(DataError, match="there is no such archive"):
        TarFolder(str(tmp_path / "no.tar"))


def test_an_archive_in_an_object_store_is_read_by_ranges(tmp_path, s3_bucket):
    packed(tmp_path / "a.tar", [("top/1.jpg", b"one"), ("top/2.jpg", os.urandom(100_000))])
    with open_folder(s3_bucket).atomic_write("below/a.tar") as file:
        file.write((tmp_path / "a.tar").read_bytes())
    archive = top_of(TarFolder(f"{s3_bucket}/below/a.tar"))
    assert files_of(archive) == files_of(top_of(TarFolder(str(tmp_path / "a.tar"))))


def test_a_uri_leads_into_the_archive_that_is_there_now(tmp_path):
    for content in (b"one", b"another"):  # in one process, as in a notebook
        folder = packed(tmp_path / "a.tar", [("before.txt", b"x" * 600 * len(content)), ("ds/1.jpg", content)])
        whole = place_of(uri_of(folder, "ds/1.jpg"))
        assert whole.folder.read(whole.path) == content
        write_tree(tmp_path, {"b.bin.new": content})
        os.replace(tmp_path / "b.bin.new", tmp_path / "b.bin")
        part = place_of(uri_of(open_folder(str(tmp_path)), "b.bin", 0, len(content)))
        assert read_place(part, 1 << 20) == content
