"""A fence around an output: only one run writes into it, and workers of an ended run stop.

The driver writes a random token into ``OUT/.shardkit/run``. Workers carry it and compare it before each task, every few
seconds within one, and before a file is renamed to its final name.
Engines let a job continue after Ctrl-C; without the fence its workers would write into the output of the next run.

Why no file of an ended run can appear in a local output: a writer makes its temporary file, compares the token, and
renames. A new driver writes its token, removes all temporary files, and then clears the output. A comparison that
succeeded came before the new token, so the temporary file is removed before its rename, or the renamed file is cleared.

A local output is also locked by the kernel (see `storage.kernel_locks`). Object stores have no locks: there the driver
rewrites the file every HEARTBEAT_SECONDS, and a second driver is refused until it is STALE_SECONDS old by the store's
own clock.
"""

import contextlib
import json
import os
import platform
import secrets
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Literal

from shardkit import naming
from shardkit.errors import MachineError, StaleRunError
from shardkit.storage import Folder, LocalFolder
from shardkit.storage.retry import retried

PATH = f"{naming.WORK_FOLDER}/run"
WAITING = "is_waiting"  # a field of the file of a job without a driver, none of whose tasks has begun
CHECK_SECONDS = 3.0  # between two comparisons within a task
HEARTBEAT_SECONDS = 15.0
STALE_SECONDS = 120.0

# stopped: a worker has failed. ended: the dataset is published and the work folder is being removed.
State = Literal["", "stopped", "ended"]


@dataclass(frozen=True, slots=True)
class RunFile:
    """The content of a run's file."""

    token: str  # random; another one for each run
    state: str = ""
    host: str = "unknown"  # of the driver, as its process
    process: int = 0
    is_detached: bool = False  # the job goes on without a driver
    is_waiting: bool = False  # none of its tasks has begun

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self)).encode()


def read_run_file(folder: Folder) -> RunFile | None:
    """Return the content of a folder's run file, with an unknown token if it is damaged; None if there is none."""
    try:
        fields = json.loads(folder.read(PATH))
        is_detached, is_waiting = (fields.get(name) is True for name in ("is_detached", WAITING))
        host, state = str(fields["host"]), fields.get("state", "")
        return RunFile(fields["token"], state, host, is_detached=is_detached, is_waiting=is_waiting)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return RunFile("")


class Fence:
    """Compares a worker's token with the one in the folder that its run writes into.

    A remote worker may be on another host than the driver.
    """

    def __init__(self, folder: Folder, token: str, *, is_remote: bool = False) -> None:
        self.folder, self.token, self.is_remote = folder, token, is_remote
        self._next = 0.0

    def check(self) -> None:
        """Raise StaleRunError if the run has ended or was replaced, MachineError if this host lacks the output."""
        found = retried(lambda: read_run_file(self.folder))
        is_there = found is not None or self.folder.stat(naming.WORK_FOLDER) is not None
        if not is_there and self.folder.stat(naming.MANIFEST) is None:
            raise MachineError(
                f"{self.folder.url}/{naming.WORK_FOLDER}: host {platform.node()} does not see this folder, which the "
                "driver writes; every worker must reach OUTPUT, and --temp_location, under the same path"
            )
        if found is None or found.token != self.token or found.state:
            raise StaleRunError(f"{self.folder.url}: the run that this worker belongs to has ended")
        self._next = time.monotonic() + CHECK_SECONDS

    def check_sometimes(self) -> None:
        """Compare if the last comparison is CHECK_SECONDS old."""
        if time.monotonic() >= self._next:
            self.check()

    def write(self, path: str, data: bytes) -> None:
        """Write a small file; raise StaleRunError if the run has ended."""
        self.check()  # before the work folder would be made again, in a dataset that is published

        def write() -> None:
            with self.folder.atomic_write(path, before_rename=self.check) as file:
                file.write(data)

        retried(write)


class Run:
    """The driver's side of the fence; see `claimed`."""

    def __init__(self, folder: Folder, value: str | None = None) -> None:
        """Write nothing yet. Several tasks of a job are the driver, one after the other, by the value of its token."""
        self.folder = folder
        self._writing, self._stopped = threading.Lock(), threading.Event()
        self.token, self._state = value or secrets.token_hex(16), ""
        self.is_detached = self.is_waiting = False
        self._is_left = False

    def start(self, state: State = "") -> str:
        """Write the token and return it for the workers: those that carry another one stop, and all in a state."""
        with self._writing:
            self._state = state
            self._write()
        return self.token

    @contextlib.contextmanager
    def left(self) -> Iterator[None]:
        """Begin a job that goes on when this process ends, unless the block fails; see `detached`."""
        self.is_detached = self.is_waiting = True
        self.start()
        yield
        self._is_left = True
        self._stopped.set()

    def stop_workers(self) -> None:
        """Stop all workers of this run without giving up the output."""
        if self._state != "stopped":
            self.start("stopped")

    @contextlib.contextmanager
    def checked(self) -> Iterator[None]:
        """Check at the end of a block, also if it fails: the workers of a replaced run stop without a report."""
        try:
            yield
        except MachineError:
            try:
                self.check()
            except StaleRunError:
                raise
            except OSError:  # an unreachable output must not hide the original error
                pass
            raise
        self.check()

    def check(self) -> None:
        """Raise StaleRunError if another run has taken over, or the run's file was removed."""
        found = retried(lambda: read_run_file(self.folder))
        if found is not None and (found.token, found.state) == (self.token, self._state):
            return
        other = "it was removed" if found is None else f"it is that of another run, on host {found.host}"
        raise StaleRunError(
            f"{self.folder.url}/{PATH}: does not belong to this run any more: {other}; nothing was published. "
            "If no other run is writing into this folder, run the same command again to resume"
        )

    def keep_alive(self) -> None:
        """Rewrite the file every HEARTBEAT_SECONDS until `end` or `finish` is called, or another run has taken over."""
        while not self._stopped.wait(HEARTBEAT_SECONDS):
            with contextlib.suppress(OSError), self._writing:
                # Tolerate errors: a failure of the store for less than STALE_SECONDS has no effect.
                found = read_run_file(self.folder)
                if self._stopped.is_set() or found is None or (found.token, found.state) != (self.token, self._state):
                    return
                self._write()

    def end(self) -> None:
        """Remove the file, so that workers stop; keep the file of another run."""
        self._stopped.set()
        with self._writing:
            found = None if self._is_left else read_run_file(self.folder)
            if found is not None and found.token == self.token:
                self.folder.remove(PATH)

    def finish(self) -> None:
        """Remove the work folder, after stopping copies of finished tasks that still run."""
        self._stopped.set()
        if isinstance(self.folder, LocalFolder):
            self.folder.remove(PATH)
        else:
            # If the file went first, a second run could start and lose what it writes into the work folder.
            self.start("ended")
            for entry in self.folder.scan(naming.WORK_FOLDER):
                path = f"{naming.WORK_FOLDER}/{entry.name}"
                if entry.is_folder:
                    self.folder.remove_tree(path)
                elif path != PATH:
                    self.folder.remove(path)
        self.folder.remove_tree(naming.WORK_FOLDER)

    def _write(self) -> None:
        written = RunFile(self.token, self._state, platform.node(), os.getpid(), self.is_detached, self.is_waiting)
        with self.folder.atomic_write(PATH) as file:
            file.write(written.to_bytes())


@contextlib.contextmanager
def claimed(output: Folder, value: str | None = None) -> Iterator[Run]:
    """Claim an output for one run; at its end, also after an exception or Ctrl-C, stop its workers.

    Hold the lock of a local folder: a token found there is of a dead run.
    """
    is_local = isinstance(output, LocalFolder)
    there = read_run_file(output)
    if not is_local or (there is not None and there.is_detached):
        refuse_live(output, value)
    run = Run(output, value)
    run.start()
    if not is_local:
        threading.Thread(target=run.keep_alive, name="heartbeat", daemon=True).start()
    try:
        yield run
    finally:
        with contextlib.suppress(OSError):  # an unreachable output must not hide the original error
            run.end()


def refuse_live(output: Folder, value: str | None = None) -> None:
    """Refuse an output where another run was alive less than STALE_SECONDS ago, or waits to begin.

    The own token, of this value, may be there. What stands before its "-", if it has one, names a pipeline, whose runs
    take over from each other: engines begin a failed job again.
    """
    found = output.stat(PATH)
    described = read_run_file(output)
    if found is None or described is None:
        return
    if value is not None and described.token.partition("-")[0] == value.partition("-")[0]:
        return
    if waiting := waiting_job(output):
        raise MachineError(f"{output.url}: {waiting}")
    # Measure the age by the store's clock, which all hosts share: compare with a file written now.
    probe = f"{PATH}-probe-{secrets.token_hex(8)}"
    with output.atomic_write(probe) as file:
        file.write(b"")
    now = output.stat(probe)
    output.remove(probe)
    seconds = 0.0 if now is None else (now.mtime_ns - found.mtime_ns) / 1e9
    if seconds < STALE_SECONDS:
        who = f"a job that host {described.host} submitted" if described.is_detached else "another shardkit"
        where = "" if described.is_detached else f", on host {described.host}"
        raise MachineError(
            f"{output.url}: {who} is writing into this folder{where}, last heard of "
            f"{seconds:.0f} s ago; wait for it to end. If it was killed, try again {STALE_SECONDS:.0f} s after that"
        )


def waiting_job(output: Folder) -> str | None:
    """Return a sentence about a job without a driver that claims a folder and has not begun; None if there is none."""
    found = read_run_file(output)
    if found is None or not found.is_waiting:
        return None
    return (
        f"a job that host {found.host} submitted will write into this folder and waits for its engine; wait for it. "
        f"If it was cancelled there, remove {output.url}/{PATH}, which claims the folder; without it the job writes "
        "nothing"
    )
