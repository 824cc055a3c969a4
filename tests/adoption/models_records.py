"""Records of tensorflow/models with empty lists of the right kinds, as its scripts write them without objects."""

from shardkit.dataset.example import bytes_feature, encode, float_feature, int64_feature

from ..dataset.foreign.records import coco


def coco_example(i, objects):
    """A serialized record of create_coco_tf_record.py."""
    return encode({name: _feature(name, value) for name, value in coco(i, objects).items()})


def _feature(name, value):
    values = value if isinstance(value, list) else [value]
    if "/bbox/" in name or name.endswith("/area"):
        return float_feature(values)
    if name.endswith(("/label", "/is_crowd", "/height", "/width")):
        return int64_feature(tuple(values))
    return bytes_feature([one.encode() if isinstance(one, str) else one for one in values])
