"""Checks that the driver makes without a job: addresses, Flink's version, the workers' environment, paths.

Beam would wait for an address without a message, in some cases forever. An address on this host may be a tunnel to the
engine's: what is missing here may be there, so it is a warning only, and the doctor's job finds out.
"""

import contextlib
import importlib.util
import json
import os
import shutil
import socket
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException
from typing import Any

from shardkit.doctor.check import Check
from shardkit.doctor.engine import Engine, parse_address

REACH_SECONDS = 20
_NAMES = {"--job_endpoint": "job service", "--flink_master": "Flink", "--spark_master_url": "Spark's master"}
_ENVIRONMENT = "environment"
# Without the proxy of the environment, which seldom reaches a cluster: `reach` connects without it, too.
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def check_runner(engine: Engine, **places: str) -> Iterator[Check]:
    """Yield the cheap checks: no file is listed, no job is started. Seconds at most, unless an address is dead.

    Args:
        engine: The engine.
        **places: Paths and URLs that driver and workers share, by the names that messages give them: SOURCE, OUTPUT.
    """
    if engine.kind == "direct":
        found = "for DirectRunner, Beam downloads Prism without a time limit, or uses a runner in this process"
        remedy = "without Beam's options, threads of this process do the same work"
        yield Check("DirectRunner", "warning", found, remedy)
    for name, url in places.items():
        if not is_local(url):
            continue
        if engine.kind == "dataflow":
            found = f"{name} {url} is a path of this machine, which Dataflow's workers cannot reach"
            yield Check(name, "failed", found, "copy it to gs://, and give that URL", is_call=True)
        elif _is_distant(engine):
            found = f"{name} {url} is a path of this machine, and the engine runs on others"
            yield Check(name, "warning", found, "every worker must see the same folder under the same path")
    addresses = list(check_addresses(engine))
    yield from addresses
    if engine.flink and not engine.flink_master.startswith("https:") and all(one.status == "ok" for one in addresses):
        yield _check_flink(engine)
    if engine.kind in {"flink", "spark"} and not engine.job_endpoint:
        yield from _check_job_server(engine)
    if engine.kind == "dataflow" and importlib.util.find_spec("apitools") is None:
        found = "the packages for Google Cloud are not installed"
        yield Check("Dataflow", "failed", found, "pip install 'apache-beam[gcp]'", is_call=True)
    yield from _check_environment(engine)
    if engine.kind == "dataflow" and (engine.temp_location is None or is_local(engine.temp_location)):
        found = f"--temp_location is {engine.temp_location or 'not given'}"
        yield Check("--temp_location", "failed", found, "Dataflow needs a gs:// folder", is_call=True)


def check_addresses(engine: Engine) -> Iterator[Check]:
    """Yield a check of each address that the driver connects to."""
    if engine.kind == "portable" and engine.job_service is None and engine.job_endpoint != "embed":
        found = f"--job_endpoint is {engine.job_endpoint!r}" if engine.job_endpoint else "--job_endpoint is not given"
        remedy = "give the job service's host and port, such as --job_endpoint=localhost:8099"
        yield Check("job service", "failed", found, remedy, is_call=True)
    for option, address in engine.addresses.items():
        name, error = _NAMES[option], reach(address.host, address.port)
        if error:
            found = f"no {name} answers at {option} {address}: {error}"
            yield Check(name, "failed", found, "start it, or correct the address")
        else:
            yield Check(name, "ok", f"{option} {address} answers")


def reach(host: str, port: int) -> str:
    """Return why nothing answers at an address; empty if something does."""
    try:
        socket.create_connection((host, port), timeout=REACH_SECONDS).close()
    except OSError as error:
        return str(error.strerror or error)
    return ""


def is_here(host: str) -> bool:
    """Return whether a host is this machine: only its own addresses can be bound."""
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    except OSError:
        return False
    for family, kind, protocol, _, place in found:
        with contextlib.suppress(OSError), socket.socket(family, kind, protocol) as bound:
            bound.bind((place[0], 0))
            return True
    return False


def is_local(url: str) -> bool:
    """Return whether a path or URL names a folder of one machine's file system."""
    scheme, separator, _ = url.partition("://")
    return not separator or scheme == "file"


def _is_distant(engine: Engine) -> bool:
    """Return whether the engine runs on other machines, as far as its addresses tell."""
    return engine.kind == "dataflow" or any(not is_here(address.host) for address in engine.addresses.values())


def _check_flink(engine: Engine) -> Check:
    """Compare the cluster with the job server, and its slots with the job.

    A job server is built for one minor version of Flink. With another one the job fails with an AbstractMethodError, or
    hangs. Beam's default `--flink_version` is its newest, not the cluster's.
    """
    try:
        config, overview = (_ask_flink(engine, path) for path in ("config", "overview"))
        version, slots = str(config["flink-version"]), int(overview["slots-total"])
    except (OSError, HTTPException, ValueError, KeyError, TypeError) as error:
        found = f"--flink_master {engine.flink} does not answer as Flink's REST interface does ({type(error).__name__})"
        return Check("Flink", "failed", found, "name its host and REST port, such as localhost:8081")
    minor, wanted = ".".join(version.split(".")[:2]), engine.parallelism or 1
    # The version of a job server that runs already, or of a jar that the user chose, is not known here.
    if not engine.job_endpoint and not engine.job_server_jar and minor != engine.flink_version:
        found = f"the cluster runs Flink {version}, and the job server would be for Flink {engine.flink_version}"
        known = ", ".join(engine.flink_versions)
        is_known = minor in engine.flink_versions
        remedy = f"add --flink_version={minor}" if is_known else f"Beam has job servers for Flink {known}"
        return Check("Flink", "failed", found, remedy, is_call=True)
    if slots < wanted:
        found = f"Flink has {slots} slots, and the job takes {wanted}"
        return Check("Flink", "warning", found, "start TaskManagers, or use a lower --parallelism")
    if engine.parallelism is None and slots > 1:
        found = f"Flink has {slots} slots, and without --parallelism the job takes 1 of them"
        return Check("Flink", "warning", found, f"add --parallelism={slots}")
    return Check("Flink", "ok", f"Flink {version}, {slots} slots; the job server must be one for Flink {minor}")


def _ask_flink(engine: Engine, path: str) -> dict[str, Any]:
    with _DIRECT.open(f"http://{engine.flink}/v1/{path}", timeout=REACH_SECONDS) as answer:
        return dict(json.load(answer))


def _check_job_server(engine: Engine) -> Iterator[Check]:
    jar = engine.job_server_jar
    if shutil.which(engine.java) is None:
        found = f"there is no {engine.java}, which the job server needs"
        yield Check("job server", "failed", found, "install Java, or name it by --job_server_java_launcher")
    elif jar and "://" not in jar and not os.path.isfile(jar):
        yield Check("job server", "failed", f"{jar}: there is no such job-server jar", "correct its path", is_call=True)


def _check_environment(engine: Engine) -> Iterator[Check]:
    """Yield checks of the environment; nothing for runners that shardkit does not know, and those without one."""
    if engine.kind in {"direct", "other"}:
        return
    kind, is_distant = engine.environment, _is_distant(engine)
    if kind == "LOOPBACK" and is_distant:
        where = ", ".join(str(address) for address in engine.addresses.values() if not is_here(address.host))
        found = f"LOOPBACK: workers are threads of this process, which an engine at {where} looks for on its own host"
        remedy = "use --environment_type=EXTERNAL with a worker pool on each host, PROCESS or DOCKER"
        yield Check(_ENVIRONMENT, "failed", found, remedy, is_call=True)
    elif kind == "EXTERNAL":
        yield from _check_pool(engine, is_distant=is_distant)
    elif kind == "PROCESS":
        command = _of_json(engine.environment_config, "command")
        if not command:
            found = f"PROCESS: --environment_config is {engine.environment_config!r}"
            remedy = """give the path of Beam's boot program: --environment_config='{"command": "/opt/beam/boot"}'"""
            yield Check(_ENVIRONMENT, "failed", found, remedy, is_call=True)
        elif not is_distant and (not os.access(command, os.X_OK) or os.path.isdir(command)):
            found = f"PROCESS: {command} is not a program here"
            yield Check(_ENVIRONMENT, "warning", found, "it must be one on each worker's host")
    elif kind == "DOCKER":
        yield from _check_image(engine, is_distant=is_distant)


def _check_pool(engine: Engine, *, is_distant: bool) -> Iterator[Check]:
    config = engine.environment_config or ""
    address = parse_address(_of_json(config, "url") or config)
    if address is None:
        found = f"EXTERNAL: --environment_config is {engine.environment_config!r}"
        remedy = "give the worker pool's address, such as --environment_config=localhost:50000"
        yield Check(_ENVIRONMENT, "failed", found, remedy, is_call=True)
    elif not (is_distant and is_here(address.host)) and (error := reach(address.host, address.port)):
        remedy = (
            "start it on each host of the engine: python -m apache_beam.runners.worker.worker_pool_main "
            f"--service_port={address.port}"
        )
        yield Check(_ENVIRONMENT, "warning", f"EXTERNAL: no worker pool answers at {address}: {error}", remedy)


def _check_image(engine: Engine, *, is_distant: bool) -> Iterator[Check]:
    is_dataflow = engine.kind == "dataflow"
    if not is_distant and shutil.which("docker") is None:
        found = "DOCKER: the engine is on this host, and there is no program named docker"
        remedy = "if it really is, use --environment_type=LOOPBACK, or EXTERNAL, or PROCESS"
        yield Check(_ENVIRONMENT, "warning", found, remedy)
    elif not (engine.image or engine.installs_packages or (engine.environment_config and not is_dataflow)):
        kind = "Dataflow" if is_dataflow else "DOCKER" if engine.environment_type else "DOCKER, Beam's default"
        remedy = (
            "build one with pipelines/image/build.sh and name it by "
            f"{'--sdk_container_image' if is_dataflow else '--environment_config'}, or give shardkit by "
            "--extra_package and the packages of its extra `convert` by --requirements_file"
        )
        found = f"{kind}: workers run in Beam's image, which has no shardkit"
        yield Check(_ENVIRONMENT, "warning", found, remedy)


def _of_json(text: str | None, name: str) -> str:
    """Return a field of an environment's configuration; empty if it has none."""
    with contextlib.suppress(ValueError, KeyError, TypeError):
        return str(json.loads(text or "")[name])
    return ""
