"""JPEGs that are encoded again with their own tables: nearly the same pixels, baseline, with the chroma asked for."""

import io

import numpy as np
import pytest
from PIL import Image, ImageCms

from shardkit import images
from shardkit.images.jpeg_header import read_jpeg_header
from shardkit.images.normalising import recode_jpeg
from shardkit.options.groups import Stored
from tests.images.gps_making import exif_with_gps
from tests.images.image_making import encode, picture


def smooth() -> Image.Image:
    """A picture like a photograph: few high frequencies, in colour."""
    return picture(width=9, height=7).resize((93, 71), Image.Resampling.BICUBIC)


def stored(data: bytes, **form: object) -> images.NormalisedImage:
    return images.normalise(data, images.check(data), Stored(**form))


def pixels(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)


@pytest.mark.parametrize("subsampling", ["4:4:4", "4:2:2", "4:2:0"])
@pytest.mark.parametrize("quality", [30, 75, 96])
def test_a_progressive_jpeg_becomes_a_baseline_one_with_the_same_tables(subsampling: str, quality: int) -> None:
    data = encode(smooth(), "JPEG", quality=quality, subsampling=subsampling, progressive=True)
    found = stored(data, jpeg="baseline")
    assert (found.width, found.height, found.changes) == (93, 71, ("progressive",))
    before, after = read_jpeg_header(data), read_jpeg_header(found.data)
    assert before is not None
    assert after is not None
    assert (after.process, after.subsampling, after.quality) == ("baseline", subsampling, quality)
    with Image.open(io.BytesIO(data)) as one, Image.open(io.BytesIO(found.data)) as other:
        assert one.quantization == other.quantization
    difference = np.abs(pixels(data) - pixels(found.data))
    assert difference.mean() < 0.3
    assert difference.max() <= 24
    assert stored(found.data, jpeg="baseline").data == found.data  # nothing is left to do


def test_a_grey_progressive_jpeg_stays_grey() -> None:
    data = encode(smooth().convert("L"), "JPEG", progressive=True)
    found = stored(data, jpeg="baseline", subsampling="4:2:0")
    assert found.changes == ("progressive",)
    with Image.open(io.BytesIO(found.data)) as image:
        assert image.mode == "L"
    assert np.abs(pixels(data) - pixels(found.data)).max() <= 3


def test_three_components_that_are_red_green_and_blue_stay_that() -> None:
    data = encode(smooth(), "JPEG", progressive=True, keep_rgb=True, subsampling="4:4:4", quality=90)
    found = stored(data, jpeg="baseline")
    assert np.abs(pixels(data) - pixels(found.data)).max() <= 4
    assert found.data.count(b"R\x11") == 1  # the component's id and its sampling
    halved = stored(data, subsampling="4:2:0")
    header = read_jpeg_header(halved.data)
    assert header is not None
    assert header.subsampling == "4:2:0"
    assert np.abs(pixels(data) - pixels(halved.data)).mean() < 3


@pytest.mark.parametrize(
    ("before", "asked", "after"),
    [
        ("4:4:4", "4:2:0", "4:2:0"),
        ("4:4:4", "4:2:2", "4:2:2"),
        ("4:2:2", "4:2:0", "4:2:0"),
        ("4:2:0", "4:2:0", None),
        ("4:2:0", "4:2:2", None),  # never refined
        ("4:2:0", "4:4:4", None),
        ("4:4:4", "4:4:4", None),
    ],
)
def test_only_a_jpeg_with_more_chroma_is_encoded_again(before: str, asked: str, after: str | None) -> None:
    data = encode(smooth(), "JPEG", subsampling=before, quality=88)
    found = stored(data, subsampling=asked)
    if after is None:
        assert (found.data, found.changes) == (data, ())
        return
    header = read_jpeg_header(found.data)
    assert header is not None
    assert (header.subsampling, header.quality, found.changes) == (after, 88, ("subsampling",))
    assert len(found.data) < len(data)
    assert np.abs(pixels(data) - pixels(found.data)).mean() < 3


def test_a_progressive_jpeg_keeps_its_chroma_unless_less_is_asked_for() -> None:
    data = encode(smooth(), "JPEG", subsampling="4:4:4", progressive=True)
    found = stored(data, jpeg="baseline", subsampling="4:2:0")
    assert found.changes == ("progressive", "subsampling")
    header = read_jpeg_header(found.data)
    assert header is not None
    assert (header.process, header.subsampling) == ("baseline", "4:2:0")


@pytest.mark.parametrize("asked", ["4:4:4", "4:2:2", "4:2:0"])
def test_images_that_are_encoded_anyway_get_the_subsampling(asked: str) -> None:
    found = stored(encode(smooth(), "JPEG", subsampling="4:4:4"), resize=40, subsampling=asked)
    header = read_jpeg_header(found.data)
    assert header is not None
    assert (header.subsampling, found.changes) == (asked, ("resized",))


@pytest.mark.parametrize("factors", [0x12, 0x41])
def test_a_subsampling_that_pillow_does_not_write_loses_no_chroma(factors: int) -> None:
    data = encode(picture(width=64, height=64), "JPEG", subsampling="4:4:4")
    at = data.index(b"\xff\xc0") + 11
    odd = data[:at] + bytes([factors]) + data[at + 1 :]
    header = read_jpeg_header(recode_jpeg(odd, None))
    assert header is not None
    assert header.subsampling == "4:4:4"


@pytest.mark.parametrize("quality", [60, 75, 85, 90, 95, 100])
def test_noise_is_written_too(quality: int, capfd: pytest.CaptureFixture[str]) -> None:
    """Pillow's buffer for optimal Huffman tables is too small for noise of the highest quality."""
    noise = np.random.default_rng(0).integers(0, 256, (200, 200, 3), np.uint8)
    data = encode(Image.fromarray(noise), "JPEG", quality=quality, subsampling="4:4:4")
    found = recode_jpeg(data, None)
    assert np.abs(pixels(data) - pixels(found)).mean() < 2
    assert capfd.readouterr().err == ""  # libjpeg prints there


def test_the_colour_profile_stays_and_other_metadata_goes() -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    data = encode(smooth(), "JPEG", progressive=True, icc_profile=profile, exif=exif_with_gps(), comment="a cat")
    found = stored(data, jpeg="baseline").data
    with Image.open(io.BytesIO(found)) as image:
        assert image.info["icc_profile"] == profile
        assert "exif" not in image.info
    assert b"a cat" not in found


def test_baseline_jpegs_and_other_formats_are_stored_as_they_are() -> None:
    for kind in ("JPEG", "PNG"):
        data = encode(smooth(), kind)
        assert stored(data, jpeg="baseline", subsampling="4:2:0").data == data
