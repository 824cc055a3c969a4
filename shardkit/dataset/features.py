"""What an example is made of: names, types and roles of the stored features, and their form in TFDS's features.json."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

Role = Literal["image", "mask", "class_label", "bbox", "text", "scalar"]


class Feature(BaseModel):
    """One stored feature.

    ``shape`` is that of an example's values; None is any number of them. ``image`` and ``mask`` are encoded files,
    ``text`` is UTF-8, ``bbox`` is (ymin, xmin, ymax, xmax) as shares of the upright image's height and width.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    dtype: Literal["bytes", "int64", "float32"]
    role: Role
    shape: tuple[int | None, ...] = ()


IMAGE = "image"
MASK = "segmentation_mask"
LABEL, LABELS = "label", "labels"
OBJECTS = "objects/"  # and the name of an object's field
OBJECT_LABELS = f"{OBJECTS}label"

ALWAYS: dict[str, Feature] = {
    "height": Feature(dtype="int64", role="scalar"),
    IMAGE: Feature(dtype="bytes", role="image"),
    "key": Feature(dtype="bytes", role="text"),
    "width": Feature(dtype="int64", role="scalar"),
}
CLASS_LABEL = Feature(dtype="int64", role="class_label")
CLASS_LABELS = Feature(dtype="int64", role="class_label", shape=(None,))
BOXES = Feature(dtype="float32", role="bbox", shape=(None, 4))
MASK_FEATURE = Feature(dtype="bytes", role="mask")

CLASSIFICATION = dict(sorted({**ALWAYS, LABEL: CLASS_LABEL}.items()))


def label_feature(features: Iterable[str]) -> str | None:
    """Which feature holds labels out of the dataset's classes; None where there are no classes, or masks hold them."""
    names = set(features)
    if OBJECT_LABELS in names:
        return OBJECT_LABELS
    return LABELS if LABELS in names else LABEL if LABEL in names else None


_TFDS = "tensorflow_datasets.core.features."


def tfds_features(features: Mapping[str, Feature], classes: Sequence[str]) -> dict[str, Any]:
    """The content of TFDS's ``features.json`` (format of tensorflow_datasets 4.9: FeatureConnector.to_json)."""
    plain = {name: _tfds_feature(one, classes) for name, one in features.items() if not name.startswith(OBJECTS)}
    fields = {
        # A sequence of dicts: TFDS stores each field as one flat feature, named by its path.
        name.removeprefix(OBJECTS): _tfds_feature(one.model_copy(update={"shape": one.shape[1:]}), classes)
        for name, one in features.items()
        if name.startswith(OBJECTS)
    }
    if fields:
        plain["objects"] = _tfds_sequence(_tfds_dict(fields))
    return _tfds_dict(plain)


def label_files(features: Mapping[str, Feature]) -> list[str]:
    """Names of the files in which TFDS looks for the names of classes."""
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
        # No encoding format: JPEG and PNG stand side by side. Three channels: TFDS decodes grey files to colour.
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
