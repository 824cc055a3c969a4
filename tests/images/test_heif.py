"""HEIC photographs: read with pillow-heif and stored as JPEG; without it, the message says how to install it."""

import importlib.util
import io

import numpy as np
import pillow_heif
import pytest
from PIL import Image

from shardkit import images, software
from shardkit.images.pillow import detect_format
from shardkit.options.groups import Stored


def photograph(*, mode="RGB", orientation=1, brand=None):
    """A HEIC file of 24 x 16 pixels, red on the left and blue on the right, before orientation."""
    pixels = np.zeros((16, 24, 3), np.uint8)
    pixels[:, :12, 0] = pixels[:, 12:, 2] = 255
    image = Image.fromarray(pixels).convert(mode)
    exif = Image.Exif()
    exif[0x0112] = orientation
    out = io.BytesIO()
    pillow_heif.from_pillow(image).save(out, quality=90, exif=exif.tobytes())
    data = out.getvalue()
    return data if brand is None else data[:8] + brand + data[12:]


def test_a_heic_photograph_is_stored_as_an_upright_jpeg():
    data = photograph(orientation=6)  # to be turned to the right
    info = images.check(data)
    assert (info.format, info.width, info.height, info.orientation) == ("HEIF", 16, 24, 1)
    assert info.changes == ("format:heif",)
    stored = images.normalise(data, info, Stored())
    assert stored.data == images.normalise(data, info, Stored()).data
    found = Image.open(io.BytesIO(stored.data))
    assert (found.format, found.size) == ("JPEG", (16, 24))
    top, bottom = (np.asarray(found)[row, 8] for row in (4, 20))
    assert top[0] > 200 > 50 > top[2]
    assert bottom[2] > 200 > 50 > bottom[0]


def test_a_transparent_one_is_stored_as_png():
    data = photograph(mode="RGBA")
    assert images.normalise(data, images.check(data), Stored(resize=8)).data.startswith(b"\x89PNG")


def test_the_shared_brand_is_told_from_avif_by_the_other_brands():
    assert detect_format(photograph(brand=b"mif1")) == "HEIF"
    out = io.BytesIO()
    Image.new("RGB", (8, 8)).save(out, "AVIF")
    assert detect_format(out.getvalue()[:8] + b"mif1" + out.getvalue()[12:]) == "AVIF"


def test_a_cut_file_is_bad_and_raises_nothing_else():
    data = photograph()
    for length in range(12, len(data), 97):
        with pytest.raises(images.BadImage):
            images.check(data[:length])


def test_without_pillow_heif_the_message_has_the_command(monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "pillow_heif" else find_spec(name, *more)
    )
    with pytest.raises(images.BadImage, match=r"pip install 'shardkit\[heif\]'") as caught:
        images.check(photograph())
    assert caught.value.reason == "unsupported_format"
    assert "pillow_heif" not in software.versions.__wrapped__()


def test_without_an_avif_decoder_the_message_says_so(monkeypatch):
    monkeypatch.setattr("PIL.features.check", lambda name: name != "avif")
    out = io.BytesIO()
    Image.new("RGB", (8, 8)).save(out, "AVIF")
    with pytest.raises(images.BadImage, match="AVIF, which this build of Pillow does not read") as caught:
        images.check(out.getvalue())
    assert caught.value.reason == "unsupported_format"


def test_the_decoders_versions_are_recorded_and_may_be_absent_elsewhere():
    found = software.versions()
    assert found["pillow_heif"] == pillow_heif.__version__
    assert found["libheif"] == pillow_heif.libheif_version()
    without = {name: version for name, version in found.items() if name not in software.OPTIONAL}
    assert software.difference(without, found, ignored=software.OPTIONAL) == ""
    assert "libheif was 1.0" in software.difference({**found, "libheif": "1.0"}, found, ignored=software.OPTIONAL)
    assert "pillow_heif" in software.difference(found, without)  # on a worker without it
