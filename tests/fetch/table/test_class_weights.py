import numpy as np
import pytest

from shardkit import reader

COUNTS = {"ant": 149, "bee": 97, "cat": 61}
BALANCED = np.array([307 / (3 * count) for count in COUNTS.values()], np.float32)


def read(noise, **options):
    return reader.make_dataset_fn(noise, "train", global_batch_size=10, **options)


@pytest.mark.parametrize(
    ("wanted", "weights"), [("balanced", BALANCED), ({"cat": 5, "ant": 0.5}, np.array([0.5, 1, 5], np.float32))]
)
def test_every_training_example_ends_with_the_weight_of_its_class(wanted, weights, noise):
    for images, labels, given in read(noise, image_size=(8, 8), sample_weight=wanted)().take(5).as_numpy_iterator():
        assert images.shape == (10, 8, 8, 3)
        np.testing.assert_array_equal(given, weights[labels])


def test_without_images_the_weight_is_a_feature(noise):
    for batch in read(noise, sample_weight="balanced")().take(5).as_numpy_iterator():
        np.testing.assert_array_equal(batch["weight"], BALANCED[batch["label"]])


def test_balanced_weights_have_a_mean_of_one_and_each_class_weighs_the_same():
    counts = np.array(list(COUNTS.values()))
    np.testing.assert_allclose(BALANCED * counts, 307 / 3, rtol=1e-6)
    assert float((BALANCED * counts).sum() / 307) == pytest.approx(1)
