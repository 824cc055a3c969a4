"""Choose what gives the classes of the images of some files, or the classes of their boxes."""

from collections.abc import Sequence

from shardkit.errors import DataError
from shardkit.naming import printable
from shardkit.options.call import Change
from shardkit.refusals import RefusalError
from shardkit.sources.formats.format import ImageRecord

# Attributes that usually give the class of a region, the most usual first.
_USUAL = ("class", "label", "name", "category", "type", "object")


def classes_of(
    url: str, images: Sequence[ImageRecord], chosen: Sequence[str], *, has_own_fields: bool = False
) -> tuple[str | None, str | None]:
    """Return the attribute of images that gives their classes, None for boxes; and what gives the boxes' classes."""
    attributes = {name: None for image in images for name in image.attributes}
    columns = {name: None for image in images for name in image.columns}
    if chosen:
        [name, *_] = chosen
        if name in columns:
            return None, name
        if name in attributes:
            return name, None
        given = ", ".join(repr(one) for one in (*columns, *attributes)) or "none"
        msg = f"{url}: nothing gives classes by the name {name!r}; there are {given}"
        raise DataError(msg)
    if has_own_fields and columns and attributes:
        return None, _one_of(url, (*columns, *attributes), "gives the classes")
    if len(columns) > 1:
        usual = [name for one in _USUAL for name in columns if name.lower() == one][:1]
        return None, usual[0] if usual else _one_of(url, tuple(columns), "gives the classes of the boxes")
    if columns or not attributes or any(image.objects or image.problems for image in images):
        return None, next(iter(columns), None)
    return next(iter(attributes)) if len(attributes) == 1 else _one_of(url, tuple(attributes), "is the class"), None


def _one_of(url: str, names: Sequence[str], what: str) -> str:
    commands = [Change(f"{printable(name)} {what}", {"label_columns": (name,)}, sources=(url,)) for name in names]
    raise RefusalError(f"{url}: {len(names)} attributes may give the classes", commands)
