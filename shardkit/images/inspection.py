"""What the header says, and whether every coded byte can be decoded."""

from shardkit.images import jpeg, pillow, png
from shardkit.images.info import BadImage, ImageInfo
from shardkit.reject_reasons import EMPTY

# TensorFlow reads a JPEG to its end marker and fails where a stray marker swallows it; Pillow stops, content, at the
# last pixel. A reserved marker (FF 02), repeated for longer than any segment can be, stands behind the file while it
# is checked: a decoder that has not met the end marker by then runs into it, and Pillow raises.
_BEYOND_THE_END = b"\xff\x02" * (33 << 10)  # 66 KiB
_CHECK_SCALE = 8  # libjpeg's smallest: entropy-decodes everything, transforms next to nothing


def inspect(data: bytes) -> ImageInfo:
    """Read an image's header.

    Costs a few microseconds for a JPEG or a PNG; other formats are opened by Pillow.

    Args:
        data: the whole file.

    Raises:
        BadImage: "empty", "not_an_image", "too_many_pixels"; "truncated" and "damaged" where the header or a missing
            end marker tells.
    """
    if not data:
        raise BadImage(EMPTY, "The file has no bytes; copy it again from its origin or remove it.")
    with pillow.decoding("file", data):
        if data.startswith(jpeg.SIGNATURE):
            return jpeg.scan_jpeg(data)
        if data.startswith(png.SIGNATURE):
            return png.scan_png(data)
        return pillow.inspect_with_pillow(data)


def check(data: bytes) -> ImageInfo:
    """Read an image's header and decode every entropy-coded byte.

    What passes can be normalised, and TensorFlow decodes the result (held by tests over mutated files). A JPEG is
    decoded at an eighth of its size: all its bytes, few of its pixels.

    Args:
        data: the whole file.

    Raises:
        BadImage: as ``inspect`` does; "truncated" and "damaged" wherever the data is.
    """
    info = inspect(data)
    if info.format == "JPEG":
        image = pillow.open_image(data + _BEYOND_THE_END, "JPEG")
        with pillow.decoding("JPEG", data):
            # Brightness alone: colours are entropy-decoded all the same, but not transformed.
            image.draft("L", (max(1, info.width // _CHECK_SCALE), max(1, info.height // _CHECK_SCALE)))
            image.load()
        return info
    with pillow.decoding(info.format, data):
        if info.format == "PNG":
            png.check_png_stream(data)
        pillow.open_image(data, info.format).load()
    return info
