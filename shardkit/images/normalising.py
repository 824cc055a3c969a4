"""Convert an image to the form that every TensorFlow decoder reads: upright JPEG or PNG with 8 bits per channel."""

import io
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from shardkit.images.boxes import upright_size
from shardkit.images.info import FIRST_TRANSPOSED, LOSSY, ImageInfo, damaged
from shardkit.images.jpeg_header import CHROMA_SHARES, read_jpeg_header
from shardkit.images.pillow import decoding, open_image
from shardkit.images.png import has_alpha, without_large_texts
from shardkit.images.profiles import other_profile, to_srgb
from shardkit.images.stored.placement import Placement, place
from shardkit.images.stored.stripping import strip_jpeg, strip_png
from shardkit.options.groups import Stored

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile

_CONVERTED = {
    "1": "L",
    "CMYK": "RGB",
    "La": "LA",
    "PA": "RGBA",
    "RGBX": "RGB",
    "RGBa": "RGBA",
    "YCbCr": "RGB",
}
# An image larger than its target size by more than this factor is first reduced by a whole factor: Pillow's documented
# compromise between speed and quality (Image.resize, reducing_gap).
_REDUCING_GAP = 2.0
# Bytes for each pixel up to which Huffman tables are optimised: Pillow's buffer for it has 2, and libjpeg fails, with a
# line on standard error, if it is too small. Only noise needs more.
_OPTIMISED_BYTES = 1.5
_R_G_B = (ord("R"), ord("G"), ord("B"))  # ids of components that are not Y, Cb and Cr


@dataclass(frozen=True, slots=True)
class NormalisedImage:
    """An image as it is stored.

    Attributes:
        data: A JPEG or PNG file.
        width: Width in pixels, upright.
        height: Height in pixels, upright.
        changes: Sorted codes of ``CHANGES``; empty if ``data`` is the source's bytes.
    """

    data: bytes
    width: int
    height: int
    changes: tuple[str, ...]


def normalise(data: bytes, info: ImageInfo, form: Stored) -> NormalisedImage:
    """Convert an image to its stored form; return its own bytes if nothing has to change.

    If its pixels have to change, the result is the first frame with 8 bits per channel, in the size that is asked for,
    upright and without metadata. JPEG, opaque HEIF (as phones make it, which is lossy) and lossy, opaque WebP become
    JPEG, everything else PNG. Equal input and versions of Pillow and its codecs give equal bytes.

    Args:
        data: The whole file.
        info: The result of ``inspect`` or ``check``.
        form: How images are stored.

    Raises:
        BadImage: "damaged" or "truncated" if decoding fails; after ``check`` only for a JPEG whose metadata cannot be
            told from its image data.
    """
    placement = place(*upright_size(info), form)
    flattens = form.background is not None and info.format == "PNG" and has_alpha(data)
    if not info.changes and not placement.changes and not flattens:
        kept, changes = _kept(data, info, form)
        return NormalisedImage(kept, info.width, info.height, changes)
    image: Image = open_image(data, info.format)
    with decoding(info.format, data):
        # Pillow's TIFF plugin turns the pixels itself when it decodes.
        orientation = 1 if info.format == "TIFF" else info.orientation
        more = set[str]()
        if placement.changes:
            image = _scaled(image, placement, orientation, partial(_to_eight_bits, data, info, form, more=more))
        else:
            image = _to_eight_bits(data, info, form, image, more=more, resample=False)
        image = transpose(image, orientation)
        if placement.is_padded:
            image = _padded(image, placement)
        lossy = info.format == "JPEG" or (image.mode in {"L", "RGB"} and not LOSSY.isdisjoint(info.changes))
        encoded = _encode(image, "JPEG" if lossy else "PNG", form)
    return NormalisedImage(encoded, *image.size, tuple(sorted({*info.changes, *placement.changes, *more})))


def keeps_pixels(info: ImageInfo, form: Stored) -> bool:
    """Return whether an image needs no change other than of its encoding or metadata."""
    return not info.changes and not place(*upright_size(info), form).changes


def _kept(data: bytes, info: ImageInfo, form: Stored) -> tuple[bytes, tuple[str, ...]]:
    """Return an image whose pixels stay, and the codes of what changes in its file."""
    changes = _recoding(data, form) if info.format == "JPEG" else ()
    if changes:
        return recode_jpeg(data, form.subsampling if "subsampling" in changes else None), changes
    kept = data if info.format == "JPEG" else without_large_texts(data)  # users may decode with Pillow
    if not form.strip_metadata:
        return kept, () if kept is data else ("metadata",)
    stripped = strip_jpeg(data) if info.format == "JPEG" else strip_png(kept)
    if stripped is None:
        raise damaged("JPEG", "has markers in its image data, so that metadata cannot be told from it")
    return (data, ()) if stripped == data else (stripped, ("metadata",))


def _recoding(data: bytes, form: Stored) -> tuple[str, ...]:
    """Return why a JPEG is encoded again although its pixels stay."""
    if form.jpeg == "keep" and form.subsampling is None:
        return ()
    header = read_jpeg_header(data)
    if header is None:
        return ()
    is_finer = header.chroma_share > (1 if form.subsampling is None else CHROMA_SHARES[form.subsampling])
    reasons = (("progressive", form.jpeg == "baseline" and header.is_progressive), ("subsampling", is_finer))
    return tuple(code for code, holds in reasons if holds)


def _scaled(
    image: "Image", placement: Placement, orientation: int, to_eight_bits: "Callable[[Image], Image]"
) -> "Image":
    """Resample the window of an image, as stored in the file, to its size; a JPEG is decoded at a reduced scale."""
    from PIL.Image import Resampling

    left, top, right, bottom = placement.window_in_file(orientation)
    size = placement.scaled if orientation < FIRST_TRANSPOSED else placement.scaled[::-1]
    # The size of the whole picture at the scale of its window; without a window it is `size`.
    whole = math.ceil(size[0] / (right - left)), math.ceil(size[1] / (bottom - top))
    drafted = image.draft(None, whole)
    # The reduced picture rounds its sides up; this is the part that the original fills.
    filled = drafted[1][2:] if drafted else image.size
    box = (left * filled[0], top * filled[1], right * filled[0], bottom * filled[1])
    image = to_eight_bits(image)
    return image.resize(size, Resampling.BICUBIC, box=box, reducing_gap=_REDUCING_GAP)


def _padded(image: "Image", placement: Placement) -> "Image":
    """Put an image into a black picture; transparent, if it has an alpha channel."""
    from PIL import Image

    picture = Image.new(image.mode, placement.stored)
    picture.paste(image, (placement.across.before, placement.down.before))
    return picture


def _to_eight_bits(
    data: bytes, info: ImageInfo, form: Stored, image: "Image", *, more: set[str], resample: bool = True
) -> "Image":
    """Decode and convert to L, LA, RGB, RGBA or, unless it will be resampled, P; metadata is dropped.

    Colours are converted to sRGB before anything else is done to them, because the result has no profile.

    Args:
        data: The whole file.
        info: Its header.
        form: How images are stored.
        image: The image, opened.
        more: Receives the codes of what is done besides `info.changes`.
        resample: Whether the result will be resampled.
    """
    image.load()
    mode, profile = image.mode, image.info.get("icc_profile")
    has_profile = other_profile(profile) is not None
    if mode.startswith("I") or ("bit_depth" in info.changes and form.scale is not None):
        from shardkit.images.depth import to_eight_bits  # here, because it loads NumPy

        image = to_eight_bits(image, data, info.format, form.scale)
    elif mode == "P":
        if image.has_transparency_data:
            image = image.convert("RGBA")
        elif resample or has_profile:
            image = image.convert("RGB")
    elif mode in {"L", "RGB"} and "transparency" in image.info:  # one colour of a PNG means "transparent"
        image = image.convert(mode + "A")
    elif mode in _CONVERTED and not (has_profile and mode == "CMYK"):
        image = image.convert(_CONVERTED[mode])
    if profile is not None and has_profile and (converted := to_srgb(image, profile)) is not image:
        image = converted
        more.add("profile")
    if image.mode == "CMYK":  # its profile is of other colours
        image = image.convert("RGB")
    if form.background is not None and image.mode in {"LA", "RGBA"}:
        image = _flattened(image, form.background)
        more.add("background")
    image.info = {}
    return image


def _flattened(image: "Image", background: str) -> "Image":
    """Return an opaque image: the colour of the background shows where the image is transparent."""
    from PIL import Image, ImageColor

    colours = image.convert("RGBA")
    made = Image.new("RGBA", image.size, ImageColor.getrgb(background))
    made.alpha_composite(colours)
    return made.convert("RGB")


def transpose(image: "Image", orientation: int) -> "Image":
    """Turn the pixels upright."""
    from PIL.Image import Transpose

    # EXIF 2.3, 4.6.4 A; tests compare it with PIL.ImageOps.exif_transpose.
    method = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }.get(orientation)
    return image if method is None else image.transpose(method)


def _encode(image: "Image", kind: str, form: Stored) -> bytes:
    """Encode a JPEG or PNG file without metadata."""
    buffer = io.BytesIO()
    if kind == "JPEG":
        # Without a choice, Pillow subsamples as libjpeg does: 4:2:0.
        image.save(buffer, "JPEG", quality=form.quality, subsampling=form.subsampling or -1)
    else:
        image.save(buffer, "PNG")
    return buffer.getvalue()


def recode_jpeg(data: bytes, subsampling: str | None) -> bytes:
    """Return a JPEG as baseline JPEG with the same quantisation tables and colour profile, without other metadata.

    No maintained library on PyPI turns a progressive JPEG into a baseline one without loss (jpegtran does): the wheels
    of mozjpeg-lossless-optimization write progressive files only, PyTurboJPEG needs libjpeg-turbo's shared library on
    every worker, and jpeglib is for research. So the picture is decoded and encoded. Without a change of colour space
    and with the same tables this is nearly lossless: on photographs 0.1 % to 0.5 % of the coefficients change, most of
    them where colours were clipped at black or white. The median PSNR is 49 to 67 dB, the least 41
    (tests/benchmarks/bench_jpeg.py).

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
