import pytest

from shardkit.bench.settings import BenchSettings
from shardkit.errors import CallError


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("batch_size", 0, "batch_size must be at least 1; found 0"),
        ("seconds", 0.5, "seconds must be at least 1; found 0.5"),
        ("sample", 0, "sample must be at least 1; found 0"),
        ("target", 0.0, "target is a number of images a second above 0; found 0.0"),
        ("resize", 0, "resize must be at least 1 pixel; found 0"),
    ],
)
def test_values_that_cannot_be_measured_are_refused(field, value, sentence):
    with pytest.raises(CallError, match=sentence):
        BenchSettings("OUT", **{field: value})


@pytest.mark.parametrize(
    ("size", "resize", "side"), [((224, 224), None, 256), ((64, 96), None, 110), ((224, 224), 300, 300)]
)
def test_the_shorter_side_that_is_tried_leaves_a_margin_for_crops(size, resize, side):
    assert BenchSettings("OUT", image_size=size, resize=resize).shorter_side == side
