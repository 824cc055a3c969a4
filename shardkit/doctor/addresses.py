"""Check that something answers at an engine's addresses. Beam would wait without a message, some of it forever."""

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
