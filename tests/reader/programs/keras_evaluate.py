"""What Keras prints and predicts in evaluations, and the same by plain arithmetic; facts as JSON.

keras_evaluate.py DATASET RESULT NUM_REPLICAS
"""

import json
import sys

import keras
import numpy as np
import tensorflow as tf
from devices import mirrored

from shardkit import reader

dataset, result, num_replicas = sys.argv[1], sys.argv[2], int(sys.argv[3])
# 47 examples in batches of 20: two whole ones and 7 examples, which two replicas cannot share evenly.
CASES = {
    "short": {"last_batch": "short", "global_batch_size": 20},
    "padded": {"global_batch_size": 20},
    "whole": {"global_batch_size": 16, "take": 32},
}
OPTIONS = {"take": 47, "training": False, "images": reader.Images((8, 8), mean=127.5, std=127.5)}
strategy = mirrored(2) if num_replicas == 2 else tf.distribute.get_strategy()


def make_model():
    layers = [keras.layers.Conv2D(4, 3, activation="relu"), keras.layers.Flatten()]
    head = keras.layers.Dense(4, kernel_regularizer=keras.regularizers.L2(0.1))
    return keras.Sequential([keras.Input((8, 8, 3)), *layers, head])


def compile_model(model, reduction, metrics):
    exact_loss = keras.metrics.SparseCategoricalCrossentropy(from_logits=True, name="exact_loss")
    accuracy = keras.metrics.SparseCategoricalAccuracy(name="weighted_accuracy")
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=reduction)
    model.compile(keras.optimizers.SGD(0.0), loss, metrics=metrics, weighted_metrics=[exact_loss, accuracy])


def exact(model, changed):
    """The mean loss and the accuracy over each example once, in float64, without Keras' losses and metrics."""
    one_by_one = OPTIONS | changed | {"global_batch_size": 1}
    keys = reader.make_dataset_fn(dataset, "validation", **one_by_one).keys()
    images, labels = zip(*(pair[:2] for pair in reader.make_dataset(dataset, "validation", **one_by_one)), strict=True)
    logits = np.asarray(model(tf.concat(images, 0), training=False)).astype(np.float64)
    labels = tf.concat(labels, 0).numpy()
    losses = np.log(np.exp(logits).sum(1)) - logits[np.arange(len(labels)), labels]
    regularisation = sum(float(keras.ops.convert_to_numpy(loss)) for loss in model.losses)
    return {
        "data_loss": float(losses.mean()),
        "loss": float(losses.mean()) + regularisation,
        "accuracy": float((logits.argmax(1) == labels).mean()),
        "logits": dict(zip(keys, logits.tolist(), strict=True)),
    }


keras.utils.set_random_seed(1)
functions = {name: reader.make_dataset_fn(dataset, "validation", **OPTIONS | case) for name, case in CASES.items()}
data = {name: strategy.distribute_datasets_from_function(function) for name, function in functions.items()}
train_fn = reader.make_dataset_fn(dataset, "train", global_batch_size=64, images=OPTIONS["images"])
train = strategy.distribute_datasets_from_function(train_fn)
with strategy.scope():
    model = make_model()
printed = {}
for reduction in ("sum_over_batch_size", "mean_with_sample_weight"):
    is_default = not printed
    for name in ("short", "whole", "padded") if is_default else ("short", "padded"):
        with strategy.scope():
            compile_model(model, reduction, [] if name == "padded" else ["accuracy"])  # padded, the reader stops it
        found = model.evaluate(data[name], return_dict=True, verbose=0)
        printed[f"{name}, {reduction}"] = found
        if is_default and name == "short":
            history = model.fit(train, steps_per_epoch=1, validation_data=data[name], shuffle=False, verbose=0).history
            of_fit = {key.removeprefix("val_"): values[0] for key, values in history.items() if key[:4] == "val_"}
            printed["validation of fit"] = of_fit
predicted = model.predict(data["short"], verbose=0)
facts = {
    "printed": printed,
    "exact": {name: exact(model, CASES[name] | {"last_batch": "padded"}) for name in ("short", "whole")},
    "predicted": dict(zip(functions["short"].keys(), predicted.tolist(), strict=True)),
}
with open(result, "w", encoding="utf-8") as file:
    json.dump(facts, file)
