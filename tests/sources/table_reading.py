"""For the tests of tables: writing them, and everything that a source lists."""

import json

import pyarrow as pa
import pyarrow.parquet as pq

from shardkit.sources.listing import LISTING_SCHEMA, UNMEASURED
from shardkit.sources.options import SourceOptions
from shardkit.sources.tables.layout import open_table_in
from shardkit.storage import open_folder


def write(folder, content, name="labels.csv"):
    """A file of that content: text, bytes, or a list of JSON values."""
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(content, list):
        content = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in content)
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder / name


def write_parquet(folder, columns, name="labels.parquet", **options):
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    pq.write_table(table, folder / name, **options)
    return folder / name


def opened(path, **options):
    return open_table_in(open_folder(str(path.parent)), path.name, SourceOptions(**options))


def listed(source, batch_rows=1000):
    """The whole listing, checked to be as promised."""
    tables = [source.schema.empty_table()]
    for part in source.parts():
        for listing in source.list_part(part, batch_rows):
            assert len(listing.rows) <= batch_rows
            tables.append(listing.table())
    table = pa.concat_tables(tables)
    assert table.schema.names[: len(LISTING_SCHEMA)] == LISTING_SCHEMA.names
    for row in table.to_pylist():
        assert (row["reason"] is None) == (row["message"] is None)
    return table


def rows(path, *columns, **options):
    """Those columns of the good rows of a table; of the rejected ones key and reason."""
    found = []
    for row in listed(opened(path, **options)).to_pylist():
        assert (row["source_bytes"], row["mtime_ns"]) == (UNMEASURED, 0)
        found.append((row["key"], row["reason"]) if row["reason"] else tuple(row[name] for name in columns))
    return found
