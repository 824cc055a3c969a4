"""Read what a TFDS dataset's own files say: roles of features, class names, splits.

    features.json       {"pythonClassName": "….FeaturesDict", "featuresDict": {"features": {"image": …}}}
    dataset_info.json   {"supervisedKeys": {"tuple": {"items": [{"featureKey": "image"}, {"featureKey": "label"}]}}}
    label.labels.txt, objects-label.labels.txt        one name a line, for each ClassLabel

Source: tensorflow_datasets 4.9, core/features/*_feature.py (to_json_content), core/proto/{feature,dataset_info}.proto.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from shardkit.errors import DataError

FEATURES, DATASET_INFO, LABELS_ENDING = "features.json", "dataset_info.json", ".labels.txt"
_BOX_FORMATS = {"", "REL_YXYX"}  # older versions write none and mean this one


@dataclass(frozen=True, slots=True)
class TfdsFeatures:
    """What a TFDS dataset says of its features."""

    images: tuple[str, ...]  # features of images
    labels: tuple[str, ...]  # features of classes, or of lists of classes, outside of objects
    multi_labels: tuple[str, ...]  # those of them that are lists
    object_labels: tuple[str, ...]  # features of the classes of objects
    boxes: tuple[str, ...]
    supervised: tuple[str, ...]  # features of the input and the target; () if the dataset names none


def read_tfds_features(features: bytes, info: bytes | None, url: str) -> TfdsFeatures | None:
    """Return what features.json and dataset_info.json say.

    None if features.json is of an older version, whose records are read without it. DataError: a file is not JSON, or
    says that images or boxes are stored in a way that is not read.
    """
    with _odd_content_as_data_error(f"{url}/{FEATURES} or {DATASET_INFO}"):
        spec = _json(features, f"{url}/{FEATURES}")
        if not isinstance(spec, dict) or "pythonClassName" not in spec:
            return None
        flat = list(_flattened(spec, ""))
        for name, kind, content, _ in flat:
            dtype = content.get("image", {}).get("dtype", "uint8")
            if kind == "Image" and dtype not in {"uint8", "uint16"}:
                msg = f"{url}: the images {name!r} are {dtype}, and only uint8 and uint16 are read; store them so"
                raise DataError(msg)
            order = content.get("boundingBox", {}).get("bboxFormat", "")
            if kind == "BBoxFeature" and order not in _BOX_FORMATS:
                msg = f"{url}: the boxes {name!r} are {order}, and only REL_YXYX is read; convert them with TFDS first"
                raise DataError(msg)
        items = _json(info, f"{url}/{DATASET_INFO}") if info is not None else {}
        pair = items.get("supervisedKeys", {}).get("tuple", {}).get("items", []) if isinstance(items, dict) else []
        supervised = tuple(str(one["featureKey"]) for one in pair if isinstance(one, dict) and "featureKey" in one)
        classes = [name for name, kind, _, _ in flat if kind == "ClassLabel"]
        boxes = tuple(name for name, kind, _, _ in flat if kind == "BBoxFeature")
        above = {name.rpartition("/")[0] for name in boxes} - {""}
        labels = tuple(name for name in classes if name.rpartition("/")[0] not in above)
        return TfdsFeatures(
            images=tuple(name for name, kind, _, _ in flat if kind == "Image"),
            labels=labels,
            multi_labels=tuple(name for name, _, _, is_list in flat if is_list and name in labels),
            object_labels=tuple(name for name in classes if name.rpartition("/")[0] in above),
            boxes=boxes,
            supervised=supervised if len(supervised) == 2 else (),
        )


def shard_lengths(info: bytes, url: str) -> dict[str, int]:
    """Return the number of records of each file that dataset_info.json announces, by file name."""
    with _odd_content_as_data_error(f"{url}/{DATASET_INFO}"):
        content = _json(info, f"{url}/{DATASET_INFO}")
        if not isinstance(content, dict):
            return {}
        lengths: dict[str, int] = {}
        for split in content.get("splits", []):
            template = split.get("filepathTemplate") or "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"
            of = len(split.get("shardLengths", []))
            for i, length in enumerate(split.get("shardLengths", [])):
                values = {
                    "{DATASET}": content.get("name", ""),
                    "{SPLIT}": split.get("name", ""),
                    "{FILEFORMAT}": content.get("fileFormat") or "tfrecord",
                    "{SHARD_X_OF_Y}": f"{i:05d}-of-{of:05d}",
                    "{SHARD_INDEX}": f"{i:05d}",
                    "{NUM_SHARDS}": f"{of:05d}",
                }
                name = template
                for placeholder, value in values.items():
                    name = name.replace(placeholder, str(value))
                lengths[name] = int(length)
        return lengths


def _flattened(
    spec: Mapping[str, Any], name: str, *, is_list: bool = False
) -> Iterator[tuple[str, str, Mapping[str, Any], bool]]:
    """Yield (name in the records, class, content, whether it is in a sequence) of all features below one."""
    kind = str(spec.get("pythonClassName", "")).rpartition(".")[2]
    if kind in {"FeaturesDict", "TopLevelFeature"} or "featuresDict" in spec:
        for inner, content in spec.get("featuresDict", {}).get("features", {}).items():
            yield from _flattened(content, f"{name}/{inner}" if name else inner, is_list=is_list)
    elif "sequence" in spec:
        yield from _flattened(spec["sequence"].get("feature", {}), name, is_list=True)
    else:
        yield name, kind, spec, is_list


@contextlib.contextmanager
def _odd_content_as_data_error(url: str) -> Iterator[None]:
    try:
        yield
    except DataError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        msg = f"{url}: the content is not what TFDS writes ({error!r:.100}); restore it, or move it away"
        raise DataError(msg) from None


def _json(content: bytes, url: str) -> Any:
    try:
        return json.loads(content)
    except ValueError as error:
        msg = f"{url}: the file is not JSON: {error}; restore it, or move it away to read the records without it"
        raise DataError(msg) from None


def labels_file(feature: str) -> str:
    """Return the name of the file with the names of a ClassLabel's numbers."""
    return f"{feature.replace('/', '-')}{LABELS_ENDING}"


def read_labels(content: bytes, url: str) -> tuple[str, ...]:
    """Return the class names in a labels file, as TFDS reads it: one a line, without blank lines."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"{url}: the file of class names is not UTF-8 (byte {error.start}); save it as UTF-8"
        raise DataError(msg) from None
    return tuple(line.strip() for line in text.split("\n") if line.strip())
