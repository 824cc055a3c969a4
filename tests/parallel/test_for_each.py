"""The failure of a worker reaches the driver, which stops the others."""

import platform

import pytest

from shardkit.errors import MachineError
from shardkit.parallel.driver_view import DriverView
from shardkit.parallel.run_token import Fence, claimed
from shardkit.storage import open_folder
from shardkit.writing.worker_checks import failures

HOST = f"host {platform.node()}"


def test_a_failure_is_reported_by_host_and_stops_the_workers(tmp_path):
    output = open_folder(str(tmp_path))
    with claimed(output) as run:
        fence = Fence(output, run.token)
        failures.stop_after_failure(output, run)
        fence.check()
        failures.report_failure(output, OSError(5, "Input/output error"), fence, DriverView.of([]))
        failures.stop_after_failure(output, run)
        with pytest.raises(MachineError, match="has ended"):
            fence.check()
        run.check()
        with pytest.raises(MachineError, match=rf"Input/output error \(on {HOST}\)"):
            failures.raise_failure(output)
