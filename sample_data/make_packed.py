"""Make small sources with masks, with labels in file names, and packed into archives.

python sample_data/make_packed.py [FOLDER]

- ``masks/``: 12 pictures of shapes and their masks by split folders, grey ones in train, palettes in val. Class
  0 is the background, 255 (of grey masks) the outline, which is not to be learned. One picture is turned by EXIF.
- ``names/``: 12 pictures ``circle_001.png``: ``--label-pattern '^([a-z]+)_'``.
- ``webdataset/``: two .tar of 12 samples, picture and class each.
- ``folders.zip``: split and class folders below one top folder.
- ``hf/``: Hugging Face's Parquet with the pictures in it, two row groups.

Deterministic: the same pixels on every run. Without FOLDER the files are written next to this script, where version
control keeps them.
"""

import io
import json
import random
import sys
import tarfile
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image, ImageDraw

CLASSES = ("circle", "square", "triangle")
NUM_PICTURES = 12
SIDE = 32  # pixels
MASK_WIDTH, MASK_HEIGHT = 40, 28
OUTLINE = 255  # class number of pixels that are not to be learned, as Pascal VOC has it
TURNED = 3  # number of the picture that EXIF turns
DATE = (2026, 1, 2, 3, 4, 6)  # of members of archives
SECONDS = 1_767_323_046  # the same since the epoch
PALETTE = [0, 0, 0, 200, 60, 60, 60, 160, 60, 70, 90, 220]


def _shape(draw: ImageDraw.ImageDraw, name: str, box: tuple[int, int, int, int], **colours: object) -> None:
    if name == "circle":
        draw.ellipse(box, **colours)
    elif name == "square":
        draw.rectangle(box, **colours)
    else:
        x0, y0, x1, y1 = box
        draw.polygon([((x0 + x1) // 2, y0), (x1, y1), (x0, y1)], **colours)


def _box(rng: random.Random, width: int, height: int) -> tuple[int, int, int, int]:
    side = rng.randrange(min(width, height) // 2, min(width, height) - 4)
    x, y = rng.randrange(1, width - side - 1), rng.randrange(1, height - side - 1)
    return x, y, x + side, y + side


def _colours(rng: random.Random) -> tuple[tuple[int, ...], tuple[int, ...]]:
    dark, light = (tuple(rng.randrange(low, low + 80) for _ in range(3)) for low in (10, 160))
    return (dark, light) if rng.random() < 0.5 else (light, dark)


def _picture(seed: str, name: str) -> Image.Image:
    rng = random.Random(seed)
    background, colour = _colours(rng)
    image = Image.new("RGB", (SIDE, SIDE), background)
    _shape(ImageDraw.Draw(image), name, _box(rng, SIDE, SIDE), fill=colour)
    return image


def _encoded(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def _pictures(what: str) -> list[tuple[int, str, bytes]]:
    """Return number, class name and PNG of each image."""
    names = [CLASSES[i % len(CLASSES)] for i in range(NUM_PICTURES)]
    return [(i, name, _encoded(_picture(f"{what} {i}", name))) for i, name in enumerate(names)]


def _masked(i: int, *, is_palette: bool) -> tuple[bytes, bytes]:
    """Draw a picture of two shapes, and its mask of the same stored size."""
    rng = random.Random(f"mask {i}")
    background, colour = _colours(rng)
    image = Image.new("RGB", (MASK_WIDTH, MASK_HEIGHT), background)
    mask = Image.new("L", image.size, 0)
    for k in range(2):
        number = (i + k) % len(CLASSES)
        box = _box(rng, MASK_WIDTH, MASK_HEIGHT)
        outline = {} if is_palette else {"outline": OUTLINE}
        _shape(ImageDraw.Draw(image), CLASSES[number], box, fill=colour)
        _shape(ImageDraw.Draw(mask), CLASSES[number], box, fill=number + 1, **outline)
    if is_palette:
        palette = Image.frombytes("P", mask.size, mask.tobytes())
        palette.putpalette(PALETTE)
        mask = palette
    options = {}
    if i == TURNED:
        exif = Image.Exif()
        exif[0x0112] = 6
        options["exif"] = exif
    return _encoded(image, "JPEG", quality=90, **options), _encoded(mask)


def make_masks() -> dict[str, bytes]:
    """Return files by path."""
    files = {}
    for i in range(NUM_PICTURES):
        split, is_palette = ("val", True) if i % 3 == 2 else ("train", False)
        name = f"{i:03d}"
        mask_name = f"{name}_mask" if is_palette else name
        image, mask = _masked(i, is_palette=is_palette)
        files |= {f"{split}/images/{name}.jpg": image, f"{split}/masks/{mask_name}.png": mask}
    return files


def make_tar(what: str) -> bytes:
    """Return twelve samples: even ones have their class in .cls, odd ones in .json."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for i, name, data in _pictures(what):
            label = (
                {"cls": name.encode()} if i % 2 == 0 else {"json": json.dumps({"label": name, "side": SIDE}).encode()}
            )
            for kind, content in {"png": data, **label}.items():
                member = tarfile.TarInfo(f"{i:06d}.{kind}")
                member.size, member.mtime = len(content), SECONDS
                tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


def make_zip() -> bytes:
    """Return split and class folders below ``shapes/``."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for i, name, data in _pictures("zip"):
            split = "val" if i % 4 == 3 else "train"
            archive.writestr(zipfile.ZipInfo(f"shapes/{split}/{name}/{i:03d}.png", DATE), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def make_parquet() -> bytes:
    """Return a Parquet file as ``datasets`` writes it."""
    pictures = _pictures("parquet")
    images = pa.array(
        [{"bytes": data, "path": f"{name}_{i}.png"} for i, name, data in pictures],
        pa.struct([("bytes", pa.binary()), ("path", pa.string())]),
    )
    table = pa.table({"image": images, "label": pa.array([CLASSES.index(name) for _, name, _ in pictures], pa.int64())})
    features = {"image": {"_type": "Image"}, "label": {"names": list(CLASSES), "_type": "ClassLabel"}}
    described = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    out = io.BytesIO()
    pq.write_table(described, out, row_group_size=NUM_PICTURES // 2)
    return out.getvalue()


def make(root: Path) -> None:
    """Write all sources under ``root``."""
    files = {
        **{f"masks/{path}": data for path, data in make_masks().items()},
        **{f"names/{name}_{i:03d}.png": data for i, name, data in _pictures("names")},
        "webdataset/shapes-train-000000.tar": make_tar("train"),
        "webdataset/shapes-val-000000.tar": make_tar("val"),
        "folders.zip": make_zip(),
        "hf/data/train-00000-of-00001.parquet": make_parquet(),
    }
    for path, data in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    print(f"{root}: {len(files)} files, {sum(map(len, files.values()))} bytes")


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
