"""Every way to read, with TensorFlow's deterministic operations, which are a setting of the whole process.

deterministic.py DATASET RESULT OTHER_DATASET

RESULT becomes {case: problem}; a problem is null, the error of the case, or what it read.
"""

import itertools
import json
import sys

import keras
import numpy as np
import tensorflow as tf

from shardkit import reader
from shardkit.reader.iterators.start_steps import RandomStart

dataset, result, other = sys.argv[1:]
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
tf.config.experimental.enable_op_determinism()
# As users read: TensorFlow has rewritten such graphs wrongly. See `fork_server.py`.
tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": False})
MIRRORED = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
SIZE = {"images": reader.Images((4, 4), augment="imagenet")}


def with_key(features, _seed):
    return {"image": features["image"], "key": features["key"]}


def make(source=dataset, **options):
    return reader.make_dataset_fn(source, "train", **({"global_batch_size": 16} | options))


def expect_keys(batches, dataset_fn, steps=2):
    found = [[key.decode() for key in np.asarray(batch["key"])] for batch in itertools.islice(batches, steps)]
    if found != [dataset_fn.batch_keys(step) for step in range(steps)]:
        raise AssertionError(found)


def features(**options):
    train_fn = make(**options)
    expect_keys(iter(train_fn()), train_fn)


def images(**options):
    train_fn = make(**SIZE, **options)
    first, second = (next(train_fn().as_numpy_iterator()) for _ in range(2))
    tf.nest.map_structure(np.testing.assert_array_equal, first, second)


def mirrored():
    train_fn = make(map_fn=with_key, **SIZE)
    batches = iter(MIRRORED.distribute_datasets_from_function(train_fn))
    joined = ({"key": np.concatenate([np.asarray(one) for one in batch["key"].values])} for batch in batches)
    expect_keys(joined, train_fn)


def evaluation():
    seen = sum(float(tf.reduce_sum(batch["weight"])) for batch in make(training=False)())
    if seen != 307:
        raise AssertionError(seen)


def model():
    made = keras.Sequential([keras.Input((4, 4, 3)), keras.layers.Flatten(), keras.layers.Dense(3)])
    made.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return made


def fit():
    train_fn = make(**SIZE)
    model().fit(train_fn(), steps_per_epoch=2, validation_data=make(training=False, **SIZE)(), verbose=0)


def service():
    dispatcher = tf.data.experimental.service.DispatchServer()
    address = dispatcher.target.split("://")[1]
    worker = tf.data.experimental.service.WorkerServer(
        tf.data.experimental.service.WorkerConfig(dispatcher_address=address)
    )
    train_fn = make(service=dispatcher.target)
    expect_keys(iter(train_fn()), train_fn)
    del worker


def independent_workers():
    stream = make(independent_workers=True)()
    first, second = (next(iter(stream))["key"].numpy().tolist() for _ in range(2))
    drawn = {int(tf.function(RandomStart(192, 12).read_value)()) for _ in range(3)}
    if first == second or len(drawn) < 3:
        raise AssertionError((first, drawn))


def restored():
    batches = iter(make()())
    next(batches)
    path = tf.train.Checkpoint(iterator=batches).write(f"{result}-checkpoint")
    again = iter(make()())
    tf.train.Checkpoint(iterator=again).read(path).assert_consumed()
    try:
        for _ in range(30):
            next(again)
    except tf.errors.InvalidArgumentError as error:
        if "cannot be restored from a checkpoint" not in str(error):
            raise
    else:
        raise AssertionError


def photographs():
    """Decoded one by one and batched: each of several datasets, as TensorFlow fails at some of them only."""
    for _ in range(3):
        next(iter(make(images=reader.Images((512, 512)), cache=None)()))


CASES = {
    "full": features,
    "photographs": photographs,
    "mixture and skip": lambda: images(source=[(dataset, 2), (other, 1)], on_corrupt="skip"),
    "mixup": lambda: images(batch_map_fn=reader.mixup(3)),
    "mirrored": mirrored,
    "evaluation": evaluation,
    "fit": fit,
    "service": service,
    "independent workers": independent_workers,
    "restored": restored,
}


def problem(case):
    tf.random.set_seed(1)  # as programs do that want the same numbers in each run
    try:
        case()
    except Exception as error:  # noqa: BLE001 - the test shows it
        return f"{type(error).__name__}: {error}"


with open(result, "w") as file:
    json.dump({name: problem(case) for name, case in CASES.items()}, file)
