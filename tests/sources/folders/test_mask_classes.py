import numpy as np
import pytest

from shardkit import read_manifest
from shardkit.errors import DataError
from shardkit.sources.formats.class_names import Palette, read_palette
from shardkit.sources.recognising.folders.masks.class_names import find_palette
from shardkit.sources.recognising.folders.masks.pairs import Part
from shardkit.storage import open_folder
from shardkit.testing import convert_without_beam, picture, write_tree

PARTS = [Part("images", "masks")]

# file: lines, names and colours
FILES = {
    "label_colors.txt": (["64 128 64\tAnimal", "0 0 0\t\tBig Void"], ("Animal", "Big Void"), "408040000000"),
    "class_dict.csv": (["name,r,g,b", "urban land, 0, 255, 255"], ("urban land",), "00ffff"),
    "class_dict_seg.csv": (["name, r, g, b", "tree,51,51,0"], ("tree",), "333300"),
    "labelmap.txt": (
        ["# label:color_rgb:parts:actions", "background:0,0,0::", "cat:128,0,0::"],
        ("background", "cat"),
        "000000800000",
    ),
    "classes.json": (
        ['{"classes": [{"title": "Water", "color": "#E2A929"}, {"title": "Road", "color": "#6ec1e4"}]}'],
        ("Water", "Road"),
        "e2a9296ec1e4",
    ),
    "objectInfo150.txt": (
        ["Idx\tRatio\tTrain\tVal\tStuff\tName", "1\t0.1\t1\t1\t1\twall", "2\t0.1\t1\t1\t1\tbuilding, edifice"],
        ("other", "wall", "building, edifice"),
        "",
    ),
}


def found(tmp_path, name, lines):
    write_tree(tmp_path, {name: "".join(f"{line}\n" for line in lines).encode()})
    folder = open_folder(str(tmp_path))
    assert find_palette(folder, PARTS) == (name, "")
    return read_palette(folder, name)


@pytest.mark.parametrize("name", FILES)
def test_classes_and_colours_of_masks(name, tmp_path):
    lines, names, colours = FILES[name]
    assert found(tmp_path, name, lines) == Palette(names, colours)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["64 128 64 Animal", "hello"], r"label_colors.txt, line 2: 'hello' is not a colour and a class"),
        (["64 128 640 Animal"], "line 1: .* is not a colour and a class"),
        (["64 128 64 Animal", "64 128 64 Wall"], "line 2: the colour is there twice"),
        (["64 128 64 Animal", "0 0 64 Animal"], "line 2: the name is there twice"),
        ([f"{i} {j} 0 c{i}.{j}" for i in range(2) for j in range(129)], "more than 256 colours"),
    ],
)
def test_a_file_of_colours_that_cannot_be_read_is_named(lines, says, tmp_path):
    with pytest.raises(DataError, match=says):
        found(tmp_path, "label_colors.txt", lines)


def test_names_of_mapillary_vistas(tmp_path):
    def named(labels):
        write_tree(tmp_path, {"config_v1.2.json": f'{{"labels": {labels}}}'.encode()})
        return read_palette(open_folder(str(tmp_path)), "config_v1.2.json").names

    assert named('[{"readable": "Bird", "name": "animal--bird"}]') == ("Bird",)
    # Two classes of one readable name are told apart by the other one.
    assert named('[{"readable": "Sign", "name": "a"}, {"readable": "Sign", "name": "b"}]') == ("a", "b")
    with pytest.raises(DataError, match="`labels` is no list of classes, 256 at most"):
        named('[{"readable": "Bird"}, 7]')


def test_masks_in_colours_are_converted_and_those_with_other_colours_rejected(tmp_path):
    tensorflow = pytest.importorskip("tensorflow")
    from PIL import Image

    from shardkit import reader

    root = write_tree(
        tmp_path / "source",
        {
            "label_colors.txt": b"64 128 64\tAnimal\n0 0 0\tVoid\n",
            **{f"train/{i}.png": picture(i) for i in range(3)},
        },
    )
    pixels = np.zeros((8, 8, 3), np.uint8)
    pixels[2, 3] = 64, 128, 64
    (root / "train_labels").mkdir()
    for i in range(3):
        if i == 2:
            pixels[0, 0] = 1, 1, 1
        Image.fromarray(pixels).save(root / f"train_labels/{i}_L.png")
    convert_without_beam(str(root), str(tmp_path / "out"))
    manifest = read_manifest(str(tmp_path / "out"))
    assert list(manifest.classes) == ["Animal", "Void"]
    assert manifest.splits["train"].num_examples == 2
    batch = next(iter(reader.make_dataset(str(tmp_path / "out"), "train", global_batch_size=2, training=False)))
    for mask in batch["segmentation_mask"].numpy():
        stored = tensorflow.io.decode_png(mask).numpy()[..., 0]
        assert stored[2, 3] == 0
        assert stored.sum() == 63
