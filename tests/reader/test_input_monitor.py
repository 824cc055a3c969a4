"""InputMonitor in Keras' own `fit`: the share of waiting, where the values go, and that training stays the same."""

import subprocess
import sys
import time

import keras
import numpy as np
import pytest
import tensorflow as tf

from shardkit import reader
from shardkit.errors import CallError
from shardkit.reader import callbacks, loading
from shardkit.reader.callbacks import StepTimes

from ..cli.calling import environment

DELAY_SECONDS = 0.04


class Sleep(keras.layers.Layer):
    """A layer that takes time and learns nothing."""

    def call(self, images):
        return sleeping(images)


def sleeping(images):
    def sleep(found):
        time.sleep(DELAY_SECONDS)
        return found

    slept = tf.py_function(sleep, [tf.stop_gradient(images)], tf.float32)
    return tf.ensure_shape(slept, images.shape)


def compiled(*layers, **options):
    model = keras.Sequential([keras.Input((8, 8, 3)), *layers, keras.layers.Flatten(), keras.layers.Dense(3)])
    model.layers[-1].kernel.assign(tf.zeros_like(model.layers[-1].kernel))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(1e-6), loss, jit_compile=False, **options)
    return model


@pytest.fixture(scope="module")
def train_fn(noise):
    return reader.make_dataset_fn(noise, "train", global_batch_size=16, image_size=(8, 8))


def scalars(folder):
    """The names and values of the scalars in TensorBoard's files, in the order of steps."""
    found = {}
    for file in sorted(folder.glob("train/events.out.tfevents.*")):
        for event in tf.compat.v1.train.summary_iterator(str(file)):
            for value in event.summary.value:
                if value.HasField("tensor") and value.tag.startswith("epoch_"):
                    found.setdefault(value.tag, []).append(float(tf.make_ndarray(value.tensor)))
    return found


def test_with_a_slow_input_training_waits_and_all_logs_say_so(train_fn, noise, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(callbacks, "trained", {str(noise)})  # other tests of this process read other datasets
    slow = train_fn().map(lambda images, labels: (sleeping(images), labels))
    monitor = reader.InputMonitor()
    board = keras.callbacks.TensorBoard(tmp_path, write_graph=False)
    options = {"steps_per_epoch": 8, "epochs": 2, "verbose": 0, "shuffle": False}
    history = compiled().fit(slow, callbacks=[monitor, board], **options).history
    assert min(history["waiting_for_input"]) > 0.5
    # Of 8 steps 6 are measured, and one batch takes at least DELAY_SECONDS.
    assert monitor.times.num_images == 2 * 6 * 16
    assert max(history["images_per_second"]) < 16 / DELAY_SECONDS
    written = scalars(tmp_path)
    assert written["epoch_waiting_for_input"] == pytest.approx(history["waiting_for_input"])
    assert written["epoch_images_per_second"] == pytest.approx(history["images_per_second"], rel=1e-4)
    assert capsys.readouterr().out == f"{monitor.advice}\n"
    assert f"shardkit bench {noise} --target " in monitor.advice


def test_with_a_slow_model_training_does_not_wait(train_fn):
    monitor = reader.InputMonitor()
    compiled(Sleep()).fit(train_fn(), steps_per_epoch=12, verbose=0, shuffle=False, callbacks=[monitor])
    assert monitor.times.share_waiting < 0.5
    assert 0 < monitor.times.images_per_second < 16 / DELAY_SECONDS


def batches(count):
    """Batches that differ, and end."""
    images = np.arange(count * 4 * 192, dtype="float32").reshape(count * 4, 8, 8, 3) / 1000
    return tf.data.Dataset.from_tensor_slices((images, np.arange(count * 4) % 3)).batch(4)


@pytest.mark.parametrize(
    ("devices", "data", "execution", "options"),
    [
        (2, batches(5).repeat(), {}, {"steps_per_epoch": 5}),
        # Keras does not know the length, and the data ends within an execution.
        (1, batches(5).filter(lambda *_: True), {"steps_per_execution": 2}, {}),
    ],
)
def test_training_is_the_same_with_and_without_it(devices, data, execution, options):
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]) if devices == 2 else tf.distribute.get_strategy()
    found = []
    for monitors in ([], [reader.InputMonitor()]):
        with strategy.scope():
            model = compiled(**execution)
        model.make_train_function()
        function = model.train_function
        history = model.fit(data, epochs=2, verbose=0, shuffle=False, callbacks=monitors, **options).history
        assert model.train_function is function
        found.append((history["loss"], model.get_weights()[0], int(model.optimizer.iterations.numpy())))
    (loss, weights, steps), (loss_monitored, weights_monitored, steps_monitored) = found
    assert steps == steps_monitored == 10
    assert loss_monitored == pytest.approx(loss, rel=1e-5)
    assert weights.any()
    assert np.allclose(weights_monitored, weights, rtol=1e-4)
    assert monitors[0].times.num_images == 2 * 3 * 4


def test_a_fit_that_failed_leaves_nothing_that_measures_twice():
    class Interrupt(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            raise KeyboardInterrupt

    model, monitor = compiled(), reader.InputMonitor()
    with pytest.raises(KeyboardInterrupt):
        model.fit(batches(4), verbose=0, shuffle=False, callbacks=[monitor, Interrupt()])
    model.fit(batches(4), verbose=0, shuffle=False, callbacks=[monitor])
    assert monitor.times.num_images == 2 * 4


def test_epochs_of_two_steps_have_no_values():
    monitor = reader.InputMonitor()
    history = compiled().fit(batches(2), epochs=2, verbose=0, shuffle=False, callbacks=[monitor]).history
    assert history.keys() == {"loss"}
    assert monitor.advice == "InputMonitor measured nothing: it needs epochs of at least three steps."


def test_another_backend_is_refused(monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "torch")
    with pytest.raises(CallError, match="backends tensorflow and jax of Keras; found torch; set KERAS_BACKEND"):
        compiled().fit(batches(1), verbose=0, shuffle=False, callbacks=[reader.InputMonitor()])


@pytest.mark.parametrize(
    ("seconds_waited", "advice"),
    [
        (
            6.3,
            (
                "Training waited for input 63% of the time (630 images/s); without waiting it would be 1,703 images/s."
                " Run `shardkit bench 'my data' --target 1703` to see what would help."
            ),
        ),
        (
            10,
            (
                "Training waited for input 100% of the time (630 images/s); run `shardkit bench 'my data'` to see "
                "what would help."
            ),
        ),
        (0.42, "Training waited for input 4.2% of the time (630 images/s); the input is fast enough."),
    ],
)
def test_the_advice_has_the_figures(seconds_waited, advice):
    assert StepTimes(num_images=6300, seconds=10, seconds_waited=seconds_waited).advice("my data") == advice


def test_the_dataset_is_named_if_this_process_trains_on_only_one(noise, monkeypatch):
    known = set()
    monkeypatch.setattr(callbacks, "trained", known)
    monkeypatch.setattr(loading, "trained", known)
    monitor = reader.InputMonitor()
    monitor.times = StepTimes(num_images=1, seconds=2, seconds_waited=1)
    assert "shardkit bench DATASET " in monitor.advice
    options = {"global_batch_size": 16, "image_size": (8, 8)}
    for training in (True, True, False):
        reader.make_dataset_fn(noise, "train", training=training, **options)
    assert f"shardkit bench {noise} " in monitor.advice
    known.add("other")
    assert "shardkit bench DATASET " in monitor.advice


JAX_PROGRAM = """
import keras, numpy as np, tensorflow as tf
from shardkit import reader

data = tf.data.Dataset.from_tensors((np.ones((4, 8, 8, 3), "float32"), np.zeros(4, "int32"))).repeat(10)
losses = []
for callbacks in ([], [reader.InputMonitor()]):
    for steps in (1, 3):
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.Input((8, 8, 3)), keras.layers.Flatten(), keras.layers.Dense(3)])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile("sgd", loss, steps_per_execution=steps)
        losses.append(model.fit(data, epochs=2, verbose=0, shuffle=False, callbacks=callbacks).history["loss"])
        assert not callbacks or callbacks[0].times.num_images == 2 * 8 * 4
assert keras.backend.backend() == "jax"
assert np.allclose(losses[0], losses[2]) and np.allclose(losses[1], losses[3]), losses
"""


@pytest.mark.slow  # a backend of Keras takes a process of its own
def test_with_jax_training_is_the_same_too():
    env = environment(KERAS_BACKEND="jax", TF_CPP_MIN_LOG_LEVEL="3")
    done = subprocess.run([sys.executable, "-c", JAX_PROGRAM], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
