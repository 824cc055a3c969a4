"""What the names of TFRecord files say: that they are ones, their split, their stem for keys, and missing shards.

train-00000-of-01024                     tensorflow/models (build_imagenet_data.py)
coco_train.record-00000-of-00100         tensorflow/models (create_coco_tf_record.py)
mnist-train.tfrecord-00000-of-00001      TFDS ({DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y})
train-00000-of-00001.tfrecord.gz         TFRecorder
train00-2071.tfrec, val.tfrecords        Kaggle and tutorials, where 2071 is the number of records
"""

import re
from collections.abc import Iterable

from shardkit.naming import split_of_folder

_ENDING = re.compile(r"\.(?:tfrecords?|tfrec|tfr|records?)(?:\.(?:gz|gzip|zlib))?$", re.IGNORECASE)
_SHARD = re.compile(r"[-_.](?P<index>[0-9]{3,})-of-(?P<of>[0-9]{3,})")
_TFDS = re.compile(r"-(?P<split>[A-Za-z0-9_]+)\.(?:tfrecord|TFRECORD)-[0-9]{5}-of-[0-9]{5}")
_WORDS = re.compile(r"[^A-Za-z]+")


def is_tfrecord_name(name: str) -> bool:
    """Return whether a file's name is one of TFRecord files; the first bytes decide whether it is one."""
    if name.startswith(".") or name.endswith((".parquet", ".csv", ".json", ".tar", ".arrow", ".array_record")):
        return False
    return bool(_ENDING.search(name) or _SHARD.search(name))


def split_of_file(path: str) -> str | None:
    """Return the split of a file: of its nearest folder with a split's name, else of its own name; None for neither.

    A TFDS name says it exactly, whatever the dataset's name is. In others, words count; two splits give none.
    """
    *folders, name = path.split("/")
    for folder in reversed(folders):
        if split := split_of_folder(folder):
            return split
    if match := _TFDS.search(name):
        return split_of_folder(match["split"]) or (match["split"] if match["split"][0].isalpha() else None)
    found = {split for word in _WORDS.split(name) if (split := split_of_folder(word))}
    return found.pop() if len(found) == 1 else None


def stems(paths: Iterable[str]) -> dict[str, str]:
    """Return the beginning of the keys of each file's records: its path without ending, unless that occurs twice."""
    short = {path: _ENDING.sub("", path) for path in paths}
    counts: dict[str, int] = {}
    for stem in short.values():
        counts[stem] = counts.get(stem, 0) + 1
    return {path: stem if counts[stem] == 1 else path for path, stem in short.items()}


def missing_shards(paths: Iterable[str]) -> list[str]:
    """Return a phrase for each set of shards that is incomplete: "8 of 10 shards of train-*-of-00010"."""
    sets: dict[tuple[str, int], set[int]] = {}
    for path in paths:
        if match := _SHARD.search(path):
            pattern = f"{path[: match.start('index')]}*{path[match.end('index') :]}"
            sets.setdefault((pattern, int(match["of"])), set()).add(int(match["index"]))
    return [
        f"{num - len(found & set(range(num)))} of {num} shards of {pattern}"
        for (pattern, num), found in sorted(sets.items())
        if len(found & set(range(num))) < num
    ]
