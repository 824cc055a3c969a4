"""Cases of the engine as text: a tree, a reading, and the rows that it lists."""

import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from shardkit import reject_reasons
from shardkit.errors import ShardkitError
from shardkit.sources.engine.opening import open_reading
from shardkit.sources.engine.source import ReadingSource
from shardkit.sources.filtered_folder import FilteredFolder, IgnoreGlob
from shardkit.sources.options import Opening
from shardkit.sources.readings.text import from_data
from shardkit.storage import Folder, open_folder

_BRACES = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(\d+)\.\.(\d+)")


def cases(path: Path) -> list[dict[str, Any]]:
    """Return the cases of a file; all scalars are text."""
    found: list[dict[str, Any]] = yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader)  # noqa: S506 - texts only
    return found


def expand(pattern: str) -> Iterator[str]:
    """Yield the texts of a pattern with braces."""
    parts = _BRACES.split(pattern)
    yield from map("".join, itertools.product(*(_choices(one) if i % 2 else [one] for i, one in enumerate(parts))))


def _choices(text: str) -> list[str]:
    if found := _RANGE.fullmatch(text):
        return [str(number) for number in range(int(found[1]), int(found[2]) + 1)]
    return text.split(",")


def make(case: dict[str, Any], folder: Path) -> None:
    """Make the tree of a case; its images have no content, because listing opens none."""
    for pattern in case.get("images", ()):
        for path in expand(pattern):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(b"x")
    for path, text in case.get("files", {}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def listed(case: dict[str, Any], folder: Path) -> tuple[dict[str, str], ReadingSource]:
    """Return what the engine lists of a case, in the words of the case.

    Raises:
        ShardkitError: It stops.
    """
    reading = from_data(case["reading"], "reading")
    source = open_reading(Opening(_hiding(open_folder(str(folder)), reading.ignore)), reading)
    rows: dict[str, str] = {}
    skipped: dict[str, int] = {}
    for part in source.parts():
        for piece in source.divided(part):
            for listing in source.list_part(piece, 100):
                for row in listing.table().to_pylist():
                    rows[row["key"]] = _shown(row, source.folder)
                for kind, count in listing.skipped.items():
                    skipped[kind] = skipped.get(kind, 0) + count
    source.check_accounts(skipped)
    return rows, source


def _shown(row: dict[str, Any], folder: Folder) -> str:
    codes = {value: name for name, value in vars(reject_reasons).items() if isinstance(value, str)}
    if row["reason"] is not None:
        return codes[row["reason"]]
    if folder.stat(row["key"]) is None:
        return "MISSING"  # as the check finds
    names = ("label_name", "label_names", "target", "split", "group")
    values = [-1 if row.get("is_unlabelled") else None, *(row.get(name) for name in names)]
    if row.get("objects") is not None:
        values.append("+".join(one["label_name"] for one in row["objects"]) or "negative")
    values += [value for name, value in row.items() if name.startswith(("feature:", "mask_path"))]
    return " ".join(str(value) for value in values if value is not None)


def _hiding(folder: Folder, globs: Iterable[str]) -> Folder:
    """Return a folder without what a reading ignores, as `open_source` gives it to the engine."""
    ignored = tuple(map(IgnoreGlob, globs))
    return FilteredFolder(folder, ignored) if ignored else folder


def stop(case: dict[str, Any], folder: Path) -> str:
    """Return the sentence with which a case stops; '' if it does not."""
    try:
        listed(case, folder)
    except ShardkitError as error:
        return str(error)
    return ""
