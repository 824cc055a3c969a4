"""Time an endless stream of batches once it is warm, and say so as JSON on the last line of output."""

import itertools
import json
import os
import resource
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

BATCH_SIZE = 64


def start_busy_thread() -> None:
    """Start a thread that runs Python without a break, as a logger or a metric of the trainer may."""

    def run() -> None:
        number = 0
        while True:
            number = (number * 31 + 7) % 1_000_003

    threading.Thread(target=run, daemon=True).start()


def measure(batches: Iterator[Any], *, warm_up: int, num_batches: int, is_busy: bool = False) -> None:
    """Print images/s and microseconds of CPU an image over num_batches of BATCH_SIZE; then end the process.

    CPU is that of all threads of this process. Warming up takes as long as a pipeline needs to fill its buffers and to
    tune its number of threads.
    """
    if is_busy:
        start_busy_thread()
    for _ in itertools.islice(batches, warm_up):
        pass
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    taken = sum(1 for _ in itertools.islice(batches, num_batches))
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    images = taken * BATCH_SIZE
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps({"per_second": images / seconds, "cpu_us": cpu / images * 1e6}))
    sys.stdout.flush()
    # Pipelines that read ahead take their time to stop, and some never do.
    os._exit(0)
