"""A cache stays within its limit and its disk, and evicts what was not used for longest."""

import errno
import os

import pytest

from shardkit.errors import CallError, MachineError
from shardkit.reader.shard_cache import ShardCache

from .cache_users import (
    SHARD_BYTES,
    Counted,
    fetch,
    num_bytes,
    numbers_of,
    temporaries,
    use,
)


def test_the_least_recently_used_shard_is_evicted_first(source, directory):
    cache = ShardCache(str(directory), 3 * SHARD_BYTES)
    for number in (0, 1, 2, 0, 3):
        use(cache, source, number)
        assert num_bytes(directory) <= 3 * SHARD_BYTES
    assert numbers_of(source, directory) == [0, 2, 3]


def test_files_of_others_in_the_folder_are_not_counted_and_stay(source, directory):
    cache = ShardCache(str(directory), SHARD_BYTES)
    directory.mkdir()
    names = ["notes.txt", "train.tfrecord", ".shardkit-tmp-1-abc", f"{'a' * 63}.tfrecord", f"{'A' * 64}.tfrecord"]
    for name in names:
        (directory / name).write_bytes(bytes(SHARD_BYTES))
    use(cache, source, 0, 1)
    assert num_bytes(directory) == SHARD_BYTES
    assert all((directory / name).stat().st_size == SHARD_BYTES for name in names)


def test_a_limit_smaller_than_the_shards_is_refused_with_both_numbers_before_anything_is_read(source, directory):
    cache = ShardCache(str(directory), 6 * SHARD_BYTES - 1)
    with pytest.raises(CallError, match=rf"{6 * SHARD_BYTES - 1} bytes .* 6 shards .* {6 * SHARD_BYTES} bytes; raise"):
        fetch(cache, source, *range(6))
    assert Counted.bytes_read == 0
    fetch(cache, source, *range(5), *range(5))  # equal shards need the room of one


def test_a_limit_reached_by_shards_in_use_is_refused_with_a_sufficient_limit(source, directory):
    cache = ShardCache(str(directory), 3 * SHARD_BYTES - 1)
    held = fetch(cache, source, 0, 1)
    sentence = rf"in use take {2 * SHARD_BYTES}, train-00002.* raise the limit to at least {3 * SHARD_BYTES} bytes"
    with pytest.raises(MachineError, match=sentence):
        fetch(cache, source, 2)
    assert numbers_of(source, directory) == [0, 1]
    assert not temporaries(directory)
    del held


def test_a_folder_that_is_not_local_is_refused():
    with pytest.raises(CallError):
        ShardCache("s3://bucket/cache", 1)


def test_a_folder_that_cannot_be_created_is_named(tmp_path, source):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(MachineError, match=r"file/cache: .*Not a directory; choose"):
        fetch(ShardCache(str(tmp_path / "file" / "cache"), SHARD_BYTES), source, 0)


@pytest.mark.parametrize("inside", [".", "cache", "a/b"])
def test_a_cache_inside_the_dataset_is_refused(source, inside):
    before = sorted(os.listdir(source.root.path))
    cache = ShardCache(f"{source.root.path}/{inside}", 10 * SHARD_BYTES)
    with pytest.raises(CallError, match=f"inside the dataset {source.root.path};"):
        fetch(cache, source, 0)
    assert sorted(os.listdir(source.root.path)) == before, "it leaves no folder"


def test_a_cache_inside_the_dataset_by_a_symbolic_link_is_refused(tmp_path, source):
    (tmp_path / "link").symlink_to(source.root.path)
    with pytest.raises(CallError, match=f"inside the dataset {source.root.path};"):
        fetch(ShardCache(str(tmp_path / "link"), 10 * SHARD_BYTES), source, 0)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_that_fills_up_during_a_copy_is_an_error_and_the_copy_is_removed(monkeypatch, source, directory, code):
    cache, pwrite = ShardCache(str(directory), SHARD_BYTES), os.pwrite

    def full(descriptor, data, start):
        if start >= 128 << 10:
            raise OSError(code, os.strerror(code))
        return pwrite(descriptor, data[: 1 << 10], start)  # and takes less at a time than it is given

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(MachineError, match=rf"the disk ran full while train-00000.*\({SHARD_BYTES} bytes\); free"):
        fetch(cache, source, 0)
    assert not temporaries(directory)
    assert num_bytes(directory) == 0


def test_unfinished_copies_of_killed_processes_do_not_count_and_are_removed(source, directory):
    limit = 2 * SHARD_BYTES
    cache = ShardCache(str(directory), limit)
    directory.mkdir()
    for shard in source.shards[:3]:
        (directory / f".shardkit-tmp-{shard.sha256}").write_bytes(bytes(SHARD_BYTES))
    fetch(cache, source, 0, 5)
    assert not temporaries(directory)
    assert numbers_of(source, directory) == [0, 5]
    assert num_bytes(directory) == limit


def test_a_disk_that_is_full_evicts_what_is_not_in_use(monkeypatch, source, directory):
    cache, pwrite = ShardCache(str(directory), 100 * SHARD_BYTES), os.pwrite
    use(cache, source, 0, 1, 2)

    def full(descriptor, data, start):
        if start >= 128 << 10 and len(list(directory.glob("*.tfrecord"))) > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return pwrite(descriptor, data, start)

    monkeypatch.setattr(os, "pwrite", full)
    use(cache, source, 3)
    assert numbers_of(source, directory) == [1, 2, 3]
