"""Plan the next examples before their records are read: which they are, and their windows, flips and seeds."""

import functools
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shardkit.dataset.stored_names import names_in_records, record_key
from shardkit.fetch.table.records import RecordTable
from shardkit.fetch.windows import UNIFORMS, Crops
from shardkit.order import BatchLayout, sequential
from shardkit.order.permutation import LOW_32, mix32, seed_words
from shardkit.order.training import BlockwiseOrder, Order

_Ints = npt.NDArray[np.int64]
Columns = dict[str, npt.NDArray[Any]]

# A hundred calls of NumPy take 0.7 ms, whatever the number of examples up to this one; and NumPy releases the
# interpreter's lock in operations on more than 500 elements.
PLANNED = 448
# Planning eight times as many takes 1.5 times as long, and hundreds of those operations: no time to wait for the lock
# at each of them.
PLANNED_WITH_FREE_LOCK = 8 * PLANNED
# Takes the place of the epoch in the seeds of batches: no epoch has this number.
BATCH_EPOCH = -1

# Columns that are not known from the index of an example: its place, and what only a fetch needs.
ID, EPOCH, WINDOW_NAME = "id", "epoch", "lane_window"
BATCH_SEED = "batch_seed"
IS_EXAMPLE = "is_example"  # the other rows of a short batch are cut off
KEY_HASH = "key_hash"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is wanted of each example."""

    seed: int  # of the draws
    crops: Crops | None = None  # how windows are chosen; None without windows
    has_record: bool = True
    has_image: bool = False  # encoded
    has_size: bool = False  # height and width of the image
    has_seed: bool = False  # one for each example
    has_batch_seed: bool = False  # one for each place, for functions of batches
    class_weights: tuple[float, ...] | None = None  # in label order
    short_last_batch: bool = False  # an evaluation without padding


class Places:
    """The places of one worker: place p is place p % B of step p // B, where a step has B examples of this worker."""

    def __init__(
        self, table: RecordTable, order: Order | None, layout: BatchLayout, wanted: Wanted, end_step: int
    ) -> None:
        self._table, self.order, self._layout, self._wanted = table, order, layout, wanted
        self.end = end_step * layout.per_worker_batch_size
        weights = wanted.class_weights
        self._weights = None if weights is None else np.array(weights, np.float32)
        self._is_png = table.is_png if table.is_png.any() and not table.is_png.all() else None
        self._is_numbered = wanted.has_record and not names_in_records("key", table.stored_as)
        self._plans: dict[int, Columns] = {}

    def columns(self, first: int, count: int) -> Columns:
        """Return the columns of some places, [count, …] each; of fewer at the end of an evaluation."""
        stop = min(first + count, self.end)
        plans = [self._plan(number) for number in range(first // PLANNED, (stop - 1) // PLANNED + 1)]
        parts = []
        for number, plan in enumerate(plans, first // PLANNED):
            start = number * PLANNED
            rows = slice(max(first - start, 0), min(stop - start, PLANNED))
            parts.append({name: column[rows] for name, column in plan.items()})
        if len(parts) == 1:
            return parts[0]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _plan(self, number: int) -> Columns:
        """Return the columns of places that are planned together; the last few plans are kept."""
        plan = self._plans.get(number)
        if plan is None:
            first, together = number * PLANNED, PLANNED_WITH_FREE_LOCK if _is_lock_free() else PLANNED
            columns = self.plan(np.arange(first, min(first + together, self.end)))
            plans = {
                number + at // PLANNED: {name: column[at : at + PLANNED] for name, column in columns.items()}
                for at in range(0, len(columns[ID]), PLANNED)
            }
            # A race with another thread costs a plan, no more.
            self._plans = dict(list(self._plans.items())[-16:]) | plans
            plan = plans[number]
        return plan

    def plan(self, places: _Ints) -> Columns:
        """Return the columns of some places, and those of `_NOT_COLUMNS`."""
        layout, wanted, num_examples = self._layout, self._wanted, self._table.num_examples
        size = layout.per_worker_batch_size
        positions = places // size * layout.global_batch_size + layout.slots.start + places % size
        columns: Columns = {}
        if self.order is not None:
            ids, epochs = self.order.draw(positions)
        elif wanted.short_last_batch:
            ids, is_example = sequential.short_ids(positions, num_examples=num_examples, layout=layout)
            epochs = np.zeros_like(positions)
            columns |= {"weight": is_example.astype(np.float32), IS_EXAMPLE: is_example}
        else:
            ids, columns["weight"] = sequential.padded_ids(positions, num_examples=num_examples)
            epochs = np.zeros_like(positions)
        if isinstance(self.order, BlockwiseOrder):
            columns[WINDOW_NAME] = self.order.window_starts(positions)
        if wanted.has_batch_seed:
            columns[BATCH_SEED] = seeds(positions, np.array([BATCH_EPOCH]), wanted.seed)
        return columns | self.of_examples(ids, epochs) | {ID: ids, EPOCH: epochs}

    def of_examples(self, ids: _Ints, epochs: _Ints) -> Columns:
        """Return the columns of examples, as they are read in an epoch each; int64[n] both."""
        table, wanted, key_hash = self._table, self._wanted, self._table.key_hash[ids]
        label, height, width = table.label[ids], table.height[ids], table.width[ids]
        columns: Columns = {"label": label}
        if self._is_png is not None:
            columns["is_png"] = self._is_png[ids]
        if self._weights is not None:
            columns["weight"] = self._weights[label]
        if wanted.has_size:
            columns |= {"height": height, "width": width}
        if wanted.has_record:
            columns |= {KEY_HASH: key_hash} | self._beside_record(ids, height, width)
        if wanted.has_seed:
            columns["seed"] = seeds(key_hash, epochs, wanted.seed)
        crops = wanted.crops
        if crops is not None:
            drawn = np.zeros((0, 0), np.float32)
            if crops.scale is not None or crops.flip:
                drawn = uniforms(key_hash, epochs, wanted.seed, UNIFORMS + 1)
            if crops.flip:
                columns["flip"] = drawn[-1] < 0.5
            columns["window"] = crops.windows(height, width, drawn[:-1])
        return columns

    def _beside_record(self, ids: _Ints, height: npt.NDArray[np.int32], width: npt.NDArray[np.int32]) -> Columns:
        """Return what a parsed record lacks, and where its image is."""
        table, columns = self._table, Columns()
        if self._wanted.has_image:
            columns |= {"image_start": table.image_start[ids], "image_bytes": table.image_bytes[ids]}
        for name, column in (("height", height), ("width", width)):
            if table.stored_as.get(name) == ():
                columns[name] = column
        if table.relabelling is not None:
            columns["dataset"] = table.dataset[table.shard_of(ids)]
        if self._is_numbered:
            columns["key"] = self._record_keys(ids)
        return columns

    def _record_keys(self, ids: _Ints) -> npt.NDArray[Any]:
        table, shards = self._table, self._table.shard_of(ids)
        rows = zip(shards.tolist(), (table.records[ids] - table.starts[shards]).tolist(), strict=True)
        return np.array([record_key(table.key_paths[shard], number).encode() for shard, number in rows], object)


def _is_lock_free() -> bool:
    """Return whether no other thread runs Python without a break: it would keep the lock for its whole interval."""
    start = time.perf_counter()
    time.sleep(0)
    return time.perf_counter() - start < sys.getswitchinterval() / 2


# 2**32 / golden ratio, odd: consecutive multiples differ in all bits once mixed (Weyl sequence, as in SplitMix).
WEYL = 0x9E3779B9


def uniforms(key_hashes: _Ints, epochs: _Ints, seed: int, count: int) -> npt.NDArray[np.float32]:
    """Return float32[count, n] in [0, 1) with 24 random bits each."""
    first, second = _words(seed)[:, 0]
    state = _mixed(key_hashes, epochs, first, second)
    steps = np.arange(1, count + 1, dtype=np.int64).reshape(-1, 1) * WEYL
    drawn: npt.NDArray[np.float32] = (mix32(state + steps & LOW_32) >> 8).astype(np.float32) * np.float32(2**-24)
    return drawn


def seeds(key_hashes: _Ints, epochs: _Ints, seed: int) -> npt.NDArray[np.int32]:
    """Return a seed for stateless ops for each example in its epoch, int32[n, 2]; see `uniforms`."""
    words = [_mixed(key_hashes, epochs, start, 0) - (1 << 31) for start in _words(seed)[:, 1]]
    return np.stack(words, axis=1).astype(np.int32)


def _mixed(key_hashes: _Ints, epochs: _Ints, first: int, second: int) -> _Ints:
    state = mix32(key_hashes & LOW_32 ^ first)
    state = mix32(state ^ (key_hashes >> 32 & LOW_32))
    state = mix32(state ^ (epochs & LOW_32) ^ second)
    return mix32(state ^ (epochs >> 32))


@functools.lru_cache
def _words(seed: int) -> _Ints:
    """Return int64[2, 2]: two words for `uniforms`, in the first column, and two for `seeds`."""
    return seed_words(seed, 1)[:, 0]
