"""Flink with two TaskManagers, a worker pool for each, and a job server, from one Java class path."""

import json
import os
import platform
import secrets
import urllib.request
from dataclasses import dataclass, field

from .processes import Processes, free_ports

VARIABLE = "SHARDKIT_FLINK_JOB_SERVER_JAR"
HOSTS = ("1", "2")  # of the names and the last numbers of addresses
RUNTIME = "org.apache.flink.runtime"
SETTINGS = {
    "jobmanager.rpc.address": "localhost",
    "rest.address": "localhost",
    "taskmanager.host": "localhost",
    "taskmanager.numberOfTaskSlots": 1,
    "blob.service.cleanup.interval": 60,  # seconds; a TaskManager keeps the jars of each job, 155 MB
    "cluster.evenly-spread-out-slots": "true",
    "heartbeat.interval": 2000,  # milliseconds
    "heartbeat.timeout": 10000,
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": 10,
    "restart-strategy.fixed-delay.delay": "2 s",
    "taskmanager.cpu.cores": "1.0",
    # Without these, a TaskManager expects the numbers from Flink's scripts.
    "taskmanager.memory.task.heap.size": "256m",
    "taskmanager.memory.task.off-heap.size": "0b",
    "taskmanager.memory.framework.heap.size": "128m",
    "taskmanager.memory.framework.off-heap.size": "128m",
    "taskmanager.memory.jvm-metaspace.size": "256m",
    "taskmanager.memory.jvm-overhead.min": "192m",
    "taskmanager.memory.jvm-overhead.max": "192m",
    "taskmanager.memory.network.min": "256m",  # two jobs at the same time, one of them interrupted
    "taskmanager.memory.network.max": "256m",
    "taskmanager.memory.managed.size": "256m",
}


@dataclass
class FlinkCluster(Processes):
    """Two TaskManagers of one slot; the host `pool` is for each of them its own worker pool, as on two hosts."""

    class_path: str = field(default_factory=lambda: os.environ[VARIABLE])
    ports: dict[str, int] = field(default_factory=lambda: free_ports(*PORTS))

    needs = (VARIABLE,)
    over = frozenset({"CANCELED", "FINISHED"})

    def begin(self):
        """Start everything, and wait until all slots are there and the job server answers."""
        ports = {f"{name}.port": self.ports[name] for name in ("jobmanager.rpc", "blob.server", "rest")}
        settings = SETTINGS | ports | {"io.tmp.dirs": self.folder / "tmp"}
        text = "".join(f"{name}: {value}\n" for name, value in settings.items())
        (self.folder / "flink-conf.yaml").write_text(text)
        self._flink("jobmanager", f"{RUNTIME}.entrypoint.StandaloneSessionClusterEntrypoint")
        for host in HOSTS:
            (self.folder / f"hosts{host}").write_text(
                f"127.0.0.1 localhost\n127.0.0.1 {platform.node()}\n127.0.0.{host} pool\n"
            )
            self.pool(f"pool{host}", f"127.0.0.{host}", self.ports["pool"])
            self.start_host(host)
        self.java(
            "jobserver",
            self.class_path,
            "org.apache.beam.runners.flink.FlinkJobServerDriver",
            *(f"--flink-master={self.rest}", "--job-host=localhost", f"--artifacts-dir={self.folder / 'artifacts'}"),
            *(f"--{name}-port={self.ports[name]}" for name in ("job", "artifact", "expansion")),
        )
        self.wait(lambda: self.ask("/overview")["slots-available"] == len(HOSTS))
        self.wait_for_port(self.ports["job"])
        for host in HOSTS:
            self.wait_for_port(self.ports["pool"], f"127.0.0.{host}")

    def start_host(self, host):
        """Start a TaskManager."""
        name, main = f"taskmanager{host}", f"{RUNTIME}.taskexecutor.TaskManagerRunner"
        # With the id of a dead one it would first read all of that one's jars again, which took minutes here.
        identity = f"-Dtaskmanager.resource-id={name}-{secrets.token_hex(4)}"
        self._flink(name, main, identity, java=[f"-Djdk.net.hosts.file={self.folder / f'hosts{host}'}"])

    def kill_host(self):
        """Kill a TaskManager; another one takes its place, as a supervisor would start it."""
        self.kill("taskmanager1")
        self.start_host("1")

    def _flink(self, name, main, *arguments, java=()):
        self.java(name, self.class_path, main, "--configDir", self.folder, *arguments, options=java)

    @property
    def rest(self):
        """The address of Flink's REST interface."""
        return f"localhost:{self.ports['rest']}"

    @property
    def runner(self):
        """Options for a conversion on this cluster, less those of the environment."""
        endpoint = f"--job_endpoint=localhost:{self.ports['job']}"
        return ["--runner=PortableRunner", endpoint, f"--flink_master={self.rest}", "--parallelism=2"]

    @property
    def options(self):
        """Options for a conversion on this cluster, by worker pools."""
        pool = f"--environment_config=pool:{self.ports['pool']}"
        return [*self.runner, "--environment_type=EXTERNAL", pool]

    @property
    def version(self):
        """Flink's version."""
        return self.ask("/config")["flink-version"]

    def ask(self, path):
        """The answer of Flink's REST interface."""
        with urllib.request.urlopen(f"http://{self.rest}{path}", timeout=10) as answer:
            return json.loads(answer.read())

    def jobs(self):
        """The state of each job by its id."""
        return {job["jid"]: job["state"] for job in self.ask("/jobs/overview")["jobs"]}

    def failures(self):
        """The number of failures after which jobs were restarted, or failed."""
        return sum(len(self.ask(f"/jobs/{job}/exceptions")["exceptionHistory"]["entries"]) for job in self.jobs())

    def taken(self, step):
        """The number of elements that each task of a step of the last job has taken; fused ones: ``{Step, Next}``."""
        job = max(self.ask("/jobs/overview")["jobs"], key=lambda job: job["start-time"])["jid"]
        names = {vertex["name"]: vertex["id"] for vertex in self.ask(f"/jobs/{job}")["vertices"]}
        (found,) = (id_ for name, id_ in names.items() if step in name.partition("]")[2].partition(")")[0])
        tasks = self.ask(f"/jobs/{job}/vertices/{found}")["subtasks"]
        return [task["metrics"]["read-records"] for task in tasks]


PORTS = ("jobmanager.rpc", "blob.server", "rest", "job", "artifact", "expansion", "pool")
