"""Read the records of many examples by one call of Python; what cannot be read is an empty record at first.

TensorFlow's own reader takes 100 microseconds of machinery for each record; this one takes five.
"""

import os
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from shardkit.dataset.record_files import RecordFiles
from shardkit.reader.cache.memory import HeldPixels
from shardkit.reader.cache.shard_cache import HeldPaths
from shardkit.reader.python_calls import callable_in_graph, without_autograph
from shardkit.reader.table.records import RecordTable
from shardkit.storage import LocalFolder


class RecordBatches:
    """The records of a table, by example."""

    def __init__(self, table: RecordTable) -> None:
        """Name the files; none is opened.

        Args:
            table: The split's record table.
        """
        self._table = table
        if isinstance(table.paths, HeldPaths):
            places = map(os.path.split, table.paths)
            self._files = RecordFiles([(LocalFolder(folder), name) for folder, name in places])
        else:
            self._files = RecordFiles([(root, one.path) for root, one in zip(table.roots, table.shards, strict=True)])

    @property
    def are_local(self) -> bool:
        """Whether all files are on this machine."""
        return self._files.are_local

    def read(self, example_ids: npt.NDArray[np.int64]) -> npt.NDArray[np.object_]:
        """Return the data of the examples' records; empty where a record is damaged or its file cannot be read.

        Args:
            example_ids: int64[n].
        """
        held = self._table.held
        if held is None:
            return self._read(example_ids)
        held.begin(self._files, self._places)
        found, missing = held.of(example_ids)
        if len(missing):
            found[missing] = self._read(example_ids[missing])
            held.keep(example_ids[missing], found[missing])
        return cast("npt.NDArray[np.object_]", found)

    def _read(self, example_ids: npt.NDArray[np.int64]) -> npt.NDArray[np.object_]:
        found = self._files.read(*self._places(example_ids))
        return np.array([data if isinstance(data, bytes) else b"" for data in found], object)

    def _places(self, example_ids: npt.NDArray[np.int64]) -> Any:
        table = self._table
        return table.shard_of(example_ids), table.offset[example_ids], table.length[example_ids].astype(np.int64)

    def reopen(self) -> None:
        """Open each file anew from now on, because one was replaced."""
        self._files.reopen()


class UndecodedRecords:
    """The records whose images have to be decoded, chunk by chunk."""

    def __init__(self, records: RecordBatches, pixels: HeldPixels, chunk_size: int) -> None:
        """Remember the records, the images that are held, and the number of examples that are decoded together."""
        self._records, self._pixels, self._chunk_size = records, pixels, chunk_size

    def read(self, example_ids: npt.NDArray[np.int64]) -> npt.NDArray[np.object_]:
        """Return what RecordBatches.read does, and any data for the examples of chunks whose images are all held.

        Args:
            example_ids: int64[n], whole chunks.
        """
        are_held = self._pixels.are_held(example_ids).reshape(-1, self._chunk_size).all(axis=1)
        missing = np.flatnonzero(~np.repeat(are_held, self._chunk_size))
        found = np.full(len(example_ids), b"held", object)
        if len(missing):
            found[missing] = self._records.read(example_ids[missing])
        return found


class BatchReader:
    """The graph function that reads the records of instructions."""

    def __init__(self, records: "RecordBatches | UndecodedRecords") -> None:
        """Make a reader of these records."""
        self._read = callable_in_graph(records.read, [tf.string])

    @without_autograph
    def __call__(self, instructions: dict[str, Any]) -> dict[str, Any]:
        """Return instructions, and in "record" the data of their records, string[n], as RecordBatches.read does.

        Args:
            instructions: Columns, [n] each; "id" has the examples.
        """
        (records,) = self._read(instructions["id"])
        records.set_shape([None])  # numpy_function knows no shape
        return instructions | {"record": records}
