"""The files that ``tfds.builder_from_directory`` reads: the format of tensorflow_datasets 4.9, protos as JSON."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from shardkit.dataset.features import IMAGE, LABEL, LABELS, OBJECTS, Feature
from shardkit.dataset.manifest import Split

DATASET_INFO = "dataset_info.json"
FEATURES = "features.json"

_TFDS = "tensorflow_datasets.core.features."


def tfds_files(
    name: str, features: Mapping[str, Feature], classes: Sequence[str], splits: Mapping[str, Split]
) -> dict[str, bytes]:
    """Return the content of TFDS's files by name.

    Args:
        name: Name of the dataset.
        features: Stored features by name.
        classes: Class names in label order.
        splits: Splits by name.
    """
    # TFDS strips the file, splits it into lines and drops blank lines, so a name with a line break or only blanks would
    # shift the other names.
    names = "".join(f"{' '.join(name.split()) or repr(name)}\n" for name in classes).encode()
    return {
        DATASET_INFO: _json(_dataset_info(name, features, splits)),
        FEATURES: _json(tfds_features(features, classes)),
        **dict.fromkeys(label_files(features), names),
    }


def _dataset_info(name: str, features: Mapping[str, Feature], splits: Mapping[str, Split]) -> dict[str, Any]:
    # What as_supervised=True yields; without a label of the whole image there is no usual pair.
    label = next((one for one in (LABEL, LABELS) if one in features), None)
    pair = {"tuple": {"items": [{"featureKey": key} for key in (IMAGE, label)]}}
    return {
        "name": name,
        "version": "1.0.0",
        "fileFormat": "tfrecord",
        "description": "Written by shardkit; manifest.json says everything about it.",
        **({} if label is None else {"supervisedKeys": pair}),
        "splits": [
            {
                "name": split_name,
                "filepathTemplate": "{SPLIT}-{SHARD_X_OF_Y}.{FILEFORMAT}",
                "numBytes": str(split.num_bytes),
                "shardLengths": [str(shard.num_examples) for shard in split.shards],
            }
            for split_name, split in splits.items()
        ],
    }


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=False).encode() + b"\n"


def tfds_features(features: Mapping[str, Feature], classes: Sequence[str]) -> dict[str, Any]:
    """Return the content of ``features.json`` (FeatureConnector.to_json).

    Args:
        features: Stored features by name.
        classes: Class names in label order.
    """
    plain = {name: _tfds_feature(one, classes) for name, one in features.items() if not name.startswith(OBJECTS)}
    fields = {
        # TFDS stores a sequence of dicts as one flat feature for each field, named by its path.
        name.removeprefix(OBJECTS): _tfds_feature(one.model_copy(update={"shape": one.shape[1:]}), classes)
        for name, one in features.items()
        if name.startswith(OBJECTS)
    }
    if fields:
        plain["objects"] = _tfds_sequence(_tfds_dict(fields))
    return _tfds_dict(plain)


def label_files(features: Mapping[str, Feature]) -> list[str]:
    """Return the names of the files from which TFDS reads class names."""
    names = [name for name, feature in features.items() if feature.role == "class_label"]
    return [f"{name.replace('/', '-')}.labels.txt" for name in names]


def _tfds_dict(features: dict[str, Any]) -> dict[str, Any]:
    return {"pythonClassName": f"{_TFDS}features_dict.FeaturesDict", "featuresDict": {"features": features}}


def _tfds_sequence(feature: dict[str, Any]) -> dict[str, Any]:
    sequence = {"feature": feature, "length": "-1"}
    return {"pythonClassName": f"{_TFDS}sequence_feature.Sequence", "sequence": sequence}


def _tfds_feature(feature: Feature, classes: Sequence[str]) -> dict[str, Any]:
    if feature.role == "bbox":
        box = {"shape": {"dimensions": ["4"]}, "dtype": "float32", "bboxFormat": "REL_YXYX"}
        return {"pythonClassName": f"{_TFDS}bounding_boxes.BBoxFeature", "boundingBox": box}
    if feature.role == "class_label" and feature.shape:
        return _tfds_sequence(_tfds_feature(feature.model_copy(update={"shape": ()}), classes))
    if feature.role in {"image", "mask"}:
        # No encoding format, because JPEG and PNG are mixed. Three channels, because TFDS decodes grey files to colour.
        channels = "3" if feature.role == "image" else "1"
        image = {"shape": {"dimensions": ["-1", "-1", channels]}, "dtype": "uint8"}
        return {"pythonClassName": f"{_TFDS}image_feature.Image", "image": image}
    if feature.role == "class_label":
        label = {"numClasses": str(len(classes))}
        return {"pythonClassName": f"{_TFDS}class_label_feature.ClassLabel", "classLabel": label}
    if feature.role == "text" and not feature.shape:
        return {"pythonClassName": f"{_TFDS}text_feature.Text", "text": {}}
    dimensions = (
        {"dimensions": ["-1" if side is None else str(side) for side in feature.shape]} if feature.shape else {}
    )
    dtype = "string" if feature.dtype == "bytes" else feature.dtype
    tensor: dict[str, Any] = {"shape": dimensions, "dtype": dtype, "encoding": "none"}
    kind = "tensor_feature.Tensor" if feature.shape else "scalar.Scalar"
    return {"pythonClassName": f"{_TFDS}{kind}", "tensor": tensor}
