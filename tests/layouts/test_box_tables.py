"""A table of boxes, converted as users do, read back, and compared with pycocotools' reading of the same boxes."""

import contextlib
import io
from pathlib import Path

import numpy as np
from pycocotools.coco import COCO

from shardkit import read_manifest

from ..cli.calling import call, convert
from .reading_back import assert_same_images, examples

SAMPLES = Path(__file__).parents[2] / "sample_data"
SPLITS = {"train": "train2017", "validation": "val2017", "test": "test2017"}


def test_a_table_of_boxes_is_what_pycocotools_reads_of_the_same_images(tmp_path):
    said = convert(SAMPLES / "boxes.csv", tmp_path / "out")
    assert "(in pixels, classes of 'class')" in said
    found, num_objects = examples(tmp_path / "out"), 0
    assert_same_images(found, SAMPLES)
    classes = read_manifest(str(tmp_path / "out")).classes
    assert classes == ["circle", "square", "triangle"]
    for split, folder in SPLITS.items():
        with contextlib.redirect_stdout(io.StringIO()):
            coco = COCO(SAMPLES / f"coco/annotations/instances_{folder}.json")
        for image in coco.imgs.values():
            one = found.pop(f"coco/{folder}/{image['file_name']}")
            assert one["split"] == split
            height, width = image["height"], image["width"]
            wanted = [
                (
                    coco.cats[annotation["category_id"]]["name"],
                    max(y, 0),
                    max(x, 0),
                    min(y + h, height),
                    min(x + w, width),
                )
                for annotation in coco.imgToAnns[image["id"]]
                for x, y, w, h in (annotation["bbox"],)
            ]
            sides = one["objects/bbox"] * np.tile([height, width], 2)
            labels = [classes[label] for label in one["objects/label"]]
            # The table has the odd rows after the even ones.
            order = np.lexsort(np.column_stack([sides, one["objects/label"]]).T)
            right = sorted(wanted, key=lambda box: (classes.index(box[0]), *box[:0:-1]))
            assert [labels[i] for i in order] == [box[0] for box in right]
            np.testing.assert_allclose(sides[order], np.reshape([box[1:] for box in right], (-1, 4)), atol=1e-4)
            num_objects += len(labels)
    assert not found
    assert num_objects > 20
    assert call("verify", tmp_path / "out", "--deep").exit_code == 0
