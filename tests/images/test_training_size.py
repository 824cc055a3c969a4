import pytest

from shardkit.errors import CallError
from shardkit.images.training_size import parse_training_size, shorter_side_for


@pytest.mark.parametrize(("text", "size"), [("224", (224, 224)), ("240x320", (240, 320)), (" 240×320 ", (240, 320))])
def test_a_training_size_is_one_number_or_height_and_width(text, size):
    assert parse_training_size(text, "--image-size") == size


@pytest.mark.parametrize("text", ["", "big", "224x", "224,224", "-1", "1x2x3"])
def test_another_training_size_is_refused(text):
    with pytest.raises(CallError, match=r"--image-size is a number of pixels such as 224, or HEIGHTxWIDTH"):
        parse_training_size(text, "--image-size")


@pytest.mark.parametrize("text", ["0", "224x0", "16385", "224x16385"])
def test_a_side_out_of_range_is_refused(text):
    with pytest.raises(CallError, match="--image-size must have sides from 1 to 16384 pixels; found"):
        parse_training_size(text, "--image-size")


@pytest.mark.parametrize(("size", "side"), [((224, 224), 256), ((64, 96), 110), ((1, 1), 2), ((7, 7), 8)])
def test_the_shorter_side_leaves_a_margin_for_crops(size, side):
    assert shorter_side_for(*size) == side
