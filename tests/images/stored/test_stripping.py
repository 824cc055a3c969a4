"""Metadata is removed, and nothing else: not a pixel, not the colour profile."""

import io
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageCms, PngImagePlugin

from shardkit import images
from shardkit.images.gps import has_gps
from shardkit.images.stored.stripping import strip_jpeg, strip_png
from shardkit.options.groups import Stored
from tests.images.gps_making import XMP_POSITION, exif_with_gps
from tests.images.image_making import MAKERS, encode, exif, made, picture, segment

SECRET = b"Anna lives here"
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def stored(data: bytes, **form: object) -> images.NormalisedImage:
    return images.normalise(data, images.check(data), Stored(strip_metadata=True, **form))


def pixels(data: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGBA"))


def jpeg(**options: object) -> bytes:
    return encode(picture(), "JPEG", **options)


def with_segments(data: bytes, *segments: bytes) -> bytes:
    """A JPEG with segments in front of its tables."""
    at = data.index(b"\xff\xdb")
    return data[:at] + b"".join(segments) + data[at:]


THUMBNAIL = b"JFIF\0\1\1\0\0\1\0\1\2\2" + SECRET[:12]
JPEGS = {
    "EXIF": jpeg(exif=exif_with_gps() + SECRET),
    "EXIF with a thumbnail": jpeg(exif=exif(1, thumbnail=jpeg() + SECRET)),
    "XMP": jpeg(xmp=XMP_POSITION + SECRET),
    "comment": jpeg(comment=SECRET),
    "IPTC": with_segments(jpeg(), segment(0xED, b"Photoshop 3.0\0" + SECRET)),
    "unknown": with_segments(jpeg(), segment(0xE9, SECRET)),
    "JFXX": with_segments(jpeg(), segment(0xE0, b"JFXX\0\x10" + SECRET)),
    "JFIF's thumbnail": b"\xff\xd8" + segment(0xE0, THUMBNAIL + SECRET) + jpeg()[20:],
    "multi-picture": with_segments(jpeg(), segment(0xE2, b"MPF\0" + SECRET)),
    "behind the end": jpeg() + SECRET + jpeg(exif=exif_with_gps()),
    "progressive": jpeg(progressive=True, comment=SECRET),
    "restart markers": jpeg(restart_marker_blocks=1, comment=SECRET),
    "grey": encode(picture("L"), "JPEG", comment=SECRET),
}


@pytest.mark.parametrize("name", JPEGS)
def test_a_jpeg_loses_its_metadata_and_no_pixel(name: str) -> None:
    data = JPEGS[name]
    assert SECRET[:12] in data
    found = stored(data)
    assert found.changes == ("metadata",)
    assert SECRET[:12] not in found.data
    assert not has_gps(found.data)
    assert np.array_equal(pixels(found.data), pixels(data))
    assert images.check(found.data).changes == ()
    assert stored(found.data).data == found.data
    assert stored(found.data).changes == ()


def test_between_the_scans_of_a_progressive_jpeg_comments_are_found_too() -> None:
    data = jpeg(progressive=True)
    scans = [at for at in range(len(data) - 1) if data[at : at + 2] == b"\xff\xda"]
    assert len(scans) > 2
    for at in (scans[1], scans[-1]):
        commented = data[:at] + segment(0xFE, SECRET) + data[at:]
        tables = data.rindex(b"\xff\xc4", 0, at)
        also_before = commented[:tables] + segment(0xE1, SECRET) + commented[tables:]
        assert strip_jpeg(also_before) == strip_jpeg(data) == data


def test_what_decides_the_colours_of_a_jpeg_stays() -> None:
    adobe = encode(picture(), "JPEG", keep_rgb=True, subsampling="4:4:4", comment=SECRET)
    assert np.array_equal(pixels(stored(adobe).data), pixels(adobe))
    data = jpeg(icc_profile=PROFILE, exif=exif_with_gps())
    with Image.open(io.BytesIO(stored(data).data)) as image:
        assert image.info["icc_profile"] == PROFILE
    transform = with_segments(jpeg(), segment(0xEE, b"Adobe\0\x64\0\0\0\0\1"))
    assert stored(transform).data == transform


def test_a_jpeg_without_metadata_is_stored_as_it_is() -> None:
    for data in (jpeg(), jpeg(progressive=True), jpeg(restart_marker_rows=1), jpeg(icc_profile=PROFILE)):
        found = stored(data)
        assert (found.data, found.changes) == (data, ())


def test_an_oriented_image_is_turned_and_has_no_metadata_left() -> None:
    found = stored(jpeg(exif=exif_with_gps(orientation=6)))
    assert (found.width, found.height, found.changes) == (23, 37, ("orientation",))
    assert not has_gps(found.data)
    assert b"Exif" not in found.data


def test_a_damaged_jpeg_whose_segments_cannot_be_told_from_its_data_is_not_stored() -> None:
    data = jpeg(progressive=True, comment=SECRET)
    assert strip_jpeg(data[:-2]) is None
    broken = JPEGS["restart markers"]
    at = broken.rindex(b"\xff\xd2")
    broken = broken[: at + 1] + b"\x12" + broken[at + 2 :]
    for header in (images.check, images.inspect):  # the latter with `--check header`
        with pytest.raises(images.BadImage, match="JPEG"):
            images.normalise(broken, header(broken), Stored(strip_metadata=True))


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "P"])
def test_a_png_loses_its_metadata_and_no_pixel(mode: str) -> None:
    info = PngImagePlugin.PngInfo()
    info.add_text("Author", SECRET.decode())
    info.add_text("Comment", SECRET.decode(), zip=True)
    info.add_itxt("XML:com.adobe.xmp", XMP_POSITION.decode())
    info.add(b"tIME", struct.pack(">HBBBBB", 2020, 1, 2, 3, 4, 5))
    info.add(b"prVt", SECRET, after_idat=True)
    plain = encode(picture(mode), "PNG", icc_profile=PROFILE, dpi=(300, 300))
    data = encode(picture(mode), "PNG", icc_profile=PROFILE, dpi=(300, 300), exif=exif_with_gps(), pnginfo=info)
    data += SECRET
    assert has_gps(data)
    found = stored(data)
    assert found.changes == ("metadata",)
    assert found.data == plain
    assert (stored(plain).data, stored(plain).changes) == (plain, ())


@pytest.mark.parametrize("name", MAKERS)
def test_every_kind_of_image_has_the_same_pixels_without_metadata(name: str) -> None:
    data = made(name)
    kept = images.normalise(data, images.check(data), Stored())
    assert np.array_equal(pixels(stored(data).data), pixels(kept.data))
    assert strip_png(kept.data) == stored(data).data if kept.data.startswith(b"\x89PNG") else True


@given(st.data())
def test_a_damaged_image_that_is_accepted_keeps_its_pixels(data: st.DataObject) -> None:
    original = data.draw(st.sampled_from([*JPEGS.values(), made("png rgb")]))
    at = data.draw(st.integers(2, len(original) - 2))
    marker = data.draw(st.sampled_from([b"\xff\xe1\0\4", b"\xff\xfe\0\x08", b"\xff\xda", b"\xff\xd3", b"\xff", b"\0"]))
    broken = original[:at] + marker + original[at + data.draw(st.integers(0, len(marker))) :]
    try:
        info = images.check(broken)
    except images.BadImage:
        return
    if info.format == "JPEG" and not info.changes and strip_jpeg(broken) is None:
        with pytest.raises(images.BadImage, match="markers in its image data"):
            images.normalise(broken, info, Stored(strip_metadata=True))
    else:
        found = images.normalise(broken, info, Stored(strip_metadata=True))
        assert np.array_equal(pixels(found.data), pixels(images.normalise(broken, info, Stored()).data))
