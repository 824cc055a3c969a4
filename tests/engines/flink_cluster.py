"""A Flink cluster, a job server and a worker pool as processes of this host, from one Java class path."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

from ..cli.calling import environment

START_SECONDS = 120
MEMORY = {
    "cpu.cores": "1.0",
    "memory.task.heap.size": "256m",
    "memory.task.off-heap.size": "0b",
    "memory.framework.heap.size": "128m",
    "memory.framework.off-heap.size": "128m",
    "memory.jvm-metaspace.size": "256m",
    "memory.jvm-overhead.min": "192m",
    "memory.jvm-overhead.max": "192m",
    "memory.network.min": "256m",  # two jobs of two slots at the same time, one of them interrupted
    "memory.network.max": "256m",
    "memory.managed.size": "256m",
}
# Flink's own scripts open these packages; java starts here without them.
OPENED = (
    "lang",
    "lang.reflect",
    "net",
    "io",
    "nio",
    "text",
    "time",
    "util",
    "util.concurrent",
    "util.concurrent.atomic",
)


@dataclass
class Cluster:
    """Flink with one TaskManager of two slots; the worker pool's working directory is `worker`."""

    folder: Path
    class_path: str
    processes: list[subprocess.Popen] = field(default_factory=list)
    ports: dict[str, int] = field(default_factory=dict)

    def start(self):
        """Start everything, and wait until there are two slots and the job server answers."""
        names = ("rest", "rpc", "blob", "jobs", "artifacts", "expansion", "pool")
        self.ports = free_ports(names)
        (self.folder / "conf").mkdir()
        (self.folder / "worker").mkdir()
        settings = {
            "jobmanager.rpc.address": "localhost",
            "jobmanager.rpc.port": self.ports["rpc"],
            "blob.server.port": self.ports["blob"],
            "rest.address": "localhost",
            "rest.port": self.ports["rest"],
            "io.tmp.dirs": self.folder / "tmp",
            "taskmanager.host": "localhost",
            "taskmanager.resource-id": "tm",  # else its memory is asked from Flink's scripts
            "taskmanager.numberOfTaskSlots": 2,
            **{f"taskmanager.{name}": value for name, value in MEMORY.items()},
        }
        text = "".join(f"{name}: {value}\n" for name, value in settings.items())
        (self.folder / "conf" / "flink-conf.yaml").write_text(text)
        runtime, conf = "org.apache.flink.runtime", ["--configDir", self.folder / "conf"]
        self.java("jobmanager", f"{runtime}.entrypoint.StandaloneSessionClusterEntrypoint", *conf)
        self.java("taskmanager", f"{runtime}.taskexecutor.TaskManagerRunner", *conf)
        self.java(
            "jobserver",
            "org.apache.beam.runners.flink.FlinkJobServerDriver",
            f"--flink-master={self.rest}",
            "--job-host=localhost",
            *(f"--{name}-port={self.ports[of]}" for name, of in SERVER_PORTS),
            f"--artifacts-dir={self.folder / 'artifacts'}",
        )
        pool = [sys.executable, "-m", "apache_beam.runners.worker.worker_pool_main"]
        # The pool starts plain `python` for each worker.
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.process("pool", [*pool, f"--service_port={self.ports['pool']}"], self.folder / "worker", PATH=path)
        self.wait(lambda: self.ask("/overview")["slots-available"] == 2)
        for name in ("jobs", "pool"):
            self.wait(lambda port=self.ports[name]: socket.create_connection(("localhost", port), 1).close() is None)

    def end(self):
        """End every process that was started."""
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()

    def java(self, name, main, *arguments):
        opened = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in OPENED]
        opened += ["--add-opens=java.base/sun.nio.ch=ALL-UNNAMED", "--add-exports=java.base/sun.net.util=ALL-UNNAMED"]
        memory = ["-Xmx600m", "-XX:MaxDirectMemorySize=700m"]
        self.process(name, ["java", *memory, *opened, "-cp", self.class_path, main, *map(str, arguments)], self.folder)

    def process(self, name, command, folder, **changed):
        with open(self.folder / f"{name}.log", "w") as log:
            env = environment(**changed)
            started = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env=env, start_new_session=True)
        self.processes.append(started)

    def wait(self, is_ready):
        deadline = time.monotonic() + START_SECONDS
        while True:
            with contextlib.suppress(OSError, KeyError):
                if is_ready():
                    return
            ended = [process.args[-1] for process in self.processes if process.poll() is not None]
            assert not ended, f"ended: {ended}; see {self.folder}/*.log"
            assert time.monotonic() < deadline, f"see {self.folder}/*.log"
            time.sleep(0.2)

    @property
    def rest(self):
        """The address of Flink's REST interface."""
        return f"localhost:{self.ports['rest']}"

    @property
    def options(self):
        """Options for a conversion on this cluster."""
        return [
            *("--runner=PortableRunner", f"--job_endpoint=localhost:{self.ports['jobs']}", "--parallelism=2"),
            *("--environment_type=EXTERNAL", f"--environment_config=localhost:{self.ports['pool']}"),
            f"--flink_master={self.rest}",
        ]

    def ask(self, path):
        """The answer of Flink's REST interface."""
        with urllib.request.urlopen(f"http://{self.rest}{path}", timeout=10) as answer:
            return json.loads(answer.read())

    def jobs(self):
        """The state of each job by its id."""
        return {job["jid"]: job["state"] for job in self.ask("/jobs/overview")["jobs"]}


SERVER_PORTS = (("job", "jobs"), ("artifact", "artifacts"), ("expansion", "expansion"))


def free_ports(names):
    """A free port for each name."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in names]
        for one in sockets:
            one.bind(("localhost", 0))
        return {name: one.getsockname()[1] for name, one in zip(names, sockets, strict=True)}
