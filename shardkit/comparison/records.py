"""Compare records, for differences that the indexes do not decide.

First the bytes around the image are compared, which hold everything else: usually a few hundred bytes. Only if they
differ, or the images have to be compared, are both records read whole and parsed.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shardkit.comparison.rows import SHARD, Dataset
from shardkit.dataset import example
from shardkit.dataset.features import LABEL, LABELS, OBJECT_LABELS
from shardkit.dataset.index.shards import shard_errors
from shardkit.dataset.manifest import Manifest
from shardkit.dataset.manifest.readopting import made_again
from shardkit.dataset.stored_names import with_own_names
from shardkit.dataset.tfrecord import HEADER_BYTES, OVERHEAD_BYTES, frame_problem
from shardkit.errors import RecordError
from shardkit.naming import printable
from shardkit.storage import LocalFolder
from shardkit.storage.concurrent_reads import read_many
from shardkit.storage.retry import retried

BATCH = 1024  # records of each dataset that are read at a time
SMALL_IMAGE = 16 << 10  # 16 KiB: up to this size, one read with the image is cheaper than two around it

Numbers = npt.NDArray[np.int64]
_Read = TypeVar("_Read")
_LOCATION = [SHARD, "offset", "length", "image_start", "image_bytes"]


@dataclass(frozen=True, slots=True)
class RecordDiff:
    """The differences of two records.

    Attributes:
        row: Number of the pair.
        image: Whether the stored images differ.
        label: The values of a numeric label in A and B; None if it does not differ.
        features: Names of other features that differ.
    """

    row: int
    image: bool
    label: tuple[str, str] | None
    features: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecordComparison:
    """What is compared.

    Attributes:
        features: Names of features to compare.
        numbers: int64[number of classes of B], the number in A of each class of B.
        is_renumbered: Whether a label of A means another class in B.
    """

    features: Sequence[str]
    numbers: Numbers
    is_renumbered: bool

    @property
    def decodes_all(self) -> bool:
        """Whether equal bytes do not mean equal labels of objects."""
        return OBJECT_LABELS in self.features and self.is_renumbered

    def differences(
        self, a: tuple[Dataset, pa.Table], b: tuple[Dataset, pa.Table], compares_image: npt.NDArray[np.bool_]
    ) -> Iterator[RecordDiff]:
        """Yield the records that differ.

        Args:
            a: The dataset A and n of its rows.
            b: The dataset B and the paired rows.
            compares_image: bool[n], whether the images have to be compared.

        Raises:
            RecordError: A record is damaged.
            MachineError: A shard cannot be read.
        """
        table_a, table_b = a[1].select([*_LOCATION, "key"]), b[1].select([*_LOCATION, "key"])
        # In the order of A's shards, so that its reads go forward.
        order = np.lexsort((table_a["offset"].to_numpy(), table_a[SHARD].to_numpy()))
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            one, other = _Batch(a[0], table_a, rows), _Batch(b[0], table_b, rows)
            undecided = compares_image[rows].copy()
            if self.decodes_all or a[0].manifest.stored_as != b[0].manifest.stored_as:
                undecided[:] = True
            elif self.features:
                around = np.flatnonzero(~undecided)
                pairs = zip(one.around_image(around), other.around_image(around), strict=True)
                undecided[around] = [left != right for left, right in pairs]
            whole = np.flatnonzero(undecided)
            for at, left, right in zip(whole, one.records(whole), other.records(whole), strict=True):
                found = self._compare(int(rows[at]), left, right, compares_image=bool(compares_image[rows[at]]))
                if found.image or found.label or found.features:
                    yield found

    def _compare(self, row: int, a: "_Record", b: "_Record", *, compares_image: bool) -> RecordDiff:
        image = compares_image and a.image != b.image
        label, different = None, list[str]()
        if self.features:
            one, other = a.values(self.features), b.values(self.features)
            for name in self.features:
                values = one[name], other[name]
                if name == OBJECT_LABELS:
                    values = values[0], [self._number_in_a(value) for value in values[1]]
                if _equal(*values):
                    continue
                if name in {LABEL, LABELS}:
                    label = _as_text(values[0]), _as_text(values[1])
                else:
                    different.append(name)
        return RecordDiff(row, image, label, tuple(different))

    def _number_in_a(self, label: Any) -> Any:
        is_class = isinstance(label, int) and 0 <= label < len(self.numbers)
        return int(self.numbers[label]) if is_class else label


def _equal(a: Sequence[Any], b: Sequence[Any]) -> bool:
    if a == b:
        return True
    # NaN is unequal to itself.
    return len(a) == len(b) and all(
        x == y or (isinstance(x, float) and isinstance(y, float) and math.isnan(x) and math.isnan(y))
        for x, y in zip(a, b, strict=True)
    )


def _as_text(values: Sequence[Any]) -> str:
    return ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)


@dataclass(frozen=True, slots=True)
class _Record:
    manifest: Manifest
    where: str
    data: bytes
    image: bytes

    def values(self, features: Sequence[str]) -> dict[str, list[Any]]:
        """Return the values of some features, all of which must be there."""
        try:
            stored = example.decode(self.data)
            found = with_own_names(stored, self.manifest.stored_as, self.manifest.features)
        except RecordError as error:
            raise RecordError(f"{self.where}: {error}; run `shardkit verify`") from None
        if missing := [name for name in features if name not in found]:
            msg = f"{self.where}: the record lacks {missing[0]}, which the manifest names; run `shardkit verify`"
            raise RecordError(msg)
        return found


class _Batch:
    """Some records of a dataset."""

    def __init__(self, dataset: Dataset, table: pa.Table, rows: npt.NDArray[np.intp]) -> None:
        self._dataset, self._root = dataset, dataset.manifest.root
        chosen = table.take(pa.array(rows))
        self._columns: Mapping[str, Numbers] = {name: chosen[name].to_numpy().astype(np.int64) for name in _LOCATION}
        self._keys = chosen["key"]

    def around_image(self, at: npt.NDArray[np.intp]) -> list[tuple[bytes, bytes]]:
        """Return the data of records before and after their images."""

        def read(i: int) -> tuple[bytes, bytes]:
            data, length, start, num_bytes = self._position(i)
            end = start + num_bytes
            if num_bytes <= SMALL_IMAGE:
                record = self._read(i, data, length)
                return record[:start], record[end:]
            return self._read(i, data, start), self._read(i, data + end, length - end)

        return self._each(read, at)

    def records(self, at: npt.NDArray[np.intp]) -> list[_Record]:
        """Return whole records; their CRCs are checked."""

        def read(i: int) -> _Record:
            data, length, start, num_bytes = self._position(i)
            framed = self._read(i, data - HEADER_BYTES, length + OVERHEAD_BYTES)
            key = printable(self._keys[i].as_py())
            where = f"{self._root.url}/{self._path(i)}, byte {data - HEADER_BYTES} ({key})"
            if problem := frame_problem(framed, length):
                raise RecordError(f"{where}: {problem}; restore the shard or {made_again(self._root)}")
            record = framed[HEADER_BYTES : HEADER_BYTES + length]
            return _Record(self._dataset.manifest, where, record, record[start : start + num_bytes])

        return self._each(read, at)

    def _each(self, read: Callable[[int], _Read], at: npt.NDArray[np.intp]) -> list[_Read]:
        if isinstance(self._root, LocalFolder):
            return [read(int(i)) for i in at]
        return [*read_many(read, at.tolist())]

    def _position(self, i: int) -> tuple[int, int, int, int]:
        """Return start and length of the data in the shard, start and length of the image in the data."""
        offset, length, start, num_bytes = (int(self._columns[name][i]) for name in _LOCATION[1:])
        return offset + HEADER_BYTES, length, start, num_bytes

    def _path(self, i: int) -> str:
        return self._dataset.shards[int(self._columns[SHARD][i])].path

    def _read(self, i: int, start: int, num_bytes: int) -> bytes:
        path = self._path(i)
        with shard_errors(self._root, path):
            return retried(lambda: self._root.read_range(path, start, num_bytes))
