"""A data-parallel JAX loop of one process of several, each with several devices; what it was given, as JSON.

jax_batches.py DATASET RESULT GLOBAL_BATCH_SIZE NUM_STEPS PROCESS_INDEX NUM_PROCESSES ADDRESS
(XLA_FLAGS says how many devices the process has)
"""

import itertools
import json
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from shardkit import reader

dataset, result, *numbers, address = sys.argv[1:]
global_batch_size, num_steps, process_index, num_processes = map(int, numbers)
if num_processes > 1:
    jax.distributed.initialize(address, num_processes, process_index)

mesh = Mesh(np.array(jax.devices()), ("batch",))
over_devices = NamedSharding(mesh, PartitionSpec("batch"))
SHAPE = (8, 8, 3)


def to_global(local):
    """The global array of which this process holds its part."""
    return jax.make_array_from_process_local_data(over_devices, local)


def loss_of(weights, images, labels):
    logits = images.reshape(len(images), -1) @ weights
    return -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(len(labels)), labels])  # over all devices of all processes


@jax.jit
def train_step(weights, images, labels):
    loss, gradient = jax.value_and_grad(loss_of)(weights, images, labels)
    return weights - 0.05 * gradient, loss, jnp.sum(labels)


@jax.jit
@jax.shard_map(mesh=mesh, in_specs=PartitionSpec("batch"), out_specs=PartitionSpec())
def sum_over_devices(labels):
    """The same sum as said by hand: each device its part, then all of them."""
    return jax.lax.psum(jnp.sum(labels), "batch")


def parts(array):
    """What this process's devices hold: [first row, rows] each, in order."""
    shards = sorted(array.addressable_shards, key=lambda shard: shard.index[0].start)
    return [[shard.index[0].start, np.asarray(shard.data).tolist()] for shard in shards]


def read(split, **options):
    return reader.make_dataset(
        dataset,
        split,
        global_batch_size=global_batch_size,
        num_workers=jax.process_count(),
        worker_index=jax.process_index(),
        images=reader.Images(SHAPE[:2], augment="imagenet", mean=(127,) * 3, std=(127,) * 3),
        **options,
    ).as_numpy_iterator()


@jax.jit
def weighed(images, weights):
    """The number of examples evaluated, and the sum of their pixels: padding has weight 0."""
    return jnp.sum(weights), jnp.sum(images * weights[:, None, None, None])


weights = jax.device_put(jnp.zeros((np.prod(SHAPE), 4)), NamedSharding(mesh, PartitionSpec()))
steps = []
for local_images, local_labels in itertools.islice(read("train"), num_steps):
    images, labels = to_global(local_images), to_global(local_labels)
    weights, loss, label_sum = train_step(weights, images, labels)
    steps.append(
        {
            "shape": list(images.shape),
            "images": parts(images),
            "labels": parts(labels),
            "loss": float(loss),
            "label_sum": int(label_sum),
            "psum": int(sum_over_devices(labels)),
        }
    )

evaluated = [
    [float(number) for number in weighed(to_global(images), to_global(example_weights))]
    for images, _, example_weights in read("validation", training=False)  # to its end, which all must reach together
]
facts = {
    "jax": jax.__version__,
    "devices": [jax.device_count(), jax.local_device_count(), jax.process_count()],
    "steps": steps,
    "evaluated": evaluated,
}
with open(result, "w") as file:
    json.dump(facts, file)
