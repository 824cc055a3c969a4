"""The counters that an engine's page shows, in one namespace; and rejects, which are counted by reason."""

from collections.abc import Iterable, Iterator
from typing import Any

import apache_beam as beam
from apache_beam.metrics import Metrics

from shardkit.beam.elements import Reject
from shardkit.parallel.progress import count_with

NAMESPACE = "shardkit"
REJECTS = "rejects"  # tag of an output


def count_in_beam() -> None:
    """Let the functions of shardkit count in the Beam step that calls them. Without a step, Beam counts nothing."""
    count_with(_count, _measure)


def _count(name: str, number: int) -> None:
    Metrics.counter(NAMESPACE, name).inc(number)


def _measure(name: str, value: int) -> None:
    Metrics.distribution(NAMESPACE, name).update(value)


def tagged_rejects(rejects: Iterable[Reject]) -> Iterator[Any]:
    """Yield rejects under their tag, and count them by reason."""
    for reject in rejects:
        count_rejects([reject])
        yield beam.pvalue.TaggedOutput(REJECTS, reject)


def count_rejects(rejects: Iterable[Reject]) -> None:
    """Count rejects by reason."""
    for reject in rejects:
        Metrics.counter(NAMESPACE, f"rejected_{reject.reason}").inc()
