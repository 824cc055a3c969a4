"""What the errors of engines mean, and what to do: one sentence for each that users meet."""

import re
from dataclasses import dataclass

POOL = "python -m apache_beam.runners.worker.worker_pool_main --service_port=50000"


@dataclass(frozen=True, slots=True)
class Hint:
    """The meaning of an error.

    Attributes:
        name: A short name, for tests and for reading this table.
        pattern: Regular expression that is searched in an engine's error or log.
        sentence: The likely cause and the remedy.
    """

    name: str
    pattern: re.Pattern[str]
    sentence: str


def _hint(name: str, pattern: str, sentence: str) -> Hint:
    return Hint(name, re.compile(pattern, re.DOTALL), sentence)


# In this order: the first that matches is shown, so errors that follow from others come later.
HINTS = (
    _hint(
        "flink-version",
        r"AbstractMethodError|NoSuchMethodError|IncompatibleClassChangeError"
        r"|(NoClassDefFoundError|ClassNotFoundException): (Could not initialize class )?org[./]apache[./]flink"
        r"|InvalidClassException: org\.apache\.(flink|spark)",
        "the job server was built for another version of Flink or Spark than the cluster's: use the one for the "
        "cluster's version (Flink: --flink_version, which is Beam's newest by default)",
    ),
    _hint(
        "docker",
        r"(Received exit code 12[567] for command|exited? (with )?(status|code) 12[567]\b).{0,40}docker"
        r"|docker\W.{0,800}(exit status|exit code) 12[567]\b|Cannot run program \"docker\""
        r"|No such file or directory: '?docker|[Cc]annot connect to the Docker daemon",
        "without --environment_type workers start in Docker, and Docker failed: use --environment_type=LOOPBACK on one "
        "host, EXTERNAL with worker pools, or PROCESS; or name an image that the engine's hosts can pull",
    ),
    _hint(
        "jar-404",
        r"job server jar at .{0,400}(HTTP Error 404|HTTP Error 403)",
        "there is no job server of this version in Maven Central: choose another --flink_version, or give a jar by "
        "--flink_job_server_jar (--spark_job_server_jar)",
    ),
    _hint(
        "jar-network",
        r"Unable to fetch remote job server jar",
        "the job server's jar cannot be downloaded from here: copy it to this host, and name it by "
        "--flink_job_server_jar (--spark_job_server_jar)",
    ),
    _hint(
        "no-java",
        r"No such file or directory: '?[^'\n]*\bjava\b",
        "the job server needs Java: install it, or name it by --job_server_java_launcher",
    ),
    _hint(
        "no-package",
        r"No module named '(shardkit|apache_beam|pyarrow|PIL|numpy|defusedxml|yaml|pydantic|google_crc32c)",
        "the workers' Python lacks a package: install shardkit[convert] there in the driver's version, or use an image "
        "that has it (pipelines/image/Dockerfile)",
    ),
    _hint(
        "boot",
        r"Process died with exit code",
        "Beam's boot program or the worker ended at once: set RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT=1 and put the "
        "workers' Python first on the PATH of the TaskManagers; their logs have the reason",
    ),
    _hint(
        "versions",
        r"Waited \d+ (minutes|seconds|milliseconds).{0,200}SettableFuture|[Tt]imed out.{0,60}(SDK harness|worker)"
        r"|unknown opcode|bad marshal data|unsupported pickle protocol|SystemError: unknown opcode"
        r"|XXX lineno: \d+, opcode",
        "a worker started and never answered: its Python or Beam has another minor version than the driver's, or it "
        "cannot reach the engine",
    ),
    _hint(
        "slots",
        r"NoResourceAvailableException|Could not acquire the minimum required resources"
        r"|Slot request bulk is not fulfillable",
        "the cluster has too few free slots: start TaskManagers, cancel other jobs, or lower --parallelism",
    ),
    _hint(
        "died",
        r"[Cc]lient cancelled|CANCELLED: call already cancelled|Multiplexer hanging up"
        r"|call already (closed|half-closed)|Stream removed|Socket closed",
        "a worker died (memory, kill, a crash; see the log of its host), or two TaskManagers share one worker pool: "
        "run one TaskManager a host, or PROCESS",
    ),
    _hint(
        "memory",
        r"java\.lang\.OutOfMemoryError|Java heap space|OOMKilled|exit code 137\b",
        "the engine or a worker ran out of memory: give its process more, or run fewer slots on a host",
    ),
    _hint(
        "refused",
        r"[Cc]onnection refused|failed to connect to all addresses|UNAVAILABLE: io exception",
        "nothing answers at an address that the engine needs: Flink or Spark is down, or with "
        f"--environment_type=EXTERNAL no worker pool runs on a host ({POOL})",
    ),
    _hint(
        "unknown-host",
        r"UnknownHostException|Name or service not known|nodename nor servname|DNS resolution failed",
        "a host name is unknown: correct the address, or use one that the driver and all workers know",
    ),
)


def hint_for(*texts: str) -> str:
    """Return the sentence for the first of HINTS that an engine's texts match; empty if none does.

    Args:
        *texts: Texts in the order of their weight: the error, then its log. All hints are tried on one text before the
            next.
    """
    for text in texts:
        for hint in HINTS:
            if hint.pattern.search(text):
                return hint.sentence
    return ""
