import gc
import time

import numpy as np
import pytest
import tensorflow as tf

from shardkit.reader import pipeline_spec

from ..fetch.conftest import (  # noqa: F401 - fixtures
    COUNTS,
    copied,
    encode,
    mixed,
    mixed_source,
    noise,
    noise_source,
    smooth,
)

# Devices are fixed with the first operation, so this cannot wait for the first test that needs several.
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 4
)
# A graph has operations for each image of a chunk, and is optimised before its first batch: up to half of the time of
# these tests, and of the programs that they start. The golden batches are read as users read them (`as_users_read`).
USERS_CHUNK, pipeline_spec.MAX_CHUNK = pipeline_spec.MAX_CHUNK, 2
tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})


@pytest.fixture
def as_users_read(monkeypatch):
    """Optimise graphs, and decode as many images at a time as for users."""
    monkeypatch.setattr(pipeline_spec, "MAX_CHUNK", USERS_CHUNK)
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": False})
    yield
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})


def datasets_of_workers(dataset_fn, num_workers=1, replicas=1):
    """The datasets of all workers. To make them takes long; `start_step` may be assigned between two readings."""
    contexts = [tf.distribute.InputContext(num_workers, w, num_workers * replicas) for w in range(num_workers)]
    return [dataset_fn(context) for context in contexts]


def global_batches(dataset_fn, steps, num_workers=1, replicas=1):
    """The batches of some steps, each put together of what all replicas of all workers get, in order."""
    return joined_batches(datasets_of_workers(dataset_fn, num_workers, replicas), steps, replicas)


def joined_batches(datasets, steps, replicas=1):
    """The same of the datasets of all workers."""
    iterators = [iter(dataset) for dataset in datasets]
    for _ in range(steps):
        parts = [next(iterator) for iterator in iterators for _ in range(replicas)]
        yield tf.nest.map_structure(lambda *part: np.concatenate([np.asarray(one) for one in part]), *parts)


def texts(keys):
    """Keys as batch_keys gives them, of an array of bytes."""
    return [key.decode() for key in keys]


def assert_same(found, expected):
    """Compare elements, or lists of them, value by value."""
    tf.nest.assert_same_structure(found, expected)
    for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
        np.testing.assert_array_equal(one, other)


def soon(condition):
    """Whether it holds within 20 seconds: TensorFlow's threads end some time after their iterator."""
    deadline = time.monotonic() + 20
    while not condition() and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.02)
    return condition()
