"""Exchanges of elements between workers that also take place on Flink.

Beam translates a Reshuffle to a rebalance of Flink, and Flink leaves a rebalance out if its input counts as rebalanced
already. Steps pass that on until something is grouped: of two Reshuffles with no GroupByKey between, only the first one
moves elements.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import apache_beam as beam


class Keep(beam.PTransform):  # type: ignore[misc] # Beam is untyped
    """A few elements to themselves, but a step behind that is repeated sees the same ones again.

    It groups them by one key, so one worker has them all. A Reshuffle would disable the next one on Flink.
    """

    def expand(self, elements: Any) -> Any:
        return (
            elements
            | "Key" >> beam.Map(_with_one_key)  # (0, element)
            | "Group" >> beam.GroupByKey()  # (0, [element])
            | "Ungroup" >> beam.FlatMap(_values).with_output_types(elements.element_type)
        )


def _with_one_key(element: Any) -> tuple[int, Any]:
    return 0, element


def _values(grouped: tuple[int, Iterable[Any]]) -> Iterable[Any]:
    return grouped[1]


class SpreadAgain(beam.PTransform):  # type: ignore[misc] # Beam is untyped
    """Pairs, each with another key, to themselves, spread evenly behind a Reshuffle: only grouped, Flink spreads them.

    Grouping alone hashes the keys, which is uneven. The keys are the elements' own, the same when a step is repeated:
    with random ones, an engine that repeats a part of a step could lose elements and double others.
    """

    def expand(self, pairs: Any) -> Any:
        return (
            pairs
            | "Group" >> beam.GroupByKey()  # (key, [value])
            | "Ungroup" >> beam.FlatMap(_pairs).with_output_types(pairs.element_type)
            | "Spread" >> beam.Reshuffle()
        )


def _pairs(grouped: tuple[Any, Iterable[Any]]) -> Iterator[tuple[Any, Any]]:
    key, values = grouped
    for value in values:
        yield key, value
