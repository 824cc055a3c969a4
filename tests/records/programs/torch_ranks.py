"""One rank of `torchrun`: print the keys of each global batch, gathered over all ranks by torch.distributed.

Arguments: dataset, first step, number of steps, worker processes of the DataLoader, their start method.
"""

import itertools
import json
import sys

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

import shardkit

SIDE = 8


def collate(examples):
    """Decode in the worker process: what a trainer gets is a tensor, labels and here the keys."""
    pixels = [torch.from_numpy(example.array().copy()) for example in examples]
    images = torch.stack([image[:SIDE, :SIDE].permute(2, 0, 1) for image in pixels])
    return images, torch.tensor([example["label"] for example in examples]), [example.key for example in examples]


def main(dataset, start_step, num_steps, num_processes, start_method):
    dist.init_process_group("gloo")
    examples = shardkit.open(dataset, "train")
    sampler = shardkit.sampler(
        dataset,
        "train",
        global_batch_size=16,
        num_workers=dist.get_world_size(),
        worker_index=dist.get_rank(),
        start_step=int(start_step),
        seed=3,
    )
    loader = DataLoader(
        examples,
        batch_sampler=sampler.batches,
        num_workers=int(num_processes),
        multiprocessing_context=start_method if int(num_processes) else None,
        collate_fn=collate,
    )
    gathered = []
    for images, labels, keys in itertools.islice(loader, int(num_steps)):
        assert images.shape == (len(keys), 3, SIDE, SIDE)
        assert images.dtype == torch.uint8
        assert [examples[key]["label"] for key in keys] == labels.tolist()
        parts = [None] * dist.get_world_size()
        dist.all_gather_object(parts, keys)
        gathered.append([key for part in parts for key in part])
    if dist.get_rank() == 0:
        sys.stdout.write(json.dumps(gathered))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
