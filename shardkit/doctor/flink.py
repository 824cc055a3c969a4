"""Compare a Flink cluster with the job server that will talk to it, by Flink's REST interface.

A job server is built for one minor version of Flink. With another one the job fails with an AbstractMethodError, or
hangs. Beam's default `--flink_version` is its newest, not the cluster's.
"""

import json
import os
import re
import shutil
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException
from typing import Any

from shardkit.doctor.check import Check
from shardkit.doctor.engine import Engine

ANSWER_SECONDS = 10
# Without the proxy of the environment, which seldom reaches a cluster: `check_addresses` connects without it, too.
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_JAR = re.compile(r"flink[-_](?P<flink>\d+\.\d+)-job-server-(?P<beam>\d+\.\d+)")


def minor(version: str) -> str:
    """Return the major and minor number of a version: "1.19" of "1.19.3"."""
    return ".".join(version.split(".")[:2])


def check_flink(engine: Engine) -> Iterator[Check]:
    """Yield checks of the cluster's version and of its slots; the address is checked by `check_addresses`."""
    if engine.flink is None or engine.kind not in {"flink", "portable"}:
        return
    if engine.flink_master.startswith("https:"):  # it may want a certificate of this host
        yield Check("Flink's version", "note", f"Flink at {engine.flink_master} is not asked for its version")
        return
    try:
        version = str(ask_flink(engine, "config")["flink-version"])
        overview = ask_flink(engine, "overview")
        slots = (int(overview["slots-available"]), int(overview["slots-total"]))
    except (OSError, HTTPException, ValueError, KeyError, TypeError) as error:
        found = f"--flink_master {engine.flink} does not answer as Flink's REST interface does ({type(error).__name__})"
        yield Check("Flink", "failed", found, f"name its host and REST port, such as {engine.flink.host}:8081")
        return
    if engine.starts_job_server:
        yield compare_versions(version, engine)
    else:
        found = f"Flink {version}; a job server does not tell for which version it was built"
        yield Check("Flink's version", "note", found, f"it must be one for Flink {minor(version)}")
    yield compare_slots(*slots, engine.parallelism)


def compare_versions(version: str, engine: Engine) -> Check:
    """Compare the cluster's version with that of the job server that Beam starts."""
    name = "Flink's version"
    named = _JAR.search(os.path.basename(engine.job_server_jar or ""))
    if engine.job_server_jar and named is None:
        found = f"Flink {version}; the name of {engine.job_server_jar} does not tell for which version it was built"
        return Check(name, "note", found, f"it must be one for Flink {minor(version)}")
    wanted = named["flink"] if named else engine.flink_version
    if wanted == minor(version):
        return Check(name, "ok", f"Flink {version}, job server for {wanted}")
    what = os.path.basename(engine.job_server_jar or "") or f"--flink_version={wanted}"
    found = f"the cluster runs Flink {version}, and the job server would be for Flink {wanted} ({what})"
    if minor(version) not in engine.flink_versions:
        remedy = f"Beam {engine.beam_version} has job servers for Flink {', '.join(engine.flink_versions)}"
    elif engine.job_server_jar:
        # The user chose this jar, perhaps on purpose.
        return Check(name, "warning", found, f"use the job server for Flink {minor(version)}")
    else:
        remedy = f"add --flink_version={minor(version)}"
    return Check(name, "failed", found, remedy, is_call=True)


def compare_slots(available: int, total: int, parallelism: int | None = None) -> Check:
    """Return whether a job would start at once, and use the cluster.

    Args:
        available: Number of free slots.
        total: Number of slots.
        parallelism: The number of slots that the job takes; None if it is not given: then Flink's default, 1.
    """
    name, wanted = "Flink's slots", parallelism or 1
    if total == 0:
        remedy = "start one or more, unless the cluster starts them when a job comes"
        return Check(name, "warning", "no TaskManager is registered at Flink", remedy)
    if wanted > total:
        found = f"--parallelism={wanted} is more than the {total} slots of Flink"
        return Check(name, "warning", found, f"start TaskManagers, or use --parallelism={total}")
    if available == 0:
        found = f"all {total} slots of Flink are in use"
        return Check(name, "warning", found, "the job will wait; cancel jobs that nobody needs")
    if available < wanted:
        found = f"{available} of {total} slots of Flink are free, and --parallelism={wanted} takes {wanted}"
        return Check(name, "warning", found, "the job will wait; cancel jobs that nobody needs")
    free = f"{available} of {total} slots of Flink are free"
    if parallelism is None and available > 1:
        found = f"{free}, and without --parallelism the job takes 1 of them"
        return Check(name, "warning", found, f"add --parallelism={available}")
    return Check(name, "ok", free)


def check_job_server(engine: Engine) -> Iterator[Check]:
    """Yield checks of the job server that Beam starts: its jar and Java."""
    if not engine.starts_job_server:
        return
    jar = engine.job_server_jar
    if shutil.which(engine.java) is None:
        found = f"there is no {engine.java}, which the job server needs"
        yield Check("job server", "failed", found, "install Java, or name it by --job_server_java_launcher")
    elif jar is None:
        found = "Beam downloads the job server's jar from Maven Central at the first job"
        yield Check("job server", "note", found, "without access to it, download the jar and name its path")
    elif "://" not in jar and not os.path.isfile(jar):
        yield Check("job server", "failed", f"{jar}: there is no such job-server jar", "correct its path", is_call=True)
    else:
        named = _JAR.search(os.path.basename(jar))
        if named and named["beam"] != minor(engine.beam_version):
            found = f"{os.path.basename(jar)} is of Beam {named['beam']}, the driver has Beam {engine.beam_version}"
            yield Check("job server", "warning", found, "use the same minor version if there is one")
        else:
            yield Check("job server", "ok", jar)


def ask_flink(engine: Engine, path: str) -> dict[str, Any]:
    """Return the answer of Flink's REST interface.

    Raises:
        OSError: It does not answer.
        HTTPException: What answers does not speak HTTP.
        ValueError: The answer is not a JSON object.
    """
    url = f"http://{engine.flink}/v1/{path}"
    with DIRECT.open(url, timeout=ANSWER_SECONDS) as answer:
        found = json.load(answer)
    if not isinstance(found, dict):
        msg = f"{url} has no object"
        raise ValueError(msg)
    return found
