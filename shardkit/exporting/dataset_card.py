"""``README.md`` for the Hugging Face Hub: a header of metadata in YAML, and how to read the dataset.

See huggingface.co/docs/hub/datasets-cards. Values are written as JSON, which is YAML too.
"""

import json
from typing import Any

from shardkit.dataset.features import LABEL, LABELS, MASK, NO_LABEL, OBJECT_LABELS
from shardkit.dataset.manifest import Manifest
from shardkit.dataset.tfds_metadata import DATASET_INFO
from shardkit.exporting.facts import Facts
from shardkit.naming import printable_json

DATASET_CARD = "README.md"
# The Hub's ranges, by their upper ends.
_SIZES = {
    10**3: "n<1K",
    10**4: "1K<n<10K",
    10**5: "10K<n<100K",
    10**6: "100K<n<1M",
    10**7: "1M<n<10M",
    10**8: "10M<n<100M",
    10**9: "100M<n<1B",
}

_BODY = """
# {title}

{description}

| split | examples | bytes | shards |
| --- | --: | --: | --: |
{rows}

The examples are TFRecord files of `tf.train.Example`, written by {writer}, with an index for each. Download the folder,
then read it with{one_of}:

```python
import shardkit

examples = shardkit.open("FOLDER", "{split}")
print(len(examples), examples[0])
```
"""
_TFDS = """
```python
import tensorflow_datasets as tfds

dataset = tfds.{builder}.as_dataset("{split}")
```
"""


def dataset_card(manifest: Manifest, facts: Facts) -> bytes:
    """Return the content of ``README.md``.

    Args:
        manifest: The dataset's manifest.
        facts: What the manifest does not say.
    """
    title = facts.title or manifest.name
    rows = "\n".join(
        f"| {name} | {split.num_examples:,} | {split.num_bytes:,} | {len(split.shards):,} |"
        for name, split in manifest.splits.items()
    )
    description = facts.description or f"Labelled images{_of_classes(manifest)}."
    if manifest.num_unlabelled:
        description += f"\n\n{manifest.unlabelled_text} (the stored label is {NO_LABEL})."
    largest = max(manifest.splits, key=lambda name: manifest.splits[name].num_examples)
    header = "".join(f"{name}: {printable_json(value, indent=None)}\n" for name, value in _header(manifest, facts))
    builder = _tfds_builder(manifest)
    body = _BODY.format(
        title=_escaped(title),
        description=description,
        rows=rows,
        split=largest,
        writer="others" if manifest.is_adopted else "shardkit",
        one_of=" one of" if builder else "",
    )
    tfds = _TFDS.format(builder=builder, split=largest) if builder else ""
    return f"---\n{header}---\n{body}{tfds}".encode()


def _tfds_builder(manifest: Manifest) -> str | None:
    """Return the call with which TFDS reads all generations; None if the dataset has no files for TFDS."""
    if not any(file.path == DATASET_INFO for file in manifest.files):
        return None
    if not manifest.generations:
        return 'builder_from_directory("FOLDER")'
    # TFDS takes the names of the classes from the first folder: that of the newest generation, which has them all.
    folders = ["/".join(filter(None, ("FOLDER", one.folder))) for one in reversed(manifest.generations)]
    return f"builder_from_directories({json.dumps(folders)})"


def _escaped(title: str) -> str:
    return " ".join(title.split())


def _of_classes(manifest: Manifest) -> str:
    return f" of {len(manifest.classes):,} classes" if manifest.classes else ""


def _header(manifest: Manifest, facts: Facts) -> list[tuple[str, Any]]:
    num_examples = sum(split.num_examples for split in manifest.splits.values())
    size = next((name for end, name in _SIZES.items() if num_examples < end), "n>1B")
    is_url = facts.license is not None and "://" in facts.license
    known: dict[str, Any] = {
        "pretty_name": facts.title or manifest.name,
        "license": "other" if is_url else facts.license and facts.license.lower(),
        "license_link": facts.license if is_url else None,
        "task_categories": _tasks(manifest),
        "size_categories": [size],
        "tags": ["tfrecord", "shardkit"],
        # The Hub's viewer cannot show TFRecord; it would take the indexes for the dataset.
        "viewer": False,
    }
    return [(name, value) for name, value in known.items() if value not in (None, [])]


def _tasks(manifest: Manifest) -> list[str]:
    features = manifest.features
    tasks = {
        "image-classification": any(
            name in features and features[name].role == "class_label" for name in (LABEL, LABELS)
        ),
        "object-detection": OBJECT_LABELS in features,
        "image-segmentation": MASK in features,
    }
    return [task for task, is_one in tasks.items() if is_one]
