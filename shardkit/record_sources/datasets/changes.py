"""Find the rows of each shard that `drop` removes and `labels` corrects, by the keys in the indexes.

The driver does it once, when the source is opened, so that an unknown key is an error before anything is written. A
worker gets the numbers of rows of its shard only.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.errors import CallError
from shardkit.options.words import named
from shardkit.record_sources.datasets.key_files import Corrections, DropList

_SHOWN = 3  # unknown keys or classes in a message


@dataclass(frozen=True, slots=True)
class RowChanges:
    """The changes in one shard. Numbers are packed, because a source is pickled into the pipeline's graph."""

    dropped: bytes = b""  # int32[n], rows that `drop` removes, ascending
    withdrawn: bytes = b""  # int32[k], rows that were removed from another one of the datasets before, ascending
    corrected: bytes = b""  # int32[m], rows with another label
    labels: bytes = b""  # int32[m], numbers of their labels in `Changes.label_names`

    def kept(self, num_rows: int) -> npt.NDArray[np.bool_]:
        """Return bool[num_rows], the rows that are not removed now or before."""
        kept = ~self.are_dropped(num_rows)
        kept[np.frombuffer(self.withdrawn, np.int32)] = False
        return kept

    def are_dropped(self, num_rows: int) -> npt.NDArray[np.bool_]:
        """Return bool[num_rows], the rows that `drop` removes."""
        dropped = np.zeros(num_rows, np.bool_)
        dropped[np.frombuffer(self.dropped, np.int32)] = True
        return dropped

    def corrections(self) -> Iterator[tuple[int, int]]:
        """Yield (row, number of its label) of the rows with another label."""
        rows, labels = np.frombuffer(self.corrected, np.int32), np.frombuffer(self.labels, np.int32)
        return zip(rows.tolist(), labels.tolist(), strict=True)


def label_names(corrections: Corrections | None) -> tuple[str, ...]:
    """Return the distinct labels of corrections, sorted: `RowChanges.labels` are positions in them."""
    return () if corrections is None else tuple(sorted({label for _, label in corrections.labels}))


def find_changes(
    keys_of_shards: Iterable[pa.ChunkedArray], drop: DropList | None, corrections: Corrections | None, where: str
) -> list[RowChanges]:
    """Return the changes in each shard."""
    dropped = pa.array(() if drop is None else drop.keys, pa.string())
    corrected = pa.array([key for key, _ in corrections.labels] if corrections else (), pa.string())
    numbers = {name: number for number, name in enumerate(label_names(corrections))}
    labels = np.array([numbers[label] for _, label in corrections.labels] if corrections else (), np.int32)
    is_found = np.zeros(len(dropped), np.bool_), np.zeros(len(corrected), np.bool_)
    changes = []
    for keys in keys_of_shards:
        rows, at = _rows_of(keys, dropped)
        is_found[0][at] = True
        corrected_rows, corrected_at = _rows_of(keys, corrected)
        is_found[1][corrected_at] = True
        changes.append(
            RowChanges(
                rows.astype(np.int32).tobytes(),
                corrected=corrected_rows.astype(np.int32).tobytes(),
                labels=labels[corrected_at].tobytes(),
            )
        )
    for option, given, wanted, found in (
        ("drop", drop, dropped, is_found[0]),
        ("labels", corrections, corrected, is_found[1]),
    ):
        if not found.all():
            unknown = wanted.filter(pa.array(~found)).to_pylist()
            msg = f"{named(option, str(given))}: {_counted(unknown, len(wanted))} in {where}: {some(unknown)}"
            raise CallError(f"{msg}; correct or remove these lines (a key is the path of the example in its source)")
    return changes


def refuse_unknown_classes(corrections: Corrections, classes: Sequence[str], *, are_given: bool) -> None:
    """Refuse corrected labels that are no class."""
    unknown = [name for name in label_names(corrections) if name not in set(classes)]
    if not unknown:
        return
    first = next(key for key, label in corrections.labels if label == unknown[0])
    whose = f"{named('classes')} does not name" if are_given else "the dataset does not have"
    what = "a class" if len(unknown) == 1 else f"{len(unknown)} classes"
    option = named("classes")
    msg = f"{named('labels', str(corrections))}: it names {what} that {whose}: {some(unknown)} (for {first!r}); "
    remedy = "correct the name, or "
    remedy += f"add it to {option}" if are_given else f"name all classes, the new one included, with {option}"
    raise CallError(msg + remedy)


def some(names: Sequence[str]) -> str:
    """Return the first few names, quoted."""
    return ", ".join(map(repr, names[:_SHOWN])) + (", …" if len(names) > _SHOWN else "")


def _counted(unknown: Sequence[str], num_keys: int) -> str:
    if num_keys == 1:
        return "its only key is not"
    return f"{len(unknown):,} of its {num_keys:,} keys {'is' if len(unknown) == 1 else 'are'} not"


def _rows_of(keys: pa.ChunkedArray, wanted: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the rows with a wanted key, ascending, and the positions of their keys in `wanted`."""
    if not len(wanted):
        none = np.zeros(0, np.int64)
        return none, none
    at = pc.fill_null(pc.index_in(keys, wanted), -1).to_numpy()
    rows = np.flatnonzero(at >= 0)
    return rows, at[rows].astype(np.int64)
