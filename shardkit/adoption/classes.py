"""Name the classes of adopted records, whose numbers stay those in the records, and say what all records hold."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from shardkit.adoption.merging import Merged
from shardkit.adoption.scanning import Found
from shardkit.dataset.foreign.files import ForeignFiles
from shardkit.dataset.foreign.label_names import LabelNames, lines_as_names
from shardkit.dataset.foreign.record_layout import RecordLayout
from shardkit.dataset.manifest import Manifest
from shardkit.errors import CallError, DataError
from shardkit.naming import counted, printable
from shardkit.options.words import named

_MAX_CLASSES = 1_000_000  # a number above is an id, and every class has a name and counts in the manifest
_LABELLED = {"class", "classes", "objects"}


class ClassNames(NamedTuple):
    """The classes of a dataset."""

    names: list[str]  # in label order, all different
    origin: str  # a phrase that says where they come from


def choose_classes(
    given: Sequence[str] | None, own: Sequence[Manifest], files: ForeignFiles, layout: RecordLayout, merged: Merged
) -> ClassNames:
    """Return the user's classes, else those of shardkit's datasets, of a file next to the records, or of these."""
    label, found = layout.label, merged.found
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


def found_lines(merged: Merged, classes: ClassNames, layout: RecordLayout) -> Iterator[str]:
    """Yield lines about what all records say: labels, classes, keys, features, and facts to know before training."""
    found, label = merged.found, layout.label
    if classes.names:
        yield f"labels    {_label_range(found, classes.names)}"
        yield f"classes   {classes.origin}"
    numbered = "file and record number" + (f", because {merged.why_numbered}" if merged.why_numbered else "")
    yield f"key       {numbered if merged.key is None else printable(merged.key)}"
    if others := sorted({column.name for column in layout.columns} & {*merged.features}):
        yield f"stored    {', '.join(map(printable, others))}"
    for why in dict.fromkeys(why for _, why in merged.left_out):
        names = ", ".join(printable(name) for name, reason in merged.left_out if reason == why)
        yield f"left out  {names}: {why}"
    if found.num_rotated:
        images = counted(found.num_rotated, "image")
        yield (f"note      {images} with an EXIF orientation: pixels are given as stored, as tf.io.decode_image does")
    if found.num_without_labels:
        what = "objects" if label.kind == "objects" else "classes"
        lacking = f"{counted(found.num_without_labels, 'record')} without {printable(label.name)}"
        yield f"note      {lacking}: images without {what}, as for the reader"
    if found.num_bad_boxes:
        yield f"note      {counted(found.num_bad_boxes, 'box')} without area or beyond the image's edges"
