"""Where images go: sizes, windows and borders; boxes and masks go with them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.images.stored.placement import place
from shardkit.options.groups import Stored
from shardkit.options.parsing import parse_image_size


@pytest.mark.parametrize(
    ("form", "size", "stored", "changes"),
    [
        ({}, (400, 300), (400, 300), ()),
        ({"resize": 150}, (400, 300), (200, 150), ("resized",)),
        ({"resize": 300}, (400, 300), (400, 300), ()),
        ({"resize": 500}, (400, 300), (400, 300), ()),  # never enlarged
        ({"resize": 2}, (3, 4), (2, 3), ("resized",)),  # 2.67, rounded
        ({"resize": 1}, (2, 5), (1, 3), ("resized",)),  # 2.5: halves up
        ({"max_side": 200}, (400, 300), (200, 150), ("resized",)),
        ({"max_side": 200}, (300, 400), (150, 200), ("resized",)),
        ({"max_side": 400}, (400, 300), (400, 300), ()),
        ({"max_side": 10}, (4000, 1), (10, 1), ("resized",)),  # at least one pixel
        ({"resize": 150, "max_side": 300}, (400, 300), (200, 150), ("resized",)),  # the smaller one counts
        ({"resize": 150, "max_side": 300}, (900, 300), (300, 100), ("resized",)),
        ({"resize": 500, "max_side": 300}, (400, 300), (300, 225), ("resized",)),
        ({"size": (300, 400)}, (400, 300), (400, 300), ()),
        ({"size": (150, 200)}, (400, 300), (200, 150), ("resized",)),
        ({"size": (100, 100)}, (400, 300), (100, 100), ("cropped", "resized")),
        ({"size": (300, 200)}, (400, 300), (200, 300), ("cropped",)),
        ({"size": (600, 600)}, (400, 300), (600, 600), ("cropped", "enlarged")),
        ({"size": (100, 100), "fit": "pad"}, (400, 300), (100, 100), ("padded", "resized")),
        ({"size": (400, 400), "fit": "pad"}, (400, 300), (400, 400), ("padded",)),
        ({"size": (600, 900), "fit": "pad"}, (400, 300), (900, 600), ("enlarged", "padded")),
        ({"size": (10, 10), "fit": "pad"}, (4000, 1), (10, 10), ("padded", "resized")),
        ({"size": (10, 10)}, (4000, 1), (10, 10), ("cropped", "enlarged")),
    ],
)
def test_the_stored_size_and_what_happens(form, size, stored, changes):
    placement = place(*size, Stored(**form))
    assert (placement.stored, placement.changes) == (stored, changes)


SIDES = st.integers(1, 2000)


@given(SIDES, SIDES, st.integers(1, 300), st.integers(1, 300), st.sampled_from(["crop", "pad"]))
def test_the_exact_size_is_reached_and_the_shape_of_things_stays(width, height, down, across, fit):
    placement = place(width, height, Stored(size=(down, across), fit=fit))
    assert placement.stored == (across, down)
    for span in (placement.across, placement.down):
        assert 0 <= span.start <= span.start + span.length <= span.whole
        assert 0 <= span.before <= span.before + span.scaled <= span.stored
        found = span.nearest()
        assert len(found) == span.scaled
        assert 0 <= found.min() <= found.max() < span.whole
        assert np.all(np.diff(found) >= 0)
    # In one direction all of the image is there and nothing is added: otherwise it could be larger, or smaller.
    full = [span.length == span.whole and span.scaled == span.stored for span in (placement.across, placement.down)]
    assert any(full)
    if fit == "crop":
        scales = [Fraction(span.scaled) / span.length for span in (placement.across, placement.down)]
        assert scales[0] == scales[1]
        assert not placement.is_padded
    else:
        assert not placement.is_cropped


@given(
    st.integers(2, 300), st.integers(2, 300), st.integers(2, 99), st.integers(2, 99), st.sampled_from(["crop", "pad"])
)
def test_a_box_lies_where_its_pixels_do(width, height, down, across, fit):
    """The mask of a box, moved by nearest neighbour, is that of the moved box to within a pixel."""
    placement = place(width, height, Stored(size=(down, across), fit=fit))
    box = (0.25, 0.3, 0.8, 0.9)
    rows, columns = placement.down.nearest(), placement.across.nearest()
    moved = placement.box(box)
    inside_rows = np.flatnonzero((rows + 0.5) / height > box[0]) + placement.down.before
    inside_columns = np.flatnonzero((columns + 0.5) / width > box[1]) + placement.across.before
    assert moved is not None
    pixel = max(1.0, down / height, across / width) + 1
    if len(inside_rows):
        assert abs(inside_rows[0] - moved[0] * down) <= pixel
    if len(inside_columns):
        assert abs(inside_columns[0] - moved[1] * across) <= pixel


@pytest.mark.parametrize(
    ("form", "box", "moved"),
    [
        ({"resize": 10}, (0.1, 0.2, 0.3, 0.4), (0.1, 0.2, 0.3, 0.4)),
        ({"size": (100, 100)}, (0.0, 0.25, 1.0, 0.75), (0.0, 0.0, 1.0, 1.0)),  # the window of 200 x 100
        ({"size": (100, 100)}, (0.5, 0.0, 1.0, 0.5), (0.5, 0.0, 1.0, 0.5)),  # clipped
        ({"size": (100, 100)}, (0.5, 0.0, 1.0, 0.2), None),  # cut off
        ({"size": (100, 100)}, (0.5, 0.0, 1.0, 0.25), None),  # touches the edge
        ({"size": (200, 200), "fit": "pad"}, (0.0, 0.0, 1.0, 1.0), (0.25, 0.0, 0.75, 1.0)),
        ({"size": (200, 200), "fit": "pad"}, (0.5, 0.5, 1.0, 1.0), (0.5, 0.5, 0.75, 1.0)),
    ],
)
def test_boxes_are_moved_clipped_or_dropped(form, box, moved):
    assert place(200, 100, Stored(**form)).box(box) == (None if moved is None else pytest.approx(moved))


@pytest.mark.parametrize(("text", "size"), [("256x320", (256, 320)), (" 1X2 ", (1, 2)), ("8×9", (8, 9))])
def test_a_size_is_read(text, size):
    assert parse_image_size(text) == size
