"""Texts of boxes that are known by their content: ICDAR, WIDER Person, and MOT's sequences."""

import pyarrow.parquet as pq
import pytest

import shardkit
from shardkit.testing import picture, write_tree

from ...cli.calling import call

QUAD = "1,1,5,1,5,4,1,4"
BOX = [0.125, 0.125, 0.5, 0.625]  # of the quadrilateral in 8 x 8 pixels


def mot(*rows):
    """A sequence of two frames with these rows."""
    frames = {f"train/A/img1/{number:06}.png": picture(number) for number in (1, 2)}
    return {**frames, "train/A/gt/gt.txt": "".join(f"{row}\n" for row in rows).encode()}


def icdar(**texts):
    """Images a and b, and texts by stem."""
    images = {f"ch4_training_images/{name}.png": picture(ord(name)) for name in "ab"}
    return images | {f"ch4_training_gt/gt_{stem}.txt": text.encode("utf-8-sig") for stem, text in texts.items()}


# Files; boxes by the end of the key, and reasons of what is rejected.
READ = {
    "ICDAR": (icdar(a=f"{QUAD},Café, 24\n", b=f"{QUAD},2015\r\n"), {"a.png": [BOX], "b.png": [BOX]}, []),
    "ICDAR: a text that cannot be read": (icdar(a=f"{QUAD},A", b=f"{QUAD},###"), {"a.png": [BOX], "b.png": []}, []),
    "ICDAR: texts with the images": (
        {f"train/img_{i}.png": picture(i) for i in range(2)}
        | {f"train/gt_img_{i}.txt": f"{QUAD},A\n".encode() for i in range(2)}
        | {"test/img_2.png": picture(2), "test/gt_img_2.txt": f"{QUAD},B\n".encode()},
        {"img_0.png": [BOX], "img_1.png": [BOX]},
        [],
    ),
    "ICDAR: three points": (
        icdar(a=f"{QUAD},A", b="1,1,5,1,5,4,Café\n"),
        {"a.png": [BOX], "b.png": []},
        ["bad_annotation"],
    ),
    "ICDAR: corners without a text": (
        icdar(a=f"{QUAD},A", b=QUAD),
        {"a.png": [BOX], "b.png": []},
        ["bad_annotation"],
    ),
    "ICDAR: an image that is missing, and one without a text": (
        icdar(a=f"{QUAD},A", b=f"{QUAD},B", c=f"{QUAD},C") | {"ch4_training_images/d.png": picture(4)},
        {"a.png": [BOX], "b.png": [BOX]},
        ["missing", "no_label"],
    ),
    "ICDAR: beyond the image": (
        icdar(a=f"{QUAD},A", b="9,9,20,9,20,14,9,14,B"),
        {"a.png": [BOX], "b.png": []},
        ["bad_box"],
    ),
    "MOT": (
        mot("2,1,1,1,4,3,1,1,1", "1,1,1,1,4,3,1,7,0.5", "1,2,0,0,4,4,0,1,1"),
        {"000001.png": [BOX], "000002.png": [BOX]},
        [],
    ),
    "MOT: a frame that is missing, and a row that is none": (
        mot("1,1,1,1,4,3,1,1,1", "2,1,1,1,4,3,1,1,1", "3,1,1,1,4,3,1,1,1", "x,1,1,1,4,3,1,1,1"),
        {"000001.png": [BOX], "000002.png": [BOX]},
        ["bad_annotation", "missing"],
    ),
    "WIDER Person": (
        {"Images/a.png": picture(0), "Annotations/a.png.txt": b"2\n2 1 1 5 4\n4 0 0 2 2\n"},
        {"a.png": [BOX]},
        [],
    ),
}
REFUSED = {
    "WIDER Person: another number of lines": {
        "Images/a.png": picture(0),
        "Annotations/a.png.txt": b"3\n2 1 1 5 4\n4 0 0 2 2\n",
    },
    "WIDER Person: sizes for corners": {"Images/a.png": picture(0), "Annotations/a.png.txt": b"1\n2 5 4 1 1\n"},
    "numbers only": icdar(a=f"{QUAD},1", b=f"{QUAD},1"),
    "MOT: two numbers more": mot("1,1,1,1,4,3,1,1,1,5,6"),
}


@pytest.mark.parametrize("what", READ)
def test_texts_are_read_and_what_is_bad_is_rejected(what, tmp_path):
    files, boxes, reasons = READ[what]
    root = write_tree(tmp_path / "s", files)
    result = call("convert", str(root), str(tmp_path / "o"), "--max-rejected", "100%")
    assert result.exit_code == 0, result.stderr
    rejected = pq.read_table(tmp_path / "o" / "rejected.parquet").to_pylist() if reasons else []
    assert sorted(one["reason"] for one in rejected) == reasons, rejected
    examples = shardkit.open(str(tmp_path / "o"), "train")
    assert {one.key.rpartition("/")[2]: one["objects/bbox"].tolist() for one in examples} == boxes


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_nearly_such_a_text_is_no_class_and_no_box(what, tmp_path):
    result = call("convert", str(write_tree(tmp_path / "s", REFUSED[what])), str(tmp_path / "o"))
    assert result.exit_code != 0, result.stdout
