"""Shards are held as long as the paths of their copies are referenced."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shardkit.errors import DataError, MachineError
from shardkit.reader.shard_cache import ShardCache

from ...cli.calling import environment
from .cache_users import (
    SHARD_BYTES,
    Counted,
    Dataset,
    fetch,
    numbers_of,
    use,
)


def test_what_is_held_is_not_evicted_and_what_is_released_is(source, directory):
    cache = ShardCache(str(directory), 2 * SHARD_BYTES)
    held = fetch(cache, source, 0)
    use(cache, source, 1, 2, 3)
    assert numbers_of(source, directory) == [0, 3]
    held.release()
    held.release()  # the second call does nothing
    held = fetch(cache, source, 4, 5)
    assert numbers_of(source, directory) == [4, 5]
    del held
    use(cache, source, 2, 3)
    assert numbers_of(source, directory) == [2, 3]


def test_shards_of_an_input_are_held_before_the_first_is_copied(source, directory):
    """Or its copies would evict each other, and those that an earlier run left."""
    cache = ShardCache(str(directory), 3 * SHARD_BYTES)
    use(cache, source, 2, 3, 4)
    fetch(cache, source, 0, 1, 2)
    assert Counted.bytes_read == 5 * SHARD_BYTES


def test_a_shard_held_twice_is_held_until_both_are_released(source, directory):
    cache = ShardCache(str(directory), SHARD_BYTES)
    first, second = (fetch(cache, source, 0) for _ in range(2))
    first.release()
    with pytest.raises(MachineError, match="the cache is full"):
        use(cache, source, 1)
    second.release()
    use(cache, source, 1)
    assert numbers_of(source, directory) == [1]


def test_a_folder_that_was_removed_is_filled_again(source, directory):
    cache = ShardCache(str(directory), SHARD_BYTES)
    before = fetch(cache, source, 0)
    for path in directory.iterdir():
        path.unlink()
    directory.rmdir()
    held = fetch(cache, source, 0)
    before.release()
    assert Path(held[0]).read_bytes() == source.raw(0)
    with pytest.raises(MachineError, match="the cache is full"):  # and it is held there, by a lock that others see
        fetch(ShardCache(str(directory), SHARD_BYTES), source, 1)


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def test_an_input_has_one_descriptor_for_any_number_of_shards(tmp_path, directory):
    """One for each shard would reach the usual limit of a process at 1,024 shards."""
    source = Dataset(tmp_path / "source", count=40, num_bytes=10)
    cache = ShardCache(str(directory), SHARD_BYTES)
    gc.collect()  # what other tests left
    before = descriptors()
    held = fetch(cache, source, *range(40))
    assert descriptors() == before + 1
    held.release()
    assert descriptors() == before


def test_shards_are_released_with_the_last_reference_to_their_paths(source, directory):
    gc.collect()  # what other tests left
    before = descriptors()
    held = fetch(ShardCache(str(directory), SHARD_BYTES), source, 0)
    gc.collect()
    other = ShardCache(str(directory), SHARD_BYTES)
    with pytest.raises(MachineError, match="the cache is full"):
        fetch(other, source, 1)
    del held
    gc.collect()
    assert not list(directory.glob("*.lease"))
    assert descriptors() == before
    use(other, source, 1)
    assert numbers_of(source, directory) == [1]


def test_a_failed_fetch_holds_nothing(source, directory):
    source.root.remove(source.shards[1].path)
    cache = ShardCache(str(directory), 2 * SHARD_BYTES)
    with pytest.raises(DataError) as kept:  # the error has a traceback, and that the call's variables
        fetch(cache, source, 0, 1)
    assert not list(directory.glob("*.lease"))
    assert kept.value


# A process of its own: gRPC, if a test before has loaded it, may abort in a fork that then runs Python.
FORKING = """
import os, pathlib, sys, types
import shardkit

# As in cache_user.py: leases need no TensorFlow.
package = sys.modules["shardkit.reader"] = types.ModuleType("shardkit.reader")
package.__path__ = [str(pathlib.Path(shardkit.__file__).parent / "reader")]
from shardkit.dataset.manifest import Shard
from shardkit.reader.shard_cache import ShardCache
from shardkit.storage import LocalFolder

directory, source, shard = sys.argv[1:]
shard = Shard.model_validate_json(shard)
held = ShardCache(directory, shard.num_bytes).fetch([LocalFolder(source)], [shard])
child = os.fork()
if child == 0:
    held.release()  # as the interpreter does at its end
    os._exit(0)
print(os.waitpid(child, 0)[1], flush=True)
sys.stdin.read()  # holds the lease until the test has looked
"""


def test_a_forked_child_that_ends_does_not_release_what_its_parent_holds(source, directory):
    use(ShardCache(str(directory), SHARD_BYTES), source, 0)
    command = [sys.executable, "-c", FORKING, str(directory), source.root.path, source.shards[0].model_dump_json()]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()) as parent:
        assert parent.stdout.readline() == b"0\n"
        with pytest.raises(MachineError, match="the cache is full"):
            use(ShardCache(str(directory), SHARD_BYTES), source, 1)
        parent.stdin.close()
        assert parent.wait(60) == 0
    use(ShardCache(str(directory), SHARD_BYTES), source, 1)


def test_the_lease_of_a_killed_process_has_no_effect_and_is_removed(source, directory):
    cache = ShardCache(str(directory), SHARD_BYTES)
    use(cache, source, 0)
    (directory / f"{'a' * 32}.lease").write_text(f"{source.shards[0].sha256}\n")
    use(cache, source, 1)
    assert numbers_of(source, directory) == [1]
    assert not list(directory.glob("*.lease"))
