"""Write a checkpoint of Grain's DataLoader over `shardkit.open`, or go on from one: print the keys of the next batch.

Arguments: dataset, file of the checkpoint, "write" or "restore".
"""

import json
import sys
from pathlib import Path

import grain.python as pygrain

import shardkit

BATCH = 16


class Key(pygrain.MapTransform):
    """The key."""

    def map(self, example):
        """Return the key of an example."""
        return example.key


def main(dataset, checkpoint, action):
    sampler = shardkit.sampler(dataset, "train", global_batch_size=BATCH)
    batches = iter(
        pygrain.DataLoader(
            data_source=shardkit.open(dataset, "train"),
            sampler=sampler.grain(),
            shard_options=pygrain.NoSharding(),
            operations=[Key(), pygrain.Batch(BATCH)],
        )
    )
    if action == "write":
        next(batches)
        Path(checkpoint).write_bytes(batches.get_state())
    else:
        try:
            batches.set_state(Path(checkpoint).read_bytes())
        except ValueError as error:
            sys.stdout.write(json.dumps(f"refused: {error}"))
            return
    sys.stdout.write(json.dumps([str(key) for key in next(batches)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
