"""The reading that options say: explicit facts, a whole reading, and older options as shorthand for its fields."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from shardkit.errors import CallError
from shardkit.naming import printable, relative_path_problem
from shardkit.options.words import named
from shardkit.sources.readings.flags import compiled, origin_text
from shardkit.sources.readings.text import from_data, parse_reading, read_labels, read_origin, read_reading
from shardkit.sources.readings.values import Annotation, Column, Labels, Listed, Paired, PathPart, PathRegex, Reading

_FACTS = ("label", "split", "group", "boxes", "mask", "features")
EXPLICIT = (*_FACTS, "images", "match", "reading")
# Options of sources that a reading has no field for.
_UNFIT = ("layout", "image_feature", "label_feature", "keep_truncated", "where", "drop", "labels", "key_prefix")
# Options that state a fact, and the option that states it in full.
_SAME_FACT = {
    **dict.fromkeys(("label_columns", "label_pattern", "class_level", "unlabelled"), "label"),
    "split_column": "split",
    "group_by": "group",
}
# Options for a field of all origins of some kinds.
_FIELDS: tuple[tuple[str, Any, str], ...] = (
    ("match", (Column, Listed, Annotation), "match"),
    ("image_column", Column, "key"),
    ("path_prefix", Column, "strip"),
)
# Options that name what formats of boxes have in columns or fields, and their names there.
_OF_BOXES = {
    "box-table": {"label_columns": "label", "image_column": "image", "split_column": "split"},
    "box-json": {"label_columns": "class"},
}


def given_reading(given: Mapping[str, Any], remembered: Reading | None = None) -> Reading | None:
    """Return the reading that the options of a call say; None if they say none."""
    given = {name: value for name, value in given.items() if value}
    explicit = [name for name in EXPLICIT if name in given]
    if not explicit and remembered is None:
        return None
    what = named(explicit[0]) if explicit else "the reading that the dataset remembers"
    for name in _UNFIT:
        if name in given:
            msg = f"{named(name)} has no effect with {what}, which says how SOURCE is read; give one of them"
            raise CallError(msg)
    for name, fact in _SAME_FACT.items():
        if name in given and fact in given and (name != "class_level" or given[name] > 1):
            msg = f"{named(name)} and {named(fact, given[fact])} both say the {fact}; give one of them"
            raise CallError(msg)
    base = Reading() if remembered is None else remembered
    reading = _whole(given["reading"]) if "reading" in given else base
    reading = _with_shorthand(_with_facts(reading, given), given)
    has_labels = reading.label or reading.boxes or reading.mask
    if not has_labels and remembered is None and not {"reading", "unlabelled"} & {*given}:
        add = f"{named('label', 'ORIGIN')}, or {named('unlabelled', True)}"
        shares = f"; shares of splits are {named('splits')}" if explicit == ["split"] else ""
        msg = f"{what} does not say where labels come from; add {add}{shares}"
        raise CallError(msg)
    return reading


def _whole(value: Any) -> Reading:
    if isinstance(value, Reading):
        return value
    if isinstance(value, str):
        return parse_reading(value) if value.startswith("{") else read_reading(value)
    return from_data(value, named("reading"))


def _with_facts(reading: Reading, given: Mapping[str, Any]) -> Reading:
    facts: dict[str, Any] = {}
    for name in _FACTS:
        if name == "features" and name in given:
            pairs = (text.partition("=") for text in given[name])
            features = {one: read_origin(text, f"{named(name)} {one}", "feature") for one, _, text in pairs}
            facts[name] = {**reading.features, **features}
        elif name == "label" and name in given:
            facts[name] = read_labels(given[name], named(name))
        elif name in given:
            facts[name] = read_origin(given[name], named(name), name)
    if "without_annotation" in given:
        facts["without_annotation"] = given["without_annotation"]
    if "images" in given:
        facts["images"] = replace(reading.images, include=given["images"])
    return replace(reading, **facts)


def _with_shorthand(reading: Reading, given: Mapping[str, Any]) -> Reading:
    """Return a reading with the fields that older options say."""
    if pattern := given.get("label_pattern"):
        reading = _of_names(reading, pattern)
    if "label" not in given and (level := given.get("class_level")):
        # Levels are counted below the folders of splits.
        reading = replace(reading, label=Labels(PathPart(level - 1 + isinstance(reading.split, PathPart))))
    if given.get("unlabelled"):
        reading = replace(reading, label=None)
    boxes = reading.boxes
    if reading.label is None and isinstance(boxes, Annotation):
        roles = {name: role for name, role in _OF_BOXES.get(boxes.format, {}).items() if name in given}
        if len(given.get("label_columns", ())) > 1:  # a box has one class
            roles.pop("label_columns", None)
        said = {role: given[name] if isinstance(given[name], str) else given[name][0] for name, role in roles.items()}
        given = {name: value for name, value in given.items() if name not in roles}
        reading = replace(reading, boxes=replace(boxes, options={**boxes.options, **said}))
    if columns := given.get("label_columns"):
        reading = replace(
            reading,
            label=replace(_labels_of(reading, "label_columns", Column), origin=_in_same_table(reading, columns)),
        )
    if column := given.get("split_column"):
        _labels_of(reading, "split_column", Column)
        reading = replace(reading, split=_in_same_table(reading, (column,)))
    group = given.get("group_by", "")
    if group and "(" not in group and reading.label is not None and isinstance(reading.label.origin, Column):
        reading = replace(reading, group=_in_same_table(reading, (group,)))  # a column, as in a table without a reading
    for name, kind, field in _FIELDS:
        if value := given.get(name):
            reading = _changed(reading, name, kind, {field: (value,) if field == "key" else value})
    reading = _with_kinds(reading, given)
    if root := given.get("root"):
        root = root.removeprefix("./").rstrip("/")
        if relative_path_problem(root):
            msg = f"{named('root')} with a reading is a folder in SOURCE, such as photos; found {printable(root)!r}"
            raise CallError(msg)
        reading = replace(reading, images=replace(reading.images, root=root))
    if classes := given.get("classes"):
        reading = replace(reading, classes=tuple(classes))
    return replace(reading, ignore=tuple(dict.fromkeys((*reading.ignore, *given.get("ignore", ())))))


def _of_names(reading: Reading, pattern: str) -> Reading:
    """Return a reading by an expression in names, whose groups may be called label, split and group."""
    where = named("label_pattern")
    found = re.compile(compiled(pattern, where))
    of = [name for name in ("split", "group") if name in found.groupindex]
    others = {found.groupindex[name] for name in of}
    numbers = [number for number in range(1, found.groups + 1) if number not in others]
    if not numbers:
        msg = f"{where} {printable(pattern)!r} has no group for the label; put the label in parentheses"
        raise CallError(msg)
    group = "label" if "label" in found.groupindex else numbers[0]
    origins: dict[str, Any] = {name: PathRegex(pattern, name) for name in of}
    return replace(reading, label=Labels(PathRegex(pattern, group)), **origins)


def _labels_of(reading: Reading, option: str, kind: Any = object) -> Labels:
    if reading.label is None and reading.boxes is not None:
        msg = f"{named(option)} has no effect: the boxes come from {origin_text(reading.boxes)}; leave it out"
        raise CallError(msg)
    if reading.label is None or not isinstance(reading.label.origin, kind):
        found = (
            "there is no label"
            if reading.label is None
            else f"the label comes from {origin_text(reading.label.origin)}"
        )
        write = named("label", "TABLE:COLUMN") if kind is Column else named("label", "ORIGIN")
        msg = f"{named(option)} has no effect: {found}; write {write}, or leave it out"
        raise CallError(msg)
    return reading.label


def _in_same_table(reading: Reading, columns: Any) -> Column:
    origin = reading.label.origin if reading.label else None
    assert isinstance(origin, Column)  # noqa: S101 - `_labels_of` has checked it
    return replace(origin, column=tuple(columns), map={})


def _changed(reading: Reading, option: str, kind: Any, fields: Mapping[str, Any]) -> Reading:
    """Return a reading with fields of all origins of some kinds changed."""
    if not any(isinstance(origin, kind) for _, origin in reading.facts()):
        what = "a table" if kind is Column else "a table, a list or files of a format"
        msg = f"{named(option)} has no effect: nothing comes from {what}; leave it out"
        raise CallError(msg)
    return reading.mapped(lambda one: replace(one, **fields) if isinstance(one, kind) else one)


def _with_kinds(reading: Reading, given: Mapping[str, Any]) -> Reading:
    for name, field in (("label_separator", "separator"), ("uncertain", "minus_one")):
        if given.get(name):
            reading = replace(reading, label=replace(_labels_of(reading, name), **{field: given[name]}))
    if (kind := given.get("label_type", "auto")) != "auto":
        labels = _labels_of(reading, "label_type")
        has_several = labels.separator or (isinstance(labels.origin, Column) and len(labels.origin.column) > 1)
        reading = replace(reading, label=replace(labels, kind="classes" if kind == "class" and has_several else kind))
    return reading


def options_saying(reading: Reading) -> dict[str, Any]:
    """Return the options that say a reading, by name; see `is_said_by`."""
    facts = {
        name: replace(one, map={}) if isinstance(one, PathPart | PathRegex | Column) else one
        for name, one in reading.facts()
    }
    options: dict[str, Any] = {name: origin_text(origin) for name, origin in facts.items() if name in _FACTS}
    if reading.features:
        options["features"] = tuple(f"{name}={origin_text(facts[f'features.{name}'])}" for name in reading.features)
    for name, kind, field in _FIELDS:
        origins = [one for one in facts.values() if isinstance(one, kind)]
        if field == "match":  # no option says that names differ in case: then it is found again
            origins = [one for one in origins if not getattr(one, "fold", False)]
        values = {getattr(origin, field) for origin in origins} - {None, ()}
        if len(values) == 1:
            (value,) = values
            options[name] = value[0] if field == "key" else value
    if reading.label is None and reading.boxes is None and reading.mask is None:
        options["unlabelled"] = True
    elif reading.label is not None:
        kinds = {"class": "class", "classes": "class", "number": "number"}
        found = {"label_separator": reading.label.separator, "uncertain": reading.label.minus_one}
        if isinstance(reading.label.origin, Column):  # others give classes
            found["label_type"] = kinds.get(reading.label.kind or "")
        options |= {name: value for name, value in found.items() if value}
    if reading.without_annotation != "reject":
        options["without_annotation"] = reading.without_annotation
    rest = {"images": reading.images.include, "root": reading.images.root, "ignore": reading.ignore}
    return options | {name: value for name, value in rest.items() if value}


def is_said_by(options: Mapping[str, Any], reading: Reading) -> bool:
    """Return whether options say all of a reading: there are none for the map of a value, for example."""
    label = reading.label
    if label is not None and label.kind == "class" and not isinstance(label.origin, Column):
        reading = replace(reading, label=replace(label, kind=None))
    if isinstance(reading.mask, Paired) and not reading.mask.file:  # what they mean is found out
        reading = replace(reading, mask=replace(reading.mask, palette=""))
    try:
        return given_reading(options) == reading
    except CallError:
        return False
