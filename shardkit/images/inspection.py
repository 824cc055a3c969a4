"""Read the header of an image, and check that all of its data can be decoded."""

from typing import TYPE_CHECKING

from shardkit.images import jpeg, pillow, png, tiff
from shardkit.images.info import BadImage, ImageInfo, Traits
from shardkit.images.jpeg_segments import SIGNATURE
from shardkit.images.perceptual_hash import MIN_SIDE, perceptual_hash
from shardkit.images.traits import traits_of
from shardkit.reject_reasons import EMPTY

if TYPE_CHECKING:
    from PIL.Image import Image

# TensorFlow reads a JPEG up to its end marker and fails if a stray marker hides it; Pillow stops at the last pixel.
# So the check appends a reserved marker (FF 02), repeated for longer than any segment can be: a decoder that missed
# the end marker reads it, and Pillow raises.
_AFTER_THE_END = b"\xff\x02" * (33 << 10)  # 66 KiB
_CHECK_SCALE = 8  # libjpeg's smallest scale: everything is entropy-decoded, little is transformed


def inspect(data: bytes) -> ImageInfo:
    """Read an image's header.

    Costs a few microseconds for a JPEG or a PNG; other formats are opened by Pillow.

    Args:
        data: The whole file.

    Raises:
        BadImage: "empty", "not_an_image", "too_many_pixels"; "truncated" and "damaged" if the header shows it or the
            end marker is missing.
    """
    if not data:
        raise BadImage(EMPTY, "The file has no bytes; copy it again from its origin or remove it.")
    with pillow.decoding("file", data):
        if data.startswith(SIGNATURE):
            return jpeg.scan_jpeg(data)
        if data.startswith(png.SIGNATURE):
            return png.scan_png(data)
        return pillow.inspect_with_pillow(data)


def check(data: bytes) -> ImageInfo:
    """Read an image's header and decode every entropy-coded byte.

    An image that passes can be normalised, and TensorFlow decodes the result (tested with mutated files). A JPEG is
    decoded at an eighth of its size, which reads all of its bytes and computes few pixels.

    Args:
        data: The whole file.

    Raises:
        BadImage: As ``inspect`` does; also "truncated" and "damaged" for any part of the data.
    """
    return _check(data)[0]


def check_fully(data: bytes) -> tuple[ImageInfo, Traits, bytes | None]:
    """Do as ``check``, and return the traits and the perceptual hash too; None for images that are small or flat.

    Args:
        data: The whole file.

    Raises:
        BadImage: See ``check``.
    """
    info, image = _check(data)
    traits = traits_of(data, info, image)
    if min(info.width, info.height) < MIN_SIDE:
        return info, traits, None
    # The TIFF plugin turns the pixels when it decodes.
    with pillow.decoding(info.format, data):
        return info, traits, perceptual_hash(image, 1 if info.format == "TIFF" else info.orientation)


def _check(data: bytes) -> tuple[ImageInfo, "Image"]:
    """Return the header and the decoded pixels, of a JPEG at reduced scale."""
    info = inspect(data)
    if info.format == "JPEG":
        return info, decode_jpeg(data, info)
    with pillow.decoding(info.format, data):
        if info.format == "PNG":
            png.check_png_stream(data)
        image = pillow.open_image(data, info.format)
        if info.format == "TIFF":
            tiff.check_strips(data, image)
        image.load()
    return info, image


def decode_jpeg(data: bytes, info: ImageInfo) -> "Image":
    """Decode a JPEG at reduced scale, grey or CMYK, with the pixels that Pillow's decoder gives.

    Raises:
        BadImage: "truncated" or "damaged"; also where Pillow only warns.
    """
    from PIL import Image

    # Its parser refuses some headers that libjpeg takes, and `normalise` needs it.
    opened = pillow.open_image(data, "JPEG")
    pixels = jpeg.decode_reduced(data, info)
    if pixels is None:
        image = pillow.open_image(data + _AFTER_THE_END, "JPEG")
        with pillow.decoding("JPEG", data):
            # Greyscale only: colours are still entropy-decoded, but not transformed.
            image.draft("L", (max(1, info.width // _CHECK_SCALE), max(1, info.height // _CHECK_SCALE)))
            image.load()
        return image
    height, width, channels = pixels.shape
    # Pillow takes all CMYK of JPEGs as inverted.
    mode, pixels = ("L", pixels) if channels == 1 else ("CMYK", ~pixels)
    reduced = Image.frombytes(mode, (width, height), pixels.tobytes())
    reduced.info = opened.info  # with the colour profile
    return reduced
