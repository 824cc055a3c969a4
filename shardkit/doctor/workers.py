"""A tiny job that shows whether the workers of a runner can convert SOURCE into OUTPUT.

It begins as every job of shardkit does: a worker process that has other versions than the driver, or sees another
SOURCE or no OUTPUT, does no work and names its host. Each of the others leaves a file in OUTPUT.
"""

import contextlib
import os
import platform
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from shardkit import naming
from shardkit.doctor.check import Check
from shardkit.errors import MachineError, ShardkitError
from shardkit.naming import counted
from shardkit.parallel.for_each import Executor, for_each
from shardkit.parallel.progress import Phase, Silent
from shardkit.parallel.reports import work_folder
from shardkit.parallel.run_token import Fence, claimed
from shardkit.storage import LocalFolder, open_folder, os_errors_as

PROBES = f"{naming.WORK_FOLDER}/probes"  # folder of the files that workers write
NUM_ELEMENTS = 256  # more than a usual cluster has slots
SHOWN_HOSTS = 8


def check_workers(
    executor: Executor, source_url: str, output_url: str, seconds: float, say: Callable[[str], None]
) -> Check:
    """Run the job, for some seconds at most, in a folder of its own in the output, and remove what was made for it."""
    source, output = open_folder(source_url), open_folder(output_url)
    existing = [path for path in ("", naming.WORK_FOLDER) if output.stat(path) is not None]
    try:
        with contextlib.ExitStack() as stack:
            with os_errors_as("write into the output", output.url):
                output.create()
                folder = stack.enter_context(work_folder(f"{output.url}/{naming.WORK_FOLDER}"))
                run = stack.enter_context(claimed(folder))
            found = source.stat("")
            is_file = found is not None and not found.is_folder
            look = Look(source_url, found.num_bytes if is_file and found else None)
            phase = Phase(_Saying(say), "asking", None, int, seconds=seconds)
            reads = () if is_file else (source,)
            for_each(executor, run, "LookAround", range(NUM_ELEMENTS), look, phase, reads=reads)
            hosts = sorted(folder.read(f"{PROBES}/{entry.name}").decode() for entry in folder.scan(PROBES))
    except ShardkitError as error:
        return Check("workers", "failed", str(error))
    finally:
        for path in (naming.WORK_FOLDER, ""):
            if path not in existing and isinstance(output, LocalFolder) and not output.scan(path):
                output.remove_tree(path)
    if not hosts:
        remedy = "every worker must reach OUTPUT under the same path"
        return Check("workers", "failed", "the job ended, and the driver sees no worker's file in OUTPUT", remedy)
    names = sorted(set(hosts))
    listed = ", ".join(names[:SHOWN_HOSTS]) + (", …" if len(names) > SHOWN_HOSTS else "")
    processes = "1 process" if len(hosts) == 1 else f"{len(hosts)} processes"
    where = f"{processes} on {counted(len(names), 'host')} ({listed})"
    return Check("workers", "ok", f"{where} see SOURCE, write into OUTPUT and have the driver's versions")


@dataclass(frozen=True, slots=True)
class Look:
    """What each worker process does once; small and pickled into the job."""

    source_url: str  # the source
    num_bytes: int | None  # its size if it is a file; None for a folder, which `for_each` compares

    def __call__(self, number: int, fence: Fence) -> None:
        """Look at the source, and leave a file with the name of this host."""
        del number
        folder, host = fence.folder, platform.node()
        probe = f"{PROBES}/{zlib.crc32(host.encode()):08x}-{os.getpid()}"
        if folder.stat(probe) is not None:
            return
        source = open_folder(self.source_url)
        seen = source.stat("")
        if seen is None or seen.is_folder:
            source.scan()  # object stores too: a host may lack the credentials
        num_bytes = None if seen is None or seen.is_folder else seen.num_bytes
        if num_bytes != self.num_bytes:
            msg = (
                f"{self.source_url}: host {host} sees {_shown(num_bytes)}, the driver {_shown(self.num_bytes)}; every "
                "worker must see SOURCE under the same path"
            )
            raise MachineError(msg)
        fence.write(probe, host.encode())
        if folder.read(probe) != host.encode():
            msg = f"{folder.url}: host {host} reads other bytes than it wrote"
            raise MachineError(msg)


def _shown(num_bytes: int | None) -> str:
    return "no file" if num_bytes is None else f"a file of {num_bytes:,} bytes"


class _Saying(Silent):
    """A listener that shows no progress."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say  # type: ignore[assignment, method-assign] # levels do not matter here
