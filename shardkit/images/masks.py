"""Check and normalise segmentation masks, whose pixels are class numbers, without changing a value.

Conversions that keep the look of an image ruin a mask: TensorFlow replaces a palette by its colours and scales 1, 2 and
4 bits to 0..255, Pillow scales them too, and JPEG changes values. So a mask is stored as a grey PNG with 8 or 16 bits,
from which ``tf.io.decode_png`` returns the values unchanged (with dtype uint16 for 16 bits).
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shardkit.errors import CallError
from shardkit.images.info import FIRST_TRANSPOSED, BadImage, ImageInfo, MaskInfo
from shardkit.images.inspection import decode_jpeg, inspect
from shardkit.images.normalising import transpose
from shardkit.images.pillow import decoding, open_image
from shardkit.images.png import check_png_stream, without_large_texts
from shardkit.images.stored.placement import Placement, place
from shardkit.images.stored.stripping import strip_png
from shardkit.images.tiff import check_strips
from shardkit.options.groups import Stored
from shardkit.options.words import named
from shardkit.reject_reasons import BAD_MASK

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile

# Lossless formats whose samples are numbers. Of a GIF, its greys are: encoders sort its palette for compression.
_FORMATS = frozenset({"BMP", "GIF", "PNG", "TIFF"})
# Black and white survive it.
_FORMATS_OF_TWO = _FORMATS | {"JPEG"}
BLACK_AND_WHITE = "000000ffffff"  # colours of the classes 0 and 1
_DARK, _LIGHT = 40, 215  # the greatest value of black, and the least of white, after JPEG
_MAX_BETWEEN = 0.1  # share of the pixels of a JPEG, at edges
_AS_STORED = frozenset({"bit_depth"})  # an image's changes that do not apply to masks
_PNG_DEPTH, _PNG_COLOUR = 24, 25  # bytes of IHDR
_PNG_GREY = 0
NO_CLASS = frozenset({255, 65535})  # values of pixels without a class, as in VOC and Cityscapes
_TIFF_BITS, _TIFF_PHOTOMETRIC = 258, 262  # tags (TIFF 6.0, section 8)
_TIFF_WHITE_IS_ZERO = 0
_TIFF_LOSSY = frozenset({"jpeg", "tiff_jpeg", "webp"})  # Pillow's names of compressions
_OS2_HEADER = 12  # bytes: BMP's oldest, with 16-bit sizes
# Factor by which Pillow scales samples of so many bits to 0..255.
_SCALE = {1: 255, 2: 85, 4: 17, 8: 1}
# (mode, stored bits per sample) that are grey. Pillow 12.3 reads BMPs of 4 and 8 bits as another depth if their palette
# is black and white or 16 greys; those are refused.
_GREY = frozenset({("1", 1), ("L", 2), ("L", 4), ("L", 8), ("I;16", 16), ("I;16B", 16), ("I;16L", 16), ("I;16N", 16)})
_GREY_BMP = frozenset({("1", 1), ("L", 8)})
_REMEDY = "save it as a PNG, grey or with a palette, whose pixel values are the numbers of the classes"

_COLOUR_REMEDY = f"{_REMEDY}, or name the colours in SOURCE/label_colors.txt, with lines such as '64 128 64 Animal'"
_DIGITS = 6  # of a colour
SEGMENTS = "#"  # the beginning of colours that are those of an image's segments, each followed by the class
_DIGITS_OF_CLASS = 2
_MODES_OF_COLOURS = frozenset({"P", "RGB", "RGBA", "LA"})
_OPAQUE = 255
_PIXELS_AT_ONCE = 1 << 20  # each takes about 30 bytes


@dataclass(frozen=True, slots=True)
class NormalisedMask:
    """A mask as it is stored.

    Attributes:
        data: A grey PNG with 8 or 16 bits.
        width: Width in pixels, upright.
        height: Height in pixels, upright.
    """

    data: bytes
    width: int
    height: int


def check_mask(data: bytes, colours: str | None = None) -> MaskInfo:
    """Decode every byte of a mask and check that its pixels are class numbers.

    Args:
        data: The whole file.
        colours: The colours of the classes by number, six hexadecimal digits each; `SEGMENTS` and the colours of the
            image's segments, each with two digits of its class; None if pixels are class numbers.

    Raises:
        BadImage: "bad_mask": it is damaged, coloured, lossy or otherwise no array of numbers; or a colour is that of no
            class.
    """
    with _as_bad_mask(data):
        info = _inspected(data, colours)
        if info.format == "PNG":
            check_png_stream(data)
        elif info.format == "JPEG":
            decode_jpeg(data, info)
        elif info.format == "TIFF":
            check_strips(data, open_image(data, "TIFF"))
        numbers = _class_numbers(data, info, colours)
        return MaskInfo(info.width, info.height, 16 if numbers.mode == "I;16" else 8, _last_class(numbers))


def _last_class(numbers: "Image") -> int:
    import numpy as np

    counts = numbers.histogram() if numbers.mode == "L" else np.bincount(np.asarray(numbers).ravel())
    return max((int(number) for number in np.flatnonzero(counts) if number not in NO_CLASS), default=-1)


def mask_values(data: bytes) -> "npt.NDArray[np.integer]":
    """Return the class numbers of a mask in its stored form, int[height, width].

    Raises:
        BadImage: "bad_mask".
    """
    import numpy as np

    with _as_bad_mask(data):
        image = open_image(data, "PNG")
        image.load()
        return np.asarray(image)


def normalise_mask(data: bytes, *, orientation: int, form: Stored, colours: str | None = None) -> NormalisedMask:
    """Convert a mask to its stored form; return its own bytes if nothing has to change.

    The mask is turned upright, then placed like its image by nearest neighbour, so that the only new value is that of a
    border.

    Args:
        data: The whole file, which ``check_mask`` has accepted.
        orientation: EXIF orientation 1..8 that turns the mask upright; 1 for none.
        form: How images are stored.
        colours: See `check_mask`.

    Raises:
        BadImage: "bad_mask"; never after ``check_mask``.
        CallError: An option is out of range, or the mask gets a border and `form` has no class number for it.
    """
    if not 1 <= orientation <= 8:
        raise CallError(f"orientation must be 1..8, not {orientation}; correct the call")
    if form.fit == "pad" and form.mask_padding is None:
        raise CallError(
            f"{named('fit', 'pad')} adds a border to masks; give its class number with {named('mask_padding')}"
        )
    with _as_bad_mask(data):
        info = _inspected(data, colours)
        is_plain = not colours and info.format == "PNG" and data[_PNG_COLOUR] == _PNG_GREY and data[_PNG_DEPTH] >= 8
        is_plain = is_plain and orientation == 1 and _AS_STORED.issuperset(info.changes)
        is_turned = orientation >= FIRST_TRANSPOSED
        placement = place(*((info.height, info.width) if is_turned else (info.width, info.height)), form)
        if is_plain and not placement.changes:
            kept = without_large_texts(data)
            kept = strip_png(kept) if form.strip_metadata else kept
            return NormalisedMask(kept, info.width, info.height)
        mask = transpose(_class_numbers(data, info, colours), orientation)
        if placement.changes:
            mask = _placed(mask, placement, form.mask_padding or 0)
        buffer = io.BytesIO()
        mask.save(buffer, "PNG")
    return NormalisedMask(buffer.getvalue(), *mask.size)


def _placed(mask: "Image", placement: Placement, border: int) -> "Image":
    """Resize the mask's window by nearest neighbour, and put it into its border."""
    import numpy as np
    from PIL import Image

    scaled = np.asarray(mask)[placement.down.nearest()[:, None], placement.across.nearest()]
    if placement.is_padded:
        before = placement.down.before, placement.across.before
        after = placement.stored[1] - before[0] - len(scaled), placement.stored[0] - before[1] - scaled.shape[1]
        scaled = np.pad(scaled, tuple(zip(before, after, strict=True)), constant_values=border)
    return Image.fromarray(scaled)


@contextmanager
def _as_bad_mask(data: bytes) -> Iterator[None]:
    """Raise any error as BadImage "bad_mask", with a message about the mask, because its key is the image's."""
    try:
        with decoding("mask", data):
            yield
    except BadImage as error:
        sentence = str(error)
        if error.reason != BAD_MASK:
            sentence = f"The mask is bad: {sentence[:1].lower()}{sentence[1:]}"
        raise BadImage(BAD_MASK, sentence) from error


def _bad(found: str, remedy: str = _REMEDY) -> BadImage:
    return BadImage(BAD_MASK, f"The mask {found}; {remedy}.")


def _inspected(data: bytes, colours: str | None) -> ImageInfo:
    """Read the header, and check that masks may have its format."""
    info = inspect(data)
    formats = _FORMATS_OF_TWO if colours == BLACK_AND_WHITE else _FORMATS
    if info.format == "JPEG" and info.format not in formats:
        raise _bad("is a JPEG, which changes pixel values", f"make it again from the original and {_REMEDY}")
    if info.format not in formats:
        raise _bad(f"is {info.format}, not PNG, TIFF, BMP or GIF")
    if info.format == "GIF" and "animated" in info.changes:
        raise _bad("is a GIF of several frames", f"write the frame that belongs to its image, and {_REMEDY}")
    if info.orientation != 1:
        # Tools disagree on whether such a mask fits the stored or the upright image.
        raise _bad(f"has an EXIF orientation ({info.orientation}) of its own", "save it upright, without one")
    return info


def _class_numbers(data: bytes, info: ImageInfo, colours: str | None) -> "Image":
    """Return the first frame as mode "L" or "I;16", with the values stored in the file or those of its colours."""
    from PIL import Image

    image = open_image(data, info.format)
    with decoding(info.format, data):
        image.load()
        bits = _stored_bits(data, image, info.format)
    if colours == BLACK_AND_WHITE:
        return _black_or_white(image, info.format)
    if colours and colours.startswith(SEGMENTS) and image.mode not in _MODES_OF_COLOURS:
        raise _bad("is grey, so its pixels are not the colours of segments", "write it as COCO's panoptic PNGs are")
    if colours and is_in_colours(image.mode, colours):
        return numbers_of_colours(image, colours)
    if info.format == "GIF":
        return _greys_of_gif(image)
    if image.mode == "P":
        return Image.frombytes("L", image.size, image.tobytes())
    if (image.mode, bits) in (_GREY_BMP if info.format == "BMP" else _GREY):
        if image.mode.startswith("I"):
            return image.convert("I;16") if image.mode != "I;16" else image.copy()
        step = _SCALE[bits]
        samples = image.convert("L").tobytes()
        table = bytes(value // step for value in range(256))
        return Image.frombytes("L", image.size, samples if step == 1 else samples.translate(table))
    if bits == 8 and image.mode in {"LA", "RGB", "RGBA"}:
        return _grey_of_channels(image)
    raise _bad(f"has pixels of mode {image.mode} with {bits} bits, which are not class numbers")


def _greys_of_gif(image: "ImageFile") -> "Image":
    """Return the colours of a grey GIF as class numbers.

    Pillow renumbers the palette without its unused entries, so the pixels of a class are a 2 in one file and a 1 in the
    next. Their grey is the same in all.
    """
    greys = _grey_of_channels(image.convert("RGBA"))
    values = {value for _, value in greys.getcolors() or ()}
    if _OPAQUE in values and values <= {0, _OPAQUE}:
        found = "is a GIF in black and white, unlike the first masks of the source: its white may be 1 or no class"
        raise _bad(found)
    return greys


def _black_or_white(image: "ImageFile", kind: str) -> "Image":
    """Return 0 for black pixels and 1 for white ones, as mode "L"."""
    import numpy as np
    from PIL import Image

    if image.mode.startswith("I"):
        samples = np.asarray(image.convert("I"))
        values = np.where(samples == max(NO_CLASS), _OPAQUE, np.minimum(samples, 1))[..., None]
    else:
        rgba = np.asarray(image.convert("RGBA"))
        if (rgba[..., 3] != _OPAQUE).any():
            raise _bad("is translucent, so its pixels are not black or white")
        values = rgba[..., :3]
    least, most = values.min(-1), values.max(-1)
    dark, light, max_between = (_DARK, _LIGHT, _MAX_BETWEEN) if kind == "JPEG" else (0, _OPAQUE, 0)
    between = np.count_nonzero((most > dark) & (least < light)) / least.size
    if between > max_between:
        found = f"has pixels that are neither black nor white ({between:.1%}), unlike the first masks of the source"
        raise _bad(found, "save it in black and white, or all of them as PNGs whose pixel values are class numbers")
    return Image.fromarray((least > _OPAQUE // 2).astype(np.uint8))


def _grey_of_channels(image: "Image") -> "Image":
    """Return the first channel if the other colours equal it and nothing is translucent."""
    *colours, last = image.split()
    if image.mode == "RGB":
        colours.append(last)
    elif last.getextrema() != (255, 255):
        raise _bad("is translucent, so its pixels are not class numbers")
    first = colours[0].tobytes()
    if any(colour.tobytes() != first for colour in colours[1:]):
        raise _bad("is coloured, so its pixels are not class numbers", _COLOUR_REMEDY)
    return colours[0]


def _stored_bits(data: bytes, image: "ImageFile", kind: str) -> int:
    """Return the bits per sample; refuse encodings that change values."""
    if kind == "PNG":
        return data[_PNG_DEPTH]
    if kind == "BMP":
        at = 24 if int.from_bytes(data[14:18], "little") == _OS2_HEADER else 28
        depth = int.from_bytes(data[at : at + 2], "little")
        return min(depth, 8)
    tags: Any = getattr(image, "tag_v2", {})
    if image.info.get("compression") in _TIFF_LOSSY:
        raise _bad(f"is a TIFF compressed by {image.info['compression']}, which may change pixel values")
    if image.mode in {"1", "L"} and tags.get(_TIFF_PHOTOMETRIC) == _TIFF_WHITE_IS_ZERO:
        raise _bad("is a TIFF whose 0 is white, which programs read as 0 or as 255")
    found = tags.get(_TIFF_BITS, 1)
    return int(max(found)) if isinstance(found, tuple) else int(found)


def is_in_colours(mode: str, colours: str) -> bool:
    """Return whether the pixels of a mask are colours and not class numbers.

    Args:
        mode: Pillow's mode of the mask.
        colours: See `check_mask`.

    Returns:
        Whether the mask has colours. A gray one has if all classes are gray, as in masks of 0 and 255.
    """
    if mode in _MODES_OF_COLOURS:
        return True
    grays = (colour % 0x10101 == 0 for colour, _ in _classes_of_colours(colours))
    return mode in {"1", "L"} and all(grays)


def _classes_of_colours(colours: str) -> list[tuple[int, int]]:
    """Return each colour, its red in the upper bits, with its class."""
    if not colours.startswith(SEGMENTS):
        found = range(0, len(colours), _DIGITS)
        return [(int(colours[at : at + _DIGITS], 16), number) for number, at in enumerate(found)]
    step = _DIGITS + _DIGITS_OF_CLASS
    found = range(len(SEGMENTS), len(colours), step)
    return [(int(colours[at : at + _DIGITS], 16), int(colours[at + _DIGITS : at + step], 16)) for at in found]


def numbers_of_colours(image: "Image", colours: str) -> "Image":
    """Return the class numbers of a mask in colours, as mode "L".

    Args:
        image: The mask.
        colours: See `check_mask`; those of at most 256 classes.

    Raises:
        BadImage: "bad_mask": a pixel is translucent, or has the colour of no class.
    """
    import numpy as np
    from PIL import Image

    table = np.array(_classes_of_colours(colours), np.uint32)
    known, classes = table.T
    order = np.argsort(known)
    numbers = np.empty((image.height, image.width), np.uint8)
    num_rows = max(1, _PIXELS_AT_ONCE // image.width)
    for top in range(0, image.height, num_rows):
        bottom = min(top + num_rows, image.height)
        rgba = np.asarray(image.crop((0, top, image.width, bottom)).convert("RGBA")).astype(np.uint32)
        if (rgba[..., 3] != _OPAQUE).any():
            raise BadImage(
                BAD_MASK, "The mask is translucent, so its colours are not those of classes; save it opaque."
            )
        packed = rgba[..., 0] << 16 | rgba[..., 1] << 8 | rgba[..., 2]
        found = order[np.minimum(np.searchsorted(known[order], packed), len(known) - 1)]
        if len(unknown := np.argwhere(known[found] != packed)):
            y, x = unknown[0].tolist()
            red, green, blue = rgba[y, x, :3].tolist()
            what, file = (
                ("segment of the image", "annotations") if colours[0] == SEGMENTS else ("class", "file of colours")
            )
            msg = (
                f"The mask has the colour {red} {green} {blue} at ({x}, {top + y}), which belongs to no {what}; "
                f"add the colour to the {file}, or correct the mask."
            )
            raise BadImage(BAD_MASK, msg)
        numbers[top:bottom] = classes[found]
    return Image.fromarray(numbers)
