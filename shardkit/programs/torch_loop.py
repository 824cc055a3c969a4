"""Train by PyTorch on one GPU, all GPUs of one machine or of several, or a CPU, and validate after each epoch.

    python train.py                                        # on one GPU, or the CPU
    python train.py --epochs 50 --batch-size 128 --weights none
    python train.py --help
    torchrun --standalone --nproc-per-node gpu train.py    # on all GPUs of this machine
    torchrun --nnodes 2 --nproc-per-node gpu --rdzv-backend c10d --rdzv-endpoint host:29500 train.py    # on each of two

Interrupted, the same command continues at the last checkpoint, with the batches that would have followed. The trained
weights are in the last checkpoint, `checkpoints/last.pt`. The program needs `pip install 'shardkit[convert]' torch
torchvision`. `shardkit script` printed it; it is yours to change.
"""

import argparse
import math
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
import torchvision
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import v2

import shardkit
from shardkit.errors import ShardkitError

# Values of the dataset.
DATASET = "OUT"
TRAIN = "train"
VALIDATION = "validation"
FOLD: tuple[int, int] | None = None  # (0, 10): validate on a tenth of the split, and train on the rest
WHERE: str | None = None  # a condition on the examples, such as "label >= 0": those with a label
LABELS = "class"  # of an image: a "class", several "classes", or "numbers"
MEANS: tuple[float, ...] = ()  # of numbers
DEVIATIONS: tuple[float, ...] = ()
IMAGE_SIZE = (64, 64)  # height and width in pixels
CROP_SCALE = (0.8, 1.0)  # share of an image that a random crop for training covers
PHOTOGRAPHS = False  # True: ResNet-50; False: six convolutions, for small images
DROPOUT = 0.2  # share of the features that a training step leaves out
BATCH_SIZE = 64
EPOCHS = 20

# Values to experiment with.
FLIP = True  # mirror half of the images; False if left and right matter, as in text
LEARNING_RATE = 1e-3  # after the warm-up; it then falls to 0 along a cosine
WARM_UP = 0.05  # share of the steps
WEIGHT_DECAY = 1e-2
PROCESSES = 4  # that read and decode, for each GPU; 0: the training process itself
STEPS_PER_CHECKPOINT = 500  # one is also saved after each epoch
SEED = 0  # of the weights, the order of the examples, and augmentation
# The network sees (value - mean) / deviation of red, green and blue, 0 to 255; photographs as torchvision's weights.
MEAN, DEVIATION = ((123.675, 116.28, 103.53), (58.395, 57.12, 57.375)) if PHOTOGRAPHS else ((127.5,) * 3,) * 2


def positive(text: str) -> int:
    """Return the number of a flag."""
    if (number := int(text)) < 1:
        raise ValueError
    return number


def parse_flags(arguments: list[str] | None) -> argparse.Namespace:
    """Return the flags by name."""
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    weights = ["imagenet", "none"] if PHOTOGRAPHS else ["none"]
    parser.add_argument("--dataset", default=DATASET, help="folder of the dataset")
    parser.add_argument("--checkpoints", default="checkpoints", help="folder of the checkpoint and the trained model")
    parser.add_argument("--epochs", type=positive, default=EPOCHS, help="passes over the training examples")
    parser.add_argument("--batch-size", type=positive, default=BATCH_SIZE, help="examples of a step, over all GPUs")
    parser.add_argument("--weights", choices=weights, default=weights[0], help="weights at the start; none: random")
    return parser.parse_args(arguments)


def prepare(example: Any, *, training: bool) -> Any:
    """Return the image of an example, uint8 [3, height, width], and its label; evaluation sees the centre."""
    image, label = torch.from_numpy(example.array()).permute(2, 0, 1), example["label"] if LABELS == "class" else None
    if training:
        image = v2.RandomResizedCrop(IMAGE_SIZE, CROP_SCALE, antialias=True)(image)
        image = v2.RandomHorizontalFlip()(image) if FLIP else image
    else:
        scale = np.max(np.divide(IMAGE_SIZE, image.shape[1:]))
        size = [max(side, round(scale * old)) for side, old in zip(IMAGE_SIZE, image.shape[1:], strict=True)]
        image = v2.functional.center_crop(v2.functional.resize(image, size, antialias=True), list(IMAGE_SIZE))
    if LABELS == "classes":
        label = torch.zeros(len(example.class_names))
        label[example.labels] = 1
    elif LABELS == "numbers":
        label = torch.tensor(example.targets)
    return image, label


class Prepared(Dataset[Any]):
    """Tensors of the examples of a split; an index is the number of an example, and a step of the training."""

    def __init__(self, dataset: str, split: str, *, training: bool) -> None:
        self.examples = shardkit.open(dataset, split, where=WHERE, fold=FOLD, training=training)
        self.training = training

    def __getitem__(self, place: tuple[int, int]) -> Any:
        """Return the tensors; their random numbers depend on the place alone, not on the process or the machine."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(hash((SEED, *place)))
            return prepare(self.examples[place[0]], training=self.training)


def loader_of(dataset: Dataset[Any], places: Any) -> Any:
    """Return the batches at some lists of places."""
    pin = torch.cuda.is_available()
    return DataLoader(dataset, batch_sampler=places, num_workers=PROCESSES, pin_memory=pin)


def train_batches(dataset: str, prepared: Prepared, batch_size: int, rank: int, num_ranks: int, start_step: int) -> Any:
    """Return this rank's part of each global batch; the batches are the same for any number of ranks."""
    sampler = shardkit.sampler(
        dataset,
        TRAIN,
        fold=FOLD,
        global_batch_size=batch_size,
        num_workers=num_ranks,
        worker_index=rank,
        seed=SEED,
        start_step=start_step,
        where=WHERE,
    )

    def places() -> Iterator[list[tuple[int, int]]]:
        for step, numbers in enumerate(sampler.batches, start_step):
            yield [(number, step) for number in numbers]

    return loader_of(prepared, places())


def validation_batches(prepared: Prepared, size: int, rank: int, num_ranks: int) -> Iterator[tuple[Any, float]]:
    """Yield this rank's part of the examples, each exactly once, and 1; one example and 0 if there is none left."""
    numbers = [*range(rank, len(prepared.examples), num_ranks)]
    places = [(number, 0) for number in numbers or [0]]
    for batch in loader_of(prepared, [places[at : at + size] for at in range(0, len(places), size)]):
        yield batch, float(bool(numbers))


def make_model(weights: str, num_classes: int) -> nn.Module:
    """Return a model from images to [batch, outputs]: one logit for each class, or standardised numbers."""
    if PHOTOGRAPHS:
        try:
            network = torchvision.models.resnet50(weights=None if weights == "none" else "DEFAULT")
        except OSError as error:
            sys.exit(f"cannot get the weights {weights!r}: {error}; to start from random ones: --weights none")
        layers, inputs = list(network.children())[:-2], network.fc.in_features  # without pooling and classes
    else:
        layers, inputs = list[Any](), 3
        for width in (32, 64, 128):
            for stride in (1, 2):
                layers += [nn.Conv2d(inputs, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
                inputs = width
    pool = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(DROPOUT)]
    return nn.Sequential(*layers, *pool, nn.Linear(inputs, len(MEANS) or num_classes))


def measure(outputs: Any, labels: Any) -> dict[str, Any]:
    """Return the loss and a score of each example, float32 [batch]."""
    if LABELS == "class":
        losses = nn.functional.cross_entropy(outputs, labels, reduction="none")
        return {"loss": losses, "accuracy": (outputs.argmax(-1) == labels).float()}
    if LABELS == "classes":
        given = (outputs > 0).float()
        losses = nn.functional.binary_cross_entropy_with_logits(outputs, labels, reduction="none")
        both, either = (given * labels).sum(-1), torch.maximum(given, labels).sum(-1)
        overlaps = torch.where(either > 0, both / either.clamp(min=1), 1.0)  # of the true and the predicted classes
        return {"loss": losses.mean(-1), "overlap": overlaps}
    deviations = outputs.new_tensor(DEVIATIONS)
    errors = outputs - (labels - labels.new_tensor(MEANS)) / deviations
    return {"loss": errors.square().mean(-1), "error": (errors * deviations).abs().mean(-1)}


def learning_rate(step: int, num_steps: int) -> float:
    """Return the learning rate of a step, from 0: a line up, then a cosine down to 0."""
    warm_up = int(WARM_UP * num_steps)
    if step < warm_up:
        return LEARNING_RATE * (step + 1) / warm_up
    done = (step - warm_up) / max(1, num_steps - warm_up)
    return LEARNING_RATE * (1 + math.cos(math.pi * done)) / 2


def main(arguments: list[str] | None = None) -> None:
    """Train, from the last checkpoint if there is one."""
    flags = parse_flags(arguments)
    settings = {"program": "PyTorch loop", "seed": SEED, "batch_size": flags.batch_size, "image_size": IMAGE_SIZE}
    shardkit.check_checkpoints(flags.checkpoints, flags.dataset, **settings)
    # torchrun sets these variables in each of its processes, one for each GPU.
    rank, num_ranks = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    manifest = shardkit.read_manifest(flags.dataset)
    train = Prepared(flags.dataset, TRAIN, training=True)
    validation = Prepared(flags.dataset, VALIDATION, training=False)
    steps_per_epoch = math.ceil(len(train.examples) / flags.batch_size)
    num_steps = flags.epochs * steps_per_epoch
    start, checkpoint = 0, os.path.join(flags.checkpoints, "last.pt")
    saved = torch.load(checkpoint, map_location="cpu", weights_only=True) if os.path.exists(checkpoint) else None
    if saved is not None and saved["step"] >= num_steps:
        if rank == 0:
            print(f"already trained: {saved['step'] // steps_per_epoch} of {flags.epochs} epochs")
        return
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
    if num_ranks > 1:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    # bfloat16 needs no scaling of the loss, unlike float16.
    is_mixed = device.type == "cuda" and torch.cuda.is_bf16_supported()
    precision = torch.autocast(device.type, torch.bfloat16, enabled=is_mixed)

    torch.manual_seed(SEED)  # all ranks begin with the same weights
    network = make_model(flags.weights, len(manifest.classes)).to(device, memory_format=torch.channels_last)
    if num_ranks > 1 and device.type == "cuda":  # the means of a GPU's small part of the batch would be noisy
        network = nn.SyncBatchNorm.convert_sync_batchnorm(network)
    optimizer = torch.optim.AdamW(network.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    if saved is not None:
        network.load_state_dict(saved["network"])
        optimizer.load_state_dict(saved["optimizer"])
        start = saved["step"]
    model = DistributedDataParallel(network) if num_ranks > 1 else network
    mean, deviation = (torch.tensor(each, device=device)[:, None, None] for each in (MEAN, DEVIATION))

    def values_of(model: nn.Module, batch: Any) -> dict[str, Any]:
        images, labels = (each.to(device, non_blocking=True) for each in batch)
        images = (images.contiguous(memory_format=torch.channels_last) - mean) / deviation
        with precision:
            outputs = model(images)
        return measure(outputs.float(), labels)

    def sum_of_ranks(values: Any) -> float:
        if num_ranks > 1:
            dist.all_reduce(values)
        return float(values)

    def evaluate() -> dict[str, float]:
        network.eval()
        sums: dict[str, Any] = {}
        for buffer in network.buffers() if num_ranks > 1 else ():
            dist.broadcast(buffer, 0)  # means and variances, of which each rank has its own
        with torch.no_grad():
            for batch, weight in validation_batches(validation, flags.batch_size // num_ranks, rank, num_ranks):
                for name, each in values_of(network, batch).items():
                    sums[name] = sums.get(name, 0) + weight * each.double().sum()
        network.train()
        return {name: sum_of_ranks(each) / len(validation.examples) for name, each in sums.items()}

    def save(step: int) -> None:
        state = {"network": network.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
        torch.save(state, f"{checkpoint}.new")
        os.replace(f"{checkpoint}.new", checkpoint)  # whole, or not at all

    if rank == 0:
        print(f"from step {start} to {num_steps}, {steps_per_epoch} an epoch")
    batches = iter(train_batches(flags.dataset, train, flags.batch_size, rank, num_ranks, start))
    total_loss, since, waited, begun = torch.zeros([], device=device), start, 0.0, time.monotonic()
    for step in range(start, num_steps):
        asked = time.monotonic()
        batch = next(batches)
        waited += time.monotonic() - asked
        torch.manual_seed(hash((SEED, step, rank)))  # of dropout: a step is the same after an interruption
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, num_steps)
        loss = values_of(model, batch)["loss"].mean()
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
                print(f"epoch {epoch} of {flags.epochs}: loss {mean_loss:.4g}; validation: {shown}", flush=True)
    if rank == 0:
        print(f"waited for input {waited / (time.monotonic() - begun):.1%} of the time")
    if num_ranks > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    try:
        main()
    except ShardkitError as error:
        sys.exit(f"{sys.argv[0]}: {error}")
