"""Open a source and read all that it lists, checked to be as the conversion requires."""

import os
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import pyarrow as pa

from shardkit.conversion.inventory.checking import measure_files
from shardkit.sources import LISTING_SCHEMA, Source, SourceOptions
from shardkit.sources.listing import count_skipped
from shardkit.sources.opening import open_source
from shardkit.storage import Folder, open_folder

_Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Listed:
    """All that a source lists.

    Attributes:
        source: The source.
        table: All rows, in the order of the source's parts.
        skipped: Number of skipped files by kind.
        classes: Class names by number, of formats that number classes.
    """

    source: Source
    table: pa.Table
    skipped: dict[str, int]
    classes: dict[int, str]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """All rows, sorted by key."""
        return sorted(self.table.to_pylist(), key=itemgetter("key"))

    @property
    def good(self) -> list[dict[str, Any]]:
        """The rows that are not rejected, sorted by key."""
        return [row for row in self.rows if row["reason"] is None]

    @property
    def problems(self) -> list[tuple[str, str]]:
        """(key, reason) of the rejected rows, sorted by key."""
        return [(row["key"], row["reason"]) for row in self.rows if row["reason"] is not None]

    @property
    def labels(self) -> list[tuple[str, str | None, Any]]:
        """(key, split, label) of all rows, sorted by key.

        The label is a class name, a list of them, a mask's path, a list of numbers, or the reason of a rejected row.
        """
        return [(row["key"], row["split"], row["reason"] or _label(row)) for row in self.rows]

    @property
    def boxes(self) -> dict[str, list[tuple[Any, ...]]]:
        """(class, ymin, xmin, ymax, xmax) of the objects of each good row, by key."""
        return {row["key"]: [(one["label_name"], *one["bbox"]) for one in row["objects"]] for row in self.good}

    def measured(self) -> "Listed":
        """Return the listing with the sizes and times of files that listing leaves to the check."""
        return replace(self, table=measure_files(self.source.folder, self.table))

    def images(self) -> dict[str, bytes]:
        """Return the bytes of the good rows' images by key, read as the conversion reads them."""
        return {row["key"]: self._image(row) for row in self.measured().good}

    def _image(self, row: dict[str, Any]) -> bytes:
        path = row.get("path") or row["key"]
        data = self.source.folder.read_range(path, row.get("offset") or 0, row["source_bytes"])
        assert len(data) == row["source_bytes"], f"{path} ends within {row['key']}"
        return data


def _label(row: dict[str, Any]) -> Any:
    others = (row[name] for name in ("mask_path", "label_names", "target") if row.get(name) is not None)
    return next(others, row["label_name"])


def opened(path: _Path, /, *, output: _Path | None = None, work: _Path | None = None, **options: Any) -> Source:
    """Open a source as the conversion does.

    Args:
        path: The source.
        output: Folder that is not listed if it is inside the source.
        work: Folder for images that listing has to unpack; it is made.
        options: Fields of `SourceOptions`.
    """
    if work is not None:
        os.makedirs(work, exist_ok=True)
    return open_source(str(path), SourceOptions(**options), output=_folder(output), work=_folder(work))


def _folder(path: _Path | None) -> Folder | None:
    return None if path is None else open_folder(str(path))


def listed(source: Source, batch_rows: int = 1000) -> Listed:
    """Return all that a source lists.

    Args:
        source: The source.
        batch_rows: Maximum number of rows of a batch.

    Raises:
        AssertionError: A batch is larger, its columns differ from the source's schema, or a row has a reason without
            a message or the reverse.
    """
    tables, skipped, classes = [source.schema.empty_table()], dict[str, int](), dict[int, str]()
    assert source.schema.names[: len(LISTING_SCHEMA)] == LISTING_SCHEMA.names
    for part in source.parts():
        for listing in source.list_part(part, batch_rows):
            table = listing.table()
            _check(table, source.schema, batch_rows)
            tables.append(table)
            classes |= listing.classes
            for kind, count in listing.skipped.items():
                count_skipped(skipped, kind, count)
    return Listed(source, pa.concat_tables(tables), skipped, classes)


def _check(table: pa.Table, schema: pa.Schema, batch_rows: int) -> None:
    assert table.schema == schema, f"listed columns:\n{table.schema}\nthe source's:\n{schema}"
    assert len(table) <= batch_rows, f"{len(table)} rows in a batch of at most {batch_rows}"
    table.validate(full=True)
    for row in table.select(["key", "reason", "message"]).to_pylist():
        assert (row["reason"] is None) == (row["message"] is None), row


def read_source(path: _Path, /, **options: Any) -> Listed:
    """Open a source and return all that it lists; see `opened` for the arguments."""
    return listed(opened(path, **options))
