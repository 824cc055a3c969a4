"""Find the shipped reading of a dataset that everybody knows, by its files."""

import fnmatch
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from shardkit.errors import CallError
from shardkit.options.words import named
from shardkit.sources.engine.opening import open_reading
from shardkit.sources.engine.source import ReadingSource
from shardkit.sources.formats.class_names import read_fields
from shardkit.sources.options import Opening
from shardkit.sources.readings.text import from_data
from shardkit.sources.readings.values import Column, Reading
from shardkit.sources.walking import children, file_or_folder, is_folder
from shardkit.storage import Folder

_NAME = re.compile(r"\{(\w+)\}")
_EVERY = ("*",)  # the columns of a label


@dataclass(frozen=True, slots=True)
class KnownDataset:
    """A dataset that a folder is."""

    title: str
    remark: str  # what the user should know about its reading; '' for nothing
    readings: tuple[Reading, ...]

    def reading(self, columns: tuple[str, ...]) -> Reading:
        for known in (columns, _EVERY) if columns else ():
            for reading in self.readings:
                origin = reading.label.origin if reading.label else None
                if reading.label and isinstance(origin, Column) and origin.column == known:
                    label = replace(reading.label, origin=replace(origin, column=columns))
                    classes = columns if label.kind == "indicators" else ()
                    return replace(reading, label=label, classes=classes)
        if columns:
            what = f"{named('label_columns')} has no effect on {self.title}"
            msg = f"{what}: it has one kind of label; leave the option out"
            raise CallError(msg)
        return self.readings[0]


@cache
def shipped() -> tuple[Mapping[str, Any], ...]:
    """Return the contents of all files, sorted by name."""
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    texts = {one.name: one.read_text(encoding="utf-8") for one in files(__package__).iterdir() if ".yaml" in one.name}
    return tuple(yaml.load(texts[name], loader) for name in sorted(texts))  # noqa: S506 - texts only


def find_known(folder: Folder) -> KnownDataset | None:
    """Return the dataset that a folder is, by its files; None if it is none that is known."""
    for content in shipped():
        for place in content.get("places", [""]):
            depth = place.count("/")
            values: dict[str, str] = {"place": place, "0": str(depth), "1": str(depth + 1)}
            if not all(_exists(folder, _filled(path, values)) for path in content.get("files", ())):
                continue
            if not all(_begins(folder, path, line) for path, line in content.get("begins", {}).items()):
                continue
            for name, paths in content.get("paths", {}).items():
                candidates = [paths] if isinstance(paths, str) else paths
                found = next((path for path in candidates if _exists(folder, path)), None)
                values |= {} if found is None else {name: found}
            wanted = [one for one in content["readings"] if _are_there(one, content, values)]
            if wanted:
                readings = tuple(from_data(_filled(one, values), content["title"]) for one in wanted)
                return KnownDataset(content["title"], content.get("remark", ""), readings)
    return None


def open_known(opening: Opening, found: KnownDataset) -> ReadingSource:
    """Open the dataset that a folder is."""
    reading = found.reading(opening.options.label_columns)
    remark = f"; {found.remark}" * bool(found.remark)
    return open_reading(opening, reading, name=found.title, is_strict=False, remark=remark)


def _are_there(reading: Any, content: Mapping[str, Any], values: Mapping[str, str]) -> bool:
    """Return whether all paths exist that a reading is read from; expressions of others may be in it."""
    merged = _filled(reading, {})
    facts = {name: fact for name, fact in merged.items() if isinstance(fact, Mapping)}
    used = {name: {key: one for key, one in fact.items() if key != "lines"} for name, fact in facts.items()}
    names = {*_NAME.findall(json.dumps(used))} & {*content.get("paths", {})}
    return names <= {*values}


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    """Return texts, lists and mappings with the values of names in braces."""
    if isinstance(value, Mapping):
        filled = {_filled(key, values): _filled(one, values) for key, one in value.items()}
        filled = {**filled.pop("<<", {}), **filled}  # a merge of YAML, which the loader of texts leaves
        return {key: one for key, one in filled.items() if not _NAME.fullmatch(key)}  # lines of files that are not here
    if isinstance(value, list):
        return [_filled(one, values) for one in value]
    return _NAME.sub(lambda found: values.get(found[1], found[0]), value)


def _exists(folder: Folder, path: str) -> bool:
    above, _, name = path.rpartition("/")
    if "*" in name or "?" in name:
        return is_folder(folder, above) and any(fnmatch.fnmatchcase(one.name, name) for one in children(folder, above))
    return file_or_folder(folder, path) is not None


def _begins(folder: Folder, path: str, line: str) -> bool:
    """Return whether the first line of a file that is no comment has a form."""
    lines = (one.values[0] for one in read_fields(folder, path, "\n"))
    return re.fullmatch(line, next((one for one in lines if not one.startswith("#")), "")) is not None
