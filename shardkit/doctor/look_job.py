"""A tiny job that shows what an engine's workers see: as many elements as reach every worker, each a look around.

Driver and workers see each other through a folder in the output. The result is a file in it. If the workers cannot
write there, the job fails on purpose: engines pass on the text of an error, and nothing else, from a worker that shares
no storage with the driver.
"""

import base64
import contextlib
import re
import secrets
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from shardkit import naming
from shardkit.doctor.worker_report import (
    DRIVER_FILE,
    LookJob,
    SourceView,
    WorkerReport,
    as_payload,
    look,
    merged,
    of_payload,
)
from shardkit.parallel.for_each import Divided, Executor
from shardkit.parallel.progress import Phase, Silent
from shardkit.storage import LocalFolder, open_folder, os_errors_as

NUM_ELEMENTS = 256  # more than a usual cluster has slots
REPORTS = "reports.json"
_MARK = "shardkit-doctor-reports:"
_MARKED = re.compile(rf"{_MARK}([A-Za-z0-9+/=]+):")


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


def worker_reports(
    executor: Executor, job: LookJob, seconds: float, say: Callable[[str], None]
) -> tuple[list[WorkerReport], set[str]]:
    """Run the tiny job; return one report for each process, and the paths of their files that the driver sees.

    No run claims the output, so the work has no fence: it writes only into the folder that was made for it.

    Args:
        executor: The executor.
        job: The job; see `look_job`.
        seconds: Time after which the job is given up, and stopped on its engine.
        say: Receives a sentence about a job that Ctrl-C could not stop.

    Raises:
        NoAnswerError: No worker answered in time.
        MachineError: The runner failed.
    """
    answers: list[list[WorkerReport]] = []

    def is_answer(error: str) -> bool:
        answers.extend([reports] if (reports := reports_in(error)) is not None else [])
        return bool(answers)

    phase = Phase(_Saying(say), "asking", None, int, seconds=seconds, is_answer=is_answer)
    work = Divided(partial(_look, job), gather=partial(_write_reports, job))
    executor.for_each("LookAround", range(NUM_ELEMENTS), work, phase)
    if answers:
        return answers[0], set()
    probes = {f"{job.folder}/{entry.name}" for entry in job.output.scan(job.folder)}
    return of_payload(job.output.read(f"{job.folder}/{REPORTS}").decode()), probes


def reports_in(text: str) -> list[WorkerReport] | None:
    """Return the reports that an engine's error carries; None if there are none."""
    found = _MARKED.search(text)
    return None if found is None else of_payload(zlib.decompress(base64.b64decode(found[1])).decode())


class _Saying(Silent):
    """A listener that shows no progress."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say  # type: ignore[assignment, method-assign] # levels do not matter here


def _look(job: LookJob, _number: int) -> Iterator[str]:
    yield look(job).as_json()


def _write_reports(job: LookJob, reports: Iterable[str]) -> bool:
    payload = as_payload(merged(map(WorkerReport.of_json, reports))).encode()
    with contextlib.suppress(OSError):
        if job.output.read(f"{job.folder}/{DRIVER_FILE}") == job.token.encode():
            with job.output.atomic_write(f"{job.folder}/{REPORTS}") as file:
                file.write(payload)
            return False
    msg = f"{_MARK}{base64.b64encode(zlib.compress(payload)).decode()}:"
    raise RuntimeError(msg)
