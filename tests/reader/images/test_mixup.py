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


@pytest.mark.parametrize("alpha", [0.2, 8.0])
def test_mixup_blends_images_and_labels_in_one_proportion(alpha, flat):
    dataset_fn, shares = made(flat, batch_map_fn=reader.mixup(3, alpha=alpha)), []
    for step, (images, labels) in enumerate(dataset_fn().take(12).as_numpy_iterator()):
        greys = np.array([int(key.split("/")[1][:3]) for key in dataset_fn.batch_keys(step)], float)
        classes = np.array([int(key[1]) for key in dataset_fn.batch_keys(step)])
        assert np.ptp(images, axis=(1, 2, 3)).max() < 1e-3
        blended = images[:, 0, 0, 0]
        differ = greys != greys[::-1]
        share = (blended - greys[::-1])[differ] / (greys - greys[::-1])[differ]
        assert ((share > -1e-4) & (share < 1.0001)).all()
        wanted = np.eye(3)[classes[differ]] * share[:, None] + np.eye(3)[classes[::-1][differ]] * (1 - share)[:, None]
        np.testing.assert_allclose(labels[differ], wanted, atol=1e-4)
        shares += share.tolist()
    # Of a Beta(alpha, alpha): variance 1 / (4 (2 alpha + 1)).
    assert np.var(shares) == pytest.approx(1 / (4 * (2 * alpha + 1)), rel=0.45)


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


def test_cutmix_puts_a_window_of_another_image_and_labels_go_by_area(flat):
    dataset_fn, shares = made(flat, batch_map_fn=reader.cutmix(3)), []
    for step, (images, labels) in enumerate(dataset_fn().take(12).as_numpy_iterator()):
        greys = np.array([int(key.split("/")[1][:3]) for key in dataset_fn.batch_keys(step)], float)
        classes = np.array([int(key[1]) for key in dataset_fn.batch_keys(step)])
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


@pytest.mark.parametrize("mixing", [reader.mixup(3), reader.cutmix(3)], ids=["mixup", "cutmix"])
def test_the_same_step_is_mixed_the_same_way_again_and_another_step_another_way(mixing, flat):
    dataset_fn = made(flat, batch_map_fn=mixing)
    dataset = dataset_fn()
    straight = list(dataset.take(6).as_numpy_iterator())
    dataset_fn.start_step.assign(3)
    resumed = list(dataset.take(3).as_numpy_iterator())
    for (images, labels), (again, labels_again) in zip(straight[3:], resumed, strict=True):
        np.testing.assert_array_equal(images, again)
        np.testing.assert_array_equal(labels, labels_again)
    other = next(iter(made(flat, batch_map_fn=mixing, seed=1)().as_numpy_iterator()))
    assert not np.array_equal(other[1], straight[0][1])


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


def test_replicas_and_workers_mix_with_seeds_of_their_own(flat):
    def give(element, seed):
        return seed

    dataset_fn = made(flat, batch_map_fn=give)
    contexts = [tf.distribute.InputContext(2, worker, 4) for worker in range(2)]
    seeds = [tuple(seed.tolist()) for context in contexts for seed in dataset_fn(context).take(4).as_numpy_iterator()]
    assert len(set(seeds)) == 8


@pytest.mark.parametrize(("dtype", "within", "alpha"), [("uint8", 0.501, 0.2), ("bfloat16", 1.0, 8.0)])
def test_images_of_any_dtype_are_blended_in_the_proportion_of_their_labels(dtype, within, alpha, flat):
    dataset_fn, mixed = made(flat, dtype=dtype, batch_map_fn=reader.mixup(3, alpha=alpha)), 0
    for step, (images, labels) in enumerate(dataset_fn().take(12).as_numpy_iterator()):
        assert images.dtype == tf.as_dtype(dtype).as_numpy_dtype
        greys = np.array([int(key.split("/")[1][:3]) for key in dataset_fn.batch_keys(step)], float)
        classes = np.array([int(key[1]) for key in dataset_fn.batch_keys(step)])
        for i in np.flatnonzero(classes != classes[::-1]):
            share = labels[i, classes[i]]
            wanted = share * greys[i] + (1 - share) * greys[::-1][i]
            # To the nearest whole number, or to bfloat16's eight bits.
            assert np.abs(images[i].astype(float) - wanted).max() <= within
            mixed += 0.05 < share < 0.95
    assert mixed > 5


def test_cutmix_leaves_whole_numbers_as_they_are(flat):
    exact, whole = (made(flat, dtype=dtype, batch_map_fn=reader.cutmix(3)) for dtype in ("float32", "uint8"))
    for (images, labels), (again, labels_again) in zip(exact().take(3), whole().take(3), strict=True):
        np.testing.assert_array_equal(images, tf.cast(again, tf.float32))
        np.testing.assert_array_equal(labels, labels_again)


MIXINGS = pytest.mark.parametrize("mixing", [reader.mixup, reader.cutmix])


@MIXINGS
def test_a_label_beyond_the_classes_stops_training_and_says_why(mixing, flat):
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_classes=2"):
        list(made(flat, batch_map_fn=mixing(2))().take(2))


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
    "features": ({"image": IMAGES}, "set image_size, or make such pairs in map_fn"),
}


@pytest.mark.parametrize(
    ("mixing", "kind"),
    # The ids are texts: those of functions have addresses, which differ between the processes of the tests.
    [
        *(pytest.param(reader.mixup, kind, id=f"mixup-{kind}") for kind in UNMIXABLE),
        pytest.param(reader.cutmix, "boxes", id="cutmix-boxes"),
    ],
)
def test_what_has_no_classes_to_mix_is_refused_when_the_dataset_is_made(mixing, kind, flat):
    element, said = UNMIXABLE[kind]

    def give(features, seed):
        return tf.nest.map_structure(lambda part: part[0], element)

    with pytest.raises(CallError, match=said) as raised:
        reader.make_dataset_fn(flat, "train", global_batch_size=BATCH, map_fn=give, batch_map_fn=mixing(3))()
    assert str(raised.value).startswith("mixing takes"), "one sentence, without AutoGraph's lines"


@MIXINGS
def test_weights_are_named_as_what_cannot_be_mixed(mixing, flat):
    for options in ({"sample_weight": "balanced"}, {"training": False}):
        with pytest.raises(CallError, match="these have weights: leave batch_map_fn out of evaluation, and sample_wei"):
            made(flat, batch_map_fn=mixing(3), **options)()


def test_what_cannot_be_mixing_is_refused():
    for make in (reader.mixup, reader.cutmix):
        for alpha in (0, -1.0, math.inf, math.nan, "0.2", None, True, tf.constant(0.2)):
            with pytest.raises(CallError, match=r"^alpha must be a finite number above 0; found"):
                make(3, alpha=alpha)
        for num_classes in (0, "10", 10.5, 10.0, None, True):
            with pytest.raises(CallError, match=r"^num_classes must be "):
                make(num_classes)
