"""Merge what the scans of all files found, and decide features, keys and names of classes.

Class numbers stay those in the records.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shardkit.adoption.files import conversion_of
from shardkit.adoption.scanning import FeatureCount, Found, ScanProblem, Scans, needed_features
from shardkit.conversion.inventory.columns import features_of, stored_name
from shardkit.dataset import features as own
from shardkit.dataset.features import Feature
from shardkit.dataset.foreign.files import ForeignFile, ForeignFiles, number_problem
from shardkit.dataset.foreign.label_names import LabelNames, lines_as_names
from shardkit.dataset.foreign.record_layout import Column, RecordLayout
from shardkit.dataset.foreign.values import Kind
from shardkit.dataset.manifest import Manifest
from shardkit.errors import CallError, DataError
from shardkit.hashing import hash64
from shardkit.naming import counted, printable
from shardkit.options.words import named
from shardkit.record_sources.tfrecord.records import record_fields
from shardkit.refusals import RefusedDataError
from shardkit.storage import Folder

_PROBLEMS_SHOWN = 5
_LABELS = {
    "class": own.LABEL,
    "classes": own.LABELS,
    "objects": own.OBJECT_LABELS,
    "masks": own.MASK,
    "numbers": own.LABEL,
}
_MAX_CLASSES = 1_000_000  # a number above is an id, and every class has a name and counts in the manifest
_LABELLED = {"class", "classes", "objects"}


class Merged(NamedTuple):
    """What the scans of all files found."""

    found: Found
    sha256: dict[ForeignFile, str]  # of each file, in the order of the dataset
    layout: RecordLayout  # with the features that all records have; a key of None numbers the records
    features: dict[str, Feature]  # of the dataset by name, sorted
    stored_as: dict[str, tuple[str, ...]]  # see `dataset.stored_names`
    why_numbered: str | None  # why a feature that looked like a key is none; None if there was none or it is one


def merge_scans(
    records: Folder, files: Sequence[ForeignFile], scans: Scans, layout: RecordLayout, key_feature: str | None
) -> Merged:
    """Read all scans one by one, and decide features and keys; `key_feature` is one that the user names."""
    total, needed, num_records, sha256 = Found(), needed_features(layout), 0, dict[ForeignFile, str]()
    problems, unlike, first = list[tuple[str, ScanProblem]](), "", dict[str, str]()
    hashes = [np.zeros(0, np.uint64)]  # of the keys; 8 bytes for each record
    for file, (rows, found) in zip(files, scans(), strict=True):
        path = printable(file.path)
        problems += [(path, problem) for problem in found.problems]
        if not found.problems:
            _check_whole(f"{records.url}/{path}", file, len(rows), found.num_bytes)
        for name in needed.intersection(found.features):
            kind, before = found.features[name], total.features.get(name)
            first.setdefault(name, path)
            if before is not None and before.differs(kind):
                unlike = unlike or (
                    f"{path}: the feature {printable(name)!r} is {kind.kind}, and {before.kind} in {first[name]}; "
                    "these files were not written by one program: adopt them apart"
                )
        total.add(path, found)
        sha256[file] = found.sha256
        num_records += len(rows)
        if layout.key is not None and total.key_problem is None:
            hashes.append(hash64(rows["key"].to_pylist(), seed=0, purpose="key"))
    if problems:
        raise _records_refused(records, [file.path for file in files], problems, layout)
    if unlike:
        raise DataError(unlike)
    key, problem = layout.key, None
    if key is None or (key_feature is None and (key not in total.features or total.features[key].kind != "bytes")):
        key = None
    elif problem := total.key_problem or _same_keys(printable(key), hashes, files, scans):
        if key_feature is not None:
            remedy = f"name another feature with {named('key_feature')}, or leave it out to number the records"
            raise DataError(f"{problem}; {remedy}")
        key = None
    layout = _layout_of_all(layout, total, num_records, key)
    return Merged(total, sha256, layout, _features(layout, total.features), _stored_as(layout), problem)


def _same_keys(
    name: str, hashes: Sequence[npt.NDArray[np.uint64]], files: Sequence[ForeignFile], scans: Scans
) -> str | None:
    """Return a sentence about two records of one key; None if there are none."""
    every = np.concatenate(hashes)
    order = np.argsort(every, kind="stable")
    same = np.flatnonzero(every[order][1:] == every[order][:-1])
    if not len(same):
        return None
    ends, places, value = np.cumsum([len(one) for one in hashes]), list[str](), ""
    for row in order[same[0] : same[0] + 2]:
        at = int(np.searchsorted(ends, row, side="right")) - 1
        number = int(row - ends[at])
        places.append(f"{printable(files[at].path)}, record {number}")
        value = next(islice(scans(), at, None)).rows["key"][number].as_py()
    return f"{name!r} is not unique: {printable(value)!r} is in {' and in '.join(places)}"


def _check_whole(url: str, file: ForeignFile, num_records: int, num_bytes: int) -> None:
    if problem := number_problem(url, num_records, file.num_records):
        raise DataError(problem)
    if num_bytes != file.num_bytes:
        raise DataError(
            f"{url}: the file had {file.num_bytes} bytes and now has {num_bytes}; somebody is writing it: adopt it "
            "when it is finished"
        )


def _records_refused(
    records: Folder, paths: Sequence[str], problems: Sequence[tuple[str, ScanProblem]], layout: RecordLayout
) -> DataError:
    """Return the error for records that cannot be adopted, with the call that converts the others."""
    first = problems[:_PROBLEMS_SHOWN]
    shown = "".join(f"\n  {path}, record {one.number}: {one.sentence}" for path, one in first)
    more = len(problems) - len(first)
    shown += f"\n  and at least {more:,} more" if more > 0 else ""
    text = f"{records.url}: records are adopted as they are, and the reader cannot read these:{shown}\n"
    if layout.label.kind in {"masks", "none"}:  # which no conversion of others' records reads
        return DataError(f"{text}Restore the files, or write these records again")
    # Without this option a conversion stops at a file that cannot be read to its end.
    options = {"keep_truncated": True} if any(one.is_end for _, one in problems) else {}
    change = conversion_of(records, paths, "converts the other records", **options)
    return RefusedDataError(f"{text}Restore the files", [change])


def _layout_of_all(layout: RecordLayout, found: Found, num_records: int, key: str | None) -> RecordLayout:
    """Return the layout with the features that all records have; it says of the others why they are left out."""
    boxes, left_out = layout.boxes, list(layout.left_out)
    present = {name: count for name, count in found.features.items() if count.kind != "empty"}
    used = {layout.image.name, layout.label.name, key, *(boxes.sides if boxes else ())}
    extra, columns = list[tuple[str, str, Kind]](), list[Column]()
    for feature, field, _ in boxes.extra if boxes else ():
        count = present.get(feature)
        if count is None or feature in used:
            continue
        if count.kind == "mixed" or feature in found.uneven:
            left_out.append((feature, "not every record has as many values as labels"))
        else:
            extra.append((feature, field, count.kind))
            used.add(feature)
    if boxes is not None:
        boxes = replace(boxes, extra=tuple(extra))
    layout, all_columns = replace(layout, boxes=boxes, key=key, columns=()), layout.columns
    taken = {*features_of(pa.schema(record_fields(layout, None)))}
    for name in (column.name for column in all_columns if column.name not in used):
        count = present.get(name)
        if count is None:
            continue
        if count.kind == "mixed":
            left_out.append((name, "its values, or its empty lists, are of several kinds"))
        elif count.num_records < num_records:
            left_out.append((name, f"{num_records - count.num_records:,} of {num_records:,} records lack it"))
        elif not taken.isdisjoint({name, stored_name(name)}):
            left_out.append((name, "the dataset's own feature of this name takes its place"))
        else:
            columns.append(Column(name, count.kind, is_list=not count.fewest == count.most == 1))
            taken.add(stored_name(name))
    return replace(layout, columns=tuple(columns), left_out=tuple(left_out))


def _features(layout: RecordLayout, counts: Mapping[str, FeatureCount]) -> dict[str, Feature]:
    features = features_of(pa.schema(record_fields(layout, None)))
    if layout.label.kind == "numbers" and counts[layout.label.name].kind == "int64":  # a conversion stores float32
        features[own.LABEL] = features[own.LABEL].model_copy(update={"dtype": "int64"})
    return features


def _stored_as(layout: RecordLayout) -> dict[str, tuple[str, ...]]:
    """Return the names of the features in the records, where these are others; see `dataset.stored_names`."""
    stored: dict[str, tuple[str, ...]] = {own.IMAGE: (layout.image.name,), "height": (), "width": ()}
    stored["key"] = () if layout.key is None else (layout.key,)
    if layout.label.kind != "none":
        stored[_LABELS[layout.label.kind]] = (layout.label.name,)
    if layout.boxes is not None:
        stored[f"{own.OBJECTS}bbox"] = layout.boxes.sides
        stored |= {f"{own.OBJECTS}{field}": (feature,) for feature, field, _ in layout.boxes.extra}
    stored |= {stored_name(column.name): (column.name,) for column in layout.columns}
    return {name: names for name, names in sorted(stored.items()) if names != (name,)}


class ClassNames(NamedTuple):
    """The classes of a dataset."""

    names: list[str]  # in label order, all different
    origin: str  # a phrase that says where they come from


def choose_classes(
    given: Sequence[str] | None, own: Sequence[Manifest], files: ForeignFiles, merged: Merged
) -> ClassNames:
    """Return the user's classes, else those of shardkit's datasets, of a file next to the records, or of these."""
    label, found = merged.layout.label, merged.found
    # Files that TFDS reads have the first classes only of a dataset that grew.
    of_own = own[0].classes if own and all(one.classes == own[0].classes for one in own) else []
    if label.kind == "masks":
        names = list(given or of_own)
        return ClassNames(names, f"{counted(len(names), 'name')} from {named('classes') if given else 'the dataset'}")
    if label.kind not in _LABELLED:
        if given is not None:
            is_number = f"{printable(label.name)!r} holds numbers for regression"
            what = "the records have no labels" if label.kind == "none" else is_number
            raise CallError(f"{named('classes')} names classes, and {what}")
        return ClassNames([], "")
    if given is not None:
        return name_classes(found, lines_as_names(given, label.first_line))
    if of_own:
        return name_classes(found, LabelNames(tuple(of_own), 0, "the dataset"))
    return name_classes(found, files.label_names(label, merged.features), printable(label.names or ""))


def name_classes(found: Found, listed: LabelNames | None, feature: str = "") -> ClassNames:
    """Return the classes: the listed names, else those that the records give by a feature, else numbers."""
    if found.highest >= _MAX_CLASSES:
        raise DataError(
            f"{found.where_highest} has the label {found.highest:,}, and class numbers are below {_MAX_CLASSES:,}; "
            f"name another feature with {named('label_feature')}"
        )
    if listed is not None:
        listed.name_of(found.highest, found.where_highest)
        return ClassNames(_different([*map(str, range(listed.first)), *listed.names]), listed.describe())
    numbers, texts = [str(number) for number in range(found.highest + 1)], found.class_texts
    if not all(texts.values()):
        return ClassNames(numbers, "numbers, because the records name some in several ways")
    if texts:
        names = _different([texts.get(at, number) for at, number in enumerate(numbers)])
        return ClassNames(names, f"from {feature} in the records")
    return ClassNames(numbers, f"numbers; {named('classes')} names them")


def _different(names: Sequence[str]) -> list[str]:
    """Return the names; those that occur twice, as in ImageNet's words, get their number."""
    counts = Counter(names)
    return [f"{name} ({number})" if counts[name] > 1 else name for number, name in enumerate(names)]


def _label_range(found: Found, names: Sequence[str]) -> str:
    """Return a phrase with the range of the labels, and a class 0 that no record has."""
    if found.highest < 0:  # masks
        return "no record has one"
    line = f"{found.lowest} to {found.highest}, {counted(len(names), 'class')}"
    if found.lowest == 0:
        return line
    return (
        f"{line}; no record has the label 0, so they may count from 1: class 0, {printable(names[0])!r}, stays empty, "
        "and labels are given as they are stored"
    )


def found_lines(merged: Merged, classes: ClassNames) -> Iterator[str]:
    """Yield lines about what all records say: labels, classes, keys, features, and facts to know before training."""
    found, label, key = merged.found, merged.layout.label, merged.layout.key
    if classes.names:
        yield f"labels    {_label_range(found, classes.names)}"
        yield f"classes   {classes.origin}"
    numbered = "file and record number" + (f", because {merged.why_numbered}" if merged.why_numbered else "")
    yield f"key       {numbered if key is None else printable(key)}"
    yield from merged.layout.describe_others()
    if found.num_rotated:
        images = counted(found.num_rotated, "image")
        yield (f"note      {images} with an EXIF orientation: pixels are given as stored, as tf.io.decode_image does")
    if found.num_without_labels:
        what = "objects" if label.kind == "objects" else "classes"
        lacking = f"{counted(found.num_without_labels, 'record')} without {printable(label.name)}"
        yield f"note      {lacking}: images without {what}, as for the reader"
    if found.num_bad_boxes:
        yield f"note      {counted(found.num_bad_boxes, 'box')} without area or beyond the image's edges"
