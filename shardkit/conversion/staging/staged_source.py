"""The source that planning and writing see of staged rows, and the rows of one key among them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.inventory.columns import annotation_columns
from shardkit.conversion.inventory.parts import ListingTotals
from shardkit.conversion.inventory.schema import MASK_SHA256
from shardkit.conversion.staging.kinds import Kind
from shardkit.conversion.staging.staged_part import staged_schema
from shardkit.errors import DataError
from shardkit.naming import printable
from shardkit.sources.claim import Claim
from shardkit.sources.columns import CONTENT_SHA256, GROUP
from shardkit.sources.listing import Listing, Source
from shardkit.sources.readings.values import Reading
from shardkit.sources.used_files import UsedFile
from shardkit.storage import Folder

TITLE = "Beam PCollection"


class ReadSource(NamedTuple):
    """A source whose listing was read into a PCollection: what a dataset says of it besides its examples."""

    source: Source  # how it is read
    totals: ListingTotals  # what its listings say besides their rows: skipped files, and the classes' numbers
    is_explicit: bool  # whether the user chose how it is read


@dataclass(frozen=True, slots=True)
class StagedSource(Source):
    """The images that the rows of a PCollection gave, in the work folder of the output."""

    folder: Folder  # the output folder, which paths start at
    kind: Kind  # what is annotated
    read: ReadSource | None = None  # the source that the rows were read from; None if it is not known

    @property
    def layout(self) -> str:
        return TITLE if self.read is None else self.read.source.layout

    @property
    def classes(self) -> tuple[str, ...] | None:
        return None if self.read is None else self.read.source.classes

    @property
    def origin(self) -> str | None:
        return None if self.read is None else self.read.source.origin

    @property
    def used_files(self) -> tuple[UsedFile, ...]:
        return () if self.read is None else self.read.source.used_files

    @property
    def claims(self) -> tuple[Claim, ...]:
        return () if self.read is None else self.read.source.claims

    @property
    def reading(self) -> Reading | None:
        return None if self.read is None else self.read.source.reading

    @property
    def removed_before(self) -> tuple[str, ...]:
        return () if self.read is None else self.read.source.removed_before

    def refuse_changed(self) -> None:
        if self.read is not None:
            self.read.source.refuse_changed()

    def withdrawn(self) -> pa.Table | None:
        return None if self.read is None else self.read.source.withdrawn()

    @property
    def schema(self) -> pa.Schema:
        return staged_schema(self.kind)

    def describe(self) -> str:
        return f"{self.folder.url}: images of a PCollection"

    def parts(self) -> Sequence[Any]:
        """See Source; the rows are in the inventory already."""
        return ()

    def list_part(self, part: Any, batch_rows: int) -> Iterator[Listing]:
        del part, batch_rows
        return iter(())


def merge_equal_rows(table: pa.Table) -> pa.Table:
    """Return an inventory of staged rows with one row for each key.

    A row that is given twice, as by an upstream step that was repeated, is one example. What reading has rejected may
    have the key of an example.
    """
    keys = table["key"]
    is_same = pc.equal(keys[1:], keys[:-1]).to_numpy() if len(table) > 1 else np.zeros(0, np.bool_)
    repeated = np.flatnonzero(is_same) + 1
    if not len(repeated):
        return table
    # The example first, then what is rejected: rows of one key come in any order.
    by = ("key", "reason", "message")
    columns = {name: pc.fill_null(table[name].cast(pa.large_string()), "") for name in by}
    table = table.take(pc.sort_indices(pa.table(columns), [(name, "ascending") for name in by]))
    names = ["split", "label_name", "reason", CONTENT_SHA256.name, MASK_SHA256.name, GROUP.name]
    names += annotation_columns(table.schema)
    compared = table.select([name for name in names if name in table.column_names])
    kept = np.ones(len(table), np.bool_)
    kept[repeated] = False
    before = compared.take(pa.array(repeated - 1)).to_pylist()
    for row, one, other in zip(repeated.tolist(), before, compared.take(pa.array(repeated)).to_pylist(), strict=True):
        if one != other and (one["reason"] is None) != (other["reason"] is None):
            kept[row] = True
        elif one != other:
            what = next(_NAMED.get(name, "annotations") for name in one if one[name] != other[name])
            msg = (
                f"two rows with different {what} have the key {printable(keys[row].as_py())!r}; give each image a key "
                "of its own, and the same one each time that the pipeline computes it: a row that is given again as "
                "it was is one example"
            )
            raise DataError(msg)
    return table.filter(pa.array(kept))


_NAMED = {
    "split": "splits",
    "label_name": "labels",
    "reason": "images",
    CONTENT_SHA256.name: "images",
    MASK_SHA256.name: "masks",
    GROUP.name: "groups",
}
