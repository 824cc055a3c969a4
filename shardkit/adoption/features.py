"""Decide which features an adopted dataset has, from what all of its records hold."""

from collections.abc import Collection, Iterable, Mapping
from typing import Literal, NamedTuple

from shardkit.adoption.records import FeatureCount
from shardkit.conversion.inventory.columns import stored_name
from shardkit.dataset import features as own
from shardkit.dataset.features import Feature
from shardkit.dataset.foreign.record_layout import RecordLayout
from shardkit.errors import DataError
from shardkit.naming import printable

_DTYPES: dict[str, Literal["bytes", "int64", "float32"]] = {"bytes": "bytes", "int64": "int64", "float": "float32"}


class AdoptedFeatures(NamedTuple):
    """The features of an adopted dataset.

    Attributes:
        features: Features by name, sorted.
        stored_as: See `shardkit.dataset.stored_names`.
        left_out: (name in the records, why the dataset does not have it).
    """

    features: dict[str, Feature]
    stored_as: dict[str, tuple[str, ...]]
    left_out: tuple[tuple[str, str], ...]


def merge_counts(
    counts: Iterable[tuple[str, Mapping[str, FeatureCount]]], needed: Collection[str]
) -> dict[str, FeatureCount]:
    """Return what the records of all files hold of each feature.

    Args:
        counts: (path of a file, what its records hold), file by file.
        needed: Names of the features without which records cannot be adopted.

    Raises:
        DataError: A needed feature is of one kind in one file and of another in the next.
    """
    merged: dict[str, FeatureCount] = {}
    first: dict[str, str] = {}
    for path, found in counts:
        for name, count in found.items():
            known = merged.get(name)
            if known is None:
                merged[name], first[name] = count, path
                continue
            kinds = {known.kind, count.kind} - {"empty"}
            if len(kinds) > 1 and name in needed:
                msg = (
                    f"{printable(path)}: the feature {printable(name)!r} is {count.kind}, and {known.kind} in "
                    f"{printable(first[name])}; these files were not written by one program: adopt them apart"
                )
                raise DataError(msg)
            merged[name] = FeatureCount(
                "mixed" if len(kinds) > 1 else next(iter(kinds), "empty"),
                known.num_records + count.num_records,
                min(known.fewest, count.fewest),
                max(known.most, count.most),
                known.first,
            )
    return merged


def adopted_features(
    layout: RecordLayout,
    counts: Mapping[str, FeatureCount],
    num_records: int,
    key: str | None,
    uneven: Collection[str] = (),
) -> AdoptedFeatures:
    """Return the features of the dataset.

    Args:
        layout: Which feature is what.
        counts: What all records hold, see `merge_counts`.
        num_records: Number of all records.
        key: Feature that holds the keys; None if the records are numbered.
        uneven: Fields of objects that do not have one value for each label everywhere.
    """
    features = dict(own.ALWAYS)
    stored: dict[str, tuple[str, ...]] = {
        own.IMAGE: (layout.image.name,),
        "key": () if key is None else (key,),
        "height": (),
        "width": (),
    }
    if layout.label.kind != "none":
        name, feature = _label(layout, counts)
        features[name], stored[name] = feature, (layout.label.name,)
    left_out = list(layout.left_out)
    used = {layout.image.name, layout.label.name, key}
    if layout.boxes is not None:
        boxes = f"{own.OBJECTS}bbox"
        features[boxes], stored[boxes] = own.BOXES, layout.boxes.sides
        used |= set(layout.boxes.sides)
        for other, field, _ in layout.boxes.extra:
            count = counts.get(other)
            if count is None or count.kind == "empty" or other in used:
                continue
            if count.kind == "mixed" or other in uneven:
                left_out.append((other, "not every record has as many values as labels"))
                continue
            features[f"{own.OBJECTS}{field}"] = _column(count, is_list=True)
            stored[f"{own.OBJECTS}{field}"] = (other,)
            used.add(other)
    for column in layout.columns:
        count = counts.get(column.name)
        if column.name in used or count is None or count.kind == "empty":
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


def _label(layout: RecordLayout, counts: Mapping[str, FeatureCount]) -> tuple[str, Feature]:
    label = layout.label
    if label.kind == "class":
        return own.LABEL, own.CLASS_LABEL
    if label.kind == "classes":
        return own.LABELS, own.CLASS_LABELS
    if label.kind == "masks":
        return own.MASK, own.MASK_FEATURE
    if label.kind == "objects":
        return own.OBJECT_LABELS, own.CLASS_LABELS
    shape = () if label.num_targets == 1 else (label.num_targets,)
    return own.LABEL, Feature(dtype=_DTYPES[counts[label.name].kind], role="scalar", shape=shape)


def _column(count: FeatureCount, *, is_list: bool) -> Feature:
    role: Literal["text", "scalar"] = "text" if count.kind == "bytes" else "scalar"
    return Feature(dtype=_DTYPES[count.kind], role=role, shape=(None,) if is_list else ())
