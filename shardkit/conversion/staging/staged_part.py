"""What staging writes: its folders, the columns of its rows, and the names that travel on in place of images.

A rerun finds the images that an earlier run staged and neither decodes nor stores them again. It may put other images
into a bundle, so files are not found by their names; images are, by their contents.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shardkit import naming, software
from shardkit.conversion.inventory import parts
from shardkit.conversion.inventory.columns import STAGED_FIELDS, URI, inventory_schema
from shardkit.conversion.planning.splits.grouping import digest_prefixes
from shardkit.conversion.staging.kinds import Kind, columns_of
from shardkit.dataset.foreign.inferring import LayoutOverrides
from shardkit.errors import StaleRunError
from shardkit.hashing import canonical_json, sha256_hex
from shardkit.sources.columns import CONTENT_SHA256, GROUP, LISTING_SCHEMA, PATH
from shardkit.storage import Folder
from shardkit.storage.concurrent_reads import read_many

STAGED = f"{naming.WORK_FOLDER}/staged"
_BEGUN = f"{STAGED}/begun"
_VERSION = 2
# Each takes about 150 bytes in each worker process. Images beyond are staged again.
MAX_IMAGES = 1 << 20


def staged_schema(kind: Kind) -> pa.Schema:
    """Return the columns of staged rows with an annotation of a kind."""
    return inventory_schema(pa.schema([*LISTING_SCHEMA, GROUP, *columns_of(kind), *STAGED_FIELDS]))


class StagedPart(NamedTuple):
    """A part of the inventory. The others are '' if all of its rows are rejected, `reading` also without records."""

    name: str
    kind: str  # kind of the annotations
    reading: str  # which features of records were read; see `GivenRow`
    key: str


@dataclass(frozen=True, slots=True)
class StagingOptions:
    """What decides how rows are staged."""

    max_file_bytes: int  # size above which an image or a mask is rejected
    is_unlabelled: bool = False  # whether rows have no annotation
    # What the user says about the features of records.
    features: LayoutOverrides = field(default_factory=LayoutOverrides)


def images_folder() -> str:
    """Return the folder, below the output, of the images that these versions of libraries have checked."""
    return f"{STAGED}/{sha256_hex(canonical_json([software.versions(), _VERSION]))[:16]}"


def begin_staging(output: Folder) -> str:
    """Create the folder of staged images; each worker process calls this once.

    A worker that an engine has given up and that still runs when the dataset is published must not make it again.

    Return a text that differs once the folder was removed and created again.
    """
    output.create()
    if output.stat(_BEGUN) is None:
        with output.atomic_write(_BEGUN):
            pass  # the file is empty
    return str(output.stat(_BEGUN))


def refuse_ended(output: Folder) -> None:
    """Raise StaleRunError if the output was published or cleared since staging began."""
    if output.stat(_BEGUN) is None:
        raise StaleRunError(
            f"{output.url}/{STAGED}: the folder of staged images was removed, so another run has published or cleared "
            "this output; if no other pipeline writes into it, run this one again"
        )


class StagedBefore:
    """The images that were staged before, by content."""

    def __init__(self, output: Folder, columns: list[str]) -> None:
        names = parts.part_names(output)
        tables, num_rows = list[pa.Table](), 0
        for table in read_many(partial(_read, output, columns), names, parts.READING_THREADS):
            tables.append(table)
            num_rows += len(table)
            if num_rows >= MAX_IMAGES:
                break
        self._table = pa.concat_tables(tables, promote_options="permissive") if tables else None
        contents = [digest_prefixes(table[CONTENT_SHA256.name]) for table in tables]
        beginnings = np.concatenate([np.zeros(0, np.uint64), *contents])
        self._order = np.argsort(beginnings, kind="stable")
        self._beginnings = beginnings[self._order]

    def find(self, content: bytes) -> Iterator[dict[str, Any]]:
        """Yield what is known of the images with a content; several have different masks."""
        beginning = np.frombuffer(content, np.uint64, 1)
        first, end = (int(np.searchsorted(self._beginnings, beginning, side)[0]) for side in ("left", "right"))
        if self._table is not None and first < end:
            for row in self._table.take(pa.array(self._order[first:end])).to_pylist():
                if row[CONTENT_SHA256.name] == content:
                    yield row


def _read(output: Folder, columns: list[str], name: str) -> pa.Table:
    """Return the rows of a part whose images can be read again; none of a part of another conversion."""
    table = parts.find_part(output, name)
    if table is None or URI.name not in table.column_names:
        return pa.schema([PATH, CONTENT_SHA256]).empty_table()
    is_read_again = pc.and_(pc.is_valid(table[URI.name]), pc.is_valid(table[CONTENT_SHA256.name]))
    is_read_again = pc.and_(is_read_again, pc.is_null(table["reason"]))
    is_stored = pc.fill_null(pc.starts_with(table[PATH.name], f"{images_folder()}/"), fill_value=False)
    return table.filter(pc.or_(is_stored, is_read_again)).select([one for one in columns if one in table.column_names])
