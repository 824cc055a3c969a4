"""``sample_data``: every file of ``broken/`` gives what this table says, and the script makes what is committed."""

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from shardkit import images

SAMPLES = Path(__file__).parents[2] / "sample_data"

# key: the format and changes of a good image, or the reason of a bad one
BROKEN: dict[str, tuple[str, ...] | str] = {
    "circle/.DS_Store": "not_an_image",
    "circle/bytes_after_the_end.jpg": ("JPEG",),
    "circle/cmyk.jpg": ("JPEG", "cmyk"),
    "circle/damaged.webp": "damaged",
    "circle/empty.jpg": "empty",
    "circle/grey.jpg": ("JPEG",),
    "circle/lossy.webp": ("WEBP", "format:lossy_webp"),
    "circle/no_end_marker.jpg": "truncated",
    "circle/orientation_2.jpg": ("JPEG", "orientation"),
    "circle/orientation_3.jpg": ("JPEG", "orientation"),
    "circle/orientation_5.jpg": ("JPEG", "orientation"),
    "circle/orientation_6.jpg": ("JPEG", "orientation"),
    "circle/orientation_8.jpg": ("JPEG", "orientation"),
    "circle/oriented.webp": ("WEBP", "format:lossy_webp", "orientation"),
    "circle/plain.jpeg": ("JPEG",),
    "circle/plain.jpg": ("JPEG",),
    "circle/progressive.jpg": ("JPEG",),
    "circle/text_renamed.jpg": "not_an_image",
    "circle/truncated.jpg": "truncated",
    "circle/twelve_bits.jpg": "damaged",
    "circle/upright_exif.jpg": ("JPEG",),
    "star/animated.gif": ("GIF", "animated", "format:gif"),
    "star/animated.png": ("PNG", "animated"),
    "star/animated.webp": ("WEBP", "animated", "format:webp"),
    "star/bitmap.bmp": ("BMP", "format:bmp"),
    "star/damaged.png": "damaged",
    "star/deep.png": ("PNG", "bit_depth"),
    "star/grey.png": ("PNG",),
    "star/html.png": "not_an_image",
    "star/lzw.tiff": ("TIFF", "format:tiff"),
    "star/notes.txt": "not_an_image",
    "star/orientation_6.png": ("PNG", "orientation"),
    "star/pages.tif": ("TIFF", "animated", "format:tiff"),
    "star/palette.png": ("PNG",),
    "star/plain.png": ("PNG",),
    "star/png_named.jpg": ("PNG",),
    "star/rgba.png": ("PNG",),
    "star/still.gif": ("GIF", "format:gif"),
    "star/too_many_pixels.png": "too_many_pixels",
    "star/translucent.webp": ("WEBP", "format:webp"),
    "star/truncated.png": "truncated",
    "star/upper_case.PNG": ("PNG",),
    "star/zeros.png": "not_an_image",
}


def keys(source: str) -> set[str]:
    folder = SAMPLES / source
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def outcome(data: bytes) -> tuple[str, ...] | str:
    try:
        info = images.check(data)
    except images.BadImage as error:
        return error.reason
    return info.format, *info.changes


@pytest.fixture(scope="module")
def remade(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("samples")
    # In a process of its own, where the scripts beside it and this checkout's shardkit can be imported.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (SAMPLES, SAMPLES.parent)))}
    subprocess.run([sys.executable, str(SAMPLES / "make_samples.py"), str(folder)], env=environment, check=True)
    return folder


def test_the_table_names_every_file_of_broken() -> None:
    assert set(BROKEN) == keys("broken")


@pytest.mark.parametrize("key", BROKEN)
def test_a_file_of_broken_gives_what_the_table_says(key: str) -> None:
    assert outcome((SAMPLES / "broken" / key).read_bytes()) == BROKEN[key]


def test_broken_shows_every_reason_and_every_change_that_normalising_needs() -> None:
    shown = {found for entry in BROKEN.values() for found in ((entry,) if isinstance(entry, str) else entry)}
    # Left out: formats that builds of Pillow lack or that need pillow-heif, those it cannot write, what options ask
    # for, what storage says, and what annotations and masks are rejected for.
    absent = {
        "annotated_size",
        "bad_mask",
        "decompression_bomb",
        "too_many_bytes",
        "unreadable",
        "unsupported_format",
        "narrow_bit_depth",
        "profile",
        "format:avif",
        "format:heif",
        "format:jpeg2000",
        "format:ppm",
        "jpeg_process",
        *("background", "cropped", "enlarged", "metadata", "padded", "progressive", "resized", "subsampling"),
    }
    assert {*images.REASONS, *images.CHANGES} - shown == absent


def test_shapes_are_240_good_images_of_four_classes_in_jpeg_and_png_some_grey() -> None:
    seen: dict[str, int] = {}
    formats, modes, sides, total = set(), set(), set(), 0
    changes: list[tuple[str, ...]] = []
    for key in keys("shapes"):
        data = (SAMPLES / "shapes" / key).read_bytes()
        info = images.check(data)
        label = key.partition("/")[0]
        seen[label] = seen.get(label, 0) + 1
        total += len(data)
        formats.add(info.format)
        sides |= {info.width, info.height}
        changes.append(info.changes)
        with Image.open(io.BytesIO(data)) as image:
            modes.add(image.mode)
    assert seen == {"circle": 60, "square": 60, "star": 60, "triangle": 60}
    assert (formats, modes) == ({"JPEG", "PNG"}, {"L", "RGB"})
    assert (min(sides), max(sides)) == (64, 200)
    assert set(changes) == {()}
    assert total < 1_500_000
    assert sum((SAMPLES / "broken" / key).stat().st_size for key in keys("broken")) < 200_000


@pytest.mark.parametrize("source", ["shapes", "broken"])
def test_the_script_makes_the_files_that_are_committed(source: str, remade: Path) -> None:
    made_keys = {
        path.relative_to(remade / source).as_posix() for path in (remade / source).rglob("*") if path.is_file()
    }
    assert made_keys == keys(source)
    for key in sorted(made_keys):
        made, committed = ((root / source / key).read_bytes() for root in (remade, SAMPLES))
        assert outcome(made) == outcome(committed), key
        if isinstance(outcome(committed), str):
            continue
        # Pixels, not bytes: versions of the codecs compress differently, and lossy ones round differently.
        pixels = [np.asarray(Image.open(io.BytesIO(data)).convert("RGBA")).astype(int) for data in (made, committed)]
        assert pixels[0].shape == pixels[1].shape, key
        assert np.abs(pixels[0] - pixels[1]).mean() < 1, key
