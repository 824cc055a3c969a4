"""`features=` gives only these, and does not parse what the index holds."""

import numpy as np
import pytest

from shardkit.errors import CallError, UnknownNameError
from shardkit.reader import Images, Skip, make_dataset_fn
from shardkit.reader.parsing import Parser

INDEXED = ("image", "label", "width")


def made(dataset, **options):
    return make_dataset_fn(dataset, "train", global_batch_size=16, **options)


@pytest.mark.parametrize(
    "options",
    [{"training": False}, {"order": "block", "on_corrupt": Skip(3), "sample_weight": "balanced"}],
    ids=str,
)
@pytest.mark.parametrize("features", [INDEXED, pytest.param(("key", "image"), marks=pytest.mark.slow)], ids=str)
def test_elements_have_the_chosen_features_as_they_are_otherwise(features, options, noise):
    whole, chosen = made(noise, **options), made(noise, features=features, **options)
    assert set(chosen.element_spec) - {"weight"} == set(features)
    for one, other in zip(whole().take(21), chosen().take(21), strict=True):
        for name, value in other.items():
            np.testing.assert_array_equal(value, one[name])
            assert value.dtype == one[name].dtype


def test_what_the_index_holds_is_not_parsed(noise, monkeypatch):
    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr(Parser, "batch", refuse)
    next(iter(made(noise, features=INDEXED)()))
    with pytest.raises(AssertionError):
        made(noise, features=("key",))()


def test_features_that_cannot_be_given_are_refused(noise):
    with pytest.raises(UnknownNameError, match="features names 'colour'; the dataset stores height, image, key, label"):
        made(noise, features=("image", "colour"))
    with pytest.raises(CallError, match="features= is for elements with encoded images"):
        made(noise, features=("image",), images=Images((8, 8)))
