import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.records import key_lookup
from shardkit.records.key_lookup import KeyLookup, similar_keys


@given(
    st.lists(st.lists(st.text("ab/ä\U0001f600\uffff", max_size=3), max_size=8), max_size=4), st.text("ab/ä", max_size=3)
)
def test_lookups_before_and_after_sorting_find_the_first_row_of_a_key(chunks, other):
    lookup = KeyLookup(pa.chunked_array(chunks, pa.string()))
    keys = [key for chunk in chunks for key in chunk]
    asked = [*dict.fromkeys([*keys, other, ""])]
    wanted = [keys.index(key) if key in keys else -1 for key in asked]
    assert [lookup.row(key) for key in asked] == wanted
    for _ in range(key_lookup._COMPARING_LOOKUPS):
        lookup.row(other)
    assert lookup._sorted is not None
    assert [lookup.row(key) for key in asked] == wanted


KEYS = [f"{folder}/image_{number:05d}.jpg" for folder in ("ant", "bee") for number in range(1500)]


@pytest.mark.parametrize(
    ("key", "similar"),
    [
        ("train/image_01499.jpg", ["ant/image_01499.jpg", "bee/image_01499.jpg"]),
        ("image_00001.jpg", ["ant/image_00001.jpg", "bee/image_00001.jpg"]),
        ("bee/image_00042.jpeg", "bee/image_00042.jpg"),  # not among the first thousand
        ("at/image_00042.jp", "ant/image_00042.jpg"),  # there is no such folder
        ("quite-another-name", []),
    ],
)
def test_similar_keys_have_the_same_name_or_are_in_the_same_folder(key, similar):
    found = similar_keys(pa.chunked_array([KEYS[::2], KEYS[1::2]]), key)
    assert similar in found if isinstance(similar, str) else sorted(found) == similar


def test_a_name_that_is_not_unicode_is_no_key():
    keys = pa.chunked_array([KEYS])
    lookup = KeyLookup(keys)
    assert {lookup.row("\udcff.jpg") for _ in range(2 * key_lookup._COMPARING_LOOKUPS)} == {-1}
    assert similar_keys(keys, "ant/\udcff.jpg") == []
