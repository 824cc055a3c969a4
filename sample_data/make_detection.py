"""Make ``coco/``, ``coco_broken/``, ``voc/``, ``yolo/`` and ``boxes.csv``, small sources of drawn shapes in boxes.

python sample_data/make_detection.py [FOLDER]

Deterministic: the same pixels and boxes on every run (the bytes may change with the versions of Pillow's JPEG encoder).
``coco_broken/`` has bad records; ``voc/`` and ``yolo/`` have one bad record each.
``boxes.csv`` has the boxes of ``coco/``.
"""

import io
import json
import math
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from PIL import Image, ImageDraw

NUM_IMAGES = {"train": 16, "val": 6, "test": 2}
SMALLEST, LARGEST = 80, 160  # pixels a side
SHAPES = ("circle", "square", "triangle")
COCO_IDS = {"square": 3, "circle": 7, "triangle": 11}  # with gaps, and in another order, as COCO's have


@dataclass(frozen=True)
class Shape:
    """A drawn shape: its outline as x and y in pixels."""

    name: str
    outline: tuple[tuple[float, float], ...]

    def box(self) -> tuple[float, float, float, float]:
        """xmin, ymin, xmax, ymax in pixels."""
        across, down = zip(*self.outline, strict=True)
        return min(across), min(down), max(across), max(down)

    def area(self) -> float:
        """Area in pixels, by the shoelace formula."""
        pairs = zip(self.outline, self.outline[1:] + self.outline[:1], strict=True)
        return abs(sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in pairs)) / 2


@dataclass(frozen=True)
class Picture:
    """An image with its shapes."""

    name: str
    split: str
    width: int
    height: int
    shapes: tuple[Shape, ...]
    data: bytes


def _outline(name: str, x: float, y: float, radius: float) -> tuple[tuple[float, float], ...]:
    corners = {"circle": 24, "square": 4, "triangle": 3}[name]
    start = math.pi / 4 if name == "square" else 0.0
    angles = [start + math.tau * corner / corners for corner in range(corners)]
    return tuple((round(x + radius * math.sin(a), 2), round(y - radius * math.cos(a), 2)) for a in angles)


def make_pictures(seed: str) -> list[Picture]:
    """Draw images of one to three shapes; the fourth image is background only."""
    pictures = []
    for split, count in NUM_IMAGES.items():
        for number in range(count):
            rng = random.Random(f"{seed}/{split}/{number}")
            width, height = rng.randint(SMALLEST, LARGEST), rng.randint(SMALLEST, LARGEST)
            image = Image.new("RGB", (width, height), tuple(rng.randrange(90) for _ in range(3)))
            draw, shapes = ImageDraw.Draw(image), []
            for _ in range(0 if number == 3 else rng.randint(1, 3)):
                name, radius = rng.choice(SHAPES), rng.uniform(8, 24)
                x, y = rng.uniform(radius, width - radius), rng.uniform(radius, height - radius)
                shape = Shape(name, _outline(name, x, y, radius))
                draw.polygon(shape.outline, fill=tuple(rng.randrange(120, 256) for _ in range(3)))
                shapes.append(shape)
            buffer = io.BytesIO()
            image.save(buffer, "JPEG", quality=80)
            name = f"{split}_{number:02d}"
            pictures.append(Picture(name, split, width, height, tuple(shapes), buffer.getvalue()))
    return pictures


def _run_lengths(picture: Picture, shape: Shape) -> list[int]:
    """Return COCO's uncompressed RLE: lengths of runs outside and inside in turn, column by column."""
    mask = Image.new("1", (picture.width, picture.height))
    ImageDraw.Draw(mask).polygon(shape.outline, fill=1)
    runs, inside = [0], 0
    for x in range(picture.width):
        for y in range(picture.height):
            if bool(mask.getpixel((x, y))) != bool(inside):
                runs.append(0)
                inside = 1 - inside
            runs[-1] += 1
    return runs


def _coco_json(pictures: list[Picture], first_id: int) -> dict[str, list[dict[str, object]]]:
    images, annotations = list[dict[str, object]](), list[dict[str, object]]()
    for number, picture in enumerate(pictures):
        size = {"width": picture.width, "height": picture.height}
        images.append({"id": first_id + 7 * number, "file_name": f"{picture.name}.jpg", **size})
        for shape in picture.shapes:
            xmin, ymin, xmax, ymax = shape.box()
            is_crowd = len(annotations) % 9 == 8
            polygon = [side for corner in shape.outline for side in corner]
            rle = {"counts": _run_lengths(picture, shape), "size": [picture.height, picture.width]}
            annotations.append(
                {
                    "id": first_id * 10 + len(annotations),
                    "image_id": first_id + 7 * number,
                    "category_id": COCO_IDS[shape.name],
                    "bbox": [xmin, ymin, round(xmax - xmin, 2), round(ymax - ymin, 2)],
                    "area": round(shape.area(), 3),
                    "iscrowd": int(is_crowd),
                    "segmentation": rle if is_crowd else [polygon],
                }
            )
    categories: list[dict[str, object]] = [{"id": COCO_IDS[name], "name": name} for name in SHAPES]
    return {"images": images, "annotations": annotations, "categories": categories}


def make_coco() -> dict[str, bytes]:
    """Return files by path, in COCO's own folders: annotations/instances_train2017.json and train2017/."""
    files: dict[str, bytes] = {}
    for start, split in enumerate(NUM_IMAGES, 1):
        pictures = [picture for picture in make_pictures("coco") if picture.split == split]
        files |= {f"{split}2017/{picture.name}.jpg": picture.data for picture in pictures}
        annotations = _coco_json(pictures, first_id=1000 * start)
        files[f"annotations/instances_{split}2017.json"] = json.dumps(annotations).encode()
    captions = {"images": [], "annotations": [{"image_id": 1000, "id": 1, "caption": "Shapes."}]}
    return files | {"annotations/captions_val2017.json": json.dumps(captions).encode()}


def make_coco_broken() -> dict[str, bytes]:
    """Return files by path, with every kind of bad record."""
    pictures = make_pictures("broken")[:3]
    made = _coco_json(pictures, first_id=1)
    images, annotations = made["images"], made["annotations"]
    good = annotations[0]
    images += [
        {"id": 100, "file_name": "missing.jpg", "width": 10, "height": 10},
        {"id": 101, "file_name": "../outside.jpg", "width": 10, "height": 10},
        {"id": 15, "file_name": pictures[1].name + ".jpg", "width": 10, "height": 10},
    ]
    annotations += [
        {**good, "id": 900, "image_id": 999},
        {**good, "id": 901, "category_id": 999},
        {**good, "id": 902, "bbox": [1, 2, 3]},
        {**good, "id": 903, "bbox": [-5, -5, 1, 1]},
    ]
    files = {f"images/{picture.name}.jpg": picture.data for picture in pictures}
    files["images/unlabelled.jpg"] = pictures[0].data
    return files | {"instances.json": json.dumps(made).encode()}


def _xml(picture: Picture) -> bytes:
    objects = "".join(
        f"<object><name>{escape(shape.name)}</name><pose>Unspecified</pose><truncated>0</truncated>"
        f"<difficult>{int(number == 2)}</difficult><bndbox><xmin>{round(xmin)}</xmin><ymin>{round(ymin)}</ymin>"
        f"<xmax>{round(xmax)}</xmax><ymax>{round(ymax)}</ymax></bndbox></object>\n"
        for number, shape in enumerate(picture.shapes)
        for xmin, ymin, xmax, ymax in [shape.box()]
    )
    size = f"<size><width>{picture.width}</width><height>{picture.height}</height><depth>3</depth></size>"
    return f"<annotation><filename>{picture.name}.jpg</filename>{size}\n{objects}</annotation>\n".encode()


def make_voc() -> dict[str, bytes]:
    """Return files by path, in VOC's own folders, with one XML file without image."""
    base, files = "VOCdevkit/VOC2012", dict[str, bytes]()
    pictures = make_pictures("voc")
    for picture in pictures:
        files[f"{base}/JPEGImages/{picture.name}.jpg"] = picture.data
        files[f"{base}/Annotations/{picture.name}.xml"] = _xml(picture)
    for split in NUM_IMAGES:
        names = "".join(f"{picture.name}\n" for picture in pictures if picture.split == split)
        files[f"{base}/ImageSets/Main/{split}.txt"] = names.encode()
    files[f"{base}/Annotations/lost.xml"] = _xml(pictures[0]).replace(b"train_00", b"lost")
    files[f"{base}/ImageSets/Main/train.txt"] += b"lost\n"
    return files


def _yolo_line(picture: Picture, shape: Shape, *, as_polygon: bool) -> str:
    index = SHAPES.index(shape.name)
    if as_polygon:
        return f"{index} " + " ".join(f"{x / picture.width:.6f} {y / picture.height:.6f}" for x, y in shape.outline)
    xmin, ymin, xmax, ymax = shape.box()
    x, y = (xmin + xmax) / 2 / picture.width, (ymin + ymax) / 2 / picture.height
    width, height = (xmax - xmin) / picture.width, (ymax - ymin) / picture.height
    return f"{index} {x:.6f} {y:.6f} {width:.6f} {height:.6f}"


def make_yolo() -> dict[str, bytes]:
    """Return files by path: data.yaml, train/images, train/labels and so on; one line has an unknown class."""
    lines = ["path: /somebody/else/shapes  # where it was made", "names:"]
    lines += [f"  {index}: {name}" for index, name in enumerate(SHAPES)]
    lines += [f"{split}: ../{split}/images" for split in NUM_IMAGES]  # as Roboflow writes them
    files = {"data.yaml": "\n".join([*lines, ""]).encode()}
    for picture in make_pictures("yolo"):
        files[f"{picture.split}/images/{picture.name}.jpg"] = picture.data
        lines = [_yolo_line(picture, shape, as_polygon=i == 1) for i, shape in enumerate(picture.shapes)]
        files[f"{picture.split}/labels/{picture.name}.txt"] = "".join(f"{line}\n" for line in lines).encode()
    files["train/labels/train_00.txt"] += b"9 0.5 0.5 0.1 0.1\n"
    return files


def make_boxes() -> dict[str, bytes]:
    """Return boxes.csv, a row for each box of ``coco/`` and for each image without boxes; rows are not in order."""
    rows = []
    for picture in make_pictures("coco"):
        image = f"coco/{picture.split}2017/{picture.name}.jpg,{picture.width},{picture.height}"
        rows += [f"{image},{shape.name},{','.join(map(str, shape.box()))},{picture.split}" for shape in picture.shapes]
        rows += [f"{image},,,,,,{picture.split}"] if not picture.shapes else []
    header = "filename,width,height,class,xmin,ymin,xmax,ymax,split"
    return {"boxes.csv": "\n".join([header, *rows[::2], *rows[1::2], ""]).encode()}


def make(root: Path) -> None:
    """Write all sources below a folder."""
    made = {"coco": make_coco(), "coco_broken": make_coco_broken(), "voc": make_voc(), "yolo": make_yolo()}
    made["."] = make_boxes()
    for source, files in made.items():
        for key, data in files.items():
            path = root / source / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        print(f"{root / source}: {len(files)} files, {sum(map(len, files.values()))} bytes")


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
