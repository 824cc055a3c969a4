"""Decide the features and the keys of an adopted dataset, from what all of its records hold."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa

from shardkit.adoption.scanning import FeatureCount
from shardkit.conversion.inventory.columns import stored_name
from shardkit.dataset import features as own
from shardkit.dataset.features import Feature
from shardkit.dataset.foreign.record_layout import RecordLayout
from shardkit.dataset.stored_names import record_key
from shardkit.errors import DataError
from shardkit.hashing import hash64
from shardkit.naming import printable
from shardkit.options.words import named

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


def merge_counts(
    counts: Iterable[tuple[str, Mapping[str, FeatureCount]]], needed: Collection[str]
) -> dict[str, FeatureCount]:
    """Return what the records of all files, given by path, hold of each feature; a needed one is of one kind."""
    merged: dict[str, FeatureCount] = {}
    first: dict[str, str] = {}
    for path, found in counts:
        for name, count in found.items():
            known = merged.get(name)
            if known is not None and known.differs(count) and name in needed:
                raise DataError(
                    f"{printable(path)}: the feature {printable(name)!r} is {count.kind}, and {known.kind} in "
                    f"{printable(first[name])}; these files were not written by one program: adopt them apart"
                )
            merged[name] = count if known is None else known.plus(count)
            first.setdefault(name, path)
    return merged


def adopted_features(
    layout: RecordLayout,
    counts: Mapping[str, FeatureCount],
    num_records: int,
    key: str | None,
    uneven: Collection[str] = (),
) -> AdoptedFeatures:
    """Return the features of the dataset; `key` is the feature of the keys, see Found for `uneven`."""
    label, boxes = layout.label, layout.boxes
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
        if present[feature].kind == "mixed" or feature in uneven:
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


class KeyChoice(NamedTuple):
    """Where the keys come from."""

    feature: str | None  # in the records; None to number the records
    why_numbered: str | None = None  # why a feature that looked like a key is none; None if there was none or it is one

    def keys(self, path: str, texts: pa.ChunkedArray) -> list[str]:
        """Return the keys of the records of a file, given its column key_text."""
        if self.feature is None:
            return [record_key(path, number) for number in range(len(texts))]
        return [value.decode() for value in texts.to_pylist()]


def choose_keys(feature: str | None, files: Iterable[tuple[str, pa.ChunkedArray]], *, is_required: bool) -> KeyChoice:
    """Return where the keys come from.

    Args:
        feature: Feature that may hold the keys; None for none.
        files: (path of a file, its column key_text), file by file.
        is_required: Whether the user named the feature.
    """
    problem = None if feature is None else _key_problem(printable(feature), [*files])
    if problem is not None and is_required:
        remedy = f"name another feature with {named('key_feature')}, or leave it out to number the records"
        raise DataError(f"{problem}; {remedy}")
    return KeyChoice(feature if problem is None else None, problem)


def _key_problem(name: str, files: Sequence[tuple[str, pa.ChunkedArray]]) -> str | None:
    """Return why texts cannot be keys; None if they are printable and unique."""
    hashes = [np.zeros(0, np.uint64)]
    for path, texts in files:
        values = texts.to_pylist()
        for number, value in enumerate(values):
            text = None if value is None else _text(value)
            if text is None or not text.isprintable():
                found = "there is no text in" if value is None else "there is a text that is not UTF-8 in"
                what = f"{found} {name!r}" if text is None else f"{name!r} has control characters"
                return f"{printable(path)}, record {number}: {what}, so it cannot be the key"
        hashes.append(hash64(values, seed=0, purpose="key"))
    every = np.concatenate(hashes)
    order = np.argsort(every, kind="stable")
    same = np.flatnonzero(every[order][1:] == every[order][:-1])
    if not len(same):
        return None
    ends = np.cumsum([len(one) for one in hashes])
    places = list[str]()
    for row in order[same[0] : same[0] + 2]:
        at = int(np.searchsorted(ends, row, side="right")) - 1
        path, texts = files[at]
        places.append(f"{printable(path)}, record {row - ends[at]}")
        value = printable(_text(texts[int(row - ends[at])].as_py()) or "")
    return f"{name!r} is not unique: {value!r} is in {' and in '.join(places)}"


def _text(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None
