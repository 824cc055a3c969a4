"""Records as other programs write them, encoded without TensorFlow; one test compares them with TensorFlow's."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shardkit.dataset.example import bytes_feature, encode, float_feature, int64_feature
from shardkit.dataset.foreign.found_features import Sampled
from shardkit.dataset.foreign.values import Features, read_features
from shardkit.dataset.tfrecord import frame
from shardkit.testing import encoded


def jpeg(shade: int = 0, height: int = 8, width: int = 12) -> bytes:
    """Return a small JPEG, different for each shade."""
    return picture("JPEG", shade, height, width)


def picture(kind: str, shade: int = 0, height: int = 8, width: int = 12) -> bytes:
    """Return a small image file."""
    from PIL import Image

    return encoded(Image.new("RGB", (width, height), (shade * 23 % 256, 128, 255 - shade * 23 % 256)), kind)


def example(features: Mapping[str, Any]) -> bytes:
    """Return a serialized tf.train.Example of texts, bytes, whole numbers, fractions, or lists of one of these."""
    return encode({name: _feature(value, name) for name, value in features.items()})


def _feature(value: Any, name: str) -> bytes:
    values = value if isinstance(value, list) else [value]
    if not values:  # an empty list has a kind, too
        if name.endswith("/text"):
            return bytes_feature([])
        return float_feature([]) if name.endswith(("min", "max", "area")) else int64_feature(())
    if isinstance(values[0], str | bytes):
        return bytes_feature([one.encode() if isinstance(one, str) else one for one in values])
    return float_feature(values) if isinstance(values[0], float) else int64_feature(tuple(values))


def framed(records: Sequence[bytes]) -> bytes:
    """Return the content of a TFRecord file."""
    return b"".join(part for record in records for part in frame(record))


def write(path: Path, records: Sequence[Mapping[str, Any]]) -> Path:
    """Write examples into a TFRecord file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(framed([example(one) for one in records]))
    return path


def sampled(records: Sequence[Mapping[str, Any]]) -> list[Sampled]:
    """Return the records as `infer_layout` takes them."""
    return [Sampled(f"a.tfrecord, record {i}", features(one)) for i, one in enumerate(records)]


def features(record: Mapping[str, Any]) -> Features:
    """Return the decoded features of a record."""
    return read_features(example(record))


def imagenet(i: int, number: int = 1, synset: str = "n01440764", text: str = "tench, Tinca tinca") -> dict[str, Any]:
    """Return a record of tensorflow/models, research/slim/datasets/build_imagenet_data.py, _convert_to_example."""
    return {
        "image/height": 8,
        "image/width": 12,
        "image/colorspace": "RGB",
        "image/channels": 3,
        "image/class/label": number,
        "image/class/synset": synset,
        "image/class/text": text,
        "image/object/bbox/xmin": [0.1] * (i % 2),
        "image/object/bbox/xmax": [0.5] * (i % 2),
        "image/object/bbox/ymin": [0.2] * (i % 2),
        "image/object/bbox/ymax": [0.6] * (i % 2),
        "image/object/bbox/label": [number] * (i % 2),
        "image/format": "JPEG",
        "image/filename": f"{synset}_{i}.JPEG",
        "image/encoded": jpeg(i),
    }


def coco(i: int, objects: Sequence[tuple[int, str]] = ((18, "dog"), (1, "person"))) -> dict[str, Any]:
    """Return a record of tensorflow/models, …/object_detection/dataset_tools/create_coco_tf_record.py."""
    num = len(objects)
    return {
        "image/height": 8,
        "image/width": 12,
        "image/filename": f"{i:012d}.jpg",
        "image/source_id": str(i),
        "image/key/sha256": "ab" * 32,
        "image/encoded": jpeg(i),
        "image/format": "jpeg",
        "image/object/bbox/xmin": [0.25] * num,
        "image/object/bbox/xmax": [0.5] * num,
        "image/object/bbox/ymin": [0.125] * num,
        "image/object/bbox/ymax": [0.75] * num,
        "image/object/class/text": [text for _, text in objects],
        "image/object/class/label": [number for number, _ in objects],
        "image/object/is_crowd": [0] * num,
        "image/object/area": [12.5] * num,
    }


def tfrecorder(i: int, label: int | str = 0) -> dict[str, Any]:
    """Return a record of google/tensorflow-recorder (beam_image.encode, input_schema.IMAGE_CSV_SCHEMA)."""
    import base64

    pixels = bytes(range(i, i + 2 * 4 * 3))
    return {
        "image": base64.b64encode(pixels, altchars=b"-_"),
        "image_name": f"gs://bucket/{i}.jpg",
        "image_height": 2,
        "image_width": 4,
        "image_channels": 3,
        "label": label,
        "split": "TRAIN",
    }


def melanoma(i: int, target: int = 0) -> dict[str, Any]:
    """Return a record of Kaggle's SIIM-ISIC melanoma classification, as its train00-2071.tfrec has them."""
    return {
        "image": jpeg(i),
        "image_name": f"ISIC_{i:07d}",
        "patient_id": 7,
        "sex": 1,
        "age_approx": 45,
        "anatom_site_general_challenge": 3,
        "diagnosis": 0,
        "target": target,
        "width": 12,
        "height": 8,
    }
