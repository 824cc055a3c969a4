"""Masks: the stored PNG, read by TensorFlow, gives the very numbers that stand in the file."""

import io
import struct
import zlib

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image, ImageOps, PngImagePlugin

from shardkit.errors import CallError
from shardkit.images import BadImage
from shardkit.images.masks import BLACK_AND_WHITE, MaskInfo, _placed, check_mask, normalise_mask
from shardkit.images.stored.placement import Placement, Span
from shardkit.options.groups import Stored

from .image_making import chunk, encode, exif, insert_chunks, interlaced_png, made, picture, png

PALETTE = np.random.default_rng(0).integers(0, 256, 768, np.uint8).tobytes()
WHITE, BLACK = (255, 255, 255), (0, 0, 0)


def decoded(data):
    """What TensorFlow reads from a stored mask: (height, width)."""
    bits = data[24]
    pixels = np.asarray(tf.io.decode_png(data, dtype=tf.uint16 if bits == 16 else tf.uint8))
    assert pixels.shape[2] == 1
    return pixels[..., 0]


def stored(data, orientation=1, **form):
    return normalise_mask(data, orientation=orientation, form=Stored(**form))


def numbers(bits, height=5, width=11):
    """Class numbers of so many bits, the largest one among them."""
    found = np.random.default_rng(bits).integers(0, 1 << bits, (height, width), np.uint16)
    found[-1, -1] = (1 << bits) - 1
    return found


def packed(values, bits):
    """Rows of samples as PNG, TIFF and BMP pack them: the first one in the high bits, each row on a whole byte."""
    if bits == 16:
        return [row.astype(">u2").tobytes() for row in values]
    planes = np.unpackbits(values.astype(np.uint8)[..., None], axis=-1)[..., 8 - bits :]
    return [np.packbits(row.reshape(-1)).tobytes() for row in planes]


def png_of(values, bits, colour):
    height, width = values.shape
    rows = b"".join(b"\0" + row for row in packed(values, bits))
    palette = [chunk(b"PLTE", PALETTE[: 3 << bits])] if colour == 3 else []
    return png((width, height, bits, colour, 0), *palette, chunk(b"IDAT", zlib.compress(rows)))


def tiff_of(values, bits, photometric):
    """An uncompressed TIFF of one strip; photometric 3 has a palette."""
    height, width = values.shape
    strip = b"".join(packed(values, bits))
    palette = np.frombuffer(PALETTE[: 3 << bits], np.uint8).astype("<u2").tobytes()
    fields = {256: width, 257: height, 258: bits, 259: 1, 262: photometric, 273: 8, 277: 1, 278: height}
    fields |= {279: len(strip)}
    ifd = 8 + len(strip) + len(palette)
    entries = [struct.pack("<HHLL", tag, 3, 1, value) for tag, value in fields.items()]
    if photometric == 3:
        entries.append(struct.pack("<HHLL", 320, 3, len(palette) // 2, 8 + len(strip)))
    order = "<u2" if bits == 16 else None
    strip = values.astype(order).tobytes() if order else strip
    ends = struct.pack("<L", 0)
    return (
        b"II*\0"
        + struct.pack("<LH", ifd, 0)[:4]
        + strip
        + palette
        + struct.pack("<H", len(entries))
        + b"".join(entries)
        + ends
    )


def bmp_of(values, bits, colours):
    height, width = values.shape
    rows = [row + bytes(-len(row) % 4) for row in packed(values, bits)]
    data = b"".join(reversed(rows))
    table = b"".join(bytes((blue, green, red, 0)) for red, green, blue in colours)
    head = struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, 0, len(data), 0, 0, len(colours), 0)
    return b"BM" + struct.pack("<III", 54 + len(table) + len(data), 0, 54 + len(table)) + head + table + data


def greys(count):
    return [(i, i, i) for i in range(count)]


def random_colours(count):
    return [tuple(PALETTE[3 * i : 3 * i + 3]) for i in range(count)]


# name: the file, and the numbers in it
KEPT = {
    **{f"PNG grey {bits} bits": (png_of(numbers(bits), bits, 0), numbers(bits)) for bits in (1, 2, 4, 8, 16)},
    **{f"PNG palette {bits} bits": (png_of(numbers(bits), bits, 3), numbers(bits)) for bits in (1, 2, 4, 8)},
    **{f"TIFF grey {bits} bits": (tiff_of(numbers(bits), bits, 1), numbers(bits)) for bits in (1, 2, 4, 8, 16)},
    **{f"TIFF palette {bits} bits": (tiff_of(numbers(bits), bits, 3), numbers(bits)) for bits in (1, 2, 4, 8)},
    "BMP 8 bits grey": (bmp_of(numbers(8), 8, greys(256)), numbers(8)),
    "BMP 8 bits coloured": (bmp_of(numbers(8), 8, random_colours(256)), numbers(8)),
    "BMP 4 bits coloured": (bmp_of(numbers(4), 4, random_colours(16)), numbers(4)),
    "BMP 1 bit black and white": (bmp_of(numbers(1), 1, [BLACK, WHITE]), numbers(1)),
    "BMP 1 bit white and black": (bmp_of(numbers(1), 1, [WHITE, BLACK]), numbers(1)),
}


def image_file(array, kind="PNG", mode=None, **options):
    image = Image.fromarray(array)
    return encode(image.convert(mode) if mode else image, kind, **options)


@pytest.mark.parametrize("name", KEPT)
def test_every_way_to_store_numbers_gives_those_numbers(name):
    data, expected = KEPT[name]
    bits = 16 if " 16 " in name else 8
    classes = [number for number in expected.ravel().tolist() if number not in (255, 65535)]
    assert check_mask(data) == MaskInfo(expected.shape[1], expected.shape[0], bits, max(classes))
    mask = stored(data)
    assert (mask.width, mask.height) == (expected.shape[1], expected.shape[0])
    assert np.array_equal(decoded(mask.data), expected)
    assert (np.asarray(Image.open(io.BytesIO(mask.data))) == expected).all()
    assert stored(mask.data).data == mask.data


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_tensorflow_reading_the_files_themselves_would_not_give_the_numbers(bits):
    # Why masks are rewritten at all; a palette becomes colours, few bits are stretched.
    for colour in (0, 3):
        data, expected = png_of(numbers(bits), bits, colour), numbers(bits)
        pixels = np.asarray(tf.io.decode_png(data))
        assert (pixels.shape[2] == 1 and np.array_equal(pixels[..., 0], expected)) is (colour == 0 and bits == 8)


@pytest.mark.parametrize(
    ("data", "verbatim"),
    [
        (KEPT["PNG grey 8 bits"][0], True),
        (KEPT["PNG grey 16 bits"][0], True),
        (interlaced_png(picture("L")), True),
        (insert_chunks(KEPT["PNG grey 8 bits"][0], chunk(b"gAMA", struct.pack(">L", 45455))), True),  # TensorFlow skips
        (insert_chunks(KEPT["PNG grey 8 bits"][0], chunk(b"tRNS", b"\0\7")), True),  # it has one channel all the same
        (KEPT["PNG grey 4 bits"][0], False),
        (KEPT["PNG palette 8 bits"][0], False),
        (KEPT["TIFF grey 8 bits"][0], False),
    ],
)
def test_bytes_are_kept_where_nothing_has_to_change(data, verbatim):
    pixels = np.asarray(Image.open(io.BytesIO(data)))
    assert (stored(data).data == data) is verbatim
    if verbatim:
        assert np.array_equal(decoded(data), pixels)


GREY = np.array([[0, 1, 2], [3, 200, 255]], np.uint8)
OPAQUE = np.full_like(GREY, 255)


@pytest.mark.parametrize(("values", "last"), [(GREY, 200), (GREY // 200, 1), (GREY // 200 * 2, 2)])
def test_the_greys_of_a_gif_are_its_numbers_however_its_palette_is_sorted(values, last):
    data = image_file(values, "GIF")  # its pixels are 0 and 1 where the numbers are 0 and 2
    assert check_mask(data) == MaskInfo(3, 2, 8, last_class=last)
    assert np.array_equal(decoded(stored(data).data), values)


@pytest.mark.parametrize(
    "data",
    [
        image_file(np.dstack([GREY] * 3)),
        image_file(np.dstack([GREY] * 3), "BMP"),
        image_file(np.dstack([GREY] * 3), "TIFF"),
        image_file(np.dstack([GREY] * 3 + [OPAQUE])),
        encode(Image.merge("LA", [Image.fromarray(GREY), Image.fromarray(OPAQUE)]), "PNG"),
    ],
    ids=["PNG RGB", "BMP", "TIFF", "PNG RGBA", "PNG LA"],
)
def test_grey_in_several_equal_channels_is_grey(data):
    assert check_mask(data) == MaskInfo(3, 2, 8, last_class=200)
    assert np.array_equal(decoded(stored(data).data), GREY)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (made("png rgb"), "is coloured"),
        (made("tiff"), "is coloured"),
        (made("png alpha"), "is translucent|is coloured"),
        (encode(Image.merge("LA", [Image.fromarray(GREY), Image.fromarray(GREY)]), "PNG"), "is translucent"),
        (made("png 16 bits rgb"), "mode RGB with 16 bits"),  # Pillow would drop the low ones
        (made("png 16 bits grey alpha"), "with 16 bits"),
        (made("jpeg grey"), "is a JPEG, which changes pixel values"),
        (encode(picture("L"), "TIFF", compression="jpeg"), "compressed by jpeg"),
        (made("webp lossless"), "is WEBP, not PNG"),
        (made("ppm grey"), "is PPM, not PNG"),
        (made("gif"), "is coloured"),  # the writer sorts its palette
        (made("gif animated"), "is a GIF of several frames"),
        (image_file(np.where(GREY > 3, np.uint8(255), np.uint8(0)), "GIF"), "is a GIF in black and white"),
        (encode(picture("L"), "PNG", exif=exif(6)[6:]), r"EXIF orientation \(6\) of its own"),
        (encode(picture("L"), "TIFF", tiffinfo={0x0112: 8}), r"EXIF orientation \(8\)"),
        (tiff_of(numbers(8), 8, 0), "0 is white"),
        (tiff_of(numbers(1), 1, 0), "0 is white"),
        (made("tiff cmyk"), "mode CMYK"),
        # Pillow takes these for other depths, and would give other numbers.
        (bmp_of(numbers(4, width=4), 4, greys(16)), "mode L with 4 bits"),
        (bmp_of(numbers(8) % 2, 8, [BLACK, WHITE]), "mode 1 with 8 bits"),
        (bmp_of(numbers(4) % 2, 4, [BLACK, WHITE]), "mode 1 with 4 bits"),
        (b"", "the file has no bytes"),
        (b"a text", "the file begins with"),
        (KEPT["PNG grey 8 bits"][0][:-20], "cut short"),
        (KEPT["TIFF grey 8 bits"][0][:20], "TIFF"),
        (KEPT["PNG palette 8 bits"][0].replace(b"IDAT", b"IDAt"), "."),
        (png((100_000, 100_000, 8, 0, 0), chunk(b"IDAT", zlib.compress(b""))), "100000 x 100000 pixels"),
        (bmp_of(numbers(8), 8, greys(256)).replace(struct.pack("<i", 11), struct.pack("<i", 1 << 30), 1), "pixels"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused_in_a_sentence(data, found):
    with pytest.raises(BadImage, match=f"The mask .*({found}).*; .*[.]$") as caught:
        check_mask(data)
    assert caught.value.reason == "bad_mask"


@given(st.integers(1, 8), st.sampled_from(["L", "I;16", "P"]), st.integers(1, 9), st.integers(1, 9))
def test_a_mask_is_turned_as_its_image_is(orientation, mode, width, height):
    values = np.arange(width * height, dtype=np.uint16 if mode == "I;16" else np.uint8).reshape(height, width)
    mask = Image.fromarray(values)
    if mode == "P":
        mask.putpalette(PALETTE)
    oriented = Image.fromarray(values)
    oriented.getexif()[0x0112] = orientation
    expected = np.asarray(ImageOps.exif_transpose(oriented))
    found = stored(encode(mask, "PNG"), orientation)
    assert (found.width, found.height) == (expected.shape[1], expected.shape[0])
    assert np.array_equal(decoded(found.data), expected)


@given(
    arrays.arrays(st.sampled_from([np.uint8, np.uint16]), st.tuples(st.integers(1, 12), st.integers(1, 12))),
    st.integers(1, 12),
    st.integers(1, 12),
)
def test_resizing_takes_the_pixel_below_each_new_pixels_middle(values, width, height):
    down, across = (
        Span(len(values), 0, len(values), height, 0, height),
        Span(values.shape[1], 0, values.shape[1], width, 0, width),
    )
    found = _placed(Image.fromarray(values), Placement(across, down), 0)
    rows = (2 * np.arange(height) + 1) * values.shape[0] // (2 * height)
    columns = (2 * np.arange(width) + 1) * values.shape[1] // (2 * width)
    assert np.array_equal(np.asarray(found), values[np.ix_(rows, columns)])


def test_the_size_is_that_of_the_upright_image():
    values = numbers(8, height=6, width=4)
    found = stored(image_file(values.astype(np.uint8)), orientation=6, resize=2)
    assert (found.width, found.height) == (3, 2)
    assert np.array_equal(decoded(found.data), np.rot90(values, -1)[1::2, 1::2])


@pytest.mark.parametrize("orientation", [0, 9])
def test_an_orientation_out_of_its_range_is_refused(orientation):
    with pytest.raises(CallError, match="correct the call"):
        stored(KEPT["PNG grey 8 bits"][0], orientation)


def test_a_mask_is_cropped_where_its_image_is():
    values = np.arange(60, dtype=np.uint8).reshape(6, 10)
    assert np.array_equal(decoded(stored(image_file(values), size=(6, 4)).data), values[:, 3:7])
    assert np.array_equal(decoded(stored(image_file(values), size=(3, 3)).data), values[1::2, [3, 5, 7]])


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_the_border_of_a_mask_has_the_class_number_that_was_asked_for(dtype):
    values = np.full((2, 4), 7, dtype)
    found = decoded(stored(image_file(values), size=(5, 4), fit="pad", mask_padding=255).data)
    assert found.dtype == dtype
    assert np.array_equal(found, [[255] * 4, [7] * 4, [7] * 4, [255] * 4, [255] * 4])
    with pytest.raises(CallError):
        stored(image_file(values), size=(5, 4), fit="pad")


def test_metadata_of_a_mask_is_removed_too():
    info = PngImagePlugin.PngInfo()
    info.add_text("Author", "Somebody")
    data = encode(Image.fromarray(np.arange(12, dtype=np.uint8).reshape(3, 4)), "PNG", pnginfo=info)
    assert stored(data).data == data
    found = stored(data, strip_metadata=True).data
    assert b"Somebody" in data
    assert b"Somebody" not in found
    assert np.array_equal(decoded(found), decoded(data))


@given(st.data())
def test_damage_is_refused_or_does_not_reach_tensorflow(data):
    original = data.draw(st.sampled_from([file for file, _ in KEPT.values()]))
    at = data.draw(st.integers(0, len(original) - 1))
    broken = original[:at] + bytes([original[at] ^ data.draw(st.integers(1, 255))]) + original[at + 1 :]
    if data.draw(st.booleans()):
        broken = original[:at]
    try:
        info = check_mask(broken)
    except BadImage as error:
        assert error.reason == "bad_mask"  # noqa: PT017 - not every damage is one
        return
    mask = stored(broken)
    assert decoded(mask.data).shape == (mask.height, mask.width) == (info.height, info.width)
    assert mask.data[24] == info.bits


TWO = np.array([[0, 1], [1, 0]], np.uint8).repeat(16, 0).repeat(16, 1)
PALETTED = Image.fromarray(1 - TWO).convert("P")  # GIF's encoders sort palettes: here white is 0
PALETTED.putpalette([255, 255, 255, 0, 0, 0])


@pytest.mark.parametrize(
    "data",
    [
        image_file(TWO * 255),
        image_file(np.dstack([TWO * 255] * 3)),
        image_file(TWO.astype(np.uint16) * 65535),
        image_file(TWO * 255, "JPEG", quality=80),
        image_file(np.dstack([TWO * 255] * 3), "JPEG", quality=80),
        encode(PALETTED, "GIF"),
    ],
    ids=["PNG", "PNG RGB", "PNG of 16 bits", "JPEG", "JPEG RGB", "GIF"],
)
def test_black_and_white_are_two_classes(data):
    assert check_mask(data, BLACK_AND_WHITE).last_class == 1
    stored_mask = normalise_mask(data, orientation=1, form=Stored(), colours=BLACK_AND_WHITE)
    assert np.array_equal(decoded(stored_mask.data), TWO)


@pytest.mark.parametrize(
    "values",
    [TWO * 254, TWO * 255 + 1, np.where(TWO, 255, np.arange(32) % 21), TWO.astype(np.uint16) * 255],
    ids=["nearly white", "nearly black", "class numbers with a border", "16 bits"],
)
def test_other_pixels_are_not_rounded_to_black_or_white(values):
    with pytest.raises(BadImage, match="neither black nor white"):
        check_mask(image_file(values.astype(values.dtype if values.dtype == np.uint16 else np.uint8)), BLACK_AND_WHITE)
