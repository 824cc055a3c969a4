import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardkit import images
from shardkit.images.similar import near_pairs
from shardkit.images.similar.near_pairs import RADIUS, distances
from shardkit.images.similar.similar_sets import MOST_COPIES, connected, similar_sets

from ...copies import as_png, digit, icon


def random_hashes(count, seed=0):
    return np.random.default_rng(seed).integers(0, 1 << 64, (count, 2), np.uint64)


def flipped(one, bits):
    """A hash that differs in these bits of 128."""
    made = one.copy()
    for bit in bits:
        made[bit // 64] ^= np.uint64(1) << np.uint64(bit % 64)
    return made


def pairs_of(hashes):
    return set(map(tuple, near_pairs.near_pairs(hashes).tolist()))


@given(st.lists(st.sets(st.integers(0, 127), max_size=40), min_size=1, max_size=12, unique_by=frozenset))
@settings(max_examples=20)
def test_pairs_of_few_bits_are_found_and_no_pair_of_many(changes):
    hashes = np.array([flipped(random_hashes(1)[0], bits) for bits in changes])
    found = pairs_of(hashes)
    for one in range(len(hashes)):
        for other in range(one + 1, len(hashes)):
            bits = int(distances(hashes[one], hashes[other]))
            # Five bands, each with one bit flipped: nine bits cannot spoil all.
            assert ((one, other) in found) or bits > 9
            assert ((one, other) not in found) or bits <= RADIUS


def test_whether_a_pair_is_found_depends_on_its_hashes_alone():
    rng = np.random.default_rng(1)
    others = random_hashes(300, 2)
    copies = np.array([flipped(one, rng.choice(128, 16, replace=False)) for one in others])
    together = pairs_of(np.concatenate((others, copies)))
    assert len(together) > 250
    for at in range(0, 300, 10):
        assert (pairs_of(np.stack((others[at], copies[at]))) == {(0, 1)}) == ((at, at + 300) in together)


def test_the_table_of_all_values_finds_what_binary_search_finds(monkeypatch):
    monkeypatch.setattr(near_pairs, "_ORDERS", 1)
    monkeypatch.setattr(near_pairs, "_BANDS", 1)
    rng = np.random.default_rng(1)
    copies = [flipped(one, rng.choice(128, 12, replace=False)) for one in random_hashes(200)]
    hashes = np.concatenate((random_hashes(200), copies))
    searched = pairs_of(hashes)
    monkeypatch.setattr(near_pairs, "_DIRECT_TABLE", 1)
    assert pairs_of(hashes) == searched
    assert len(searched) > 20


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=30))
def test_components_are_those_of_the_pairs(pairs):
    root = connected(np.array(pairs, np.int64).reshape(-1, 2), 21)
    expected = list(range(21))
    for _ in range(21):
        for one, other in pairs:
            expected[one] = expected[other] = min(expected[one], expected[other])
    assert root.tolist() == expected


def test_copies_are_sets_in_any_order_of_the_images():
    rng = np.random.default_rng(3)
    hashes = np.concatenate(
        (random_hashes(100), [flipped(one, (3, 70, 99)) for one in random_hashes(10)], random_hashes(5))
    )
    found = similar_sets(hashes)
    assert found.codes[:10].tolist() == list(range(10))
    assert found.codes[100:110].tolist() == list(range(10))
    assert found.codes[110:].tolist() == list(range(5))  # equal hashes
    assert np.count_nonzero(found.codes >= 0) == 25
    order = rng.permutation(len(hashes))
    again = similar_sets(hashes[order]).codes
    same = found.codes[order][:, None] == found.codes[order]
    assert ((again[:, None] == again) == same)[found.codes[order] >= 0].all()


def test_a_set_too_large_for_copies_is_left_alone_and_counted():
    frames = [flipped(random_hashes(1, 9)[0], (bit, bit + 1)) for bit in range(MOST_COPIES + 1)]
    hashes = np.concatenate((random_hashes(2000), frames, [flipped(random_hashes(1)[0], (5,))]))
    found = similar_sets(hashes)
    assert (found.num_alike, found.is_by_nature) == (MOST_COPIES + 1, False)
    assert np.flatnonzero(found.codes >= 0).tolist() == [0, len(hashes) - 1]


def test_a_chain_of_near_images_does_not_become_one_set():
    chain = [random_hashes(1, 4)[0]]
    for at in range(400):
        chain.append(flipped(chain[-1], range(at * 9 % 120, at * 9 % 120 + 8)))
    found = similar_sets(np.array(chain))
    assert found.is_by_nature
    assert (found.codes == -1).all()


@pytest.mark.parametrize("made", [digit, icon])
def test_digits_and_icons_look_alike_by_nature(made):
    hashes = [images.check_fully(as_png(made(number)))[2] for number in range(600)]
    found = similar_sets(np.frombuffer(b"".join(hashes), "<u8").reshape(-1, 2))
    assert found.is_by_nature
    assert found.num_alike > 60
    assert (found.codes == -1).all()


def test_too_many_pairs_end_the_search():
    hashes = np.unique(
        [flipped(random_hashes(1)[0], (one, other)) for one in range(64) for other in range(64, 128)], axis=0
    )
    assert near_pairs.near_pairs(hashes) is None
    assert similar_sets(hashes).is_by_nature
