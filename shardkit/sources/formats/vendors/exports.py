"""The parsers of exports whose fields the user named: FiftyOne, Azure's AutoML and Labelbox."""

from typing import Any

from shardkit.naming import counted, split_of_folder
from shardkit.sources.formats.record import ImageRecord, encodable
from shardkit.sources.formats.vendors.fields import UNIT, Box, Fields, at, corner_and_size, text_at
from shardkit.sources.formats.vendors.readers import around, dict_of, list_of

_FRACTIONS = Box(("bounding_box",), "", corner_and_size)
_PIXELS = Box(("bounding_box",), "left top width height", corner_and_size)
_AUTOML = Fields(
    ("image_url",), ("label",), ("label",), Box((), "topX topY bottomX bottomY"), noun="box", are_fractions=True
)


def parse_fiftyone(image: ImageRecord, record: dict[str, Any], column: str | None) -> None:
    """Fill in a sample of FiftyOne: fields of classes, and fields of boxes in fractions of the image's sides.

    A tag that is a split is the sample's split. A sample whose field of boxes is null was not labelled.
    """
    image.image, image.size = text_at(record, "filepath"), UNIT
    splits = {tag for tag in list_of(record.get("tags")) if isinstance(tag, str) and split_of_folder(tag)}
    if len(splits) == 1:
        image.split = splits.pop()
    for name, value in record.items():
        kind = text_at(value, "_cls")
        if kind == "Classification":
            image.attributes[name] = [encodable(text_at(value, "label"))]
        elif kind == "Classifications":
            image.attributes[name] = [encodable(text_at(one, "label")) for one in list_of(value["classifications"])]
        elif kind == "Detections":
            image.columns[name] = None
            for place, given in enumerate(map(dict_of, list_of(value.get("detections"))), 1):
                if column in {None, name}:
                    image.add(f"{name} {place}", given.get("label"), _FRACTIONS.read(given))
    if column is not None and record.get(column) is None:
        image.bad = f"its field {encodable(column)!r} is empty, so nobody labelled it"


def parse_automl(image: ImageRecord, record: dict[str, Any], column: str | None) -> None:
    """Azure's AutoML: `label` is a class, several classes, or boxes in fractions of the image's sides."""
    del column
    label = record.get("label")
    labels = [label] if isinstance(label, str) else list_of(label)
    if labels and all(isinstance(one, str) for one in labels):
        image.image, image.attributes["label"] = text_at(record, "image_url"), list(map(encodable, labels))
    else:
        _AUTOML.parse(image, record)


def parse_labelbox(image: ImageRecord, record: dict[str, Any], column: str | None) -> None:
    """Labelbox's data row: boxes and polygons in pixels, or answers to questions about the image."""
    del column
    image.image = text_at(record, "data_row", "external_id") or text_at(record, "data_row", "global_key")
    image.set_size(at(record, ("media_attributes", "width")), at(record, ("media_attributes", "height")))
    projects = list_of(record.get("projects"))
    labels = [dict_of(one) for project in projects for one in list_of(at(project, ("labels",)))]
    if len(labels) != 1:
        image.bad = f"it has {counted(len(labels), 'label')}, not one"
        return
    annotations = dict_of(labels[0].get("annotations"))
    for place, given in enumerate(map(dict_of, list_of(annotations.get("objects"))), 1):
        if "bounding_box" in given:
            image.add(f"object {place}", given.get("name"), _PIXELS.read(given))
        elif points := [dict_of(one) for one in list_of(given.get("polygon"))]:
            sides = around([one.get("x") for one in points], [one.get("y") for one in points])
            image.add(f"object {place}", given.get("name"), sides)
        else:
            image.leave_out("objects without box")
    for given in map(dict_of, list_of(annotations.get("classifications"))):
        answers = [given.get("radio_answer"), *list_of(given.get("checklist_answers"))]
        if found := [name for one in answers if (name := text_at(one, "name"))]:
            image.attributes[text_at(given, "name")] = list(map(encodable, found))
