"""Look up the sizes and times of files that a listing left open, and reject the files that are too large to read."""

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from shardkit.conversion.inventory.source_files import are_records
from shardkit.errors import MachineError, StoreError
from shardkit.image_limits import MAX_FILE_BYTES
from shardkit.images.info import too_many_bytes
from shardkit.reject_reasons import MISSING, UNREADABLE
from shardkit.sources.columns import PATH, UNMEASURED
from shardkit.sources.walking import file_or_folder
from shardkit.storage import Folder
from shardkit.storage.retry import retried


def measure_files(folder: Folder, table: pa.Table, max_file_bytes: int = MAX_FILE_BYTES) -> pa.Table:
    """Return a listing with all sizes and times filled in; a missing file and one that is too large are rejected.

    Records of a dataset were read when it was written.
    """
    measured = _measured(folder, table)
    return measured if are_records(table.schema) else _without_large(measured, max_file_bytes)


def _without_large(table: pa.Table, max_file_bytes: int) -> pa.Table:
    sizes = table["source_bytes"].to_numpy()
    if not np.any(sizes > max_file_bytes):
        return table
    columns = {name: table[name].to_pylist() for name in ("reason", "message")}
    for i in np.flatnonzero(sizes > max_file_bytes).tolist():
        if columns["reason"][i] is None:
            error = too_many_bytes("The file", int(sizes[i]), max_file_bytes)
            columns["reason"][i], columns["message"][i] = error.reason, str(error)
    return _with_columns(table, columns)


def _measured(folder: Folder, table: pa.Table) -> pa.Table:
    sizes = table["source_bytes"].to_numpy()
    unmeasured = np.flatnonzero(sizes == UNMEASURED)
    if not len(unmeasured):
        return table
    columns = {name: table[name].to_pylist() for name in ("source_bytes", "mtime_ns", "reason", "message")}
    paths = table[PATH.name if PATH.name in table.column_names else "key"].to_pylist()
    for i in unmeasured.tolist():
        entry = None
        if columns["reason"][i] is None:
            try:
                entry = retried(partial(file_or_folder, folder, paths[i]))
            except MachineError as error:
                if isinstance(error, StoreError) or not isinstance(error.__cause__, PermissionError):
                    raise  # the disk or the network
                columns["reason"][i], columns["message"][i] = UNREADABLE, str(error)
        if entry is None or entry.is_folder:
            columns["source_bytes"][i] = 0
            if columns["reason"][i] is None:
                remedy = "restore it, remove its line, or set the folder that paths are relative to with `root`"
                columns["reason"][i] = MISSING
                columns["message"][i] = f"there is no file {folder.url_of(paths[i])}; {remedy}"
        else:
            columns["source_bytes"][i], columns["mtime_ns"][i] = entry.num_bytes, entry.mtime_ns
    return _with_columns(table, columns)


def _with_columns(table: pa.Table, columns: dict[str, list[Any]]) -> pa.Table:
    for name, values in columns.items():
        at = table.schema.get_field_index(name)
        table = table.set_column(at, table.schema.field(at), pa.array(values, table.schema.field(at).type))
    return table
