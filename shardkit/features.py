"""What an example is made of: names, types and roles of the stored features, and their form in TFDS's features.json."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

Role = Literal["image", "class_label", "text", "scalar"]


class Feature(BaseModel):
    """One stored feature. ``image`` and ``text`` are one byte string an example, the others one int64."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dtype: Literal["bytes", "int64"]
    role: Role


CLASSIFICATION: dict[str, Feature] = {
    "height": Feature(dtype="int64", role="scalar"),
    "image": Feature(dtype="bytes", role="image"),
    "key": Feature(dtype="bytes", role="text"),
    "label": Feature(dtype="int64", role="class_label"),
    "width": Feature(dtype="int64", role="scalar"),
}

_TFDS = "tensorflow_datasets.core.features."


def tfds_features(features: dict[str, Feature], classes: Sequence[str]) -> dict[str, Any]:
    """The content of TFDS's ``features.json`` (format of tensorflow_datasets 4.9: FeatureConnector.to_json)."""
    return {
        "pythonClassName": f"{_TFDS}features_dict.FeaturesDict",
        "featuresDict": {"features": {name: _tfds_feature(feature, classes) for name, feature in features.items()}},
    }


def _tfds_feature(feature: Feature, classes: Sequence[str]) -> dict[str, Any]:
    if feature.role == "image":
        # No encoding format: JPEG and PNG stand side by side. Three channels: TFDS decodes grey files to colour.
        image = {"shape": {"dimensions": ["-1", "-1", "3"]}, "dtype": "uint8"}
        return {"pythonClassName": f"{_TFDS}image_feature.Image", "image": image}
    if feature.role == "class_label":
        label = {"numClasses": str(len(classes))}
        return {"pythonClassName": f"{_TFDS}class_label_feature.ClassLabel", "classLabel": label}
    if feature.role == "text":
        return {"pythonClassName": f"{_TFDS}text_feature.Text", "text": {}}
    scalar: dict[str, Any] = {"shape": {}, "dtype": feature.dtype, "encoding": "none"}
    return {"pythonClassName": f"{_TFDS}scalar.Scalar", "tensor": scalar}
