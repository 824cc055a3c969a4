"""Grain's DataLoader and MapDataset over `shardkit.open`: print the keys of each batch of one rank.

Arguments: dataset, number of ranks, rank, first step, number of steps, Grain's worker processes, "loader" or "map".
"""

import itertools
import json
import sys

import grain
import grain.python as pygrain
import numpy as np

import shardkit

BATCH = 16


class Keep(pygrain.RandomMapTransform):
    """The key, the label, a random number of the record's generator, and the picture's size."""

    def random_map(self, example, rng):
        """Decode in the worker process."""
        return {
            "key": example.key,
            "label": example["label"],
            "number": rng.integers(1 << 30),
            "height": len(example.array()),
        }


def batches(dataset, ranks, rank, start_step, num_steps, workers, api):
    examples = shardkit.open(dataset, "train")
    sampler = shardkit.sampler(
        dataset,
        "train",
        global_batch_size=BATCH,
        num_workers=ranks,
        worker_index=rank,
        start_step=start_step,
        num_steps=num_steps,
        seed=3,
    )
    if api == "loader":
        return pygrain.DataLoader(
            data_source=examples,
            sampler=sampler.grain(worker_count=max(workers, 1)),
            shard_options=pygrain.NoSharding(),
            operations=[Keep(), pygrain.Batch(sampler.batch_size)],
            worker_count=workers,
        )
    dataset = grain.MapDataset.source(sampler.grain())
    dataset = dataset.map(lambda record: Keep().random_map(examples[record.record_key], record.rng))
    dataset = dataset.batch(sampler.batch_size).to_iter_dataset()
    return dataset.mp_prefetch(grain.multiprocessing.MultiprocessingOptions(workers)) if workers else dataset


def main(dataset, ranks, rank, start_step, num_steps, workers, api):
    numbers = [*map(int, (ranks, rank, start_step, num_steps, workers))]
    loader = batches(dataset, *numbers, api)
    found = [(batch["key"].tolist(), np.asarray(batch["number"]).tolist()) for batch in loader]
    # A checkpoint of Grain's own after half of the steps.
    iterator = iter(batches(dataset, *numbers, api))
    half = numbers[3] // 2
    for _ in itertools.islice(iterator, half):
        pass
    state = iterator.get_state()
    resumed = iter(batches(dataset, *numbers, api))
    resumed.set_state(state)
    rest = [batch["key"].tolist() for batch in resumed]
    sys.stdout.write(json.dumps({"batches": found, "resumed": rest, "half": half}))


if __name__ == "__main__":
    main(*sys.argv[1:])
