"""Folders of this machine: killed writers, links, names that are not UTF-8."""

import io
import os
import signal
import subprocess
import sys

import pytest

from shardkit.storage import (
    TEMPORARY,
    Entry,
    Folder,
    LocalFolder,
    open_folder,
    remove_temporaries,
)
from shardkit.testing import write_tree

from .test_folder import put


@pytest.mark.parametrize("start", [0, 3, 95, 200])
def test_a_range_is_complete_even_if_each_read_returns_less(tmp_path, monkeypatch, start):
    """Network file systems do that; a short read would shift the bytes after it."""
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


def test_the_bytes_are_flushed_before_the_rename(tmp_path, monkeypatch):
    calls = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda number: (calls.append(os.fstat(number).st_size), fsync(number)))
    monkeypatch.setattr(os, "replace", lambda old, new: (calls.append(os.path.basename(new)), replace(old, new)))
    put(open_folder(str(tmp_path)), "a", b"content")
    assert calls == [7, "a"]


def test_files_get_the_permissions_of_the_users_umask(tmp_path):
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
