import functools
import math

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from shardkit import reader
from shardkit.errors import CallError
from shardkit.testing import convert_without_beam, write_tree

from ..conftest import encode

BATCH = 8


@pytest.fixture(scope="module")
def flat(tmp_path_factory):
    """48 pictures of one grey each, 5 * i; the label is i % 3."""
    root = tmp_path_factory.mktemp("flat")
    files = {
        f"c{i % 3}/{5 * i:03d}.png": encode(Image.new("RGB", (12, 10), (5 * i, 5 * i, 5 * i)), "PNG") for i in range(48)
    }
    convert_without_beam(str(write_tree(root / "source", files)), str(root / "out"))
    return str(root / "out")


def made(flat, dtype="float32", **options):
    images = reader.Images((16, 20), dtype=dtype)
    return reader.make_dataset_fn(flat, "train", global_batch_size=BATCH, images=images, **options)


@pytest.fixture(scope="module")
def given(flat):
    """The function of images mixed by mixup or cutmix, its dataset and that dataset's first 12 batches; by name."""

    @functools.cache
    def given_by(name):
        dataset_fn = made(flat, batch_map_fn=getattr(reader, name)(3))
        dataset = dataset_fn()
        return dataset_fn, dataset, list(dataset.take(12).as_numpy_iterator())

    return given_by


def greys_and_classes(dataset_fn, step):
    keys = dataset_fn.batch_keys(step)
    return np.array([int(key.split("/")[1][:3]) for key in keys], float), np.array([int(key[1]) for key in keys])


def test_mixup_blends_images_and_labels_in_one_proportion(given):
    dataset_fn, _, batches = given("mixup")
    shares = []
    for step, (images, labels) in enumerate(batches):
        greys, classes = greys_and_classes(dataset_fn, step)
        assert np.ptp(images, axis=(1, 2, 3)).max() < 1e-3
        blended = images[:, 0, 0, 0]
        differ = greys != greys[::-1]
        share = (blended - greys[::-1])[differ] / (greys - greys[::-1])[differ]
        assert ((share > -1e-4) & (share < 1.0001)).all()
        wanted = np.eye(3)[classes[differ]] * share[:, None] + np.eye(3)[classes[::-1][differ]] * (1 - share)[:, None]
        np.testing.assert_allclose(labels[differ], wanted, atol=1e-4)
        shares += share.tolist()
    # Of a Beta(alpha, alpha), alpha 0.2 by default: variance 1 / (4 (2 alpha + 1)).
    assert np.var(shares) == pytest.approx(1 / (4 * (2 * 0.2 + 1)), rel=0.45)


def mean_of_the_smaller_share(alpha):
    """E[min(X, 1 - X)] of X from Beta(alpha, alpha), which is the incomplete beta function I(1/2; alpha + 1, alpha)."""
    log_beta = 2 * math.lgamma(alpha) - math.lgamma(2 * alpha)
    return 0.5 - math.exp(-2 * alpha * math.log(2) - math.log(alpha) - log_beta)


@pytest.mark.parametrize("alpha", [0.001, 0.01, 0.05, 0.2, 1, 8])
def test_shares_of_every_alpha_are_of_the_beta_distribution(alpha):
    # Every image's partner is of the other class, so its own label is its share.
    labels = tf.repeat([0, 1], 100_000)
    _, mixed = reader.mixup(2, alpha=alpha)((tf.zeros([200_000, 1, 1, 1]), labels), tf.constant([3, 5]))
    share = tf.gather(mixed, labels, batch_dims=1).numpy().astype(float)
    smaller = np.minimum(share, 1 - share)
    error = smaller.std() / math.sqrt(len(share))
    assert abs(smaller.mean() - mean_of_the_smaller_share(alpha)) < 4.5 * error
    assert (share == 0.5).mean() < 1e-3
    assert share.mean() == pytest.approx(0.5, abs=4.5 * share.std() / math.sqrt(len(share)))
    assert np.var(share) == pytest.approx(1 / (4 * (2 * alpha + 1)), rel=0.02)


def test_cutmix_puts_a_window_of_another_image_and_labels_go_by_area(given):
    dataset_fn, _, batches = given("cutmix")
    shares = []
    for step, (images, labels) in enumerate(batches):
        greys, classes = greys_and_classes(dataset_fn, step)
        for i, image in enumerate(images[..., 0]):
            own = image == greys[i]
            assert (own | (image == greys[::-1][i])).all()
            rows, columns = np.nonzero(~own)
            if len(rows):
                assert not own[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1].any(), "one window"
            wanted = np.eye(3)[classes[i]] * own.mean() + np.eye(3)[classes[::-1][i]] * (1 - own.mean())
            np.testing.assert_allclose(labels[i], wanted, atol=1e-5)
            shares.append(own.mean())
    assert 0.3 < np.mean(shares) < 0.9
    assert np.std(shares) > 0.15


@pytest.mark.parametrize("name", ["mixup", "cutmix"])
def test_the_same_step_is_mixed_the_same_way_again_and_another_step_another_way(name, given):
    dataset_fn, dataset, straight = given(name)
    dataset_fn.start_step.assign(3)
    resumed = list(dataset.take(3).as_numpy_iterator())
    dataset_fn.start_step.assign(0)
    for (images, labels), (again, labels_again) in zip(straight[3:6], resumed, strict=True):
        np.testing.assert_array_equal(images, again)
        np.testing.assert_array_equal(labels, labels_again)
    element = tf.random.uniform([BATCH, 16, 20, 3]), tf.range(BATCH) % 3
    first, same, other = (getattr(reader, name)(3)(element, tf.constant(seed)) for seed in ([1, 2], [1, 2], [3, 2]))
    np.testing.assert_array_equal(first[0], same[0])
    assert not np.array_equal(first[1], other[1])


def test_a_batch_map_fn_gets_the_features_where_there_is_no_image_size(flat):
    def count(features, seed):
        return {"num": tf.shape(features["label"])[0], "keys": features["key"], "seed": seed}

    dataset_fn = reader.make_dataset_fn(flat, "train", global_batch_size=BATCH, batch_map_fn=count)
    seeds = set()
    for step, batch in enumerate(dataset_fn().take(5).as_numpy_iterator()):
        assert batch["num"] == BATCH
        assert [key.decode() for key in batch["keys"]] == dataset_fn.batch_keys(step)
        seeds.add(tuple(batch["seed"].tolist()))
    assert len(seeds) == 5
    other = reader.make_dataset_fn(flat, "train", global_batch_size=BATCH, batch_map_fn=count, seed=1)
    assert tuple(next(iter(other()))["seed"].numpy().tolist()) not in seeds


def test_replicas_and_workers_mix_with_seeds_of_their_own(flat):
    def give(element, seed):
        return seed

    dataset_fn = reader.make_dataset_fn(flat, "train", global_batch_size=BATCH, batch_map_fn=give)
    contexts = [tf.distribute.InputContext(2, worker, 4) for worker in range(2)]
    seeds = [tuple(seed.tolist()) for context in contexts for seed in dataset_fn(context).take(4).as_numpy_iterator()]
    assert len(set(seeds)) == 8


def flat_batch(seed, dtype):
    """Images of one grey each and their classes, none of which is its partner's; and the greys."""
    greys = np.random.default_rng(seed).integers(0, 48, BATCH) * 5
    images = tf.cast(tf.broadcast_to(greys[:, None, None, None], [BATCH, 16, 20, 3]), dtype)
    return (images, tf.repeat([0, 1], BATCH // 2)), greys


@pytest.mark.parametrize(("dtype", "within", "alpha"), [("uint8", 0.501, 0.2), ("bfloat16", 1.0, 8.0)])
def test_images_of_any_dtype_are_blended_in_the_proportion_of_their_labels(dtype, within, alpha):
    mixing, mixed = tf.function(reader.mixup(2, alpha=alpha)), 0
    for seed in range(12):
        element, greys = flat_batch(seed, dtype)
        images, labels = mixing(element, tf.constant([seed, 7]))
        assert images.dtype == dtype
        share = tf.gather(labels, element[1], batch_dims=1).numpy()
        wanted = share * greys + (1 - share) * greys[::-1]
        # To the nearest whole number, or to bfloat16's eight bits.
        assert np.abs(images.numpy().astype(float) - wanted[:, None, None, None]).max() <= within
        mixed += ((share > 0.05) & (share < 0.95)).sum()
    assert mixed > 5


def test_cutmix_leaves_whole_numbers_as_they_are():
    mixing = tf.function(reader.cutmix(2))
    for seed in range(3):
        exact, whole = (mixing(flat_batch(seed, dtype)[0], tf.constant([seed, 7])) for dtype in ("float32", "uint8"))
        np.testing.assert_array_equal(exact[0], tf.cast(whole[0], tf.float32))
        np.testing.assert_array_equal(exact[1], whole[1])


def test_a_label_beyond_the_classes_stops_training_and_says_why(flat):
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_classes=2"):
        list(made(flat, batch_map_fn=reader.mixup(2))().take(2))
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_classes=2"):
        tf.function(reader.cutmix(2))((IMAGES, tf.range(BATCH) % 3), tf.constant([3, 5]))


IMAGES = tf.zeros([8, 4, 4, 3])
UNMIXABLE = {
    "regression": ((IMAGES, tf.zeros([8])), "no masks and no regression; found float32"),
    "rows of another number of classes": ((IMAGES, tf.zeros([8, 4])), "float rows of num_classes=3 as labels"),
    "masks": ((IMAGES, tf.zeros([8, 4, 4], tf.int32)), "no masks and no regression; found int32"),
    "rows of whole numbers, which one_hot takes for classes": (
        (IMAGES, tf.zeros([8, 3], tf.int32)),
        r"found int32 \(8, 3\)",
    ),
    "boxes": ((IMAGES, {"boxes": tf.zeros([8, 5, 4])}), "boxes, cannot be mixed"),
    "weights": ((IMAGES, tf.zeros([8], tf.int32), tf.ones([8])), "sample_weight out of training"),
    "encoded images": ((tf.fill([8], "JPEG"), tf.zeros([8], tf.int32)), "images as numbers .* found string"),
    "features": ({"image": IMAGES}, "set image_size or make such pairs in map_fn"),
}


@pytest.mark.parametrize("kind", UNMIXABLE)
def test_what_has_no_classes_to_mix_is_refused_when_it_is_traced(kind):
    element, said = UNMIXABLE[kind]
    for mixing in (reader.mixup, reader.cutmix):
        with pytest.raises(CallError, match=said) as raised:
            tf.function(mixing(3))(element, tf.constant([3, 5]))
        assert str(raised.value).startswith("mixing takes"), "one sentence, without AutoGraph's lines"


@pytest.mark.parametrize("mixing", [reader.mixup, reader.cutmix])
def test_what_cannot_be_mixed_is_refused_when_the_dataset_is_made(mixing, flat):
    def give(features, seed):
        return features["image"], {"boxes": tf.zeros([5, 4])}

    with pytest.raises(CallError, match=UNMIXABLE["boxes"][1]) as raised:
        made(flat, map_fn=give, batch_map_fn=mixing(3))()
    assert str(raised.value).startswith("mixing takes"), "one sentence, without AutoGraph's lines"


def test_weights_are_named_as_what_cannot_be_mixed(flat):
    said = "these have weights: leave batch_map_fn out of evaluation, and sample_wei"
    with pytest.raises(CallError, match=said):
        made(flat, batch_map_fn=reader.mixup(3), sample_weight="balanced")()
    with pytest.raises(CallError, match=said):
        made(flat, batch_map_fn=reader.cutmix(3), training=False)()


def test_what_cannot_be_mixing_is_refused():
    for make in (reader.mixup, reader.cutmix):
        for alpha in (0, -1.0, math.inf, math.nan, "0.2", None, True, tf.constant(0.2)):
            with pytest.raises(CallError):
                make(3, alpha=alpha)
        for num_classes in (0, "10", 10.5, 10.0, None, True):
            with pytest.raises(CallError):
                make(num_classes)
