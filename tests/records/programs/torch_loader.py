"""PyTorch's DataLoader in one process: the sequence without a collate function, as `sampler=`, and pickled examples.

Argument: dataset. Prints a JSON object.
"""

import json
import pickle
import sys

from torch.utils.data import DataLoader, Dataset

import shardkit


def keep(examples):
    """A batch is the list of its examples, pickled by the worker process."""
    return examples


def main(dataset):
    examples = shardkit.open(dataset, "train")
    sampler = shardkit.sampler(dataset, "train", global_batch_size=16, num_steps=5, seed=3)
    found = {"is_sized": len(DataLoader(examples, sampler=sampler, batch_size=16))}
    by_sampler = DataLoader(examples, sampler=sampler, batch_size=sampler.batch_size, collate_fn=keep, num_workers=2)
    found["by_sampler"] = [[example.key for example in batch] for batch in by_sampler]
    # The default collate function makes of mappings a mapping of lists and tensors.
    same_size = shardkit.open(dataset, "train")[:8]
    batch = next(iter(DataLoader(same_size, batch_size=4)))
    found["default"] = {"labels": batch["label"].tolist(), "keys": batch["key"], "bytes": [*map(len, batch["image"])]}
    # PyTorch's own samplers and splits see a map-style dataset.
    shuffled = DataLoader(examples, batch_size=10, shuffle=True, collate_fn=keep, num_workers=1)
    found["shuffled"] = sorted(example.key for batch in shuffled for example in batch)
    found["is_map_style"] = not isinstance(examples, Dataset) and hasattr(examples, "__getitem__")
    found["pickled"] = len(pickle.dumps(examples))
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
