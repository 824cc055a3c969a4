"""Decide the features of an adopted dataset, from what all of its records hold."""

from typing import Literal, NamedTuple

from shardkit.adoption.scanning import FeatureCount, Found
from shardkit.conversion.inventory.columns import stored_name
from shardkit.dataset import features as own
from shardkit.dataset.features import Feature
from shardkit.dataset.foreign.record_layout import RecordLayout

_DTYPES: dict[str, Literal["bytes", "int64", "float32"]] = {"bytes": "bytes", "int64": "int64", "float": "float32"}
_LABELS = {
    "class": (own.LABEL, own.CLASS_LABEL),
    "classes": (own.LABELS, own.CLASS_LABELS),
    "masks": (own.MASK, own.MASK_FEATURE),
    "objects": (own.OBJECT_LABELS, own.CLASS_LABELS),
}


class AdoptedFeatures(NamedTuple):
    """The features of an adopted dataset."""

    features: dict[str, Feature]  # by name, sorted
    stored_as: dict[str, tuple[str, ...]]  # see `dataset.stored_names`
    left_out: tuple[tuple[str, str], ...]  # (name in the records, why the dataset does not have it)


def adopted_features(layout: RecordLayout, found: Found, num_records: int, key: str | None) -> AdoptedFeatures:
    """Return the features of the dataset; `key` is the feature of the keys."""
    label, boxes, counts = layout.label, layout.boxes, found.features
    features = dict(own.ALWAYS)
    stored: dict[str, tuple[str, ...]] = {own.IMAGE: (layout.image.name,), "height": (), "width": ()}
    stored["key"] = () if key is None else (key,)
    if label.kind == "numbers":
        shape = () if label.num_targets == 1 else (label.num_targets,)
        features[own.LABEL] = Feature(dtype=_DTYPES[counts[label.name].kind], role="scalar", shape=shape)
        stored[own.LABEL] = (label.name,)
    elif label.kind != "none":
        name, features[name] = _LABELS[label.kind]
        stored[name] = (label.name,)
    left_out = list(layout.left_out)
    used = {layout.image.name, label.name, key, *(boxes.sides if boxes else ())}
    present = {name: count for name, count in counts.items() if count.kind != "empty"}
    if boxes is not None:
        features[f"{own.OBJECTS}bbox"], stored[f"{own.OBJECTS}bbox"] = own.BOXES, boxes.sides
    for feature, field, _ in boxes.extra if boxes else ():
        if feature not in present or feature in used:
            continue
        if present[feature].kind == "mixed" or feature in found.uneven:
            left_out.append((feature, "not every record has as many values as labels"))
            continue
        name = f"{own.OBJECTS}{field}"
        features[name], stored[name] = _column(present[feature], is_list=True), (feature,)
        used.add(feature)
    for column in layout.columns:
        count = present.get(column.name)
        if column.name in used or count is None:
            continue
        if count.kind == "mixed":
            left_out.append((column.name, "its values, or its empty lists, are of several kinds"))
        elif count.num_records < num_records:
            missing = num_records - count.num_records
            left_out.append((column.name, f"{missing:,} of {num_records:,} records lack it"))
        elif column.name in features or stored_name(column.name) in features:
            left_out.append((column.name, "the dataset's own feature of this name takes its place"))
        else:  # "labels" or "objects/camera" would be taken for labels or for a field of objects
            name = stored_name(column.name)
            features[name], stored[name] = _column(count, is_list=not count.fewest == count.most == 1), (column.name,)
    kept = {name: names for name, names in stored.items() if names != (name,)}
    return AdoptedFeatures(dict(sorted(features.items())), dict(sorted(kept.items())), tuple(left_out))


def _column(count: FeatureCount, *, is_list: bool) -> Feature:
    role: Literal["text", "scalar"] = "text" if count.kind == "bytes" else "scalar"
    return Feature(dtype=_DTYPES[count.kind], role=role, shape=(None,) if is_list else ())
