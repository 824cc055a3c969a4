import numpy as np
import pytest

from shardkit.dataset.index.file import key_hashes
from shardkit.fetch import places

SIX_SIGMA = 6  # one in 10**9: every bound below holds for a good hash, and the numbers are the same every time
NUM_KEYS = 20_000
KEYS = key_hashes(f"class_{i % 100:03d}/{i:06d}.jpg" for i in range(NUM_KEYS))


def uniforms(keys, epochs, seed, count=23):
    epochs = np.broadcast_to(np.int64(epochs), np.shape(keys))
    return places.uniforms(keys, epochs, seed, count)


def seeds(keys, epochs, seed):
    epochs = np.broadcast_to(np.int64(epochs), np.shape(keys))
    return places.seeds(keys, epochs, seed)


def test_uniforms_are_uniform():
    drawn = uniforms(KEYS, 0, 0)
    assert drawn.dtype == np.float32
    assert drawn.min() >= 0
    assert drawn.max() < 1
    sigma = SIX_SIGMA / np.sqrt(NUM_KEYS)
    assert np.abs(drawn.mean(axis=1) - 1 / 2).max() < sigma * np.sqrt(1 / 12)
    squares = (drawn.astype(float) - 1 / 2) ** 2  # of mean 1 / 12 and variance 1 / 80 - 1 / 144 = 1 / 180
    assert np.abs(squares.mean(axis=1) - 1 / 12).max() < sigma * np.sqrt(1 / 180)
    for row in drawn:
        counts = np.bincount((row * 64).astype(int), minlength=64)
        chi_square = ((counts - NUM_KEYS / 64) ** 2).sum() / (NUM_KEYS / 64)
        assert abs(chi_square - 63) < SIX_SIGMA * np.sqrt(2 * 63)


def test_uniforms_of_other_draws_epochs_and_seeds_are_unrelated():
    drawn = np.concatenate([uniforms(KEYS, epoch, seed, 5) for epoch, seed in [(0, 0), (1, 0), (0, 1), (2**33, 0)]])
    correlation = np.corrcoef(drawn) - np.eye(len(drawn))
    assert np.abs(correlation).max() < SIX_SIGMA / np.sqrt(NUM_KEYS)


@pytest.mark.parametrize("draw", [uniforms, lambda *given: seeds(*given).T], ids=["uniforms", "seeds"])
def test_what_is_drawn_depends_on_key_epoch_and_seed_alone(draw):
    epochs = np.arange(NUM_KEYS) % 7
    together = draw(KEYS, epochs, 5)
    shuffled = np.random.default_rng(0).permutation(NUM_KEYS)[:100]
    np.testing.assert_array_equal(draw(KEYS[shuffled], epochs[shuffled], 5), together[:, shuffled])
    for i in shuffled[:5]:
        np.testing.assert_array_equal(draw(KEYS[i : i + 1], epochs[i], 5), together[:, i : i + 1])


@pytest.mark.parametrize(
    ("other_key", "epoch", "seed"),
    [
        (KEYS[0] ^ 1, 3, 5),
        (KEYS[0] ^ (1 << 40), 3, 5),  # a bit of the upper half
        (KEYS[0] ^ (-1 << 63), 3, 5),  # the sign
        (KEYS[0], 4, 5),
        (KEYS[0], 3 + (1 << 33), 5),  # an epoch that differs above 32 bits
        (KEYS[0], 3, 6),
        (KEYS[0], 3, 5 + (1 << 40)),
    ],
)
def test_every_bit_of_key_epoch_and_seed_counts(other_key, epoch, seed):
    key = KEYS[:1]
    assert (uniforms(key, 3, 5) != uniforms(np.array([other_key]), epoch, seed)).mean() > 0.9
    assert (seeds(key, 3, 5) != seeds(np.array([other_key]), epoch, seed)).all()


def test_seeds_for_stateless_ops_do_not_collide():
    made = np.concatenate([seeds(KEYS[:2000], epoch, seed) for epoch in range(4) for seed in range(4)])
    assert made.dtype == np.int32
    assert len(np.unique(made, axis=0)) == len(made)


def test_seeds_for_stateless_ops_use_all_bits():
    words = seeds(KEYS, 0, 0).view(np.uint32)
    ones = [(words[:, word] >> bit & 1).mean() for word in range(2) for bit in range(32)]
    assert np.abs(np.array(ones) - 1 / 2).max() < SIX_SIGMA / 2 / np.sqrt(NUM_KEYS)
    assert abs(np.corrcoef(words.T)[0, 1]) < SIX_SIGMA / np.sqrt(NUM_KEYS)


def test_epoch_1_of_seed_0_has_nothing_of_epoch_0_of_seed_1():
    assert not np.intersect1d(seeds(KEYS, 1, 0), seeds(KEYS, 0, 1)).size > 4 * NUM_KEYS**2 / 2**32 * 10
    assert (uniforms(KEYS, 1, 0) == uniforms(KEYS, 0, 1)).mean() < 1e-5
