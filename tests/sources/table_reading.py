"""For the tests of tables: writing them, and everything that a source lists."""

import json

import pyarrow as pa
import pyarrow.parquet as pq

from shardkit.sources.columns import UNMEASURED
from shardkit.testing import read_source


def alone(tmp_path_factory):
    """A new folder that is alone: images of a table are also searched beside its folder."""
    folder = tmp_path_factory.mktemp("of-examples") / "alone"
    folder.mkdir()
    return folder


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


def rows(path, *columns, **options):
    """Those columns of the good rows of a table; of the rejected ones key and reason."""
    found = []
    for row in read_source(path, **options).table.to_pylist():
        assert (row["source_bytes"], row["mtime_ns"]) == (UNMEASURED, 0)
        found.append((row["key"], row["reason"]) if row["reason"] else tuple(row[name] for name in columns))
    return found
