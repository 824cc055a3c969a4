"""What the reader feeds can be learnt from: labels belong to their images, crops keep what is on them."""

import pytest

from .training_fixtures import facts_of_all, shapes  # noqa: F401 - a fixture


@pytest.fixture(scope="module")
def accuracies(shapes, found_once):  # noqa: F811 - a fixture
    ways = ("fit", "loop")
    found = found_once(
        "learning", lambda folder: facts_of_all("learn_shapes.py", [(shapes, folder / way, way) for way in ways])
    )
    return {way: facts["accuracy"] for way, facts in zip(ways, found, strict=True)}


@pytest.mark.slow  # README's snippets learn them, too: by fit to over 80 percent, and a loop that takes some steps
@pytest.mark.parametrize("way", ["fit", "loop"])
def test_the_sample_shapes_are_learnt_to_over_90_percent_on_two_devices(accuracies, way):
    assert accuracies[way] > 0.9
