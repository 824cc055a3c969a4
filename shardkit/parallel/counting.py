"""Counters and distributions of workers: an engine shows them on its page, threads of this process count nothing.

They are for people who watch a job. What decides anything, such as the number of rejects, travels in files: engines
count an element twice that they work on twice.
"""

from collections.abc import Callable
from dataclasses import dataclass


def _nothing(name: str, value: int) -> None:
    del name, value


@dataclass(slots=True)
class _Counting:
    """Where this process counts."""

    count: Callable[[str, int], None] = _nothing
    measure: Callable[[str, int], None] = _nothing


_counting = _Counting()


def count(name: str, number: int = 1) -> None:
    """Add to a counter.

    Args:
        name: Name of the counter, such as ``shards_written``.
        number: What is added.
    """
    _counting.count(name, number)


def measure(name: str, value: int) -> None:
    """Add a value to a distribution.

    Args:
        name: Name of the distribution, such as ``shard_bytes``.
        value: The value.
    """
    _counting.measure(name, value)


def count_with(count_by: Callable[[str, int], None], measure_by: Callable[[str, int], None]) -> None:
    """Count by these functions in this process, from now on."""
    _counting.count, _counting.measure = count_by, measure_by
