"""How fast shards come into the cache, compared with plain copying of the same files in the same round.

    python tests/benchmarks/bench_cache.py [--work FOLDER]

Takes 2 GB below --work or the temporary folder. Disk: a folder on the same disk, against `copy and fsync` without a
checksum and `copy, sha256, fsync`, both one file after the other. Link: every request takes 50 ms and all together get
no more bytes a second than the link has; against the link itself, which is bytes / rate plus one request. Warm: all
shards are here, which is what every later run of a trainer waits for. Ratios are seconds over those of the contender
named.
"""

import argparse
import hashlib
import os
import shutil
import statistics
import sys
import threading
import time
from pathlib import Path

from timing import print_table, work_folder

from shardkit.dataset.manifest import Index, Shard
from shardkit.reader.shard_cache import ShardCache
from shardkit.storage import LocalFolder

SHARD_BYTES = 128 << 20  # 128 MiB
SECONDS_A_REQUEST = 0.05
TARGETS = {"disk: cache": 1.1, "link: cache": 1.1}


class Link(LocalFolder):
    """A folder behind a link: so long a request, and so many bytes a second over all of them."""

    bytes_a_second = 0
    lock = threading.Lock()
    free_at = 0.0

    def read_range(self, path: str, start: int, num_bytes: int) -> bytes:
        data = LocalFolder.read_range(self, path, start, num_bytes)
        time.sleep(SECONDS_A_REQUEST)
        with Link.lock:
            Link.free_at = max(Link.free_at, time.monotonic()) + len(data) / Link.bytes_a_second
            ready_at = Link.free_at
        time.sleep(max(0.0, ready_at - time.monotonic()))
        return data


def make(folder: Path, count: int) -> list[Shard]:
    """Shards of bytes that no disk compresses."""
    shards = []
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        raw = os.urandom(SHARD_BYTES)
        name = f"train-{number:05d}-of-{count:05d}"
        (folder / f"{name}.tfrecord").write_bytes(raw)
        index = Index(path=f"{name}.index.parquet", sha256="0" * 64)
        sha256 = hashlib.sha256(raw).hexdigest()
        shards.append(Shard(path=f"{name}.tfrecord", num_examples=1, num_bytes=SHARD_BYTES, sha256=sha256, index=index))
    return shards


def copy(source: Path, out: Path, shards: list[Shard], *, checked: bool) -> None:
    """Plain copying, one file after the other; each is on the disk when it is done."""
    for shard in shards:
        with open(source / shard.path, "rb") as read, open(out / shard.path, "wb") as write:
            digest = hashlib.sha256()
            while chunk := read.read(8 << 20):
                if checked:
                    digest.update(chunk)
                write.write(chunk)
            write.flush()
            os.fsync(write.fileno())
        if checked and digest.hexdigest() != shard.sha256:
            sys.exit(f"{shard.path}: bad copy")


def cached(root: LocalFolder, out: Path, shards: list[Shard]) -> None:
    ShardCache(str(out), len(shards) * SHARD_BYTES).fetch([root] * len(shards), shards)


def seconds_of(work) -> float:
    os.sync()  # what the one before wrote must not be flushed at this one's cost
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, help="default: a temporary folder")
    parser.add_argument("--shards", type=int, default=8, help="of 128 MiB each")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--link", type=float, default=200e6, help="bytes a second")
    given = parser.parse_args()
    Link.bytes_a_second = given.link
    with work_folder(given.work) as work:
        source, out = work / "source", work / "out"
        shards = make(source, given.shards)
        near, far = LocalFolder(str(source)), Link(str(source))
        total = given.shards * SHARD_BYTES
        contenders = {
            "disk: copy and fsync": lambda: copy(source, out, shards, checked=False),
            "disk: copy, sha256, fsync": lambda: copy(source, out, shards, checked=True),
            "disk: cache": lambda: cached(near, out, shards),
            "link: cache": lambda: cached(far, out, shards),
            "warm: cache": lambda: cached(near, out, shards),
        }
        taken: dict[str, list[float]] = {name: [] for name in contenders}
        taken["link: itself"] = [total / given.link + SECONDS_A_REQUEST] * given.rounds
        for _ in range(given.rounds):
            for name, contender in contenders.items():
                if not name.startswith("warm"):
                    shutil.rmtree(out, ignore_errors=True)
                    out.mkdir()
                taken[name].append(seconds_of(contender))
        shutil.rmtree(out)
        shutil.rmtree(source)
    against = {
        "disk: copy, sha256, fsync": "disk: copy and fsync",
        "disk: cache": "disk: copy, sha256, fsync",  # the same work: a checksum costs cores that plain copying does not
        "link: cache": "link: itself",
    }
    rows = [["", "wall s", "least-most", "MB/s", "ratio", "to", "target"]]
    kept = True
    for name in sorted(taken):
        mine, other = taken[name], against.get(name, "")
        median = statistics.median(mine)
        ratio = statistics.median(a / b for a, b in zip(mine, taken[other], strict=True)) if other else 0.0
        kept &= ratio <= TARGETS.get(name, ratio)
        rows.append(
            [
                name,
                f"{median:.3f}",
                f"{min(mine):.3f}-{max(mine):.3f}",
                f"{total / median / 1e6:,.0f}",
                f"{ratio:.2f}" if other else "",
                other,
                f"{TARGETS[name]}" if name in TARGETS else "",
            ]
        )
    print_table(f"{given.shards} shards of {SHARD_BYTES >> 20} MiB; median of {given.rounds} rounds", rows)
    sys.exit(not kept)


if __name__ == "__main__":
    main()
