"""Evaluations without padding, and what Keras prints of them; the warning of training on a split for evaluation."""

from fractions import Fraction

import numpy as np
import pytest
import tensorflow as tf

from shardkit.errors import CallError
from shardkit.reader import make_dataset, make_dataset_fn
from shardkit.testing import convert_without_beam

from .conftest import texts
from .training_fixtures import facts_of_all, shapes  # noqa: F401 - a fixture

SPLITS = ("validation", "test", "holdout")


def short(dataset, **changed):
    options = {"global_batch_size": 24, "training": False, "last_batch": "short"}
    return make_dataset_fn(dataset, "train", **options | changed)


@pytest.mark.parametrize(
    ("replicas", "options"),
    [
        (2, {"on_corrupt": "skip"}),
        (4, {"where": "label_name != 'bee'"}),
        pytest.param(1, {}, marks=pytest.mark.slow),
        pytest.param(1, {"take": 100}, marks=pytest.mark.slow),
    ],
)
def test_an_evaluation_without_padding_is_every_example_once_in_the_order_of_keys(noise, replicas, options):
    dataset_fn = short(noise, **options)
    assert dataset_fn.element_spec["weight"] == tf.TensorSpec([None], tf.float32)
    dataset = dataset_fn(tf.distribute.InputContext(1, 0, replicas))
    batches = list(dataset.as_numpy_iterator())
    assert len(batches) == dataset_fn.steps_per_epoch * replicas
    assert int(dataset.cardinality()) == dataset_fn.steps_per_epoch
    keys = [key for batch in batches for key in texts(batch["key"])]
    assert keys == dataset_fn.keys()
    assert len(set(keys)) == dataset_fn.num_examples
    assert keys == [key for step in range(dataset_fn.steps_per_epoch) for key in dataset_fn.batch_keys(step)]
    assert all((batch["weight"] == 1).all() and batch["weight"].size for batch in batches)
    assert {len(batch["key"]) for batch in batches[:-replicas]} == {24 // replicas}


def test_an_evaluation_without_padding_has_the_pixels_of_a_padded_one(noise):
    padded = make_dataset_fn(noise, "train", global_batch_size=24, image_size=(4, 4), training=False)
    for one, other in zip(padded(), short(noise, image_size=(4, 4))(), strict=True):
        kept = one[2] > 0
        for found, expected in zip(other, one, strict=True):
            np.testing.assert_array_equal(found, expected[kept])


def test_functions_get_the_short_batch_and_elements_may_be_ragged_or_sparse(noise):
    def map_fn(features, seed):
        sparse = tf.sparse.from_dense(tf.cast(tf.range(4) * features["label"], tf.int64))
        return {"sparse": sparse, "ragged": tf.RaggedTensor.from_tensor([[seed[0]]]), "label": features["label"]}

    def batch_map_fn(element, seed):
        return element | {"count": tf.shape(element["label"])[0]}

    dataset_fn = short(noise, global_batch_size=300, map_fn=map_fn, batch_map_fn=batch_map_fn)
    for count, batch in zip((300, 7), dataset_fn(), strict=True):
        assert batch["count"].numpy() == count
        labels = batch["label"].numpy()
        np.testing.assert_array_equal(tf.sparse.to_dense(batch["sparse"]), np.arange(4) * labels[:, np.newaxis])
        assert batch["ragged"].shape[0] == count


def test_an_evaluation_without_padding_starts_at_a_step(noise):
    rest = list(short(noise, start_step=11)().as_numpy_iterator())
    assert [len(batch["key"]) for batch in rest] == [24, 19]


@pytest.mark.parametrize(
    ("context", "said"), [((2, 0, 2), "is for one process, and 2 workers"), ((1, 0, 4), "leaves 3 of 307 examples for")]
)
def test_what_replicas_cannot_share_without_padding_is_refused(noise, context, said):
    with pytest.raises(CallError, match=said):
        short(noise, global_batch_size=16)(tf.distribute.InputContext(*context))


def test_training_has_no_last_batch_and_no_list_of_all_keys(noise):
    dataset_fn = make_dataset_fn(noise, "train", global_batch_size=16, last_batch="short")
    assert dataset_fn.element_spec["label"].shape == (16,)
    with pytest.raises(CallError):
        dataset_fn.keys()


@pytest.fixture(scope="module")
def of_three_splits(noise_source, tmp_path_factory):
    """The folder of a dataset of three splits, one of them of another name."""
    output = str(tmp_path_factory.mktemp("splits") / "dataset")
    convert_without_beam(str(noise_source), output, splits=dict.fromkeys(SPLITS, Fraction(1, 3)))
    return output


@pytest.mark.parametrize("make", [make_dataset_fn, make_dataset])
@pytest.mark.parametrize("split", ["validation", "test"])
def test_training_on_a_split_for_evaluation_warns_once_at_the_line_that_does(of_three_splits, make, split):
    with pytest.warns(UserWarning, match=f"repeats the split '{split}' endlessly.*pass training=False") as caught:
        make(of_three_splits, split, global_batch_size=8)
    assert [warning.filename for warning in caught] == [__file__]


def test_evaluations_folds_and_other_splits_do_not_warn(of_three_splits, recwarn):
    make_dataset_fn(of_three_splits, "validation", global_batch_size=8, training=False)
    make_dataset_fn(of_three_splits, "validation", global_batch_size=8, fold=(0, 3))  # trains on the others
    make_dataset_fn(of_three_splits, "holdout", global_batch_size=8)
    assert not [warning for warning in recwarn if issubclass(warning.category, UserWarning)]


@pytest.fixture(scope="module", params=[pytest.param(1, marks=pytest.mark.slow), 2], ids=["1 replica", "2 replicas"])
def keras_facts(request, shapes, tmp_path_factory):  # noqa: F811 - a fixture
    """What Keras prints and predicts on one device or on two, and what is exact; see the program."""
    result = tmp_path_factory.mktemp("keras") / "result"
    return facts_of_all("keras_evaluate.py", [(shapes, result, request.param)])[0]


DEFAULT, WEIGHTED = "sum_over_batch_size", "mean_with_sample_weight"


@pytest.mark.parametrize("case", ["validation of fit", f"short, {DEFAULT}", f"short, {WEIGHTED}", f"whole, {DEFAULT}"])
def test_without_padding_all_that_keras_prints_is_exact(keras_facts, case):
    printed = keras_facts["printed"][case]
    exact = keras_facts["exact"]["whole" if "whole" in case else "short"]
    assert printed["loss"] == pytest.approx(exact["loss"], rel=1e-5)
    assert printed["exact_loss"] == pytest.approx(exact["data_loss"], rel=1e-5)
    assert printed["accuracy"] == printed["weighted_accuracy"] == pytest.approx(exact["accuracy"], rel=1e-6)


@pytest.mark.parametrize("reduction", [DEFAULT, WEIGHTED])
def test_with_padding_only_weighted_metrics_are_exact(keras_facts, reduction):
    """If the loss is exact with a newer Keras, the page can say less."""
    printed, exact = keras_facts["printed"][f"padded, {reduction}"], keras_facts["exact"]["short"]
    assert printed["exact_loss"] == pytest.approx(exact["data_loss"], rel=1e-5)
    assert printed["weighted_accuracy"] == pytest.approx(exact["accuracy"], rel=1e-6)
    assert abs(printed["loss"] / exact["loss"] - 1) > 1e-3


def test_without_padding_predict_returns_one_row_for_each_key_in_order(keras_facts):
    predicted, exact = keras_facts["predicted"], keras_facts["exact"]["short"]["logits"]
    assert list(predicted) == list(exact)  # keys
    np.testing.assert_allclose(list(predicted.values()), list(exact.values()), rtol=1e-4, atol=1e-5)
