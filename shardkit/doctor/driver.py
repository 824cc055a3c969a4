"""All checks that the driver makes without a job."""

import importlib.util
from collections.abc import Iterator

from shardkit.doctor.addresses import check_addresses
from shardkit.doctor.check import Check
from shardkit.doctor.engine import Engine
from shardkit.doctor.environment import check_environment
from shardkit.doctor.flink import check_flink, check_job_server
from shardkit.doctor.paths import check_paths, check_temp_location


def check_runner(engine: Engine, **places: str) -> Iterator[Check]:
    """Yield the cheap checks: no file is listed, no job is started. Seconds at most, unless an address is dead.

    Args:
        engine: The engine.
        **places: See check_paths.
    """
    if engine.kind == "direct":
        found = "for DirectRunner, Beam downloads Prism without a time limit, or uses a runner in this process"
        yield Check(
            "DirectRunner", "warning", found, "without Beam's options, threads of this process do the same work"
        )
    yield from check_paths(engine, **places)
    dead = False
    for check in check_addresses(engine):
        dead = dead or check.status == "failed"
        yield check
    if not dead:
        yield from check_flink(engine)
    yield from check_job_server(engine)
    if engine.kind == "dataflow" and importlib.util.find_spec("apitools") is None:
        found = "the packages for Google Cloud are not installed"
        yield Check("Dataflow", "failed", found, "pip install 'apache-beam[gcp]'", is_call=True)
    yield from check_environment(engine)
    yield from check_temp_location(engine)
