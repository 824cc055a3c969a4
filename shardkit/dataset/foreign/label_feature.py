"""Find the feature that holds the labels, and how they are read.

Never a guess between two: if several features may be the labels, the error names them. Known names, in this order:

    TFDS               the ClassLabel that supervisedKeys names, or the only one
    tensorflow/models  image/class/label, from 1, 0 is background (research/slim/datasets/build_imagenet_data.py);
                       image/object/class/label (create_coco_tf_record.py)
    TFRecorder         label: a name, or its number in TensorFlow Transform's vocabulary (beam_pipeline.py)
    tutorials          label, target, class …
"""

from collections.abc import Sequence
from typing import Literal

from shardkit.dataset.foreign.box_features import MODELS_OBJECTS, object_labels
from shardkit.dataset.foreign.found_features import FoundFeature, FoundFeatures, Sampled, listed
from shardkit.dataset.foreign.record_layout import LabelFeature, LabelKind
from shardkit.dataset.foreign.tfds_folder import TfdsFeatures
from shardkit.errors import CallError, DataError, UnknownNameError
from shardkit.naming import printable
from shardkit.options.values import LabelType
from shardkit.options.words import named

_MODELS_CLASS = "image/class/label"
_MASKS = ("segment", "mask")
# With `image/class/label`: a synset is the name of one class only, and two ImageNet classes are called "crane".
_NAMES_OF = {
    _MODELS_CLASS: ("image/class/synset", "image/class/text"),
    f"{MODELS_OBJECTS}class/label": (f"{MODELS_OBJECTS}class/text",),
}
_USUAL = (
    *("label", "labels", "target", "targets", "class", "classes", "category", "class_label", "image/label"),
    *("label_id", "class_id", "category_id", "label_idx", "class_idx", "target_id", "y", "cls"),
    *("label_name", "class_name", "category_name", "label_text", "class_text", "image/class/text"),
)
_NAME_ENDINGS = ("_name", "_text", "/name", "/text", "_str")
_NUMBER_ENDINGS = ("_id", "_idx", "_index")


def find_label(
    found: FoundFeatures,
    sampled: Sequence[Sampled],
    wanted: str | None,
    label_type: LabelType,
    tfds: TfdsFeatures | None,
    *,
    takes_masks: bool = False,
) -> LabelFeature:
    """Return the feature of the labels among `found`, the features without the image.

    UnknownNameError: there is no feature of the wanted name. CallError: several may be the labels, or they can be read
    in two ways. DataError: no feature is, or the wanted one holds something else.
    """
    if wanted is not None and wanted not in found:
        msg = f"{named('label_feature', wanted)}: there is no such feature in the records; found:{listed(found)}"
        raise UnknownNameError(msg)
    of_objects = object_labels(found)
    candidates = [wanted] if wanted else _candidates(found, sampled, of_objects, tfds)
    masks = [wanted] if wanted and found[wanted].holds_images else _masks(found) if not candidates else []
    if takes_masks and len(masks) == 1:
        return LabelFeature(masks[0], "masks", is_text=False)
    name = wanted or _only(candidates, found, takes_masks=takes_masks)
    is_list = name == "labels" or (tfds is not None and name in tfds.multi_labels)
    return _described(found[name], sampled, label_type, found, is_of_object=name in of_objects, is_list=is_list)


def _candidates(
    found: FoundFeatures, sampled: Sequence[Sampled], of_objects: Sequence[str], tfds: TfdsFeatures | None
) -> list[str]:
    if tfds:
        declared = [name for name in (*tfds.labels, *tfds.object_labels) if name in found]
        if len(tfds.supervised) == 2 and tfds.supervised[1] in declared:
            return [tfds.supervised[1]]
        if declared:
            return ["label"] if declared.count("label") and not of_objects else declared
    if _MODELS_CLASS in found:
        # ImageNet's boxes are of this class; those of Open Images (create_oid_tf_record.py) have classes of their own.
        return [_MODELS_CLASS, *of_objects[:1]] if any("/class/" in name for name in of_objects) else [_MODELS_CLASS]
    plain = {name.lower(): name for name in found if found[name].kind != "empty" and not found[name].holds_images}
    usual = [plain[name] for name in _USUAL if name in plain]
    candidates = list(dict.fromkeys([*of_objects, *usual]))
    named = {names_of(name, found, sampled) for name in candidates}
    return [name for name in candidates if name not in named]


def _only(candidates: Sequence[str], found: FoundFeatures, *, takes_masks: bool) -> str:
    if len(candidates) == 1:
        return candidates[0]
    how = f"name one with {named('label_feature')}"
    if candidates:
        msg = f"{' and '.join(map(printable, candidates))} may be the labels; {how}; found:{listed(found)}"
        raise CallError(msg)
    if takes_masks:
        how = f"{how}, or add {named('unlabelled', True)}"
    elif masks := _masks(found):
        how = (
            f"{printable(masks[0])!r} holds masks, as those of DeepLab's build_data.py: write the images and the masks "
            f"into folders images/ and masks/ and convert these, or {how}"
        )
    msg = f"no feature has a usual name for labels; {how}; found:{listed(found)}"
    raise DataError(msg)


def _masks(found: FoundFeatures) -> list[str]:
    """Return the features that hold masks, by their names."""
    return [one.name for one in found.values() if one.holds_images and any(word in one.name for word in _MASKS)]


def names_of(label: str, found: FoundFeatures, sampled: Sequence[Sampled]) -> str | None:
    """Return the feature that names a label's numbers: a text for each number and a number for each text."""
    if label not in found or found[label].kind != "int64":
        return None
    stems = [label, *(label.removesuffix(end) for end in _NUMBER_ENDINGS if label.endswith(end))]
    usual = [f"{stem}{end}" for stem in stems for end in ("", *_NAME_ENDINGS)]
    for name in _NAMES_OF.get(label, usual):
        if name != label and name in found and found[name].is_text and _names_each(label, name, sampled):
            return name
    return None


def _names_each(label: str, name: str, sampled: Sequence[Sampled]) -> bool:
    text_of: dict[object, object] = {}
    for _, features in sampled:
        numbers, texts = features.get(label, []), features.get(name, [])
        if len(numbers) != len(texts):
            return False
        for number, text in zip(numbers, texts, strict=True):
            if text_of.setdefault(number, text) != text or not text:
                return False
    return len(set(text_of.values())) == len(text_of) > 0


def _described(
    feature: FoundFeature,
    sampled: Sequence[Sampled],
    label_type: LabelType,
    found: FoundFeatures,
    *,
    is_of_object: bool,
    is_list: bool,
) -> LabelFeature:
    name, shown = feature.name, printable(feature.name)
    first_line = _first_line(name, sampled, found)
    if feature.kind == "empty":
        msg = f"the feature {shown!r} has no values in the first {len(sampled)} records; found:{listed(found)}"
        raise DataError(msg)
    if feature.kind == "bytes" and not feature.is_text:
        msg = f"the feature {shown!r} holds bytes that are no text; name another with {named('label_feature')}; found:"
        raise DataError(msg + listed(found))
    if is_of_object:
        if feature.kind == "float":
            msg = f"the feature {shown!r} holds fractions, and classes are names or whole numbers; found:"
            raise DataError(msg + listed(found))
        names = names_of(name, found, sampled)
        return LabelFeature(name, "objects", feature.kind == "bytes", names, first_line=first_line)
    if label_type == "number" or (feature.kind == "float" and label_type == "auto"):
        return _targets(feature, sampled, label_type)
    if feature.kind == "float" and not _are_whole(name, sampled):
        msg = f"the feature {shown!r} holds fractions, which are no classes; leave out {named('label_type', 'class')}"
        raise CallError(msg)
    kind: LabelKind = "class" if feature.most <= 1 and not is_list else "classes"
    if kind == "classes" and not is_list and feature.fewest == feature.most > 1 and _are_indicators(name, sampled):
        msg = (
            f"the feature {shown!r} holds {feature.most} zeros and ones in each record: an indicator of each class, "
            "or a list of their numbers. Write the numbers of the classes that apply, or name another feature with "
            f"{named('label_feature')}; found:{listed(found)}"
        )
        raise CallError(msg)
    return LabelFeature(
        name,
        kind,
        feature.kind == "bytes",
        names_of(name, found, sampled),
        first_line=first_line,
    )


def _first_line(name: str, sampled: Sequence[Sampled], found: FoundFeatures) -> Literal[0, 1]:
    """Return the number that the first line of `classes` stands for.

    In tensorflow/models, ImageNet's script and the label maps of object detection count from 1. research/slim's other
    scripts use the same names of features (dataset_utils.image_to_tfexample), store no names, and count from 0.
    """
    from_one = name.startswith(MODELS_OBJECTS) or (name == _MODELS_CLASS and any(n in found for n in _NAMES_OF[name]))
    holds_zero = any(0 in features.get(name, []) for _, features in sampled)
    return 1 if from_one and not holds_zero else 0


def _targets(feature: FoundFeature, sampled: Sequence[Sampled], label_type: LabelType) -> LabelFeature:
    shown = printable(feature.name)
    if feature.kind == "bytes":
        msg = f"the feature {shown!r} holds text, and {named('label_type', 'number')} is for numbers"
        raise CallError(msg)
    most = max(1, feature.most)
    if label_type == "auto" and most > 1:
        msg = f"the feature {shown!r} holds {feature.fewest} to {most} fractions in a record"
        raise CallError(f"{msg}; if they are numbers for regression, add {named('label_type', 'number')}")
    if label_type == "auto" and _are_whole(feature.name, sampled):
        msg = f"the feature {shown!r} holds whole numbers as float32, such as {feature.sample}: classes, or a quantity"
        raise CallError(f"{msg} for regression; add {named('label_type', 'class')} or {named('label_type', 'number')}")
    return LabelFeature(feature.name, "numbers", is_text=False, num_targets=most)


def _are_whole(name: str, sampled: Sequence[Sampled]) -> bool:
    values = [value for _, features in sampled for value in features.get(name, [])]
    return all(isinstance(value, float) and value.is_integer() for value in values)


def _are_indicators(name: str, sampled: Sequence[Sampled]) -> bool:
    return all(value in {0, 1} for _, features in sampled for value in features.get(name, []))
