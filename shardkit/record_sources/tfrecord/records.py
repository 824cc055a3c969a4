"""Turn a record into a row of the listing."""

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from shardkit.dataset.foreign.box_features import box_sides, refuse_pixels
from shardkit.dataset.foreign.image_feature import pixels_of
from shardkit.dataset.foreign.label_names import LabelNames
from shardkit.dataset.foreign.record_layout import BoxFeatures, RecordLayout
from shardkit.dataset.foreign.values import Features, Kind, kind_of
from shardkit.errors import DataError, RecordError
from shardkit.images import BadImage, inspect
from shardkit.naming import printable
from shardkit.options.words import named
from shardkit.record_sources.tfrecord.feature_values import (
    class_name,
    column_value,
    only_value,
    targets,
    text_of,
    whole_number,
)
from shardkit.reject_reasons import (
    BAD_ANNOTATION,
    BAD_LABEL,
    BAD_SPLIT,
    BAD_VALUE,
    DAMAGED,
    EMPTY,
    MISSING,
    NO_LABEL,
)
from shardkit.sources.columns import (
    ANNOTATED_HEIGHT,
    ANNOTATED_WIDTH,
    GROUP,
    LABEL_NAMES,
    MASK_PATH,
    MAX_OBJECTS,
    UNLABELLED,
    feature_field,
    objects_field,
    target_field,
)
from shardkit.sources.formats.column_names import is_discard, split_of_text
from shardkit.sources.listing import BadRecord

_TYPES = {"int64": pa.int64(), "float": pa.float32(), "bytes": pa.string()}
_MAX_NAME = 200  # characters of a file name in a key; longer ones are no names


def record_fields(layout: RecordLayout, group: str | None) -> list[pa.Field]:
    """Return the columns that the listing of such records adds for labels, groups and features."""
    label = layout.label
    fields: list[pa.Field] = []
    if layout.boxes:
        extra = [pa.field(name, _TYPES[kind]) for _, name, kind in layout.boxes.extra]
        fields = [objects_field(extra), ANNOTATED_WIDTH, ANNOTATED_HEIGHT]
    elif label.kind == "classes":
        fields = [LABEL_NAMES]
    elif label.kind == "numbers":
        fields = [target_field(label.num_targets)]
    elif label.kind in {"masks", "none"}:  # of adopted records only
        fields = [MASK_PATH if label.kind == "masks" else UNLABELLED]
    if group is not None:
        fields.append(GROUP)
    for one in layout.columns:
        type_ = _TYPES[one.kind]
        fields.append(feature_field(one.name, pa.list_(type_) if one.is_list else type_))
    return fields


def image_bytes(layout: RecordLayout, features: Features) -> bytes:
    """Return a record's image as a file: its bytes as they are, or its pixels as PNG."""
    image = layout.image
    values = features.get(image.name, [])
    if len(values) != 1 or not isinstance(values[0], bytes):
        msg = f"the feature {printable(image.name)!r} has {len(values)} values, and a record is one image"
        raise BadRecord(BAD_VALUE if values else MISSING, f"{msg}; write a record for each image")
    if not values[0]:
        msg = f"the feature {printable(image.name)!r} has no bytes; write the image again, or remove the record"
        raise BadRecord(EMPTY, msg)
    if image.form == "encoded":
        return values[0]
    found = pixels_of(image, features)
    if found is None:
        sizes = " x ".join(str(features.get(name, "no value")) for name in (image.height, image.width) if name)
        msg = f"{len(values[0]):,} bytes are not the uint8 pixels, of 1 or 3 channels, of an image of {sizes}"
        raise BadRecord(DAMAGED, f"{msg}; write the image again")
    from PIL import Image

    pixels, height, width, channels = found
    file = io.BytesIO()
    Image.frombytes("L" if channels == 1 else "RGB", (width, height), pixels).save(file, "PNG")
    return file.getvalue()


@dataclass(slots=True)
class RecordReader:
    """Reads the annotations of the records of one file."""

    path: str  # of the file, for messages
    stem: str  # the beginning of keys
    split: str | None  # the split of all records; None if the file has none
    layout: RecordLayout  # which feature is what
    names: LabelNames | None  # names of the labels' numbers; None if other features name them, or nothing does
    group: str | None  # feature of the groups; None for none
    classes: dict[int, str] = field(default_factory=dict)  # of numbers found so far, by a feature of names
    _number_of: dict[str, int] = field(default_factory=dict)

    def key(self, number: int, features: Features) -> str:
        """Return the key: the file, the record's number, and the image's name if the record has one."""
        key = f"{self.stem}/{number:08d}"
        values = features.get(self.layout.key or "", [])
        if len(values) != 1:
            return key
        try:
            text = values[0].decode() if isinstance(values[0], bytes) else str(values[0])
        except UnicodeDecodeError:
            return key
        name = text.replace("\\", "/").rpartition("/")[2]
        return f"{key}-{name}" if name and len(name) <= _MAX_NAME and name.isprintable() else key

    def split_of(self, features: Features) -> str | None:
        """Return the split of a record; None if it has none."""
        name = self.layout.split
        if name is None:
            return self.split
        text = text_of(name, only_value(name, features, BAD_SPLIT), BAD_SPLIT)
        if is_discard(text):
            raise BadRecord(
                BAD_SPLIT, f"the feature {name!r} says {text}; patterns of what to ignore leave out files only"
            )
        return split_of_text(text)

    def annotation(self, number: int, features: Features, image: bytes) -> tuple[str | None, list[Any]]:
        """Return a record's class, if it has exactly one, and the values of `record_fields`."""
        where = f"{self.path}, record {number}"
        label, boxes = self.layout.label, self.layout.boxes
        label_name: str | None = None
        values: list[Any] = []
        if boxes:
            objects = read_objects(boxes, self._label_names(features, where), features)
            values = [objects, *annotated_size(boxes, features, image, objects)]
        elif label.kind == "numbers":
            values = [targets(label, features)]
        else:
            found = self._label_names(features, where)
            if label.kind == "classes":
                values = [list(dict.fromkeys(found))]
            elif len(found) == 1:
                label_name = found[0]
            else:
                shown = f"the feature {printable(label.name)!r} has"
                if not found:
                    raise BadRecord(NO_LABEL, f"{shown} no value; give the image a label, or remove the record")
                raise BadRecord(BAD_LABEL, f"{shown} {len(found)} values where the first records have one")
        if self.group is not None:
            found_group = features.get(self.group, [])
            values.append(text_of(self.group, found_group[0], BAD_VALUE) or None if len(found_group) == 1 else None)
        return label_name, values + [column_value(one, features) for one in self.layout.columns]

    def _label_names(self, features: Features, where: str) -> list[str]:
        label = self.layout.label
        values = features.get(label.name, [])
        if label.is_text:
            return [class_name(label.name, value) for value in values]
        numbers = [whole_number(label.name, value) for value in values]
        if label.names is None:
            return [self.names.name_of(one, where) if self.names else str(one) for one in numbers]
        texts = [class_name(label.names, value) for value in features.get(label.names, [])]
        if len(texts) != len(numbers):
            msg = f"{len(numbers)} labels in {label.name!r} have {len(texts)} names in {label.names!r}"
            raise BadRecord(BAD_LABEL, f"{msg}; write a name for each")
        for one, text in zip(numbers, texts, strict=True):
            if self.classes.setdefault(one, text) != text or self._number_of.setdefault(text, one) != one:
                self._refuse_names(one, text, where)
        return texts

    def _refuse_names(self, number: int, text: str, where: str) -> None:
        label = self.layout.label
        other = self.classes[number]
        what = f"the label {number} is {text!r}" if other == text else f"the label {number} is {other!r} and {text!r}"
        if other == text:
            what += f", and so is {self._number_of[text]}"
        msg = (
            f"{where}: {what}, so {label.names!r} does not name the numbers in {label.name!r}; give a name for each "
            f"number with {named('classes')}"
        )
        raise DataError(msg)


def read_objects(boxes: BoxFeatures, names: Sequence[str], features: Features) -> list[dict[str, Any]]:
    """Return the objects of a record, as the listing has them."""
    try:
        sides = box_sides(boxes.sides, features, len(names))
        refuse_pixels(sides)
    except RecordError as error:
        raise BadRecord(BAD_ANNOTATION, str(error)) from None
    if len(names) > MAX_OBJECTS:
        msg = f"it has {len(names):,} objects, more than {MAX_OBJECTS:,}; split the image into tiles"
        raise BadRecord(BAD_ANNOTATION, msg)
    extra = [(name, _one_each(feature, kind, features, len(names))) for feature, name, kind in boxes.extra]
    return [
        {
            "bbox": [float(side[i]) for side in sides],
            "label_name": name,
            "name": f"object {i}",
            **{key: found[i] for key, found in extra},
        }
        for i, name in enumerate(names)
    ]


def annotated_size(
    boxes: BoxFeatures, features: Features, image: bytes, objects: Sequence[dict[str, Any]]
) -> tuple[int, int]:
    """Return the width and height in pixels that boxes refer to; (0, 0) for fractions of the upright image.

    Decoders of TensorFlow ignore EXIF, and shardkit turns images upright. If the record's own size is that of the
    stored picture, and this lies on its side, the boxes are those of the stored picture: they are made pixels of it, so
    that they are turned with it.
    """
    sizes = [features.get(name, []) for name in boxes.size]
    if not objects or not sizes or any(len(one) != 1 or not isinstance(one[0], int) for one in sizes):
        return 0, 0
    try:
        info = inspect(image)
    except BadImage:
        return 0, 0  # the check of all images rejects it
    height, width = (int(one[0]) for one in sizes)
    if info.orientation < 5 or (width, height) != (info.width, info.height):
        return 0, 0
    for one in objects:
        ymin, xmin, ymax, xmax = one["bbox"]
        one["bbox"] = [ymin * height, xmin * width, ymax * height, xmax * width]
    return width, height


def _one_each(name: str, kind: Kind, features: Features, num: int) -> Sequence[Any]:
    values = features.get(name, [])
    if len(values) != num:
        msg = f"{num} objects have {len(values)} values of {name!r}; write one for each"
        raise BadRecord(BAD_ANNOTATION, msg)
    if values and kind_of(values[0]) != kind:
        msg = f"{name!r} holds {kind_of(values[0])} values where the first records have {kind}"
        raise BadRecord(BAD_ANNOTATION, msg)
    return [text_of(name, one, BAD_ANNOTATION) if isinstance(one, bytes) else one for one in values]
