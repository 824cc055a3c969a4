import json

import numpy as np
import pytest
from pydantic import ValidationError

from shardkit.dataset import features
from shardkit.dataset.features import Feature
from shardkit.dataset.tfds_metadata import tfds_features


def test_tfds_builds_our_features(tmp_path):
    import tensorflow_datasets as tfds

    (tmp_path / "features.json").write_text(json.dumps(tfds_features(features.CLASSIFICATION, ["cat", "dog"])))
    (tmp_path / "label.labels.txt").write_text("cat\ndog\n")
    built = tfds.features.FeaturesDict.from_config(str(tmp_path))
    assert set(built) == set(features.CLASSIFICATION)
    assert isinstance(built["image"], tfds.features.Image)
    assert built["image"].shape == (None, None, 3)
    assert isinstance(built["label"], tfds.features.ClassLabel)
    assert built["label"].names == ["cat", "dog"]
    assert isinstance(built["key"], tfds.features.Text)
    assert (built["height"].shape, built["height"].np_dtype) == ((), np.int64)


def test_keys_are_tfds_names():
    assert list(features.CLASSIFICATION) == ["height", "image", "key", "label", "width"]


@pytest.mark.parametrize(
    "fields", [{"dtype": "float64", "role": "scalar"}, {"dtype": "int64", "role": "x"}, {"dtype": "int64"}, {"a": 1}]
)
def test_unknown_types_and_roles_are_refused(fields):
    with pytest.raises(ValidationError):
        Feature.model_validate(fields)
