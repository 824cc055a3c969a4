"""What a worker reports about itself: its host, versions, its view of SOURCE, and whether it can write into OUTPUT."""

import dataclasses
import functools
import json
import os
import platform
import secrets
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from shardkit import software
from shardkit.errors import MachineError, ShardkitError, StaleRunError
from shardkit.naming import WORK_FOLDER
from shardkit.parallel.run_file import RunToken
from shardkit.parallel.run_token import Fence
from shardkit.sources.visibility import FolderView, seen_again
from shardkit.storage import Folder, open_folder

PROBES = f"{WORK_FOLDER}/probes"  # folder of the files that workers write
PROBE_BYTES = 1 << 20  # 1 MiB: written and read back


@dataclass(frozen=True, slots=True)
class SourceView:
    """What a host sees of a source, by the rule of `visibility.FolderView`, which the workers of `convert` follow too.

    Attributes:
        num_entries: Number of files and folders in the folder; size in bytes if the source is a file; -1 if nothing is
            there.
        names_sum: See FolderView; 0 for a file.
        error: Why it cannot be read; empty if it can.
    """

    num_entries: int = -1
    names_sum: int = 0
    error: str = ""

    @classmethod
    def of(cls, url: str) -> "SourceView":
        """Look at a source; errors become a field. Object stores are listed too: a host may lack the credentials."""
        try:
            folder = open_folder(url)
            found = folder.stat("")
            if found is not None and not found.is_folder:
                return cls(found.num_bytes)
            entries = folder.scan()
        except (OSError, ShardkitError) as error:
            return cls(error=str(getattr(error, "strerror", None) or error))
        if found is None and not entries:  # in object stores, a folder without a file is no folder
            return cls(error="there is no such file or folder")
        return cls(*FolderView.of_names(entry.name for entry in entries))

    def difference(self, other: "SourceView") -> str:
        """Return how another host's view differs from this one, in words; empty if it is equal."""
        if other.error:
            return other.error
        if other.num_entries != self.num_entries:
            return f"{other.num_entries} entries, the driver sees {self.num_entries}"
        return "" if other == self else "other names than the driver sees"


@dataclass(frozen=True, slots=True)
class LookJob:
    """What each worker needs to look; small and pickled into the job.

    Attributes:
        source_url: The source.
        source: What the driver sees of it.
    """

    source_url: str
    source: SourceView

    def look(self, number: int, fence: Fence) -> Iterator[str]:
        """Yield the report of this process, as JSON."""
        del number
        yield look(self, fence.folder, fence.token).as_json()


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """What one process of one host found.

    Attributes:
        host: Name of the host.
        process: Number of the process.
        versions: Versions of everything that decides bytes, and of Python, Beam and numpy.
        source: What it sees of SOURCE.
        output_error: Why it cannot write into OUTPUT; empty if it can.
        probe: Path of the file in the run's folder that it wrote; empty if it could not.
        seconds: Duration of looking, writing and reading back.
        num_elements: Number of the job's elements that the process got.
    """

    host: str
    process: int
    versions: dict[str, str]
    source: SourceView
    output_error: str = ""
    probe: str = ""
    seconds: float = 0.0
    num_elements: int = field(default=1, compare=False)

    def as_json(self) -> str:
        """Return the report as JSON."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def of_json(cls, text: str) -> "WorkerReport":
        """Return the report that `as_json` wrote."""
        fields = json.loads(text)
        return cls(**{**fields, "source": SourceView(**fields["source"])})


@functools.lru_cache(maxsize=4)
def look(job: LookJob, work: Folder, token: RunToken) -> WorkerReport:
    """Look around, once in each process for each run.

    Args:
        job: What to look at.
        work: The run's folder, which the driver made in OUTPUT.
        token: The run's token, which the driver wrote there.
    """
    started = time.monotonic()
    source = seen_again(functools.partial(SourceView.of, job.source_url), job.source) or SourceView()
    probe, error = f"{PROBES}/{secrets.token_hex(8)}", ""
    try:
        error = _try_output(Fence(work, token), probe)
    except (OSError, ShardkitError) as failure:
        error = str(getattr(failure, "strerror", None) or failure)
    seconds = time.monotonic() - started
    return WorkerReport(
        platform.node(), os.getpid(), software.environment(), source, error, "" if error else probe, seconds
    )


def _try_output(fence: Fence, probe: str) -> str:
    try:
        fence.check()
    except StaleRunError:
        return "it sees another file than the driver wrote there"
    except MachineError:
        return "it does not see the file that the driver wrote there"
    data = secrets.token_bytes(PROBE_BYTES)
    with fence.folder.atomic_write(probe) as file:
        file.write(data)
    return "" if fence.folder.read(probe) == data else "it reads other bytes than it wrote"


def merged(reports: Iterable[WorkerReport]) -> list[WorkerReport]:
    """Return one report for each process, with its number of elements, sorted by host and process."""
    found: dict[tuple[str, int], WorkerReport] = {}
    for report in reports:
        before = found.get((report.host, report.process))
        count = report.num_elements + (before.num_elements if before else 0)
        found[report.host, report.process] = dataclasses.replace(before or report, num_elements=count)
    return [found[key] for key in sorted(found)]


def as_payload(reports: Iterable[WorkerReport]) -> str:
    """Return reports as one line of JSON."""
    return json.dumps([json.loads(report.as_json()) for report in reports])


def of_payload(text: str) -> list[WorkerReport]:
    """Return the reports of `as_payload`."""
    fields: list[dict[str, Any]] = json.loads(text)
    return [WorkerReport.of_json(json.dumps(one)) for one in fields]
