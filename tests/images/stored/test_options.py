import pytest

from shardkit.errors import CallError
from shardkit.images.stored.options import StoredForm
from shardkit.options.groups import Stored


@pytest.mark.parametrize("given", ["224x320", "224, 320", (224, 320), [224, 320]])
def test_a_height_and_a_width_for_one_side_are_answered_with_the_option_for_both(given):
    with pytest.raises(CallError, match=r"resize is one number.*; size='224x320' gives every image"):
        Stored(resize=given)


@pytest.mark.parametrize("given", [{"resize": 3.5}, {"max_side": "big"}, {"quality": "high"}, {"resize": "224"}])
def test_a_number_of_another_kind_is_refused_in_words(given):
    with pytest.raises(CallError):
        StoredForm(**given)
