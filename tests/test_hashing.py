import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.hashing import MAX_SEED, canonical_json, hash64, sha256_hex


def test_hashes_never_change():
    # Made with hashlib.blake2b(b"cat/1.jpg", digest_size=8, key=(7).to_bytes(8, "little"), person=b"split"),
    # its digest read as a little-endian number.
    assert hash64(["cat/1.jpg"], seed=7, purpose="split").tolist() == [15921943025433928141]


@pytest.mark.parametrize(
    ("text", "raw"),
    [("", b""), ("\u00fc", b"\xc3\xbc"), ("\udcff", b"\xff")],  # the last: a file name that is not UTF-8
)
def test_text_is_hashed_as_its_bytes(text, raw):
    assert hash64([text], seed=0, purpose="x") == hash64([raw], seed=0, purpose="x")


def test_no_values_give_no_hashes():
    hashes = hash64([], seed=0, purpose="x")
    assert hashes.shape == (0,)
    assert hashes.dtype == np.uint64


@given(st.lists(st.binary(max_size=10), unique=True, max_size=20), st.integers(0, MAX_SEED), st.integers(0, MAX_SEED))
def test_hashes_depend_on_value_seed_and_purpose_and_on_nothing_else(values, seed, other):
    hashes = hash64(values, seed=seed, purpose="a")
    assert hash64(values[::-1], seed=seed, purpose="a").tolist() == hashes[::-1].tolist()
    assert len(set(hashes.tolist())) == len(values)
    assert not set(hashes.tolist()) & set(hash64(values, seed=seed, purpose="b").tolist())
    if other != seed:
        assert not set(hashes.tolist()) & set(hash64(values, seed=other, purpose="a").tolist())


def test_hashes_are_uniform():
    hashes = hash64([str(i) for i in range(1 << 16)], seed=0, purpose="split")
    counts = np.bincount((hashes >> np.uint64(56)).astype(int), minlength=256)
    chi_square = ((counts - 256) ** 2 / 256).sum()
    assert chi_square < 360  # 255 degrees of freedom: more in 1 of 50,000 seeds, and the seed is fixed


def test_sha256_is_as_others_print_it():
    assert sha256_hex(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2, B.1


def test_canonical_json_is_one_text_for_equal_values():
    assert canonical_json({"b": [1, None], "a": "\u00fc"}) == '{"a":"\u00fc","b":[1,null]}'.encode()
    assert canonical_json({"a": 1, "b": 2}) == canonical_json({"b": 2, "a": 1})


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_json_lacks_has_no_canonical_text(value):
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"a": value})
