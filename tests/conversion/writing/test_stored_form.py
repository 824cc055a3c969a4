"""Writing in another form: boxes and masks stay with their pixels, and what is removed or kept is counted."""

import csv
import io

import numpy as np
import pytest
from PIL import Image

from shardkit.conversion.planning import plan_file
from shardkit.conversion.writing.output import finished_shards
from shardkit.dataset.example import decode
from shardkit.dataset.features import MASK
from shardkit.dataset.index.file import parse_index
from shardkit.images.masks import mask_values
from shardkit.options.groups import ConvertOptions
from shardkit.parallel.run_token import Run
from shardkit.sources import SourceOptions
from shardkit.sources.opening import open_source
from shardkit.storage import open_folder
from shardkit.testing import plan_without_beam, work_on, write_job, write_tree

from ...images.gps_making import exif_with_gps
from ...images.image_making import encode, picture

RED, BLACK = (255, 0, 0), (0, 0, 0)
BOXES = {  # xmin, ymin, xmax, ymax in 60 x 40 pixels
    "left.jpg": (2, 10, 8, 30),
    "middle.jpg": (20, 10, 44, 30),
    "right.jpg": (44, 4, 60, 36),
}


def drawn(box, *, orientation=1):
    """A black picture of 60 x 40 pixels with a red box."""
    image = Image.new("RGB", (60, 40), BLACK)
    image.paste(RED, box)
    block = Image.Exif()
    block[0x0112] = orientation
    return encode(image, "JPEG", quality=100, subsampling="4:4:4", exif=block)


def box_source(root, **images):
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerow(["filename", "width", "height", "class", "xmin", "ymin", "xmax", "ymax"])
    rows.writerows([name, 60, 40, "red", *box] for name, box in BOXES.items())
    files = {name: drawn(box, **images) for name, box in BOXES.items()}
    return str(write_tree(root / "source", {**files, "boxes.csv": out.getvalue().encode()}) / "boxes.csv")


def mask_source(root):
    values = {f"{name}.png": np.zeros((40, 60), np.uint8) for name in ("a", "b")}
    files = {}
    for i, (name, mask) in enumerate(values.items()):
        mask[10:30, 20 + i : 44] = 1
        files[f"masks/{name}"] = encode(Image.fromarray(mask), "PNG")
        files[f"images/{name}"] = encode(Image.fromarray(mask * 255), "PNG")
    return str(write_tree(root / "source", files))


def written(path, root, **options):
    """The examples by key, the rows of the index, the summary and the late rejects of one shard."""
    source, output = open_source(path, SourceOptions()), open_folder(str(root / "out"))
    output.create()
    plan = plan_without_beam(source, ConvertOptions.of({"shards": 1, **options}))
    plan_file.write_rows(output, plan)
    (task,) = plan_file.shard_tasks(plan)
    token = Run(output).start()
    [finished] = work_on(write_job(source.folder, plan).write, task, output, token)
    assert finished.shard.path == task.name.records
    table, summary = parse_index(output.read(task.name.index), where="x")
    shard = output.read(task.name.records)
    rows = {row["key"]: row for row in table.to_pylist()}
    records = {key: shard[row["offset"] + 12 : row["offset"] + 12 + row["length"]] for key, row in rows.items()}
    return records, rows, summary, finished_shards.late_rejects(output, plan.digest)


def red_box(data):
    """ymin, xmin, ymax, xmax of the red pixels, as fractions."""
    pixels = np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)
    rows, columns = np.nonzero(pixels[..., 0] > 128)
    height, width, _ = pixels.shape
    return rows.min() / height, columns.min() / width, (rows.max() + 1) / height, (columns.max() + 1) / width


@pytest.mark.parametrize("check", ["decode", "header"])
@pytest.mark.parametrize("orientation", [1, 6, 8])  # of 2 to 4, the size does not tell what was annotated
@pytest.mark.parametrize(
    "form", [{"size": (40, 40)}, {"size": (80, 120), "fit": "pad"}, {"size": (30, 50), "fit": "pad"}]
)
def test_boxes_stay_with_their_pixels(form, orientation, check, tmp_path):
    path = box_source(tmp_path, orientation=orientation)
    records, rows, _, late = written(path, tmp_path, check=check, **form)
    num_boxes = 0
    for key, record in records.items():
        found = decode(record)
        assert (rows[key]["height"], rows[key]["width"]) == form["size"]
        assert (found["height"], found["width"]) == ([form["size"][0]], [form["size"][1]])
        if found["objects/bbox"]:
            num_boxes += 1
            assert np.allclose(found["objects/bbox"], red_box(found["image"][0]), atol=1.5 / min(form["size"]))
            assert found["objects/label"] == rows[key]["labels"] == [0]
        else:
            assert rows[key]["labels"] == []
    assert num_boxes + len(late) == 3
    # Only cropping drops a box: the one at the edge that is cut off.
    cropped = ["left.jpg"] if form["size"] == (40, 40) else []
    assert [reject.key.partition(",")[0] for reject in late] == cropped
    assert {reject.reason for reject in late} <= {"outside_crop"}


def test_masks_stay_with_their_pixels(tmp_path):
    records, rows, _, _ = written(mask_source(tmp_path), tmp_path, size=(30, 30), fit="pad", mask_padding=9)
    for key, record in records.items():
        found = decode(record)
        mask = mask_values(found[MASK][0])
        pixels = np.asarray(Image.open(io.BytesIO(found["image"][0])).convert("L"))
        assert mask.shape == pixels.shape == (30, 30)
        assert np.all(mask[[0, 4, 25, 29]] == 9)
        assert np.all(pixels[[0, 4, 25, 29]] == 0)
        assert np.mean((mask[5:25] == 1) == (pixels[5:25] > 128)) > 0.97
        assert rows[key]["changes"] == "padded,resized"


def test_the_index_counts_the_images_that_are_stored_with_a_position(tmp_path):
    files = {
        "cat/a.jpg": encode(picture(), "JPEG", exif=exif_with_gps()),
        "cat/turned.jpg": encode(picture(), "JPEG", exif=exif_with_gps(orientation=6)),  # re-encoded
        "dog/b.png": encode(picture(seed=1), "PNG", exif=exif_with_gps()),
        "dog/c.jpg": encode(picture(seed=2), "JPEG"),
        "dog/d.webp": encode(picture(seed=3), "WEBP", exif=exif_with_gps()),
    }
    path = str(write_tree(tmp_path / "source", files))
    for check in ("decode", "header"):
        (tmp_path / check).mkdir()
        _, rows, summary, _ = written(path, tmp_path / check, check=check)
        assert summary.num_with_gps == 2
    (tmp_path / "stripped").mkdir()
    _, rows, summary, _ = written(path, tmp_path / "stripped", strip_metadata=True)
    assert summary.num_with_gps == 0
    assert {key: row["changes"] for key, row in rows.items()} == {
        "cat/a.jpg": "metadata",
        "cat/turned.jpg": "orientation",
        "dog/b.png": "metadata",
        "dog/c.jpg": "",
        "dog/d.webp": "format:lossy_webp",
    }
