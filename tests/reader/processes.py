"""Programs in new processes, forked from one that has imported what they need (`programs/fork_server.py`)."""

import contextlib
import fcntl
import functools
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import DEVNULL, PIPE

HEAD_BYTES = 8
MODULES = ("keras", "tensorflow", "shardkit.reader")
ONE_REQUEST_AT_A_TIME = threading.Lock()


class Process:
    """A Python program in a new process, with the attributes and methods of subprocess.Popen that the tests use.

    Args:
        argv: Path of the program and its arguments.
        environment: The process's environment; PYTHONPATH and LD_PRELOAD are the fork server's.
        cwd: The working directory.
        stdin: Of the process: PIPE, DEVNULL or an open file; stdout and stderr likewise.
        text: Whether pipes carry text.
        modules: What the process has imported already.
    """

    def __init__(
        self, argv, environment, *, cwd=None, stdin=DEVNULL, stdout=None, stderr=None, text=True, modules=MODULES
    ):
        request = {"argv": [str(word) for word in argv], "environment": environment, "cwd": str(cwd or Path.cwd())}
        data = json.dumps(request).encode()
        with contextlib.ExitStack() as ours:
            self.stdin, theirs_in = _ends(stdin, 0, text, ours)
            self.stdout, theirs_out = _ends(stdout, 1, text, ours)
            self.stderr, theirs_err = _ends(stderr, 2, text, ours)
            self._status, status = socket.socketpair()
            ours.callback(status.close)
            descriptors = [theirs_in, theirs_out, theirs_err, status.fileno()]
            with ONE_REQUEST_AT_A_TIME:
                control = _fork_server(environment["PYTHONPATH"], modules, environment.get("LD_PRELOAD", ""))
                socket.send_fds(control, [len(data).to_bytes(HEAD_BYTES, "big")], descriptors)
                control.sendall(data)
        self.args, self.returncode = argv, None
        self.pid = int.from_bytes(self._status.recv(HEAD_BYTES), "big")
        assert self.pid, "the fork server has ended"

    def wait(self, timeout=None):
        """Return the exit code, or the negative number of the signal that ended the process."""
        if self.returncode is None:
            self._status.settimeout(timeout)
            try:
                code = self._status.recv(HEAD_BYTES)
            except TimeoutError:
                raise subprocess.TimeoutExpired(self.args, timeout) from None
            assert code, "the fork server has ended"
            self.returncode = int.from_bytes(code, "big", signed=True)
            self._status.close()
        return self.returncode

    def send_signal(self, number):
        """Send a signal, unless the process has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(timeout=1e-6)
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self):
        """End the process."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout=None):
        """Return what the process writes to standard output and error until it ends; None where there is no pipe."""
        if self.stdin:
            self.stdin.close()
        with ThreadPoolExecutor(2) as pool:
            reads = [pool.submit(pipe.read) if pipe else None for pipe in (self.stdout, self.stderr)]
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
            outputs = tuple(read.result() if read else None for read in reads)
        for pipe in (self.stdout, self.stderr):
            if pipe:
                pipe.close()
        return outputs


def _ends(wanted, number, text, stack):
    """Return our end of a pipe, if one is wanted, and the descriptor that the process gets."""
    if wanted == PIPE:
        read, write = os.pipe()
        own, theirs = (write, read) if number == 0 else (read, write)
        stack.callback(os.close, theirs)
        return os.fdopen(own, ("w" if number == 0 else "r") + ("" if text else "b")), theirs
    if wanted == DEVNULL:
        descriptor = os.open(os.devnull, os.O_RDWR)
        stack.callback(os.close, descriptor)
        return None, descriptor
    return None, number if wanted is None else wanted.fileno()


@functools.cache
def _fork_server(python_path, modules, preload):
    """A connection to the fork server, which the first process of a run of the tests starts; it ends with the last."""
    program = Path(__file__).parent / "programs" / "fork_server.py"
    variables = os.environ | {"PYTHONPATH": python_path, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    variables |= {"LD_PRELOAD": preload} if preload else {}
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    name = hashlib.sha256(repr((run, python_path, modules, preload)).encode()).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"fork-server-{name}"  # a socket's path has at most 107 characters
    control = socket.socket(socket.AF_UNIX)
    with open(f"{path.parent}/fork-server-{os.getuid()}.lock", "w") as lock, socket.socket(socket.AF_UNIX) as listener:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            control.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            path.unlink(missing_ok=True)
            listener.bind(str(path))
            listener.listen()
            words = [sys.executable, str(program), str(listener.fileno()), *modules]
            subprocess.Popen(words, env=variables, stdin=DEVNULL, pass_fds=[listener.fileno()])
            control.connect(str(path))
    return control
