import contextlib
import errno
import fcntl
import gc
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from shardkit.dataset.manifest import Index, Shard
from shardkit.errors import CallError, DataError, MachineError
from shardkit.reader import make_dataset_fn
from shardkit.reader.cache import copying
from shardkit.reader.cache.shards import ShardCache
from shardkit.storage import LocalFolder, open_folder
from shardkit.storage.kernel_locks import lock_file

SHARD_BYTES = 300_001  # no multiple of anything
PROGRAM = Path(__file__).parent.parent / "programs" / "cache_user.py"


def make_shards(folder, count=6, num_bytes=SHARD_BYTES, seed=0):
    """Shards of random bytes in a folder of any kind, as a manifest would name them."""
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
    """A folder of shards and what was read of it."""

    def __init__(self, path, **made):
        path.mkdir()
        self.root = Counted(str(path))
        self.shards = make_shards(self.root, **made)
        (path / "shards.json").write_text(json.dumps([shard.model_dump() for shard in self.shards]))

    def raw(self, number):
        return self.root.read(self.shards[number].path)


class Counted(LocalFolder):
    """A local folder that counts the bytes that are read of its files in ranges."""

    bytes_read = 0
    lock = threading.Lock()

    def read_range(self, path, start, num_bytes):
        data = LocalFolder.read_range(self, path, start, num_bytes)
        with Counted.lock:
            Counted.bytes_read += len(data)
        return data


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(copying, "CHUNK_BYTES", 64 << 10)
    monkeypatch.setattr(Counted, "bytes_read", 0)


@pytest.fixture
def source(tmp_path):
    return Dataset(tmp_path / "source")


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "cache"


def whole_shards(directory):
    """sha256 of every shard in the cache; fails where one is not what its name says."""
    found = set()
    for path in directory.glob("*.tfrecord"):
        assert hashlib.sha256(path.read_bytes()).hexdigest() == path.stem
        found.add(path.stem)
    return found


def numbers_of(source, directory):
    return [n for n, shard in enumerate(source.shards) if shard.sha256 in whole_shards(directory)]


def fetch(cache, source, *numbers):
    """Paths of the shards of these numbers, held as long as the list exists."""
    shards = [source.shards[number] for number in numbers]
    return cache.fetch([source.root] * len(shards), shards)


def use(cache, source, *numbers):
    """Fetch shards one after the other, and release each at once."""
    for number in numbers:
        fetch(cache, source, number)


def num_bytes(directory):
    """Bytes of all shards and unfinished copies, as other processes count them."""
    counting = lock_file(f"{directory}/lock", fcntl.LOCK_EX)
    try:
        names = re.compile(r"[0-9a-f]{64}\.tfrecord|\.shardkit-tmp-[0-9a-f]{64}")
        return sum(child.stat().st_size for child in os.scandir(directory) if names.fullmatch(child.name))
    finally:
        os.close(counting)


def temporaries(directory):
    return list(directory.glob(".shardkit-tmp-*"))


def state_of(folder):
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in Path(folder).rglob("*")}


@pytest.mark.parametrize("where", ["local", "s3"])
def test_a_copy_has_the_bytes_of_its_shard_and_is_named_by_them(request, tmp_path, directory, where):
    url = str(tmp_path / "there") if where == "local" else f"{request.getfixturevalue('s3_bucket')}/below/here"
    root = open_folder(url)
    root.create()
    shards = make_shards(root, count=3)
    cache = ShardCache(str(directory), 10 * SHARD_BYTES)
    for shard, path in zip(shards, cache.fetch([root] * 3, shards), strict=True):
        assert path == f"{directory}/{shard.sha256}.tfrecord"
        assert Path(path).read_bytes() == root.read(shard.path)
    assert num_bytes(directory) == 3 * SHARD_BYTES
    assert not temporaries(directory)


def test_a_dataset_in_a_store_is_read_through_the_cache_as_from_a_folder(s3_bucket, noise, directory):
    """What TensorFlow cannot open by itself: it knows no s3://."""
    store = open_folder(f"{s3_bucket}/noise")
    for path in Path(noise).iterdir():
        if path.is_file():
            with store.atomic_write(path.name) as file:
                file.write(path.read_bytes())
    local = make_dataset_fn(noise, "train", global_batch_size=16)
    remote = make_dataset_fn(store.url, "train", global_batch_size=16, cache=str(directory))
    for ours, theirs in zip(remote().take(3), local().take(3), strict=True):
        assert ours["key"].numpy().tolist() == theirs["key"].numpy().tolist()
        assert ours["image"].numpy().tolist() == theirs["image"].numpy().tolist()


@pytest.mark.parametrize("length", [0, 1, 64 << 10, (64 << 10) + 1, 5 * (64 << 10)])
def test_every_length_is_copied_whole(tmp_path, directory, length):
    source = Dataset(tmp_path / "source", count=1, num_bytes=length)
    (path,) = fetch(ShardCache(str(directory), 1 << 20), source, 0)
    assert Path(path).read_bytes() == source.raw(0)


def test_the_source_is_read_once_and_never_changed(source, directory):
    before = state_of(source.root.path)
    for _ in range(3):
        cache = ShardCache(str(directory), 10 * SHARD_BYTES)
        for number in range(6):
            use(cache, source, number, number)
        fetch(cache, source, *range(6))
    assert Counted.bytes_read == len(source.shards) * SHARD_BYTES
    assert state_of(source.root.path) == before


def test_a_copy_that_is_here_needs_no_source(source, directory):
    cache = ShardCache(str(directory), 10 * SHARD_BYTES)
    paths = fetch(cache, source, 0)
    assert cache.fetch([open_folder("/nowhere")], source.shards[:1]) == paths


def test_datasets_share_equal_shards_and_versions_never_mix(tmp_path, source, directory):
    same, other = Dataset(tmp_path / "same", count=6), Dataset(tmp_path / "other", count=6, seed=1)
    cache = ShardCache(str(directory), 100 * SHARD_BYTES)
    paths = [fetch(cache, one, *range(6)) for one in (source, same, other)]
    assert paths[0] == paths[1]
    assert Counted.bytes_read == 12 * SHARD_BYTES
    assert Path(paths[2][0]).read_bytes() == other.raw(0) != source.raw(0)


def test_the_least_recently_used_shard_goes_first(source, directory):
    cache = ShardCache(str(directory), 3 * SHARD_BYTES)
    for number in (0, 1, 2, 0, 3):
        use(cache, source, number)
        assert num_bytes(directory) <= 3 * SHARD_BYTES
    assert numbers_of(source, directory) == [0, 2, 3]


def test_a_shard_counts_as_used_until_it_is_released(source, directory):
    cache = ShardCache(str(directory), 2 * SHARD_BYTES)
    long = fetch(cache, source, 0)
    use(cache, source, 1)
    long.lease.release()
    use(cache, source, 2)
    assert numbers_of(source, directory) == [0, 2]


def test_what_is_held_is_not_evicted_and_what_is_released_is(source, directory):
    cache = ShardCache(str(directory), 2 * SHARD_BYTES)
    held = fetch(cache, source, 0)
    use(cache, source, 1, 2, 3)
    assert numbers_of(source, directory) == [0, 3]
    held.lease.release()
    held.lease.release()  # the second call does nothing
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
    first.lease.release()
    with pytest.raises(MachineError, match="the cache is full"):
        use(cache, source, 1)
    second.lease.release()
    use(cache, source, 1)
    assert numbers_of(source, directory) == [1]


def test_a_hard_linked_shard_stays_because_its_room_would_not_come_free(tmp_path, source, directory):
    cache = ShardCache(str(directory), 2 * SHARD_BYTES)
    os.link(*fetch(cache, source, 0), tmp_path / "mine")
    use(cache, source, 1, 2)
    assert numbers_of(source, directory) == [0, 2]
    (tmp_path / "mine").unlink()
    use(cache, source, 1)
    assert numbers_of(source, directory) == [1, 2]


def test_stamps_of_evicted_shards_do_not_gather(source, directory):
    cache = ShardCache(str(directory), SHARD_BYTES)
    use(cache, source, *range(6), *range(6))
    assert [path.name for path in directory.glob("*.used")] == [f"{source.shards[-1].sha256}.used"]


def test_files_of_others_in_the_folder_are_not_counted_and_stay(source, directory):
    cache = ShardCache(str(directory), SHARD_BYTES)
    names = ["notes.txt", "train.tfrecord", ".shardkit-tmp-1-abc", f"{'a' * 63}.tfrecord", f"{'A' * 64}.tfrecord"]
    for name in names:
        (directory / name).write_bytes(bytes(SHARD_BYTES))
    use(cache, source, 0, 1)
    assert num_bytes(directory) == SHARD_BYTES
    assert all((directory / name).stat().st_size == SHARD_BYTES for name in names)


def test_a_limit_smaller_than_the_shards_is_told_with_both_numbers_before_anything_is_read(source, directory):
    cache = ShardCache(str(directory), 6 * SHARD_BYTES - 1)
    with pytest.raises(CallError, match=rf"{6 * SHARD_BYTES - 1} bytes .* 6 shards .* {6 * SHARD_BYTES} bytes; raise"):
        fetch(cache, source, *range(6))
    assert Counted.bytes_read == 0
    fetch(cache, source, *range(5), *range(5))  # equal shards need the room of one


def test_a_limit_reached_by_shards_in_use_is_told_with_the_limit_that_would_do(source, directory):
    cache = ShardCache(str(directory), 3 * SHARD_BYTES - 1)
    held = fetch(cache, source, 0, 1)
    sentence = rf"in use take {2 * SHARD_BYTES}, train-00002.* raise the limit to at least {3 * SHARD_BYTES} bytes"
    with pytest.raises(MachineError, match=sentence):
        fetch(cache, source, 2)
    assert numbers_of(source, directory) == [0, 1]
    assert not temporaries(directory)
    del held


def test_a_folder_that_is_not_local_is_refused():
    with pytest.raises(CallError, match="s3://bucket/cache: a cache is a local folder"):
        ShardCache("s3://bucket/cache", 1)


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(MachineError, match=r"file/cache: .*Not a directory; choose"):
        ShardCache(str(tmp_path / "file" / "cache"), 1)


@pytest.mark.parametrize("inside", [".", "cache", "a/b"])
def test_a_cache_inside_the_dataset_is_refused(source, inside):
    cache = ShardCache(f"{source.root.path}/{inside}", 10 * SHARD_BYTES)
    with pytest.raises(CallError, match=f"inside the dataset {source.root.path};"):
        fetch(cache, source, 0)


def test_a_cache_inside_the_dataset_by_a_symbolic_link_is_refused(tmp_path, source):
    (tmp_path / "link").symlink_to(source.root.path)
    with pytest.raises(CallError, match=f"inside the dataset {source.root.path};"):
        fetch(ShardCache(str(tmp_path / "link"), 10 * SHARD_BYTES), source, 0)


def flip_a_byte(path):
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.chmod(0o644)
    path.write_bytes(raw)


def cut_short(path):
    os.truncate(path, SHARD_BYTES - 1)


def lengthen(path):
    path.chmod(0o644)
    path.write_bytes(path.read_bytes() + b"\0")


def zeros(path):
    path.chmod(0o644)
    path.write_bytes(bytes(SHARD_BYTES))


def dangling_link(path):
    path.unlink()
    path.symlink_to("/nowhere")


def link_elsewhere(path):
    (path.parent / "elsewhere").write_bytes(bytes(SHARD_BYTES))
    path.unlink()
    path.symlink_to("elsewhere")


@pytest.mark.parametrize(
    "damage", [flip_a_byte, cut_short, lengthen, zeros, Path.unlink, dangling_link, link_elsewhere]
)
@pytest.mark.parametrize("asked", ["by another", "by the holder", "while it is held by another"])
def test_a_damaged_copy_is_found_and_copied_again(source, directory, damage, asked):
    first = ShardCache(str(directory), SHARD_BYTES)
    held = fetch(first, source, 0)
    path = Path(held[0])
    damage(path)
    cache = first if asked == "by the holder" else ShardCache(str(directory), SHARD_BYTES)
    if asked == "by another":
        held.lease.release()
    (again,) = fetch(cache, source, 0)
    assert Path(again).read_bytes() == source.raw(0)
    assert path.lstat().st_size == SHARD_BYTES
    assert Counted.bytes_read == 2 * SHARD_BYTES
    assert not temporaries(directory)


def test_a_sound_copy_that_only_looks_changed_is_kept(source, directory):
    """As one that was restored from a backup."""
    cache = ShardCache(str(directory), SHARD_BYTES)
    os.utime(*fetch(cache, source, 0))
    (path,) = fetch(cache, source, 0)
    assert Counted.bytes_read == SHARD_BYTES
    assert os.stat(path).st_mtime_ns == 0


def test_a_folder_that_was_removed_meanwhile_is_filled_again(source, directory):
    cache = ShardCache(str(directory), SHARD_BYTES)
    before = fetch(cache, source, 0)
    for path in directory.iterdir():
        path.unlink()
    directory.rmdir()
    held = fetch(cache, source, 0)
    before.lease.release()
    assert Path(held[0]).read_bytes() == source.raw(0)
    with pytest.raises(MachineError, match="the cache is full"):  # and it is held there, by a lock that others see
        fetch(ShardCache(str(directory), SHARD_BYTES), source, 1)


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def test_a_holder_has_one_descriptor_however_many_shards(tmp_path, directory):
    """One a shard would end at 1,024 shards, the usual limit of a process."""
    source = Dataset(tmp_path / "source", count=40, num_bytes=10)
    cache = ShardCache(str(directory), SHARD_BYTES)
    before = descriptors()
    held = fetch(cache, source, *range(40))
    assert descriptors() == before + 1
    held.lease.release()
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


def test_a_forked_child_that_ends_does_not_release_what_its_parent_holds(source, directory):
    cache = ShardCache(str(directory), SHARD_BYTES)
    held = fetch(cache, source, 0)
    child = os.fork()
    if child == 0:
        held.lease.release()  # as the interpreter does at its end
        os._exit(0)
    os.waitpid(child, 0)
    with pytest.raises(MachineError, match="the cache is full"):
        fetch(ShardCache(str(directory), SHARD_BYTES), source, 1)


def test_a_lease_that_a_killed_holder_left_counts_for_nothing_and_goes(source, directory):
    cache = ShardCache(str(directory), SHARD_BYTES)
    use(cache, source, 0)
    (directory / f"{'a' * 32}.lease").write_text(f"{source.shards[0].sha256}\n")
    use(cache, source, 1)
    assert numbers_of(source, directory) == [1]
    assert not list(directory.glob("*.lease"))


def test_a_disk_without_room_for_a_lease_evicts_for_it(monkeypatch, source, directory):
    use(ShardCache(str(directory), 2 * SHARD_BYTES), source, 0)
    pwrite, num_shards = os.pwrite, len(list(directory.glob("*.tfrecord")))

    def full(descriptor, data, start):
        if len(data) == 65 and len(list(directory.glob("*.tfrecord"))) == num_shards:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return pwrite(descriptor, data, start)

    monkeypatch.setattr(os, "pwrite", full)
    use(ShardCache(str(directory), 2 * SHARD_BYTES), source, 1)
    assert numbers_of(source, directory) == [1]


class Wrong(LocalFolder):
    """A source that answers wrongly so many times."""

    times = 0

    def read_range(self, path, start, num_bytes):
        data = LocalFolder.read_range(self, path, start, num_bytes)
        if start == 64 << 10 and Wrong.times > 0:
            Wrong.times -= 1
            return self.answer(data)
        return data


class Flips(Wrong):
    def answer(self, data):
        return data[:-1] + bytes([data[-1] ^ 1])


class Shortens(Wrong):
    def answer(self, data):
        return data[:-1]


class Fails(Wrong):
    def answer(self, data):
        raise OSError(errno.EIO, os.strerror(errno.EIO))


@pytest.mark.parametrize("kind", [Flips, Shortens])
def test_a_source_that_answers_wrongly_once_is_asked_again(monkeypatch, source, directory, kind):
    monkeypatch.setattr(Wrong, "times", 1)
    (path,) = ShardCache(str(directory), SHARD_BYTES).fetch([kind(source.root.path)], source.shards[:1])
    assert Path(path).read_bytes() == source.raw(0)


@pytest.mark.parametrize(
    ("kind", "error", "sentence"),
    [
        (Flips, DataError, "the shard is not the one that the manifest names .* restore it or convert again"),
        (Shortens, DataError, rf"manifest names \({SHARD_BYTES - 1} bytes with sha256"),
        (Fails, MachineError, "cannot copy the shard: Input/output error"),
    ],
)
def test_a_source_that_goes_on_answering_wrongly_is_told_and_leaves_nothing(
    monkeypatch, source, directory, kind, error, sentence
):
    monkeypatch.setattr(Wrong, "times", 100)
    cache = ShardCache(str(directory), SHARD_BYTES)
    with pytest.raises(error, match=rf"source/train-00000-of-00006.tfrecord: .*{sentence}"):
        cache.fetch([kind(source.root.path)], source.shards[:1])
    assert not temporaries(directory)
    assert not whole_shards(directory)
    use(cache, source, 1)  # nothing holds the room
    assert numbers_of(source, directory) == [1]


def test_a_shard_that_the_source_lacks_is_told(source, directory):
    source.root.remove(source.shards[0].path)
    with pytest.raises(DataError, match=r"train-00000-of-00006\.tfrecord: the shard is missing; restore it"):
        fetch(ShardCache(str(directory), SHARD_BYTES), source, 0)


def test_a_shard_that_the_store_lacks_is_told(s3_bucket, directory):
    root = open_folder(s3_bucket)
    (shard,) = make_shards(root, count=1)
    root.remove(shard.path)
    with pytest.raises(DataError, match=r"train-00000-of-00001\.tfrecord: the shard is missing; restore it"):
        ShardCache(str(directory), SHARD_BYTES).fetch([root], [shard])


class _Disk:
    """What `os.statvfs` says of a disk of a given size that holds nothing but a folder."""

    def __init__(self, folder, num_bytes):
        used = sum(path.stat().st_blocks * 512 for path in folder.glob("*"))
        self.f_frsize, self.f_bavail = 1, max(0, num_bytes - used)


def test_a_full_disk_evicts_what_is_not_in_use_and_is_told_where_all_is(monkeypatch, source, directory):
    cache = ShardCache(str(directory), 100 * SHARD_BYTES)
    on_disk = -(-SHARD_BYTES // 4096) * 4096
    monkeypatch.setattr(os, "statvfs", lambda _: _Disk(directory, 2 * on_disk + 4096))  # and its lease
    use(cache, source, 0, 1, 2)
    assert numbers_of(source, directory) == [1, 2]
    held = fetch(cache, source, 1, 2)
    with pytest.raises(MachineError, match=rf"the disk is full: train-00003.* needs {SHARD_BYTES} bytes, 0 are free"):
        fetch(cache, source, 3)
    assert numbers_of(source, directory) == [1, 2]
    del held


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_that_fills_up_under_a_copy_is_told_and_the_copy_removed(monkeypatch, source, directory, code):
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


def test_threads_that_want_the_same_shards_copy_each_once(source, directory):
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


class User:
    """A process of its own that uses a cache."""

    def __init__(self, source, directory, limit, seconds_a_read=0.0):
        command = [sys.executable, str(PROGRAM), str(directory), str(limit), source.root.path, str(seconds_a_read)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self.process = subprocess.Popen(command, **pipes, text=True, env=environment)

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
        assert not self.process.communicate("quit\n")[1]
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


def test_processes_that_want_the_same_shards_copy_each_once(source, directory):
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


def test_what_another_process_holds_is_not_evicted_until_it_dies_however_it_does(source, directory):
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


def test_the_room_of_a_copy_in_the_making_is_taken_from_its_first_byte(monkeypatch, source, directory):
    """Of the limit, and of the disk: two copies that both fit when they begin must not meet its end together."""
    with users(1, source, directory, 10 * SHARD_BYTES, seconds_a_read=0.5) as (user,):
        user.order("hold", 0)
        while not (temporaries(directory) and temporaries(directory)[0].stat().st_size):
            time.sleep(0.001)
        assert num_bytes(directory) == SHARD_BYTES
        with pytest.raises(MachineError, match=rf"the cache is full: .* shards in use take {SHARD_BYTES}"):
            fetch(ShardCache(str(directory), SHARD_BYTES), source, 1)
        monkeypatch.setattr(os, "statvfs", lambda _: _Disk(directory, int(1.5 * SHARD_BYTES)))
        with pytest.raises(MachineError, match="the disk is full"):
            fetch(ShardCache(str(directory), 10 * SHARD_BYTES), source, 1)
        assert temporaries(directory)  # and all that while the copy was under way
        user.line()


def test_who_wants_a_shard_that_is_being_evicted_waits_and_copies_it(source, directory):
    cache = ShardCache(str(directory), SHARD_BYTES)
    evicting = lock_file(f"{directory}/lock", fcntl.LOCK_EX)
    threading.Timer(0.1, os.close, [evicting]).start()
    (path,) = fetch(cache, source, 0)
    assert Path(path).read_bytes() == source.raw(0)


def test_processes_that_evict_each_others_shards_stay_within_the_limit(source, directory):
    """Three that each need one shard at a time, where three fit."""
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


def test_who_waits_for_a_copy_takes_over_when_its_maker_is_killed(source, directory):
    with users(2, source, directory, SHARD_BYTES, seconds_a_read=0.3) as (first, second):
        first.order("hold", 0)
        while not temporaries(directory):
            time.sleep(0.001)
        second.order("hold", 0)
        first.kill()
        assert Path(second.line()).read_bytes() == source.raw(0)
    assert not temporaries(directory)


KILLS = 40


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
    """While one shard is copied, and while the next is, for which the first is evicted."""
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


def test_leftovers_of_a_killed_process_count_for_nothing_and_go(source, directory):
    limit = 2 * SHARD_BYTES
    cache = ShardCache(str(directory), limit)
    for shard in source.shards[:3]:
        (directory / f".shardkit-tmp-{shard.sha256}").write_bytes(bytes(SHARD_BYTES))
    fetch(cache, source, 0, 5)
    assert not temporaries(directory)
    assert numbers_of(source, directory) == [0, 5]
    assert num_bytes(directory) == limit
