import errno
import gc
import io
import os
import pickle
import signal
import subprocess
import sys
import tempfile

import pytest

from shardkit.errors import CallError, MachineError
from shardkit.storage import (
    TEMPORARY,
    Entry,
    Folder,
    LocalFolder,
    RemoteFolder,
    is_out_of_space,
    open_folder,
    os_errors_as,
    remove_temporaries,
)
from shardkit.testing import files_of, write_tree


@pytest.fixture(params=["local", "s3"])
def folder(request, tmp_path):
    """An empty folder of each kind; what they share is tested on both."""
    if request.param == "local":
        return open_folder(str(tmp_path))
    return open_folder(f"{request.getfixturevalue('s3_bucket')}/below/here")


def put(folder, path, data):
    with folder.atomic_write(path) as file:
        file.write(data)


@pytest.mark.parametrize(
    "path", ["a", "a b.txt", "sub/deep/a", "\u00fc/\u732b\U0001f600.jpg", "100%.jpg", "a+b=c&d?#.png"]
)
def test_what_is_written_is_read_and_found(folder, path):
    put(folder, path, b"content")
    assert folder.read(path) == b"content"
    found = folder.stat(path)
    assert (found.name, found.is_folder, found.num_bytes) == (path.split("/")[-1], False, 7)
    assert files_of(folder) == {path: b"content"}
    with folder.open(path) as file:
        assert file.read(3) == b"con"
        file.seek(5)
        assert file.read() == b"nt"


def test_children_are_scanned_sorted_by_name_with_their_kind_and_size(folder):
    for path in ["b", "a/x", "c/y/z", "B"]:
        put(folder, path, b"1")
    assert [(entry.name, entry.is_folder) for entry in folder.scan()] == [
        ("B", False),
        ("a", True),
        ("b", False),
        ("c", True),
    ]
    assert [entry.name for entry in folder.scan("c")] == ["y"]
    assert folder.stat("c").is_folder
    assert folder.scan("c")[0].is_folder
    assert folder.scan()[0].mtime_ns > 0


def test_what_is_not_there_is_none_or_empty(folder):
    assert folder.scan() == []
    assert folder.scan("no/such") == []
    assert folder.stat("no") is None
    for reading in (folder.read, lambda path: folder.open(path).read()):
        with pytest.raises(FileNotFoundError):
            reading("no")


def test_writing_replaces_the_whole_file(folder):
    put(folder, "a", b"a long first version")
    put(folder, "a", b"short")
    assert folder.read("a") == b"short"
    assert [entry.name for entry in folder.scan()] == ["a"]


def test_a_file_without_a_byte_is_a_file(folder):
    put(folder, "a", b"")
    assert folder.read("a") == b""
    assert folder.stat("a").num_bytes == 0


def test_nothing_is_there_until_the_block_ends(folder):
    with folder.atomic_write("a") as file:
        file.write(bytes(3 << 20))
        file.flush()
        assert folder.stat("a") is None
    assert folder.stat("a").num_bytes == 3 << 20


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_exception_in_the_block_leaves_what_was_there_before_and_nothing_else(folder, error):
    put(folder, "old", b"before")
    for path in ("old", "new"):
        with pytest.raises(error), folder.atomic_write(path) as file:  # noqa: PT012 - the error is raised in the block
            file.write(bytes(6 << 20))  # more than one part of an upload
            raise error
    assert files_of(folder) == {"old": b"before"}


def test_files_and_trees_are_removed_and_removing_what_is_not_there_is_no_error(folder):
    for path in ["a", "tree/b", "tree/deep/c", "treetop"]:
        put(folder, path, b"1")
    folder.remove("a")
    folder.remove("a")
    folder.remove_tree("tree")
    folder.remove_tree("tree")
    assert files_of(folder) == {"treetop": b"1"}


@pytest.mark.parametrize("start", [0, 3, 95, 200])
def test_a_range_is_whole_though_each_read_gives_less(tmp_path, monkeypatch, start):
    """As file systems of a network do: a short read would shift what comes after it."""
    raw = bytes(range(100))
    (tmp_path / "file").write_bytes(raw)
    folder, pread = LocalFolder(str(tmp_path)), os.pread
    monkeypatch.setattr(os, "pread", lambda descriptor, count, at: pread(descriptor, min(count, 7), at))

    class Short(io.BytesIO):
        def read(self, count):
            return super().read(min(count, 7))

    assert folder.read_range("file", start, 50) == raw[start : start + 50]
    monkeypatch.setattr(LocalFolder, "open", lambda self, path: Short(raw))
    assert Folder.read_range(folder, "file", start, 50) == raw[start : start + 50]


def test_a_folder_can_be_removed_by_its_empty_path(folder):
    put(folder, "a/b", b"1")
    folder.remove_tree("")
    assert folder.scan() == []
    folder.remove_tree("")


def test_a_folder_survives_the_trip_to_a_worker(folder):
    put(folder, "a", b"1")
    sent = pickle.loads(pickle.dumps(folder))  # noqa: S301 - our own
    assert sent.url == folder.url
    assert sent.read("a") == b"1"


def test_left_over_temporaries_are_removed_and_nothing_else(folder):
    for path in [f"{TEMPORARY}1-2", "a", f"x{TEMPORARY}", f"sub/{TEMPORARY}3"]:
        put(folder, path, b"1")
    remove_temporaries(folder)
    assert set(files_of(folder)) == {"a", f"x{TEMPORARY}", f"sub/{TEMPORARY}3"}


class Interrupted(io.BytesIO):
    """A spool that gives some of its bytes before something happens."""

    happening: type[BaseException]

    def read(self, size=-1):
        if self.tell():
            raise self.happening
        return super().read(size)


@pytest.mark.parametrize("happening", [OSError, KeyboardInterrupt])
def test_an_upload_that_is_broken_off_publishes_nothing(s3_bucket, monkeypatch, happening):
    monkeypatch.setattr(Interrupted, "happening", happening, raising=False)
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Interrupted())
    folder = open_folder(s3_bucket)
    with pytest.raises(happening), folder.atomic_write("a") as file:
        file.write(bytes(12 << 20))
    gc.collect()  # with the exception goes the traceback, and with that the upload
    assert folder.stat("a") is None


WRITER = """
import sys, time
from shardkit.storage import open_folder
with open_folder(sys.argv[1]).atomic_write("train-00000-of-00001.tfrecord") as file:
    file.write(bytes(5 << 20))
    file.flush()
    print("written", flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGTERM], ids=["SIGKILL", "SIGTERM"])
def test_a_killed_writer_leaves_nothing_under_the_name(tmp_path, signal_number):
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"written\n"
    process.send_signal(signal_number)
    process.communicate()
    assert process.returncode == -signal_number
    folder = open_folder(str(tmp_path))
    assert all(entry.name.startswith(TEMPORARY) for entry in folder.scan())
    remove_temporaries(folder)
    assert folder.scan() == []


def test_the_bytes_are_on_the_disk_before_they_get_their_name(tmp_path, monkeypatch):
    calls = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda number: (calls.append(os.fstat(number).st_size), fsync(number)))
    monkeypatch.setattr(os, "replace", lambda old, new: (calls.append(os.path.basename(new)), replace(old, new)))
    put(open_folder(str(tmp_path)), "a", b"content")
    assert calls == [7, "a"]


def test_files_are_readable_for_others_as_the_users_own_umask_says(tmp_path):
    mask = os.umask(0o022)
    try:
        put(open_folder(str(tmp_path)), "a", b"")
    finally:
        os.umask(mask)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o644


def test_links_are_followed_and_broken_ones_are_seen(tmp_path):
    write_tree(tmp_path / "source", {"real/a": b"123"})
    (tmp_path / "source/file").symlink_to("real/a")
    (tmp_path / "source/folder").symlink_to("real")
    (tmp_path / "source/dangling").symlink_to("nowhere")
    (tmp_path / "source/loop").symlink_to("loop")
    folder = open_folder(str(tmp_path / "source"))
    assert [(entry.name, entry.is_folder, entry.num_bytes) for entry in folder.scan() if not entry.is_folder] == [
        ("dangling", False, 0),
        ("file", False, 3),
        ("loop", False, 0),
    ]
    assert [entry.name for entry in folder.scan() if entry.is_folder] == ["folder", "real"]
    assert folder.resolve("folder") == folder.resolve("real")
    with pytest.raises(OSError, match="symbolic links"):
        folder.read("loop")


def test_names_that_are_not_utf_8_make_the_round_trip(tmp_path):
    name = os.fsdecode(b"caf\xe9.jpg")
    (tmp_path / name).write_bytes(b"1")
    folder = open_folder(str(tmp_path))
    assert folder.scan()[0][:3] == Entry(name, is_folder=False, num_bytes=1, mtime_ns=0)[:3]
    assert folder.read(name) == b"1"


def test_a_file_is_not_a_folder(tmp_path):
    (tmp_path / "file").write_bytes(b"1")
    folder = open_folder(str(tmp_path / "file"))
    assert folder.stat("below") is None
    assert folder.stat("").is_folder is False


@pytest.mark.parametrize("url", ["/a/b", "/a/b/", "/a/./c/../b", "file:///a/b"])
def test_a_local_folder_is_opened_by_path_or_url(url):
    assert open_folder(url) == LocalFolder("/a/b")


def test_a_remote_folder_is_opened_by_url(s3_bucket):
    for url in (s3_bucket, f"{s3_bucket}/", f"{s3_bucket}/a", f"{s3_bucket}/a/"):
        folder = open_folder(url)
        assert isinstance(folder, RemoteFolder)
        assert folder.url == url.rstrip("/")
        assert folder.resolve("b") == f"{url.removeprefix('s3://').rstrip('/')}/b"


def test_relative_and_home_paths_mean_what_they_do_in_a_shell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert open_folder("a").url == str(tmp_path / "a")
    assert open_folder("~/a").url == str(tmp_path / "home/a")


@pytest.mark.parametrize("url", ["http://host/a", "hdfs://host/a", "S3X://a", "azure://a"])
def test_another_scheme_is_refused_by_name(url):
    with pytest.raises(CallError, match=r"reads and writes local folders, s3:// and gs://, not"):
        open_folder(url)


@pytest.mark.parametrize(
    ("raised", "turned_into", "sentence"),
    [
        (FileNotFoundError(errno.ENOENT, "No such file"), MachineError, "/a: cannot write: No such file"),
        (PermissionError(errno.EACCES, "Permission denied"), MachineError, "/a: cannot write: Permission denied"),
        (OSError(errno.ENOSPC, "No space left on device"), MachineError, "/a: cannot write: No space left on device"),
        (OSError("a store's own words"), MachineError, "/a: cannot write: a store's own words"),
        (MachineError("said already"), MachineError, "said already"),
        (CallError("said already"), CallError, "said already"),
    ],
)
def test_errors_of_the_machine_become_one_sentence(raised, turned_into, sentence):
    with pytest.raises(turned_into) as found, os_errors_as("write", "/a"):
        raise raised
    assert str(found.value) == sentence


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (OSError(errno.ENOSPC, ""), True),
        (OSError(errno.EDQUOT, ""), True),
        (OSError(errno.EIO, ""), False),
        (ValueError(errno.ENOSPC), False),
    ],
)
def test_a_full_disk_is_told_from_other_errors(error, full):
    assert is_out_of_space(error) is full


def test_a_file_that_outgrows_its_limit_is_removed(tmp_path):
    script = """
import resource, sys
from shardkit.storage import open_folder
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
with open_folder(sys.argv[1]).atomic_write("a") as file:
    file.write(bytes(2 << 20))
"""
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False)
    assert "OSError: [Errno 27] File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []
