"""The inventory: every file of a source, what it is, whether it is good; sorted by key, it is all that the plan sees.

Workers write it in parts into the work folder. A part's name is a hash of what was listed, so a conversion that goes on
after an interruption finds the parts of unchanged files again and does not decode them twice.
"""

import hashlib
import json
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Literal, NamedTuple

import google_crc32c
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shardkit import images, naming, software
from shardkit.errors import DataError, MachineError
from shardkit.hashing import canonical_json
from shardkit.images.boxes import annotated_orientation, place_objects
from shardkit.inventory.column_digest import columns_digest
from shardkit.inventory.columns import MASK_PATH, OBJECTS, annotation_columns
from shardkit.inventory.table import compact, joined, plain_type
from shardkit.sources.listing import GROUP, LISTING_SCHEMA, OFFSET, PATH, UNMEASURED, Listing
from shardkit.sources.visibility import refuse_unseen
from shardkit.sources.walking import file_or_folder, parent_of
from shardkit.storage import Folder
from shardkit.storage.retrying import retried

Check = Literal["decode", "header"]

BAD_BOX = "bad_box"  # the reason of rows that placing boxes adds to a listing's
PARTS = f"{naming.WORK_FOLDER}/inventory"
_FACTS_KEY = b"shardkit.facts"
_PART_VERSION = b"2"

# Null: not opened (`--check header`), or rejected.
LOOKED_AT = [
    pa.field("format", pa.string()),
    pa.field("width", pa.int32()),  # pixels, as stored
    pa.field("height", pa.int32()),
    pa.field("orientation", pa.int8()),  # EXIF's 1 to 8
    pa.field("changes", pa.string()),  # what has to be normalised, by commas
    pa.field("content_sha256", pa.binary(32)),
    pa.field("content_crc32c", pa.int64()),  # tells the writer cheaply that the file is still the same
]
MASK_SHA256 = pa.field("mask_sha256", pa.binary(32))  # of layouts with masks

INVENTORY_SCHEMA = pa.schema([*LISTING_SCHEMA, *LOOKED_AT])


def inventory_schema(listing_schema: pa.Schema) -> pa.Schema:
    """Columns of the inventory of a source: those of its listings, and what looking at the files tells."""
    masks = [MASK_SHA256] if MASK_PATH in listing_schema.names else []
    return pa.schema([*listing_schema, *LOOKED_AT, *masks])


class Facts(NamedTuple):
    """What listings say beside their rows: files skipped, by ending or why; classes by their number in the format."""

    skipped: dict[str, int]
    classes: dict[int, str]

    def class_names(self) -> tuple[str, ...] | None:
        """Names in the order of the format's numbers; None where the format numbers no classes."""
        return tuple(name for _, name in sorted(self.classes.items())) or None


def measured(folder: Folder, table: pa.Table) -> pa.Table:
    """A listing with the sizes and times that it left open; a file that is not there is rejected."""
    sizes = table["source_bytes"].to_numpy()
    unknown = np.flatnonzero(sizes == UNMEASURED)
    if not len(unknown):
        return table
    columns = {name: table[name].to_pylist() for name in ("source_bytes", "mtime_ns", "reason", "message")}
    paths = table[PATH.name if PATH.name in table.column_names else "key"].to_pylist()
    for i in unknown.tolist():
        entry = None
        if columns["reason"][i] is None:
            try:
                entry = retried(partial(file_or_folder, folder, paths[i]))
            except MachineError as error:
                if not isinstance(error.__cause__, PermissionError):
                    raise  # the disk or the network
                columns["reason"][i], columns["message"][i] = "unreadable", str(error)
        if entry is None or entry.is_folder:
            columns["source_bytes"][i] = 0
            if columns["reason"][i] is None:
                remedy = "restore it, take out its line, or name the folder that paths start at with --root"
                columns["reason"][i] = "missing"
                columns["message"][i] = f"there is no file {folder.url}/{paths[i]}; {remedy}"
        else:
            columns["source_bytes"][i], columns["mtime_ns"][i] = entry.num_bytes, entry.mtime_ns
    for name, values in columns.items():
        at = table.schema.get_field_index(name)
        table = table.set_column(at, table.schema.field(at), pa.array(values, table.schema.field(at).type))
    return table


def inventory_batch(folder: Folder, table: pa.Table, check: Check) -> pa.Table:
    """The inventory of a measured listing.

    With ``decode`` every file is read, hashed and decoded, boxes are placed on the upright image, and those that do not
    lie in it are rows of their own, with a reason; with ``header`` nothing is opened.
    """
    schema = inventory_schema(table.schema)
    if check == "header":
        nothing = [pa.nulls(len(table), field.type) for field in list(schema)[len(table.schema) :]]
        return pa.Table.from_arrays([*table.columns, *nothing], schema=schema)
    rows, problems = table.to_pylist(), []
    for row in rows:
        if row["reason"] is None:
            try:
                problems += _look(folder, row)
            except images.BadImage as error:
                row["reason"], row["message"] = error.reason, str(error)
            except OSError as error:
                if isinstance(error, FileNotFoundError):
                    refuse_unseen(folder, parent_of(image_path(row)))
                row["reason"] = "unreadable"
                row["message"] = f"the file cannot be read: {error.strerror or error}"
    return pa.Table.from_pylist(rows + problems, schema)


def _look(folder: Folder, row: dict[str, Any]) -> list[dict[str, Any]]:
    """Fill in what a file is; rows for the problems with its annotations."""
    data = retried(lambda: read_image(folder, row))
    info = images.check(data)
    row |= {
        "format": info.format,
        "width": info.width,
        "height": info.height,
        "orientation": info.orientation,
        "changes": ",".join(info.changes),
        "content_sha256": hashlib.sha256(data).digest(),
        "content_crc32c": google_crc32c.value(data),
    }
    if MASK_PATH in row:
        row[MASK_SHA256.name] = _check_mask(retried(lambda: folder.read(row[MASK_PATH])), info)
    if OBJECTS not in row:
        return []
    row[OBJECTS], problems = place_objects(row[OBJECTS], annotated_size(row), info)
    return [{**bad_box(row["key"], *problem)._asdict(), "mtime_ns": 0} for problem in problems]


class Reject(NamedTuple):
    """What was left out: a file, or with 0 bytes an annotation of one."""

    key: str
    reason: str
    message: str
    source_bytes: int


def bad_box(key: str, name: str, found: str) -> Reject:
    """The object of that name in the image of that key, left out."""
    return Reject(f"{key}, {name}", BAD_BOX, f"{found}; it is left out, the image stays: mend it or take it out", 0)


def image_path(row: dict[str, Any]) -> str:
    """The file that a row's image is in, below the source's folder."""
    path: str = row.get(PATH.name) or row["key"]
    return path


def read_image(folder: Folder, row: dict[str, Any]) -> bytes:
    """The bytes of a row's image: a file, or a part of one."""
    path = image_path(row)
    offset = row.get(OFFSET.name)
    return folder.read(path) if offset is None else folder.read_range(path, offset, row["source_bytes"])


def annotated_size(row: dict[str, Any]) -> tuple[int | None, int | None]:
    """Width and height that a row's boxes refer to; see boxes.place_objects."""
    return row["annotated_width"], row["annotated_height"]


def mask_orientation(mask: images.MaskInfo, info: images.ImageInfo) -> int:
    """How a mask has to be turned with its image.

    Raises:
        BadImage: "annotated_size": they are not of one size.
    """
    return annotated_orientation(mask.width, mask.height, info, "mask")


def _check_mask(data: bytes, info: images.ImageInfo) -> bytes:
    mask_orientation(images.check_mask(data), info)
    return hashlib.sha256(data).digest()


def part_name(table: pa.Table, listing: Listing, check: Check) -> str:
    """File name of a part: a hash of everything that decides its content, and its number of rows.

    Args:
        table: the listing's, measured.
        listing: for what it says beside its rows.
        check: what is looked at.
    """
    digest = hashlib.blake2b(_PART_VERSION + check.encode() + canonical_json(software.versions()), digest_size=16)
    digest.update(canonical_json([[field.name, str(field.type)] for field in table.schema]))
    digest.update(columns_digest(table, table.schema.names))
    digest.update(_facts_json(listing))
    return f"{digest.hexdigest()}-{len(table)}.arrow"


def _facts_json(listing: Listing) -> bytes:
    classes = sorted(listing.classes.items())
    return canonical_json({"skipped": listing.skipped, "classes": classes})


def count_in_parts(output: Folder) -> int:
    """Rows in all parts so far, by their names alone; for showing progress."""
    names = (entry.name for entry in output.scan(PARTS))
    return sum(int(name.partition("-")[2].removesuffix(".arrow")) for name in names if name.endswith(".arrow"))


def has_mended(folder: Folder, table: pa.Table, part: bytes, check: Check) -> bool:
    """Whether an image that an earlier run rejected is good now: a copy from a backup has its old size and time.

    Args:
        folder: of the source.
        table: the listing's, measured.
        part: what the earlier run wrote of it.
        check: what is looked at.
    """
    with pa.ipc.open_file(pa.BufferReader(part)) as reader:
        found = reader.read_all()
    rejected = found.filter(pc.is_valid(found["reason"]))["key"].combine_chunks()
    again = table.filter(pc.and_(pc.is_in(table["key"], rejected), pc.is_null(table["reason"])))
    return len(again) > 0 and inventory_batch(folder, again, check)["reason"].null_count > 0


def write_part(
    output: Folder, name: str, table: pa.Table, listing: Listing, before_rename: Callable[[], None] | None = None
) -> None:
    """Write a part into the work folder; see Folder.atomic_write for `before_rename`."""
    described = table.replace_schema_metadata({_FACTS_KEY: _facts_json(listing)})
    with (
        output.atomic_write(f"{PARTS}/{name}", before_rename=before_rename) as file,
        pa.ipc.new_file(file, described.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer,
    ):
        writer.write_table(described)


def read_parts(output: Folder, names: Iterable[str]) -> tuple[pa.Table, Facts]:
    """The whole inventory sorted by key, rows of one key as they stand in their file, and what listings say beside.

    Raises:
        DataError: two parts give one class number two names.
    """
    tables, facts = list[pa.Table](), Facts({}, {})
    for name in names:
        with pa.ipc.open_file(pa.BufferReader(output.read(f"{PARTS}/{name}"))) as reader:
            add_facts(facts, **json.loads(reader.schema.metadata[_FACTS_KEY]))
            if reader.num_record_batches:
                # Times of change were for the parts' names.
                tables.append(compact(reader.read_all().replace_schema_metadata().drop_columns("mtime_ns")))
    # Parts of one folder follow each other; in their order the whole is often sorted already.
    tables.sort(key=lambda table: str(table["key"][0]))
    table = joined(tables or [INVENTORY_SCHEMA.empty_table().drop_columns("mtime_ns")])
    return table, Facts(dict(sorted(facts.skipped.items())), facts.classes)


def add_facts(facts: Facts, skipped: dict[str, int], classes: Iterable[tuple[int, str]]) -> None:
    """Add what one listing says.

    Raises:
        DataError: it gives a class number another name than an earlier one.
    """
    for kind, count in skipped.items():
        facts.skipped[kind] = facts.skipped.get(kind, 0) + count
    for number, name in classes:
        there = facts.classes.setdefault(number, name)
        if there != name:
            msg = f"the source calls category {number} {there!r} in one file and {name!r} in another; make them agree"
            raise DataError(msg)


def fingerprint(inventory: pa.Table) -> str:
    """sha256 over keys, splits, labels, sizes, annotations and, where known, contents of a sorted inventory.

    Times of change are left out, and where in which file an image lies: a copy of the source is the same source.
    """
    columns = ["key", "split", "label_name", "source_bytes", "content_sha256"]
    columns += [name for name in (GROUP.name, MASK_SHA256.name) if name in inventory.column_names]
    annotations = sorted(annotation_columns(inventory.schema))
    digest = hashlib.sha256(columns_digest(inventory, [*columns, *annotations]))
    digest.update(canonical_json([[name, str(plain_type(inventory.schema.field(name).type))] for name in annotations]))
    return digest.hexdigest()
