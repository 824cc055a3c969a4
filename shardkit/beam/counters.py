"""The counters that an engine's page shows, in one namespace."""

from apache_beam.metrics import Metrics

from shardkit.parallel.progress import count_with

NAMESPACE = "shardkit"


def count_in_beam() -> None:
    """Let the functions of shardkit count in the Beam step that calls them. Without a step, Beam counts nothing."""
    count_with(_count, _measure)


def _count(name: str, number: int) -> None:
    Metrics.counter(NAMESPACE, name).inc(number)


def _measure(name: str, value: int) -> None:
    Metrics.distribution(NAMESPACE, name).update(value)
