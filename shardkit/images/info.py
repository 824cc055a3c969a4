"""What is known of an image: the value that a header gives, and the error that a bad image raises.

The limits are those of the decoders that come later: Pillow's threshold of suspicion for the number of pixels, and
libpng's default for the length of a side (a PNG with a longer side is refused by TensorFlow, measured with 2.21).
"""

from dataclasses import dataclass

from shardkit.errors import DataError
from shardkit.reject_reasons import (
    ANNOTATED_SIZE,
    BAD_MASK,
    DAMAGED,
    EMPTY,
    NOT_AN_IMAGE,
    TOO_MANY_PIXELS,
    TRUNCATED,
    UNREADABLE,
)

MAX_PIXELS = 89_478_485  # Pillow's Image.MAX_IMAGE_PIXELS: above it an image is suspected to be a decompression bomb
MAX_SIDE = 1_000_000  # pixels; libpng's PNG_USER_WIDTH_MAX and PNG_USER_HEIGHT_MAX

# Every reason that a BadImage can have.
REASONS = (EMPTY, TRUNCATED, NOT_AN_IMAGE, TOO_MANY_PIXELS, DAMAGED, UNREADABLE, ANNOTATED_SIZE, BAD_MASK)

# Every code that ImageInfo.changes and NormalisedImage.changes can hold.
CHANGES: dict[str, str] = {
    "animated": "more than one frame or page; the first is kept",
    "bit_depth": "more than 8 bits a channel; the high 8 are kept",
    "cmyk": "CMYK or YCCK colours; converted to RGB",
    "format:avif": "AVIF; re-encoded as PNG",
    "format:bmp": "BMP; re-encoded as PNG",
    "format:gif": "GIF; re-encoded as PNG",
    "format:jpeg2000": "JPEG 2000; re-encoded as PNG",
    "format:ppm": "PBM, PGM or PPM; re-encoded as PNG",
    "format:tiff": "TIFF; re-encoded as PNG",
    "format:webp": "WebP; re-encoded as JPEG where it was lossy and opaque, else as PNG",
    "jpeg_process": "JPEG with arithmetic coding or the lossless process; re-encoded as ordinary JPEG",
    "orientation": "EXIF or XMP orientation was not upright; pixels are turned",
    "resized": "shrunk to the shorter side asked for (set by normalise alone)",
}


@dataclass(frozen=True, slots=True)
class ImageInfo:
    """What an image's header says.

    Attributes:
        format: "JPEG", "PNG", "WEBP", "TIFF", "GIF", "BMP", "PPM", "JPEG2000" or "AVIF". A multi-picture JPEG (which
            Pillow names "MPO") is "JPEG": every decoder reads its first picture.
        width: pixels a row as stored in the file, before orientation.
        height: rows as stored in the file, before orientation.
        orientation: EXIF orientation 1..8, or XMP's where EXIF has none; 1 (upright) when absent or invalid.
        changes: sorted codes out of ``CHANGES`` that say why the bytes cannot be stored as they are; empty where they
            can.
    """

    format: str
    width: int
    height: int
    orientation: int
    changes: tuple[str, ...]


class BadImage(DataError):  # noqa: N818 -- it names what was found, as the index's reason column does
    """Bytes that are no image, or one that cannot be decoded.

    ``str()`` is one sentence without the key, which the caller knows and adds.

    Attributes:
        reason: "empty", "truncated", "not_an_image", "too_many_pixels" or "damaged"; "bad_mask" of masks; "unreadable"
            and "annotated_size" (annotations of an image of another size) only from those who know more than bytes.
    """

    def __init__(self, reason: str, sentence: str) -> None:
        # Both go to args so that the error survives the trip between processes.
        super().__init__(reason, sentence)
        self.reason = reason

    def __str__(self) -> str:
        return str(self.args[1])


def check_size(width: int, height: int, kind: str) -> None:
    """Refuse a size that no decoder should be asked for, before anything is decoded.

    Args:
        width: pixels.
        height: pixels.
        kind: the format's name, for the message.

    Raises:
        BadImage: "damaged" where a side is 0, "too_many_pixels" above MAX_PIXELS or MAX_SIDE.
    """
    if width < 1 or height < 1:
        raise BadImage(DAMAGED, f"The {kind} header claims {width} x {height} pixels; replace the file.")
    if width * height > MAX_PIXELS or width > MAX_SIDE or height > MAX_SIDE:
        raise BadImage(
            TOO_MANY_PIXELS,
            f"The {kind} header claims {width} x {height} pixels, more than the {MAX_PIXELS} pixels in all or "
            f"{MAX_SIDE} a side that are decoded; shrink the image or leave it out.",
        )


def truncated(kind: str, num_bytes: int) -> BadImage:
    """The error for a file of ``num_bytes`` bytes that ends before its image does."""
    return BadImage(TRUNCATED, f"The {kind} is cut short after {num_bytes} bytes; copy it again from its origin.")


def damaged(kind: str, found: str, remedy: str = "copy it again from its origin or replace it") -> BadImage:
    """The error for an image that cannot be decoded; ``found`` continues "The JPEG ..."."""
    return BadImage(DAMAGED, f"The {kind} {found}; {remedy}.")
