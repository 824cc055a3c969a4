import errno
import hashlib
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from shardkit.errors import CallError, MachineError
from shardkit.manifest import Index, Shard
from shardkit.reader.caching import ShardCache
from shardkit.reader.copying_ahead import SHARDS_AT_A_TIME, CopiesAhead, first_use
from shardkit.storage import LocalFolder

SHARDS = 8
SHARD_BYTES = 1000


class Gated(LocalFolder):
    """A folder whose files are read when they may be."""

    def read_range(self, path, start, num_bytes):
        asked.append(path)
        assert gates[path].wait(60)
        if path in broken:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return LocalFolder.read_range(self, path, start, num_bytes)


asked, gates, broken = [], {}, set()


@pytest.fixture
def root(tmp_path):
    asked.clear()
    broken.clear()
    gates.clear()
    gates.update({str(number): threading.Event() for number in range(SHARDS)})
    (tmp_path / "source").mkdir()
    for number in range(SHARDS):
        (tmp_path / "source" / str(number)).write_bytes(bytes([number]) * SHARD_BYTES)
    yield Gated(str(tmp_path / "source"))
    open_gates(range(SHARDS))


def open_gates(numbers):
    for number in numbers:
        gates[str(number)].set()


@pytest.fixture
def shards(root):
    index = Index(path="none.index.parquet", sha256="0" * 64)
    sha256 = [hashlib.sha256(root.read(str(number))).hexdigest() for number in range(SHARDS)]
    return [
        Shard(path=str(number), num_examples=1, num_bytes=SHARD_BYTES, sha256=sha256[number], index=index)
        for number in range(SHARDS)
    ]


@pytest.fixture
def cache(tmp_path):
    return ShardCache(str(tmp_path / "cache"), SHARDS * SHARD_BYTES)


@pytest.mark.parametrize(
    ("used", "num_shards", "expected"),
    [
        ([], 3, [0, 1, 2]),
        ([2, 2, 0, 2], 3, [2, 0, 1]),
        ([1, 3, 1, 0], 6, [1, 3, 0, 2, 4, 5]),
    ],
)
def test_what_is_used_first_comes_first_and_the_rest_by_number(used, num_shards, expected):
    assert first_use(np.array(used, np.int64), num_shards) == expected


def test_paths_does_not_wait_and_tells_which_shards_are_here(root, shards, cache):
    ahead = CopiesAhead(cache, root, shards, [3, 1, 0, 2, 4, 5, 6, 7])
    assert ahead.paths().tolist() == [b""] * SHARDS
    open_gates([3])
    while not ahead.paths()[3]:
        pass
    assert np.flatnonzero(ahead.paths()).tolist() == [3]
    open_gates(range(SHARDS))
    ahead.join()
    assert [Path(os.fsdecode(path)).read_bytes()[0] for path in ahead.paths()] == list(range(SHARDS))
    assert sorted(asked[:SHARDS_AT_A_TIME]) == ["0", "1", "2", "3"]
    assert sorted(asked) == [str(number) for number in range(SHARDS)]


def test_a_shard_that_is_waited_for_overtakes_the_others(root, shards, cache):
    ahead = CopiesAhead(cache, root, shards, range(SHARDS))
    open_gates([7])  # all threads stand before others
    assert Path(ahead.wait(7)).read_bytes()[0] == 7
    assert np.flatnonzero(ahead.paths()).tolist() == [7]
    open_gates(range(SHARDS))
    ahead.join()
    assert asked.count("7") == 1


def test_only_the_shards_of_the_order_are_copied(root, shards, cache):
    open_gates(range(SHARDS))
    CopiesAhead(cache, root, shards, [6, 2]).join()
    assert sorted(asked) == ["2", "6"]
    assert cache.num_bytes == 2 * SHARD_BYTES


def test_what_ends_the_copying_is_told_where_the_trainer_sees_it(root, shards, cache):
    broken.add("2")
    open_gates(range(SHARDS))
    ahead = CopiesAhead(cache, root, shards, range(SHARDS))
    for ask in (ahead.join, ahead.paths):
        with pytest.raises(MachineError, match="source/2: cannot copy the shard: Input/output error"):
            ask()


def test_shards_that_do_not_fit_are_told_before_anything_is_copied(tmp_path, root, shards):
    with pytest.raises(CallError, match=r"the 8 shards .* they take 8000 bytes"):
        CopiesAhead(ShardCache(str(tmp_path / "cache"), SHARDS * SHARD_BYTES - 1), root, shards, range(SHARDS))
    assert not asked


def test_nothing_more_is_copied_after_close(root, shards, cache):
    ahead = CopiesAhead(cache, root, shards, range(SHARDS))
    while len(asked) < SHARDS_AT_A_TIME:
        pass
    threading.Timer(0.05, open_gates, [range(SHARDS)]).start()
    ahead.close()
    assert len(asked) == SHARDS_AT_A_TIME
    assert np.count_nonzero(ahead.paths()) == SHARDS_AT_A_TIME
