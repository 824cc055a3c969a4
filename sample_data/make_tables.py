"""Make tables of the images in ``shapes/``, one of them bad on purpose, and ``metadata/``, a Hugging Face image folder.

python sample_data/make_tables.py [FOLDER]

Deterministic; the bytes of ``regression.parquet`` and of the PNGs may change with the versions of pyarrow and Pillow.
Without FOLDER the files are written next to this script, where they are kept under version control.
"""

import csv
import io
import json
import random
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image, ImageDraw, ImageStat

SHAPES = Path(__file__).parent / "shapes"
NAMES = ("circle", "square", "star", "triangle")
NUM_PER_SHAPE = 60
CORNERS = {"circle": 0, "square": 4, "star": 10, "triangle": 3}
NUM_PER_SCENE = 4
SIDE = 16  # pixels, of the images in metadata/

# The lines of broken.csv behind its header, and what is to become of each: a reason, or None where it is good.
BROKEN = (
    (b"shapes/circle/circle_000.jpg,circle,1", None),
    (b"shapes/circle/circle_001.jpg,,2", "no_label"),
    (b"shapes/circle/circle_404.jpg,circle,3", "missing"),  # told by the check, not by the listing
    (b"../shapes/circle/circle_003.jpg,circle,4", "bad_path"),
    (b",circle,5", "bad_path"),
    (b"shapes/circle/circle_004.jpg,circle", "bad_line"),
    (b"shapes/circle/circle_006.jpg,circle,7,8", "bad_line"),
    (b'shapes/square/square_000.jpg,"square,9', "bad_line"),
    (b"shapes/square/square_001.jpg,square,10", None),
    (b"shapes/square/square_003.jpg,carr\xe9,11", "bad_line"),  # Latin-1
    (b"shapes/square/square_004.jpg,squ\0are,12", "bad_line"),
    (b"C:\\photos\\square_006.jpg,square,13", "bad_path"),
    (b'"shapes/square/square_007.jpg","square","14"', None),
    (b"shapes\\star\\star_000.jpg,star,15", None),
    (b"./shapes/star/star_001.jpg,star,16", None),
    (b"shapes/circle/circle_000.jpg,star,17", None),  # the first image with another label: the plan rejects both
)


def _images() -> list[tuple[str, str, int]]:
    """Return path, shape and number of every image in ``shapes/``."""
    return [
        (f"shapes/{name}/{name}_{number:03d}.{'png' if number % 3 == 2 else 'jpg'}", name, number)
        for name in NAMES
        for number in range(NUM_PER_SHAPE)
    ]


def _text(records: list[list[object]], delimiter: str = ",") -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows(records)
    return out.getvalue().encode()


def _labels() -> bytes:
    records: list[list[object]] = [["image", "label"]]
    return _text(records + [[path, name] for path, name, _ in _images()])


def _attributes() -> bytes:
    """Return a table with features, with scenes as groups, and with splits by scene."""
    records: list[list[object]] = [["file_name", "class_name", "scene", "split", "iso", "exposure_ms", "remark"]]
    for path, name, number in _images():
        rng = random.Random(path)
        scene = number // NUM_PER_SCENE
        split = ("test", "validation")[scene % 5] if scene % 5 < 2 else "train"
        remark = "\u66c7\u308a, windy" if rng.random() < 0.1 else ""
        iso, exposure_ms = rng.choice([100, 200, 400, 800]), round(rng.uniform(0.5, 60), 2)
        records.append([path, name, f"{name}-{scene:02d}", split, iso, exposure_ms, remark])
    return _text(records, "\t")


def _multilabel() -> bytes:
    lines = []
    for path, name, number in _images():
        labels = [name] if name != "circle" else []  # some have no class at all
        labels += ["has corners"] if CORNERS[name] else []
        labels += ["grey"] if number % 20 in {7, 8} else []
        lines.append(json.dumps({"image_path": path, "labels": labels}) + "\n")
    return "".join(lines).encode()


def _regression() -> bytes:
    """Return the average brightness of every third image, from 0 to 1."""
    chosen = [path for path, _, number in _images() if number % 3 == 0]
    brightness = []
    for path in chosen:
        with Image.open(SHAPES.parent / path) as image:
            # Rounded: decoders of JPEG differ in the last bit.
            brightness.append(round(ImageStat.Stat(image.convert("L")).mean[0] / 255, 2))
    out = io.BytesIO()
    table = pa.table({"image": chosen, "target": pa.array(brightness, pa.float32())})
    pq.write_table(table, out, row_group_size=50)
    return out.getvalue()


def _automl() -> bytes:
    """Return AutoML's and TFRecorder's form, without a header; the last records have no split."""
    splits = ["TRAIN"] * 7 + ["VALIDATION", "TEST", "TRAIN"]
    records: list[list[object]] = [
        ["UNASSIGNED" if number == NUM_PER_SHAPE - 1 else splits[number % len(splits)], path, name]
        for path, name, number in _images()
    ]
    return _text(records)


def _broken() -> bytes:
    return b"image,label,number\n" + b"".join(line + b"\n" for line, _ in BROKEN)


def _metadata() -> dict[str, bytes]:
    """Return the files of ``metadata/``: images of discs and boxes, and metadata.jsonl."""
    files, lines = {}, []
    for number in range(12):
        rng = random.Random(f"metadata/{number}")
        label = ("box", "disc")[number % 2]
        image = Image.new("RGB", (SIDE, SIDE), (rng.randrange(96), rng.randrange(96), rng.randrange(96)))
        colour = (rng.randrange(160, 256), rng.randrange(160, 256), rng.randrange(160, 256))
        pen = ImageDraw.Draw(image)
        corner = rng.randrange(1, 5)
        outline = (corner, corner, SIDE - 2, SIDE - 2)
        if label == "box":
            pen.rectangle(outline, fill=colour)
        else:
            pen.ellipse(outline, fill=colour)
        out = io.BytesIO()
        image.save(out, "PNG")
        split = "test" if number >= 9 else "train"
        files[f"metadata/{split}/{number:02d}.png"] = out.getvalue()
        lines.append({"file_name": f"{split}/{number:02d}.png", "label": label, "corner": corner})
    files["metadata/metadata.jsonl"] = "".join(json.dumps(line) + "\n" for line in lines).encode()
    return files


def make(root: Path) -> None:
    """Write the tables and ``metadata/`` into a folder; the tables' images are those of ``shapes/`` next to them."""
    files = {
        "labels.csv": _labels(),
        "attributes.tsv": _attributes(),
        "multilabel.jsonl": _multilabel(),
        "regression.parquet": _regression(),
        "automl.csv": _automl(),
        "broken.csv": _broken(),
        "list.txt": "".join(f"{path} {name}\n" for path, name, _ in _images()).encode(),
        **_metadata(),
    }
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    print(f"{root}: {len(files)} files of tables, {sum(map(len, files.values()))} bytes")


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
