import itertools
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from shardkit.errors import CallError, DataError
from shardkit.sources.recognising.folders.masks import is_masks
from shardkit.storage import open_folder
from shardkit.testing import encoded, listed, opened, picture, read_source, write_tree

# name: the paths of a source, and (key, split, mask or reason) of what is listed
TREES = {
    "images and masks": (
        ["images/1.jpg", "images/a/2.jpg", "masks/1.png", "masks/a/2.tif"],
        [("images/1.jpg", None, "masks/1.png"), ("images/a/2.jpg", None, "masks/a/2.tif")],
    ),
    "splits above": (
        ["train/images/1.jpg", "train/masks/1.png", "val/images/2.jpg", "val/masks/2.png"],
        [
            ("train/images/1.jpg", "train", "train/masks/1.png"),
            ("val/images/2.jpg", "validation", "val/masks/2.png"),
        ],
    ),
    "splits below": (
        ["images/train/1.jpg", "images/val/1.jpg", "masks/train/1.png", "masks/val/1.png"],
        [
            ("images/train/1.jpg", "train", "masks/train/1.png"),
            ("images/val/1.jpg", "validation", "masks/val/1.png"),
        ],
    ),
    "splits below, called otherwise": (
        ["images/val/1.jpg", "masks/validation/1.png"],
        [("images/val/1.jpg", "validation", "masks/validation/1.png")],
    ),
    "images beside the splits below": (
        ["images/train/1.jpg", "images/2.jpg", "masks/train/1.png", "masks/2.png"],
        [("images/2.jpg", None, "bad_split"), ("images/train/1.jpg", "train", "masks/train/1.png")],
    ),
    "a split's name among other folders is no split": (
        ["images/train/1.jpg", "images/bus/1.jpg", "masks/train/1.png", "masks/bus/1.png"],
        [("images/bus/1.jpg", None, "masks/bus/1.png"), ("images/train/1.jpg", None, "masks/train/1.png")],
    ),
    "a split without masks": (
        ["train/images/1.jpg", "train/masks/1.png", "val/images/2.jpg"],
        [("train/images/1.jpg", "train", "train/masks/1.png"), ("val/images/2.jpg", "validation", "no_label")],
    ),
    "test images, whose masks a benchmark keeps": (
        ["train/images/1.jpg", "train/masks/1.png", "test/images/2.jpg"],
        [("train/images/1.jpg", "train", "train/masks/1.png")],
    ),
    "test images in a folder below, whose masks a benchmark keeps": (
        ["images/train/1.jpg", "images/test/2.jpg", "masks/train/1.png"],
        [("images/train/1.jpg", "train", "masks/train/1.png")],
    ),
    "validation images in a folder below without masks": (
        ["images/train/1.jpg", "images/val/2.jpg", "masks/train/1.png"],
        [("images/train/1.jpg", "train", "masks/train/1.png"), ("images/val/2.jpg", "validation", "no_label")],
    ),
    "other names in any case": (["Imgs/1.jpg", "GT/1.bmp"], [("Imgs/1.jpg", None, "GT/1.bmp")]),
    "Pascal VOC's folders": (
        ["JPEGImages/1.jpg", "JPEGImages/2.jpg", "SegmentationClass/1.png", "Annotations/1.xml"],
        [("JPEGImages/1.jpg", None, "SegmentationClass/1.png"), ("JPEGImages/2.jpg", None, "no_label")],
    ),
    "of two folders of masks the first by custom": (
        ["images/1.jpg", "gt/1.png", "masks/1.png"],
        [("images/1.jpg", None, "masks/1.png")],
    ),
    "a folder of boxes beside one of masks": (
        ["images/1.jpg", "labels/1.txt", "gt/1.png"],
        [("images/1.jpg", None, "gt/1.png")],
    ),
    "a usual suffix": (
        ["images/1.jpg", "masks/1_mask.png", "images/2_mask.jpg", "masks/2_mask_mask.png"],
        [("images/1.jpg", None, "masks/1_mask.png"), ("images/2_mask.jpg", None, "masks/2_mask_mask.png")],
    ),
    "ends of all names of a folder": (
        [*(f"images/{name}_image.png" for name in "abcd"), *(f"masks/{name}_plants.png" for name in "abc")],
        [
            *((f"images/{name}_image.png", None, f"masks/{name}_plants.png") for name in "abc"),
            ("images/d_image.png", None, "no_label"),
        ],
    ),
    "the exact name before one with a suffix": (
        ["images/1.jpg", "masks/1.png", "masks/1_mask.png"],
        [("images/1.jpg", None, "masks/1.png"), ("masks/1_mask.png", None, "missing")],
    ),
    "a suffix that is all of the name": (
        ["images/1.jpg", "masks/1.png", "masks/_mask.png"],
        [("images/1.jpg", None, "masks/1.png"), ("masks/_mask.png", None, "missing")],
    ),
    "two masks of one image": (
        ["images/1.jpg", "masks/1.png", "masks/1.tif"],
        [("images/1.jpg", None, "bad_mask")],
    ),
    "no partner": (
        ["images/1.jpg", "images/2.jpg", "masks/2.png", "masks/3.png"],
        [
            ("images/1.jpg", None, "no_label"),
            ("images/2.jpg", None, "masks/2.png"),
            ("masks/3.png", None, "missing"),
        ],
    ),
    "a partner in another split only": (
        ["images/train/1.jpg", "masks/val/1.png", "images/val/2.jpg", "masks/val/2.png"],
        [
            ("images/train/1.jpg", "train", "no_label"),
            ("images/val/2.jpg", "validation", "masks/val/2.png"),
            ("masks/val/1.png", "validation", "missing"),
        ],
    ),
    "two images of one mask": (  # such as a picture and its smaller copy; duplicates are found by content
        ["images/1.jpg", "images/1.webp", "masks/1.png"],
        [("images/1.jpg", None, "masks/1.png"), ("images/1.webp", None, "masks/1.png")],
    ),
    "splits with a year (COCO-stuff)": (
        ["images/train2017/1.jpg", "images/val2017/2.jpg", "masks/train2017/1.png", "masks/val2017/2.png"],
        [
            ("images/train2017/1.jpg", "train", "masks/train2017/1.png"),
            ("images/val2017/2.jpg", "validation", "masks/val2017/2.png"),
        ],
    ),
    "several dots": (["images/a.b.jpg", "masks/a.b.png"], [("images/a.b.jpg", None, "masks/a.b.png")]),
    "hidden and junk": (
        ["images/1.jpg", "images/._1.jpg", "masks/1.png", "masks/.1.png", "__MACOSX/images/1.jpg"],
        [("images/1.jpg", None, "masks/1.png")],
    ),
    "odd names": (
        ["images/\u732b \U0001f600\n/\u00fc.jpg", "masks/\u732b \U0001f600\n/\u00fc.png"],
        [("images/\u732b \U0001f600\n/\u00fc.jpg", None, "masks/\u732b \U0001f600\n/\u00fc.png")],
    ),
    "a dataset converted earlier": (
        ["images/1.jpg", "masks/1.png", "images/OUT/manifest.json", "images/OUT/run-log.jsonl", "images/OUT/1.jpg"],
        [("images/1.jpg", None, "masks/1.png")],
    ),
}


@pytest.mark.parametrize("name", TREES)
def test_pairs_of_a_tree(tmp_path, name):
    paths, expected = TREES[name]
    root = write_tree(tmp_path / "source", paths)
    assert is_masks(open_folder(str(root)))
    assert read_source(root, layout="masks").labels == expected
    assert listed(opened(root, layout="masks"), batch_rows=1).labels == expected


@pytest.mark.parametrize(
    "paths",
    [
        ["cat/1.jpg", "dog/1.png"],
        ["images/1.jpg"],
        ["masks/1.png"],
        ["images/1.jpg", "labels/1.txt"],  # YOLO
        ["JPEGImages/1.jpg", "Annotations/1.xml"],  # Pascal VOC
        ["images/1.jpg", "masks/1.jpg"],  # class folders of these names: no mask is a JPEG
        ["images/1.jpg", "masks/"],
        [],
    ],
)
def test_other_layouts_are_not_taken_for_masks(tmp_path, paths):
    root = write_tree(tmp_path / "source", paths)
    root.mkdir(exist_ok=True)
    assert not is_masks(open_folder(str(root)))
    with pytest.raises(DataError, match="no folder of masks"):
        opened(root, layout="masks")


def test_what_is_listed_of_a_file(tmp_path):
    root = write_tree(
        tmp_path / "source", ["images/1.jpg", "images/notes.txt", "masks/1.png", "masks/2.png", "masks/x.TXT"]
    )
    found = read_source(root)
    assert found.skipped == {".txt": 2}
    image, mask = found.rows
    assert (image["source_bytes"], image["mtime_ns"]) == (7, (root / "images/1.jpg").stat().st_mtime_ns)
    assert mask["message"] == "there is no image for this mask; restore the image, or remove the mask"


def test_names_that_are_not_utf_8_are_reported(tmp_path):
    root = write_tree(tmp_path / "source", ["images/1.jpg", "masks/1.png", "images/\udcff.jpg", "masks/\udcff.png"])
    assert read_source(root).labels == [
        ("images/1.jpg", None, "masks/1.png"),
        ("images/\\xff.jpg", None, "bad_name"),
        ("masks/\\xff.png", None, "bad_name"),
    ]


def test_the_output_folder_is_left_out(tmp_path):
    root = write_tree(
        tmp_path / "source",
        ["images/1.jpg", "masks/1.png", "images/OUT/2.jpg", "images/OUT2/3.jpg", "masks/OUT2/3.png"],
    )
    assert read_source(root, output=root / "images/OUT").labels == [
        ("images/1.jpg", None, "masks/1.png"),
        ("images/OUT2/3.jpg", None, "masks/OUT2/3.png"),
    ]


def test_links_that_lead_back_up_are_not_followed(tmp_path):
    root = write_tree(tmp_path / "source", ["images/1.jpg", "masks/1.png"])
    (root / "images/loop").symlink_to(root)
    assert read_source(root).labels == [("images/1.jpg", None, "masks/1.png")]


def test_the_user_is_told_how_it_was_read(tmp_path):
    root = write_tree(tmp_path / "source", ["train/images/1.jpg", "train/masks/1.png", "val/images/1.jpg"])
    source = opened(root)
    assert source.layout == "images and masks"
    assert source.describe() == (
        f"{root}: read as images and masks: split from path:0; mask from train/masks/{{dir}}/{{stem}}"
    )
    below = write_tree(tmp_path / "below", ["images/val/1.jpg", "masks/val/1.png"])
    assert opened(below).describe().endswith("split from path:1; mask from masks/{dir}/{stem}")


def test_images_outside_the_pairs_of_folders_are_counted(tmp_path):
    paths = ["train/images/1.jpg", "train/masks/1.png", "test/2.jpg", "test/3.jpg", "extra/a/4.jpg", "out/5.jpg"]
    root = write_tree(tmp_path / "source", [*paths, "readme.txt"])
    found = read_source(root, output=root / "out")
    assert found.labels == [("train/images/1.jpg", "train", "train/masks/1.png")]
    assert found.skipped == {".txt": 1, "images that the reading does not include": 3}


def test_lists_of_voc_tell_the_splits_of_images_and_masks(tmp_path):
    files = {f"JPEGImages/p{i}.jpg": b"x" for i in "12345"} | {f"SegmentationClass/p{i}.png": b"x" for i in "125"}
    lists = {"train.txt": b"p1\np3\np5\n", "val.txt": b"p2\np6\n"}
    files |= {f"ImageSets/Segmentation/{name}": text for name, text in lists.items()}
    found = read_source(write_tree(tmp_path / "source", files))
    assert found.labels == [
        ("ImageSets/Segmentation/val.txt, line 2", "validation", "missing"),
        ("JPEGImages/p1.jpg", "train", "SegmentationClass/p1.png"),
        ("JPEGImages/p2.jpg", "validation", "SegmentationClass/p2.png"),
        ("JPEGImages/p3.jpg", "train", "no_label"),
        ("JPEGImages/p5.jpg", "train", "SegmentationClass/p5.png"),
    ]
    assert found.skipped == {"images that no list of splits names": 1}
    (tmp_path / "source/ImageSets/Segmentation/val.txt").write_bytes(b"p2\np5\n")
    with pytest.raises(DataError, match=r"val.txt, line 2: 'p5' is in ImageSets/Segmentation/train.txt, too"):
        read_source(tmp_path / "source")


@pytest.mark.parametrize(
    "line", ["p{}", "p{}.jpg", "images/p{}.jpg", "./images/p{}.jpg", "images/p{0}.jpg masks/p{0}.png"]
)
def test_lists_next_to_the_images_tell_the_splits(line, tmp_path):
    files = {f"images/p{i}.jpg": b"x" for i in "12345"} | {f"masks/p{i}.png": b"x" for i in "12345"}
    lists = {"train": (1, 2), "test": (3,), "val": (4, 9)}
    files |= {f"{name}.txt": "".join(f"{line.format(i)}\n" for i in found).encode() for name, found in lists.items()}
    found = read_source(write_tree(tmp_path / "source", files))
    assert found.labels == [
        ("images/p1.jpg", "train", "masks/p1.png"),
        ("images/p2.jpg", "train", "masks/p2.png"),
        ("images/p3.jpg", "test", "masks/p3.png"),
        ("images/p4.jpg", "validation", "masks/p4.png"),
        ("val.txt, line 2", "validation", "missing"),
    ]
    assert found.skipped == {"images that no list of splits names": 1}


def test_lists_of_other_files_next_to_the_images_are_not_read(tmp_path):
    files = {"images/1.jpg": b"x", "masks/1.png": b"x", "train.txt": b"loss 0.5\n"}
    assert read_source(write_tree(tmp_path / "source", files)).labels == [("images/1.jpg", None, "masks/1.png")]


def drawn(kind="binary", seed=0):
    """A drawing of few values: of two classes, of several, or a photograph."""
    pixels = np.zeros((20, 24), np.uint8)
    if kind == "photograph":
        return encoded(Image.fromarray(np.random.default_rng(seed).integers(0, 256, (20, 24, 3), np.uint8)))
    pixels[5:12, 6 : 10 + seed % 9] = 255 if kind == "binary" else 1
    pixels[12:, 6:] = 0 if kind == "binary" else 2
    return encoded(Image.fromarray(pixels))


def pairs(*names, kind="binary"):
    """Pairs of a photograph and its drawing, by their paths."""
    files = {}
    for number, (image, mask) in enumerate(names):
        files |= {image: drawn("photograph", number), mask: drawn(kind, number)}
    return files


# Images with masks, and the number of pairs; `proving` asks whether folders are classes.
DIVIDED = {
    "numbered": (pairs(*((f"kos0{i}/{j}.png", f"kos0{i}/{j}_label.png") for i in (1, 2) for j in range(3))), 6),
    "codes": (pairs(*((f"TCGA_{i}17/{j}.png", f"TCGA_{i}17/{j}_mask.png") for i in (4, 5) for j in range(3))), 6),
    "several classes in a mask": (
        pairs(
            *((f"{c}/images/{j}.png", f"{c}/labels/{j}.png") for c in ("rome", "oslo") for j in range(3)), kind="more"
        ),
        6,
    ),
    "names, and masks of two classes": (
        pairs(*((f"{c}/images/{j}.png", f"{c}/masks/{j}.png") for c in ("covid", "normal") for j in range(3))),
        6,
    ),
    "numbered classes": (
        pairs(*((f"class{i}/images/{j}.png", f"class{i}/masks/{j}.png") for i in (1, 2) for j in range(3))),
        6,
    ),
    "classes below both folders": (
        pairs(*((f"image/{c}/{j}.png", f"mask/{c}/{j}.png") for c in ("glass", "stone") for j in range(3))),
        6,
    ),
    "videos below both folders": (
        pairs(*((f"image/video{i}/{j}.png", f"mask/video{i}/{j}.png") for i in (1, 2) for j in range(3))),
        6,
    ),
    "other words before the numbers": (pairs(*((f"photos/img_{j}.png", f"masks/seg_{j}.png") for j in range(5))), 5),
    "masks of unknown names": (
        pairs(*((f"{c}/aerial/{c}{j}.png", f"{c}/atlas/{c}{j}.png") for c in ("rome", "oslo") for j in range(3))),
        6,
    ),
    "before and after": (
        pairs(*((f"A/{j}.png", f"label/{j}.png") for j in range(5)))
        | {f"B/{j}.png": drawn("photograph", 9) for j in range(5)},
        5,
    ),
    "splits, and all of them again": (
        pairs(
            *((f"{part}images/{j}.png", f"{part}masks/{j}.png") for part in ("train/", "test/", "") for j in range(3))
        ),
        6,
    ),
    "masks for people": (
        pairs(*((f"img/{j}.png", f"masks_machine/{j}.png") for j in range(5)), kind="more")
        | {f"masks_human/{j}.png": encoded(Image.new("RGB", (24, 20), (9 * j, 80, 10))) for j in range(5)},
        5,
    ),
    "tables of pairs": (
        pairs(*((f"Image/{j}.png", f"Mask/{j}.png") for j in range(5)))
        | {"metadata.csv": "Image,Mask\n" + "".join(f"{j}.png,{j}.png\n" for j in range(5))},
        5,
    ),
}


@pytest.mark.parametrize("name", DIVIDED)
def test_pairs_of_drawings_and_photographs(name, tmp_path):
    files, num = DIVIDED[name]
    found = read_source(write_tree(tmp_path / "source", files))
    assert found.source.layout == "images and masks"
    assert len([mask for _, _, mask in found.labels if mask.endswith(".png")]) == num


def test_masks_of_instances_are_refused_with_a_program_that_merges_those_of_an_image(tmp_path, monkeypatch):
    files = {f"id{n}/images/id{n}.png": picture(n) for n in range(2)}
    for n, i in itertools.product(range(2), range(3)):
        mask = Image.new("L", (8, 8))
        mask.putpixel((i, n), 255)
        files[f"id{n}/masks/m{n}{i}.png"] = encoded(mask)
    source = write_tree(tmp_path / "source", files)
    with pytest.raises(CallError, match=r"has one image and a mask for each object in masks/") as raised:
        opened(source)
    program = str(raised.value).split("<<'END'\n")[1].removesuffix("END")
    monkeypatch.chdir(source)
    subprocess.run([sys.executable, "-c", program], check=True)
    assert [key for key, _, _ in read_source(source / "merged").labels] == ["images/id0.png", "images/id1.png"]
    assert np.asarray(Image.open(source / "merged/masks/id1.png")).sum() == 3
