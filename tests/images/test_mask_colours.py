import io

import numpy as np
import pytest
from PIL import Image

from shardkit import images
from shardkit.options.groups import Stored
from shardkit.testing import encoded

COLOURS = "404080c00080000000"  # three classes


def mask(pixels, mode=None, palette=None):
    image = Image.fromarray(np.array(pixels, np.uint8), mode)
    if palette:
        image.putpalette(palette)
    return encoded(image, "PNG")


def numbers(data, colours=COLOURS):
    images.check_mask(data, colours)
    stored = images.normalise_mask(data, orientation=1, form=Stored(), colours=colours)
    return np.asarray(Image.open(io.BytesIO(stored.data))).tolist()


RGB = [[(0x40, 0x40, 0x80), (0, 0, 0)], [(0xC0, 0, 0x80), (0x40, 0x40, 0x80)]]
# name: a mask and the class numbers that it has
READ = {
    "RGB": (mask(RGB), [[0, 2], [1, 0]]),
    "RGB with an opaque alpha channel": (mask([[(*pixel, 255) for pixel in row] for row in RGB]), [[0, 2], [1, 0]]),
    "a palette, by colours and not by its numbers": (
        mask([[5, 0], [7, 5]], "P", [0] * 15 + [0x40, 0x40, 0x80, 0, 0, 0, 0xC0, 0, 0x80]),
        [[0, 2], [1, 0]],
    ),
    "gray is class numbers, if classes have colours": (mask([[0, 2], [1, 0]]), [[0, 2], [1, 0]]),
}


@pytest.mark.parametrize("name", READ)
def test_colours_become_the_numbers_of_their_classes(name):
    data, expected = READ[name]
    assert numbers(data) == expected


def test_gray_masks_have_colours_if_all_classes_are_gray():
    assert numbers(mask([[0, 255], [255, 0]]), "ffffff000000") == [[1, 0], [0, 1]]


def test_a_large_mask_is_converted_in_pieces():
    pixels = np.zeros((2, 700_000, 3), np.uint8)
    pixels[1, -1] = (0xC0, 0, 0x80)
    found = numbers(mask(pixels))
    assert (found[0][0], found[1][0], found[1][-1]) == (2, 2, 1)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (mask([[(0, 0, 0), (1, 2, 3)]]), r"has the colour 1 2 3 at \(1, 0\), which belongs to no class"),
        (mask([[(0, 0, 0, 255), (0, 0, 0, 9)]]), "is translucent"),
        (mask([[3, 4]], "P", [9] * 15), r"has the colour 9 9 9 at \(0, 0\)"),
    ],
)
def test_a_colour_of_no_class_is_bad(data, says):
    with pytest.raises(images.BadImage, match=says) as raised:
        images.check_mask(data, COLOURS)
    assert raised.value.reason == "bad_mask"


def test_without_a_file_of_colours_the_message_says_where_to_put_one():
    with pytest.raises(images.BadImage, match=r"is coloured.*SOURCE/label_colors.txt"):
        images.check_mask(mask(RGB))
