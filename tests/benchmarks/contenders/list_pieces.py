"""What each step of listing one table or archive takes, as one part and in the pieces that several workers list.

python list_pieces.py SOURCE

Seconds of CPU time, except `one_wall` and `two_wall`: one process lists all parts, or two share the pieces, which the
driver made before. `others` is the part that counts images that a table does not name; it is never divided.
"""

import json
import multiprocessing
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

from shardkit.sources.opening import open_source
from shardkit.sources.options import SourceOptions

T = TypeVar("T")
BATCH_ROWS = 1 << 14  # as with --check header
SOURCE_URL = sys.argv[1]


def list_part(part: Any) -> int:
    """Number of rows of a part."""
    return sum(len(listing.table()) for listing in SOURCE.list_part(part, BATCH_ROWS))


def timed(work: Callable[[], T], clock: Callable[[], float] = time.process_time) -> tuple[T, float]:
    """A result, and the seconds that it took."""
    start = clock()
    return work(), clock() - start


SOURCE, opening = timed(lambda: open_source(SOURCE_URL, SourceOptions()))
if __name__ == "__main__":
    whole, *others = SOURCE.parts()
    num_rows, listing = timed(lambda: list_part(whole))
    figures = {"open": opening, "list": listing, "others": timed(lambda: [*map(list_part, others)])[1]}
    pieces, figures["divide"] = timed(lambda: SOURCE.divided(whole))
    counts, figures["pieces"] = timed(lambda: [*map(list_part, pieces)])
    if sum(counts) != num_rows:
        sys.exit(f"the pieces have {sum(counts)} rows, the whole {num_rows}")
    for name, count, tasks in (("one_wall", 1, [whole, *others]), ("two_wall", 2, [*others, *pieces])):
        with multiprocessing.get_context("fork").Pool(count) as pool:
            pool.map(len, [""] * count)  # until its processes have started
            figures[name] = timed(lambda: pool.map(list_part, tasks, 1), time.perf_counter)[1]  # noqa: B023
    print(json.dumps({"rows": num_rows, "num_pieces": len(pieces), **figures}))
