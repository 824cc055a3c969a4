"""Collect what Beam and an engine log in a file, instead of on the user's terminal.

Beam's portable runner passes the engine's messages to Python's root logger: a Java trace has hundreds of lines.
"""

import contextlib
import logging
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

END_BYTES = 1 << 16  # 64 KiB


@dataclass(slots=True)
class EngineLog:
    """The log of one job.

    Attributes:
        path: The file.
        is_kept: Whether the file stays when the job has ended.
    """

    path: str
    is_kept: bool = False

    def keep(self) -> str | None:
        """Keep the file; return its path, or None if it is empty."""
        self.is_kept = os.path.getsize(self.path) > 0
        return self.path if self.is_kept else None

    def end(self) -> str:
        """Return the last END_BYTES of the log."""
        with open(self.path, "rb") as file:
            file.seek(max(0, os.path.getsize(self.path) - END_BYTES))
            return file.read().decode(errors="replace")


@contextlib.contextmanager
def engine_log() -> Iterator[EngineLog]:
    """Collect the records of Beam and of the root logger; the file is removed at the end unless it is to be kept."""
    descriptor, path = tempfile.mkstemp(prefix="shardkit-engine-", suffix=".log")
    os.close(descriptor)
    log = EngineLog(path)
    handler = logging.FileHandler(path, encoding="utf-8", errors="backslashreplace")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root, beam = logging.getLogger(), logging.getLogger("apache_beam")
    before = (root.level, beam.level, beam.propagate)
    # Beam's PipelineOptions call basicConfig: without this, Java traces would go to standard error too.
    printing = [one for one in root.handlers if _is_of_basic_config(one)]
    for one in printing:
        root.removeHandler(one)
    if not root.handlers:  # a program that set up its own logging keeps its level
        root.setLevel(logging.INFO)
    beam.setLevel(logging.INFO)
    beam.propagate = False
    beam.addHandler(handler)
    root.addHandler(handler)
    try:
        yield log
    finally:
        root.removeHandler(handler)
        beam.removeHandler(handler)
        for one in printing:
            root.addHandler(one)
        root.setLevel(before[0])
        beam.setLevel(before[1])
        beam.propagate = before[2]
        handler.close()
        if not log.is_kept:
            os.unlink(path)


def _is_of_basic_config(handler: logging.Handler) -> bool:
    template = getattr(handler.formatter, "_fmt", None)  # it has no public name
    return type(handler) is logging.StreamHandler and template == logging.BASIC_FORMAT
