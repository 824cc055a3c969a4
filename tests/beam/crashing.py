"""Conversions that die: of a power cut at a chosen change to the disk, simulated here, or of a signal, really."""

import contextlib
import time

from shardkit.storage import TEMPORARY, LocalFolder

from ..cli.calling import TIMEOUT_SECONDS, call, start


class PowerCut(Exception):  # noqa: N818 - nobody's error
    """Raised in place of a change to the disk."""


@contextlib.contextmanager
def counted_changes(monkeypatch, *, is_last=lambda paths: False, done=True):
    """While it lasts, files written and removed are counted, and after the last one nothing changes any more.

    Args:
        monkeypatch: pytest's.
        is_last: of the paths written and removed so far, this one included: whether this change is the last.
        done: whether the last one still happens; else a torn temporary is left, or the file is not removed.

    Yields:
        The paths written and removed so far, the last and what was tried after it included.
    """
    writing, remove, paths, cuts = LocalFolder.atomic_write, LocalFolder.remove, [], []

    def cut(path):
        paths.append(path)
        if not cuts and is_last(paths):
            cuts.append(path)
            return True, not done
        return bool(cuts), bool(cuts)

    @contextlib.contextmanager
    def cut_writing(self, path, **more):
        dies, is_lost = cut(path)
        if is_lost:
            with open(f"{self.path}/{TEMPORARY}1-{len(paths):08x}", "wb") as file:
                yield file
                file.write(b"torn")
            raise PowerCut(path)
        with writing(self, path, **more) as file:
            yield file
        if dies:
            raise PowerCut(path)

    def cut_remove(self, path):
        dies, is_lost = cut(path)
        if not is_lost:
            remove(self, path)
        if dies:
            raise PowerCut(path)

    with monkeypatch.context() as patched:
        patched.setattr(LocalFolder, "atomic_write", cut_writing)
        patched.setattr(LocalFolder, "remove", cut_remove)
        yield paths


def convert_until(monkeypatch, is_last, *arguments, done=True):
    """A conversion by one worker that dies of a power cut; arguments as above."""
    with counted_changes(monkeypatch, is_last=is_last, done=done), contextlib.suppress(PowerCut):
        assert call("convert", *arguments, "--workers", 1).exit_code != 0, "it had ended before"


def interrupt(monkeypatch, source, output, *options, shards):
    """A conversion that dies when so many shards are finished."""

    def is_last(paths):
        return sum(path.endswith(".index.parquet") for path in paths) == shards

    convert_until(monkeypatch, is_last, source, output, *options)
    assert not (output / "manifest.json").exists()
    assert len(list(output.glob("*.index.parquet"))) == shards


def start_until(reached, *arguments, seconds=TIMEOUT_SECONDS, **options):
    """A process of shardkit that still runs, as soon as `reached()` is true."""
    process = start(*arguments, **options)
    deadline = time.monotonic() + seconds
    while not reached():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            raise AssertionError(process.communicate())
        time.sleep(0.002)
    return process


def finished_shards(output):
    """Inode and times of both files of every finished shard, by name."""
    found = {}
    for index in output.glob("*.index.parquet"):
        for path in (index, output / index.name.replace(".index.parquet", ".tfrecord")):
            found[path.name] = (path.stat().st_ino, path.stat().st_mtime_ns, path.stat().st_ctime_ns)
    return found


def nothing_left(output):
    """Whether all that only an unfinished conversion has is gone."""
    return not any(path.name.startswith((TEMPORARY, ".shardkit")) for path in output.rglob("*"))
