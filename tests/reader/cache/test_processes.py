"""Threads and processes share a cache, and are killed at any moment."""

import fcntl
import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest

from shardkit.errors import MachineError
from shardkit.reader.shard_cache import ShardCache
from shardkit.storage.kernel_locks import lock_file

from .cache_users import (
    SHARD_BYTES,
    Counted,
    fetch,
    num_bytes,
    numbers_of,
    temporaries,
    use,
    users,
    whole_shards,
)


def test_threads_that_fetch_the_same_shards_copy_each_once(source, directory):
    cache = ShardCache(str(directory), 100 * SHARD_BYTES)
    start = threading.Barrier(8)
    paths = []

    def work():
        start.wait()
        paths.append(fetch(cache, source, *range(6)))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(paths) == 8
    assert all(found == paths[0] for found in paths)
    assert Counted.bytes_read == 6 * SHARD_BYTES
    assert numbers_of(source, directory) == [0, 1, 2, 3, 4, 5]


def test_processes_that_fetch_the_same_shards_copy_each_once(source, directory):
    with users(4, source, directory, 100 * SHARD_BYTES, seconds_a_read=0.005) as all_of_them:
        for number, user in enumerate(all_of_them):
            user.order("hold", *([0, 1, 2, 3, 4, 5] if number % 2 else [5, 4, 3, 2, 1, 0]))
        for user in all_of_them:
            for _ in range(6):
                assert Path(user.line()).stat().st_size == SHARD_BYTES
        for user in all_of_them:
            user.end()
    assert numbers_of(source, directory) == [0, 1, 2, 3, 4, 5]
    reads = Path(f"{source.root.path}.reads").read_text().splitlines()
    assert len(reads) == len(set(reads)) == 6 * 5  # 64 KiB at a time


def test_what_another_process_holds_is_not_evicted_until_that_process_ends(source, directory):
    cache = ShardCache(str(directory), SHARD_BYTES)
    with users(1, source, directory, SHARD_BYTES) as (user,):
        user.order("hold", 0)
        path = Path(user.line())
        with pytest.raises(MachineError, match="the cache is full"):
            fetch(cache, source, 1)
        assert path.read_bytes() == source.raw(0)
        user.kill()
    use(cache, source, 1)
    assert numbers_of(source, directory) == [1]


def test_an_unfinished_copy_counts_with_its_full_size_from_the_start(source, directory):
    """Two copies that each fit when they start must not exceed the limit together."""
    with users(1, source, directory, 10 * SHARD_BYTES, seconds_a_read=0.5) as (user,):
        user.order("hold", 0)
        while not (temporaries(directory) and temporaries(directory)[0].stat().st_size):
            time.sleep(0.001)
        assert num_bytes(directory) == SHARD_BYTES
        with pytest.raises(MachineError, match=rf"the cache is full: .* shards in use take {SHARD_BYTES}"):
            fetch(ShardCache(str(directory), SHARD_BYTES), source, 1)
        assert temporaries(directory)  # and all that while the copy was under way
        user.line()


def test_a_shard_that_is_being_evicted_is_waited_for_and_copied_again(source, directory):
    cache = ShardCache(str(directory), SHARD_BYTES)
    directory.mkdir()
    evicting = lock_file(f"{directory}/lock", fcntl.LOCK_EX)
    threading.Timer(0.1, os.close, [evicting]).start()
    (path,) = fetch(cache, source, 0)
    assert Path(path).read_bytes() == source.raw(0)


def test_processes_that_evict_each_others_shards_stay_within_the_limit(source, directory):
    """Three processes that each need one shard at a time, in a cache for three."""
    limit = 3 * SHARD_BYTES
    with users(3, source, directory, limit) as all_of_them:
        for user in all_of_them:
            user.order("use", 0, 1, 2, 3, 4, 5)
        for _ in range(40):
            for user in all_of_them:
                user.line()
            assert num_bytes(directory) <= limit
    assert num_bytes(directory) <= limit
    whole_shards(directory)


def test_a_waiting_process_copies_if_the_copying_one_is_killed(source, directory):
    with users(2, source, directory, SHARD_BYTES, seconds_a_read=0.3) as (first, second):
        first.order("hold", 0)
        while not temporaries(directory):
            time.sleep(0.001)
        second.order("hold", 0)
        first.kill()
        assert Path(second.line()).read_bytes() == source.raw(0)
    assert not temporaries(directory)


KILLS = 20


def test_kill_9_at_any_moment_leaves_only_whole_shards_and_room_for_others(source, directory):
    limit = 2 * SHARD_BYTES
    moments = random.Random(5)  # noqa: S311 - not for secrets
    in_the_middle = 0
    for _ in range(KILLS):
        with users(1, source, directory, limit, seconds_a_read=0.001) as (user,):
            user.order("use", *moments.sample(range(6), 6))
            time.sleep(moments.uniform(0, 0.06))
            user.kill()
        in_the_middle += len(temporaries(directory)) > 0
        whole_shards(directory)
        assert num_bytes(directory) <= limit  # leftovers do not gather
    assert in_the_middle > KILLS // 10
    cache = ShardCache(str(directory), limit)
    for number in range(6):
        (path,) = fetch(cache, source, number)
        assert Path(path).read_bytes() == source.raw(number)
        assert num_bytes(directory) <= limit
    assert not temporaries(directory)


@pytest.mark.parametrize("call", ["open", "ftruncate", "pwrite", "utime", "fsync", "replace", "fchmod", "close"])
def test_kill_9_before_any_call_of_the_kernel_does_no_harm(source, directory, call):
    """While a shard is copied, and while it is evicted for the next one."""
    for nth in (1, 2, 3):
        with users(1, source, directory, SHARD_BYTES) as (user,):
            user.order("die", call, nth)
            user.order("use", 1, 0)
            assert user.process.wait() == -signal.SIGKILL
        whole_shards(directory)
        cache = ShardCache(str(directory), SHARD_BYTES)
        for number in (2, 3):
            (path,) = fetch(cache, source, number)
            assert Path(path).read_bytes() == source.raw(number)
            assert num_bytes(directory) == SHARD_BYTES
        assert not temporaries(directory)
