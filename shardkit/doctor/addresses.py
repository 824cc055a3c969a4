"""Check that something answers at an engine's addresses, and that its workers can see SOURCE and OUT.

Beam would wait for an address without a message, in some cases forever.
"""

import socket
from collections.abc import Iterator

from shardkit.doctor.check import Check
from shardkit.doctor.engine import Address, Engine

REACH_SECONDS = 20


def reach(address: Address) -> str:
    """Return why nothing answers at an address; empty if something does."""
    try:
        socket.create_connection((address.host, address.port), timeout=REACH_SECONDS).close()
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
        try:
            with socket.socket(family, kind, protocol) as bound:
                bound.bind((place[0], 0))
        except OSError:
            continue
        return True
    return False


def is_distant(engine: Engine) -> bool:
    """Return whether the engine runs on other machines, as far as its addresses tell."""
    return engine.kind == "dataflow" or any(not is_here(address.host) for address in engine.addresses.values())


def check_addresses(engine: Engine) -> Iterator[Check]:
    """Yield a check of each address that the driver connects to."""
    if engine.kind == "portable" and engine.job_service is None and engine.job_endpoint != "embed":
        found = f"--job_endpoint is {engine.job_endpoint!r}" if engine.job_endpoint else "--job_endpoint is not given"
        remedy = "give the job service's host and port, such as --job_endpoint=localhost:8099"
        yield Check("job service", "failed", found, remedy, is_call=True)
    names = {"--job_endpoint": "job service", "--flink_master": "Flink", "--spark_master_url": "Spark's master"}
    for option, address in engine.addresses.items():
        name = names[option]
        error = reach(address)
        if not error:
            yield Check(name, "ok", f"{option} {address} answers")
            continue
        # As users write it: `localhost:8099`.
        found = f"no {name} answers at {option} {address}: {error}"
        yield Check(name, "failed", found, "start it, or correct the address")


def is_local(url: str) -> bool:
    """Return whether a path or URL names a folder of one machine's file system."""
    scheme, separator, _ = url.partition("://")
    return not separator or scheme == "file"


def check_paths(engine: Engine, **places: str) -> Iterator[Check]:
    """Yield checks of places that driver and workers share.

    Args:
        engine: The engine.
        **places: Paths and URLs by the names that messages give them: SOURCE, OUTPUT.
    """
    for name, url in places.items():
        if not is_local(url):
            continue
        if engine.kind == "dataflow":
            found = f"{name} {url} is a path of this machine, which Dataflow's workers cannot reach"
            yield Check(name, "failed", found, "copy it to gs://, and give that URL", is_call=True)
        elif is_distant(engine):
            found = f"{name} {url} is a path of this machine, and the engine runs on others"
            yield Check(name, "warning", found, "every worker must see the same folder under the same path")


def check_temp_location(engine: Engine) -> Iterator[Check]:
    """Yield a check of ``--temp_location``, through which `plan` and `verify` collect what workers report."""
    if engine.kind == "dataflow" and (engine.temp_location is None or is_local(engine.temp_location)):
        found = f"--temp_location is {engine.temp_location or 'not given'}"
        yield Check("--temp_location", "failed", found, "Dataflow needs a gs:// folder", is_call=True)
    elif is_distant(engine) and engine.temp_location is None:
        found = "--temp_location is not given"
        yield Check("--temp_location", "note", found, "`plan` and `verify` need a folder that all workers reach")
