"""Encode a JPEG again with its own quantisation tables, as baseline or with fewer chroma samples.

No maintained library on PyPI turns a progressive JPEG into a baseline one without loss (jpegtran does): the wheels of
mozjpeg-lossless-optimization write progressive files only, PyTurboJPEG needs libjpeg-turbo's shared library on every
worker, and jpeglib is for research. So the picture is decoded and encoded. Without a change of colour space and with
the same tables this is nearly lossless: on photographs 0.1 % to 0.5 % of the coefficients change, most of them where
colours were clipped at black or white. The median PSNR is 49 to 67 dB, the least 41 (tests/benchmarks/bench_jpeg.py).
"""

import io
from typing import TYPE_CHECKING, Any

from shardkit.images.pillow import decoding, open_image

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile

# Bytes for each pixel up to which Huffman tables are optimised: Pillow's buffer for it has 2, and libjpeg fails, with a
# line on standard error, if it is too small. Only noise needs more.
_OPTIMISED_BYTES = 1.5
_R_G_B = (ord("R"), ord("G"), ord("B"))  # ids of components that are not Y, Cb and Cr


def recode_jpeg(data: bytes, subsampling: str | None) -> bytes:
    """Return a JPEG as baseline JPEG with the same quantisation tables and colour profile, without other metadata.

    Args:
        data: The whole file: upright, grey or with three components.
        subsampling: The chroma subsampling, such as "4:2:0"; None for the file's own.

    Raises:
        BadImage: "damaged" or "truncated" if decoding fails; never after ``check``.
    """
    image = open_image(data, "JPEG")
    with decoding("JPEG", data):
        layers: list[tuple[int, int, int, int]] = image.layer  # type: ignore[attr-defined] # id, 2 factors, table
        quantisation: dict[int, list[int]] = image.quantization  # type: ignore[attr-defined]
        tables = [quantisation[table] for *_, table in layers]
        options: dict[str, Any] = {}
        if len(layers) > 1:
            tables = tables[:2] if tables[1] == tables[2] else tables
            is_rgb = _is_rgb(image)
            options = {"subsampling": subsampling or _own_subsampling(image), "keep_rgb": is_rgb and not subsampling}
            if not is_rgb:
                image.draft("YCbCr", image.size)  # no rounding to RGB and back
        image.load()
        options |= {"qtables": tables, "icc_profile": image.info.get("icc_profile")}
        image.info = {}
        # Optimal Huffman tables, because progressive files have them: without, the result is 6 % larger.
        options["optimize"] = len(data) < _OPTIMISED_BYTES * image.width * image.height
        out = io.BytesIO()
        image.save(out, "JPEG", **options)
    return out.getvalue()


def _own_subsampling(image: "ImageFile") -> int:
    """Return Pillow's number of the file's subsampling; 4:4:4 for one that Pillow does not write, such as 4:4:0."""
    from PIL.JpegImagePlugin import get_sampling

    return max(0, get_sampling(image))


def _is_rgb(image: "ImageFile") -> bool:
    """Return whether components are red, green and blue, by libjpeg's rules (jdapimin.c, default_decompress_parms)."""
    if "jfif" in image.info:
        return False
    if "adobe_transform" in image.info:
        return bool(image.info["adobe_transform"] == 0)
    return tuple(layer[0] for layer in image.layer) == _R_G_B  # type: ignore[attr-defined]
