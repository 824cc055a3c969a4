"""End the job servers that Beam starts for a job: Prism, and those of Flink and Spark in Java.

Beam ends them when Python exits, which a process that is interrupted never reaches: they would stay for ever. After a
success Beam's "Really destroying service" would be on the terminal, since the log of the job is closed by then.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

from apache_beam.runners.portability.job_server import StopOnExitJobServer


@contextlib.contextmanager
def job_servers_ended() -> Iterator[None]:
    """End all job servers that are started in the body; Beam starts one again that it needs again."""
    started: list[Any] = []
    start = StopOnExitJobServer.start

    def noted(server: Any) -> Any:
        started.append(server)  # first: an interrupted start may leave a process
        return start(server)

    StopOnExitJobServer.start = noted
    try:
        yield
    finally:
        StopOnExitJobServer.start = start
        for server in started:
            with contextlib.suppress(Exception):
                server.stop()
