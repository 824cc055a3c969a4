"""Choose the program for a dataset, and its numbers."""

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from shardkit.dataset.features import LABEL, LABELS, MASK, OBJECT_LABELS
from shardkit.dataset.manifest import Manifest
from shardkit.errors import CallError, DataError
from shardkit.naming import counted
from shardkit.options.words import shell_command
from shardkit.programs.assembling import assemble
from shardkit.statistics.indexes import IndexStatistics, index_statistics, read_annotations

Library: TypeAlias = Literal["keras", "torch", "jax"]

SMALL_SIDE = 160  # pixels; larger images get a network that is made for photographs
SMALL_IMAGE_SIDE = 64  # pixels; larger ones of the small images are reduced to this
PHOTOGRAPH_SIDE = 224  # pixels; what networks for photographs are made for
MASK_SIDE = 256  # pixels, of photographs with masks
BOX_SIDE = 320  # pixels, of photographs with boxes
STRIDE = 16  # sides of training images are multiples of this: networks halve them up to four times
LARGEST_BATCH = 64  # of small images; of photographs half of it
SMALLEST_BATCH = 8  # so that up to eight GPUs share it evenly
STEPS = 2000  # to train for, at least; fewer epochs than EPOCHS[0] or more than EPOCHS[1] make no sense
EPOCHS = (10, 100)
SAMPLE = 1000  # examples, for the mean of numbers

_TASKS = {
    "boxes": "Train a detector of {classes}",
    "classification": "Train a classifier of {classes}",
    "masks": "Train a segmentation of images into {classes}",
    "regression": "Train a model that predicts numbers",
    "several_labels": "Train a classifier of {classes}, several to an image",
    "unlabelled": "Train a network on images without labels, by two views of each (SimCLR)",
}
_CROP = ((0.8, 1.0), (0.3, 1.0))  # the share that a random crop covers of a small image, and of a photograph
_CROP_SCALES = {"classification": _CROP, "several_labels": _CROP, "regression": _CROP, "masks": ((0.5, 1.0),) * 2}
_IMAGENET_MEAN, _IMAGENET_DEVIATION = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)  # torchvision's weights
_HEADING = "{what}.\n\nThe dataset has {examples}."


@dataclass(frozen=True, slots=True)
class _Splits:
    train: str
    validation: str
    fold: tuple[int, int] | None = None


def program_for(manifest: Manifest, dataset: str, library: Library = "keras") -> str:
    """Return the text of a training program for a dataset.

    Args:
        manifest: The dataset's manifest, read from its folder.
        dataset: The dataset's folder, as the program is to write it.
        library: What the program trains with.

    Raises:
        CallError: The library's program needs a split for validation, and there is none.
        DataError: The dataset has no examples, or it is damaged.
        MachineError: It cannot be read.
    """
    task = _task(manifest)
    statistics = index_statistics(manifest, SAMPLE if task == "regression" else 0)
    if statistics.width is None or statistics.height is None:
        msg = f"{manifest.root.url}: the dataset has no examples to train on"
        raise DataError(msg)
    splits = _splits(manifest)
    if splits.fold is not None and library == "torch":
        command = shell_command("convert", dataset, "NEW", splits="train=0.9,validation=0.1")
        found = f"{dataset}: a program for torch needs a split for validation, and there is only {splits.train!r}"
        raise CallError(f"{found}; make one with `{command}`, or print the program for keras or jax")
    num_examples = manifest.splits[splits.train].num_examples
    sides = [statistics.height.median, statistics.width.median]
    is_small = max(sides) <= SMALL_SIDE
    size = _image_size(task, sides, is_small=is_small)
    batch = _batch_size(num_examples, LARGEST_BATCH if is_small else LARGEST_BATCH // 2)
    values: dict[str, Any] = {
        "DATASET": dataset,
        "TRAIN": splits.train,
        "VALIDATION": splits.validation,
        "IMAGE_SIZE": size,
        "GLOBAL_BATCH_SIZE": batch,
        "EPOCHS": min(max(EPOCHS[0], math.ceil(STEPS * batch / num_examples)), EPOCHS[1]),
    }
    if library != "torch":
        values["FOLD"] = splits.fold
    if task == "regression":
        values |= {"DROPOUT": 0.0, **_of_numbers(manifest, statistics)}
    if task in _CROP_SCALES:
        values["CROP_SCALE"] = _CROP_SCALES[task][not is_small]
    package = f"with_{library}"
    parts = {f"{package}.classification": f"{package}.{task}"}
    if not is_small:
        parts[f"{package}.small_images"] = f"{package}.large_images"
        if library == "torch" and task != "masks":
            values |= {"PIXEL_MEAN": _IMAGENET_MEAN, "PIXEL_DEVIATION": _IMAGENET_DEVIATION}
    what = _TASKS[task].format(classes=counted(len(manifest.classes), "class"))
    counts = ", ".join(f"{split.num_examples:,} in {name}" for name, split in manifest.splits.items())
    heading = _HEADING.format(what=what, examples=f"the examples {counts}")
    return assemble(f"{package}.training", heading, values, parts)


def _task(manifest: Manifest) -> str:
    features = manifest.features
    if MASK in features:
        return "masks"
    if OBJECT_LABELS in features:
        return "boxes"
    if LABELS in features:
        return "several_labels"
    if LABEL in features:
        return "classification" if manifest.classes else "regression"
    return "unlabelled"


def _splits(manifest: Manifest) -> _Splits:
    """Choose the splits; without one for validation, a tenth of the training split is kept back."""
    names = [name for name, split in manifest.splits.items() if split.num_examples]
    train = "train" if "train" in names else max(names, key=lambda name: manifest.splits[name].num_examples)
    others = [name for name in names if name != train]
    if not others:
        return _Splits(train, train, (0, 10))
    usual = [name for name in ("validation", "test") if name in others]
    return _Splits(train, (*usual, *others)[0])


def _image_size(task: str, sides: list[int], *, is_small: bool) -> tuple[int, int]:
    if is_small:
        scale = min(1, SMALL_IMAGE_SIDE / max(sides))
        height, width = (max(2 * STRIDE, math.ceil(side * scale / STRIDE) * STRIDE) for side in sides)
        return height, width
    side = {"masks": MASK_SIDE, "boxes": BOX_SIDE}.get(task, PHOTOGRAPH_SIDE)
    return side, side


def _batch_size(num_examples: int, largest: int) -> int:
    """Return a power of two that gives at least four steps an epoch, where the bounds allow."""
    fitting = 1 << max(1, num_examples // 4).bit_length() - 1
    return min(max(SMALLEST_BATCH, fitting), largest)


def _of_numbers(manifest: Manifest, statistics: IndexStatistics) -> dict[str, Any]:
    """Return the mean and the standard deviation of each number of the labels."""
    found = [one[LABEL] for one in read_annotations(manifest, statistics.sample, LABEL)]
    values = np.array(found, np.float64).reshape(len(found), -1)
    deviations = [float(f"{one:.4g}") or 1.0 for one in values.std(0)]
    return {"MEANS": tuple(float(f"{one:.4g}") for one in values.mean(0)), "DEVIATIONS": tuple(deviations)}
