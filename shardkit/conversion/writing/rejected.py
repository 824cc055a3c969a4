"""Write the list of rejected images, `rejected.parquet`; before there is a dataset, into the work folder."""

import io

import pyarrow as pa
import pyarrow.parquet as pq

from shardkit.conversion.writing.reject_limit import RejectLimit, counted_rejects, too_many_rejected
from shardkit.naming import WORK_FOLDER
from shardkit.storage import Folder

REJECTED_IN_WORK = f"{WORK_FOLDER}/rejected.parquet"


def rejected_parquet(table: pa.Table) -> bytes:
    """Return the bytes of `rejected.parquet`."""
    out = io.BytesIO()
    pq.write_table(table, out, compression="zstd")
    return out.getvalue()


def enforce_limit(output: Folder, limit: RejectLimit, num_files: int, rejected: pa.Table) -> None:
    """Refuse too many rejects, and list them in the work folder.

    Raises:
        DataError: There are more than the limit allows.
    """
    counted = counted_rejects(rejected)
    if limit.allows(len(counted), num_files):
        return
    with output.atomic_write(REJECTED_IN_WORK) as file:
        file.write(rejected_parquet(counted))
    raise too_many_rejected(limit, num_files, counted, f"{output.url}/{REJECTED_IN_WORK}")
