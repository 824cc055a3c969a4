"""Jobs whose driver has left: workers keep the run's file young, and the job's last task says how the job ended.

A run's file that is STALE_SECONDS old belongs to a dead run. Without a driver, each worker process looks at it while it
works, and renews it if no other process has. Clocks of hosts are not compared. Until the first task begins there is no
worker, and engines may let a job wait for hours: the file of a job that waits lives until it begins or is removed.
"""

import contextlib
import json
import random
import threading
import time
from collections.abc import Iterator

from shardkit import naming
from shardkit.errors import StaleRunError
from shardkit.parallel.run_token import HEARTBEAT_SECONDS, PATH, WAITING, Fence, Run
from shardkit.storage import Folder, LocalFolder

IDLE_SECONDS = 60.0  # after its last task, a process renews the file no more

_hearts: dict[str, "_Heart"] = {}
_starting = threading.Lock()


@contextlib.contextmanager
def kept_alive(fence: Fence) -> Iterator[None]:
    """Keep the run's file young during the block, and IDLE_SECONDS after it."""
    with _starting:
        heart = _hearts.get(fence.token)
        if heart is None:
            with contextlib.suppress(OSError):  # then the job counts as waiting until another process begins
                _begin(fence)
            heart = _hearts[fence.token] = _Heart(fence.folder, fence.token)
            threading.Thread(target=heart.beat, name="heartbeat", daemon=True).start()
        heart.num_tasks += 1
    try:
        yield
    finally:
        with _starting:
            heart.num_tasks -= 1
            heart.last_used = time.monotonic()


def _begin(fence: Fence) -> None:
    """Note in the run's file that the job waits no more, if it is still this run's."""
    fields = json.loads(fence.folder.read(PATH))
    if fields.pop(WAITING, False):
        with contextlib.suppress(StaleRunError):
            fence.write(PATH, json.dumps(fields).encode())


class _Heart:
    """Renews a run's file while this process has tasks of the run."""

    def __init__(self, folder: Folder, token: str) -> None:
        self._folder, self._token = folder, token
        self.num_tasks, self.last_used = 0, time.monotonic()

    def beat(self) -> None:
        seen: int | None = None
        while self._goes_on():
            time.sleep(random.uniform(HEARTBEAT_SECONDS, 2 * HEARTBEAT_SECONDS))  # noqa: S311 - no secret
            with contextlib.suppress(OSError):  # a failure of the store for less than STALE_SECONDS has no effect
                found = self._folder.stat(PATH)
                if found is not None and found.mtime_ns == seen:
                    renew(self._folder, self._token)
                    found = self._folder.stat(PATH)
                seen = None if found is None else found.mtime_ns

    def _goes_on(self) -> bool:
        with _starting:
            is_over = not self.num_tasks and time.monotonic() - self.last_used > IDLE_SECONDS
            if is_over:
                del _hearts[self._token]
            return not is_over


def renew(folder: Folder, token: str) -> None:
    """Give the run's file the present time, if it is still this run's."""
    raw = folder.read(PATH)
    if json.loads(raw)["token"] != token:
        return
    if isinstance(folder, LocalFolder):
        folder.touch(PATH)  # writes no file into a work folder that is being removed
        return
    with folder.atomic_write(PATH, before_rename=Fence(folder, token).check) as file:
        file.write(raw)


def end_run(fence: Fence, *, keeps_work: bool) -> None:
    """End the run of a job without a driver: its other workers stop. After a failure, the next run goes on."""
    run = Run(fence.folder, fence.token)
    run.end() if keeps_work else run.finish()


def has_published(folder: Folder) -> bool:
    """Return whether a job without a driver has done all."""
    return folder.stat(naming.WORK_FOLDER) is None and folder.stat(naming.MANIFEST) is not None
