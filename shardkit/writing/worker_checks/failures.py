"""Report the failure of a worker to the driver, which then stops all workers.

An exception of a worker would reach the user as the runner's failure, wrapped in its own words.
"""

import json
import platform

from shardkit import naming
from shardkit.errors import CallError, DataError, MachineError, ShardkitError
from shardkit.storage import Folder, os_errors_as
from shardkit.storage.retry import retried
from shardkit.writing.output.run_token import Fence, Run
from shardkit.writing.worker_checks.driver_view import DriverView

FAILURE = f"{naming.WORK_FOLDER}/failure.json"
_ERRORS = {kind.exit_code: kind for kind in (CallError, DataError, MachineError)}


def with_host(said: str, driver: DriverView | None) -> str:
    """Return an error's text with the worker's host, unless it names it already or the worker is the driver."""
    host = platform.node()
    return said if driver is None or f"host {host}" in said else f"{said} (on host {host})"


def report_failure(output: Folder, error: Exception, fence: Fence, driver: DriverView | None) -> None:
    """Write an error into the work folder; the driver stops all workers when it finds one."""
    exit_code = error.exit_code if isinstance(error, ShardkitError) else MachineError.exit_code
    found = str(error) if exit_code == CallError.exit_code else with_host(str(error), driver)
    said = json.dumps({"error": found, "exit_code": exit_code}).encode()

    def write() -> None:
        with output.atomic_write(FAILURE, before_rename=fence.check) as file:
            file.write(said)

    fence.check()
    with os_errors_as("report an error", f"{output.url}/{naming.WORK_FOLDER}"):
        retried(write)


def has_failed(output: Folder) -> bool:
    """Return whether a worker has reported a failure."""
    return output.stat(FAILURE) is not None


def stop_after_failure(output: Folder, run: Run) -> None:
    """Stop the workers of a run if one has reported a failure: on a cluster the others would go on for hours."""
    if has_failed(output):
        run.stop_workers()


def raise_failure(output: Folder) -> None:
    """Raise the failure that a worker reported, if any.

    Raises:
        CallError: The options do not fit the source.
        DataError: The source is at fault.
        MachineError: A worker's host is.
    """
    if has_failed(output):
        failure = json.loads(output.read(FAILURE))
        raise _ERRORS[failure["exit_code"]](failure["error"])
