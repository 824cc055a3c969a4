"""The Beam transform that spreads elements over the workers."""

from dataclasses import dataclass
from typing import Any

import apache_beam as beam


@dataclass
class Spread(beam.PTransform):  # type: ignore[misc] # Beam is untyped; not frozen: Beam sets `label`
    """(key, value) pairs with different keys to (key, [value]), spread over the workers.

    Grouping hashes the keys, which gives 4 workers 2, 8, 4 and 2 of 16 shards. Reshuffle gives each 4, on Flink by a
    rebalance. It has five transforms more, and each costs Beam's own runner 20 ms at its start. Threads of one
    process take the next element when they are free, so grouping is enough there.
    """

    is_remote: bool

    def expand(self, pairs: Any) -> Any:
        """See PTransform."""
        if self.is_remote:
            return pairs | "Rebalance" >> beam.Reshuffle() | "AsList" >> beam.MapTuple(_as_list)  # (key, [value])
        return pairs | "Group" >> beam.GroupByKey()  # (key, [value])


def _as_list(key: Any, value: Any) -> tuple[Any, list[Any]]:
    return key, [value]
