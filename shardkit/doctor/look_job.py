"""The folder in the output through which the driver and the workers that look around see each other."""

import contextlib
import secrets
from collections.abc import Iterator

from shardkit import naming
from shardkit.doctor.source_view import SourceView
from shardkit.doctor.worker_report import DRIVER_FILE, LookJob
from shardkit.storage import LocalFolder, open_folder, os_errors_as


@contextlib.contextmanager
def look_job(source_url: str, output_url: str) -> Iterator[LookJob]:
    """Make a folder in the output for one call, and remove it at the end with everything that was made for it.

    Raises:
        MachineError: The driver cannot write into the output.
    """
    output = open_folder(output_url)
    with os_errors_as("write into the output", output.url):
        there = [path for path in ("", naming.WORK_FOLDER) if output.stat(path) is not None]
        output.create()
        # After OUTPUT was made, which may lie in SOURCE.
        view, folder = SourceView.of(source_url), f"{naming.WORK_FOLDER}/doctor-{secrets.token_hex(8)}"
        job = LookJob(source_url, view, output, folder, secrets.token_hex(16))
        with output.atomic_write(f"{job.folder}/{DRIVER_FILE}") as file:
            file.write(job.token.encode())
    try:
        yield job
    finally:
        output.remove_tree(job.folder)
        for path in (naming.WORK_FOLDER, ""):
            if path not in there and isinstance(output, LocalFolder) and not output.scan(path):
                output.remove_tree(path)
