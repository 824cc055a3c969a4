"""Keras' `fit` on endless data without a number of steps warns; ResumeCallback of another function is refused."""

import contextlib
import linecache
import warnings

import pytest
import tensorflow as tf

from shardkit import convert
from shardkit.errors import CallError
from shardkit.reader import ResumeCallback, make_dataset_fn
from shardkit.testing import picture, write_tree

keras = pytest.importorskip("keras")


class Stop(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        self.model.stop_training = True


@pytest.fixture
def train_fn(noise):
    return make_dataset_fn(noise, "train", global_batch_size=32, image_size=(4, 4))


def make_fit():
    """Return `fit` of a small model."""
    model = keras.Sequential([keras.Input((4, 4, 3)), keras.layers.Flatten(), keras.layers.Dense(3)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)

    def fit(data, **options):
        model.fit(data, **{"shuffle": False, "verbose": 0} | options)

    return fit


@pytest.fixture(scope="module")
def fit():
    return make_fit()


def endless_warnings(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [warning for warning in caught if "never ends" in str(warning.message)]


def check_warns_once_at_its_line(run):
    (warning,) = endless_warnings(run)
    assert "steps_per_epoch=train_fn.steps_per_epoch, which is 10;" in str(warning.message)
    assert warning.filename == __file__
    assert "model.fit(" in linecache.getline(__file__, warning.lineno)
    assert not endless_warnings(run)


def test_fit_on_endless_data_without_steps_warns_once(train_fn, fit):
    check_warns_once_at_its_line(lambda: fit(train_fn(), callbacks=[Stop()]))


def test_what_ends_warns_of_nothing(train_fn, fit):
    def use():
        fit(train_fn(), steps_per_epoch=2, epochs=2)
        fit(train_fn().take(11))  # past an epoch, and it ends
        assert len(list(train_fn().take(11))) == 11

    assert not endless_warnings(use)


@pytest.fixture(scope="module")
def unlabelled(tmp_path_factory):
    root = tmp_path_factory.mktemp("unlabelled")
    files = {f"{number}.jpg": picture(number, kind="JPEG") for number in range(40)}
    convert(str(write_tree(root / "source", files)), str(root / "out"), layout="unlabelled")
    return str(root / "out")


@pytest.mark.parametrize("training", [True, False], ids=["fit", "evaluate"])
def test_a_loss_without_labels_warns_at_its_line(training, unlabelled):
    data_fn = make_dataset_fn(unlabelled, "train", global_batch_size=8, image_size=(4, 4), training=training)
    model = keras.Sequential([keras.Input((4, 4, 3)), keras.layers.Flatten(), keras.layers.Dense(3)])
    model.compile("sgd", "mse", jit_compile=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with contextlib.suppress(ValueError):
            if training:
                model.fit(data_fn(), steps_per_epoch=2, shuffle=False, verbose=0)
            else:
                model.evaluate(data_fn(), verbose=0)
    (warning,) = [one for one in caught if "the dataset has no labels" in str(one.message)]
    assert warning.filename == __file__
    assert "model." in linecache.getline(__file__, warning.lineno)


def test_an_autoencoder_is_trained_as_the_warning_says(unlabelled):
    data_fn = make_dataset_fn(
        unlabelled,
        "train",
        global_batch_size=8,
        image_size=(4, 4),
        map_fn=lambda features, seed: (features["image"], features["image"]),
    )
    model = keras.Sequential([keras.Input((4, 4, 3)), keras.layers.Conv2D(3, 1)])
    model.compile("sgd", "mse", jit_compile=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(data_fn(), steps_per_epoch=2, shuffle=False, verbose=0)


def test_images_alone_are_enough_for_predictions_and_for_models_with_a_loss_of_their_own(unlabelled):
    class Model(keras.Model):
        def train_step(self, data):
            return {"mean": tf.reduce_mean(data)}

    alone = make_dataset_fn(unlabelled, "train", global_batch_size=8, image_size=(4, 4))
    ends = make_dataset_fn(unlabelled, "train", global_batch_size=8, image_size=(4, 4), training=False)
    predicting = keras.Sequential([keras.Input((4, 4, 3)), keras.layers.Flatten()])
    predicting.compile("sgd", "mse")
    model = Model()
    model.compile("sgd", jit_compile=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(alone(), steps_per_epoch=2, shuffle=False, verbose=0)
        predicting.predict(ends(), verbose=0)


def check_refuses_other_functions(noise, fit, train_fn, data):
    other_fn = make_dataset_fn(noise, "train", global_batch_size=32, image_size=(4, 4), seed=1, start_step=3)
    steps = []
    counting = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: steps.append(batch))
    with pytest.raises(
        CallError, match=r"fit does not read the data of ResumeCallback's input function \(train: 307 ex"
    ):
        fit(data, steps_per_epoch=2, callbacks=[ResumeCallback(other_fn), counting])
    assert int(other_fn.start_step) == 3, "as it was"
    assert not steps
    fit(data, steps_per_epoch=2, epochs=2, callbacks=[ResumeCallback(train_fn), counting])
    assert len(steps) == 4


def test_a_resume_callback_of_another_function_is_refused_before_the_first_step(noise, train_fn, fit):
    check_refuses_other_functions(noise, fit, train_fn, train_fn())


@pytest.mark.slow
def test_both_hold_under_a_strategy(noise, train_fn):
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    data = strategy.distribute_datasets_from_function(train_fn)
    with strategy.scope():
        fit = make_fit()
    check_refuses_other_functions(noise, fit, train_fn, data)
    check_warns_once_at_its_line(lambda: fit(data, callbacks=[Stop()]))


def test_data_whose_iterator_is_older_than_fit_cannot_be_resumed(train_fn, fit):
    batches = iter(train_fn())
    with pytest.raises(CallError, match="would not continue at the step of the model"):
        fit((batch for batch in batches), steps_per_epoch=2, callbacks=[ResumeCallback(train_fn)])
