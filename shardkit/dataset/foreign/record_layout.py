"""Define `RecordLayout`: which feature of other people's records is what."""

from dataclasses import dataclass
from typing import Literal

from shardkit.dataset.foreign.values import Kind
from shardkit.naming import counted, printable

Family = Literal["TFDS", "tensorflow/models", "TFRecorder", "others"]
ImageForm = Literal["encoded", "pixels", "base64 pixels"]
LabelKind = Literal["class", "classes", "objects", "numbers", "masks", "none"]


@dataclass(frozen=True, slots=True)
class ImageFeature:
    """Where the image is."""

    name: str
    # Encoded as a file; or the uint8 pixels [height, width, channels], as they are or in URL-safe base64.
    form: ImageForm = "encoded"
    height: str | None = None  # feature of the height in pixels; None if there is none or the image is encoded
    width: str | None = None  # feature of the width
    channels: str | None = None  # feature of the channels; None: 1 or 3, by the number of bytes


@dataclass(frozen=True, slots=True)
class LabelFeature:
    """Where the labels are."""

    name: str  # the feature; '' without labels
    kind: LabelKind  # one class, several classes, the classes of objects, numbers for regression, a mask, or no label
    is_text: bool  # whether the values are names of classes; else they are numbers
    names: str | None = None  # feature with the name of each number; None if there is none or the values are names
    num_targets: int = 0  # number of values for regression; 0 for classes
    # Number that the first line of `classes` stands for: 1 in the layouts of tensorflow/models, which keep 0 for the
    # background.
    first_line: Literal[0, 1] = 0


@dataclass(frozen=True, slots=True)
class BoxFeatures:
    """Where the boxes of objects are: fractions of the image's sides."""

    # Features of ymin, xmin, ymax and xmax; or one feature with these four of each box after each other.
    sides: tuple[str, ...]
    # (feature, field of an object, kind) of further values, one for each box.
    extra: tuple[tuple[str, str, Kind], ...] = ()
    # Features of the height and width in pixels of the picture that was annotated; () if there are none.
    size: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """A feature that comes along under its own name."""

    name: str
    kind: Kind
    is_list: bool  # whether a record has any number of values; else it has one


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """Which feature is what."""

    family: Family  # the program that writes such records
    image: ImageFeature
    label: LabelFeature  # the labels
    boxes: BoxFeatures | None  # the boxes; None if the labels are not those of objects
    key: str | None  # feature with the image's name, which becomes part of its key; None if there is none
    split: str | None  # feature with the record's split; None if there is none
    columns: tuple[Column, ...]
    left_out: tuple[tuple[str, str], ...]  # (feature, why it does not)

    def describe(self) -> list[str]:
        """Return lines for the user: what was inferred."""
        image, label = self.image, self.label
        form = {
            "encoded": "encoded files, kept as they are",
            "pixels": f"uint8 pixels of {_size(image)}, encoded as PNG",
            "base64 pixels": f"uint8 pixels of {_size(image)} in base64, encoded as PNG",
        }[image.form]
        lines = [f"image     {_name(image.name)}: {form}"]
        is_labelled = label.kind != "none"
        lines.append(f"label     {_name(label.name)}: {_label_phrase(label)}" if is_labelled else "label     none")
        if self.boxes:
            sides = self.boxes.sides
            order = "ymin, xmin, ymax, xmax"
            boxes = f"{_name(sides[0])}: {order}" if len(sides) == 1 else ", ".join(map(_name, sides))
            lines.append(f"boxes     {boxes}, as fractions of the sides")
            if self.boxes.extra:
                lines.append(f"objects   {', '.join(_name(feature) for feature, _, _ in self.boxes.extra)}")
        if self.key:
            lines.append(f"key       the file, the record's number and {_name(self.key)}")
        if self.split:
            lines.append(f"split     {_name(self.split)}")
        return lines + self.describe_others()

    def describe_others(self) -> list[str]:
        """Return lines for the user: the features that come along, and those that do not."""
        stored = ", ".join(_name(one.name) for one in self.columns)
        lines = [f"stored    {stored}"] if stored else []
        for reason in dict.fromkeys(why for _, why in self.left_out):
            names = ", ".join(_name(feature) for feature, why in self.left_out if why == reason)
            lines.append(f"left out  {names}: {reason}")
        return lines


def _name(feature: str) -> str:
    return printable(feature)


def _size(image: ImageFeature) -> str:
    channels = _name(image.channels) if image.channels else "1 or 3 channels"
    return f"{_name(image.height or '')} x {_name(image.width or '')} x {channels}"


def _label_phrase(label: LabelFeature) -> str:
    if label.kind == "masks":
        return "a mask whose pixels are the numbers of classes"
    if label.kind == "numbers":
        return f"{counted(label.num_targets, 'number')} for regression"
    what = {"class": "the class", "classes": "any number of classes", "objects": "the class of each box"}[label.kind]
    if label.is_text:
        return f"{what}, by name"
    return f"{what}, by number" + (f", which {_name(label.names)} names" if label.names else "")
