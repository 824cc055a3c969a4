"""What this process may use of its host: cores, memory, and the load of other programs.

A container sees all cores and the whole memory of its host, but the kernel lets it use only what its control groups
allow. More threads than cores of the quota are stopped for most of each period, together with the threads that work.
"""

import contextlib
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Host:
    """What a process may use of its host.

    Attributes:
        cores: Number of cores; a fraction if a container's quota is one.
        memory_bytes: Size of the memory, or a container's limit if that is less; None if the system does not tell.
        is_whole: Whether these are all cores of the host, so that its load is the load of these cores.
    """

    cores: float
    memory_bytes: int | None
    is_whole: bool = True

    @property
    def threads(self) -> int:
        """Number of threads that use all cores."""
        return max(1, math.ceil(self.cores))


def this_host(root: str = "/") -> Host:
    """Return what this process may use.

    Args:
        root: Folder with ``proc`` and ``sys``.
    """
    # os.sched_getaffinity is not on macOS.
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    cores = min([affinity, *_quotas(root)])
    installed = None
    with contextlib.suppress(OSError, ValueError):
        installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = [limit for limit, _ in _memory_limits(root)]
    memory = min([installed, *limits]) if installed is not None else None
    return Host(cores, memory, is_whole=cores == os.cpu_count())


def available_memory(root: str = "/") -> int | None:
    """Return the memory in bytes that this process can still get; None where the system does not tell.

    Args:
        root: Folder with ``proc`` and ``sys``.
    """
    fields = dict(line.split(":", 1) for line in _text(root, "proc/meminfo").splitlines() if ":" in line)
    if "MemAvailable" not in fields:
        return None
    free = int(fields["MemAvailable"].split()[0]) << 10
    return max(0, min([free, *(limit - used for limit, used in _memory_limits(root))]))


def busy_seconds() -> float | None:
    """Return the CPU seconds that all programs have used since the host started; None if the system does not tell."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        # proc(5): user, nice, system, idle, iowait, irq, softirq, steal
        ticks = [int(word) for word in _text("/", "proc/stat").splitlines()[0].split()[1:9]]
        return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")
    return None


def _quotas(root: str) -> Iterator[float]:
    """Yield the cores that each control group of this process may use, if it has a limit; cgroups(7)."""
    microseconds = [_numbers(root, f"{folder}/cpu.max") for folder in _groups(root, "")]
    for folder in _groups(root, "cpu"):
        files = (f"{folder}/cpu.cfs_quota_us", f"{folder}/cpu.cfs_period_us")
        microseconds.append([number for file in files for number in _numbers(root, file)])
    yield from (found[0] / found[1] for found in microseconds if len(found) == 2)


def _memory_limits(root: str) -> Iterator[tuple[int, int]]:
    """Yield the limit of each control group of this process that has one, and the bytes of it that cannot be freed."""
    files = {
        "": ("memory.max", "memory.current", "inactive_file "),
        "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "),
    }
    for controller, (limit_file, used_file, cache) in files.items():
        for folder in _groups(root, controller):
            if limit := _numbers(root, f"{folder}/{limit_file}"):
                statistics = _text(root, f"{folder}/memory.stat").splitlines()
                freeable = sum(int(line.removeprefix(cache)) for line in statistics if line.startswith(cache))
                yield limit[0], sum(_numbers(root, f"{folder}/{used_file}")) - freeable


def _numbers(root: str, path: str) -> list[int]:
    """Return the numbers in a file; none are in `max 100000` of version 2 and `-1` of version 1: there is no limit."""
    words = _text(root, path).split()
    return [int(word) for word in words] if all(word.isdigit() for word in words) else []


def _groups(root: str, controller: str) -> Iterator[str]:
    """Yield the folders of this process' control group and of those above it, whose limits apply too.

    Args:
        root: Folder with ``proc`` and ``sys``.
        controller: Name of the controller in version 1; '' for version 2, which has one tree for all.
    """
    for line in _text(root, "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            mount = f"sys/fs/cgroup/{controller}".rstrip("/")
            # A container may see its own group as the root of the tree although `path` is the host's.
            parts = [part for part in path.split("/") if part]
            for end in range(len(parts), -1, -1):
                yield "/".join([mount, *parts[:end]])


def _text(root: str, path: str) -> str:
    """Return a file of the system; empty if it is missing or may not be read."""
    with contextlib.suppress(OSError), open(os.path.join(root, path), encoding="ascii") as file:
        return file.read()
    return ""
