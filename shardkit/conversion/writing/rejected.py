"""Write the list of rejected images, `rejected.parquet`."""

import io

import pyarrow as pa
import pyarrow.parquet as pq


def rejected_parquet(table: pa.Table) -> bytes:
    """Return the bytes of `rejected.parquet`."""
    out = io.BytesIO()
    pq.write_table(table, out, compression="zstd")
    return out.getvalue()
