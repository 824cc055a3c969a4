"""A reading with other paths: of a folder above its own, or of another file."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from shardkit.sources.readings.values import Annotation, Column, Listed, Paired, Reading


def below(reading: Reading, above: str) -> Reading:
    """Return a reading of a folder as one of a folder above it, with all paths below that one."""
    if not above:
        return reading

    def path(text: str) -> str:
        return text if "://" in text or text.startswith("/") else f"{above}/{text}" if text else above

    return replace(_with_paths(reading, path), images=replace(reading.images, root=path(reading.images.root)))


def renamed(reading: Reading, old: str, new: str) -> Reading:
    """Return a reading with another file in place of one."""
    return _with_paths(reading, lambda path: new if path == old else path)


def _with_paths(reading: Reading, path: Callable[[str], str]) -> Reading:

    def keys(of_files: Any) -> dict[str, Any]:
        return {one if one == "*" else path(one): value for one, value in of_files.items()}

    def placed(origin: Any) -> Any:
        match origin:
            case Column(files=files, lines=lines, via=via, bases=bases):
                moved = replace(origin, files=tuple(map(path, files)), lines=keys(lines))
                return replace(moved, via=tuple(map(path, via)), bases=keys(bases))
            case Listed(lists=lists, bases=bases):
                return replace(origin, lists=keys(lists), bases=keys(bases))
            case Annotation(files=files, bases=bases, names=names):
                files = tuple(map(path, files))
                return replace(origin, files=files, bases=keys(bases), names=path(names) if names else "")
            case Paired(file=file) if file:
                return replace(origin, palette=path(file))
        return origin

    label = reading.label
    if label is not None:
        label = replace(label, origin=placed(label.origin), names=path(label.names) if label.names else "")
    features = {name: placed(one) for name, one in reading.features.items()}
    others = {name: placed(getattr(reading, name)) for name in ("split", "group", "boxes", "mask")}
    return replace(reading, label=label, features=features, **others)
