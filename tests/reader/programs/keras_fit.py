"""Keras `fit` with validation data, then `evaluate`, under MirroredStrategy of 2 devices; facts as JSON.

keras_fit.py DATASET RESULT GLOBAL_BATCH_SIZE EPOCHS
"""

import json
import sys
import warnings

import keras
import numpy as np
from devices import mirrored
from recording import Recorder, classifier, keys_of_ids, with_id

from shardkit import reader

dataset, result, *numbers = sys.argv[1:]
global_batch_size, epochs = map(int, numbers)
warnings.filterwarnings("error", message="Your input ran out of data")
strategy = mirrored(2)
options = {"global_batch_size": global_batch_size, "image_size": (8, 8), "map_fn": with_id}
train_fn = reader.make_dataset_fn(dataset, "train", **options)
validation_fn = reader.make_dataset_fn(dataset, "validation", training=False, **options)


class StepCounter(keras.callbacks.Callback):
    """Steps of every epoch and of every validation."""

    def __init__(self):
        super().__init__()
        self.train_steps, self.test_steps = [], []

    def on_epoch_begin(self, epoch, logs=None):
        self.train_steps.append(0)

    def on_train_batch_end(self, batch, logs=None):
        self.train_steps[-1] += 1

    def on_test_begin(self, logs=None):
        self.test_steps.append(0)

    def on_test_batch_end(self, batch, logs=None):
        self.test_steps[-1] += 1


counter, recorder = StepCounter(), Recorder(result + ".log")
with strategy.scope():
    model = classifier(recorder, 8 * 8 * 3)
    model.compile(
        keras.optimizers.SGD(0.1),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        weighted_metrics=[
            keras.metrics.SparseCategoricalAccuracy(name="accuracy"),
            keras.metrics.SparseCategoricalCrossentropy(from_logits=True, name="crossentropy"),
        ],
        jit_compile=False,
    )
validation = strategy.distribute_datasets_from_function(validation_fn)
history = model.fit(
    strategy.distribute_datasets_from_function(train_fn),
    steps_per_epoch=train_fn.steps_per_epoch,
    epochs=epochs,
    validation_data=validation,
    callbacks=[counter],
    shuffle=False,
    verbose=0,
)
metrics = model.evaluate(validation, return_dict=True, callbacks=[counter], verbose=0)

# The same metrics by plain arithmetic over each example once, in batches that Keras has no part in.
kernel, bias = model.get_weights()
alone = reader.make_dataset(
    dataset, "validation", global_batch_size=1, training=False, image_size=(8, 8), map_fn=with_id
)
logits, labels = [], []
for features, label, _ in alone.as_numpy_iterator():
    logits.append((features[:, :-1] @ kernel + bias)[0].astype(np.float64))
    labels.append(int(label[0]))
logits, labels = np.array(logits), np.array(labels)
losses = np.log(np.exp(logits).sum(1)) - logits[np.arange(len(labels)), labels]
independent = {"accuracy": float((logits.argmax(1) == labels).mean()), "crossentropy": float(losses.mean())}

every = [
    reader.make_dataset_fn(dataset, split, global_batch_size=1, training=False) for split in ("train", "validation")
]
keys = keys_of_ids([key for one in every for step in range(one.num_examples) for key in one.batch_keys(step)])
with open(result + ".log") as log:
    lines = [json.loads(line) for line in log]
facts = {
    "lines": [[training, replica, [keys[key_id] for key_id in ids]] for training, replica, ids in lines],
    "train_steps": counter.train_steps,
    "test_steps": counter.test_steps,
    "metrics": metrics,
    "last_validation": {name: history.history["val_" + name][-1] for name in independent},
    "independent": independent,
    "num_evaluated": len(labels),
}
with open(result, "w") as file:
    json.dump(facts, file)
