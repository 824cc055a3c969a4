"""How a JPEG is encoded, read from its header, and compared with the options that Pillow wrote it with."""

import pytest

from shardkit.images.jpeg_header import JpegHeader, read_jpeg_header
from tests.images.gps_making import XMP_POSITION, exif_with_gps
from tests.images.image_making import encode, picture


@pytest.mark.parametrize("quality", [1, 10, 49, 50, 75, 90, 95, 96, 99, 100])
@pytest.mark.parametrize("progressive", [False, True])
def test_the_quality_and_the_process_are_those_it_was_written_with(quality: int, progressive: bool) -> None:
    header = read_jpeg_header(encode(picture(), "JPEG", quality=quality, progressive=progressive))
    process = "progressive" if progressive else "baseline"
    assert header == JpegHeader(process, "4:2:0", quality, has_gps=False)
    assert header.is_progressive == progressive


def test_every_quality_is_told_from_its_neighbours() -> None:
    image = picture(width=8, height=8)
    for quality in range(1, 101):
        header = read_jpeg_header(encode(image, "JPEG", quality=quality))
        assert header is not None
        assert header.quality == quality


@pytest.mark.parametrize(
    ("mode", "options", "subsampling"),
    [
        ("RGB", {"subsampling": "4:4:4"}, "4:4:4"),
        ("RGB", {"subsampling": "4:2:2"}, "4:2:2"),
        ("RGB", {"subsampling": "4:2:0"}, "4:2:0"),
        ("L", {}, "grey"),
        ("CMYK", {}, "4:4:4"),
        ("RGB", {"keep_rgb": True}, "4:4:4"),
    ],
)
def test_the_subsampling_is_that_of_the_components(mode: str, options: dict[str, object], subsampling: str) -> None:
    header = read_jpeg_header(encode(picture(mode), "JPEG", **options))
    assert header is not None
    assert header.subsampling == subsampling


@pytest.mark.parametrize(
    ("factors", "subsampling"), [(0x12, "4:4:0"), (0x41, "4:1:1"), (0x42, "4:1:0"), (0x31, "other")]
)
def test_rare_subsamplings_are_read_from_the_sampling_factors(factors: int, subsampling: str) -> None:
    data = encode(picture(), "JPEG", subsampling="4:2:0")
    at = data.index(b"\xff\xc0") + 11  # of the first component
    header = read_jpeg_header(data[:at] + bytes([factors]) + data[at + 1 :])
    assert header is not None
    assert header.subsampling == subsampling


def test_tables_of_other_encoders_are_estimated_by_their_sum() -> None:
    flat = [[5] * 64, [9] * 64]  # a sum of 320: libjpeg's is 369 at quality 95 and 292 at 96
    header = read_jpeg_header(encode(picture(), "JPEG", qtables=flat))
    assert header is not None
    assert header.quality == 96


def test_a_position_is_found_in_exif_and_in_xmp() -> None:
    image = picture()
    for options in ({"exif": exif_with_gps()}, {"xmp": XMP_POSITION}):
        header = read_jpeg_header(encode(image, "JPEG", **options))
        assert header is not None
        assert header.has_gps


def test_the_first_bytes_are_enough_if_they_hold_the_header() -> None:
    data = encode(picture(), "JPEG", exif=exif_with_gps(), progressive=True)
    end = data.index(b"\xff\xda") + 14
    header = read_jpeg_header(data[:end])
    assert header == read_jpeg_header(data)
    assert header is not None
    assert header.has_gps


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xd8\xff", encode(picture(), "PNG"), encode(picture(), "JPEG")[:300], b"\xff\xd8\xff\xe0\0\1"]
)
def test_what_is_no_whole_header_is_none(data: bytes) -> None:
    assert read_jpeg_header(data) is None
