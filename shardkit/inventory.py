"""The inventory: every file of a source, what it is, whether it is good; sorted by key, it is all that the plan sees.

Workers write it in parts into the work folder. A part's name is a hash of what was listed, so a conversion that goes on
after an interruption finds the parts of unchanged files again and does not decode them twice.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Any, Literal

import google_crc32c
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shardkit import images, naming, software
from shardkit.hashing import canonical_json
from shardkit.sources.listing import LISTING_SCHEMA, Listing
from shardkit.storage import Folder

Check = Literal["decode", "header"]

PARTS = f"{naming.WORK_FOLDER}/inventory"
_SKIPPED_KEY = b"shardkit.skipped"
_PART_VERSION = b"1"

INVENTORY_SCHEMA = pa.schema(
    [
        *LISTING_SCHEMA,
        # Null below: not opened (`--check header`), or rejected.
        pa.field("format", pa.string()),
        pa.field("width", pa.int32()),  # pixels, as stored
        pa.field("height", pa.int32()),
        pa.field("orientation", pa.int8()),  # EXIF's 1 to 8
        pa.field("changes", pa.string()),  # what has to be normalised, by commas
        pa.field("content_sha256", pa.binary(32)),
        pa.field("content_crc32c", pa.int64()),  # tells the writer cheaply that the file is still the same
    ]
)


def inventory_batch(folder: Folder, listing: Listing, check: Check) -> pa.Table:
    """The inventory of one batch: with ``decode`` every file is read, hashed and decoded; else nothing is opened."""
    table = listing.table()
    rows: list[tuple[Any, ...]] = [(None,) * 7] * len(table)
    if check == "decode":
        reasons, messages = listing.reasons.copy(), listing.messages.copy()
        for i, key in enumerate(listing.keys):
            if reasons[i] is None:
                try:
                    rows[i] = _look(folder, key)
                except images.BadImage as error:
                    reasons[i], messages[i] = error.reason, str(error)
                except OSError as error:
                    reasons[i], messages[i] = "unreadable", f"the file cannot be read: {error.strerror or error}"
        table = table.drop_columns(["reason", "message"])
        table = table.append_column("reason", pa.array(reasons, pa.string()))
        table = table.append_column("message", pa.array(messages, pa.string()))
    for i, field in enumerate(list(INVENTORY_SCHEMA)[len(LISTING_SCHEMA) :]):
        table = table.append_column(field, pa.array([row[i] for row in rows], field.type))
    return table.cast(INVENTORY_SCHEMA)


def _look(folder: Folder, key: str) -> tuple[Any, ...]:
    data = folder.read(key)
    info = images.check(data)
    return (
        info.format,
        info.width,
        info.height,
        info.orientation,
        ",".join(info.changes),
        hashlib.sha256(data).digest(),
        google_crc32c.value(data),
    )


def part_name(listing: Listing, check: Check) -> str:
    """File name of a part: a hash of everything that decides its content, and its number of rows."""
    digest = hashlib.blake2b(_PART_VERSION + check.encode() + canonical_json(software.versions()), digest_size=16)
    digest.update(_columns_digest(listing.table(), LISTING_SCHEMA.names))
    digest.update(json.dumps(listing.skipped, sort_keys=True).encode())
    return f"{digest.hexdigest()}-{len(listing.keys)}.arrow"


def count_in_parts(output: Folder) -> int:
    """Rows in all parts so far, by their names alone; for showing progress."""
    names = (entry.name for entry in output.scan(PARTS))
    return sum(int(name.partition("-")[2].removesuffix(".arrow")) for name in names if name.endswith(".arrow"))


def write_part(output: Folder, name: str, table: pa.Table, skipped: dict[str, int]) -> None:
    """Write a part into the work folder."""
    described = table.replace_schema_metadata({_SKIPPED_KEY: json.dumps(skipped).encode()})
    with (
        output.writing(f"{PARTS}/{name}") as file,
        pa.ipc.new_file(file, described.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer,
    ):
        writer.write_table(described)


def read_parts(output: Folder, names: Iterable[str]) -> tuple[pa.Table, dict[str, int]]:
    """The whole inventory sorted by key, and the files skipped by ending."""
    tables, skipped = [INVENTORY_SCHEMA.empty_table()], dict[str, int]()
    for name in names:
        with pa.ipc.open_file(pa.BufferReader(output.read(f"{PARTS}/{name}"))) as reader:
            for kind, count in json.loads(reader.schema.metadata[_SKIPPED_KEY]).items():
                skipped[kind] = skipped.get(kind, 0) + count
            tables.append(reader.read_all().cast(INVENTORY_SCHEMA))
    table = pa.concat_tables(tables)
    return table.take(pc.sort_indices(table, [("key", "ascending")])), dict(sorted(skipped.items()))


def fingerprint(inventory: pa.Table) -> str:
    """sha256 over keys, splits, labels, sizes and, where known, contents of a sorted inventory, in hexadecimal.

    Times of change are left out: a copy of the source is the same source.
    """
    columns = ["key", "split", "label_name", "source_bytes", "content_sha256"]
    return hashlib.sha256(_columns_digest(inventory, columns)).hexdigest()


def _columns_digest(table: pa.Table, names: list[str]) -> bytes:
    digest = hashlib.sha256(len(table).to_bytes(8, "little"))
    for name in names:
        column = table[name]
        if pa.types.is_integer(column.type):
            digest.update(column.to_numpy().astype("<i8").tobytes())
            continue
        # The values' bytes end to end, without making a Python object of each of a hundred million keys.
        strings = column.cast(pa.large_binary())
        digest.update(pc.fill_null(pc.binary_length(strings), -1).to_numpy().astype("<i8").tobytes())
        present = strings.drop_null().combine_chunks()
        if len(present):
            _, offsets, data = present.buffers()
            ends = np.frombuffer(offsets, "<i8")[present.offset : present.offset + len(present) + 1]
            digest.update(memoryview(data)[ends[0] : ends[-1]])
    return digest.digest()
