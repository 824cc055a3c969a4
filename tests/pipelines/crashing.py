"""Conversions that die: of a power cut at a chosen write, simulated in this process, or of a signal, really."""

import contextlib
import time

from shardkit.storage import TEMPORARY, LocalFolder

from ..cli.calling import TIMEOUT_SECONDS, call, start


class Crash(Exception):  # noqa: N818 - it is a power cut, nobody's error
    """Raised in place of a write; what was on the disk stays as it was."""


@contextlib.contextmanager
def crash_at(monkeypatch, number, *, renamed):
    """While it lasts, the files written are counted, and from the number-th on none succeeds.

    Args:
        monkeypatch: pytest's.
        number: 0 for the first file.
        renamed: whether the file of that number still appears under its name; else its temporary is left behind.

    Yields:
        The paths written or attempted so far.
    """
    writing, paths = LocalFolder.writing, []

    @contextlib.contextmanager
    def counted(self, path):
        paths.append(path)
        crashes = len(paths) > number
        if crashes and not (renamed and len(paths) == number + 1):
            with open(f"{self.path}/{TEMPORARY}1-{len(paths):08x}", "wb") as file:
                yield file
                file.write(b"torn")
            raise Crash(path)
        with writing(self, path) as file:
            yield file
        if crashes:
            raise Crash(path)

    with monkeypatch.context() as patched:
        patched.setattr(LocalFolder, "writing", counted)
        yield paths


def interrupt(monkeypatch, source, output, *options, shards):
    """A conversion by one worker that dies when so many shards are finished."""

    def index_number(path):
        return path.endswith(".index.parquet")

    with crash_at(monkeypatch, 1 << 30, renamed=True) as paths:
        call("convert", source, f"{output}-whole", *options, "--workers", 1)
    number = [number for number, path in enumerate(paths) if index_number(path)][shards - 1]
    with crash_at(monkeypatch, number, renamed=True):
        assert call("convert", source, output, *options, "--workers", 1).exit_code == 3
    assert not (output / "manifest.json").exists()
    assert len(list(output.glob("*.index.parquet"))) == shards


def start_until(reached, *arguments, **options):
    """A process of shardkit that is stopped in its tracks as soon as `reached()` is true; it still lives."""
    process = start(*arguments, **options)
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not reached():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            out, err = process.communicate()
            raise AssertionError((out, err))
        time.sleep(0.002)
    return process
