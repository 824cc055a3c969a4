import ctypes
import os
import sys
import tempfile
from pathlib import Path

import pytest

from shardkit.storage import OpenFiles, open_folder

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - a file system of Linux


@pytest.mark.skipif(sys.platform != "linux" or not SHARED_MEMORY.is_dir(), reason="Linux has a file system in memory")
def test_a_file_in_memory_is_read_without_releasing_the_interpreters_lock():
    content = os.urandom(100_000)
    with tempfile.TemporaryDirectory(dir=SHARED_MEMORY) as folder:
        Path(folder, "shard").write_bytes(content)
        room = ctypes.create_string_buffer(1000)
        vector = (ctypes.c_uint64 * 2)(ctypes.addressof(room), 1000)
        files = OpenFiles(open_folder(folder))
        assert files.read_cached("shard", ctypes.addressof(vector), 5000) == 1000
        assert room.raw == content[5000:6000]
        assert files.read_cached("shard", ctypes.addressof(vector), 99_500) == 500
