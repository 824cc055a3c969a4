"""Copies have the bytes of their shards, whatever the source or the disk does."""

import errno
import os
from pathlib import Path

import pytest

from shardkit.errors import DataError, MachineError
from shardkit.reader import make_dataset_fn
from shardkit.reader.shard_cache import ShardCache
from shardkit.storage import LocalFolder, open_folder

from .cache_users import (
    SHARD_BYTES,
    Counted,
    Dataset,
    fetch,
    make_shards,
    num_bytes,
    numbers_of,
    temporaries,
    use,
    whole_shards,
)


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
    """TensorFlow cannot open s3:// itself."""
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


def test_an_existing_copy_needs_no_source(source, directory):
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


def link_to_another_file(path):
    (path.parent / "elsewhere").write_bytes(bytes(SHARD_BYTES))
    path.unlink()
    path.symlink_to("elsewhere")


@pytest.mark.parametrize(
    "damage", [flip_a_byte, cut_short, lengthen, zeros, Path.unlink, dangling_link, link_to_another_file]
)
@pytest.mark.parametrize("asked", ["by another", "by the holder", "while it is held by another"])
def test_a_damaged_copy_is_found_and_copied_again(source, directory, damage, asked):
    first = ShardCache(str(directory), SHARD_BYTES)
    held = fetch(first, source, 0)
    path = Path(held[0])
    damage(path)
    cache = first if asked == "by the holder" else ShardCache(str(directory), SHARD_BYTES)
    if asked == "by another":
        held.release()
    (again,) = fetch(cache, source, 0)
    assert Path(again).read_bytes() == source.raw(0)
    assert path.lstat().st_size == SHARD_BYTES
    assert Counted.bytes_read == 2 * SHARD_BYTES
    assert not temporaries(directory)


class Wrong(LocalFolder):
    """A source that returns wrong bytes a number of times."""

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
def test_a_source_that_returns_wrong_bytes_once_is_read_again(monkeypatch, source, directory, kind):
    monkeypatch.setattr(Wrong, "times", 1)
    (path,) = ShardCache(str(directory), SHARD_BYTES).fetch([kind(source.root.path)], source.shards[:1])
    assert Path(path).read_bytes() == source.raw(0)


@pytest.mark.parametrize(
    ("kind", "error", "sentence"),
    [
        (
            Flips,
            DataError,
            "the shard is not the one that the manifest names .* restore it or convert again with overwrite=True",
        ),
        (Shortens, DataError, rf"manifest names \({SHARD_BYTES - 1} bytes with sha256"),
        (Fails, MachineError, "cannot copy the shard: Input/output error"),
    ],
)
def test_a_source_that_keeps_returning_wrong_bytes_is_named_and_nothing_is_left(
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


def test_a_shard_that_the_source_lacks_is_named(source, directory):
    source.root.remove(source.shards[0].path)
    with pytest.raises(DataError, match=r"train-00000-of-00006\.tfrecord: the shard is missing; restore it"):
        fetch(ShardCache(str(directory), SHARD_BYTES), source, 0)


def test_a_shard_that_the_store_lacks_is_named(s3_bucket, directory):
    root = open_folder(s3_bucket)
    (shard,) = make_shards(root, count=1)
    root.remove(shard.path)
    with pytest.raises(DataError, match=r"train-00000-of-00001\.tfrecord: the shard is missing; restore it"):
        ShardCache(str(directory), SHARD_BYTES).fetch([root], [shard])
