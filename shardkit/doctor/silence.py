"""Likely causes when no worker answers."""

from shardkit.doctor.engine import Engine

_BY_ENVIRONMENT = {
    "EXTERNAL": "a host of the engine has no worker pool, or two TaskManagers share one: start a pool on each "
    "host, with the driver's Python first on its PATH, and one TaskManager a host",
    "PROCESS": "the boot program cannot start a worker: the TaskManagers' logs have its output",
    "DOCKER": "the image is still being pulled, cannot be, or has no shardkit: try `docker run IMAGE` on a host of the "
    "engine",
    "LOOPBACK": "the engine cannot connect to this process: it must run on this host",
}


def likely_causes(engine: Engine) -> list[str]:
    """Return sentences, the most likely first, for an engine that took a job and whose workers are silent."""
    if engine.kind == "dataflow":
        return [
            "Dataflow starts its hosts first, which takes minutes: wait, and see the job's page",
            "the hosts cannot pull the image, or have no route to it (a network without external addresses)",
        ]
    if engine.kind == "direct":
        return ["Beam downloads Prism, without a time limit: leave Beam's options out, or name another runner"]
    causes = []
    if engine.kind in {"flink", "portable"}:
        causes.append("no slot is free: other jobs run, or the cluster has no TaskManager")
    if engine.environment in _BY_ENVIRONMENT:
        causes.append(_BY_ENVIRONMENT[engine.environment])
    causes.append("the workers' Python or Beam has another minor version than the driver's")
    if engine.kind in {"flink", "portable", "spark"}:
        causes.append("the job server was built for another version of the engine")
    return causes
