"""``inspect`` and ``check``: what they say of good images, of odd ones and of bad ones."""

import io
import pickle
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from shardkit import errors, images
from shardkit.images import inspection
from shardkit.options.groups import Stored

from .image_making import (
    MAKERS,
    chunk,
    encode,
    exif,
    insert_chunks,
    insert_segments,
    interlaced_png,
    made,
    picture,
    png,
    segment,
    xmp,
)
from .tensorflow_decoding import tensorflow_decodes

# Names of MAKERS whose changes are not just the format's own code.
ODD = {
    "jpeg cmyk": ("cmyk",),
    "jpeg exif": ("orientation",),
    "jpeg exif thumbnail": ("orientation",),
    "jpeg xmp": ("orientation",),
    "png 16 bits": ("bit_depth",),
    "png 16 bits rgb": ("bit_depth",),
    "png 16 bits grey alpha": ("bit_depth",),
    "png 16 bits alpha": ("bit_depth",),
    "png exif": ("orientation",),
    "png animated": ("animated",),
    "png animated with default": ("animated",),
    "gif animated": ("animated", "format:gif"),
    "webp lossy": ("format:lossy_webp",),
    "webp alpha": ("format:lossy_webp",),
    "webp exif": ("format:lossy_webp", "orientation"),
    "webp animated": ("animated", "format:webp"),
    "tiff cmyk": ("cmyk", "format:tiff"),
    "tiff 16 bits": ("bit_depth", "format:tiff"),
    "tiff oriented": ("format:tiff", "orientation"),
    "tiff pages": ("animated", "format:tiff"),
    "ppm 16 bits": ("bit_depth", "format:ppm"),
    "avif animated": ("animated", "format:avif"),
}


def pillow_says(data: bytes) -> tuple[str, int, int, int, bool, bool]:
    """The plain path: Pillow's open of a JPEG or PNG. The last two: CMYK, more than one frame."""
    with Image.open(io.BytesIO(data)) as image:
        # PngImageFile.getexif decodes the image; its parent's method reads what the header gave.
        orientation = Image.Image.getexif(image).get(0x0112, 1)
        kind = "JPEG" if image.format == "MPO" else image.format
        frames = getattr(image, "is_animated", False) and image.format != "MPO"
        valid = orientation if orientation in range(1, 9) else 1
        return str(kind), *image.size, valid, image.mode == "CMYK", bool(frames)


def we_say(data: bytes) -> tuple[str, int, int, int, bool, bool]:
    info = images.inspect(data)
    return info.format, info.width, info.height, info.orientation, "cmyk" in info.changes, "animated" in info.changes


@pytest.mark.parametrize("name", MAKERS)
def test_every_kind_of_image_is_recognised_with_its_size_and_its_reasons_to_change(name: str) -> None:
    kind = name.split(maxsplit=1)[0].upper()
    info = images.inspect(made(name))
    with Image.open(io.BytesIO(made(name))) as image:
        size = image.size[::-1] if name == "tiff oriented" else image.size  # Pillow gives it upright
    own = () if kind in {"JPEG", "PNG"} else (f"format:{kind.lower()}",)
    assert (info.format, (info.width, info.height), info.changes) == (kind, size, ODD.get(name, own))
    assert set(info.changes) <= set(images.CHANGES)
    assert images.check(made(name)) == info


@given(
    mode=st.sampled_from(["L", "RGB", "CMYK"]),
    size=st.tuples(st.integers(1, 70), st.integers(1, 70)),
    options=st.fixed_dictionaries(
        {"progressive": st.booleans(), "optimize": st.booleans(), "quality": st.integers(5, 100)},
        optional={
            "subsampling": st.integers(0, 2),
            "restart_marker_blocks": st.integers(1, 9),
            "comment": st.binary(max_size=300),
            "icc_profile": st.binary(min_size=1, max_size=300),
            "dpi": st.just((72, 72)),
        },
    ),
    orientation=st.none() | st.integers(0, 9),
    order=st.sampled_from("<>"),
    value_type=st.sampled_from([1, 3, 4]),
    thumbnail=st.booleans(),
    xmp_orientation=st.none() | st.integers(0, 9),
    fill=st.integers(0, 3),
    tail=st.sampled_from([b"", b"\0" * 40, b"\xff\xd8 another image"]),
    more=st.lists(
        st.sampled_from([segment(0xFE, b"\xff\xd9"), segment(0xED, b"Photoshop 3.0\0"), segment(0xFE, b"x") + b"junk"]),
        max_size=3,
    ),
)
def test_the_jpeg_scan_says_what_pillow_says(
    mode, size, options, orientation, order, value_type, thumbnail, xmp_orientation, fill, tail, more
) -> None:
    data = encode(picture(mode, *size), "JPEG", **options)
    segments = list(more)
    if orientation is not None:
        inner = encode(picture(width=8, height=8), "JPEG") if thumbnail else b""
        block = exif(orientation, order=order, value_type=value_type, thumbnail=inner)
        segments.append(b"\xff" * fill + segment(0xE1, block))
    if xmp_orientation is not None:
        segments.append(segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + xmp(xmp_orientation)))
    data = insert_segments(data, *segments) + tail
    assert we_say(data) == pillow_says(data)
    assert images.check(data) == images.inspect(data)


@given(
    mode=st.sampled_from(["1", "L", "LA", "P", "RGB", "RGBA", "I;16"]),
    size=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    orientation=st.none() | st.integers(0, 9),
    order=st.sampled_from("<>"),
    after=st.booleans(),
    xmp_orientation=st.none() | st.integers(1, 8),
    compressed=st.booleans(),
    num_frames=st.integers(1, 3),
    tail=st.sampled_from([b"", b"\0" * 40]),
)
def test_the_png_scan_says_what_pillow_says(
    mode, size, orientation, order, after, xmp_orientation, compressed, num_frames, tail
) -> None:
    frames = [picture(mode, *size, seed) for seed in range(num_frames)]
    options = {"save_all": True, "append_images": frames[1:]} if num_frames > 1 and mode != "I;16" else {}
    data = encode(frames[0], "PNG", **options)
    if orientation is not None and not after:
        data = insert_chunks(data, chunk(b"eXIf", exif(orientation, order=order)[6:]))
    if xmp_orientation is not None:
        packet = zlib.compress(xmp(xmp_orientation)) if compressed else xmp(xmp_orientation)
        head = b"XML:com.adobe.xmp\0" + bytes([compressed]) + b"\0\0\0"
        data = insert_chunks(data, chunk(b"iTXt", head + packet))
    assert we_say(data + tail) == pillow_says(data + tail)
    assert ("bit_depth" in images.inspect(data).changes) == (mode == "I;16")
    assert images.check(data + tail) == images.inspect(data)
    # Pillow finds it there only once it has decoded the image, and never behind an animation.
    if orientation is not None and after and not options:
        data = insert_chunks(data, chunk(b"eXIf", exif(orientation, order=order)[6:]), before=b"IEND")
        with Image.open(io.BytesIO(data)) as image:
            image.load()
            expected = image.getexif().get(0x0112, 1)
        assert images.inspect(data).orientation == (expected if expected in range(1, 9) else 1)


@pytest.mark.parametrize("kind", [b"tEXt", b"zTXt"])
def test_imagemagicks_exif_in_png_text_counts(kind: bytes) -> None:
    text = b"\nexif\n  100\n" + exif(6).hex().encode() + b"\n"
    payload = b"Raw profile type exif\0" + (b"\0" + zlib.compress(text) if kind == b"zTXt" else text)
    data = insert_chunks(made("png rgb"), chunk(kind, payload))
    assert we_say(data) == pillow_says(data)
    assert images.inspect(data).orientation == 6


@pytest.mark.parametrize("cut", range(0, 200, 3))
def test_damaged_exif_never_hides_a_good_image(cut: int) -> None:
    block = exif(6, thumbnail=encode(picture(width=8, height=8), "JPEG"))[:cut]
    data = insert_segments(made("jpeg"), segment(0xE1, block))
    # The tag's entry lies at 6 + 8 + 2 + 12 and is 12 bytes long: with it the orientation is known, without not.
    assert images.check(data).orientation == (6 if cut >= 40 else 1)


@pytest.mark.parametrize("cut", [10, 30, 38])
def test_exif_that_goes_on_in_a_second_segment_is_one_block(cut: int) -> None:
    block = exif(6)
    data = insert_segments(made("jpeg"), segment(0xE1, block[:cut]), segment(0xE1, b"Exif\0\0" + block[cut:]))
    assert we_say(data) == pillow_says(data)
    assert images.inspect(data).orientation == 6


def test_a_multi_picture_jpeg_is_a_jpeg_and_kept() -> None:
    data = encode(picture(), "MPO", save_all=True, append_images=[picture(seed=1)])
    assert Image.open(io.BytesIO(data)).format == "MPO"
    assert images.check(data) == images.ImageInfo("JPEG", 37, 23, 1, ())


def _with_idat(stream: bytes) -> bytes:
    return png((9, 4, 8, 0, 0), chunk(b"IDAT", stream))


ROWS = b"".join(b"\0" + bytes(range(9)) for _ in range(4))
JPEG = made("jpeg")
PNG = made("png rgb")
SOS = JPEG.index(b"\xff\xda")
SOF = JPEG.index(b"\xff\xc0")

# what is wrong: (bytes, reason of inspect or None where only check can know, reason of check)
BAD = {
    "no bytes": (b"", "empty", "empty"),
    "text": (b"hello", "not_an_image", "not_an_image"),
    "text that begins like a bitmap": (b"BMW, Audi, Volvo", "not_an_image", "not_an_image"),
    "text that begins like a PPM": (b"P5 is a format", "not_an_image", "not_an_image"),
    "PostScript, for which Pillow would start Ghostscript": (b"%!PS-Adobe-3.0 EPSF", "not_an_image", "not_an_image"),
    "HEIC cut after its signature": (b"\0\0\0\x18ftypheic", "damaged", "damaged"),
    "HEIC that names the brand it shares with AVIF": (
        b"\0\0\0\x18ftypmif1\0\0\0\0mif1heic" + bytes(99),
        "not_an_image",
        "not_an_image",
    ),
    "JPEG of its signature only": (JPEG[:3], "truncated", "truncated"),
    "JPEG cut within its header": (JPEG[: SOF + 6], "truncated", "truncated"),
    "JPEG cut at its scan": (JPEG[: SOS + 2], "truncated", "truncated"),
    "JPEG without its end marker: Pillow's and TensorFlow's decoders refuse it": (JPEG[:-2], "truncated", "truncated"),
    "JPEG of all pixels and zeros after it: Pillow takes it": (JPEG[:-2] + bytes(99), "truncated", "truncated"),
    "JPEG cut after its thumbnail's end marker": (
        made("jpeg exif thumbnail")[: made("jpeg exif thumbnail").index(b"\xff\xd9") + 2],
        "truncated",
        "truncated",
    ),
    "JPEG whose end marker is swallowed by a stray comment: Pillow takes it": (
        JPEG[:-2] + segment(0xFE, b"")[:2] + b"\xff\xff" + JPEG[-2:],
        None,
        "truncated",
    ),
    "JPEG with a reserved marker within its data": (
        JPEG[: SOS + 60] + b"\xff\x02" + JPEG[SOS + 62 :],
        None,
        "damaged",
    ),
    "JPEG of two frame headers": (JPEG[:SOF] + JPEG[SOF : SOF + 19] + JPEG[SOF:], "damaged", "damaged"),
    "JPEG of no frame header": (JPEG[:SOF] + JPEG[SOF + 19 :], "damaged", "damaged"),
    "JPEG of 12 bits": (JPEG[: SOF + 4] + b"\x0c" + JPEG[SOF + 5 :], "damaged", "damaged"),
    "JPEG of two channels": (JPEG[: SOF + 9] + b"\2" + JPEG[SOF + 10 :], "damaged", "damaged"),
    "JPEG of no height": (JPEG[: SOF + 5] + b"\0\0" + JPEG[SOF + 7 :], "damaged", "damaged"),
    "JPEG of too many pixels": (
        JPEG[: SOF + 5] + struct.pack(">HH", 20_000, 20_000) + JPEG[SOF + 9 :],
        "too_many_pixels",
        "too_many_pixels",
    ),
    "JPEG longer than libjpeg takes": (
        JPEG[: SOF + 5] + struct.pack(">HH", 65_501, 8) + JPEG[SOF + 9 :],
        "too_many_pixels",
        "too_many_pixels",
    ),
    "JPEG without a scan": (JPEG[:SOS] + JPEG[-2:], "truncated", "truncated"),
    "JPEG that ends before its scan": (JPEG[:SOS] + JPEG[-2:] + JPEG[SOS:], "damaged", "damaged"),
    "PNG of its signature only": (PNG[:8], "truncated", "truncated"),
    "PNG cut in its data": (PNG[: len(PNG) // 2], "truncated", "truncated"),
    "PNG without IEND: Pillow takes it": (PNG[:-12], "truncated", "truncated"),
    "PNG without its last CRC: Pillow takes it": (PNG[:-4], "truncated", "truncated"),
    "PNG whose header contradicts its CRC": (PNG[:19] + b"\1" + PNG[20:], "damaged", "damaged"),
    "PNG of 3 bits": (png((9, 4, 3, 0, 0), chunk(b"IDAT", zlib.compress(ROWS))), "damaged", "damaged"),
    "PNG of no width": (png((0, 4, 8, 0, 0), chunk(b"IDAT", b"")), "damaged", "damaged"),
    "PNG of no data": (png((9, 4, 8, 0, 0)), "damaged", "damaged"),
    "PNG of no palette": (png((9, 4, 8, 3, 0), chunk(b"IDAT", zlib.compress(ROWS))), "damaged", "damaged"),
    "PNG of too many pixels": (png((9_460, 9_460, 8, 0, 0)), "too_many_pixels", "too_many_pixels"),
    "PNG longer than libpng takes": (png((1_000_001, 1, 1, 0, 0)), "too_many_pixels", "too_many_pixels"),
    "PNG whose data contradicts its CRC: Pillow takes it": (PNG[:-14] + b"!" + PNG[-13:], None, "damaged"),
    "PNG with too few rows": (_with_idat(zlib.compress(ROWS[:-1])), None, "truncated"),
    "PNG whose stream breaks off after the last pixel: Pillow takes it": (
        _with_idat(zlib.compress(ROWS)[:-4]),
        None,
        "truncated",
    ),
    "PNG whose checksum of the pixels is wrong": (_with_idat(zlib.compress(ROWS)[:-1] + b"!"), None, "damaged"),
    "PNG of an unknown filter": (_with_idat(zlib.compress(b"\5" + ROWS[1:])), None, "damaged"),
    "PNG of an unknown filter in the last pass": (
        png(
            (5, 2, 8, 0, 1),
            chunk(b"IDAT", zlib.compress(b"\0\1" + b"\0\2" + b"\0\3" + b"\0\3\4" + b"\7\1\2\3\4\5")),
        ),
        None,
        "damaged",
    ),
    "PNG of an unknown critical chunk": (insert_chunks(PNG, chunk(b"ABCD", b"")), None, "damaged"),
    "PNG whose data is in two runs": (
        png((9, 4, 8, 0, 0), chunk(b"IDAT", zlib.compress(ROWS)), chunk(b"tEXt", b"a\0b"), chunk(b"IDAT", b"")),
        None,
        "damaged",
    ),
    "PNG whose pixels are a bomb": (_with_idat(zlib.compress(ROWS + bytes(1 << 22))), None, "decompression_bomb"),
    "GIF cut in its palette": (made("gif")[:60], "truncated", "truncated"),
    "GIF cut in its pixels": (made("gif")[:-30], None, "truncated"),
    "GIF of too many pixels": (b"GIF89a" + b"\xff" * 4 + made("gif")[10:], "too_many_pixels", "too_many_pixels"),
    "WebP cut": (made("webp lossy")[:100], "truncated", "truncated"),
    "TIFF cut": (made("tiff")[:1200], None, "truncated"),
    "TIFF of floating point": (encode(Image.new("F", (4, 4)), "TIFF"), "damaged", "damaged"),
    "TIFF of 32 bits": (encode(Image.new("I", (4, 4)), "TIFF"), "damaged", "damaged"),
    "BMP cut": (made("bmp")[:500], None, "truncated"),
    "PPM cut": (made("ppm")[:500], None, "truncated"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_image_is_refused_with_its_reason(what: str) -> None:
    data, by_header, by_decoding = BAD[what]
    if by_header is None:
        images.inspect(data)
    else:
        with pytest.raises(images.BadImage) as caught:
            images.inspect(data)
        assert caught.value.reason == by_header
    with pytest.raises(images.BadImage) as caught:
        images.check(data)
    assert caught.value.reason == by_decoding
    assert caught.value.reason in images.REASONS
    # One sentence, with a remedy, that a table can show.
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


PHOTO = encode(picture(width=600, height=400), "JPEG", quality=90)
HEADER = PHOTO.index(b"\xff\xda") + 14
# Damage of a JPEG that Pillow and TensorFlow decode to a picture that is grey or shifted in part.
LOSSY_DAMAGE = {
    "half, with an end mark": lambda at: PHOTO[: HEADER + at] + b"\xff\xd9",
    "400 zero bytes": lambda at: PHOTO[: HEADER + at] + bytes(400) + PHOTO[HEADER + at + 400 :],
    "400 bytes lost": lambda at: PHOTO[: HEADER + at] + PHOTO[HEADER + at + 400 :],
    "400 zero bytes between": lambda at: PHOTO[: HEADER + at] + bytes(400) + PHOTO[HEADER + at :],
}


@pytest.mark.parametrize("damage", LOSSY_DAMAGE)
def test_a_jpeg_that_lost_data_is_damaged_though_pillow_and_tensorflow_decode_it(damage: str) -> None:
    size = len(PHOTO) - HEADER - 500
    for at in range(size // 40, size, size // 20):
        data = LOSSY_DAMAGE[damage](at)
        with Image.open(io.BytesIO(data)) as image:
            image.load()
        assert tensorflow_decodes(data).shape == (400, 600, 3)
        with pytest.raises(images.BadImage) as caught:
            images.check(data)
        assert caught.value.reason == "damaged"


@pytest.mark.parametrize("compression", ["tiff_adobe_deflate", "tiff_deflate", "jpeg"])
def test_a_tiff_that_lost_data_is_damaged_and_whole_ones_pass(compression: str) -> None:
    for mode in ("L", "RGB", "CMYK"):
        data = encode(picture(mode, 300, 200), "TIFF", compression=compression, strip_size=30_000)
        images.check(data)
        for at in range(1000, len(data) - 1500, len(data) // 20):
            with pytest.raises(images.BadImage) as caught:
                images.check(data[:at] + bytes(400) + data[at + 400 :])
            assert caught.value.reason == "damaged"


def _without_pixels(*factors: int) -> bytes:
    """A grey JPEG of three channels with any sampling factors, each a byte: every block repeats the last one's mean."""
    data = encode(Image.new("RGB", (64, 64), "gray"), "JPEG", subsampling=0)
    start = data.index(b"\xff\xc0") + 10
    for number, factor in enumerate(factors):
        data = data[: start + 1 + 3 * number] + bytes([factor]) + data[start + 2 + 3 * number :]
    # libjpeg's usual tables: the code of "same mean" and that of "end of block".
    blocks = [("001010" if number == 0 else "0000") * ((f >> 4) * (f & 15)) for number, f in enumerate(factors)]
    wide, high = max(f >> 4 for f in factors), max(f & 15 for f in factors)
    bits = "".join(blocks) * (-(-64 // (8 * wide)) * -(-64 // (8 * high)))
    bits += "1" * (-len(bits) % 8)
    scan = int(bits, 2).to_bytes(len(bits) // 8, "big")
    return data[: data.index(b"\xff\xda") + 14] + scan + b"\xff\xd9"


def _with_adobe(transform: int) -> bytes:
    return segment(0xEE, b"Adobe" + struct.pack(">HHHB", 100, 0, 0, transform))


FLAT = encode(Image.new("RGB", (4000, 3000), "white"), "JPEG", optimize=True)
# What libjpeg warns of, or what its TurboJPEG interface does not decode, without a loss.
WHOLE = {
    "junk between segments": insert_segments(PHOTO, segment(0xFE, b"x") + b"junk"),
    "JFIF of a later revision": PHOTO.replace(b"JFIF\0\1\1", b"JFIF\0\3\1"),
    "an unknown transform of colours": PHOTO[:2] + _with_adobe(7) + PHOTO[20:],
    "a damaged colour profile": insert_segments(PHOTO, segment(0xE2, b"ICC_PROFILE\0\0\7abc")),
    "padding before the end": PHOTO[:-2] + bytes(16) + PHOTO[-2:],
    "junk and padding": insert_segments(PHOTO[:-2], segment(0xFE, b"x") + b"junk") + b"\xaa" * 16 + PHOTO[-2:],
    "bytes behind the end": PHOTO + bytes(4096),
    "zeros of a flat picture": FLAT,
    "zeros in the metadata": insert_segments(PHOTO, segment(0xE1, bytes(4096))),
    "rare sampling factors": _without_pixels(0x22, 0x12, 0x21),
    "sampling factors that TurboJPEG knows": _without_pixels(0x22, 0x11, 0x11),
}


@pytest.mark.parametrize("what", WHOLE)
def test_warnings_about_metadata_and_padding_are_no_damage(what: str) -> None:
    info = images.check(WHOLE[what])
    assert tensorflow_decodes(WHOLE[what]).shape[:2] == (info.height, info.width)


def test_the_flat_picture_has_runs_of_zeros_as_those_that_are_damage() -> None:
    assert bytes(400) in FLAT


@pytest.mark.parametrize("harmless", ["junk between segments", "a damaged colour profile"])
def test_a_harmless_warning_hides_no_damage(harmless: str) -> None:
    data = WHOLE[harmless]
    with pytest.raises(images.BadImage, match="libjpeg"):
        images.check(data[: len(data) // 2] + b"\xff\xd9")


@pytest.mark.parametrize("mode", ["L", "RGB", "CMYK"])
def test_the_reduced_pixels_are_those_of_pillow(mode: str) -> None:
    data = encode(picture(mode, 333, 211), "JPEG")
    reduced = inspection.decode_jpeg(data, images.inspect(data))
    with Image.open(io.BytesIO(data)) as image:
        image.draft("L", (333 // 8, 211 // 8))
        assert (reduced.mode, reduced.size) == ("L" if mode == "RGB" else mode, image.size)
        assert np.array_equal(np.asarray(reduced), np.asarray(image))


def test_what_looks_bad_but_is_whole_passes() -> None:
    assert images.check(_with_idat(zlib.compress(ROWS) + b"extra")).format == "PNG"
    assert images.check(interlaced_png(picture("L", 1, 1))).format == "PNG"
    assert images.check(made("jpeg") + b"\xff").format == "JPEG"


LONG = zlib.compress(bytes(3 << 20))
SHORT = chunk(b"zTXt", b"Comment\0\0" + zlib.compress(bytes(1 << 20)))
# What Pillow refuses, and what stays of it in the stored form.
LARGE_TEXTS = {
    "zTXt": (chunk(b"zTXt", b"Comment\0\0" + LONG), b""),
    "iTXt": (chunk(b"iTXt", b"Comment\0\1\0\0\0" + LONG), b""),
    "EXIF of ImageMagick": (chunk(b"zTXt", b"Raw profile type exif\0\0" + LONG), b""),
    "colour profile": (chunk(b"iCCP", b"icc\0\0" + LONG), b""),
    "many texts": (SHORT * 90, SHORT * 64),
}


@pytest.mark.parametrize("at", [33, len(PNG) - 12], ids=["before the pixels", "after the pixels"])
@pytest.mark.parametrize("what", LARGE_TEXTS)
def test_a_png_with_large_texts_is_accepted_and_stored_without_them(what: str, at: int) -> None:
    texts, kept = LARGE_TEXTS[what]
    data = PNG[:at] + texts + PNG[at:]
    with pytest.raises(ValueError, match="MAX_TEXT"):
        Image.open(io.BytesIO(data)).load()
    assert np.array_equal(tensorflow_decodes(data), tensorflow_decodes(PNG))
    info = images.check(data)
    assert info == images.check(PNG)
    stored = images.normalise(data, info, Stored())
    assert (stored.data, stored.changes) == (PNG[:at] + kept + PNG[at:], ("metadata",))
    assert images.normalise(data, info, Stored(strip_metadata=True)).data == PNG
    smaller = Stored(resize=4)
    assert images.normalise(data, info, smaller) == images.normalise(PNG, info, smaller)
    assert images.normalise(PNG, info, Stored()).data is PNG


@pytest.mark.parametrize("num_rows", [1023, 1024, 1025, 2048])
def test_pixels_are_counted_right_about_the_blocks_in_which_they_are_inflated(num_rows: int) -> None:
    rows = bytes(1024 * num_rows)  # 1023 columns and the filter byte; 1024 rows are one block of 1 MiB
    for chunks in ((zlib.compress(rows),), (zlib.compress(rows)[:700], zlib.compress(rows)[700:])):
        data = png((1023, num_rows, 8, 0, 0), *(chunk(b"IDAT", part) for part in chunks))
        assert images.check(data).height == num_rows
        with pytest.raises(images.BadImage):
            images.check(data.replace(struct.pack(">II", 1023, num_rows), struct.pack(">II", 1023, num_rows + 1)))


def test_the_largest_image_passes_and_one_more_pixel_does_not() -> None:
    width = 9_459
    height = images.MAX_PIXELS // width
    assert images.inspect(png((width, height, 1, 0, 0), chunk(b"IDAT", b""))).height == height
    with pytest.raises(images.BadImage, match="89478485 pixels"):
        images.inspect(png((width, height + 1, 1, 0, 0), chunk(b"IDAT", b"")))


def test_the_error_is_a_data_error_and_survives_pickling() -> None:
    with pytest.raises(errors.DataError) as caught:
        images.check(b"")
    copy = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 -- our own bytes, as workers' pools send them
    assert (type(copy), copy.reason, str(copy)) == (images.BadImage, "empty", str(caught.value))


def test_inspecting_jpeg_and_png_imports_no_pillow() -> None:
    script = (
        "import sys; from shardkit import images\n"
        "for data in map(bytes.fromhex, sys.argv[1:]): images.inspect(data)\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "sys.exit(' '.join(loaded & {'PIL', 'numpy', 'pyarrow', 'tensorflow', 'apache_beam'}) or 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, JPEG.hex(), PNG.hex()], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
