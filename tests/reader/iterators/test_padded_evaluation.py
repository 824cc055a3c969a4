"""Keras' evaluations that count padding stop or warn; those that do not, and custom loops, hear nothing."""

import linecache
import runpy
import subprocess
import sys
import warnings

import numpy as np
import pytest
import tensorflow as tf

from shardkit.reader import make_dataset, make_dataset_fn

from ..training_fixtures import environment

keras = pytest.importorskip("keras")

OPTIONS = {"global_batch_size": 16, "image_size": (4, 4)}
EVALUATION = OPTIONS | {"take": 20, "training": False}  # 16 examples, then 4 and 12 rows of padding
REFUSED = (
    r"the last 12 rows of this evaluation are padding of weight 0, and {}.*set last_batch to short.*weighted_metrics"
)
COUNTED = REFUSED.format(r"Keras counts them in compile\(metrics=...\).*val_loss is wrong too")


def evaluation(dataset, **changed):
    return make_dataset_fn(dataset, "train", **EVALUATION | changed)


@pytest.fixture(scope="module")
def padded(noise):
    """The data of a padded evaluation."""
    return evaluation(noise)()


def make_model(kind=None, **metrics):
    kind = kind or keras.Sequential
    model = kind([keras.Input((4, 4, 3)), keras.layers.Flatten(), keras.layers.Dense(3)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.0), loss, run_eagerly=True, **metrics)
    return model


def plain():
    return make_model(metrics=["accuracy"], weighted_metrics=["accuracy"])


def evaluate(model, data):
    return model.evaluate(data, verbose=0, return_dict=True)


def fit(model, data, dataset, **options):
    train = make_dataset(dataset, "train", **OPTIONS)
    model.fit(train, steps_per_epoch=2, validation_data=data, shuffle=False, verbose=0, **options)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda data: data, id="as it is"),
        pytest.param(lambda data: data.map(lambda x, y, w: (x / 255, y, w)).prefetch(1), id="transformed"),
    ],
)
def test_keras_with_plain_metrics_stops(change, padded):
    with pytest.raises(tf.errors.InvalidArgumentError, match=COUNTED):
        evaluate(plain(), change(padded))


def test_one_of_several_workers_is_not_told_of_short_batches_which_are_for_one_process(noise):
    data = evaluation(noise)(tf.distribute.InputContext(2, 0, 2))
    with pytest.raises(tf.errors.InvalidArgumentError, match="val_loss is wrong too: give compile"):
        evaluate(plain(), data)


def test_weighted_metrics_do_not_help_without_weights(padded):
    data = padded.map(lambda images, labels, weights: (images, labels))
    with pytest.raises(tf.errors.InvalidArgumentError, match=REFUSED.format("the data has lost .* the weights")):
        evaluate(make_model(weighted_metrics=["accuracy"]), data)


def test_fit_stops_before_it_trains(noise, padded):
    steps = []
    counting = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: steps.append(batch))
    with pytest.raises(tf.errors.InvalidArgumentError, match=COUNTED):
        fit(plain(), padded, noise, callbacks=[counting])
    assert not steps


def test_fit_on_other_data_stops_at_its_validation(padded):
    with pytest.raises(tf.errors.InvalidArgumentError, match=COUNTED):
        plain().fit(np.zeros((2, 4, 4, 3)), np.zeros(2), validation_data=padded, verbose=0)


@pytest.mark.parametrize("by", ["function", "function of the user", "dataset"])
def test_the_data_of_a_strategy_stops_too(by, noise):
    strategy, dataset_fn = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]), evaluation(noise)
    distribute = strategy.distribute_datasets_from_function
    data = {
        "function": lambda: distribute(dataset_fn),
        "function of the user": lambda: distribute(lambda context: dataset_fn(context).prefetch(1)),
        "dataset": lambda: strategy.experimental_distribute_dataset(dataset_fn()),
    }[by]()
    with strategy.scope():
        model = plain()
    with pytest.raises(tf.errors.InvalidArgumentError, match=COUNTED):
        evaluate(model, data)


def test_a_loss_without_metrics_warns_once_at_its_line_and_is_that_of_all_rows(noise):
    model, data = make_model(), evaluation(noise)()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        padded = evaluate(model, data)["loss"]
        evaluate(model, data)
    (warning,) = [one for one in caught if "padding" in str(one.message)]
    assert "Keras counts them in the mean loss, so loss and val_loss are too small" in str(warning.message)
    assert "model.evaluate(" in linecache.getline(warning.filename, warning.lineno)
    assert padded == pytest.approx(evaluate(model, evaluation(noise, last_batch="short")())["loss"] * 20 / 32, rel=1e-5)


def test_plain_metrics_count_the_padding_and_weighted_ones_do_not(noise, padded):
    """Why it stops; a newer Keras may need no such stop. A generator hides the data from the reader."""
    model = plain()
    with warnings.catch_warnings():  # of Keras: a generator does not say that it ends
        warnings.simplefilter("ignore")
        found = evaluate(model, (batch for batch in padded))
    exact = evaluate(model, evaluation(noise, last_batch="short")())
    rows = np.concatenate([np.argmax(model(images), 1) == labels for images, labels, _ in padded])
    assert found["weighted_accuracy"] == pytest.approx(exact["accuracy"]) == pytest.approx(rows[:20].mean())
    assert found["accuracy"] == pytest.approx(rows.mean())


class OwnStep(keras.Sequential):
    def test_step(self, data):
        images, labels, weights = data
        right = tf.cast(tf.argmax(self(images), 1, tf.int32) == labels, tf.float32)
        return {"num_right": tf.reduce_sum(right * weights)}


class Loop(keras.callbacks.Callback):
    """A custom loop over padded data, inside of Keras' `fit`."""

    def __init__(self, data):
        super().__init__()
        self.data, self.num_examples = data, 0

    def on_epoch_end(self, epoch, logs=None):
        self.num_examples += sum(int(tf.reduce_sum(weights)) for _, _, weights in self.data)


SILENT = {
    "whole batches": lambda dataset: evaluate(plain(), evaluation(dataset, global_batch_size=10)()),
    "short": lambda dataset: fit(plain(), evaluation(dataset, last_batch="short")(), dataset),
    "weighted": lambda dataset: fit(make_model(weighted_metrics=["accuracy"]), evaluation(dataset)(), dataset),
    "removed": lambda dataset: evaluate(
        plain(), evaluation(dataset)().unbatch().filter(lambda images, labels, weights: weights > 0).batch(16)
    ),
    "predict": lambda dataset: plain().predict(evaluation(dataset)(), verbose=0),
    "a step of the user's": lambda dataset: evaluate(make_model(OwnStep), evaluation(dataset)()),
}


@pytest.mark.parametrize(
    "name",
    [
        name if name in {"short", "weighted", "removed"} else pytest.param(name, marks=pytest.mark.slow)
        for name in SILENT
    ],
)
def test_what_counts_no_padding_hears_nothing(name, noise):
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*padding")
        SILENT[name](noise)


def test_a_custom_loop_hears_nothing_also_within_fit(noise, padded):
    loop = Loop(padded)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*padding")
        fit(plain(), evaluation(noise, last_batch="short")(), noise, callbacks=[loop])
    assert loop.num_examples == 20


def test_an_evaluation_by_keras_2_whose_metrics_cannot_be_seen_warns_once(noise, tmp_path):
    # A stand-in: the package tf_keras is not installed.
    path = tmp_path / "training.py"
    path.write_text("class Model:\n    def evaluate(self, x):\n        return len(list(x))\n")
    model = runpy.run_path(str(path), run_name="tf_keras.src.engine.training")["Model"]()
    data = evaluation(noise)()
    with pytest.warns(UserWarning, match="Keras counts them in all metrics but weighted_metrics") as caught:
        assert [model.evaluate(data) for _ in range(2)] == [2, 2]
    assert [warning.filename for warning in caught] == [__file__]


JAX_PROGRAM = f"""
import keras, sys, tensorflow as tf
from shardkit.reader import make_dataset
model = keras.Sequential([keras.Input((4, 4, 3)), keras.layers.Flatten(), keras.layers.Dense(3)])
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
assert keras.backend.backend() == "jax"
padded, short = [make_dataset(sys.argv[1], "train", last_batch=last, **{EVALUATION}) for last in ("padded", "short")]
train = make_dataset(sys.argv[1], "train", **{OPTIONS})
for call in (model.evaluate, lambda data: model.fit(train, steps_per_epoch=1, validation_data=data)):
    try:
        call(padded)
    except tf.errors.InvalidArgumentError as error:
        assert "padding of weight 0" in str(error)
    else:
        raise AssertionError("not refused")
model.evaluate(short)
"""


@pytest.mark.slow  # a backend of Keras takes a process of its own
def test_it_stops_with_jax_too(noise):
    env = environment(KERAS_BACKEND="jax")
    words = [sys.executable, "-c", JAX_PROGRAM, noise]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
