"""The cache on disks that are full, read-only, another user's, or written to by others."""

import contextlib
import errno
import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest

from shardkit.errors import MachineError
from shardkit.reader.shard_cache import ShardCache

from .cache_users import SHARD_BYTES, Dataset, fetch, num_bytes, numbers_of, temporaries, use, users, whole_shards

NOBODY = 65534
DISK_BYTES = 4 * SHARD_BYTES  # a shard for each of three processes, and their leases


def used_bytes(directory):
    """Return the space that the copies take on the disk."""
    num_bytes = 0
    for path in directory.glob("*.tfrecord"):
        with contextlib.suppress(FileNotFoundError):  # evicted since it was listed
            num_bytes += path.stat().st_blocks * 512
    return num_bytes


def test_three_processes_share_a_full_disk_and_one_is_killed(source, directory):
    with users(3, source, directory, 100 * SHARD_BYTES, seconds_a_read=0.001) as all_of_them:
        for user in all_of_them:
            user.order("disk", DISK_BYTES)
            user.order("use", 0, 1, 2, 3, 4, 5)
        for _ in range(10):
            for user in all_of_them:
                user.line()
        while not temporaries(directory):
            time.sleep(0.0005)
        all_of_them[0].kill()
        for _ in range(30):
            for user in all_of_them[1:]:
                user.line()
            # More than once: a copy that goes while the files are counted, and the next one, would both count.
            assert any(used_bytes(directory) <= DISK_BYTES for _ in range(5))
    assert whole_shards(directory)
    cache = ShardCache(str(directory), 2 * SHARD_BYTES)
    use(cache, source, *range(6))
    assert not temporaries(directory)
    assert num_bytes(directory) <= 2 * SHARD_BYTES


@contextlib.contextmanager
def another_user():
    """Run the block without the rights of root and of the files' owner."""
    if os.geteuid() != 0:
        yield
        return
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@pytest.fixture
def everyones():
    """A folder that every user may enter, unlike pytest's temporary folders."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.mark.parametrize("mode", [0o555, 0o000])
def test_a_folder_that_cannot_be_written_to_is_named_with_the_remedy(everyones, mode):
    made = Dataset(everyones / "source")
    cache_dir = everyones / "cache"
    use(ShardCache(str(cache_dir), 10 * SHARD_BYTES), made, 0)
    for path in cache_dir.iterdir():
        path.chmod(mode & 0o444)
    cache_dir.chmod(mode)
    said = rf"{cache_dir}/.*: .*: Permission denied; give each user"
    with another_user():
        cache = ShardCache(str(cache_dir), 10 * SHARD_BYTES)
        for _ in range(3):
            with pytest.raises(MachineError, match=said):
                fetch(cache, made, 0)
    cache_dir.chmod(0o755)


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (errno.EROFS, "writable"),
        (errno.ENOLCK, "this machine's own disk"),
        (errno.EIO, "another disk"),
    ],
)
def test_a_disk_without_locks_or_room_for_files_is_named_with_the_remedy(monkeypatch, source, directory, code, remedy):
    cache = ShardCache(str(directory), SHARD_BYTES)
    open_file = os.open

    def fails(path, *arguments, **options):
        if str(path).startswith(str(directory)):
            raise OSError(code, os.strerror(code), path)
        return open_file(path, *arguments, **options)

    monkeypatch.setattr(os, "open", fails)
    with pytest.raises(MachineError, match=rf"^{directory}/lock: .*{os.strerror(code)}; .*{remedy}"):
        fetch(cache, source, 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs files of two users")
@pytest.mark.parametrize("mode", [0o777, 0o1777])
def test_users_share_a_folder_that_both_may_write_to(everyones, mode):
    """With the sticky bit, as on /tmp, users can remove only their own files."""
    made = Dataset(everyones / "source")
    cache_dir = everyones / "cache"
    cache = ShardCache(str(cache_dir), 2 * SHARD_BYTES)
    cache_dir.mkdir()
    cache_dir.chmod(mode)
    use(cache, made, 0)
    with another_user():
        theirs = ShardCache(str(cache_dir), 2 * SHARD_BYTES)
        for number in (0, 1, 2):
            assert Path(*fetch(theirs, made, number)).read_bytes() == made.raw(number)
        assert numbers_of(made, cache_dir) == ([1, 2] if mode == 0o777 else [0, 2])
    leftover = cache_dir / f".shardkit-tmp-{made.shards[4].sha256}"
    leftover.write_bytes(b"of a killed process")
    with another_user():
        if mode == 0o777:
            use(theirs, made, 4)
        else:
            with pytest.raises(MachineError, match=rf"{leftover}: .* not permitted; give each user"):
                fetch(theirs, made, 4)
    use(cache, made, 3)
    assert 3 in numbers_of(made, cache_dir)
