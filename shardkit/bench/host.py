"""The host: its cores, its memory, and the load of other programs."""

import contextlib
import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Host:
    """What a process may use of this host.

    Attributes:
        cores: Number of cores; a fraction if a container's quota is one.
        memory_bytes: Size of the memory; None if the system does not tell.
        is_whole: Whether these are all cores of the host, so that its load is the load of these cores.
    """

    cores: float
    memory_bytes: int | None
    is_whole: bool = True


def this_host() -> Host:
    """Return what this process may use."""
    # os.sched_getaffinity is not on macOS.
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _quota("/sys/fs/cgroup/cpu.max")
    cores = affinity if quota is None else min(affinity, quota)
    return Host(cores, _memory(), is_whole=cores == os.cpu_count())


def _quota(path: str) -> float | None:
    """Return the cores that a container may use, by Linux' control groups, version 2; None without a limit."""
    with contextlib.suppress(OSError, ValueError), open(path, encoding="ascii") as file:
        quota, period = file.read().split()
        return None if quota == "max" else int(quota) / int(period)
    return None


def _memory() -> int | None:
    with contextlib.suppress(OSError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None


def busy_seconds() -> float | None:
    """Return the CPU seconds that all programs have used since the host started; None if the system does not tell."""
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/stat", encoding="ascii") as file:
        # proc(5): user, nice, system, idle, iowait, irq, softirq, steal
        ticks = [int(word) for word in file.readline().split()[1:9]]
        return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")
    return None
