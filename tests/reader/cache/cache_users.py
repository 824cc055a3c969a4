"""Datasets of random shards, and threads and processes that read them through a cache."""

import contextlib
import fcntl
import hashlib
import json
import os
import random
import re
import sys
import threading
from pathlib import Path
from subprocess import PIPE

from shardkit.dataset.manifest import Index, Shard
from shardkit.storage import LocalFolder
from shardkit.storage.kernel_locks import lock_file

from ..processes import Process

SHARD_BYTES = 300_001  # no multiple of anything
PROGRAM = Path(__file__).parent.parent / "programs" / "cache_user.py"
MODULES = ("shardkit.dataset.manifest", "shardkit.dataset.index.shards", "shardkit.storage")  # no TensorFlow


def make_shards(folder, count=6, num_bytes=SHARD_BYTES, seed=0):
    """Write shards of random bytes into a folder; return them as a manifest names them."""
    shards = []
    for number in range(count):
        raw = random.Random(seed * 1000 + number).randbytes(num_bytes)  # noqa: S311 - not for secrets
        path = f"train-{number:05d}-of-{count:05d}.tfrecord"
        with folder.atomic_write(path) as file:
            file.write(raw)
        sha256 = hashlib.sha256(raw).hexdigest()
        index = Index(path=path.replace(".tfrecord", ".index.parquet"), sha256="0" * 64)
        shards.append(Shard(path=path, num_examples=1, num_bytes=num_bytes, sha256=sha256, index=index))
    return shards


class Dataset:
    """A folder of shards of random bytes."""

    def __init__(self, path, **made):
        path.mkdir()
        self.root = Counted(str(path))
        self.shards = make_shards(self.root, **made)
        (path / "shards.json").write_text(json.dumps([shard.model_dump() for shard in self.shards]))

    def raw(self, number):
        return self.root.read(self.shards[number].path)


class Counted(LocalFolder):
    """A local folder that counts the bytes read in ranges."""

    bytes_read = 0
    lock = threading.Lock()

    def read_range(self, path, start, num_bytes):
        data = LocalFolder.read_range(self, path, start, num_bytes)
        with Counted.lock:
            Counted.bytes_read += len(data)
        return data


def whole_shards(directory):
    """Return the sha256 of every shard in the cache; fail if a shard's name is not its sha256."""
    found = set()
    for path in directory.glob("*.tfrecord"):
        assert hashlib.sha256(path.read_bytes()).hexdigest() == path.stem
        found.add(path.stem)
    return found


def numbers_of(source, directory):
    return [n for n, shard in enumerate(source.shards) if shard.sha256 in whole_shards(directory)]


def fetch(cache, source, *numbers):
    """Return the paths of the shards of these numbers, held as long as the list exists."""
    shards = [source.shards[number] for number in numbers]
    return cache.fetch([source.root] * len(shards), shards)


def use(cache, source, *numbers):
    """Fetch shards one after the other, and release each at once."""
    for number in numbers:
        fetch(cache, source, number)


def num_bytes(directory):
    """Return the bytes of all shards and unfinished copies, as other processes count them."""
    counting = lock_file(f"{directory}/lock", fcntl.LOCK_EX)
    try:
        names = re.compile(r"[0-9a-f]{64}\.tfrecord|\.shardkit-tmp-[0-9a-f]{64}")
        total = 0
        for child in os.scandir(directory):
            with contextlib.suppress(FileNotFoundError):  # another process has renamed its finished copy meanwhile
                total += child.stat().st_size if names.fullmatch(child.name) else 0
        return total
    finally:
        os.close(counting)


def temporaries(directory):
    return list(directory.glob(".shardkit-tmp-*"))


class User:
    """A separate process that uses a cache."""

    def __init__(self, source, directory, limit, seconds_a_read=0.0):
        argv = [PROGRAM, directory, limit, source.root.path, seconds_a_read]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self.process = Process(argv, environment, stdin=PIPE, stdout=PIPE, stderr=PIPE, modules=MODULES)

    def ready(self):
        assert self.line() == "ready"
        return self

    def order(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def line(self):
        said = self.process.stdout.readline().strip()
        assert said, self.process.stderr.read()
        return said

    def kill(self):
        self.process.kill()
        self.process.communicate()

    def end(self):
        self.order("quit")
        assert not self.process.communicate()[1]
        assert self.process.returncode == 0


@contextlib.contextmanager
def users(count, *arguments, **options):
    made = [User(*arguments, **options) for _ in range(count)]
    try:
        yield [one.ready() for one in made]
    finally:
        for one in made:
            one.process.kill()
            one.process.wait()
            for pipe in (one.process.stdin, one.process.stdout, one.process.stderr):
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
