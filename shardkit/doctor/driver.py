"""All checks that the driver makes without a job: paths, addresses, the job server, the workers' environment.

An address on this host may be a tunnel to the engine's: what is missing here may be there, so it is a warning only. The
doctor's job finds out.
"""

import contextlib
import importlib.util
import json
import os
import shutil
from collections.abc import Iterator

from shardkit.doctor.addresses import check_addresses, check_paths, check_temp_location, is_distant, is_here, reach
from shardkit.doctor.check import Check
from shardkit.doctor.engine import Engine, parse_address
from shardkit.doctor.flink import check_flink, check_job_server

_NAME = "environment"


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


def check_environment(engine: Engine) -> Iterator[Check]:
    """Yield checks of the environment; nothing for runners that shardkit does not know, and those without one."""
    kind = engine.environment
    if engine.kind in {"direct", "other"}:
        return
    if engine.kind == "dataflow":
        yield _check_image(engine)
    elif kind == "LOOPBACK":
        yield _check_loopback(engine)
    elif kind == "EXTERNAL":
        yield _check_external(engine)
    elif kind == "PROCESS":
        yield _check_process(engine)
    elif kind == "DOCKER":
        yield from _check_docker(engine)
    else:
        yield Check(_NAME, "note", f"{kind}: not one that shardkit knows")


def _check_loopback(engine: Engine) -> Check:
    if is_distant(engine):
        where = ", ".join(str(address) for address in engine.addresses.values() if not is_here(address.host))
        found = f"LOOPBACK: workers are threads of this process, which an engine at {where} looks for on its own host"
        remedy = "use --environment_type=EXTERNAL with a worker pool on each host, PROCESS or DOCKER"
        return Check(_NAME, "failed", found, remedy, is_call=True)
    return Check(_NAME, "ok", "LOOPBACK: workers are threads of this process")


def _check_external(engine: Engine) -> Check:
    config = engine.environment_config or ""
    if config.startswith("{"):  # {"url": "localhost:50000"}
        with contextlib.suppress(ValueError, KeyError, TypeError):
            config = str(json.loads(config)["url"])
    address = parse_address(config)
    if address is None:
        found = f"EXTERNAL: --environment_config is {engine.environment_config!r}"
        remedy = "give the worker pool's address, such as --environment_config=localhost:50000"
        return Check(_NAME, "failed", found, remedy, is_call=True)
    if is_distant(engine) and is_here(address.host):
        found = f"EXTERNAL: {address} is looked for on the engine's hosts"
        return Check(_NAME, "note", found, "start a worker pool on each of them")
    if error := reach(address):
        remedy = (
            "start it on each host of the engine: python -m apache_beam.runners.worker.worker_pool_main "
            f"--service_port={address.port}"
        )
        return Check(_NAME, "warning", f"EXTERNAL: no worker pool answers at {address}: {error}", remedy)
    return Check(_NAME, "ok", f"EXTERNAL: the worker pool at {address} answers")


def _check_process(engine: Engine) -> Check:
    try:
        command = str(json.loads(engine.environment_config or "")["command"])
    except (ValueError, KeyError, TypeError):
        found = f"PROCESS: --environment_config is {engine.environment_config!r}"
        remedy = """give the path of Beam's boot program: --environment_config='{"command": "/opt/beam/boot"}'"""
        return Check(_NAME, "failed", found, remedy, is_call=True)
    if is_distant(engine):
        return Check(_NAME, "note", f"PROCESS: {command} must be on each of the engine's hosts")
    if not os.access(command, os.X_OK) or os.path.isdir(command):
        return Check(
            _NAME, "warning", f"PROCESS: {command} is not a program here", "it must be one on each worker's host"
        )
    return Check(_NAME, "ok", f"PROCESS: {command}")


def _check_docker(engine: Engine) -> Iterator[Check]:
    if not is_distant(engine) and shutil.which("docker") is None:
        found = "DOCKER: the engine is on this host, and there is no program named docker"
        remedy = "if it really is, use --environment_type=LOOPBACK, or EXTERNAL, or PROCESS"
        yield Check(_NAME, "warning", found, remedy)
        return
    yield _check_image(engine)


def _check_image(engine: Engine) -> Check:
    image = engine.image or (engine.environment_config if engine.kind != "dataflow" else None)
    kind = "Dataflow" if engine.kind == "dataflow" else "DOCKER, Beam's default"
    if engine.environment_type and engine.kind != "dataflow":
        kind = "DOCKER"
    if image:
        return Check(_NAME, "ok", f"{kind}: workers run in {image}")
    if engine.installs_packages:
        return Check(_NAME, "ok", f"{kind}: workers run in Beam's image, which installs your packages at each start")
    option = "--sdk_container_image" if engine.kind == "dataflow" else "--environment_config"
    remedy = (
        f"build one with pipelines/image/build.sh and name it by {option}, or give shardkit by --extra_package and "
        "the packages of its extra `convert` by --requirements_file"
    )
    if engine.kind != "dataflow":
        remedy += "; on one host, --environment_type=LOOPBACK needs neither"
    return Check(_NAME, "warning", f"{kind}: workers run in Beam's image, which has no shardkit", remedy)
