"""Processes of an engine on this host: Java programs, worker pools, and the kills that a cluster must survive."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from ..cli.calling import environment

START_SECONDS = 120
# Flink's and Spark's own scripts open these packages; java is started here without the scripts.
OPENED = (
    *(f"lang{part}" for part in ("", ".invoke", ".reflect")),
    *("net", "io", "nio", "text", "time"),
    *(f"util{part}" for part in ("", ".concurrent", ".concurrent.atomic")),
)
OPTIONS = [
    *(f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in OPENED),
    *(f"--add-opens=java.base/sun.{package}=ALL-UNNAMED" for package in ("nio.ch", "nio.cs", "util.calendar")),
    *("--add-opens=java.base/sun.security.action=ALL-UNNAMED", "--add-exports=java.base/sun.net.util=ALL-UNNAMED"),
]
# Beam's worker pool listens on all interfaces, and two can share a port. This one listens on its first argument.
POOL = """
import sys
from grpc import _server
from apache_beam.runners.worker import worker_pool_main
listen, address = _server._Server.add_insecure_port, sys.argv.pop(1)
_server._Server.add_insecure_port = lambda server, given: listen(server, given.replace("[::]", address))
worker_pool_main.main()
"""
# What Beam's boot program does where all packages are installed: it asks for the control endpoint, and is the worker.
WORKER = """#!{python}
import argparse, os, grpc
from apache_beam.portability.api import beam_provision_api_pb2 as messages, beam_provision_api_pb2_grpc as services
from apache_beam.runners.worker.sdk_worker import SdkHarness
log = os.open(__file__ + ".log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.dup2(log, 1), os.dup2(log, 2)
parser = argparse.ArgumentParser()
parser.add_argument("--id")
parser.add_argument("--provision_endpoint")
known, _ = parser.parse_known_args()
service = services.ProvisionServiceStub(grpc.insecure_channel(known.provision_endpoint))
answer = service.GetProvisionInfo(messages.GetProvisionInfoRequest(), metadata=[("worker_id", known.id)])
SdkHarness(answer.info.control_endpoint.url, worker_id=known.id).run()
"""


@dataclass
class Processes:
    """Processes by name; each has `folder/NAME.log`, and `folder/NAME` as its working directory."""

    folder: Path
    started: dict[str, subprocess.Popen] = field(default_factory=dict)

    def start(self, name, command, **changed):
        """Start a process, with changes to its environment."""
        (self.folder / name).mkdir(exist_ok=True)
        # A worker pool starts plain `python` for each worker.
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        # Beam's boot program would make an environment of its own.
        env = environment(PATH=path, RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT="1", **changed)
        with open(self.folder / f"{name}.log", "a") as log:
            given = {"stdout": log, "stderr": log, "cwd": self.folder / name, "env": env}
            self.started[name] = subprocess.Popen([*map(str, command)], start_new_session=True, **given)

    def java(self, name, class_path, main, *arguments, options=(), **changed):
        """Start a Java program."""
        size = ["-Xmx600m", "-XX:MaxDirectMemorySize=700m", "-XX:TieredStopAtLevel=1"]  # the last one: a faster start
        self.start(name, ["java", *size, *OPTIONS, *options, "-cp", class_path, main, *arguments], **changed)

    def pool(self, name, address, port):
        """Start Beam's worker pool on one address of this host."""
        self.start(name, [sys.executable, "-c", POOL, address, f"--service_port={port}"])

    def worker_program(self):
        """The path of a program that starts a worker for the environment PROCESS."""
        path = self.folder / "worker.py"
        path.write_text(WORKER.format(python=sys.executable))
        path.chmod(0o700)
        return path

    def kill(self, name):
        """Kill a process as `kill -9` does."""
        process = self.started.pop(name)
        process.kill()
        process.wait()

    def kill_worker(self):
        """Kill the newest of Beam's worker processes as `kill -9` does: those of earlier jobs may still be there."""
        os.kill(max((pid for pid in below(os.getpid()) if is_worker(pid)), key=start_time), signal.SIGKILL)

    def kill_busy_worker(self):
        """Kill a worker that is in the middle of a bundle as `kill -9` does; the seconds of CPU that it had used.

        Beam's Java waits for ever for a worker that dies before it has called back, so one that starts is left alone: a
        worker has connections for its log, for control and, from its first bundle on, for data.
        """
        killed = []

        def kill():
            before = {pid: cpu_seconds(pid) for pid in below(os.getpid()) if is_worker(pid) and connections(pid) >= 3}
            time.sleep(0.2)
            busy = [pid for pid, seconds in before.items() if cpu_seconds(pid) > seconds + 0.01]
            if busy:
                killed.append(cpu_seconds(victim := random.choice(busy)))  # noqa: S311 - no secret
                os.kill(victim, signal.SIGKILL)
            return killed

        self.wait(kill)
        return killed[0]

    def end(self):
        """End every process that was started."""
        workers = [pid for pid in below(os.getpid()) if is_worker(pid)]
        for process in reversed(self.started.values()):
            process.terminate()
        for process in self.started.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()
        for pid in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def wait(self, is_ready, seconds=START_SECONDS):
        """Wait until a function returns true."""
        deadline = time.monotonic() + seconds
        while True:
            with contextlib.suppress(OSError, KeyError):
                if is_ready():
                    return
            ended = [name for name, process in self.started.items() if process.poll() is not None]
            assert not ended, f"ended: {ended}; see {self.folder}/*.log"
            assert time.monotonic() < deadline, f"see {self.folder}/*.log"
            time.sleep(0.2)

    def wait_for_port(self, port, address="localhost"):
        """Wait until something listens."""
        self.wait(lambda: socket.create_connection((address, port), 1).close() is None)


def free_ports(*names):
    """A free port for each name."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in names]
        for one in sockets:
            one.bind(("localhost", 0))
        return {name: one.getsockname()[1] for name, one in zip(names, sockets, strict=True)}


def below(pid):
    """The ids of all processes that a process has started, directly or not."""
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # it has ended in between
            for child in map(int, task.read_text().split()):
                yield child
                yield from below(child)


def command(pid):
    """The words of a process's command line; empty if it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    return []


def start_time(pid):
    """When a process has started, in ticks; 0 if it has ended. See proc_pid_stat(5)."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    return 0


def cpu_seconds(pid):
    """The CPU that a process has used; 0 if it has ended. See proc_pid_stat(5)."""
    with contextlib.suppress(OSError):
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
    return 0


def connections(pid):
    """The number of TCP connections of a process. See proc_pid_net(5)."""
    with contextlib.suppress(OSError):
        sockets = {os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir()}
        texts = [Path(f"/proc/{pid}/net/{name}").read_text() for name in ("tcp", "tcp6")]
        rows = [line.split() for text in texts for line in text.splitlines()]
        return sum(row[3] == "01" and f"socket:[{row[9]}]" in sockets for row in rows)  # 01: established
    return 0


def is_worker(pid):
    """Whether a process is one of Beam's workers."""
    return any("SdkHarness" in word or word.endswith("/worker.py") for word in command(pid))
