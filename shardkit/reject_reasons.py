"""The registry of reject reasons: the code of every reason and one sentence that explains it.

`rejected.parquet` stores these codes in its column `reason`, and scripts of users compare them: do not change
a released code. `sources/troubleshooting.md` explains them; a test compares its table with this registry.
"""

from typing import Final

EMPTY: Final = "empty"
TRUNCATED: Final = "truncated"
DAMAGED: Final = "damaged"
DECOMPRESSION_BOMB: Final = "decompression_bomb"
NOT_AN_IMAGE: Final = "not_an_image"
UNSUPPORTED_FORMAT: Final = "unsupported_format"
TOO_MANY_PIXELS: Final = "too_many_pixels"
NARROW_BIT_DEPTH: Final = "narrow_bit_depth"
TOO_MANY_BYTES: Final = "too_many_bytes"
UNREADABLE: Final = "unreadable"
MISSING: Final = "missing"
NO_LABEL: Final = "no_label"
BAD_LABEL: Final = "bad_label"
BAD_SPLIT: Final = "bad_split"
NO_SPLIT: Final = "no_split"
BAD_NAME: Final = "bad_name"
BAD_PATH: Final = "bad_path"
BAD_LINE: Final = "bad_line"
BAD_VALUE: Final = "bad_value"
BAD_ANNOTATION: Final = "bad_annotation"
BAD_BOX: Final = "bad_box"
ANNOTATED_SIZE: Final = "annotated_size"
BAD_MASK: Final = "bad_mask"
DUPLICATE_KEY: Final = "duplicate_key"
DUPLICATE_ID: Final = "duplicate_id"
DUPLICATE: Final = "duplicate"
OUTSIDE_CROP: Final = "outside_crop"
BETWEEN_BLOCKS: Final = "between_blocks"

# What each code says about the image or record, in the order of the table on the page.
REJECT_REASONS: dict[str, str] = {
    EMPTY: "The file has no bytes.",
    TRUNCATED: "The image or the archive ends early.",
    DAMAGED: "The image does not decode, or decodes to a picture of which a part is lost.",
    DECOMPRESSION_BOMB: "The file unpacks to far more than its pixels take.",
    NOT_AN_IMAGE: "The file has the ending of an image and other content.",
    UNSUPPORTED_FORMAT: "The file is an image, video or document in a format that shardkit does not read.",
    TOO_MANY_PIXELS: "The image has more pixels, or a longer side, than the decoders allow.",
    NARROW_BIT_DEPTH: "The high 8 of the 16 bits of the image are nearly equal; only with `check=header`.",
    TOO_MANY_BYTES: "The file has more bytes than `max_file_size` allows.",
    UNREADABLE: "There is no permission to read the file, or its archive has it damaged or encrypted.",
    MISSING: "The image that a label, record or annotation names does not exist.",
    NO_LABEL: "The image has no label, annotation or mask.",
    BAD_LABEL: "The label is not a class, or not a number where numbers are expected.",
    BAD_SPLIT: "The split has an invalid name, or the image has no split although others have one.",
    NO_SPLIT: "Two lists, or two rows of a table of boxes, give the image different splits.",
    BAD_NAME: "The name is not UTF-8, or the path leaves the archive or the folder of the label file.",
    BAD_PATH: "The path in a table is missing, leaves its folder, or matches several files.",
    BAD_LINE: "The line of a table cannot be read.",
    BAD_VALUE: "A value does not fit its column.",
    BAD_ANNOTATION: "The annotation cannot be read, or names no class or image.",
    BAD_BOX: "The box has no area inside its image; the image itself is kept.",
    ANNOTATED_SIZE: "The annotations were made for an image of another size.",
    BAD_MASK: "The mask is damaged, has colours, is lossy, has another size, or is not the only one.",
    DUPLICATE_KEY: "An earlier record has the same image, or several records have it with different labels.",
    DUPLICATE_ID: "Other images of the COCO file have the same id, or the image has an earlier record.",
    DUPLICATE: "An image that is kept has the same bytes; does not count for `max_rejected`.",
    OUTSIDE_CROP: "The box is in the part of its image that `size` cuts off; does not count for `max_rejected`.",
    BETWEEN_BLOCKS: "The image is next to a `block` of another split; does not count for `max_rejected`.",
}
# The user asked for these, so they are no faults of the source.
NOT_COUNTED: Final = (DUPLICATE, OUTSIDE_CROP, BETWEEN_BLOCKS)
