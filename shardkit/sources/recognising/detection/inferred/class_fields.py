"""Which field of objects is their class: by its name, and by how its values repeat."""

from collections.abc import Mapping, Sequence
from typing import Any

from shardkit.sources.formats.inferred.reading import label_of
from shardkit.sources.formats.inferred.roles import Way, is_of_image, words_of
from shardkit.sources.formats.record import NUMBER

_SIDES = 4
_MIN_SHARE = 0.9  # of the objects that have a field of all
CLASS_WORDS = {"class", "classes", "cls", "label", "labels", "category", "categories", "tag", "tags", "species"}
_LIKELY_WORDS = {"cat", "name", "type", "title", "object", "kind", "value"}
# What says of which shape an object is, not of which class.
_SHAPES = {"rectangle", "rect", "bbox", "box", "bndbox", "robndbox", "boundingbox", "bounding_box", "polygon", "poly"}
_NUMBERS_OF = {"id", "idx", "index", "no", "num", "number", "instance", "track", "uid", "uuid", "guid"}


def class_fields(others: Mapping[Way, Sequence[Any]], num_nodes: int) -> tuple[tuple[Way, ...], bool]:
    """Return the fields that may be the class of an object, and whether their names are those of classes."""
    found = dict[Way, Sequence[str]]()
    for way, values in others.items():
        if len(values) < _MIN_SHARE * num_nodes or is_of_image(way):
            continue
        labels = [label for value in values if (label := label_of(value)) is not None]
        # An object with several tags is rejected later; another field must not be taken for the class.
        if len(labels) == len(values) or (labels and CLASS_WORDS.intersection(words_of(way[-1] if way else ""))):
            found[way] = labels
    found = {way: values for way, values in found.items() if not {*map(str.lower, values)} <= _SHAPES}
    sure = {way: values for way, values in found.items() if way and CLASS_WORDS.intersection(words_of(way[-1]))}
    likely = {way: values for way, values in found.items() if way and _LIKELY_WORDS.intersection(words_of(way[-1]))}
    likely = {way: values for way, values in likely.items() if _repeat(values)}
    if sure and not (_are_constant(sure) and not _are_constant(likely)):
        return _without_repeated(_varying(sure), found), True
    if likely and not sure:
        return _without_repeated(_varying(likely), found), True
    if sure:
        return _without_repeated({**sure, **_varying(likely)}, found), False
    rest = {way: values for way, values in found.items() if way and _repeat(values) and len(set(values)) > 1}
    rest = {way: values for way, values in rest.items() if not _NUMBERS_OF.intersection(words_of(way[-1]))}
    return _without_repeated(rest, found), False


def _varying(some: Mapping[Way, Sequence[str]]) -> Mapping[Way, Sequence[str]]:
    """Return the fields that are not the same for all objects; all if there are none."""
    return {way: values for way, values in some.items() if len(set(values)) > 1} or some


def _are_constant(some: Mapping[Way, Sequence[str]]) -> bool:
    return all(len(set(values)) == 1 for values in some.values())


def _without_repeated(named: Mapping[Way, Sequence[str]], found: Mapping[Way, Sequence[str]]) -> tuple[Way, ...]:
    """Return fields without those that repeat an earlier one, and with a name in place of a number."""
    texts = {way: values for way, values in found.items() if not all(map(is_number, values))}
    made = dict[Way, Sequence[str]]()
    for way, values in named.items():
        names = (other for other, of_other in texts.items() if way not in texts and _are_one_to_one(values, of_other))
        chosen = next(names, way)
        if not any(_are_one_to_one(found[chosen], earlier) for earlier in made.values()):
            made[chosen] = found[chosen]
    return tuple(made)


def _are_one_to_one(some: Sequence[str], others: Sequence[str]) -> bool:
    pairs = set(zip(some, others, strict=False))
    return len(some) == len(others) and len(pairs) == len(set(some)) == len(set(others)) > 1


def _repeat(values: Sequence[Any]) -> bool:
    """Return whether values repeat, as classes do."""
    return len(values) < _SIDES or 2 * len(set(map(str, values))) <= len(values)


def is_number(value: Any) -> bool:
    """Return whether a value is a number, or a text of one."""
    if isinstance(value, str):
        return NUMBER.fullmatch(value.strip()) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)
