"""The limit of what a Parquet file may unpack to, which is compared before any of its rows is read."""

from typing import Any

# Unpacked, the pages of a file take at most so many bytes, and so many times the file's own: keys that begin alike are
# packed well, but not that well.
_LEAST_LIMIT, _MAX_RATIO = 64 << 20, 256


def unpacked_problem(metadata: Any, num_bytes: int) -> str | None:
    """Return why a file must not be read, because it is small and its rows are not; None if it may be.

    Args:
        metadata: The Parquet file's metadata.
        num_bytes: Size of the file in bytes.
    """
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    unpacked = sum(group.total_byte_size for group in groups)
    if unpacked <= _LEAST_LIMIT + _MAX_RATIO * num_bytes:
        return None
    return f"{metadata.num_rows:,} rows take {unpacked:,} bytes, in a file of {num_bytes:,} bytes"
