"""Counters and distributions of workers: an engine shows them on its page, threads of this process count nothing.

They are for people who watch a job. What decides anything, such as the number of rejects, travels in files: engines
count an element twice that they work on twice.
"""

from collections.abc import Callable

Counting = Callable[[str, int], None]

_functions: dict[str, Counting] = {}  # of this process


def count(name: str, number: int = 1) -> None:
    """Add to a counter, such as ``shards_written``."""
    if "count" in _functions:
        _functions["count"](name, number)


def measure(name: str, value: int) -> None:
    """Add a value to a distribution, such as ``shard_bytes``."""
    if "measure" in _functions:
        _functions["measure"](name, value)


def count_with(count_by: Counting, measure_by: Counting) -> None:
    """Count by these functions in this process, from now on."""
    _functions.update(count=count_by, measure=measure_by)
