"""Spark's standalone cluster with two workers, and a job server; Beam's workers are processes of the executors."""

import json
import os
import signal
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

from .processes import Processes, below, command, free_ports

VARIABLE = "SHARDKIT_SPARK_JOB_SERVER_JAR"
HOME = "SPARK_HOME"
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
PORTS = ("master", "page", "job", "artifact", "expansion")
# An executor's folder has the job server's jars, hundreds of megabytes; the folders of ended applications are removed.
CLEANUP = [f"-Dspark.worker.cleanup.{name}" for name in ("enabled=true", "interval=20", "appDataTtl=20")]
LOCAL = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_SCALA_VERSION": "2.12"}


@dataclass
class SparkCluster(Processes):
    """Two of Spark's workers with a core each."""

    ports: dict[str, int] = field(default_factory=lambda: free_ports(*PORTS))

    needs = (VARIABLE, HOME)
    over = frozenset({"FINISHED", "KILLED", "FAILED"})

    def begin(self):
        """Start everything, and wait until all workers are there and the job server answers."""
        spark, package, host = f"{os.environ[HOME]}/jars/*", "org.apache.spark.deploy", ["--host", "localhost"]
        ports = ["--port", self.ports["master"], "--webui-port", self.ports["page"]]
        self.java("master", spark, f"{package}.master.Master", *host, *ports, **LOCAL)
        for name in ("worker1", "worker2"):
            size = ["--cores", "1", "--memory", "1500m", "--work-dir", self.folder / f"{name}-work"]
            main = f"{package}.worker.Worker"
            self.java(name, spark, main, *host, "--webui-port", 0, *size, self.master, options=CLEANUP, **LOCAL)
        self.java(
            "jobserver",
            f"{os.environ[VARIABLE]}:{spark}",
            "org.apache.beam.runners.spark.SparkJobServerDriver",
            *(f"--spark-master-url={self.master}", "--job-host=localhost"),
            f"--artifacts-dir={self.folder / 'artifacts'}",
            *(f"--{name}-port={self.ports[name]}" for name in ("job", "artifact", "expansion")),
            **LOCAL,
        )
        self.wait(lambda: self._ask()["aliveworkers"] == 2)
        self.wait_for_port(self.ports["job"])

    def kill_host(self):
        """Kill an executor; Spark's worker starts another one."""
        executors = (pid for pid in below(self.started["worker1"].pid) if EXECUTOR in command(pid))
        os.kill(next(executors), signal.SIGKILL)

    @property
    def master(self):
        """The address of Spark's master."""
        return f"spark://localhost:{self.ports['master']}"

    @property
    def options(self):
        """Options for a conversion on this cluster."""
        environment = json.dumps({"command": str(self.worker_program())})
        endpoint = f"--job_endpoint=localhost:{self.ports['job']}"
        return [
            "--runner=PortableRunner",
            endpoint,
            "--environment_type=PROCESS",
            f"--environment_config={environment}",
        ]

    @property
    def version(self):
        """Spark's version."""
        return next(Path(os.environ[HOME], "jars").glob("spark-core_*.jar")).stem.rpartition("-")[2]

    def jobs(self):
        """The state of each application by its id."""
        answer = self._ask()
        return {app["id"]: app["state"] for app in [*answer["activeapps"], *answer["completedapps"]]}

    def failures(self):
        """The number of tasks that Spark has lost."""
        return (self.folder / "jobserver.log").read_text().count("Lost task")

    def _ask(self):
        with urllib.request.urlopen(f"http://localhost:{self.ports['page']}/json/", timeout=10) as answer:
            return json.loads(answer.read())
