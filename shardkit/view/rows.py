"""The examples of all splits by number, read from the indexes a shard at a time.

Examples are numbered in the order of the manifest: splits, shards, records. A number belongs to one state of the
dataset: every index is compared with the manifest when it is read.
"""

import bisect
import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shardkit.dataset.features import NO_LABEL
from shardkit.dataset.index.shards import parse_columns, read_columns, read_indexes
from shardkit.dataset.manifest import Manifest
from shardkit.records import Example
from shardkit.records.example import read_example

Ints = npt.NDArray[np.int64]
_COLUMNS = ["key", "offset", "length", "label", "labels", "height", "width", "group", "source_bytes", "changes"]
_KEPT_ROWS = 200_000  # of the indexes read last: about 30 MB


class Rows:
    """The examples of a dataset. Safe for threads.

    Attributes:
        manifest: The dataset's manifest.
        num: Number of examples.
        spans: The [start, stop) numbers of each split.
    """

    def __init__(self, manifest: Manifest) -> None:
        """Number the examples; nothing is read."""
        self.manifest = manifest
        found = [(split, shard) for split, shard in manifest.shards() if shard.num_examples]
        self._splits, self._shards = [split for split, _ in found], [shard for _, shard in found]
        self._starts = [0, *itertools.accumulate(shard.num_examples for shard in self._shards)]
        self.num = self._starts[-1]
        ends = [*itertools.accumulate(split.num_examples for split in manifest.splits.values())]
        self.spans = dict(zip(manifest.splits, itertools.pairwise([0, *ends]), strict=True))
        self._pages: OrderedDict[int, pa.Table] = OrderedDict()
        self._lock = threading.Lock()

    def scan(
        self, columns: Sequence[str], split: str | None, show: Callable[[int, int], None]
    ) -> Iterator[tuple[int, pa.Table]]:
        """Yield the number of the first example of each shard, and columns of its index.

        Args:
            columns: Names of the columns.
            split: Name of a split; None for all.
            show: Receives the examples read, and all of them, after each shard.
        """
        chosen = [at for at, name in enumerate(self._splits) if split in {None, name}]
        shards = [self._shards[at] for at in chosen]
        done, total = 0, sum(shard.num_examples for shard in shards)
        root = self.manifest.root
        for at, shard, raw in zip(chosen, shards, read_indexes(root, shards), strict=True):
            yield self._starts[at], parse_columns(root, shard, raw, [*columns])
            done += shard.num_examples
            show(done, total)

    def keys(self) -> Iterator[pa.ChunkedArray]:
        """Yield the keys of each shard."""
        return (table["key"] for _, table in self.scan(["key"], None, lambda *_: None))

    def number_of(self, shard: int, row: int) -> int:
        """Return the number of an example by that of its shard, as `keys` yields them."""
        return self._starts[shard] + row

    def read(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """Return the columns of some examples, with their split.

        Raises:
            DataError: An index is missing or no longer what the manifest says.
            MachineError: It cannot be read.
        """
        names = self.manifest.classes
        rows = []
        for number in numbers:
            shard, row = self._place(number)
            # Of one row: of a class in ten thousand, every row of a page is in another shard.
            found = {name: column[0].as_py() for name, column in self._row(shard, row).items()}
            labels = [found["label"]] if found["label"] is not None else found["labels"] or []
            classes = [names[label] for label in dict.fromkeys(labels) if label != NO_LABEL]
            more = {"number": number, "split": self._splits[shard], "classes": classes}
            rows.append({**found, **more, "is_unlabelled": labels == [NO_LABEL]})
        return rows

    def example(self, number: int) -> Example:
        """Read the record of an example.

        Raises:
            DataError: The index or the record is damaged.
            MachineError: The shard cannot be read.
        """
        shard, row = self._place(number)
        found = self._row(shard, row)
        offset, length, key = (found[name][0].as_py() for name in ("offset", "length", "key"))
        return read_example(self.manifest, self._shards[shard], row, offset, length, key)

    def _place(self, number: int) -> tuple[int, int]:
        shard = bisect.bisect_right(self._starts, number) - 1
        return shard, number - self._starts[shard]

    def _row(self, shard: int, row: int) -> dict[str, pa.ChunkedArray]:
        part = self._page(shard).slice(row, 1)
        return dict(zip(part.column_names, part.columns, strict=True))

    def _page(self, shard: int) -> pa.Table:
        """Return the index of a shard, of those read last from memory."""
        with self._lock:
            if shard in self._pages:
                self._pages.move_to_end(shard)
                return self._pages[shard]
        page = read_columns(self.manifest.root, self._shards[shard], _COLUMNS)
        with self._lock:
            self._pages[shard] = page
            while len(self._pages) > 1 and sum(map(len, self._pages.values())) > _KEPT_ROWS:
                self._pages.popitem(last=False)
        return page


def as_array(numbers: "range | Ints") -> Ints:
    """Return int64[n]."""
    return np.arange(numbers.start, numbers.stop) if isinstance(numbers, range) else numbers
