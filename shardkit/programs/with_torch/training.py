"""Train on all GPUs of this machine, or of several machines, and evaluate after each epoch.

    python train.py                                        # on one GPU, or the CPU
    torchrun --standalone --nproc-per-node gpu train.py    # on all GPUs of this machine
    torchrun --nnodes 2 --nproc-per-node gpu --rdzv-backend c10d --rdzv-endpoint host:29500 train.py    # on each of two

Interrupted, the same command goes on at the last checkpoint, with the batches that would have followed. It needs
`pip install 'shardkit[convert]' torch torchvision`. `shardkit script` wrote it; the numbers to change come first.
"""

import math
import os
import time
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import shardkit
from shardkit.programs.parts.settings import (
    CHECKPOINTS,
    DATASET,
    EPOCHS,
    GLOBAL_BATCH_SIZE,
    LEARNING_RATE,
    SEED,
    STEPS_PER_CHECKPOINT,
    TRAIN,
    WARM_UP,
    WEIGHT_DECAY,
)
from shardkit.programs.with_torch.classification import make_model, measure, summary
from shardkit.programs.with_torch.reading import train_batches, validation_batches

PIXEL_MEAN = (127.5, 127.5, 127.5)  # of red, green and blue, 0 to 255; the network sees (value - mean) / deviation
PIXEL_DEVIATION = (127.5, 127.5, 127.5)


def learning_rate(step: int, num_steps: int) -> float:
    """Return the learning rate of a step, from 0: a line up, then a cosine down to 0."""
    num_warm_up = int(WARM_UP * num_steps)
    if step < num_warm_up:
        return LEARNING_RATE * (step + 1) / num_warm_up
    done = (step - num_warm_up) / max(1, num_steps - num_warm_up)
    return LEARNING_RATE * (1 + math.cos(math.pi * done)) / 2


def main() -> None:
    """Train, from the last checkpoint if there is one."""
    # torchrun sets these variables in each of its processes, one for each GPU.
    rank, num_ranks = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
    if num_ranks > 1:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    # bfloat16 needs no scaling of the loss, unlike float16.
    is_mixed = device.type == "cuda" and torch.cuda.is_bf16_supported()
    precision = torch.autocast(device.type, torch.bfloat16, enabled=is_mixed)

    manifest = shardkit.read_manifest(DATASET)
    steps_per_epoch = math.ceil(manifest.splits[TRAIN].num_examples / GLOBAL_BATCH_SIZE)
    num_steps = EPOCHS * steps_per_epoch
    torch.manual_seed(SEED)  # all ranks begin with the same weights
    network = make_model(len(manifest.classes)).to(device, memory_format=torch.channels_last)
    if num_ranks > 1 and device.type == "cuda":  # the means of a GPU's small part of the batch would be noisy
        network = torch.nn.SyncBatchNorm.convert_sync_batchnorm(network)
    optimizer = torch.optim.AdamW(network.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    start, checkpoint = 0, os.path.join(CHECKPOINTS, "last.pt")
    if os.path.exists(checkpoint):
        saved = torch.load(checkpoint, map_location=device, weights_only=True)
        network.load_state_dict(saved["network"])
        optimizer.load_state_dict(saved["optimizer"])
        start = saved["step"]
    model = DistributedDataParallel(network) if num_ranks > 1 else network

    mean, deviation = (torch.tensor(each, device=device)[:, None, None] for each in (PIXEL_MEAN, PIXEL_DEVIATION))

    def on_device(value: Any) -> Any:
        """Return a tensor of labels, a dict of them, or images as float32 about 0."""
        if isinstance(value, dict):
            return {name: on_device(each) for name, each in value.items()}
        value = value.to(device, non_blocking=True)
        if value.dtype != torch.uint8:
            return value
        return (value.contiguous(memory_format=torch.channels_last) - mean) / deviation

    def sum_of_ranks(values: Any) -> Any:
        if num_ranks > 1:
            dist.all_reduce(values)
        return values.cpu().numpy()

    def evaluate() -> dict[str, float]:
        network.eval()
        sums: dict[str, Any] = {}
        for buffer in network.buffers() if num_ranks > 1 else ():
            dist.broadcast(buffer, 0)  # means and variances, of which each rank has its own
        with torch.no_grad(), precision:
            for batch, weight in validation_batches(rank, num_ranks):
                values = measure(network, *map(on_device, batch))
                values["examples"] = torch.ones_like(values["loss"])
                for name, each in values.items():
                    sums[name] = sums.get(name, 0) + weight * each.double().sum(0)
        network.train()
        total = {name: sum_of_ranks(each) for name, each in sums.items()}
        return summary(total, total.pop("examples"))

    def save(step: int) -> None:
        os.makedirs(CHECKPOINTS, exist_ok=True)
        state = {"network": network.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
        torch.save(state, f"{checkpoint}.new")
        os.replace(f"{checkpoint}.new", checkpoint)  # whole, or not at all

    if rank == 0:
        print(f"from step {start} to {num_steps}, {steps_per_epoch} an epoch")
    batches = iter(train_batches(rank, num_ranks, start))
    total_loss, since, waited, begun = torch.zeros([], device=device), start, 0.0, time.monotonic()
    for step in range(start, num_steps):
        asked = time.monotonic()
        batch = next(batches)
        waited += time.monotonic() - asked
        torch.manual_seed(hash((SEED, step, rank)))  # of dropout: a step is the same after an interruption
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, num_steps)
        with precision:
            loss = measure(model, *map(on_device, batch))["loss"].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total_loss += loss.detach()
        is_end = (step + 1) % steps_per_epoch == 0
        if rank == 0 and (is_end or (step + 1) % STEPS_PER_CHECKPOINT == 0):
            save(step + 1)
        if is_end:
            mean_loss, results = sum_of_ranks(total_loss) / num_ranks / (step + 1 - since), evaluate()
            total_loss, since = torch.zeros_like(total_loss), step + 1
            if rank == 0:
                shown = ", ".join(f"{name} {value:.4g}" for name, value in results.items())
                epoch = (step + 1) // steps_per_epoch
                print(f"epoch {epoch} of {EPOCHS}: loss {mean_loss:.4g}; validation: {shown}", flush=True)
    if rank == 0:
        print(f"waited for input {waited / (time.monotonic() - begun):.1%} of the time")
    if num_ranks > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
