"""Say why a runner failed: the line of its error that names the cause, what that means, and where the rest is.

The last line of a Java trace is a stack frame, and the first one is what the outermost layer makes of it. The cause is
the last ``Caused by:``, or the last line of a Python traceback that the engine passes on inside it.
"""

import re
from dataclasses import dataclass

from shardkit.doctor.engine import Engine
from shardkit.doctor.flink_job import FlinkJob

_FRAME = re.compile(r"\s*(at [\w.$/<>@-]+\(.*\)|\.\.\. \d+ (more|common frames omitted)|Suppressed: .*)\s*$")
_CAUSED_BY = re.compile(r"^\s*Caused by: (.*)$")
_JAVA_ERROR = re.compile(r"^(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error)\b")
_TRACEBACK = "Traceback (most recent call last):"
# Beam writes the type of a worker's error before the message, and the step after it.
_PYTHON_TYPE = re.compile(r"^[\w.]+: (?=.)")
_JOB = re.compile(r"^Pipeline \S+ failed in state \w+: (?=.)")  # Beam's, before the engine's own words
_STEP = re.compile(r"\s*\[while running .*\]$")
_GRPC = re.compile(r"RpcError of RPC that terminated with:.*?\bdetails = \"(.*?)\"\n", re.DOTALL)
_MAX_CHARACTERS = 500
POOL = "python -m apache_beam.runners.worker.worker_pool_main --service_port=50000"
_BY_ENVIRONMENT = {
    "EXTERNAL": "a host of the engine has no worker pool, or two TaskManagers share one: start a pool on each "
    "host, with the driver's Python first on its PATH, and one TaskManager a host",
    "PROCESS": "the boot program cannot start a worker: the TaskManagers' logs have its output",
    "DOCKER": "the image is still being pulled, cannot be, or has no shardkit: try `docker run IMAGE` on a host of the "
    "engine",
    "LOOPBACK": "the engine cannot connect to this process: it must run on this host",
}

_OFFER = re.compile(r", or (?:run|pass|choose one of|pass one of):$")


def cause_line(text: str) -> str:
    """Return the line of an error's text that names its cause, without the type that Python or Beam puts before it.

    Args:
        text: The text: a Python exception's, a Java trace, or one in the other. It may be empty.
    """
    if detail := _GRPC.search(text):  # grpc's Python errors, over several lines
        text = detail[1].replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
    lines = text.splitlines()
    found = _python_cause(lines) or _java_cause(lines)
    if not found:
        said = [line for line in reversed(lines) if line.strip() and not _FRAME.match(line)]
        # The commands and examples below one of our own sentences are indented.
        found = next((line for line in said if not line.startswith("  ")), "".join(said[:1])).strip()
        found = _OFFER.sub("", found)
        found = _PYTHON_TYPE.sub("", found, count=1)
    found = _JOB.sub("", _STEP.sub("", found), count=1)
    return found if len(found) <= _MAX_CHARACTERS else f"{found[: _MAX_CHARACTERS - 1]}…"


def _python_cause(lines: list[str]) -> str:
    """Return the exception line of the last Python traceback: the first line after its indented ones."""
    starts = [i for i, line in enumerate(lines) if _TRACEBACK in line]
    if not starts:
        return ""
    for line in lines[starts[-1] + 1 :]:
        if line.strip() and not line.startswith((" ", "\t")):
            kind, colon, message = line.strip().partition(": ")
            # A bare KeyError: 'x' or ModuleNotFoundError needs its type; shardkit's own sentences do not.
            own = kind.startswith("shardkit.errors.") or kind in {"RuntimeError", "OSError"}
            return message if colon and own and message else line.strip()
    return ""


def _java_cause(lines: list[str]) -> str:
    causes = [found[1].strip() for line in lines if (found := _CAUSED_BY.match(line))]
    if causes:
        return causes[-1]
    if any(_FRAME.match(line) for line in lines) or sum(bool(_JAVA_ERROR.match(line)) for line in lines) == 1:
        return next((line.strip() for line in lines if _JAVA_ERROR.match(line)), "")
    return ""


def failure_sentence(error: str, log: str, log_path: str | None) -> str:
    """Return the sentence.

    Args:
        error: Text of the runner's error.
        log: The end of what Beam and the engine logged.
        log_path: The file with the whole log; None if there is none.
    """
    cause = cause_line(error) or cause_line(log) or "it gave no reason"
    hint = hint_for(error, log)
    # A full stop: causes and hints have commas and semicolons of their own.
    sentence = f"the runner failed: {cause.rstrip('.')}" + (f". Likely: {hint}" if hint else "")
    return f"{sentence}. The engine's messages are in {log_path}" if log_path else sentence


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
        r"No module named '(shardkit|apache_beam|pyarrow|PIL|numpy|defusedxml|simplejpeg|yaml|pydantic|google_crc32c)",
        "the workers' Python lacks a package: install shardkit[beam] there in the driver's version, or use an image "
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


def likely_causes(engine: Engine, job: FlinkJob | None = None) -> list[str]:
    """Return sentences, the most likely first, for an engine that took a job and whose workers are silent.

    Args:
        engine: The engine.
        job: What Flink says about the job; None if it was not asked.
    """
    if engine.kind == "dataflow":
        return [
            "Dataflow starts its hosts first, which takes minutes: wait, and see the job's page",
            "the hosts cannot pull the image, or have no route to it (a network without external addresses)",
        ]
    if engine.kind == "direct":
        return ["Beam downloads Prism, without a time limit: leave Beam's options out, or name another runner"]
    causes = []
    if engine.kind in {"flink", "portable"}:
        causes.extend(_causes_in_flink(job))
    if engine.environment in _BY_ENVIRONMENT:
        causes.append(_BY_ENVIRONMENT[engine.environment])
    causes.append("the workers' Python or Beam has another minor version than the driver's")
    if engine.kind in {"flink", "portable", "spark"}:
        causes.append("the job server was built for another version of the engine")
    return causes


def _causes_in_flink(job: FlinkJob | None) -> list[str]:
    if job is None:
        return ["no slot is free: other jobs run, or the cluster has no TaskManager"]
    if job.waits == "working":
        return []
    if job.num_slots == 0:
        return ["the cluster has no TaskManager: start one"]
    if job.waits == "unknown":
        return ["the job server still uploads the job and its jars to Flink: wait"]
    return ["too few slots are free: wait until other jobs end, cancel one, or lower --parallelism"]
