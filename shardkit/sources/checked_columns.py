"""The columns that checking fills in, and that listings of datasets fill in themselves: their images are checked."""

import pyarrow as pa

HAS_GPS = pa.field("has_gps", pa.bool_())  # whether the file's metadata holds a GPS position
FORMAT = pa.field("format", pa.string())
CONTENT_SHA256 = pa.field("content_sha256", pa.binary(32))
# Null if the file was not opened (`check=header`) or is rejected.
CHECKED_FIELDS = [
    FORMAT,
    pa.field("width", pa.int32()),  # pixels, as stored
    pa.field("height", pa.int32()),
    pa.field("orientation", pa.int8()),  # EXIF's 1 to 8
    pa.field("changes", pa.string()),  # what normalisation will change, separated by commas
    HAS_GPS,
    CONTENT_SHA256,
    pa.field("content_crc32c", pa.int64()),  # lets the writer check cheaply that the file has not changed
]
MASK_SHA256 = pa.field("mask_sha256", pa.binary(32))  # only in layouts with masks
