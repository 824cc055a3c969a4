"""Tell whether a folder of checkpoints belongs to a training.

A training that continues from checkpoints of another one trains on the wrong data without an error. If the other one
was finished, it trains nothing and writes the other's model again.
"""

import json
import os
from typing import Any

from shardkit.dataset.manifest import read_manifest
from shardkit.dataset.manifest.pinning import pinned
from shardkit.errors import CallError, ManifestError
from shardkit.naming import first_of, printable
from shardkit.options.words import words_of
from shardkit.storage import TEMPORARY, open_folder, os_errors_as

FILE = "training.json"
MAX_BYTES = 64 << 20  # 64 MiB: a million class names
CLASSES_SHOWN = 5
REMEDY = "use another folder for the checkpoints (`--checkpoints NEW`), or remove this one"


def check_checkpoints(folder: str | os.PathLike[str], dataset: str, **settings: Any) -> None:
    """Check that the checkpoints in a folder are from this training, before they are read or written.

    Every process of a training calls it. In a new folder it writes `training.json` with the dataset's digest and
    classes and the settings; later calls compare them.

    Args:
        folder: Folder of the checkpoints, local or s3:// or gs://; it is created.
        dataset: The dataset's folder or manifest, as for `read_manifest`.
        settings: What a continued training must not change, such as ``seed=0, batch_size=64``: values of JSON.

    Raises:
        CallError: The checkpoints are from another training, or it is unknown from which one; the message says what
            differs.
        ManifestError: The dataset's manifest is missing or damaged.
        MachineError: A file cannot be read or written.
    """
    manifest = read_manifest(dataset)
    record = {"dataset": str(dataset), "digest": manifest.digest, "classes": manifest.classes, **settings}
    record = json.loads(json.dumps(record))  # tuples become lists, as in the file
    place = open_folder(os.fspath(folder))
    with os_errors_as(f"use {FILE}", place.url):
        if place.stat(FILE) is not None:
            _compare(f"{folder}", _parse(place.url, place.read_at_most(FILE, MAX_BYTES)), record)
            return
        if any(not entry.name.startswith(TEMPORARY) for entry in place.scan()):
            raise CallError(f"{folder}: the folder has files and no {FILE} that says what was trained; {REMEDY}")
        place.create()
        with place.atomic_write(FILE) as file:
            file.write(json.dumps(record, indent=1).encode())


def _parse(url: str, data: bytes) -> dict[str, Any]:
    try:
        record = json.loads(data)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise CallError(f"{url}/{FILE}: the file is damaged, so it is unknown what was trained; {REMEDY}")
    return record


def _compare(folder: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    names = [name for name in {**old, **new} if name != "dataset" and old.get(name) != new.get(name)]
    if not names:
        return
    changes = "; ".join(_change(name, old, new) for name in names)
    remedy = REMEDY
    if set(names) <= {"digest", "classes"} and (pin := _earlier(new["dataset"], old.get("digest"))):
        flag = " ".join(words_of("dataset", pin))
        remedy = f"continue with the data from before the append (`{flag}`), or {REMEDY}"
    raise CallError(f"{folder}: the checkpoints are from another training: {changes}; {remedy}")


def _change(name: str, old: dict[str, Any], new: dict[str, Any]) -> str:
    if name == "digest":
        sides = [f"{one.get('dataset')} with digest {str(one.get(name))[:12]}…" for one in (old, new)]
        name = "dataset"
    else:
        sides = [_text(one.get(name)) for one in (old, new)]
    return printable(f"{name} {sides[0]}, now {sides[1]}")


def _text(value: Any) -> str:
    if isinstance(value, list):
        return first_of([str(one) for one in value], CLASSES_SHOWN) or "none"
    return str(value)


def _earlier(dataset: str, digest: Any) -> str | None:
    """Return the dataset as it was before an append, pinned; None if it never had that digest."""
    pin = f"{pinned(dataset)[0]}@sha256:{digest}"
    try:
        read_manifest(pin)
    except (CallError, ManifestError):
        return None
    return pin
