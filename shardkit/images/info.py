"""The header of an image as a value, the error for a bad image, and the check of its size."""

from dataclasses import dataclass

from shardkit.errors import DataError
from shardkit.image_limits import MAX_PIXELS, MAX_SIDE
from shardkit.reject_reasons import (
    ANNOTATED_SIZE,
    BAD_MASK,
    DAMAGED,
    DECOMPRESSION_BOMB,
    EMPTY,
    NARROW_BIT_DEPTH,
    NOT_AN_IMAGE,
    TOO_MANY_BYTES,
    TOO_MANY_PIXELS,
    TRUNCATED,
    UNREADABLE,
    UNSUPPORTED_FORMAT,
)

FIRST_TRANSPOSED = 5  # EXIF orientations 5..8 swap width and height
# Every reason that a BadImage can have.
REASONS = (
    EMPTY,
    TRUNCATED,
    NOT_AN_IMAGE,
    TOO_MANY_PIXELS,
    TOO_MANY_BYTES,
    NARROW_BIT_DEPTH,
    DAMAGED,
    DECOMPRESSION_BOMB,
    UNREADABLE,
    ANNOTATED_SIZE,
    BAD_MASK,
    UNSUPPORTED_FORMAT,
)

# Codes of ImageInfo.changes and NormalisedImage.changes, with their meaning. Those that name an option are set by
# normalise alone. Print the meanings with `shardkit.options.words.shown`.
CHANGES: dict[str, str] = {
    "animated": "more than one frame or page; the first is kept",
    "background": "alpha; the image is flattened with the colour of `background`",
    "bit_depth": "more than 8 bits a channel; the high 8 are kept, or a range by `bit_depth`",
    "cmyk": "CMYK or YCCK colours; converted to RGB",
    "cropped": "parts beyond the edges of `size` are cut off",
    "enlarged": "smaller than `size`",
    "format:avif": "AVIF; re-encoded as PNG",
    "format:bmp": "BMP; re-encoded as PNG",
    "format:gif": "GIF; re-encoded as PNG",
    "format:heif": "HEIC or HEIF; re-encoded as JPEG if it is opaque, else as PNG",
    "format:jpeg2000": "JPEG 2000; re-encoded as PNG",
    "format:lossy_webp": "lossy WebP of one frame; re-encoded as JPEG if it is opaque, else as PNG",
    "format:ppm": "PBM, PGM or PPM; re-encoded as PNG",
    "format:tiff": "TIFF; re-encoded as PNG",
    "format:webp": "lossless or animated WebP; re-encoded as PNG",
    "jpeg_process": "JPEG with arithmetic coding or the lossless process; re-encoded as ordinary JPEG",
    "metadata": "EXIF, XMP, comments or thumbnails removed by `strip_metadata`, or texts above 1 MiB, without decoding",
    "orientation": "EXIF or XMP orientation was not upright; pixels are turned",
    "padded": "smaller than `size` in one direction; there is a border",
    "profile": "colour profile other than sRGB; colours are converted to sRGB",
    "progressive": "progressive; re-encoded by `jpeg=baseline` with its own quantisation tables and subsampling",
    "resized": "reduced by `resize`, `max_side` or `size`",
    "subsampling": "re-encoded with the chroma subsampling of `subsampling` and its own quantisation tables",
}
# Those of lossy images that are stored as JPEG if they are opaque, with loss once more.
LOSSY = frozenset({"format:heif", "format:lossy_webp"})


@dataclass(frozen=True, slots=True)
class ImageInfo:
    """The header of an image.

    Attributes:
        format: "JPEG", "PNG", "WEBP", "TIFF", "GIF", "BMP", "PPM", "JPEG2000", "AVIF" or "HEIF". A multi-picture
            JPEG (which Pillow names "MPO") is "JPEG", because every decoder reads its first picture.
        width: Width in pixels as stored in the file, before orientation.
        height: Height in pixels as stored in the file, before orientation.
        orientation: EXIF orientation 1..8, or XMP's if EXIF has none; 1 (upright) if absent or invalid.
        changes: Sorted codes of ``CHANGES``: why the bytes cannot be stored unchanged; empty if they can.
    """

    format: str
    width: int
    height: int
    orientation: int
    changes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Traits:
    """What an image loses when it is stored, or may lose when it is read. None where it loses nothing.

    Attributes:
        low: The least sample of an image with 16 bits a channel; None also if its decoder gives 8 bits only.
        high: The greatest.
        num_frames: Number of frames or pages, if there are several.
        profile: Name of a colour profile other than sRGB.
        is_transparent: True if a pixel is not opaque: decoders to RGB show the colour that it hides.
    """

    low: int | None = None
    high: int | None = None
    num_frames: int | None = None
    profile: str | None = None
    is_transparent: bool | None = None


class BadImage(DataError):  # noqa: N818 -- named after what was found
    """Bytes that are not an image, or an image that cannot be decoded.

    ``str()`` is one sentence without the key, which the caller adds.

    Attributes:
        reason: "empty", "truncated", "not_an_image", "too_many_pixels", "damaged",
            "decompression_bomb" or "unsupported_format";
            "bad_mask" for masks. Callers that know the file or its annotations also raise "unreadable",
            "too_many_bytes" and "annotated_size".
    """

    def __init__(self, reason: str, sentence: str) -> None:
        # Both are in args so that the error can be pickled.
        super().__init__(reason, sentence)
        self.reason = reason

    def __str__(self) -> str:
        return str(self.args[1])


def check_size(width: int, height: int, kind: str) -> None:
    """Check the size of an image before decoding it.

    Args:
        width: Width in pixels.
        height: Height in pixels.
        kind: Name of the format, for the message.

    Raises:
        BadImage: "damaged" if a side is 0, "too_many_pixels" above MAX_PIXELS or MAX_SIDE.
    """
    if width < 1 or height < 1:
        raise BadImage(DAMAGED, f"The {kind} header claims {width} x {height} pixels; replace the file.")
    if width * height > MAX_PIXELS or width > MAX_SIDE or height > MAX_SIDE:
        raise BadImage(
            TOO_MANY_PIXELS,
            f"The {kind} header claims {width} x {height} pixels, more than the limit of {MAX_PIXELS} pixels or "
            f"{MAX_SIDE} pixels per side; shrink or remove the image.",
        )


def too_many_bytes(what: str, num_bytes: int, max_bytes: int) -> BadImage:
    """Return the error for a file that is not read because of its size; ``what`` is "The file" or names a mask."""
    found = f"{what} has {num_bytes:,} bytes, more than the {max_bytes:,} of `max_file_size`"
    return BadImage(TOO_MANY_BYTES, f"{found}; shrink it, leave it out, or raise `max_file_size`.")


def truncated(kind: str, num_bytes: int) -> BadImage:
    """Return the error for a file of ``num_bytes`` bytes that ends before its image."""
    return BadImage(TRUNCATED, f"The {kind} is cut short after {num_bytes} bytes; copy it again from its origin.")


def damaged(kind: str, found: str, remedy: str = "copy it again from its origin or replace it") -> BadImage:
    """Return the error for an image that cannot be decoded; ``found`` continues "The JPEG ..."."""
    return BadImage(DAMAGED, f"The {kind} {found}; {remedy}.")


@dataclass(frozen=True, slots=True)
class MaskInfo:
    """The header of a mask.

    Attributes:
        width: Width in pixels.
        height: Height in pixels.
        bits: Bits of a stored class number, 8 or 16.
        last_class: The greatest class number; -1 if no pixel has a class. 255, and 65535 where there are 16 bits, mean
            "no class", as in VOC and Cityscapes.
    """

    width: int
    height: int
    bits: int
    last_class: int
