"""Make all sample data: here ``shapes/`` and ``broken/``, two small sources of class folders.

python sample_data/make_samples.py [FOLDER]

The other layouts are made by ``make_tables.py``, ``make_detection.py`` and ``make_packed.py``, which this script calls.
``shapes/``: 240 images of four drawn shapes, easy to learn: no two look nearly the same, and none has to be encoded
again. ``broken/``: every kind of bad image, among good and odd ones. Deterministic: the same pixels on every run (the
bytes may change with the versions of Pillow's codecs). Without FOLDER the files are written next to this script, where
they are kept under version control. shardkit must be installed.
"""

import io
import itertools
import math
import random
import struct
import sys
import zlib
from pathlib import Path

import make_detection
import make_packed
import make_tables
from PIL import Image, ImageDraw

from shardkit.images.inspection import check_fully
from shardkit.images.perceptual_hash import MIN_SIDE
from shardkit.images.similar.near_pairs import RADIUS

NUM_PER_SHAPE = 60
SMALLEST, LARGEST = MIN_SIDE, 200  # pixels a side; smaller images have no perceptual hash
SUPERSAMPLING = 4  # drawn so much larger, then reduced: smooth edges
MIN_CONTRAST = 110  # of 255: least difference in brightness between a shape and its background
SHADES = 30  # of 255: largest difference in brightness between the background and a disc
NOISE = 18  # of 255: peak
PERIOD = 20  # two images in so many are grey
# Bits in which hashes differ at least; the rounding of another JPEG codec changes a few.
LEAST_DISTANCE = RADIUS + 4

Point = tuple[float, float]


def _polygon(num_corners: int, turn: float, *, inner: float = 1.0) -> list[Point]:
    """Return corners on the unit circle; with ``inner`` below 1, the notches of a star between them."""
    steps = num_corners * (1 if inner == 1.0 else 2)
    angles = [turn + math.tau * step / steps for step in range(steps)]
    radii = [inner if inner != 1.0 and step % 2 else 1.0 for step in range(steps)]
    return [(radius * math.sin(angle), -radius * math.cos(angle)) for angle, radius in zip(angles, radii, strict=True)]


def corners_of(shape: str, turn: float) -> list[Point]:
    """Return the outline of a shape of radius 1 at the origin, turned by ``turn`` radians."""
    if shape == "circle":
        return _polygon(90, turn)
    if shape == "square":
        return _polygon(4, turn + math.pi / 4)  # resting on a side
    if shape == "triangle":
        return _polygon(3, turn)
    return _polygon(5, turn, inner=0.42)


def _brightness(colour: tuple[int, int, int]) -> float:
    red, green, blue = colour
    return 0.299 * red + 0.587 * green + 0.114 * blue


def _colours(rng: random.Random) -> list[tuple[int, int, int]]:
    """Return the colours of background and shape, which differ in grayscale too."""
    while True:
        pair = [(rng.randrange(256), rng.randrange(256), rng.randrange(256)) for _ in range(2)]
        if abs(_brightness(pair[0]) - _brightness(pair[1])) >= MIN_CONTRAST:
            return pair


def draw_shape(shape: str, rng: random.Random, width: int, height: int, num_discs: int = 0) -> Image.Image:
    """Draw one shape near the middle of an RGB image, above discs in shades of the background."""
    background, colour = _colours(rng)
    image = Image.new("RGB", (width * SUPERSAMPLING, height * SUPERSAMPLING), background)
    draw = ImageDraw.Draw(image)
    for _ in range(num_discs):
        radius = rng.uniform(0.15, 0.5) * min(image.size)
        x, y, lighter = rng.uniform(0, image.width), rng.uniform(0, image.height), rng.uniform(-SHADES, SHADES)
        shade = tuple(max(0, min(255, round(level + lighter))) for level in background)
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=shade)
    radius = min(image.size) * rng.uniform(0.32, 0.43)
    x = image.width / 2 + rng.uniform(-0.3, 0.3) * (image.width / 2 - radius)
    y = image.height / 2 + rng.uniform(-0.3, 0.3) * (image.height / 2 - radius)
    outline = [
        (round(x + radius * across), round(y + radius * down))
        for across, down in corners_of(shape, rng.uniform(-0.25, 0.25))
    ]
    draw.polygon(outline, fill=colour)
    return image.reduce(SUPERSAMPLING)


def add_noise(image: Image.Image, rng: random.Random) -> Image.Image:
    """Return noise from ``rng``, because Image.effect_noise differs on every run."""
    noise = Image.frombytes("RGB", image.size, rng.randbytes(image.width * image.height * 3))
    return Image.blend(image, noise, NOISE / 255)


def exif(orientation: int) -> bytes:
    """Return an EXIF block with an orientation only."""
    block = Image.Exif()
    block[0x0112] = orientation
    return block.tobytes()


def encode(image: Image.Image, kind: str, **options: object) -> bytes:
    """Return the file that Pillow writes."""
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def make_shapes() -> dict[str, bytes]:
    """Return the files of ``shapes/`` by key: two in three are noisy JPEGs, the third is a PNG."""
    files: dict[str, bytes] = {}
    hashes: list[int] = []
    for shape in ("circle", "square", "triangle", "star"):
        for number in range(NUM_PER_SHAPE):
            name = f"{shape}/{shape}_{number:03d}"
            for attempt in itertools.count():
                ending, data = make_shape(shape, number, random.Random(f"{shape}/{number}/{attempt}"))
                bits = int.from_bytes(check_fully(data)[2] or b"", "big")
                if all((bits ^ other).bit_count() >= LEAST_DISTANCE for other in hashes):
                    break
            hashes.append(bits)
            files[f"{name}.{ending}"] = data
    return files


def make_shape(shape: str, number: int, rng: random.Random) -> tuple[str, bytes]:
    """Return the ending and the bytes of one image."""
    width = rng.randint(SMALLEST, LARGEST)
    height = min(LARGEST, max(SMALLEST, round(width * rng.uniform(3 / 4, 4 / 3))))
    image = draw_shape(shape, rng, width, height, num_discs=3)
    is_png = number % 3 == 2
    if not is_png:
        image = add_noise(image, rng)
    if number % PERIOD in {7, 8}:
        image = image.convert("L")
    return ("png", encode(image, "PNG")) if is_png else ("jpg", encode(image, "JPEG", quality=80))


def _chunk(kind: bytes, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload)) + kind + payload + struct.pack(">I", zlib.crc32(kind + payload))


def _png(width: int, height: int, depth: int, colour: int, pixels: bytes) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    chunks = _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(pixels)) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def _deep_png(width: int, height: int) -> bytes:
    """Return a 16-bit RGB gradient as PNG, which Pillow cannot write."""
    rows = bytearray()
    for y in range(height):
        rows.append(0)
        for x in range(width):
            rows += struct.pack(">HHH", x * 65535 // width, y * 65535 // height, (x * y * 977) % 65536)
    return _png(width, height, 16, 2, bytes(rows))


def _flip(data: bytes, position: int) -> bytes:
    changed = bytearray(data)
    changed[position] ^= 0x10
    return bytes(changed)


def make_broken() -> dict[str, bytes]:
    """Return the files of ``broken/`` by key; tests/images/test_sample_data.py has the expected results."""
    rng = random.Random("broken")
    images = {shape: draw_shape(shape, rng, 96, 64) for shape in ("circle", "star")}
    circle, star = images["circle"], images["star"]
    turned = star.rotate(120)
    jpeg, png = encode(circle, "JPEG", quality=85), encode(star, "PNG")
    translucent = star.copy()
    translucent.putalpha(star.convert("L"))
    frames: dict[str, object] = {"save_all": True, "append_images": [turned], "duration": 200}
    files = {
        # Good as they are.
        "circle/plain.jpg": jpeg,
        "circle/plain.jpeg": encode(add_noise(circle, rng), "JPEG", quality=85),
        "circle/progressive.jpg": encode(circle, "JPEG", progressive=True),
        "circle/grey.jpg": encode(circle.convert("L"), "JPEG"),
        "circle/bytes_after_the_end.jpg": jpeg + b"\0" * 64 + b"left by a camera",
        "circle/upright_exif.jpg": encode(circle, "JPEG", exif=exif(1)),
        "star/plain.png": png,
        "star/upper_case.PNG": png,
        "star/grey.png": encode(star.convert("L"), "PNG"),
        "star/palette.png": encode(star.quantize(16), "PNG"),
        "star/rgba.png": encode(translucent, "PNG"),
        "star/png_named.jpg": encode(turned, "PNG"),
        # Good, but not as they are.
        "circle/cmyk.jpg": encode(circle.convert("CMYK"), "JPEG"),
        "circle/lossy.webp": encode(circle, "WEBP", quality=85),
        "circle/oriented.webp": encode(circle, "WEBP", quality=85, exif=exif(6)),
        "star/translucent.webp": encode(translucent, "WEBP", lossless=True),
        "star/animated.webp": encode(star, "WEBP", **frames),
        "star/lzw.tiff": encode(star, "TIFF", compression="tiff_lzw"),
        "star/pages.tif": encode(star.convert("L"), "TIFF", save_all=True, append_images=[turned.convert("L")]),
        "star/deep.png": _deep_png(24, 16),
        "star/still.gif": encode(star, "GIF"),
        "star/animated.gif": encode(star, "GIF", **frames),
        "star/animated.png": encode(star, "PNG", **frames),
        "star/bitmap.bmp": encode(star.quantize(16), "BMP"),
        "star/orientation_6.png": encode(star, "PNG", exif=exif(6)),
        # Bad.
        "circle/empty.jpg": b"",
        "circle/truncated.jpg": jpeg[: len(jpeg) // 2],
        "circle/no_end_marker.jpg": jpeg[:-2],
        "circle/text_renamed.jpg": b"This was never a photograph.\n",
        "circle/twelve_bits.jpg": jpeg.replace(b"\xff\xc0\x00\x11\x08", b"\xff\xc0\x00\x11\x0c"),
        # Byte 23 begins the key frame's start code (RFC 6386, 9.1); a byte of pixels would just give other pixels.
        "circle/damaged.webp": _flip(encode(circle, "WEBP", quality=85), 23),
        "star/html.png": b"<!DOCTYPE html>\n<html><body>404 Not Found</body></html>\n",
        "star/truncated.png": png[: len(png) // 2],
        "star/too_many_pixels.png": _png(100_000, 100_000, 8, 2, b"\0" * 100),
        "star/damaged.png": _flip(png, len(png) // 2),
        "star/zeros.png": bytes(512),
        # Not meant as images.
        "circle/.DS_Store": b"\0\0\0\1Bud1\0\0",
        "star/notes.txt": b"Taken on a rainy day.\n",
    }
    for orientation in (2, 3, 5, 6, 8):
        files[f"circle/orientation_{orientation}.jpg"] = encode(circle, "JPEG", quality=85, exif=exif(orientation))
    return files


def main(folder: Path) -> None:
    """Write all sources under ``folder``."""
    for source, files in (("shapes", make_shapes()), ("broken", make_broken())):
        for key, data in files.items():
            path = folder / source / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        print(f"{folder / source}: {len(files)} files, {sum(map(len, files.values()))} bytes")
    for layouts in (make_tables, make_detection, make_packed):
        layouts.make(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
