"""Does a dataset hold what is true of a folder?"""

import hashlib
import re

import numpy as np

import shardkit
from shardkit.naming import split_of_folder
from shardkit.sources.recognising.folders.split_folders import says_nothing

from .tree import HEIGHT, WIDTH, pixels_of

# A clause that names files of no images: it tells nothing about images that are lost.
_WITHOUT_FILES = re.compile(r"(?:^|; )without [^;]*\.\w+(?: and \d+ more)?(?=;|$)")


def mistakes(tree, dataset):
    """What a dataset has wrong about the images of a tree, as sentences; none if all is right."""
    contents = tree.files | tree.hidden
    paths = {_pixels(contents[path]): path for path in tree.truth}
    seen = set()
    manifest = shardkit.open(dataset, next(iter(manifest_splits(dataset)))).manifest
    for split in manifest.splits:
        for example in shardkit.open(dataset, split):
            path = paths.get(_pixels(example["image"]))
            if path is None:
                yield f"{example.key} is no image to learn from"
                continue
            if path in seen:
                yield f"{path} is there twice"
            seen.add(path)
            yield from (f"{path}: {what}" for what in _of_example(tree.truth[path], example, split, manifest))
    yield from (f"{path} is lost" for path in tree.truth if path not in seen)


def _pixels(data):
    """A digest of the pixels: shardkit stores BMP, TIFF and GIF as PNG."""
    return hashlib.sha256(pixels_of(data, "RGB")).digest()


def manifest_splits(dataset):
    """Names of the splits that have examples."""
    from shardkit.dataset.manifest import read_manifest

    return [name for name, split in read_manifest(dataset).splits.items() if split.num_examples]


def defects(command, meaning, wrong, tree):
    """What a printed command has wrong that no user can mean, as sentences.

    Another column of labels, another level of classes, or another version of all images is an answer that a user may
    mean. Images that are no examples among others, images twice, and what is lost without a word are defects.
    """
    meaning = _WITHOUT_FILES.sub("", meaning)
    lost = [what for what in wrong if what.endswith(" is lost")]
    others = [what for what in wrong if what.endswith(" is no image to learn from")]
    labels = {what.rpartition(": label '")[2].partition("'")[0] for what in wrong if ": label '" in what}
    wrappers = {label for label in labels if split_of_folder(label) or all(map(says_nothing, labels))}
    told = any(word in meaning for word in ("leaves out", "without", "only", "drop"))
    if others and len(lost) < len(tree.truth) and "--unlabelled" not in command:
        yield others[0]
    yield from lost[:1] if not told else ()
    for what in wrong:
        label = what.rpartition(": label '")[2].partition("'")[0] if ": label '" in what else ""
        is_no_class = label and label in wrappers and "class-folders" in command
        tells_splits = any(word in meaning for word in ("without the split", "mixes the split"))
        is_lost = "boxes None" in what or (": split " in what and not tells_splits)
        is_lost |= what.endswith("no mask") and "without" not in meaning
        if what.endswith(" is there twice") or is_lost or is_no_class:
            yield what


def _of_example(truth, example, split, manifest):
    found = _label(example, manifest.classes)
    wanted = tuple(sorted(truth.label)) if isinstance(truth.label, tuple) else truth.label
    if isinstance(wanted, float) and isinstance(found, float):
        found = wanted if np.float32(wanted) == np.float32(found) else found
    if truth.boxes is None and truth.mask is None and found != wanted:
        yield f"label {found!r}, not {wanted!r}"
    if truth.split is not None and split != truth.split:
        yield f"split {split}, not {truth.split}"
    if truth.boxes is not None:
        boxes = _boxes(example, manifest.classes)
        if boxes != sorted((round(a), round(b), round(c), round(d), name) for a, b, c, d, name in truth.boxes):
            yield f"boxes {boxes}, not {truth.boxes}"
    if truth.mask is not None:
        mask = pixels_of(example["segmentation_mask"]) if "segmentation_mask" in example else None
        if mask is None or not np.array_equal(mask, truth.mask):
            yield "another mask" if mask is not None else "no mask"


def _label(example, classes):
    if "label" in example:
        value = example["label"]
        return value if isinstance(value, float) else classes[value]
    if "labels" in example:
        values = example["labels"]
        return tuple(sorted(classes[value] for value in values)) if values.dtype == np.int64 else tuple(values.tolist())
    return None


def _boxes(example, classes):
    if "objects/bbox" not in example:
        return None
    sides = np.round(example["objects/bbox"] * [HEIGHT, WIDTH, HEIGHT, WIDTH]).astype(int).tolist()
    return sorted(
        (xmin, ymin, xmax, ymax, classes[label])
        for (ymin, xmin, ymax, xmax), label in zip(sides, example["objects/label"].tolist(), strict=True)
    )
