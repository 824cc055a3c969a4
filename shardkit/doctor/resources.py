"""Estimate what a conversion needs on the driver and in OUT, from a look at the source that takes seconds at most."""

import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from shardkit import naming
from shardkit.conversion.writing.inventory_tasks import CHECKED_BYTES
from shardkit.doctor.check import Check
from shardkit.doctor.driver import is_local
from shardkit.errors import MissingExtraError, ShardkitError
from shardkit.extras import require_extra
from shardkit.host import available_memory
from shardkit.options.words import named
from shardkit.storage import LocalFolder, open_folder

LOOK_SECONDS = 5.0
DRIVER_BASE_BYTES = 200 << 20  # 200 MiB; tests/benchmarks/README.md, `bench_plan.py`
# A record's frame, the features other than the image, and its row in the index.
OUTPUT_BYTES_PER_FILE = 500
_EXTRAS = {".heic": "heif", ".heif": "heif", ".xlsx": "excel"}
_MIB = 1 << 20


@dataclass(slots=True)
class SourceSize:
    """The number and size of a source's files."""

    num_files: int = 0
    num_bytes: int = 0
    is_whole: bool = True  # whether all were seen before the time was over
    endings: Counter[str] = field(default_factory=Counter)  # of the files' names, in lower case


def source_size(url: str, skipped: str, seconds: float = LOOK_SECONDS) -> SourceSize:
    """Count a source's files, but for those of the output in it, until the time is over."""
    size, ends = SourceSize(), time.monotonic() + seconds
    folder, pending = open_folder(url), [""]
    found = folder.stat("")
    if found is not None and not found.is_folder:
        return SourceSize(1, found.num_bytes, endings=Counter([os.path.splitext(url)[1].lower()]))
    avoided = open_folder(skipped).resolve("")
    while pending:
        path = pending.pop()
        if time.monotonic() > ends:
            size.is_whole = False
            break
        for entry in folder.scan(path):
            below = f"{path}/{entry.name}" if path else entry.name
            if not entry.is_folder:
                size.num_files += 1
                size.num_bytes += entry.num_bytes
                size.endings[os.path.splitext(entry.name)[1].lower()] += 1
            elif (
                entry.name != naming.WORK_FOLDER
                and folder.resolve(below) != avoided
                # A link to a folder above would be followed forever.
                and not (isinstance(folder, LocalFolder) and os.path.islink(folder.os_path(below)))
            ):
                pending.append(below)
    return size


def check_resources(source_url: str, output_url: str) -> Iterator[Check]:
    """Yield checks of the extras, of free disk space and of free memory."""
    try:
        size = source_size(source_url, output_url)
    except (OSError, ShardkitError) as error:
        yield Check(
            "SOURCE", "failed", f"{source_url}: cannot be listed: {error}", "check the path and its permissions"
        )
        return
    if not size.num_files:
        is_there = open_folder(source_url).stat("") is not None
        found = f"{source_url}: there is no {'file in it' if is_there else 'such file or folder'}"
        yield Check("SOURCE", "failed", found, "check the path", is_call=True)
        return
    least = "" if size.is_whole else "at least "
    about = f"{least}{size.num_files:,} files, {size.num_bytes / _MIB:,.0f} MiB"
    yield Check("SOURCE", "ok" if size.is_whole else "note", about)
    yield from _check_extras(size.endings)
    yield check_disk(output_url, size)
    if (memory := available_memory()) is not None:
        yield check_memory(memory, size)


def check_disk(output_url: str, size: SourceSize, free: int | None = None) -> Check:
    """Compare the free space with the size of the images."""
    if not is_local(output_url):
        found = "OUTPUT is in an object store; a worker keeps one unfinished shard for each thread on its disk"
        return Check("disk", "note", found)
    if free is None:
        path = open_folder(output_url).resolve("")
        while not os.path.isdir(path):
            path = os.path.dirname(path)
        free = shutil.disk_usage(path).free
    needed = size.num_bytes + OUTPUT_BYTES_PER_FILE * size.num_files
    found = (
        f"OUTPUT's disk has {free / _MIB:,.0f} MiB free; images kept as they are take about {needed / _MIB:,.0f} MiB"
    )
    if free >= needed:
        return Check("disk", "ok", found)
    return Check("disk", "warning", found, f"make room, or use {named('resize')}")


def check_memory(available: int, size: SourceSize) -> Check:
    """Compare the driver's free memory, in bytes, with what planning needs."""
    needed = DRIVER_BASE_BYTES + CHECKED_BYTES * size.num_files
    found = (
        f"{available / _MIB:,.0f} MiB of memory are free on this host; planning takes about {needed / _MIB:,.0f} MiB"
    )
    if available >= needed:
        return Check("memory", "ok", found)
    return Check("memory", "warning", found, "plan on a host with more memory")


def _check_extras(endings: Counter[str]) -> Iterator[Check]:
    for extra in sorted({_EXTRAS[ending] for ending in endings if ending in _EXTRAS}):
        names = ", ".join(sorted(ending for ending in endings if _EXTRAS.get(ending) == extra))
        try:
            require_extra(extra, f"the source has {names} files; reading them")
        except MissingExtraError as error:
            yield Check("extras", "warning", str(error), "install it on every worker too")
        else:
            yield Check("extras", "ok", f"{names} files: the extra `{extra}` is installed here; workers need it too")
