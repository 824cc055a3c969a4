"""Cores and memory in containers, from made files of both versions of control groups."""

import os
from pathlib import Path

import pytest

from shardkit import host
from shardkit.api.executors import number_of_workers
from shardkit.host import Host, available_memory, this_host
from shardkit.testing import write_tree

GIB = 1 << 30
MEMINFO = b"MemTotal:       16777216 kB\nMemAvailable:    8388608 kB\n"


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": (16 * GIB) // 4096}.__getitem__)


def container(tmp_path: Path, groups: str, files: dict[str, str]) -> str:
    files = {"proc/self/cgroup": groups, **{f"sys/fs/cgroup/{path}": text for path, text in files.items()}}
    return str(write_tree(tmp_path, {"proc/meminfo": MEMINFO, **{path: text.encode() for path, text in files.items()}}))


VERSION_1 = "5:memory:/docker/1a2b\n3:cpu,cpuacct:/docker/1a2b\n1:name=systemd:/docker/1a2b\n0::/system.slice\n"
CORES = {
    "no control groups": ("", {}, 8),
    "version 2, no limit": ("0::/\n", {"cpu.max": "max 100000\n"}, 8),
    "version 2, seen from inside": ("0::/\n", {"cpu.max": "250000 100000\n"}, 2.5),
    "version 2, more than there are": ("0::/\n", {"cpu.max": "1600000 100000\n"}, 8),
    "version 2, a limit of a group above": (
        "0::/user.slice/job\n",
        {"user.slice/job/cpu.max": "max 100000\n", "user.slice/cpu.max": "300000 100000\n"},
        3,
    ),
    "version 1, no limit": (VERSION_1, {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 8),
    # The path is the host's, the mount shows the container's own group as the root.
    "version 1, in Docker": (VERSION_1, {"cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 0.5),
    "version 1, on the host": (
        VERSION_1,
        {"cpu/docker/1a2b/cpu.cfs_quota_us": "400000\n", "cpu/docker/1a2b/cpu.cfs_period_us": "100000\n"},
        4,
    ),
    "a file that cannot be parsed": ("0::/\n", {"cpu.max": "many\n"}, 8),
}


@pytest.mark.parametrize(("groups", "files", "cores"), CORES.values(), ids=CORES)
def test_the_quota_of_a_container_limits_the_cores(groups, files, cores, tmp_path):
    found = this_host(container(tmp_path, groups, files))
    assert found.cores == cores
    assert found.is_whole == (cores == 8)


@pytest.mark.parametrize(("cores", "threads"), [(8, 8), (2.5, 3), (0.5, 1)])
def test_threads_use_a_part_of_a_core_too(cores, threads):
    assert Host(cores, None).threads == threads


def test_a_conversion_starts_no_more_threads_than_the_quota_has_cores(tmp_path, monkeypatch):
    root = container(tmp_path, "0::/\n", {"cpu.max": "200000 100000\n"})
    text = host._text
    monkeypatch.setattr(host, "_text", lambda _, path: text(root, path))
    assert number_of_workers(None) == 2
    assert number_of_workers(5) == 5, "what the user says counts"


MEMORY = {
    "no limit": ("0::/\n", {"memory.max": "max\n"}, 16 * GIB, 8 * GIB),
    "version 2": (
        "0::/\n",
        {
            "memory.max": f"{4 * GIB}\n",
            "memory.current": f"{3 * GIB}\n",
            "memory.stat": f"anon 1\ninactive_file {GIB}\n",
        },
        4 * GIB,
        2 * GIB,
    ),
    "version 1, no limit": (VERSION_1, {"memory/memory.limit_in_bytes": "9223372036854771712\n"}, 16 * GIB, 8 * GIB),
    "version 1": (
        VERSION_1,
        {
            "memory/memory.limit_in_bytes": f"{2 * GIB}\n",
            "memory/memory.usage_in_bytes": f"{GIB}\n",
            "memory/memory.stat": "inactive_file 1\ntotal_inactive_file 0\n",
        },
        2 * GIB,
        GIB,
    ),
}


@pytest.mark.parametrize(("groups", "files", "installed", "free"), MEMORY.values(), ids=MEMORY)
def test_the_limit_of_a_container_limits_the_memory(groups, files, installed, free, tmp_path):
    root = container(tmp_path, groups, files)
    assert this_host(root).memory_bytes == installed
    assert available_memory(root) == free
