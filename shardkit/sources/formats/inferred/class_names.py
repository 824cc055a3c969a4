"""Find the names of classes that records call by numbers, in the same file: ``[{"id": 3, "name": "cat"}]``."""

from collections.abc import Mapping
from typing import Any

from shardkit.sources.formats.inferred.roles import words_of

_TABLES = {"categories", "category", "classes", "class", "labels", "label", "names", "cats"}
_NAMES = ("name", "label", "title", "class", "category", "value")
_NUMBERS = ("id", "index", "number", "class_id", "label_id", "category_id", "value")


def class_names_in(tree: Any) -> dict[str, str]:
    """Return the names of classes by what records call them; {} if no member of a tree gives them."""
    if not isinstance(tree, Mapping):
        return {}
    for name, value in tree.items():
        if _TABLES.intersection(words_of(name)) and (found := _names(value)):
            return found
    for value in tree.values():
        if isinstance(value, Mapping) and (found := class_names_in(value)):
            return found
    return {}


def _names(value: Any) -> dict[str, str]:
    if isinstance(value, Mapping):
        pairs = [(str(name), str(one)) for name, one in value.items() if isinstance(one, str | int)]
        if len(pairs) < len(value) or not pairs:
            return {}
        if all(name.isdecimal() for name, _ in pairs):
            return dict(pairs)
        return {number: name for name, number in pairs} if all(number.isdecimal() for _, number in pairs) else {}
    if not isinstance(value, list) or not value:
        return {}
    if all(isinstance(one, str) for one in value):
        return {str(number): one for number, one in enumerate(value)}
    if not all(isinstance(one, Mapping) for one in value):
        return {}
    name = next((name for name in _NAMES if all(isinstance(one.get(name), str) for one in value)), None)
    number = next((name for name in _NUMBERS if all(_is_number(one.get(name)) for one in value)), None)
    if name is None:
        return {}
    return {str(one[number]) if number else str(place): one[name] for place, one in enumerate(value)}


def _is_number(value: Any) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, str) and value.isdecimal())
