"""A tiny job that shows what the workers of a runner see: as many elements as reach every worker, each a look around.

Driver and workers meet in a folder in OUTPUT, by the same means as those of a conversion. If the workers do not reach
it, the job fails on purpose: engines pass on the text of an error, and nothing else, from a worker that shares no
storage with the driver.
"""

import base64
import contextlib
import re
import zlib
from collections.abc import Callable, Iterable, Iterator

from shardkit import naming
from shardkit.doctor.worker_report import PROBES, LookJob, SourceView, WorkerReport, as_payload, merged, of_payload
from shardkit.errors import ShardkitError
from shardkit.parallel.for_each import Divided, Executor, for_each
from shardkit.parallel.progress import Phase, Silent
from shardkit.parallel.reports import Reports, work_folder
from shardkit.parallel.run_token import Fence, Run, claimed
from shardkit.storage import Folder, LocalFolder, open_folder, os_errors_as

NUM_ELEMENTS = 256  # more than a usual cluster has slots
_MARK = "shardkit-doctor-reports:"
_MARKED = re.compile(rf"{_MARK}([A-Za-z0-9+/=]+):")


@contextlib.contextmanager
def look_job(source_url: str, output_url: str) -> Iterator[tuple[LookJob, Run]]:
    """Begin a run in a folder of its own in the output, and remove it at the end with everything that was made for it.

    Raises:
        MachineError: The driver cannot write into the output.
    """
    output = open_folder(output_url)
    there = [path for path in ("", naming.WORK_FOLDER) if output.stat(path) is not None]
    try:
        with contextlib.ExitStack() as stack:
            with os_errors_as("write into the output", output.url):
                output.create()
                folder = stack.enter_context(work_folder(f"{output.url}/{naming.WORK_FOLDER}"))
                run = stack.enter_context(claimed(folder))
            yield LookJob(source_url, SourceView.of(source_url)), run  # after OUTPUT was made, which may lie in SOURCE
    finally:
        for path in (naming.WORK_FOLDER, ""):
            if path not in there and isinstance(output, LocalFolder) and not output.scan(path):
                output.remove_tree(path)


def worker_reports(
    executor: Executor, job: LookJob, run: Run, seconds: float, say: Callable[[str], None]
) -> tuple[list[WorkerReport], set[str]]:
    """Run the tiny job; return one report for each process, and the paths of their files that the driver sees.

    Args:
        executor: The executor.
        job: The job; see `look_job`.
        run: Its run.
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
    work = Divided(job.look, gather=_write_reports)
    for_each(executor, run, "LookAround", range(NUM_ELEMENTS), work, phase, refuses_unlike=False)
    if answers:
        return answers[0], set()
    found = [
        one for report in _reports(run.folder).found() for one in of_payload(run.folder.read(report.path).decode())
    ]
    return found, {f"{PROBES}/{entry.name}" for entry in run.folder.scan(PROBES)}


def reports_in(text: str) -> list[WorkerReport] | None:
    """Return the reports that an engine's error carries; None if there are none."""
    found = _MARKED.search(text)
    return None if found is None else of_payload(zlib.decompress(base64.b64decode(found[1])).decode())


class _Saying(Silent):
    """A listener that shows no progress."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say  # type: ignore[assignment, method-assign] # levels do not matter here


def _reports(work: Folder) -> Reports:
    """Return the reports of the job: a single one, since a worker that cannot write sends its own to another worker."""
    return Reports(work, "looks")


def _write_reports(reports: Iterable[str], fence: Fence) -> None:
    payload = as_payload(merged(map(WorkerReport.of_json, reports))).encode()
    with contextlib.suppress(OSError, ShardkitError):
        _reports(fence.folder).write(fence, 0, data=payload)
        return
    msg = f"{_MARK}{base64.b64encode(zlib.compress(payload)).decode()}:"
    raise RuntimeError(msg)
