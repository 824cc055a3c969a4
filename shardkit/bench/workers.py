"""Processes that run one stage each, a slice at a time.

All but one are stopped by SIGSTOP: an input function that waits keeps reading ahead, and would take the cores of the
one that is measured. A stopped process goes on exactly where it was, so its slices are parts of one run.
"""

import contextlib
import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any, TypeVar

from shardkit.bench.measurements import Measurement, Slice
from shardkit.bench.stages import StageSpec
from shardkit.errors import CallError, DataError, MachineError, ShardkitError
from shardkit.host import busy_seconds

Name = TypeVar("Name")

# The processes find modules where this one does, and not in the working directory.
_PROGRAM = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from shardkit.reader import bench; bench.main()"
_ENVIRONMENT = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "CUDA_VISIBLE_DEVICES": "-1",  # no memory of a GPU is taken: input runs on the CPU
    # No threads before the processes are forked; neither does work that is measured.
    "OPENBLAS_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
_ERRORS: Mapping[int, type[ShardkitError]] = {error.exit_code: error for error in (DataError, CallError, MachineError)}
_LAST_LINES = 5  # of standard error, in the message about a process that ended


class Worker:
    """One process; from `wait_until_ready` on it is stopped but while a slice is measured."""

    def __init__(self, spec: StageSpec, connection: socket.socket, errors: IO[bytes]) -> None:
        self.spec = spec
        self._connection, self._errors = connection, errors
        self._answers = connection.makefile("rb")
        self._pid: int | None = None
        self._seconds_copied: float | None = None

    def start(self) -> None:
        """Make the input function; it takes some seconds until it is ready."""
        self._pid = self._answer()["pid"]
        self._ask({"start": True})

    def wait_until_ready(self) -> None:
        """Wait until the stage is warm, and stop the process.

        Raises:
            ShardkitError: The worker's own error.
            MachineError: The process ended.
        """
        self._seconds_copied = self._answer()["seconds_copied"]
        self._signal(signal.SIGSTOP)

    def copy_rate(self, num_bytes: int) -> float | None:
        """Return the bytes a second at which this process, or one that it waited for, copied shards; None for none.

        Args:
            num_bytes: Size of the shards.
        """
        return None if self._seconds_copied is None else num_bytes / self._seconds_copied

    def slice(self, seconds: float, max_images: int | None = None) -> Slice:
        """Run for some time, at least a batch.

        Args:
            seconds: Shortest duration.
            max_images: Largest number of images, if it is at least a batch; None for any.
        """
        busy, start = busy_seconds(), time.perf_counter()
        self._signal(signal.SIGCONT)
        self._ask({"seconds": seconds, "max_images": max_images})
        answer = self._answer()
        self._signal(signal.SIGSTOP)
        busy_after, elapsed = busy_seconds(), time.perf_counter() - start
        others = None
        if busy is not None and busy_after is not None:
            others = max(0.0, (busy_after - busy - answer["cpu_seconds"]) / elapsed)
        return Slice(answer["images"], answer["seconds"], answer["cpu_seconds"], others)

    def end(self) -> None:
        """End the process, at once."""
        if self._pid is not None:  # its number is not given to another: it is waited for when all of them end
            self._signal(signal.SIGKILL)  # ends stopped processes too
        self._connection.close()

    def _signal(self, number: int) -> None:
        assert self._pid is not None, "start() was called"  # noqa: S101 - for type checkers
        with contextlib.suppress(ProcessLookupError):  # it ended: the missing answer tells
            os.kill(self._pid, number)

    def _ask(self, request: dict[str, Any]) -> None:
        with contextlib.suppress(BrokenPipeError):  # it ended: the missing answer tells
            self._connection.sendall(json.dumps(request).encode() + b"\n")

    def _answer(self) -> dict[str, Any]:
        try:
            line = self._answers.readline()
        except ConnectionError:
            line = b""
        if not line:
            self._errors.seek(0)
            last = self._errors.read().decode(errors="replace").strip().splitlines()[-_LAST_LINES:]
            msg = f"a measuring process ({self.spec.stage}) ended: {' '.join(last) or 'it printed nothing'}"
            raise MachineError(msg)
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise _ERRORS.get(answer["exit_code"], MachineError)(answer["error"])
        return answer


@contextlib.contextmanager
def processes(specs: Mapping[Name, StageSpec]) -> Iterator[dict[Name, Worker]]:
    """Fork a process for each measurement, which waits for its `start`; end all of them when the block ends."""
    pairs = {name: socket.socketpair() for name in specs}
    given = [(pairs[name][1].fileno(), dataclasses.asdict(spec)) for name, spec in specs.items()]
    with tempfile.TemporaryFile() as errors, contextlib.ExitStack() as stack:
        server = subprocess.Popen(  # noqa: S603 - this program
            [sys.executable, "-c", _PROGRAM, json.dumps(sys.path), str(os.getpid()), json.dumps(given)],
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
            env=os.environ | _ENVIRONMENT,
            pass_fds=[descriptor for descriptor, _ in given],
        )
        stack.callback(server.wait)
        stack.callback(server.kill)
        for _, theirs in pairs.values():
            theirs.close()
        found = {name: Worker(spec, pairs[name][0], errors) for name, spec in specs.items()}
        for worker in found.values():
            stack.callback(worker.end)
        yield found


@contextlib.contextmanager
def running(group: Mapping[str, Worker]) -> Iterator[Mapping[str, Worker]]:
    """Start the processes of a group and wait until all are warm; end them when the block ends."""
    try:
        for worker in group.values():
            worker.start()
        for worker in group.values():
            worker.wait_until_ready()
        yield group
    finally:
        for worker in group.values():
            worker.end()


def measure_in_turn(
    measured: Mapping[str, Worker],
    *,
    rounds: int,
    min_rounds: int,
    seconds: float,
    before_slice: Callable[[], int | None] = lambda: None,
    show: Callable[[float], None] = lambda _: None,
) -> dict[str, Measurement]:
    """Give each worker a slice, in the order A B C A B C.

    Args:
        measured: The workers by name.
        rounds: Number of rounds.
        min_rounds: Number of rounds even if they take longer than `seconds`, because a batch does.
        seconds: Time for all slices together.
        before_slice: Function that is called before each slice; it returns the maximum number of its images, or None.
        show: Receives the share that is done.
    """
    slices: dict[str, list[Slice]] = {name: [] for name in measured}
    length, start = seconds / rounds / max(1, len(measured)), time.perf_counter()
    for number in range(rounds):
        if number >= min_rounds and time.perf_counter() - start > seconds:
            break
        for name, worker in measured.items():
            max_images = before_slice()
            slices[name].append(worker.slice(length, max_images))
        show((number + 1) / rounds)
    return {name: Measurement(tuple(found)) for name, found in slices.items()}
