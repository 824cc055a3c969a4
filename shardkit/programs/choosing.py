"""Choose the program for a dataset, and fill in the values at its head."""

import math
import re
from importlib.resources import files
from typing import Any, Literal, TypeAlias

import numpy as np

from shardkit.dataset.features import LABEL, LABELS, MASK, OBJECT_LABELS
from shardkit.dataset.manifest import Manifest
from shardkit.dataset.unlabelled import unlabelled_condition
from shardkit.errors import CallError, DataError
from shardkit.naming import counted
from shardkit.options.words import shell_command
from shardkit.statistics.indexes import IndexStatistics, index_statistics, read_annotations

Library: TypeAlias = Literal["keras", "torch", "jax"]
Style: TypeAlias = Literal["fit", "loop"]

SMALL_SIDE = 160  # pixels; larger images get a network that is made for photographs
SMALL_IMAGE_SIDE = 64  # pixels; larger ones of the small images are reduced to this
PHOTOGRAPH_SIDES = {"masks": 256, "boxes": 320}  # pixels
PHOTOGRAPH_SIDE = 224  # pixels; what networks for photographs are made for
STRIDE = 16  # sides of training images are multiples of this: networks halve them up to four times
LARGEST_BATCH = 64  # of small images; of photographs half of it
SMALLEST_BATCH = 8  # so that up to eight GPUs share it evenly
STEPS = 2000  # to train for, at least; fewer epochs than EPOCHS[0] or more than EPOCHS[1] make no sense
EPOCHS = (10, 100)
SAMPLE = 1000  # examples, for the mean of numbers

# The lines of values, from the comment above them to the next empty line.
_HEAD = re.compile(r"(?m)^# Values of the dataset\.\n((?:.+\n)+)")
_VALUE = re.compile(r"(?m)^(?P<name>[A-Z_]+)(?P<type>: .+?)? = .+?(?P<comment>  # .+)?$")


def program_for(manifest: Manifest, dataset: str, library: Library = "keras", style: Style = "fit") -> str:
    """Return the text of a training program for a dataset.

    Args:
        manifest: The dataset's manifest, read from its folder.
        dataset: The dataset's folder, as the program is to write it.
        library: What the program trains with.
        style: Of Keras: `fit`, or a loop that also runs on several machines.

    Raises:
        CallError: There is no such program.
        DataError: The dataset has no examples, or it is damaged.
        MachineError: It cannot be read.
    """
    labels = _labels(manifest, dataset)
    name = f"keras_{labels}" if labels in PHOTOGRAPH_SIDES else "keras_labels"
    if library != "keras" or style == "loop":
        if labels in PHOTOGRAPH_SIDES:
            command = shell_command("script", dataset)
            raise CallError(
                f"{dataset}: this program trains on classes or numbers, and the dataset has {labels}; print one for "
                f"Keras' fit with `{command}`, or write one with `shardkit.open` or `shardkit.reader`"
            )
        name = f"{library}_loop"
    statistics = index_statistics(manifest, SAMPLE if labels == "numbers" else 0)
    if statistics.width is None or statistics.height is None:
        msg = f"{manifest.root.url}: the dataset has no examples to train on"
        raise DataError(msg)
    train, validation = _splits(manifest)
    num_examples = manifest.splits[train].num_labelled
    sides = [statistics.height.median, statistics.width.median]
    is_small = max(sides) <= SMALL_SIDE
    batch = _batch_size(num_examples, LARGEST_BATCH if is_small else LARGEST_BATCH // 2)
    means, deviations = _of_numbers(manifest, statistics) if labels == "numbers" else ((), ())
    values = {
        "DATASET": dataset,
        "TRAIN": train,
        "VALIDATION": validation or train,
        "FOLD": None if validation else (0, 10),
        "WHERE": unlabelled_condition(manifest.features, keeps=False) if manifest.num_unlabelled else None,
        "LABELS": labels,
        "MEANS": means,
        "DEVIATIONS": deviations,
        "IMAGE_SIZE": _image_size(labels, sides, is_small=is_small),
        "CROP_SCALE": (0.5, 1.0) if labels == "masks" else (0.8, 1.0) if is_small else (0.3, 1.0),
        "PHOTOGRAPHS": not is_small,
        "DROPOUT": 0.0 if labels == "numbers" else 0.2,
        "BATCH_SIZE": batch,
        "EPOCHS": min(max(EPOCHS[0], math.ceil(STEPS * batch / num_examples)), EPOCHS[1]),
    }
    facts = [f"{split.num_labelled:,} examples in {name}" for name, split in manifest.splits.items()]
    if manifest.num_unlabelled:
        facts.append(f"without {counted(manifest.num_unlabelled, 'image')} that have no label")
    facts += [counted(len(manifest.classes), "class")] if manifest.classes else []
    return fill(files("shardkit.programs").joinpath(f"{name}.py").read_text("utf-8"), values, ", ".join(facts))


def fill(program: str, values: dict[str, Any], facts: str) -> str:
    """Return a program with other values at its head."""

    def line(match: re.Match[str]) -> str:
        return f"{match['name']}{match['type'] or ''} = {_literal(values[match['name']])}{match['comment'] or ''}"

    def head(match: re.Match[str]) -> str:
        return f"# Values of the dataset: {facts}.\n{_VALUE.sub(line, match[1])}"

    return _HEAD.sub(head, program)


def _literal(value: Any) -> str:
    """Return a Python literal, with double quotes where that needs no escapes."""
    text = repr(value)
    return f'"{text[1:-1]}"' if text[0] == "'" and '"' not in text else text


def _labels(manifest: Manifest, dataset: str) -> str:
    """Return what the examples have next to the image."""
    features = manifest.features
    for feature, labels in ((MASK, "masks"), (OBJECT_LABELS, "boxes"), (LABELS, "classes")):
        if feature in features:
            return labels
    if LABEL in features:
        return "class" if manifest.classes else "numbers"
    raise CallError(
        f"{dataset}: the images have no labels to train on; read them with `shardkit.reader` or `shardkit.open` in a "
        "program of your own"
    )


def _splits(manifest: Manifest) -> tuple[str, str | None]:
    """Choose the splits for training and validation."""
    names = [name for name, split in manifest.splits.items() if split.num_labelled]
    train = "train" if "train" in names else max(names, key=lambda name: manifest.splits[name].num_labelled)
    others = [name for name in names if name != train]
    usual = [name for name in ("validation", "test") if name in others]
    return train, next(iter((*usual, *others)), None)


def _image_size(labels: str, sides: list[int], *, is_small: bool) -> tuple[int, int]:
    if is_small:
        scale = min(1, SMALL_IMAGE_SIDE / max(sides))
        height, width = (max(2 * STRIDE, math.ceil(side * scale / STRIDE) * STRIDE) for side in sides)
        return height, width
    side = PHOTOGRAPH_SIDES.get(labels, PHOTOGRAPH_SIDE)
    return side, side


def _batch_size(num_examples: int, largest: int) -> int:
    """Return a power of two that gives at least four steps an epoch, where the bounds allow."""
    fitting = 1 << max(1, num_examples // 4).bit_length() - 1
    return min(max(SMALLEST_BATCH, fitting), largest)


def _of_numbers(manifest: Manifest, statistics: IndexStatistics) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the mean and the standard deviation of each number of the labels."""
    labels = [annotations[LABEL] for annotations in read_annotations(manifest, statistics.sample, LABEL)]
    values = np.array(labels, np.float64).reshape(len(labels), -1)
    means, deviations = ([float(f"{value:.4g}") for value in column] for column in (values.mean(0), values.std(0)))
    return tuple(means), tuple(deviation or 1.0 for deviation in deviations)
