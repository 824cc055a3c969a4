"""A process that uses a shard cache; it reads orders from standard input and prints a line for each shard.

cache_user.py CACHE LIMIT_BYTES SOURCE SECONDS_A_READ, where SOURCE holds shards.json with the shards of a manifest.
Reads from the source are slowed down, in pieces of 64 KiB, and each is noted in SOURCE.reads. Orders:

    hold 3 4 ...     fetch shards one after the other, and keep them
    use 3 4 ...      fetch and release shards one after the other, endlessly
    die replace 2    kill this process before the second call of os.replace from now on
    disk 1000000     the cache's disk has that many bytes from now on
    quit
"""

import contextlib
import errno
import itertools
import json
import os
import signal
import sys
import time
import types
from pathlib import Path

import shardkit

# The cache needs no TensorFlow, and importing it takes ten times as long as the rest.
package = types.ModuleType("shardkit.reader")
package.__path__ = [str(Path(shardkit.__file__).parent / "reader")]
sys.modules["shardkit.reader"] = package

from shardkit.dataset.manifest import Shard  # noqa: E402
from shardkit.reader import shard_cache as copying  # noqa: E402
from shardkit.reader.shard_cache import ShardCache  # noqa: E402
from shardkit.storage import LocalFolder  # noqa: E402

copying.CHUNK_BYTES = 64 << 10  # 64 KiB


class Slow(LocalFolder):
    def read_range(self, path, start, num_bytes):
        with open(f"{self.path}.reads", "a") as notes:
            notes.write(f"{path} {start}\n")
        time.sleep(seconds)
        return LocalFolder.read_range(self, path, start, num_bytes)


def die_before(call, left):
    original = getattr(os, call)

    def counted(*arguments, **options):
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments, **options)

    setattr(os, call, counted)


def limit_disk(num_bytes):
    """The kernel's answers where the folder's files take as much as the disk has."""
    pwrite = os.pwrite

    def taken():
        blocks = 0
        for child in os.scandir(directory):
            with contextlib.suppress(FileNotFoundError):
                blocks += child.stat().st_blocks
        return blocks * 512

    def pwrite_or_full(descriptor, data, start):
        if taken() + len(data) > num_bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return pwrite(descriptor, data, start)

    os.pwrite = pwrite_or_full


directory, limit, source, pause = sys.argv[1:]
seconds = float(pause)
shards = [Shard.model_validate(shard) for shard in json.loads(Path(source, "shards.json").read_text())]
cache, root = ShardCache(directory, int(limit)), Slow(source)
held = []
sys.stdout.write("ready\n")
sys.stdout.flush()
for line in sys.stdin:
    deed, *numbers = line.split()
    if deed == "quit":
        break
    if deed == "die":
        die_before(numbers[0], int(numbers[1]))
        continue
    if deed == "disk":
        limit_disk(int(numbers[0]))
        continue
    chosen = [shards[int(number)] for number in numbers]
    for shard in itertools.cycle(chosen) if deed == "use" else chosen:
        paths = cache.fetch([root], [shard])
        if deed == "use":
            paths.release()
        else:
            held.append(paths)
        sys.stdout.write(f"{paths[0]}\n")
        sys.stdout.flush()
