import os
import sys
import tempfile

import pytest

from shardkit.bench import page_cache

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="page caches are looked at on Linux")


def test_a_file_is_cached_when_it_was_read_and_not_when_it_was_dropped(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(os.urandom(1 << 20))
    page_cache.warm([path])
    assert page_cache.cached_share([path]) == 1
    os.sync()  # in tests `os.fsync` does not wait, and pages that are not written yet cannot be dropped
    page_cache.drop([path])
    if not is_in_memory(tmp_path):
        assert page_cache.cached_share([path]) < 0.1
    page_cache.warm([path])
    assert page_cache.cached_share([path]) == 1


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="there is no file system in memory")  # noqa: S108
def test_what_stays_in_memory_when_it_is_dropped_is_seen():
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
        file.write(os.urandom(1 << 20))
        file.flush()
        page_cache.drop([file.name])
        assert page_cache.cached_share([file.name]) == 1


def test_empty_files_have_no_share(tmp_path):
    (tmp_path / "empty").touch()
    assert page_cache.cached_share([tmp_path / "empty"]) is None


def is_in_memory(path):
    """Whether a folder is on a tmpfs, by the mount with the longest path."""
    with open("/proc/self/mounts", encoding="utf-8") as file:
        mounts = [line.split()[1:3] for line in file]
    inside = [mount for mount in mounts if os.path.realpath(path).startswith(mount[0].rstrip("/") + "/")]
    return max(inside, key=lambda mount: len(mount[0]))[1] == "tmpfs"
