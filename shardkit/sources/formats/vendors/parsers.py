"""The parsers of the formats: descriptions of their records, or functions that fill an `ImageRecord` from a record."""

from collections.abc import Callable, Sequence
from typing import Any

from shardkit.naming import counted, split_of_folder
from shardkit.sources.formats.format import ONE_CLASS, ImageRecord, encodable
from shardkit.sources.formats.shapes import Sides, around, centre_and_size, corner_and_size
from shardkit.sources.formats.vendors.fields import UNIT, Box, Fields, at, dict_of, dicts_at, list_of, text_at

_LTWH = "left top width height"
_XYWH = "x y width height"

_BDD = Fields(
    "name",
    "labels",
    "category",
    Box("box2d", "x1 y1 x2 y2"),
    ("size.width", "size.height"),
    "label",
    without_box="labels without box2d (lanes, areas)",
)


def _classes(found: Sequence[Any], name: str) -> list[str]:
    return [encodable(text_at(one, name)) for one in found]


def parse_bdd(image: ImageRecord, record: dict[str, Any], column: str | None) -> None:
    """Fill in BDD100K's or Scalabel's frame: labels with box2d; lanes and areas have poly2d instead."""
    _BDD.parse(image, record, column)
    for name, value in dict_of(record.get("attributes")).items():
        image.attributes[name] = [encodable(str(value))]


def parse_via(image: ImageRecord, record: dict[str, Any], column: str | None) -> None:
    """VIA's regions, of version 1 (an object by number) and 2 (an array)."""
    image.image = text_at(record, "filename")
    for name, value in dict_of(record.get("file_attributes")).items():
        if given := _chosen(value):
            image.attributes[name] = given
    for place, region in enumerate(dicts_at(record, "regions"), 1):
        shape = dict_of(region.get("shape_attributes"))
        kind = shape.get("name")
        if kind in {"point", "polyline"}:
            image.leave_out(f"regions without box ({kind}s)")
            continue
        attributes = dict_of(region.get("region_attributes"))
        named = {name: values for name, value in attributes.items() if (values := _chosen(value))}
        image.columns.update(dict.fromkeys(named))
        chosen = named.get(column, []) if column is not None else next(iter(named.values()), [ONE_CLASS])
        label = chosen[0] if len(chosen) == 1 else None
        image.add(f"region {place}", label, _via_box(kind, shape))


def _chosen(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [encodable(name) for name, is_on in value.items() if is_on]
    text = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return [encodable(text)] if text else []


def _via_box(kind: Any, shape: dict[str, Any]) -> Sides | None:
    if kind == "rect":
        return Box("", _XYWH, corner_and_size).read(shape)
    if kind == "polygon":
        return around(list_of(shape.get("all_points_x")), list_of(shape.get("all_points_y")))
    radii = {"circle": ("r", "r"), "ellipse": ("rx", "ry")}.get(kind)
    if radii is None:
        return None
    try:
        x, y, across, down = shape["cx"], shape["cy"], shape[radii[0]], shape[radii[1]]
        if shape.get("theta"):  # a turned ellipse: its larger radius on each side encloses it
            across = down = max(across, down)
        return x - across, y - down, x + across, y + down
    except (KeyError, TypeError):
        return None


def parse_crowd_human(image: ImageRecord, record: dict[str, Any], column: str | None) -> None:
    """CrowdHuman's full boxes; regions of tag mask or with the flag ignore are no people to learn."""
    image.image = text_at(record, "ID")
    for place, given in enumerate(dicts_at(record, "gtboxes"), 1):
        if given.get("tag") == "mask" or dict_of(given.get("extra")).get("ignore") == 1:
            image.leave_out("regions to ignore")
            continue
        image.add(f"box {place}", given.get("tag"), Box("fbox", "", corner_and_size).read(given))


def parse_manifest(image: ImageRecord, record: dict[str, Any], column: str | None) -> None:
    """SageMaker Ground Truth's and Rekognition's lines: each job has a value and NAME-metadata."""
    image.image = text_at(record, "source-ref")
    for name in (one.removesuffix("-metadata") for one in record if one.endswith("-metadata")):
        about, value = dict_of(record[f"{name}-metadata"]), record.get(name)
        classes = dict_of(about.get("class-map"))
        if isinstance(value, dict) and isinstance(value.get("annotations"), list):
            image.columns[name] = None
            if column in {None, name} and not image.objects:
                _add_job(image, value, classes)
        elif isinstance(about.get("class-name"), str):
            image.attributes[name] = [encodable(about["class-name"])]
        elif classes and isinstance(value, list):
            image.attributes[name] = [encodable(str(classes.get(str(one), one))) for one in value]


_OF_JOB = Box("", _LTWH, corner_and_size)


def _add_job(image: ImageRecord, value: dict[str, Any], classes: dict[str, Any]) -> None:
    size = dict_of(next(iter(list_of(value.get("image_size"))), None))
    image.set_size(size.get("width"), size.get("height"))
    for place, given in enumerate(map(dict_of, value["annotations"]), 1):
        box = _OF_JOB.read(given)
        image.add(f"box {place}", classes.get(str(given.get("class_id"))), box)


def parse_mot(image: ImageRecord, record: dict[str, Any], column: str | None) -> None:
    """Fill in a frame of MOT; rows with the flag 0 are left out, as the challenge's evaluation does."""
    image.image = text_at(record, "frame")
    for place, (_, _, left, top, width, height, flag, label, *_) in enumerate(record["rows"], 1):
        if flag == 0:
            image.leave_out("rows with the flag 0")
        else:
            name = ONE_CLASS if label < 0 else f"{label:g}"
            image.add(f"row {place} of the frame", name, corner_and_size(left, top, width, height))


CREATEML = Fields("image", "annotations", "label", Box("coordinates", _XYWH, centre_and_size), noun="box")
EDGE_IMPULSE = Fields("path", "boundingBoxes", "label", Box("", _XYWH, corner_and_size), noun="box")


def parse_dataturks(image: ImageRecord, record: dict[str, Any], column: str | None) -> None:
    """Dataturks' shapes, as points in fractions of the image's sides."""
    image.image, image.size = text_at(record, "content"), UNIT
    for place, given in enumerate(dicts_at(record, "annotation"), 1):
        labels = list_of(given.get("label"))
        image.add(f"shape {place}", labels[0] if len(labels) == 1 else None, _around(dicts_at(given, "points")))


def _around(points: Sequence[dict[str, Any]]) -> Sides | None:
    return around([one.get("x") for one in points], [one.get("y") for one in points])


_VERTEX = Fields(
    "imageGcsUri",
    "boundingBoxAnnotations",
    "displayName",
    Box("", "xMin yMin xMax yMax"),
    noun="box",
    are_fractions=True,
)


def parse_vertex(image: ImageRecord, record: dict[str, Any], column: str | None) -> None:
    """Vertex AI's lines: boxes in fractions of the image's sides, or classes of the image."""
    _VERTEX.parse(image, record, column)
    split = dict_of(record.get("dataItemResourceLabels")).get("aiplatform.googleapis.com/ml_use")
    image.split = split if isinstance(split, str) else ""
    for name in ("classificationAnnotation", "classificationAnnotations"):  # one class, several
        given = record.get(name)
        found = [given] if isinstance(given, dict) else list_of(given)
        if labels := _classes(found, "displayName"):
            image.attributes[name] = labels


_CUSTOM_VISION = Fields("id", "regions", "tagName", Box("", _LTWH, corner_and_size), noun="region", are_fractions=True)


def parse_custom_vision(image: ImageRecord, record: dict[str, Any], column: str | None) -> None:
    """Azure Custom Vision's tagged images: regions in fractions of the image's sides, or tags of the image."""
    _CUSTOM_VISION.parse(image, record, column)
    if not list_of(record.get("regions")):
        image.attributes["tags"] = _classes(list_of(record.get("tags")), "tagName")


_OF_OBJECTS = ("categories", "category", "category_name", "label", "labels", "class", "name", "category_id")


def parse_hugging_face(
    image: ImageRecord, record: dict[str, Any], column: str | None, sides: Callable[..., Sides | None] = corner_and_size
) -> None:
    """Fill in a line of Hugging Face's metadata.jsonl: objects as an object of arrays or an array of objects."""
    image.image = text_at(record, "file_name")
    objects = record.get("objects")
    if isinstance(objects, dict):
        lists = {name: list_of(values) for name, values in objects.items()}
        longest = max(map(len, lists.values()), default=0)
        objects = [{name: values[i] for name, values in lists.items() if i < len(values)} for i in range(longest)]
    box = Box("bbox", "", sides)
    for place, given in enumerate(map(dict_of, list_of(objects)), 1):
        label = next((given[name] for name in _OF_OBJECTS if name in given), ONE_CLASS)
        image.add(f"object {place}", label, box.read(given))


_FRACTIONS = Box("bounding_box", "", corner_and_size)
_PIXELS = Box("bounding_box", "left top width height", corner_and_size)
_AUTOML = Fields("image_url", "label", "label", Box("", "topX topY bottomX bottomY"), noun="box", are_fractions=True)


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
            image.attributes[name] = _classes([value], "label")
        elif kind == "Classifications":
            image.attributes[name] = _classes(list_of(value.get("classifications")), "label")
        elif kind == "Detections":
            image.columns[name] = None
            for place, given in enumerate(dicts_at(value, "detections"), 1):
                if column in {None, name}:
                    image.add(f"{name} {place}", given.get("label"), _FRACTIONS.read(given))
    if column is not None and record.get(column) is None:
        image.bad = f"its field {encodable(column)!r} is empty, so nobody labelled it"


def parse_automl(image: ImageRecord, record: dict[str, Any], column: str | None) -> None:
    """Azure's AutoML: `label` is a class, several classes, or boxes in fractions of the image's sides."""
    label = record.get("label")
    labels = [label] if isinstance(label, str) else list_of(label)
    if labels and all(isinstance(one, str) for one in labels):
        image.image, image.attributes["label"] = text_at(record, "image_url"), list(map(encodable, labels))
    else:
        _AUTOML.parse(image, record)


def parse_labelbox(image: ImageRecord, record: dict[str, Any], column: str | None) -> None:
    """Labelbox's data row: boxes and polygons in pixels, or answers to questions about the image."""
    image.image = text_at(record, "data_row.external_id") or text_at(record, "data_row.global_key")
    image.set_size(at(record, "media_attributes.width"), at(record, "media_attributes.height"))
    projects = list_of(record.get("projects"))
    labels = [one for project in projects for one in dicts_at(project, "labels")]
    if len(labels) != 1:
        image.bad = f"it has {counted(len(labels), 'label')}, not one"
        return
    annotations = dict_of(labels[0].get("annotations"))
    for place, given in enumerate(dicts_at(annotations, "objects"), 1):
        if "bounding_box" in given:
            image.add(f"object {place}", given.get("name"), _PIXELS.read(given))
        elif points := dicts_at(given, "polygon"):
            image.add(f"object {place}", given.get("name"), _around(points))
        else:
            image.leave_out("objects without box")
    for given in dicts_at(annotations, "classifications"):
        answers = [given.get("radio_answer"), *list_of(given.get("checklist_answers"))]
        if found := [name for one in answers if (name := text_at(one, "name"))]:
            image.attributes[text_at(given, "name")] = list(map(encodable, found))
