"""Write a dataset as .tar files of WebDataset: an image, its class and all other features next to each other.

FOLDER/classes.txt          names of the classes in label order
FOLDER/<split>-000000.tar   a file for each shard, with for each example, by its number in the split:

    000000042.jpg, or .png
    000000042.cls          the class number, if every example has one class; no file for an image without a label
    000000042.mask.png     if there are masks
    000000042.json         key, names of the classes, and all other features
"""

import io
import json
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from shardkit.dataset import features as names
from shardkit.records.example import Example, is_unlabelled
from shardkit.records.record import stored_ending
from shardkit.records.sequence import Examples


def write_webdataset(parts: Sequence[Examples], folder: Path) -> Iterator[int]:
    """Write the examples of some splits; yield the number of examples that are written, again and again.

    Args:
        parts: The examples of each split of one dataset.
        folder: A new folder. It is not complete before the iteration ends.
    """
    folder.mkdir(parents=True)
    if classes := parts[0].manifest.classes:
        lines = "".join(f"{name}\n" for name in classes)
        (folder / "classes.txt").write_text(lines, encoding="utf-8", newline="")
    num_written = 0
    for examples in parts:
        numbered = enumerate(examples)
        for shard, count in enumerate(examples.shard_counts):
            with tarfile.open(folder / f"{examples.split}-{shard:06d}.tar", "w", format=tarfile.PAX_FORMAT) as tar:
                for _, (number, example) in zip(range(count), numbered, strict=False):
                    for ending, content in _members(example):
                        member = tarfile.TarInfo(f"{number:09d}.{ending}")
                        member.size = len(content)
                        tar.addfile(member, io.BytesIO(content))
                    num_written += 1
                    yield num_written


def _members(example: Example) -> Iterator[tuple[str, bytes]]:
    """Yield the ending and the content of each member of a sample."""
    image = example[names.IMAGE]
    yield stored_ending(image), image
    told: dict[str, Any] = {}
    for name, value in example.items():
        if name == names.MASK:
            yield "mask.png", value
        elif name != names.IMAGE:
            told[name] = value.tolist() if hasattr(value, "tolist") else value
    label = names.label_feature(example)
    if label is not None:
        told["label_names"] = list(example.label_names)
        if is_unlabelled(example):
            told[label] = None
    if names.LABEL in example and example.label_names:
        yield "cls", str(example[names.LABEL]).encode()
    yield "json", json.dumps(told, ensure_ascii=False).encode()
