"""The columns of a listing: those that every layout lists, those that some add, and those that checking fills in."""

from collections.abc import Sequence

import pyarrow as pa

# The columns that every layout lists. A row is an example or, if it has a reason, a bad image or a record of a label
# file that gives no example. The key of a bad record is its name, such as "labels.csv, line 7".
LISTING_SCHEMA = pa.schema(
    [
        pa.field("key", pa.string(), nullable=False),  # stable relative POSIX path in the source
        pa.field("split", pa.string()),  # the source's own split; null if it gives none
        pa.field("label_name", pa.string()),  # of layouts with one class per image; else null
        pa.field("source_bytes", pa.int64(), nullable=False),  # of the image; UNMEASURED if listing does not give it
        pa.field("mtime_ns", pa.int64(), nullable=False),
        pa.field("reason", pa.string()),  # why the row is rejected already (shardkit.reject_reasons); null if it is not
        pa.field("message", pa.string()),
    ]
)
UNMEASURED = -1  # the check looks up the file's size and time, many files at once; it rejects a missing file

# Columns that some layouts add to LISTING_SCHEMA, in any order.
LINE = pa.field("line", pa.int64())  # number of the record in its file, from 1: the first record of a key counts
PATH = pa.field("path", pa.string())  # file with the image's bytes, below the source's folder; without it: the key
OFFSET = pa.field("offset", pa.int64())  # of the image's bytes in that file; without it: the whole file is the image
GROUP = pa.field("group", pa.string())  # examples that stay in one split; null: the example has no group
LABEL_NAMES = pa.field("label_names", pa.list_(pa.string()))  # multi-label: any number of classes
MASK_PATH = pa.field("mask_path", pa.string())  # segmentation: file of the mask, below the source's folder
# Segmentation with masks in colours: what the colours mean; see images.check_mask.
MASK_COLOURS = pa.field("mask_colours", pa.string())
# Detection: the image size in pixels that `objects` refer to; 0 if boxes are fractions of the image's sides.
ANNOTATED_WIDTH = pa.field("annotated_width", pa.int32())
ANNOTATED_HEIGHT = pa.field("annotated_height", pa.int32())
# Whether the image has no label on purpose: then it has no class and is stored with the label -1 (`dataset.features`).
# Any other row without a class and without a reason is rejected. Only where images have one class, or a list of them.
IS_UNLABELLED = pa.field("is_unlabelled", pa.bool_())
UNLABELLED = pa.field("unlabelled", pa.null())  # its presence says that examples have no label; holds no values
FEATURE_PREFIX = "feature:"  # of columns that become features: int64, float32, string, or lists of these
OBJECTS = "objects"
TARGET = "target"

# Objects of one image: each takes about a kilobyte while it is checked. The densest published photographs have a few
# thousand.
MAX_OBJECTS = 50_000


def target_field(num_targets: int) -> pa.Field:
    """Return the column of a regression layout: `num_targets` numbers per image."""
    return pa.field(TARGET, pa.list_(pa.float32(), num_targets))


def objects_field(extra: Sequence[pa.Field] = ()) -> pa.Field:
    """Return the column of objects of a detection layout.

    `bbox` is (ymin, xmin, ymax, xmax) in the unit that ANNOTATED_WIDTH and ANNOTATED_HEIGHT define, not yet clipped.
    `name` identifies the object in messages, such as "annotation 17" or "line 3".
    """
    fields = [
        pa.field("bbox", pa.list_(pa.float64(), 4)),
        pa.field("label_name", pa.string()),
        pa.field("name", pa.string()),
    ]
    return pa.field(OBJECTS, pa.list_(pa.struct([*fields, *extra])))


def feature_field(name: str, type_: pa.DataType) -> pa.Field:
    """Return the listing's column for a table column that becomes a feature of the examples."""
    return pa.field(FEATURE_PREFIX + name, type_)


# Listings of datasets fill these in themselves: their images are checked.
HAS_GPS = pa.field("has_gps", pa.bool_())  # whether the file's metadata holds a GPS position
FORMAT = pa.field("format", pa.string())
CONTENT_SHA256 = pa.field("content_sha256", pa.binary(32))
PERCEPTUAL_HASH = pa.field("perceptual_hash", pa.binary(16))  # null also for small and flat images; see images
# What an image loses when it is stored, by the names of `images.Traits`; null if nothing, as in records of datasets.
TRAITS = [
    pa.field("low", pa.int32()),
    pa.field("high", pa.int32()),
    pa.field("num_frames", pa.int32()),
    pa.field("profile", pa.string()),
    pa.field("is_transparent", pa.bool_()),
]
# Null if the file was not opened (`check=header`) or is rejected.
CHECKED_FIELDS = [
    FORMAT,
    pa.field("width", pa.int32()),  # pixels, as stored
    pa.field("height", pa.int32()),
    pa.field("orientation", pa.int8()),  # EXIF's 1 to 8
    pa.field("changes", pa.string()),  # what normalisation will change, separated by commas
    *TRAITS,
    HAS_GPS,
    CONTENT_SHA256,
    PERCEPTUAL_HASH,
    pa.field("content_crc32c", pa.int64()),  # lets the writer check cheaply that the file has not changed
]
MASK_SHA256 = pa.field("mask_sha256", pa.binary(32))  # only in layouts with masks
NUM_CLIPPED = pa.field("num_clipped", pa.int32())  # only in layouts with boxes: those that reach beyond the image
LAST_CLASS = pa.field("last_class", pa.int32())  # likewise: the mask's greatest class number, -1 if it has no class
